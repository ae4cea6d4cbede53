//! Tables against a model, and what rows others see.

use std::collections::BTreeMap;

use access::{HeapInserter, RowAddress};
use ids::Dba;
use instance::Transaction;
use os::Session;
use waits::Nanos;

use crate::common::{
    self, Dice, TABLE, add, check, database, join, machine, number, pause, racy, rows, start,
    with_instance,
};
use crate::rows::{Row, Rows};

type Model = BTreeMap<RowAddress, i64>;

fn scanned(table: &Rows, session: &Session) -> Model {
    let mut found = Model::new();
    table.scan(|row, view| _ = found.insert(row, view.number), session).expect("read");
    found
}

/// Random inserts, updates, fetches, commits and rollbacks of several sessions, each with a table
/// of its own and a model beside it; then all is as the models say, also after a restart.
#[test]
fn tables_do_what_a_map_does() {
    let base =
        common::database_with(common::creation(), common::parameters(), |instance, session| {
            for user in 0..3 {
                Rows::create(instance, &format!("t{user}"), session).expect("made");
            }
        });
    for seed in 0..40 {
        let ((), disk) = with_instance(racy(seed, base.clone()), move |instance, session| {
            let sessions = (0..3).map(|user| {
                start("user", instance, session, move |instance, session| {
                    let table = Rows::open(instance, &format!("t{user}"), session).expect("there");
                    let mut dice = Dice(seed * 10 + user);
                    let (mut model, mut inserter) = (Model::new(), HeapInserter::default());
                    for _ in 0..12 {
                        let (mut tried, mut transaction) = (model.clone(), Transaction::new());
                        for _ in 0..dice.below(12) {
                            step(
                                &table,
                                &mut transaction,
                                &mut inserter,
                                &mut tried,
                                &mut dice,
                                session,
                            );
                        }
                        match dice.below(3) {
                            0 => instance.rollback(transaction, session).expect("rolled back"),
                            _ => {
                                instance.commit(transaction, session).expect("committed");
                                model = tried;
                            }
                        }
                        assert_eq!(scanned(&table, session), model);
                    }
                    let sum = model.values().sum::<i64>() * 1_000 + model.len() as i64;
                    let mut last = Transaction::new();
                    table
                        .insert(&mut last, &mut inserter, |row| row.number = -sum, session)
                        .expect("inserted");
                    instance.commit(last, session).expect("committed");
                })
            });
            join(sessions.collect(), session);
            check(instance, session);
        });
        with_instance(machine(seed, disk), |instance, session| {
            for user in 0..3 {
                let table = Rows::open(instance, &format!("t{user}"), session).expect("there");
                let found = scanned(&table, session);
                let (witness, rows): (Vec<i64>, Vec<i64>) = found.values().partition(|n| **n < 0);
                let sum = rows.iter().sum::<i64>() * 1_000 + rows.len() as i64;
                assert_eq!(witness.iter().sum::<i64>(), -sum, "table {user}");
            }
        });
    }
}

fn step(
    table: &Rows,
    transaction: &mut Transaction,
    inserter: &mut HeapInserter,
    model: &mut Model,
    dice: &mut Dice,
    session: &Session,
) {
    let value = 1 + dice.below(1_000) as i64;
    let known = model.keys().nth(dice.below(1 + model.len() as u64) as usize).copied();
    match known {
        None => {
            let fill = |row: &mut Row| row.number = value;
            let row = table.insert(transaction, inserter, fill, session).expect("inserted");
            assert!(model.insert(row, value).is_none(), "{row} is given out twice");
        }
        Some(row) if dice.below(3) == 0 => {
            let read = table.fetch(Some(transaction), row, |row| row.number, session);
            assert_eq!(read.expect("read"), Some(model[&row]));
        }
        Some(row) => {
            let change = |row: &mut Row| row.number = value;
            assert!(table.update(transaction, row, change, session).expect("changed"));
            model.insert(row, value);
        }
    }
}

/// Addresses of other tables, of blocks of other kinds, beyond the file or the rows: none of ours.
#[test]
fn an_address_that_is_no_row_of_the_table_gives_none_or_is_refused() {
    with_instance(machine(1, database(3)), |instance, session| {
        let table = Rows::open(instance, TABLE, session).expect("there");
        let other = Rows::create(instance, "other", session).expect("made");
        let row = rows(&table, session)[0];
        let mut transaction = Transaction::new();
        let look = |table: &Rows, row| table.fetch(None, row, |_| (), session);
        assert_eq!(look(&other, row).expect("read"), None);
        assert!(!other.update(&mut transaction, row, |_| {}, session).expect("read"));
        for block in 0..40 {
            let address = RowAddress { block: Dba::new(1, block), slot: 5_000 };
            assert_eq!(look(&table, address).expect("read"), None, "block {block}");
            assert!(!table.update(&mut transaction, address, |_| {}, session).expect("read"));
        }
        for block in [Dba::new(1, 400), Dba::new(1, 1 << 20), Dba::new(9, 1)] {
            let stop = look(&table, RowAddress { block, slot: 0 }).expect_err("no such block");
            assert!(stop.refusal().is_some(), "{stop}");
        }
        instance.rollback(transaction, session).expect("rolled back");
        drop((table, other));
    });
}

