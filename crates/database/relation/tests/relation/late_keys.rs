//! Keys of unique indexes that pass from row to row within a statement: they are checked at its end
//! (RL28, RL61).

use std::ops::Bound;
use std::sync::Arc;

use access::Direction;
use relation::{Bounds, Relation, RowChange, Selection};
use sim::fs::FileSystem;
use stop::{RefusalKind, Stop};
use txn::View;
use value::{RowView, Type, Value};
use waits::Nanos;

use crate::common::{
    Client, Dice, Known, Table, ascending, check, database, descending, join, machine, pause, racy,
    rows, start, with_instance,
};
use crate::shop::{self, check_all, insert, int};

const ROWS: i64 = 240;

/// Columns that are changed together.
const COLUMNS: [&[usize]; 5] = [&[0], &[1], &[0, 1], &[2], &[0, 1, 2]];

/// A unique key that may be NULL, one of two columns, and an index that isn't unique.
pub(crate) fn numbers() -> Vec<Table> {
    vec![Table {
        name: "numbers",
        columns: vec![
            ("id", Type::BigInt, false),
            ("k", Type::BigInt, true),
            ("m", Type::BigInt, false),
        ],
        indexes: vec![
            ("numbers_pk", vec![ascending(0)], true),
            ("numbers_k", vec![descending(1)], true),
            ("numbers_m", vec![ascending(2)], false),
            ("numbers_mk", vec![ascending(2), ascending(1)], true),
        ],
        adjust: |_, _| (),
    }]
}

fn first_k(id: i64) -> Option<i64> {
    (id % 9 != 0).then_some(id)
}

pub(crate) fn base() -> FileSystem {
    database(numbers, |instance, known, session| {
        let mut client = Client::new(instance, known, session);
        for id in 0..ROWS {
            let k = first_k(id).map_or(Value::Null, Value::Int);
            insert(&mut client, "numbers", &[int(id), k, int(id % 5)]).expect("new");
        }
        client.commit();
    })
}

/// Id, k and m of all rows, in the order of their ids.
type Seen = Vec<(i64, Option<i64>, i64)>;

fn seen(relation: &Relation, view: View, session: &os::Session) -> Seen {
    let number = |value: Value<'_>| match value {
        Value::Int(int) => Some(int),
        _ => None,
    };
    let rows = rows(relation, view, session);
    let row = |(_, row): &(access::RowAddress, crate::common::Row)| {
        let of = |column: usize| number(row[column].get());
        (of(0).expect("not NULL"), of(1), of(2).expect("not NULL"))
    };
    let mut seen: Seen = rows.iter().map(row).collect();
    seen.sort_unstable();
    seen
}

fn now(client: &Client<'_>) -> Seen {
    seen(&client.known.named("numbers"), client.view(), client.session)
}

/// Adds to columns that aren't NULL.
fn add(
    client: &mut Client<'_>,
    table: &str,
    selection: Selection<'_>,
    columns: &[usize],
    by: i64,
) -> Result<u64, Stop> {
    let mut change = |row: &RowView<'_>, change: &mut RowChange<'_>| {
        columns.iter().try_for_each(|column| match row.get_i64(*column) {
            Some(int) => change.set(*column, Value::Int(int + by)),
            None => Ok(()),
        })
    };
    let relation = client.known.named(table);
    relation.update_where(&mut client.work(), selection, None, &mut change)
}

