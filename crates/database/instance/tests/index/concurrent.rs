//! Sessions that move entries, split leaves and take changes back, under scans that go both ways.
//!
//! Each writer has some rows; a transaction of it gives all of them new keys with one version. So
//! every scan finds, of each writer, all rows with the same version, or none.

use std::collections::{BTreeMap, BTreeSet};

use access::{Index, Inserted};
use ids::BlockSize;
use instance::{Instance, Transaction};
use os::Session;
use waits::{Nanos, WaitEvent};

use crate::common::{
    Dice, Entry, all, check, check_instance, database, index, insert_array, join, machine, make,
    open, racy, row, run, seen, shut, start, with_instance,
};

pub(crate) const ROWS: u64 = 17;

/// Schedules in which scans go on beside splits.
const SEEDS: u64 = 28;

/// A key somewhere among the others, that says whose it is, and which version.
pub(crate) fn key(user: u64, version: u32, dice: &mut Dice) -> Vec<u8> {
    let mut key = vec![b'k'; 1 + dice.below(200) as usize];
    key[0] = dice.below(12) as u8;
    key.push(user as u8);
    key.extend_from_slice(&version.to_le_bytes());
    key
}

fn user_and_version(key: &[u8]) -> (u64, u32) {
    let (rest, version) = key.split_at(key.len() - 4);
    let version = u32::from_le_bytes(version.try_into().expect("four bytes"));
    (u64::from(*rest.last().expect("a user")), version)
}

/// Versions of the writers whose rows are there; all rows of each are, once.
pub(crate) fn versions(entries: &[Entry]) -> BTreeMap<u64, u32> {
    assert!(entries.is_sorted(), "in order");
    let mut found: BTreeMap<u64, (u32, BTreeSet<_>)> = BTreeMap::new();
    for (key, row) in entries {
        let (user, version) = user_and_version(key);
        let (first, rows) = found.entry(user).or_insert((version, BTreeSet::new()));
        assert_eq!(*first, version, "user {user} has two versions");
        assert!(rows.insert(*row), "user {user} has {row} twice");
    }
    for (user, (version, rows)) in &found {
        assert_eq!(rows.len() as u64, ROWS, "user {user} with version {version}");
    }
    found.into_iter().map(|(user, (version, _))| (user, version)).collect()
}

/// What a writer's rows have for keys.
pub(crate) type Keys = Vec<Option<Vec<u8>>>;

/// Gives all rows of a user new keys, in any order, some of them again and again.
pub(crate) fn move_all(
    (instance, index): (&Instance, &Index),
    transaction: &mut Transaction,
    (user, version): (u64, u32),
    (keys, dice): (&mut Keys, &mut Dice),
    session: &Session,
) {
    let savepoint = transaction.savepoint();
    let before = keys.clone();
    for attempt in 0..1 + dice.below(2) {
        if attempt > 0 {
            let transactions = instance.transactions();
            transactions.rollback_to(transaction, savepoint, session).expect("taken back");
            keys.clone_from(&before);
        }
        // The new keys come one by one, or together, and then side by side.
        let beginning = (dice.below(2) == 0).then(|| dice.below(12) as u8);
        let mut together = Vec::new();
        for step in 0..ROWS {
            let number = (step * 3 + version as u64) % ROWS;
            let row = row(user * ROWS + number);
            if let Some(old) = &keys[number as usize] {
                let deleted = index.delete(transaction, old, row, session);
                assert!(deleted.expect("deleted"), "{row} has its key");
            }
            let mut new = key(user, version, dice);
            keys[number as usize] = Some(match beginning {
                Some(first) => {
                    new[0] = first;
                    together.push((new.clone(), row));
                    new
                }
                None => {
                    let inserted = index.insert(transaction, &new, row, session);
                    assert_eq!(inserted.expect("inserted"), Inserted::Done);
                    new
                }
            });
        }
        let inserted = insert_array(index, transaction, &mut together, session);
        assert_eq!(inserted.expect("inserted"), None);
    }
}

fn writes(instance: &Instance, (user, seed): (u64, u64), moves: u32, session: &Session) {
    let index = index(instance, session);
    let mut dice = Dice(seed * 100 + user);
    let mut keys: Keys = vec![None; ROWS as usize];
    for version in 1..=moves {
        let mut transaction = Transaction::new();
        let mut tried = keys.clone();
        let this = (user, version);
        let to = (&mut tried, &mut dice);
        move_all((instance, &index), &mut transaction, this, to, session);
        let own = versions(&seen(instance, &index, Some(&transaction), session));
        assert_eq!(own.get(&user), Some(&version), "its own changes are seen");
        match dice.below(3) {
            0 => instance.rollback(transaction, session).expect("rolled back"),
            _ => {
                instance.commit(transaction, session).expect("committed");
                keys = tried;
            }
        }
    }
}

