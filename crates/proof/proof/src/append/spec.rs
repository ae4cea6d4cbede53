//! What the levels mean, as a machine that can be run: against it the checker is held, on all kinds
//! of small histories.
//!
//! The machine tries every order of the points of a history's transactions: takes a snapshot and
//! compares what it holds with what was read, locks lists, makes appends visible. If one order
//! agrees with everything that was read, the history kept the level. Locks of transactions that
//! didn't commit it leaves out: lists don't tell about those.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::history::{Key, Operation, Statement, Transaction, Value};

/// Lists, sessions and values of a random history.
const LISTS: u64 = 2;

/// One list for each key.
type Lists = [Vec<Value>; LISTS as usize];

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Machine {
    lists: Lists,
    locked: [Option<usize>; LISTS as usize],
    /// Points that each transaction has passed.
    passed: Vec<usize>,
    /// What each took as its snapshot.
    snapshots: Vec<Lists>,
}

/// What a transaction does at one point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Point {
    Snapshot,
    Reads(usize),
    Locks(usize),
    Commit,
}

/// What is done at one point, and the moments between which it must be.
type Timed = (Vec<Point>, Option<u64>, Option<u64>);

/// The points of a transaction.
fn points(transaction: &Transaction, level: Level) -> Vec<Timed> {
    let count = transaction.statements.len();
    let committed = transaction.outcome == Outcome::Committed;
    let mut points = Vec::new();
    match level {
        Level::ReadCommitted => {
            for (number, statement) in transaction.statements.iter().enumerate() {
                let reads = vec![Point::Snapshot, Point::Reads(number)];
                points.push((reads, Some(statement.called), None));
                points.push((vec![Point::Locks(number)], None, statement.returned));
            }
        }
        Level::SnapshotIsolation | Level::Serializable => {
            let reads = (0..count).map(Point::Reads);
            let mut all: Vec<Point> = [Point::Snapshot].into_iter().chain(reads).collect();
            all.extend((0..count).map(Point::Locks));
            let first = transaction.statements.first().and_then(|first| first.returned);
            if level == Level::Serializable {
                all.push(Point::Commit);
                return match committed {
                    true => vec![(all, Some(transaction.began), transaction.acknowledged)],
                    false => Vec::new(),
                };
            }
            points.push((all, Some(transaction.began), first));
        }
    }
    if committed {
        points.push((vec![Point::Commit], transaction.commit_called, transaction.acknowledged));
    }
    points
}

struct Spec<'a> {
    history: &'a History,
    points: Vec<Vec<Timed>>,
    timed: bool,
}

impl Spec<'_> {
    /// Whether the history kept the level, with every end that transactions of unknown end can
    /// have had.
    fn keeps(history: &History, level: Level, order: Order) -> bool {
        let is_unknown = |one: &Transaction| one.outcome == Outcome::Unknown;
        let Some(unknown) = history.transactions.iter().position(is_unknown) else {
            return Spec::keeps_as_it_is(history, level, order);
        };
        [Outcome::Committed, Outcome::Aborted].into_iter().any(|outcome| {
            let mut history = history.clone();
            history.transactions[unknown].outcome = outcome;
            Spec::keeps(&history, level, order)
        })
    }

    fn keeps_as_it_is(history: &History, level: Level, order: Order) -> bool {
        let its_points = |one: &Transaction| points(one, points::level_of(one, level));
        let points = history.transactions.iter().map(its_points).collect();
        let count = history.transactions.len();
        let machine = Machine {
            passed: vec![0; count],
            snapshots: vec![Lists::default(); count],
            ..Machine::default()
        };
        Spec { history, points, timed: order == Order::RealTime }
            .goes_on(&machine, &mut BTreeSet::new())
    }

    fn goes_on(&self, machine: &Machine, failed: &mut BTreeSet<Machine>) -> bool {
        let mut is_done = true;
        for transaction in 0..self.points.len() {
            let Some((point, from, _)) = self.points[transaction].get(machine.passed[transaction])
            else {
                continue;
            };
            is_done = false;
            if self.timed && from.is_some_and(|from| self.is_another_over(machine, from)) {
                continue;
            }
            let mut next = machine.clone();
            next.passed[transaction] += 1;
            if point.iter().all(|part| self.does(&mut next, transaction, *part))
                && !failed.contains(&next)
            {
                if self.goes_on(&next, failed) {
                    return true;
                }
                failed.insert(next);
            }
        }
        is_done
    }

    /// Whether a point to come had to be over before this moment.
    fn is_another_over(&self, machine: &Machine, from: u64) -> bool {
        let to_come = self.points.iter().zip(&machine.passed).flat_map(|(all, done)| &all[*done..]);
        to_come.into_iter().any(|(_, _, to)| to.is_some_and(|to| to < from))
    }

    fn does(&self, machine: &mut Machine, number: usize, point: Point) -> bool {
        let transaction = &self.history.transactions[number];
        match point {
            Point::Snapshot => {
                machine.snapshots[number] = machine.lists.clone();
                true
            }
            Point::Reads(statement) => reads(&machine.snapshots[number], transaction, statement),
            Point::Locks(_) if transaction.outcome != Outcome::Committed => true,
            Point::Locks(statement) => {
                appends(&transaction.statements[statement]).all(|(key, _)| {
                    let locked = &mut machine.locked[key];
                    *locked.get_or_insert(number) == number
                })
            }
            Point::Commit => {
                for statement in &transaction.statements {
                    for (key, value) in appends(statement) {
                        machine.lists[key].push(value);
                        machine.locked[key] = None;
                    }
                }
                true
            }
        }
    }
}