fn with_numbers(test: fn(&mut Client<'_>)) {
    with_instance(machine(1, base()), move |instance, session| {
        let known = Known::of(instance, &numbers(), session);
        let mut client = Client::new(instance, &known, session);
        test(&mut client);
        client.commit();
        check(&known.named("numbers"), session);
    });
}

#[test]
fn a_key_of_every_row_goes_up_and_down() {
    with_numbers(|client| {
        let relation = client.known.named("numbers");
        let mut model = now(client);
        let everything = Bounds::equal(&[]);
        let selections = [
            Selection::All,
            Selection::Range(0, everything),
            Selection::Range(1, everything),
            Selection::Range(3, everything),
        ];
        for (turn, by) in [1, -1, 7, -7, 1_000, -3].into_iter().enumerate() {
            for (at, selection) in selections.into_iter().enumerate() {
                let columns = COLUMNS[(turn + at) % COLUMNS.len()];
                let count =
                    add(client, "numbers", selection, columns, by).expect("no key is twice");
                assert_eq!(count, ROWS as u64);
                for (id, k, m) in &mut model {
                    *id += if columns.contains(&0) { by } else { 0 };
                    *k = k.map(|k| k + if columns.contains(&1) { by } else { 0 });
                    *m += if columns.contains(&2) { by } else { 0 };
                }
                assert_eq!(now(client), model, "by {by}, columns {columns:?}");
            }
            if turn % 2 == 0 {
                client.commit();
                check(&relation, client.session);
            }
        }
        client.rollback();
        check(&relation, client.session);
    });
}

#[test]
fn rows_exchange_keys_and_others_stay() {
    with_numbers(|client| {
        let relation = client.known.named("numbers");
        let mut model = now(client);
        let mut is_one = |row: &RowView<'_>| matches!(row.get_i64(0), Some(3 | 4));
        let mut turn = |row: &RowView<'_>, change: &mut RowChange<'_>| {
            let (id, k) = (row.get_i64(0).expect("a key"), row.get_i64(1).expect("not NULL"));
            change.set(0, int(7 - id))?;
            change.set(1, int(7 - k))
        };
        let done =
            relation.update_where(&mut client.work(), Selection::All, Some(&mut is_one), &mut turn);
        assert_eq!(done.expect("at the end all keys differ"), 2);
        // Each row had the same number in both, so together they are as before, but for m.
        let (m3, m4) = (model[3].2, model[4].2);
        (model[3].2, model[4].2) = (m4, m3);
        assert_eq!(now(client), model);
        client.rollback();
    });
}

#[test]
fn keys_that_two_rows_would_have_at_the_end_are_refused_with_their_values() {
    with_numbers(|client| {
        let relation = client.known.named("numbers");
        let before = now(client);
        let set = |client: &mut Client<'_>, from: i64, to: i64| {
            let mut is_one = |row: &RowView<'_>| row.get_i64(0).is_some_and(|id| id >= from);
            let mut change = |_: &RowView<'_>, change: &mut RowChange<'_>| change.set(1, int(to));
            let (mut work, all) = (client.work(), Selection::All);
            relation.update_where(&mut work, all, Some(&mut is_one), &mut change)
        };
        // Among themselves; with a row that keeps its key; with a row that the statement is about
        // and that keeps its key.
        for (from, to) in [(ROWS - 2, 900), (ROWS - 1, 5), (0, 5)] {
            let refused = set(client, from, to).expect_err("two rows with one key");
            assert_eq!(refused.refusal(), Some(RefusalKind::UniqueViolation));
            let say = format!(
                "table numbers has another row with this key, which numbers_k forbids: k = {to}; \
                 give another value, or change that row"
            );
            assert_eq!(refused.to_string(), say);
            assert_eq!(now(client), before);
            check(&relation, client.session);
        }
        // The lowest of the range meets a row below it.
        let bounds = Bounds { equal: &[], from: Bound::Included(int(50)), to: Bound::Unbounded };
        let down = add(client, "numbers", Selection::Range(1, bounds), &[1], -1);
        let refused = down.expect_err("there is a row with 49");
        assert_eq!(refused.refusal(), Some(RefusalKind::UniqueViolation));
        assert!(refused.to_string().contains("k = 49"), "{refused}");
        assert_eq!(now(client), before);
        let up = add(client, "numbers", Selection::Range(1, bounds), &[1], 1);
        assert!(up.expect("nothing is above") > 100);
    });
}

/// A reader by the index sees the rows as they were, before the statement and as of its snapshot.
#[test]
fn an_older_view_finds_keys_where_they_were() {
    with_numbers(|client| {
        let relation = client.known.named("numbers");
        let (transactions, session) = (client.instance.transactions().clone(), client.session);
        let snapshot = transactions.snapshot(None, session).expect("a snapshot");
        let past = transactions.view_of(&snapshot, None);
        let keys = |view: View| {
            let all = Bounds::equal(&[]);
            let mut range = relation.range(1, &all, Direction::Ascending, view).expect("a range");
            let mut look = |_, row: RowView<'_>| (row.get_i64(1), row.get_i64(0));
            let mut found = Vec::new();
            while let Some(one) = range.next(&mut look, session).expect("read") {
                found.push(one);
            }
            found
        };
        let before = keys(past);
        for turn in 0..3 {
            let savepoint = client.transaction.savepoint();
            add(client, "numbers", Selection::All, &[1], 1).expect("done");
            assert_eq!(keys(past), before, "turn {turn}");
            let own = keys(client.view());
            let moved = own.iter().zip(&before).all(|(now, then)| now.0 == then.0.map(|k| k + 1));
            assert!(moved, "{own:?}");
            transactions.rollback_to(&mut client.transaction, savepoint, session).expect("back");
            assert_eq!(keys(client.view()), before);
        }
        add(client, "numbers", Selection::All, &[1], 1).expect("done");
        client.commit();
        assert_eq!(keys(past), before);
    });
}

