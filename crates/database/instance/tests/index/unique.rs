//! A key that another transaction has inserted or deleted: who wants it waits for that one's end.

use access::{Index, Inserted};
use ids::BlockSize;
use instance::{Instance, Transaction};
use os::Session;
use stop::RefusalKind;
use txn::LockWait;
use waits::{Nanos, WaitEvent};

use crate::common::{
    check, database, ended, index, join, machine, open, racy, row, seen, shut, start, with_instance,
};

fn pause(length: Nanos, session: &Session) {
    session.pause(length, session.waiting(WaitEvent::PlSqlLockTimer));
}

fn insert(
    index: &Index,
    transaction: &mut Transaction,
    number: u64,
    session: &Session,
) -> Inserted {
    index.insert(transaction, b"key", row(number), session).expect("inserted or a duplicate")
}

/// A session that wants the key; what it must get.
fn wants(expected: Inserted) -> impl FnOnce(&Instance, &Session) + Send + 'static {
    move |instance, session| {
        let index = index(instance, session);
        let mut own = Transaction::new();
        assert_eq!(insert(&index, &mut own, 2, session), expected);
        instance.commit(own, session).expect("committed");
    }
}

#[test]
fn who_inserts_a_key_waits_for_its_inserter_and_gets_it_or_not() {
    let base = database(BlockSize::KIB_2, true);
    for seed in 0..40 {
        let report = racy(seed, base.clone()).run(move |world, session| {
            let instance = open(world, session);
            let index = index(&instance, session);
            let commits = seed % 2 == 0;
            let mut first = Transaction::new();
            assert_eq!(insert(&index, &mut first, 1, session), Inserted::Done);
            let second = if commits { Inserted::Duplicate(row(1)) } else { Inserted::Done };
            let waiter = start("waiter", &instance, session, wants(second));
            pause(Nanos::from_millis(3), session);
            match commits {
                true => instance.commit(first, session).expect("committed"),
                false => instance.rollback(first, session).expect("rolled back"),
            }
            join(vec![waiter], session);
            let winner = row(if commits { 1 } else { 2 });
            check(&index, &[(b"key".to_vec(), winner)], session);
            drop(index);
            shut(instance, session);
            world.os().totals().event(WaitEvent::EnqTxRowLock).count
        });
        assert!(ended(report, seed) > 0, "it waited");
    }
}

#[test]
fn who_inserts_a_key_waits_for_its_deleter_and_gets_it_or_not() {
    let base = database(BlockSize::KIB_2, true);
    for seed in 0..40 {
        with_instance(racy(seed, base.clone()), move |instance, session| {
            let index = index(instance, session);
            let commits = seed % 2 == 0;
            let mut before = Transaction::new();
            assert_eq!(insert(&index, &mut before, 1, session), Inserted::Done);
            instance.commit(before, session).expect("committed");
            let mut first = Transaction::new();
            assert!(index.delete(&mut first, b"key", row(1), session).expect("deleted"));
            let second = if commits { Inserted::Done } else { Inserted::Duplicate(row(1)) };
            let waiter = start("waiter", instance, session, wants(second));
            pause(Nanos::from_millis(3), session);
            match commits {
                true => instance.commit(first, session).expect("committed"),
                false => instance.rollback(first, session).expect("rolled back"),
            }
            join(vec![waiter], session);
            let winner = row(if commits { 2 } else { 1 });
            check(&index, &[(b"key".to_vec(), winner)], session);
            drop(index);
        });
    }
}

#[test]
fn a_transaction_gives_its_own_key_to_other_rows_and_takes_that_back() {
    with_instance(machine(1, database(BlockSize::KIB_2, true)), |instance, session| {
        let index = index(instance, session);
        let mut before = Transaction::new();
        assert_eq!(insert(&index, &mut before, 0, session), Inserted::Done);
        instance.commit(before, session).expect("committed");
        let old = vec![(b"key".to_vec(), row(0))];
        for commits in [false, true] {
            let mut own = Transaction::new();
            for number in 0..50 {
                assert_eq!(insert(&index, &mut own, 99, session), Inserted::Duplicate(row(number)));
                assert!(index.delete(&mut own, b"key", row(number), session).expect("deleted"));
                assert_eq!(insert(&index, &mut own, number + 1, session), Inserted::Done);
                assert_eq!(seen(instance, &index, None, session), old);
            }
            match commits {
                true => instance.commit(own, session).expect("committed"),
                false => instance.rollback(own, session).expect("rolled back"),
            }
        }
        check(&index, &[(b"key".to_vec(), row(50))], session);
        drop(index);
    });
}

