//! Snapshots that are older than what was done at the end of an index, where leaves that are split
//! leave their ITLs behind (rule access/BT13).

use std::collections::BTreeSet;

use access::Index;
use ids::BlockSize;
use instance::{Instance, Transaction};
use os::Session;
use waits::Statistic;

use crate::common::{
    Dice, Entry, all, check, check_instance, database, index, machine, row, seen, with_instance,
};

/// A leaf of 2 KiB has room for so many entries.
const LEAF_ENTRIES: u64 = 24;

fn key(number: u64) -> Vec<u8> {
    let mut key = (number as u32).swap_bytes().to_le_bytes().to_vec();
    key.resize(60, b'k');
    key
}

fn entries(numbers: &BTreeSet<u64>) -> Vec<Entry> {
    numbers.iter().map(|number| (key(*number), row(*number))).collect()
}

/// Inserts some at the end, or deletes some of those that are last.
fn step(
    index: &Index,
    transaction: &mut Transaction,
    (there, dice): (&mut BTreeSet<u64>, &mut Dice),
    session: &Session,
) {
    if dice.below(3) > 0 {
        // Where steps are small, keys come before those that were deleted.
        let stride = if dice.below(2) == 0 { 1 } else { 20 };
        let mut next = there.last().map_or(0, |last| last + stride);
        for _ in 0..dice.below(40) {
            index.insert(transaction, &key(next), row(next), session).expect("inserted");
            there.insert(next);
            next += stride;
        }
        return;
    }
    for _ in 0..dice.below(30) {
        let Some(number) = there.iter().rev().nth(dice.below(3) as usize).copied() else { return };
        assert!(index.delete(transaction, &key(number), row(number), session).expect("deleted"));
        there.remove(&number);
    }
}

/// One session grows and shrinks the index at its end, and holds snapshots of long ago.
fn life(instance: &Instance, index: &Index, dice: &mut Dice, session: &Session) {
    let transactions = instance.transactions();
    let (mut there, mut held) = (BTreeSet::new(), Vec::new());
    for _ in 0..40 {
        let (mut transaction, mut tried) = (Transaction::new(), there.clone());
        for _ in 0..1 + dice.below(3) {
            let (savepoint, before) = (transaction.savepoint(), tried.clone());
            step(index, &mut transaction, (&mut tried, dice), session);
            if dice.below(4) == 0 {
                let back = transactions.rollback_to(&mut transaction, savepoint, session);
                back.expect("taken back");
                tried = before;
            }
        }
        assert_eq!(seen(instance, index, Some(&transaction), session), entries(&tried));
        if dice.below(4) == 0 {
            let snapshot = transactions.snapshot(None, session).expect("a snapshot");
            held.push((snapshot, there.clone()));
        }
        match dice.below(4) {
            0 => instance.rollback(transaction, session).expect("rolled back"),
            _ => {
                instance.commit(transaction, session).expect("committed");
                there = tried;
            }
        }
        for (snapshot, saw) in &held {
            let view = transactions.view_of(snapshot, None);
            assert!(all(index, view, session) == entries(saw), "as of {view:?}");
        }
        if held.len() > 3 {
            held.remove(dice.below(4) as usize);
        }
    }
    drop(held);
    check(index, &entries(&there), session);
    check_instance(instance, session);
}

#[test]
fn snapshots_see_what_was_at_the_end() {
    for unique in [false, true] {
        let base = database(BlockSize::KIB_2, unique);
        for seed in 0..8 {
            with_instance(machine(seed, base.clone()), move |instance, session| {
                let index = index(instance, session);
                life(instance, &index, &mut Dice(seed), session);
                drop(index);
            });
        }
    }
}

/// The last leaf is full, and then its largest entries are deleted and purged. A load behind them,
/// which begins with a look at undo, leaves the list behind all the same; a snapshot that saw what
/// was deleted sees it.
#[test]
fn a_list_is_left_behind_where_entries_were_purged_too() {
    with_instance(machine(1, database(BlockSize::KIB_2, true)), |instance, session| {
        let (index, transactions) = (index(instance, session), instance.transactions());
        let mut there = BTreeSet::new();
        let mut insert = |transaction: &mut Transaction, count: u64| {
            for _ in 0..count {
                let next = there.last().map_or(0, |last| last + 1);
                index.insert(transaction, &key(next), row(next), session).expect("inserted");
                there.insert(next);
            }
            there.clone()
        };
        let leaves = || index.check(&mut |_, _| (), session).expect("in order").leaves;
        let mut first = Transaction::new();
        let mut counts = [0; 4];
        while leaves() < 4 {
            insert(&mut first, 1);
            counts[leaves() as usize - 1] += 1;
        }
        let there = insert(&mut first, counts[2] - 1);
        assert_eq!(leaves(), 4, "the fourth is full");
        instance.commit(first, session).expect("committed");
        let before = transactions.snapshot(None, session).expect("a snapshot");
        let mut deleting = Transaction::new();
        let gone: Vec<u64> = there.iter().rev().take(5).copied().collect();
        for number in &gone {
            assert!(
                index.delete(&mut deleting, &key(*number), row(*number), session).expect("deleted")
            );
        }
        instance.commit(deleting, session).expect("committed");
        let after = transactions.snapshot(None, session).expect("a snapshot");
        let mut load = Transaction::new();
        let loaded = insert(&mut load, 40 * counts[2]);
        let newest = key(*loaded.last().expect("loaded"));
        for snapshot in [&before, &after] {
            let view = transactions.view_of(snapshot, None);
            let gets = || session.account().totals().statistic(Statistic::ConsistentGets);
            let counted = gets();
            assert_eq!(index.find(view, &newest, session).expect("read"), None);
            assert!(gets() - counted < 4 * counts[2], "one key takes {} gets", gets() - counted);
        }
        let mut sees = there.clone();
        assert_eq!(all(&index, transactions.view_of(&before, None), session), entries(&sees));
        gone.iter().for_each(|number| _ = sees.remove(number));
        assert_eq!(all(&index, transactions.view_of(&after, None), session), entries(&sees));
        instance.rollback(load, session).expect("rolled back");
        drop((before, after, index));
    });
}

/// Entries are deleted, and purged by a transaction whose own entries are behind them, and which is
/// rolled back. Then keys come between, more than a leaf has room for.
#[test]
fn what_a_rolled_back_transaction_purged_is_seen_behind_the_end() {
    with_instance(machine(1, database(BlockSize::KIB_2, true)), |instance, session| {
        let (index, transactions) = (index(instance, session), instance.transactions());
        let insert = |numbers: &mut dyn Iterator<Item = u64>| {
            let mut transaction = Transaction::new();
            for number in numbers {
                index
                    .insert(&mut transaction, &key(number), row(number), session)
                    .expect("inserted");
            }
            transaction
        };
        let there = BTreeSet::from_iter((0..LEAF_ENTRIES - 3).map(|number| number * 1_000));
        instance.commit(insert(&mut there.iter().copied()), session).expect("committed");
        let before = transactions.snapshot(None, session).expect("a snapshot");
        let mut deleting = Transaction::new();
        for number in there.iter().skip(8) {
            assert!(
                index.delete(&mut deleting, &key(*number), row(*number), session).expect("deleted")
            );
        }
        instance.commit(deleting, session).expect("committed");
        let behind = insert(&mut (100..106).map(|number| number * 1_000));
        instance.rollback(behind, session).expect("rolled back");
        instance.commit(insert(&mut (7_001..7_100)), session).expect("committed");
        assert_eq!(all(&index, transactions.view_of(&before, None), session), entries(&there));
        drop((before, index));
    });
}
