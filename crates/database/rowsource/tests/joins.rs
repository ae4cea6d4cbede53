//! Joins give what a naive join gives: each method, each kind, each side built, with little and
//! with plenty of memory; and leave nothing behind.
#![forbid(unsafe_code)]

mod common;

use common::{
    BUDGETS, Given, Row, TestWorld, WIDTH, all, column, machine, rows, run_clean, sorted,
};
use expression::{Comparison, Expression, Nulls, Row as _};
use os::Session;
use rowsource::{
    HashJoin, JoinKey, JoinKind, JoinPlan, KeyOrder, LoopPlan, Materialise, MergeJoin, NestedLoop,
    Side, SlotFrom, Sort, SortKey, Source,
};
use testbed::Dice;
use value::{Direction, NullOrdering, OwnedValue, Value};

const KINDS: [JoinKind; 6] = [
    JoinKind::Inner,
    JoinKind::Left,
    JoinKind::Right,
    JoinKind::Full,
    JoinKind::Semi,
    JoinKind::Anti,
];

const NUMBERS: JoinKey = JoinKey { left: 0, right: 0, as_char: false };
const TEXTS: JoinKey = JoinKey { left: 1, right: 1, as_char: false };
const CHARS: JoinKey = JoinKey { left: 1, right: 1, as_char: true };

/// `left.place < right.place + 3`, which is true for a part of the pairs.
fn condition() -> Expression {
    Expression::Compare {
        comparison: Comparison::Less,
        left: Box::new(column(2)),
        right: Box::new(Expression::Arithmetic {
            operator: expression::Operator::Add,
            left: Box::new(column(WIDTH + 2)),
            right: Box::new(common::constant(3)),
        }),
    }
}

fn place(row: &Row) -> i64 {
    let Value::Int(place) = row[2].get() else { panic!("a place") };
    place
}

fn is_match(left: &Row, right: &Row, plan: &JoinPlan) -> bool {
    let key = |row: &Row, column: usize, key: &JoinKey| match row[column].get() {
        Value::Text(text) if key.as_char => Value::Text(text.trim_end_matches(' ')).to_owned(),
        value => value.to_owned(),
    };
    let are_equal = plan.keys.iter().all(|of| {
        let (left, right) = (key(left, of.left, of), key(right, of.right, of));
        left.get().compare(right.get()).is_some_and(|order| order.is_eq())
    });
    are_equal && (plan.condition.is_none() || place(left) < place(right) + 3)
}

/// What the join gives, by comparing each row with each.
fn model(left: &[Row], right: &[Row], plan: &JoinPlan) -> Vec<Row> {
    let joined = |left: &Row, right: &Row| [left.clone(), right.clone()].concat();
    let nulls: Row = vec![OwnedValue::NULL; WIDTH];
    let mut found = Vec::new();
    let mut unmatched: Vec<bool> = vec![true; right.len()];
    for one in left {
        let mut is_matched = false;
        for (other, is_unmatched) in right.iter().zip(&mut unmatched) {
            if is_match(one, other, plan) {
                is_matched = true;
                *is_unmatched = false;
                if plan.kind.gives_both() {
                    found.push(joined(one, other));
                }
            }
        }
        match plan.kind {
            JoinKind::Left | JoinKind::Full if !is_matched => found.push(joined(one, &nulls)),
            JoinKind::Semi if is_matched => found.push(one.clone()),
            JoinKind::Anti if !is_matched => found.push(one.clone()),
            _ => {}
        }
    }
    if plan.kind.pads_right() {
        let alone = right.iter().zip(&unmatched).filter(|(_, is_unmatched)| **is_unmatched);
        found.extend(alone.map(|(other, _)| joined(&nulls, other)));
    }
    found
}

/// What `left.0 NOT IN (right.0)` leaves of the left rows.
fn not_in_model(left: &[Row], right: &[Row]) -> Vec<Row> {
    let passes = |row: &&Row| {
        right
            .iter()
            .all(|other| row[0].get().compare(other[0].get()).is_some_and(|order| order.is_ne()))
    };
    left.iter().filter(passes).cloned().collect()
}

