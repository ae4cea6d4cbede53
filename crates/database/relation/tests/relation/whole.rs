//! Updates of all rows of a table: several rows of a block are changed by one change.

use std::sync::Arc;

use relation::{Relation, RowChange, Selection};
use sim::fs::FileSystem;
use stop::{RefusalKind, Stop};
use value::{RowView, Type, Value};

use crate::common::{
    Client, Dice, Known, Table, database, join, machine, open, racy, rows, run_kept, start,
    with_instance,
};

const ROWS: i64 = 150;

/// No indexes: nothing keeps rows from being changed together.
pub(crate) fn counters() -> Vec<Table> {
    vec![Table {
        name: "counters",
        columns: vec![
            ("id", Type::BigInt, false),
            ("count", Type::BigInt, false),
            ("note", Type::Text, true),
        ],
        indexes: vec![],
        adjust: |_, _| (),
    }]
}

pub(crate) fn base() -> FileSystem {
    database(counters, |instance, known, session| {
        let mut client = Client::new(instance, known, session);
        let relation = known.named("counters");
        for id in 0..ROWS {
            let note = "n".repeat((id % 40) as usize);
            let row = [Value::Int(id), Value::Int(0), Value::Text(&note)];
            relation.insert(&mut client.work(), &row).expect("inserted");
        }
        client.commit();
    })
}

fn count(row: &RowView<'_>) -> i64 {
    row.get_i64(1).expect("not NULL")
}

/// Changes the length of a row's note each time, so that the row sometimes needs another block.
fn note_length(id: i64, round: i64) -> usize {
    match (id * 7 + round * 13) % 50 {
        49 => 900,
        other => other as usize,
    }
}

fn everywhere(client: &mut Client<'_>, relation: &Relation, round: i64) -> Result<u64, Stop> {
    let mut change = |row: &RowView<'_>, change: &mut RowChange<'_>| {
        change.set(1, Value::Int(count(row) + 1))?;
        let length = note_length(row.get_i64(0).expect("not NULL"), round);
        change.set(2, Value::Text(&"m".repeat(length)))
    };
    relation.update_where(&mut client.work(), Selection::All, None, &mut change)
}

/// Id, count and length of the note, of all rows in the order of their numbers.
type Seen = Vec<(i64, i64, usize)>;

fn seen(client: &Client<'_>, relation: &Relation, view: txn::View) -> Seen {
    let mut seen: Seen = rows(relation, view, client.session)
        .iter()
        .map(|(_, row)| match (row[0].get(), row[1].get(), row[2].get()) {
            (Value::Int(id), Value::Int(count), Value::Text(note)) => (id, count, note.len()),
            other => panic!("a row is {other:?}"),
        })
        .collect();
    seen.sort_unstable();
    seen
}

fn expected(count: i64, round: i64) -> Seen {
    (0..ROWS).map(|id| (id, count, note_length(id, round))).collect()
}

/// Rows that grow and shrink several times in one transaction are what the last statement has made
/// of them. After a rollback to a savepoint they are as they were, also as of an older snapshot and
/// after a crash.
#[test]
fn rows_that_are_changed_together_are_taken_back_together() {
    let ((), disk) = run_kept(machine(3, base()), move |world, session| {
        let instance = open(world, session);
        {
            let known = Known::of(&instance, &counters(), session);
            let mut client = Client::new(&instance, &known, session);
            change_and_take_back(&mut client, &known.named("counters"));
            // This transaction is never committed.
            std::mem::forget(std::mem::take(&mut client.transaction));
        }
        instance.abort(session);
    });
    with_instance(machine(5, disk), move |instance, session| {
        let known = Known::of(instance, &counters(), session);
        let client = Client::new(instance, &known, session);
        assert_eq!(seen(&client, &known.named("counters"), client.view()), expected(10, 9));
    });
}