#[test]
fn two_that_want_each_others_key_are_a_deadlock() {
    let base = database(BlockSize::KIB_2, true);
    for seed in 0..20 {
        with_instance(racy(seed, base.clone()), move |instance, session| {
            let sessions = (0..2_u8).map(|user| {
                start("user", instance, session, move |instance, session| {
                    let index = index(instance, session);
                    let mut own = Transaction::new();
                    let mut wants = |key: u8| {
                        let wanted = index.insert(&mut own, &[key], row(user.into()), session);
                        pause(Nanos::from_millis(2), session);
                        wanted
                    };
                    assert_eq!(wants(user).expect("nobody has it"), Inserted::Done);
                    match wants(1 - user) {
                        Ok(Inserted::Done) => instance.commit(own, session).expect("committed"),
                        Ok(other) => panic!("{other:?}"),
                        Err(stop) => {
                            assert_eq!(stop.refusal(), Some(RefusalKind::Deadlock), "{stop}");
                            instance.rollback(own, session).expect("rolled back");
                        }
                    }
                })
            });
            join(sessions.collect(), session);
            let index = index(instance, session);
            let entries = seen(instance, &index, None, session);
            assert_eq!(entries.len(), 2, "one has both");
            check(&index, &entries, session);
            drop(index);
        });
    }
}

/// In the copy for an old snapshot a leaf has fewer entries than where the find was led to.
#[test]
fn a_find_sees_a_leaf_as_it_was_before_it_grew() {
    with_instance(machine(1, database(BlockSize::KIB_2, true)), |instance, session| {
        let (index, transactions) = (index(instance, session), instance.transactions());
        let mut first = Transaction::new();
        index.insert(&mut first, &[0, 0], row(0), session).expect("inserted");
        instance.commit(first, session).expect("committed");
        let old = transactions.snapshot(None, session).expect("a snapshot");
        let mut second = Transaction::new();
        for number in 1..40_u8 {
            index.insert(&mut second, &[number, 0], row(number.into()), session).expect("inserted");
        }
        instance.commit(second, session).expect("committed");
        for number in 0..40_u8 {
            let found = index.find(transactions.view_of(&old, None), &[number, 0], session);
            assert_eq!(found.expect("read"), (number == 0).then_some(row(0)), "{number}");
        }
        drop(old);
        drop(index);
    });
}

/// A last leaf whose ITL can't grow is split behind its last entry. The
/// key of that entry may not be split from itself: the other half wouldn't know that it is there.
#[test]
fn a_key_stays_unique_where_the_list_of_the_last_leaf_is_full() {
    with_instance(machine(1, database(BlockSize::KIB_2, true)), |instance, session| {
        let index = index(instance, session);
        let (mut one, mut two) = (Transaction::new(), Transaction::new());
        let mut three = Transaction::new();
        three.set_lock_wait(LockWait::NoWait);
        // The list of a leaf has two entries at first, and a leaf that is split off has the same.
        index.insert(&mut two, b"a", row(0), session).expect("inserted");
        let mut twice = Vec::new();
        // An entry takes 17 bytes: so each leaf comes to have 11 to 29 free bytes, too few for an
        // entry of the list and enough for a fence with a row.
        for number in 0..400_u16 {
            let [low, high] = number.to_le_bytes();
            let key = [b'k', high, low];
            let inserted = index.insert(&mut one, &key[..], row(1), session).expect("inserted");
            assert_eq!(inserted, Inserted::Done);
            // The key is held by a transaction that is active.
            match index.insert(&mut three, &key[..], row(2), session) {
                Ok(inserted) => twice.push((number, inserted)),
                Err(stop) => assert_eq!(stop.refusal(), Some(RefusalKind::Busy), "{stop}"),
            }
        }
        instance.commit(one, session).expect("committed");
        instance.commit(two, session).expect("committed");
        instance.commit(three, session).expect("committed");
        assert!(twice.is_empty(), "keys that are there twice: {twice:?}");
        drop(index);
    });
}
