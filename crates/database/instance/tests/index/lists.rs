//! A leaf whose ITL is full.

use access::Inserted;
use ids::BlockSize;
use instance::Transaction;
use txn::LockWait;
use waits::{Nanos, WaitEvent};

use crate::common::{database, ended, index, join, machine, open, row, shut, start};

/// A leaf of 2 KiB has a list of eight entries at most, though it has room. All are of active
/// transactions; when all but one have ended, the next one comes in.
#[test]
fn who_waits_for_a_leafs_list_comes_in_when_any_of_it_has_ended() {
    for stays in [0, 7] {
        let report = machine(1, database(BlockSize::KIB_2, false)).run(move |world, session| {
            let instance = open(world, session);
            let own = index(&instance, session);
            let mut all = Vec::new();
            for number in 0..8_u8 {
                let mut one = Transaction::new();
                let key = [b'k', number];
                own.insert(&mut one, &key[..], row(number.into()), session).expect("inserted");
                all.push(one);
            }
            let waiter = start("waiter", &instance, session, |instance, session| {
                let index = index(instance, session);
                let mut ninth = Transaction::new();
                ninth.set_lock_wait(LockWait::For(Nanos::from_secs(5)));
                let inserted = index.insert(&mut ninth, b"x", row(99), session);
                instance.rollback(ninth, session).expect("rolled back");
                assert_eq!(inserted.expect("an entry is free"), Inserted::Done);
            });
            let wait = |length| session.pause(length, session.waiting(WaitEvent::PlSqlLockTimer));
            wait(Nanos::from_millis(500));
            let left = all.remove(stays);
            all.into_iter().for_each(|one| instance.commit(one, session).expect("committed"));
            join(vec![waiter], session);
            instance.commit(left, session).expect("committed");
            drop(own);
            shut(instance, session);
        });
        ended(report, stays);
    }
}