/// Whether the statement was told what the snapshot has, and its own after.
fn reads(snapshot: &Lists, transaction: &Transaction, number: usize) -> bool {
    let mut own = Lists::default();
    for (at, statement) in transaction.statements[..=number].iter().enumerate() {
        for operation in &statement.operations {
            match operation {
                Operation::Append(key, value) => own[index(*key)].push(*value),
                Operation::Read(key, list) if at == number => {
                    let key = index(*key);
                    if *list != [snapshot[key].as_slice(), own[key].as_slice()].concat() {
                        return false;
                    }
                }
                Operation::Read(..) => {}
            }
        }
    }
    true
}

fn appends(statement: &Statement) -> impl Iterator<Item = (usize, Value)> {
    statement.operations.iter().filter_map(|operation| match operation {
        Operation::Append(key, value) => Some((index(*key), *value)),
        Operation::Read(..) => None,
    })
}

fn index(key: Key) -> usize {
    usize::try_from(key).expect("few lists")
}

/// How a transaction of a random history ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Committed,
    Aborted,
    /// Unknown: committed or not.
    Unknown(bool),
}

/// A transaction of a random history.
#[derive(Clone, Debug)]
struct DraftOfOne {
    /// Of each statement whether it appends, to which list, or reads which lists.
    statements: Vec<(bool, u8)>,
    end: End,
    /// Whether it has a level of its own, the lowest.
    is_lower: bool,
}

/// What a random history is made of.
#[derive(Clone, Debug)]
struct Draft {
    transactions: Vec<DraftOfOne>,
    /// Who does the next event.
    turns: Vec<prop::sample::Index>,
    /// What was read: which of the possible beginnings of which orders.
    picks: Vec<prop::sample::Index>,
    /// The order in which appends came into the lists, in which most reads agree.
    priorities: Vec<u8>,
}

fn draft(transactions: usize, statements: usize) -> impl Strategy<Value = Draft> {
    let statement = (any::<bool>(), 1..4_u8);
    let end = prop_oneof![
        7 => Just(End::Committed),
        1 => Just(End::Aborted),
        1 => any::<bool>().prop_map(End::Unknown),
    ];
    let statements = prop::collection::vec(statement, 1..=statements);
    let transaction = (statements, end, prop::bool::weighted(0.2))
        .prop_map(|(statements, end, is_lower)| DraftOfOne { statements, end, is_lower });
    (
        prop::collection::vec(transaction, 1..=transactions),
        prop::collection::vec(any::<prop::sample::Index>(), 40),
        prop::collection::vec(any::<prop::sample::Index>(), 40),
        prop::collection::vec(any::<u8>(), transactions),
    )
        .prop_map(|(transactions, turns, picks, priorities)| Draft {
            transactions,
            turns,
            picks,
            priorities,
        })
}

/// A history with these events in which reads were told beginnings of one order, rightly or not.
fn made(draft: &Draft, last_reads: bool) -> History {
    let mut history = History::new();
    let mut orders = Lists::default();
    let mut by_priority: Vec<usize> = (0..draft.transactions.len()).collect();
    by_priority.sort_by_key(|number| draft.priorities[*number]);
    for number in by_priority {
        let DraftOfOne { statements, end, .. } = &draft.transactions[number];
        for (at, (_, lists)) in statements.iter().enumerate().filter(|(_, (adds, _))| *adds) {
            if matches!(end, End::Committed | End::Unknown(true)) {
                orders[usize::from(lists % 2)].push(value(number, at));
            }
        }
    }
    let mut begun: Vec<(usize, usize, usize)> = Vec::new();
    let mut picks = draft.picks.iter();
    // Each transaction: begin, call and return of each statement, call and return of its end.
    let mut left: Vec<usize> = (0..draft.transactions.len()).collect();
    let mut turns = draft.turns.iter().cycle();
    while !left.is_empty() {
        let turn = turns.next().expect("a circle").index(left.len());
        let number = left[turn];
        let DraftOfOne { statements, end, is_lower } = &draft.transactions[number];
        let at = begun.iter().position(|(draft, ..)| *draft == number);
        let Some(at) = at else {
            let transaction = history.begin(u32::try_from(number).expect("few"));
            history.transactions[transaction].level = is_lower.then_some(Level::ReadCommitted);
            begun.push((number, transaction, 0));
            continue;
        };
        let (_, transaction, step) = begun[at];
        begun[at].2 += 1;
        match (statements.get(step / 2), step % 2) {
            (Some(_), 0) => history.called(transaction),
            (Some((adds, lists)), _) => {
                let of = |list: &u64| match adds {
                    true => *list == u64::from(lists % 2),
                    false => lists & (1 << *list) != 0,
                };
                for list in (0..LISTS).filter(of) {
                    if *adds {
                        history.append(transaction, list, value(number, step / 2));
                    } else {
                        let pick = picks.next().expect("enough");
                        let told = told(&history, transaction, list, &orders, number, pick);
                        history.read(transaction, list, told);
                    }
                }
                history.returned(transaction);
            }
            (None, 0) if *end != End::Aborted => history.commit_called(transaction),
            (None, _) => {
                match end {
                    End::Committed => history.acknowledged(transaction),
                    End::Aborted => history.aborted(transaction),
                    End::Unknown(_) => {}
                }
                left.remove(turn);
            }
        }
    }
    if last_reads {
        read_all(&mut history, &orders);
    }
    history
}