/// A reader waits for nobody, and sees what was committed when it began.
#[test]
fn a_fetch_waits_for_nobody_and_sees_what_was_committed() {
    let base = database(1);
    for seed in 0..60 {
        with_instance(racy(seed, base.clone()), move |instance, session| {
            let table = Rows::open(instance, TABLE, session).expect("there");
            let row = rows(&table, session)[0];
            let mut writer = Transaction::new();
            add(&table, &mut writer, row, 5, session).expect("changed");
            let reader = start("reader", instance, session, move |instance, session| {
                let table = Rows::open(instance, TABLE, session).expect("there");
                let seen: Vec<i64> = (0..40).map(|_| number(&table, row, session)).collect();
                assert!(seen.is_sorted(), "{seen:?}");
                assert!(seen.iter().all(|n| *n == 0 || *n == 5 && seed % 2 == 0), "{seen:?}");
            });
            pause(Nanos::from_micros(seed * 20), session);
            assert_eq!(number(&table, row, session), 0, "it isn't committed");
            add(&table, &mut writer, row, 0, session).expect("changed");
            match seed % 2 {
                0 => instance.commit(writer, session).expect("committed"),
                _ => instance.rollback(writer, session).expect("rolled back"),
            }
            let expected = if seed % 2 == 0 { 5 } else { 0 };
            assert_eq!(number(&table, row, session), expected);
            join(vec![reader], session);
            drop(table);
        });
    }
}

/// An update that leaves a row as it is locks it all the same: what it saw stays so until its end.
#[test]
fn an_update_that_changes_nothing_locks_the_row() {
    with_instance(machine(1, database(1)), |instance, session| {
        let table = Rows::open(instance, TABLE, session).expect("there");
        let row = rows(&table, session)[0];
        let mut first = Transaction::new();
        add(&table, &mut first, row, 0, session).expect("locked");
        let other = start("other", instance, session, move |instance, session| {
            let table = Rows::open(instance, TABLE, session).expect("there");
            let mut second = Transaction::new();
            add(&table, &mut second, row, 1, session).expect("changed");
            instance.commit(second, session).expect("committed");
        });
        pause(Nanos::from_millis(50), session);
        let seen = table.fetch(Some(&first), row, |row| row.number, session).expect("read");
        assert_eq!(seen, Some(0), "the row is locked");
        instance.commit(first, session).expect("committed");
        join(vec![other], session);
        assert_eq!(number(&table, row, session), 1);
        drop(table);
    });
}

/// A scan within a transaction sees its changes, and doesn't wait for itself.
#[test]
fn a_scan_within_a_transaction_sees_its_own_rows() {
    with_instance(machine(1, database(2)), |instance, session| {
        let table = Rows::open(instance, TABLE, session).expect("there");
        let all = rows(&table, session);
        let mut own = Transaction::new();
        add(&table, &mut own, all[1], 4, session).expect("changed");
        let mut sum = 0;
        table.scan_within(Some(&own), |_, row| sum += row.number, session).expect("read");
        assert_eq!(sum, 4);
        instance.commit(own, session).expect("committed");
        drop(table);
    });
}

/// An inserter that comes from another table begins anew.
#[test]
fn an_inserter_of_another_table_puts_no_row_into_that_one() {
    with_instance(machine(1, database(0)), |instance, session| {
        let table = Rows::open(instance, TABLE, session).expect("there");
        let other = Rows::create(instance, "other", session).expect("made");
        let (mut own, mut inserter) = (Transaction::new(), HeapInserter::default());
        for _ in 0..3 {
            for table in [&table, &other] {
                let fill = |row: &mut Row| row.number = 6;
                let row = table.insert(&mut own, &mut inserter, fill, session).expect("inserted");
                let read = table.fetch(Some(&own), row, |row| row.number, session);
                assert_eq!(read.expect("read"), Some(6));
            }
        }
        instance.commit(own, session).expect("committed");
        assert_eq!((rows(&table, session).len(), rows(&other, session).len()), (3, 3));
        drop((table, other));
    });
}

/// Inserts of a transaction go on behind its last row, and where it was before once it has gone
/// back.
#[test]
fn a_slot_is_used_again_by_the_transaction_that_has_taken_its_row_back() {
    with_instance(machine(1, database(0)), |instance, session| {
        let table = Rows::open(instance, TABLE, session).expect("there");
        let (mut own, mut inserter) = (Transaction::new(), HeapInserter::default());
        let fill = |row: &mut Row| row.number = 6;
        let mut insert = |own: &mut Transaction| {
            table.insert(own, &mut inserter, fill, session).expect("inserted")
        };
        let first = insert(&mut own);
        let savepoint = own.savepoint();
        let slots: Vec<u16> = (0..3).map(|_| insert(&mut own).slot).collect();
        assert_eq!(slots, [1, 2, 3].map(|more| first.slot + more));
        instance.transactions().rollback_to(&mut own, savepoint, session).expect("taken back");
        assert_eq!(insert(&mut own).slot, first.slot + 1);
        instance.rollback(own, session).expect("rolled back");
        let mut next = Transaction::new();
        assert_eq!(
            insert(&mut next),
            first,
            "another transaction begins at the block's first slot"
        );
        instance.commit(next, session).expect("committed");
        drop(table);
    });
}