fn reads(instance: &Instance, scans: u32, session: &Session) {
    let index = index(instance, session);
    let mut last = BTreeMap::new();
    for scan in 0..scans {
        let transactions = instance.transactions();
        let snapshot = transactions.snapshot(None, session).expect("a snapshot");
        let view = transactions.view_of(&snapshot, None);
        let entries = all(&index, view, session);
        let now = versions(&entries);
        for (user, version) in &last {
            assert!(now.get(user) >= Some(version), "user {user} went back");
        }
        last = now;
        let pause = session.waiting(WaitEvent::PlSqlLockTimer);
        session.pause(Nanos::from_micros(u64::from(scan % 5) * 700), pause);
        assert_eq!(all(&index, view, session), entries, "the snapshot stays as it is");
    }
}

#[test]
fn scans_see_one_moment_while_leaves_are_split() {
    let base = database(BlockSize::KIB_2, false);
    let mut leaves = 0;
    for seed in 0..SEEDS {
        leaves += run(racy(seed, base.clone()), move |world, session| {
            let instance = open(world, session);
            let writers = 1 + seed % 7;
            let mut sessions = Vec::new();
            for user in 0..writers {
                let write = move |instance: &Instance, session: &Session| {
                    writes(instance, (user, seed), 8, session);
                };
                sessions.push(start("writer", &instance, session, write));
            }
            for _ in 0..1 + seed % 2 {
                let read = |instance: &Instance, session: &Session| reads(instance, 12, session);
                sessions.push(start("reader", &instance, session, read));
            }
            join(sessions, session);
            let index = index(&instance, session);
            let entries = seen(&instance, &index, None, session);
            versions(&entries);
            let checked = check(&index, &entries, session);
            check_instance(&instance, session);
            drop(index);
            shut(instance, session);
            checked.leaves
        });
    }
    assert!(leaves > SEEDS * 8, "{leaves} leaves");
}

/// What a transaction has inserted and deleted is moved by others' splits before it is taken back;
/// a scan that began before it sees none of that, and one in between neither.
#[test]
fn a_rollback_finds_entries_that_splits_have_moved() {
    let base = database(BlockSize::KIB_2, false);
    for seed in 0..30 {
        with_instance(machine(seed, base.clone()), move |instance, session| {
            let index = index(instance, session);
            let mut dice = Dice(seed);
            let mut fill = |first: u64, count: u64, transaction: &mut Transaction| {
                for number in first..first + count {
                    let key = key(1, number as u32, &mut dice);
                    index.insert(transaction, &key, row(number), session).expect("inserted");
                }
            };
            let mut first = Transaction::new();
            fill(0, 20, &mut first);
            instance.commit(first, session).expect("committed");
            let transactions = instance.transactions();
            let snapshot = transactions.snapshot(None, session).expect("a snapshot");
            let view = transactions.view_of(&snapshot, None);
            let before = all(&index, view, session);

            let (mut large, mut other) = (Transaction::new(), Transaction::new());
            for (key, row) in before.iter().step_by(2) {
                assert!(index.delete(&mut large, key, *row, session).expect("deleted"));
            }
            fill(1_000, 25, &mut large);
            let savepoint = large.savepoint();
            fill(2_000, 60, &mut other);
            fill(3_000, 25, &mut large);
            instance.commit(other, session).expect("committed");
            let of_others = |(_, found): &&Entry| *found < row(1_000) || *found >= row(2_000);
            assert_eq!(all(&index, view, session), before);
            transactions.rollback_to(&mut large, savepoint, session).expect("taken back");
            assert_eq!(all(&index, view, session), before);
            let own = seen(instance, &index, Some(&large), session);
            assert_eq!(own.len(), 10 + 25 + 60);
            let others = seen(instance, &index, None, session);
            assert_eq!(others.len(), 20 + 60);
            assert_eq!(own.iter().filter(of_others).count(), 10 + 60);
            instance.rollback(large, session).expect("taken back");
            assert_eq!(all(&index, view, session), before);
            let after = seen(instance, &index, None, session);
            assert_eq!(after, others);
            let checked = check(&index, &after, session);
            assert!(checked.leaves > 4, "{checked:?}");
            drop(snapshot);
            drop(index);
        });
    }
}

/// Leaves of two indexes with the same keys know whose they are.
#[test]
fn two_indexes_with_the_same_keys_stay_apart() {
    let base = database(BlockSize::KIB_2, false);
    with_instance(machine(1, base), |instance, session| {
        let (one, two) = (index(instance, session), make("j", true, instance, session));
        let (mut kept, mut lost) = (Transaction::new(), Transaction::new());
        for number in 0..200_u64 {
            let key = (number * 7 % 200).to_le_bytes();
            one.insert(&mut kept, &key, row(number), session).expect("inserted");
            two.insert(&mut lost, &key, row(number), session).expect("inserted");
        }
        instance.rollback(lost, session).expect("rolled back");
        instance.commit(kept, session).expect("committed");
        check(&two, &[], session);
        let entries = seen(instance, &one, None, session);
        assert_eq!(check(&one, &entries, session).entries, 200);
        drop((one, two));
    });
}
