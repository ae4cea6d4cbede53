//! What there is now of a key, whatever snapshots see: for constraints.

use std::ops::Bound;

use access::{Current, Inserted};
use ids::BlockSize;
use instance::Transaction;
use stop::RefusalKind;
use waits::{Nanos, WaitEvent};

use crate::common::{
    Dice, database, ended, index, join, machine, open, racy, row, shut, start, with_instance,
};

fn exactly(key: &[u8]) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Included(key), Bound::Included(key))
}

#[test]
fn an_entry_is_there_held_or_gone_whatever_a_snapshot_sees() {
    with_instance(machine(1, database(BlockSize::KIB_2, false)), |instance, session| {
        let index = index(instance, session);
        let now = |own: &Transaction| {
            index.find_current(exactly(b"key"), own.id(), session).expect("read")
        };
        let (mut first, mut second) = (Transaction::new(), Transaction::new());
        assert_eq!(now(&first), Current::None);
        let inserted = index.insert(&mut first, b"key", row(1), session).expect("inserted");
        assert_eq!(inserted, Inserted::Done);
        let holder = first.id().expect("it has begun");
        assert_eq!((now(&first), now(&second)), (Current::Row(row(1)), Current::Held(holder)));
        instance.rollback(first, session).expect("rolled back");
        assert_eq!(now(&second), Current::None);
        let old = instance.transactions().begin_serializable(session).expect("begun");
        index.insert(&mut second, b"key", row(1), session).expect("inserted");
        index.insert(&mut second, b"keyless", row(2), session).expect("inserted");
        instance.commit(second, session).expect("committed");
        assert_eq!(now(&old), Current::Row(row(1)), "its snapshot doesn't count");
        let mut third = Transaction::new();
        assert!(index.delete(&mut third, b"key", row(1), session).expect("deleted"));
        let holder = third.id().expect("it has begun");
        assert_eq!((now(&third), now(&old)), (Current::None, Current::Held(holder)));
        // Another of the same key is there for good: that goes before what is held.
        let mut fourth = Transaction::new();
        index.insert(&mut fourth, b"key", row(9), session).expect("inserted");
        instance.commit(fourth, session).expect("committed");
        assert_eq!(now(&old), Current::Row(row(9)));
        instance.commit(third, session).expect("committed");
        instance.rollback(old, session).expect("rolled back");
        drop(index);
    });
}

/// Entries of one key in many leaves, of which the last is the only one that isn't deleted.
#[test]
fn a_range_of_many_leaves_is_looked_through_to_its_end() {
    with_instance(machine(1, database(BlockSize::KIB_2, false)), |instance, session| {
        let index = index(instance, session);
        let mut own = Transaction::new();
        for number in 0..500 {
            index.insert(&mut own, b"key", row(number), session).expect("inserted");
        }
        instance.commit(own, session).expect("committed");
        let mut own = Transaction::new();
        for number in 0..499 {
            assert!(index.delete(&mut own, b"key", row(number), session).expect("deleted"));
        }
        let found = index.now(exactly(b"key")).next(&own, session).expect("read");
        assert_eq!(found, Some(row(499)));
        assert!(index.delete(&mut own, b"key", row(499), session).expect("deleted"));
        assert_eq!(index.now(exactly(b"key")).next(&own, session).expect("read"), None);
        instance.rollback(own, session).expect("rolled back");
        let none = Transaction::new();
        assert_ne!(index.now(exactly(b"key")).next(&none, session).expect("read"), None);
        drop(index);
    });
}

/// Of 500 entries each is deleted as it is found; meanwhile another one comes before it.
#[test]
fn who_deletes_what_is_found_meets_every_entry_and_then_what_came_before() {
    with_instance(machine(1, database(BlockSize::KIB_2, false)), |instance, session| {
        let index = index(instance, session);
        let mut own = Transaction::new();
        for number in 1..=500 {
            index.insert(&mut own, b"key", row(number), session).expect("inserted");
        }
        let mut now = index.now(exactly(b"key"));
        let mut found = Vec::new();
        while let Some(at) = now.next(&own, session).expect("read") {
            assert_eq!(now.next(&own, session).expect("read"), Some(at), "it is still there");
            assert!(index.delete(&mut own, b"key", at, session).expect("deleted"));
            found.push(at);
            if found.len() == 300 {
                let mut other = Transaction::new();
                index.insert(&mut other, b"key", row(0), session).expect("inserted");
                instance.commit(other, session).expect("committed");
            }
        }
        assert_eq!(found, (1..=500).chain([0]).map(row).collect::<Vec<_>>());
        instance.rollback(own, session).expect("rolled back");
        drop(now);
        drop(index);
    });
}

/// Two sessions write a key each and then look for the other's: never does either miss it.
#[test]
fn of_two_that_write_and_then_look_one_sees_the_other() {
    let base = database(BlockSize::KIB_2, true);
    let mut refused = 0;
    for seed in 0..100 {
        let report = racy(seed, base.clone()).run(move |world, session| {
            let instance = open(world, session);
            let keys = [&b"a"[..], &b"b"[..]];
            let sides = (0..2_usize).map(|side| {
                start("side", &instance, session, move |instance, session| {
                    let index = index(instance, session);
                    let mut own = Transaction::new();
                    let pause = Nanos::from_micros(Dice(seed * 2 + side as u64).below(300));
                    session.pause(pause, session.waiting(WaitEvent::PlSqlLockTimer));
                    index.insert(&mut own, keys[side], row(1), session).expect("inserted");
                    let other = exactly(keys[1 - side]);
                    match index.now(other).next(&own, session) {
                        Ok(None) => instance.commit(own, session).expect("committed"),
                        Ok(Some(_)) => instance.rollback(own, session).expect("rolled back"),
                        Err(stop) => {
                            assert_eq!(stop.refusal(), Some(RefusalKind::Deadlock), "{stop}");
                            instance.rollback(own, session).expect("rolled back");
                        }
                    }
                })
            });
            let sides: Vec<_> = sides.collect();
            join(sides, session);
            let index = index(&instance, session);
            let there = |key: &[u8]| {
                let found = index.find_current(exactly(key), None, session).expect("read");
                u32::from(found != Current::None)
            };
            let count = keys.iter().map(|key| there(key)).sum::<u32>();
            assert_eq!(count, 1, "seed {seed}: one of them stays");
            drop(index);
            shut(instance, session);
            world.os().totals().event(WaitEvent::EnqTxRowLock).count
        });
        refused += u64::from(ended(report, seed) > 0);
    }
    assert!(refused > 10, "they meet: {refused}");
}