fn read_all(history: &mut History, orders: &Lists) {
    let transaction = history.begin(99);
    history.called(transaction);
    for (list, order) in (0..).zip(orders) {
        history.read(transaction, list, order.clone());
    }
    history.returned(transaction);
    history.commit_called(transaction);
    history.acknowledged(transaction);
}

fn value(transaction: usize, statement: usize) -> Value {
    (transaction * 10 + statement) as u64 + 1
}

/// A beginning of the order that doesn't have its own, and its own.
fn told(
    history: &History,
    transaction: usize,
    list: Key,
    orders: &Lists,
    number: usize,
    pick: &prop::sample::Index,
) -> Vec<Value> {
    let order = &orders[index(list)];
    let is_own = |value: &Value| (*value - 1) / 10 == number as u64;
    let until = order.iter().position(is_own).unwrap_or(order.len());
    let statements = &history.transactions[transaction].statements;
    let own = statements.iter().flat_map(appends).filter(|(key, _)| *key == index(list));
    let own: Vec<Value> = own.map(|(_, value)| value).collect();
    // Behind its own append it sees all that came before, or the history is plainly wrong.
    let seen = if own.is_empty() { pick.index(until + 1) } else { until };
    [&order[..seen], own.as_slice()].concat()
}

/// At which levels checker and machine look at the same: the machine knows nothing of locks of
/// those who didn't commit, and at the highest level nothing of what they were told.
fn levels(history: &History) -> Vec<Level> {
    let mut levels = vec![Level::ReadCommitted, Level::SnapshotIsolation];
    if history.transactions.iter().all(|one| one.outcome == Outcome::Committed) {
        levels.push(Level::Serializable);
    }
    levels
}

/// Whether no transaction has a level of its own.
fn all_alike(history: &History) -> bool {
    history.transactions.iter().all(|one| one.level.is_none())
}

fn agree(history: &History, orders: &[Order]) -> Result<(), TestCaseError> {
    for level in levels(history) {
        for order in orders {
            let judged = check_in(history, level, *order);
            if judged.as_ref().is_err_and(|anomaly| anomaly.kind == Kind::SharedLock) {
                continue;
            }
            let kept = Spec::keeps(history, level, *order);
            let case = format!("{level:?} {order:?}: {judged:?} {history:#?}");
            prop_assert_eq!(judged.is_ok(), kept, "{}", case);
        }
    }
    Ok(())
}

/// How many histories are tried: in release many.
const CASES: u32 = if cfg!(debug_assertions) { 2_000 } else { 50_000 };

fn config() -> ProptestConfig {
    ProptestConfig { cases: CASES, failure_persistence: None, ..Default::default() }
}

proptest! {
    #![proptest_config(config())]

    /// With all lists read at the end the checker knows exactly what the machine knows.
    #[test]
    fn a_history_keeps_a_level_exactly_if_the_machine_can_do_it(draft in draft(3, 3)) {
        agree(&made(&draft, true), &[Order::Free, Order::RealTime])?;
    }

    /// Without, it may miss what an order of unseen appends would show, and never sees too much.
    #[test]
    fn what_the_machine_can_do_is_never_an_anomaly(draft in draft(3, 3)) {
        let history = made(&draft, false);
        for level in levels(&history) {
            for order in [Order::Free, Order::RealTime] {
                let judged = check_in(&history, level, order);
                if judged.as_ref().is_err_and(|anomaly| anomaly.kind == Kind::SharedLock) {
                    continue;
                }
                if Spec::keeps(&history, level, order) {
                    prop_assert!(judged.is_ok(), "{:?} {:?}: {:?}", level, order, judged);
                } else if level == Level::Serializable && all_alike(&history) {
                    prop_assert!(judged.is_err(), "{:?} {:?}: {:?}", level, order, history);
                }
            }
        }
    }
}