/// Runs a source in a world with this budget, twice, and checks that it gives the same rows.
fn check<S: for<'s> Source<TestWorld<'s>>>(
    source: &mut S,
    expected: &[String],
    budget: u64,
    what: &str,
    simulated: &sim::World,
    session: &Session,
) {
    let mut world = TestWorld::new(budget, simulated, session);
    for start in 1..=2 {
        let found = all(source, &mut world).expect("no fault");
        assert!(sorted(&found) == expected, "{what}, budget {budget}, start {start}");
        if start == 1 {
            // A source that is over has given back its memory; kept rows are an exception.
            assert!(world.granted() == 0 || what.contains("kept"), "{what}: RS2");
        }
    }
    source.close(&mut world);
    assert_eq!(world.granted(), 0, "{what}, budget {budget}");
}

fn plans() -> Vec<JoinPlan> {
    let keys = [vec![], vec![NUMBERS], vec![NUMBERS, TEXTS], vec![CHARS]];
    let both = keys.into_iter().flat_map(|keys| [(keys.clone(), None), (keys, Some(condition()))]);
    both.flat_map(|(keys, condition)| {
        KINDS.map(|kind| JoinPlan { kind, keys: keys.clone(), condition: condition.clone() })
    })
    .collect()
}

/// Inputs of these sizes; the first two have few different numbers.
fn inputs(seed: u64, left: u64, right: u64, filling: usize) -> (Vec<Row>, Vec<Row>) {
    let mut dice = Dice(seed);
    let different = dice.one_of(&[3, 8, 1_000]);
    (rows(&mut dice, left, different, filling), rows(&mut dice, right, different, filling))
}

/// A hash join of any kind, with either side built, with any keys and conditions, gives what the
/// naive join gives, whatever the memory.
#[test]
fn hash_joins_give_what_a_naive_join_gives() {
    let sizes = [(0, 0), (0, 20), (20, 0), (1, 1), (40, 60), (70, 30)];
    for (seed, (left, right)) in sizes.into_iter().enumerate() {
        run_clean(seed as u64, move |simulated, session| {
            let (left, right) = inputs(seed as u64, left, right, 10);
            for plan in plans() {
                let expected = sorted(&model(&left, &right, &plan));
                for build in [Side::Left, Side::Right] {
                    for budget in BUDGETS {
                        let (left, right) = (Given::new(WIDTH, &left), Given::new(WIDTH, &right));
                        let mut join = HashJoin::new(left, right, plan.clone(), build);
                        let what = format!("{:?} {:?}, {build:?} built", plan.kind, plan.keys);
                        check(&mut join, &expected, budget, &what, simulated, session);
                    }
                }
            }
        });
    }
}

/// Many rows are dealt to partitions, and those again; rows with one key are taken in blocks.
#[test]
fn large_hash_joins_are_dealt_and_taken_in_blocks() {
    for (seed, (left, right, filling)) in
        [(3_000, 2_000, 0), (900, 1_500, 200), (1_500, 700, 200)].into_iter().enumerate()
    {
        run_clean(seed as u64, move |simulated, session| {
            let mut dice = Dice(seed as u64);
            let left = rows(&mut dice, left, 500, filling);
            let right = rows(&mut dice, right, 500, filling);
            for kind in KINDS {
                // NaN and the zeros are so frequent that no dealing makes their partitions small.
                let plan = JoinPlan { kind, keys: vec![NUMBERS, TEXTS], condition: None };
                let expected = sorted(&model(&left, &right, &plan));
                let little = [(Side::Left, 0), (Side::Right, 0)];
                for (build, budget) in little.into_iter().chain([(Side::Right, 1 << 20)]) {
                    let (left, right) = (Given::new(WIDTH, &left), Given::new(WIDTH, &right));
                    let mut join = HashJoin::new(left, right, plan.clone(), build);
                    let what = format!("{kind:?}, {build:?} built");
                    check(&mut join, &expected, budget, &what, simulated, session);
                    let area = Source::<TestWorld<'static>>::work_area(&join);
                    assert!(area.temp_bytes > 0 || budget > 0, "{what}: it was dealt");
                }
            }
        });
    }
}

/// NOT IN is true for no row if a NULL is on the right, and for all if nothing is.
#[test]
fn not_in_follows_three_valued_logic() {
    run_clean(1, |simulated, session| {
        let mut dice = Dice(1);
        for round in 0..40 {
            let (many, few) = (dice.below(60), dice.below(4));
            let left = rows(&mut dice, many, 6, 100);
            let mut right = rows(&mut dice, if round % 2 == 0 { many } else { few }, 9, 100);
            if round % 3 > 0 {
                right.retain(|row| !row[0].get().is_null());
            }
            let expected = sorted(&not_in_model(&left, &right));
            for build in [Side::Left, Side::Right] {
                for budget in BUDGETS {
                    let plan =
                        JoinPlan { kind: JoinKind::NotIn, keys: vec![NUMBERS], condition: None };
                    let (left, right) = (Given::new(WIDTH, &left), Given::new(WIDTH, &right));
                    let mut join = HashJoin::new(left, right, plan, build);
                    let what = format!("round {round}, {build:?} built");
                    check(&mut join, &expected, budget, &what, simulated, session);
                }
            }
        }
    });
}

