//! Waits for the end of any of several transactions, as for an ITL entry.

use ids::TxnId;
use os::Session;
use sim::Simulation;
use stop::{RefusalKind, Stop};
use testbed::{ended, pause, run};
use txn::{LockWait, RowRequest, RowWait, RowWanted};
use waits::{Nanos, Statistic, WaitEvent};

use crate::common::{Bed, kind, racy, row, settle, start};

const LOCK_WAIT: LockWait = LockWait::For(Nanos::from_secs(3));

/// Waits until one of them has ended, with one look at a time.
fn await_any(
    bed: &Bed,
    holders: &[TxnId],
    waiter: TxnId,
    lock_wait: LockWait,
    session: &Session,
) -> Result<(), Stop> {
    let wanted = RowWanted { what: RowWait::ItlEntry, ..row(0) };
    let request = RowRequest { waiter, wanted, lock_wait, began: session.now() };
    let is_active = |id| bed.is_active(id, session);
    while holders.iter().all(|holder| is_active(*holder)) {
        bed.locks.wait_for_end(holders, &request, &is_active, session)?;
    }
    Ok(())
}

#[test]
fn who_waits_for_any_of_several_goes_on_soon_after_one_has_ended() {
    for ends in [0, 1] {
        run(Simulation::new(1), move |world, session| {
            let bed = Bed::new(world.os(), 3, session);
            let [one, other, own] = [0, 1, 2].map(|segment| bed.begin(segment, session));
            let waiter = start("waiter", &bed, session, move |bed, session| {
                let began = session.now();
                await_any(bed, &[one, other], own, LOCK_WAIT, session).expect("one ends in time");
                assert!(session.now().since(began) < Nanos::from_millis(1_200));
            });
            pause(Nanos::from_secs(1), session);
            bed.end([one, other][ends], session);
            waiter.join(session).expect("no panic");
            let totals = world.os().totals();
            let event = totals.event(WaitEvent::EnqTxAllocateItl);
            assert_eq!(totals.statistic(Statistic::EnqueueWaits), event.count);
            assert_eq!(totals.statistic(Statistic::EnqueueTimeouts), 0);
            let waited = event.total;
            assert!(waited >= Nanos::from_millis(900), "{waited}");
        });
    }
}

#[test]
fn who_waits_for_any_of_several_is_refused_when_its_time_is_up_and_told_of_all() {
    let report = Simulation::new(1).run(|world, session| {
        let bed = Bed::new(world.os(), 3, session);
        let [one, other, own] = [0, 1, 2].map(|segment| bed.begin(segment, session));
        let began = session.now();
        let late = await_any(&bed, &[one, other], own, LOCK_WAIT, session);
        assert_eq!(kind(&late), Some(RefusalKind::LockTimeout));
        let waited = session.now().since(began);
        assert!(waited >= Nanos::from_secs(3) && waited < Nanos::from_millis(3_001), "{waited}");
        assert_eq!(world.os().totals().statistic(Statistic::EnqueueTimeouts), 1);
        let busy = await_any(&bed, &[one, other], own, LockWait::NoWait, session);
        assert_eq!(kind(&busy), Some(RefusalKind::Busy));
        [late, busy].map(|refused| refused.expect_err("refused").to_string())
    });
    let who = "transaction 0.1.1 has one of the block's entries, transaction 1.1.1 has one of the \
               block's entries; wait longer, or try again when it has ended";
    let what = "cannot lock an ITL entry of object 71 at block 4/129 slot 0, in mode S (4)";
    assert_eq!(
        ended(report, "seed 1"),
        [
            format!("{what} within 3.00 s: {who}"),
            format!("{what} without waiting, the resource is busy: {who}"),
        ]
    );
}

/// The first transaction never ends before the waiter; the second one does.
#[test]
fn a_cycle_through_one_of_several_is_no_deadlock_while_another_is_in_none() {
    for seed in 0..20 {
        run(racy(seed), |world, session| {
            let bed = Bed::new(world.os(), 3, session);
            let [one, other, own] = [0, 1, 2].map(|segment| bed.begin(segment, session));
            let blocked = start("blocked", &bed, session, move |bed, session| {
                bed.await_end(own, one, LockWait::Forever, session).expect("it ends");
                bed.end(one, session);
            });
            settle(session);
            let ends = start("ends", &bed, session, move |bed, session| {
                pause(Nanos::from_millis(500), session);
                bed.end(other, session);
            });
            await_any(&bed, &[one, other], own, LockWait::Forever, session).expect("one ends");
            bed.end(own, session);
            blocked.join(session).expect("no panic");
            ends.join(session).expect("no panic");
        });
    }
}

#[test]
fn a_cycle_through_each_of_several_is_a_deadlock() {
    for seed in 0..20 {
        run(racy(seed), |world, session| {
            let bed = Bed::new(world.os(), 3, session);
            let [one, other, own] = [0, 1, 2].map(|segment| bed.begin(segment, session));
            let blocked = [one, other].map(|blocked| {
                start("blocked", &bed, session, move |bed, session| {
                    bed.await_end(own, blocked, LockWait::Forever, session).expect("it ends");
                    bed.end(blocked, session);
                })
            });
            settle(session);
            let refused = await_any(&bed, &[one, other], own, LockWait::Forever, session);
            assert_eq!(kind(&refused), Some(RefusalKind::Deadlock));
            bed.end(own, session);
            blocked.into_iter().for_each(|one| one.join(session).expect("no panic"));
            assert_eq!(bed.locks.waiting(session), []);
        });
    }
}
