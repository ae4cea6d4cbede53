//! Heaps: rows of any length that grow, shrink and move, under many sessions; what snapshots see of
//! them.

#![expect(clippy::disallowed_types, reason = "where rows are lives outside the simulated world")]

use std::sync::{Arc, OnceLock};

use access::{Changed, Heap, HeapInserter, RowAddress};
use instance::{Instance, Parameters, Transaction};
use latch::{Latch, LatchKind};
use os::Session;
use sim::fs::FileSystem;
use space::Holds;
use stop::{RefusalKind, Stop};
use txn::View;

use crate::common::{
    self, Dice, abort, bed, check, creation, database_with, join, open_as, racy, run_kept, start,
};

const NAME: &str = "h";
/// What all rows of the transfers have together.
const TOTAL: i64 = 40 * 1_000;

fn heap(instance: &Instance, session: &Session) -> Heap {
    let segment = instance.space().find(NAME, session).expect("read").expect("there");
    Heap::new(&segment, instance.space(), instance.transactions(), session)
}

/// A row of this balance and length, which can be seen to be whole.
fn row(balance: i64, length: usize) -> Vec<u8> {
    let mut row = balance.to_le_bytes().to_vec();
    row.resize(length.max(8), (length % 251) as u8);
    row
}

fn balance(row: &[u8]) -> i64 {
    let (balance, filler) = row.split_at(8);
    let byte = (row.len() % 251) as u8;
    assert!(filler.iter().all(|each| *each == byte), "a row of {} bytes isn't whole", row.len());
    i64::from_le_bytes(balance.try_into().expect("eight bytes"))
}

/// Mostly short, sometimes longer than a block, now and then longer than three.
fn length(dice: &mut Dice) -> usize {
    match dice.below(12) {
        0 => dice.below(7_000) as usize,
        1..3 => dice.below(2_500) as usize,
        _ => dice.below(200) as usize,
    }
}

/// A database with a heap of 40 rows, and where they are.
fn filled() -> (FileSystem, Arc<Vec<RowAddress>>) {
    let rows = Arc::new(OnceLock::new());
    let into = Arc::clone(&rows);
    let creation = instance::Creation { data_bytes: 2_000 * 2_048, ..creation() };
    let disk = database_with(creation, parameters(), move |instance, session| {
        instance.space().create(NAME, Holds::Table, session).expect("made");
        let heap = heap(instance, session);
        let (mut transaction, mut inserter) = (Transaction::new(), HeapInserter::default());
        let mut dice = Dice(1);
        let mut insert = |_| {
            let row = row(1_000, length(&mut dice));
            heap.insert(&mut transaction, &mut inserter, &row, session).expect("inserted")
        };
        let all: Vec<RowAddress> = (0..40).map(&mut insert).collect();
        into.set(all).expect("once");
        instance.commit(transaction, session).expect("committed");
    });
    let rows = rows.get().expect("filled").clone();
    (disk, Arc::new(rows))
}

fn parameters() -> Parameters {
    Parameters { db_cache_size: 80 * 2_048, ..common::parameters() }
}

/// Adds to a row, whose length changes; as a statement that begins again when it has to.
fn add(
    heap: &Heap,
    transaction: &mut Transaction,
    (inserter, address): (&mut HeapInserter, RowAddress),
    (amount, length): (i64, usize),
    session: &Session,
) -> Result<(), Stop> {
    loop {
        transaction.begin_statement();
        let transactions = heap.transactions();
        // Kept as long as the view is used, or its undo may be overwritten.
        let snapshot = transactions.snapshot(Some(transaction), session)?;
        let view = transactions.view_of(&snapshot, Some(transaction));
        let mut change = |old: &[u8], new: &mut Vec<u8>| {
            new.extend_from_slice(&row(balance(old) + amount, length));
        };
        let changed =
            heap.update(transaction, inserter, address, Some(view), &mut change, session)?;
        transaction.end_statement();
        match changed {
            Changed::Yes => return Ok(()),
            gone @ (Changed::NotThere | Changed::Already | Changed::Held) => {
                panic!("the row {address}: {gone:?}")
            }
            Changed::Since | Changed::TooNew if transaction.is_serializable() => {
                return Err(Stop::refuse(RefusalKind::Serialization, "it was changed since"));
            }
            Changed::Since | Changed::TooNew => {}
        }
    }
}