/// Foreign keys look at what is there when the keys are.
#[test]
fn rows_that_refer_to_each_other_get_new_keys_together() {
    let base = database(shop::tables, |instance, known, session| {
        let mut client = Client::new(instance, known, session);
        insert(&mut client, "tree", &[int(0), Value::Null]).expect("new");
        for id in 1..60 {
            insert(&mut client, "tree", &[int(id), int(id / 2)]).expect("new");
        }
        for id in 1..=9 {
            insert(&mut client, "customers", &[int(id), Value::Null]).expect("new");
        }
        insert(&mut client, "orders", &[int(1), int(9), int(1)]).expect("new");
        client.commit();
    });
    with_instance(machine(1, base), move |instance, session| {
        let known = Known::of(instance, &shop::tables(), session);
        let mut client = Client::new(instance, &known, session);
        for by in [1, -1, 100, -50] {
            let all = add(&mut client, "tree", Selection::All, &[0, 1], by);
            assert_eq!(all.expect("they go together"), 60);
        }
        let ids = add(&mut client, "tree", Selection::All, &[0], 1);
        let refused = ids.expect_err("those that refer to the first stay behind");
        assert_eq!(refused.refusal(), Some(RefusalKind::ForeignKeyViolation));
        // The order refers to 9, which customer 8 becomes, and customer 9 was.
        let up = add(&mut client, "customers", Selection::All, &[0], 1);
        assert_eq!(up.expect("another row has the key"), 9);
        let down = add(&mut client, "customers", Selection::All, &[0], -2);
        let refused = down.expect_err("no row has 9 then");
        assert_eq!(refused.refusal(), Some(RefusalKind::ForeignKeyViolation));
        client.commit();
        check_all(&known, session);
    });
}

/// Sessions that move all keys, and others that change rows here and there: none meets a key that
/// isn't there at the end, and no move is lost.
#[test]
fn sessions_that_move_keys_at_once_lose_nothing_and_are_refused_for_no_key() {
    let base = base();
    for seed in 0..16 {
        with_instance(racy(seed, base.clone()), move |instance, session| {
            let total = Arc::new(latch::Shared64::new(0));
            let threads = (0..3_u64).map(|number| {
                let total = Arc::clone(&total);
                start(&format!("s{number}"), instance, session, move |instance, session| {
                    let known = Known::of(instance, &numbers(), session);
                    let mut client = Client::new(instance, &known, session);
                    let mut dice = Dice(seed * 8 + number);
                    for _ in 0..3 {
                        let moved = one_transaction(&mut client, &mut dice);
                        total.fetch_add(moved, session);
                    }
                })
            });
            join(threads.collect(), session);
            let known = Known::of(instance, &numbers(), session);
            let client = Client::new(instance, &known, session);
            let moved = total.load(session) as i64;
            for (id, k, _) in now(&client) {
                assert_eq!(k, first_k(id).map(|first| first + moved), "seed {seed}, row {id}");
            }
            check(&known.named("numbers"), session);
        });
    }
}

/// By how much it has moved all keys.
fn one_transaction(client: &mut Client<'_>, dice: &mut Dice) -> u64 {
    if dice.below(4) == 0 {
        let begun = client.instance.transactions().begin_serializable(client.session);
        client.transaction = begun.expect("begun");
    }
    let everything = Bounds::equal(&[]);
    let mut moved = 0;
    for _ in 0..=dice.below(2) {
        let id = dice.below(ROWS as u64) as i64;
        let key = [int(id)];
        let done = match dice.below(4) {
            0 => add(client, "numbers", Selection::All, &[1], 1).map(|_| 1),
            1 => add(client, "numbers", Selection::Range(1, everything), &[1], 1).map(|_| 1),
            _ => add(client, "numbers", Selection::Key(0, &key), &[2], 5).map(|_| 0),
        };
        match done {
            Ok(by) => moved += by,
            Err(stop) => {
                let kinds = [RefusalKind::Deadlock, RefusalKind::Serialization];
                let kind = stop.refusal().expect("no halt");
                assert!(kinds.contains(&kind), "{stop}");
                client.rollback();
                return 0;
            }
        }
    }
    pause(Nanos::from_micros(dice.below(1_000)), client.session);
    if dice.below(4) == 0 {
        client.rollback();
        return 0;
    }
    client.commit();
    moved
}