fn order(direction: Direction, nulls: NullOrdering) -> KeyOrder {
    KeyOrder { direction, nulls }
}

/// The rows in the order of their keys as `Value::compare` says.
fn in_order(rows: &[Row], keys: &[JoinKey], orders: &[KeyOrder]) -> Vec<Row> {
    let mut rows = rows.to_vec();
    let value = |row: &Row, key: &JoinKey| match row[key.left].get() {
        Value::Text(text) if key.as_char => Value::Text(text.trim_end_matches(' ')).to_owned(),
        value => value.to_owned(),
    };
    rows.sort_by(|one, other| {
        let mut found = std::cmp::Ordering::Equal;
        for (key, order) in keys.iter().zip(orders) {
            let (a, b) = (value(one, key), value(other, key));
            let nulls_first = order.nulls == NullOrdering::First;
            found = found.then(match (a.get().is_null(), b.get().is_null()) {
                (true, true) => std::cmp::Ordering::Equal,
                (true, false) if nulls_first => std::cmp::Ordering::Less,
                (true, false) => std::cmp::Ordering::Greater,
                (false, true) if nulls_first => std::cmp::Ordering::Greater,
                (false, true) => std::cmp::Ordering::Less,
                (false, false) => {
                    let found = a.get().compare(b.get()).expect("of one kind");
                    if order.direction == Direction::Descending { found.reverse() } else { found }
                }
            });
        }
        found
    });
    rows
}

/// A merge join gives what the naive join gives, for each order of the keys; groups of many rows
/// are kept in spools.
#[test]
fn merge_joins_give_what_a_naive_join_gives() {
    let sizes = [(0, 0, 0), (0, 9, 0), (9, 0, 0), (40, 60, 10), (70, 30, 10), (300, 300, 300)];
    for (seed, (left, right, filling)) in sizes.into_iter().enumerate() {
        run_clean(seed as u64, move |simulated, session| {
            let (left, right) = inputs(seed as u64, left, right, filling);
            let (up, down) = (Direction::Ascending, Direction::Descending);
            let (first, last) = (NullOrdering::First, NullOrdering::Last);
            for (number, plan) in plans().into_iter().enumerate() {
                if plan.keys.is_empty() && left.len() > 100 {
                    continue;
                }
                let one = [order(up, last), order(down, first)];
                let other = [order(down, last), order(up, first)];
                let orders = [one, other][number % 2][..plan.keys.len()].to_vec();
                let expected = sorted(&model(&left, &right, &plan));
                let left = in_order(&left, &plan.keys, &orders);
                let right = in_order(&right, &plan.keys, &orders);
                for budget in BUDGETS {
                    let (left, right) = (Given::new(WIDTH, &left), Given::new(WIDTH, &right));
                    let what = format!("{:?} {:?}", plan.kind, plan.keys);
                    let mut join = MergeJoin::new(left, right, plan.clone(), orders.clone());
                    check(&mut join, &expected, budget, &what, simulated, session);
                }
            }
        });
    }
}

/// The sort below a merge join brings its inputs in the order that it needs.
#[test]
fn a_merge_join_above_sorts_gives_what_a_hash_join_gives() {
    run_clean(3, |simulated, session| {
        let mut dice = Dice(3);
        let whole = |rows: Vec<Row>| {
            let whole = |mut row: Row| {
                if !matches!(row[0].get(), Value::Null | Value::Int(_)) {
                    row[0] = Value::Int(7).to_owned();
                }
                row
            };
            rows.into_iter().map(whole).collect::<Vec<Row>>()
        };
        let left = whole(rows(&mut dice, 500, 90, 50));
        let right = whole(rows(&mut dice, 400, 90, 50));
        for kind in KINDS {
            let plan = JoinPlan { kind, keys: vec![NUMBERS], condition: Some(condition()) };
            let expected = sorted(&model(&left, &right, &plan));
            let orders = vec![order(Direction::Descending, NullOrdering::First)];
            let key = SortKey {
                column: 0,
                kind: expression::Kind::Whole,
                direction: Direction::Descending,
                nulls: NullOrdering::First,
            };
            for budget in BUDGETS {
                let left = Sort::new(Given::new(WIDTH, &left), vec![key]);
                let right = Sort::new(Given::new(WIDTH, &right), vec![key]);
                let mut join = MergeJoin::new(left, right, plan.clone(), orders.clone());
                check(&mut join, &expected, budget, "above sorts", simulated, session);
            }
        }
    });
}