fn change_and_take_back(client: &mut Client<'_>, relation: &Relation) {
    let (transactions, session) = (client.instance.transactions(), client.session);
    everywhere(client, relation, 0).expect("alone");
    client.commit();
    let snapshot = transactions.snapshot(None, session).expect("a snapshot");
    let past = transactions.view_of(&snapshot, None);
    for round in 1..12 {
        assert_eq!(everywhere(client, relation, round).expect("alone"), ROWS as u64);
        assert_eq!(seen(client, relation, client.view()), expected(round + 1, round));
        let savepoint = client.transaction.savepoint();
        everywhere(client, relation, round + 20).expect("alone");
        assert_eq!(seen(client, relation, past), expected(1, 0), "in round {round}");
        transactions.rollback_to(&mut client.transaction, savepoint, session).expect("back");
        assert_eq!(seen(client, relation, client.view()), expected(round + 1, round));
        if round % 3 == 0 {
            client.commit();
        }
    }
    client.rollback();
    assert_eq!(seen(client, relation, client.view()), expected(10, 9));
    assert_eq!(seen(client, relation, past), expected(1, 0));
    everywhere(client, relation, 30).expect("alone");
    client.instance.checkpoint(session).expect("what is not committed is on disk too");
}

/// A row that a CHECK forbids takes the whole statement back, wherever in the statement it comes.
#[test]
fn a_statement_that_is_refused_in_the_middle_leaves_nothing() {
    with_instance(machine(4, base()), move |instance, session| {
        let known = Known::of(instance, &counters(), session);
        let mut client = Client::new(instance, &known, session);
        let relation = known.named("counters");
        let before = seen(&client, &relation, client.view());
        let mut change = |row: &RowView<'_>, change: &mut RowChange<'_>| {
            let value = match row.get_i64(0) {
                Some(id) if id == ROWS - 20 => Value::Null,
                _ => Value::Int(count(row) + 1),
            };
            change.set(1, value)
        };
        let tried = relation.update_where(&mut client.work(), Selection::All, None, &mut change);
        let refused = tried.expect_err("a NULL where none may be");
        assert_eq!(refused.refusal(), Some(RefusalKind::NotNullViolation), "{refused}");
        assert_eq!(seen(&client, &relation, client.view()), before);
        client.commit();
    });
}

/// Sessions that change every row, and others that change one here and there: no change is lost.
#[test]
fn whole_updates_and_single_ones_at_once_lose_nothing() {
    let base = base();
    for seed in 0..24 {
        with_instance(racy(seed, base.clone()), move |instance, session| {
            let (known, total) = (Known::of(instance, &counters(), session), sum_of());
            let threads = (0..4_u64).map(|number| {
                let total = Arc::clone(&total);
                start(&format!("s{number}"), instance, session, move |instance, session| {
                    let known = Known::of(instance, &counters(), session);
                    let mut client = Client::new(instance, &known, session);
                    let mut dice = Dice(seed * 8 + number);
                    for _ in 0..4 {
                        let added = one_transaction(&mut client, number % 2 == 0, &mut dice);
                        total.fetch_add(added, session);
                    }
                })
            });
            join(threads.collect(), session);
            {
                let client = Client::new(instance, &known, session);
                let relation = known.named("counters");
                let found = seen(&client, &relation, client.view());
                let sum: i64 = found.iter().map(|(_, count, _)| count).sum();
                assert_eq!(found.len(), ROWS as usize);
                assert_eq!(sum as u64, total.load(session), "seed {seed}");
            }
        });
    }
}

fn sum_of() -> Arc<latch::Shared64> {
    Arc::new(latch::Shared64::new(0))
}

/// The amount that it has added to the sum of all counts.
fn one_transaction(client: &mut Client<'_>, whole: bool, dice: &mut Dice) -> u64 {
    let relation = client.known.named("counters");
    let statements = 1 + dice.below(2);
    let mut added = 0;
    for _ in 0..statements {
        let done = if whole {
            everywhere(client, &relation, dice.below(40) as i64)
        } else {
            let id = dice.below(ROWS as u64) as i64;
            let mut is_it = |row: &RowView<'_>| row.get_i64(0) == Some(id);
            let mut add = |row: &RowView<'_>, change: &mut RowChange<'_>| {
                change.set(1, Value::Int(count(row) + 1))
            };
            relation.update_where(&mut client.work(), Selection::All, Some(&mut is_it), &mut add)
        };
        match done {
            Ok(rows) => added += rows,
            Err(stop) => {
                assert_eq!(stop.refusal(), Some(RefusalKind::Deadlock), "{stop}");
                client.rollback();
                return 0;
            }
        }
    }
    client.commit();
    added
}