/// The sum of all balances, and how many rows there are, as a view sees them.
fn sum(heap: &Heap, view: View, session: &Session) -> Result<(i64, usize), Stop> {
    let (mut sum, mut count) = (0, 0);
    for run in heap.runs(session)? {
        for number in 0..run.count {
            let block = ids::Dba::new(run.first.file.get(), run.first.block.get() + number);
            let mut visit = |_, row: &[u8]| {
                sum += balance(row);
                count += 1;
            };
            heap.visit_block(view, block, &mut visit, session)?;
        }
    }
    Ok((sum, count))
}

fn sum_now(heap: &Heap, session: &Session) -> (i64, usize) {
    let snapshot = heap.transactions().snapshot(None, session).expect("a snapshot");
    let view = heap.transactions().view_of(&snapshot, None);
    sum(heap, view, session).expect("read")
}

/// One transfer between two rows, which is committed, rolled back or refused.
fn transfer(
    (instance, heap): (&Instance, &Heap),
    (dice, inserter): (&mut Dice, &mut HeapInserter),
    rows: &[RowAddress],
    session: &Session,
) {
    let mut transaction = match dice.below(3) {
        0 => heap.transactions().begin_serializable(session).expect("begun"),
        _ => Transaction::new(),
    };
    let mut work = || {
        let amount = dice.below(50) as i64;
        for (turn, amount) in [-amount, amount].into_iter().enumerate() {
            let address = rows[dice.below(rows.len() as u64) as usize];
            let savepoint = transaction.savepoint();
            let to = (amount, length(dice));
            add(heap, &mut transaction, (inserter, address), to, session)?;
            if dice.below(4) == 0 {
                // Once more, another length; and back again.
                let again = (7, length(dice));
                add(heap, &mut transaction, (inserter, address), again, session)?;
                instance.transactions().rollback_to(&mut transaction, savepoint, session)?;
                let to = (amount, length(dice));
                add(heap, &mut transaction, (inserter, address), to, session)?;
            }
            if turn == 1 && dice.below(3) == 0 {
                let view = heap.transactions().view(Some(&transaction), session)?;
                if transaction.is_serializable() {
                    assert_eq!(sum(heap, view, session)?.0, TOTAL, "its own changes are seen");
                }
            }
        }
        Ok::<(), Stop>(())
    };
    match work() {
        Ok(()) if dice.below(4) > 0 => instance.commit(transaction, session).expect("committed"),
        Ok(()) => instance.rollback(transaction, session).expect("rolled back"),
        Err(stop) => {
            let kinds = [RefusalKind::Deadlock, RefusalKind::Serialization];
            let is_expected = stop.refusal().is_some_and(|kind| kinds.contains(&kind));
            assert!(is_expected, "{stop}");
            instance.rollback(transaction, session).expect("rolled back");
        }
    }
}

/// Sessions move amounts between rows that grow, shrink and move; whoever reads all rows, at any
/// time and in any transaction, finds the same total; after a crash too.
#[test]
fn a_snapshot_sees_the_same_total_however_rows_move() {
    let (base, rows) = filled();
    // A serializable transaction put a row into a slot that was freed after its snapshot: 125.
    for seed in (0..30).chain([125]) {
        let rows = Arc::clone(&rows);
        let ((), disk) = run_kept(racy(seed, base.clone()), move |world, session| {
            let instance = open_as(&parameters(), world, session);
            let sums = Arc::new(Latch::new(session.os(), LatchKind::Innermost, 0_u32));
            let writers = (0..3).map(|number| {
                let rows = Arc::clone(&rows);
                start("writer", &instance, session, move |instance, session| {
                    let heap = heap(instance, session);
                    let mut dice = Dice(seed * 100 + number);
                    let mut inserter = HeapInserter::default();
                    for _ in 0..15 {
                        let own = (&mut dice, &mut inserter);
                        transfer((instance, &heap), own, &rows, session);
                    }
                })
            });
            let mut threads: Vec<_> = writers.collect();
            let counted = Arc::clone(&sums);
            threads.push(start("reader", &instance, session, move |instance, session| {
                let heap = heap(instance, session);
                for _ in 0..8 {
                    assert_eq!(sum_now(&heap, session), (TOTAL, 40));
                    *counted.exclusive(session) += 1;
                }
            }));
            join(threads, session);
            assert_eq!(*sums.exclusive(session), 8);
            assert_eq!(sum_now(&heap(&instance, session), session), (TOTAL, 40));
            check(&instance, session);
            abort(instance, session);
        });
        bed::with_instance(racy(seed, disk), parameters(), |instance, session| {
            let heap = heap(instance, session);
            assert_eq!(sum_now(&heap, session), (TOTAL, 40));
            drop(heap);
            check(instance, session);
        });
    }
}