/// A nested loop compares each left row with the rows that come when its slots are set, whether
/// they are looked up anew or kept.
#[test]
fn nested_loops_give_what_a_naive_join_gives() {
    run_clean(5, |simulated, session| {
        for (seed, (left, right)) in [(0, 9), (9, 0), (30, 40), (60, 20)].into_iter().enumerate() {
            let (left, right) = inputs(seed as u64, left, right, 100);
            for kind in [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti] {
                for condition in [None, Some(condition())] {
                    let plan = JoinPlan { kind, keys: vec![NUMBERS], condition: condition.clone() };
                    let expected = sorted(&model(&left, &right, &plan));
                    for budget in BUDGETS {
                        let slots = vec![SlotFrom { column: 0, slot: 2 }];
                        let plan = LoopPlan { kind, slots, condition: condition.clone() };
                        let mut looked_up = Given::new(WIDTH, &right);
                        looked_up.by_slot = Some(2);
                        let left = Given::new(WIDTH, &left);
                        let mut join =
                            NestedLoop::new(left.clone(), looked_up.clone(), plan.clone());
                        check(&mut join, &expected, budget, "looked up", simulated, session);
                        let kept = Materialise::new(looked_up, vec![2]);
                        let mut join = NestedLoop::new(left, kept, plan);
                        check(&mut join, &expected, budget, "kept", simulated, session);
                    }
                    let plan = JoinPlan { kind, keys: vec![], condition: condition.clone() };
                    let expected = sorted(&model(&left, &right, &plan));
                    let plan = LoopPlan { kind, slots: vec![], condition };
                    let (left, right) = (Given::new(WIDTH, &left), Given::new(WIDTH, &right));
                    let mut join = NestedLoop::new(left, Materialise::new(right, vec![]), plan);
                    check(&mut join, &expected, 64 << 10, "kept, each", simulated, session);
                }
            }
        }
    });
}

/// What is kept is read again without the input, as long as the slots are the same.
#[test]
fn a_materialise_starts_its_input_once_for_the_same_slots() {
    testbed::run(machine(1), |simulated, session| {
        let mut dice = Dice(1);
        let given = rows(&mut dice, 2_000, 5, 50);
        for budget in BUDGETS {
            let mut world = TestWorld::new(budget, simulated, session);
            let counted = Counted { input: Given::new(WIDTH, &given), starts: 0 };
            let mut kept = Materialise::new(counted, vec![3]);
            let mut starts = 0;
            for (slot, is_new) in [(1, true), (1, false), (2, true), (2, false), (1, true)] {
                rowsource::World::set_slot(&mut world, 3, Value::Int(slot).to_owned());
                starts += usize::from(is_new);
                let found = all(&mut kept, &mut world).expect("no fault");
                assert!(found.iter().map(common::shown).eq(given.iter().map(common::shown)));
                STARTS.with(|counted| assert_eq!(counted.get(), starts));
            }
            kept.close(&mut world);
            assert_eq!(world.granted(), 0);
            STARTS.with(|counted| counted.set(0));
        }
    });
}

thread_local! {
    /// How often a counted input was started.
    static STARTS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// An input that counts its starts.
struct Counted {
    input: Given,
    starts: usize,
}

impl<'s> Source<TestWorld<'s>> for Counted {
    fn open(&mut self, world: &mut TestWorld<'s>) -> Result<(), stop::Stop> {
        self.starts += 1;
        STARTS.with(|counted| counted.set(self.starts));
        self.input.open(world)
    }

    fn fetch(
        &mut self,
        world: &mut TestWorld<'s>,
        into: &mut expression::Rows,
    ) -> Result<bool, stop::Stop> {
        self.input.fetch(world, into)
    }

    fn close(&mut self, world: &mut TestWorld<'s>) {
        self.input.close(world);
    }

    fn width(&self) -> usize {
        WIDTH
    }
}

/// A row of NULLs has the width of the other side.
#[test]
fn nulls_are_as_wide_as_the_other_side() {
    assert_eq!(Nulls(WIDTH).width(), WIDTH);
}
