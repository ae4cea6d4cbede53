//! Waits that end without the lock: at once, after a time, by a halt.

use std::sync::Arc;

use ids::TxnId;
use latch::{Latch, LatchKind};
use os::Session;
use sim::{Report, Simulation};
use stop::{RefusalKind, Stop};
use testbed::{ended, run};
use txn::{LockWait, RowRequest, RowWait, RowWanted, TableMode};
use waits::{Nanos, Statistic, WaitEvent};

use crate::common::{Bed, Waits, kind, racy, row, settle, start};

use TableMode::{Exclusive as X, RowExclusive as RX, Share as S};

/// A simulation without disturbance, for tests of times.
fn calm<R: Send + 'static>(
    program: impl FnOnce(&sim::World, &Session) -> R + Send + 'static,
) -> Report<R> {
    Simulation::new(1).run(program)
}

/// A request that doesn't wait is refused in no time, the message names the holder, and nothing is
/// left of the request.
#[test]
fn nowait_is_refused_at_once_and_names_the_blocker() {
    let report = calm(|world, session| {
        let bed = Bed::new(world.os(), 2, session);
        let [one, other] = [0, 1].map(|segment| bed.begin(segment, session));
        bed.lock(one, 71, RX, session).expect("free");
        let began = session.now();
        let table = bed.locks.lock_table(other, 71, S, LockWait::NoWait, session);
        assert_eq!(bed.locks.tables_watched(session), 0, "the request leaves nothing");
        let row = bed.await_end(one, other, LockWait::NoWait, session);
        assert!(session.now().since(began) < Nanos::from_micros(20));
        bed.lock(one, 71, X, session).expect("nobody has or wants it");
        let count = |statistic| world.os().totals().statistic(statistic);
        assert_eq!(count(Statistic::EnqueueTimeouts), 2);
        assert_eq!(count(Statistic::EnqueueWaits), 0);
        [table, row].map(|refused| {
            assert_eq!(kind(&refused), Some(RefusalKind::Busy));
            refused.expect_err("refused").to_string()
        })
    });
    assert_eq!(
        ended(report, "seed 1"),
        [
            "cannot lock table 71 in mode S (4) without waiting, the resource is busy: transaction \
             0.1.1 of session main (t0) has it in mode RX (3); wait longer, or try again when it \
             has ended",
            "cannot lock a row of object 71 at block 4/129 slot 7, in mode X (6) without waiting, \
             the resource is busy: transaction 0.1.1 of session main (t0) has the row locked; wait \
             longer, or try again when it has ended"
        ]
    );
}

/// A wait with a limit lasts that long: not less, and in a calm machine no more than waking takes.
#[test]
fn a_wait_of_so_long_lasts_so_long() {
    let report = calm(|world, session| {
        let bed = Bed::new(world.os(), 2, session);
        let [one, other] = [0, 1].map(|segment| bed.begin(segment, session));
        bed.lock(one, 71, RX, session).expect("free");
        for seconds in [1, 4, 10] {
            let length = Nanos::from_secs(seconds);
            let lock_wait = LockWait::For(length);
            for is_table in [true, false] {
                let began = session.now();
                let waited = match is_table {
                    true => bed.locks.lock_table(other, 71, X, lock_wait, session),
                    false => bed.await_end(one, other, lock_wait, session),
                };
                assert_eq!(kind(&waited), Some(RefusalKind::LockTimeout));
                let took = session.now().since(began);
                assert!(took >= length, "{took} of {length}");
                assert!(took < Nanos(length.0 + 50_000), "{took} of {length}");
            }
        }
        let totals = world.os().totals();
        assert_eq!(totals.statistic(Statistic::EnqueueTimeouts), 6);
        assert_eq!(totals.statistic(Statistic::EnqueueWaits), 6);
        assert_eq!(bed.locks.tables_watched(session), 0);
    });
    ended(report, "seed 1");
}

/// A request that is granted in time isn't refused, however short the time that was left.
#[test]
fn a_wait_ends_by_grant_or_by_time_and_never_both() {
    let (mut granted, mut refused) = (0, 0);
    for seed in 0..300 {
        let report = racy(seed).run(|world, session| {
            let bed = Bed::new(world.os(), 2, session);
            let [one, other] = [0, 1].map(|segment| bed.begin(segment, session));
            bed.lock(one, 71, RX, session).expect("free");
            let waiter = start("waiter", &bed, session, move |bed, session| {
                let lock_wait = LockWait::For(Nanos::from_micros(1_000));
                let waited = bed.locks.lock_table(other, 71, S, lock_wait, session);
                let has = bed.locks.held(session);
                let has = has.iter().any(|held| held.owner == other && held.mode == S);
                assert_eq!(has, waited.is_ok());
                session.count(Statistic::UserCommits, u64::from(has));
            });
            settle(session);
            bed.end(one, session);
            waiter.join(session).expect("no panic");
            bed.end(other, session);
            assert_eq!(bed.locks.tables_watched(session), 0);
            world.os().totals().statistic(Statistic::UserCommits)
        });
        let was_granted = ended(report, format_args!("seed {seed}")) == 1;
        granted += u32::from(was_granted);
        refused += u32::from(!was_granted);
    }
    assert!(granted >= 10 && refused >= 10, "{granted} granted, {refused} refused");
}

/// A session whose call is cancelled leaves its wait at once, unless it has got what it waits for
/// by then. Of a request that is refused nothing is left.
#[test]
fn a_wait_ends_by_grant_or_by_cancel_and_never_both() {
    let (mut granted, mut refused) = (0, 0);
    for seed in 0..300 {
        let (is_table, ends) = (seed % 2 == 0, seed % 3 > 0);
        let report = racy(seed).run(move |world, session| {
            let bed = Bed::new(world.os(), 2, session);
            let [one, other] = [0, 1].map(|segment| bed.begin(segment, session));
            bed.lock(one, 71, RX, session).expect("free");
            let handle = Arc::new(Latch::new(world.os(), LatchKind::Innermost, None));
            let inside = Arc::clone(&handle);
            let waiter = start("waiter", &bed, session, move |bed, session| {
                let _call = session.begin_call(None);
                *inside.exclusive(session) = Some(session.cancel_handle());
                let waited = match is_table {
                    true => bed.lock(other, 71, S, session),
                    false => bed.await_end(one, other, LockWait::Forever, session),
                };
                let has = bed.locks.held(session);
                let has = has.iter().any(|held| held.owner == other && held.mode == S);
                assert_eq!(has, is_table && waited.is_ok());
                assert!(matches!(kind(&waited), None | Some(RefusalKind::Cancelled)));
                session.count(Statistic::UserCommits, u64::from(waited.is_ok()));
            });
            settle(session);
            let handle = handle.exclusive(session).clone().expect("its call has begun");
            let began = session.now();
            let canceller = start("canceller", &bed, session, move |_, _| {
                handle.cancel_running();
            });
            if ends {
                bed.end(one, session);
            }
            waiter.join(session).expect("no panic");
            let took = session.now().since(began);
            assert!(took < Nanos::from_millis(50), "{took}");
            canceller.join(session).expect("no panic");
            if !ends {
                bed.end(one, session);
            }
            bed.end(other, session);
            assert_eq!(bed.locks.tables_watched(session), 0);
            world.os().totals().statistic(Statistic::UserCommits)
        });
        let was_granted = ended(report, format_args!("seed {seed}")) == 1;
        assert!(ends || !was_granted, "seed {seed}");
        granted += u32::from(was_granted);
        refused += u32::from(!was_granted);
    }
    assert!(granted >= 10 && refused >= 10, "{granted} granted, {refused} refused");
}

/// A time-out of the call bounds its waits, however long the lock wait is; a rollback isn't
/// bounded.
#[test]
fn a_wait_ends_when_the_call_has_had_its_time() {
    let report = calm(|world, session| {
        let bed = Bed::new(world.os(), 2, session);
        let [one, other] = [0, 1].map(|segment| bed.begin(segment, session));
        bed.lock(one, 71, RX, session).expect("free");
        let limit = Nanos::from_millis(300);
        for is_held_off in [false, true] {
            let _call = session.begin_call(Some(limit));
            let _held = is_held_off.then(|| session.hold_off());
            let began = session.now();
            let lock_wait = LockWait::For(Nanos::from_secs(2));
            let waited = bed.await_end(one, other, lock_wait, session);
            let took = session.now().since(began);
            match is_held_off {
                true => assert_eq!(kind(&waited), Some(RefusalKind::LockTimeout)),
                false => {
                    assert_eq!(kind(&waited), Some(RefusalKind::Cancelled));
                    assert!(took >= limit && took < Nanos(limit.0 + 50_000), "{took}");
                }
            }
        }
    });
    ended(report, "seed 1");
}

/// A waiter that gives up in the middle of the queue lets those behind it go on.
#[test]
fn who_gives_up_holds_nobody_up() {
    for seed in 0..50 {
        run(racy(seed), |world, session| {
            let bed = Bed::new(world.os(), 3, session);
            let [one, two, three] = [0, 1, 2].map(|segment| bed.begin(segment, session));
            bed.lock(one, 71, RX, session).expect("free");
            let first = start("first", &bed, session, move |bed, session| {
                let lock_wait = LockWait::For(Nanos::from_millis(50));
                let refused = bed.locks.lock_table(two, 71, X, lock_wait, session);
                assert_eq!(kind(&refused), Some(RefusalKind::LockTimeout));
            });
            settle(session);
            bed.lock(three, 71, RX, session).expect("the first in the queue gives up");
            first.join(session).expect("no panic");
            let totals = world.os().totals();
            assert_eq!(totals.event(WaitEvent::EnqTmContention).timeouts, 1);
        });
    }
}

/// A halt wakes all waiters, for a row, in a queue or for a conversion, and all are told why.
#[test]
fn a_halt_wakes_everybody() {
    for seed in 0..100 {
        run(racy(seed), |world, session| {
            let bed = Bed::new(world.os(), 6, session);
            let ids: Vec<TxnId> = (0..6).map(|segment| bed.begin(segment, session)).collect();
            bed.lock(ids[0], 71, RX, session).expect("free");
            bed.lock(ids[1], 71, RX, session).expect("goes with RX");
            let wishes: [(usize, Option<TableMode>); 5] =
                [(1, Some(X)), (2, Some(S)), (3, Some(X)), (4, None), (5, None)];
            let waiters = wishes.map(|(number, mode)| {
                let (id, holder) = (ids[number], ids[0]);
                start("waiter", &bed, session, move |bed, session| {
                    let waited = match mode {
                        Some(mode) => bed.lock(id, 71, mode, session),
                        None => bed.await_end(holder, id, LockWait::Forever, session),
                    };
                    assert!(matches!(waited, Err(Stop::Halted(_))), "{waited:?}");
                })
            });
            // With some seeds all sleep by now, with others they are about to.
            session.charge_nanos(Nanos(world.os().random() % 100_000));
            bed.halt.raise("a test", session);
            for waiter in waiters {
                waiter.join(session).expect("no panic");
            }
            assert_eq!(bed.locks.waiting(session), []);
            let totals = world.os().totals();
            for event in [WaitEvent::EnqTxRowLock, WaitEvent::EnqTmContention] {
                assert_eq!(totals.event(event).timeouts, 0, "a wake-up was lost: {event}");
            }
        });
    }
}

/// Each wait has its event and parameters: mode, and what is waited for.
#[test]
fn a_wait_is_named_for_what_is_waited_for() {
    let report = calm(|world, session| {
        let bed = Bed::new(world.os(), 2, session);
        let [one, other] = [0, 1].map(|segment| bed.begin(segment, session));
        bed.lock(one, 71, RX, session).expect("free");
        let named = |body: Waits<Bed>| {
            let waiter = start("waiter", &bed, session, move |bed, session| {
                assert_eq!(kind(&body(bed, session)), Some(RefusalKind::LockTimeout));
            });
            settle(session);
            let running = world.os().running();
            let waiter_session = running.iter().find(|one| one.account.name() == "waiter");
            let wait = waiter_session.and_then(|one| one.account.current_wait());
            waiter.join(session).expect("no panic");
            wait.map(|wait| (wait.event, wait.p))
        };
        let lock_wait = LockWait::For(Nanos::from_millis(100));
        let rows = [RowWait::Row, RowWait::UniqueKey, RowWait::ItlEntry].map(|what| {
            named(Box::new(move |bed, session| {
                let wanted = RowWanted { what, ..row(7) };
                let is_active = |id| bed.is_active(id, session);
                let (waiter, began) = (other, session.now());
                let request = RowRequest { waiter, wanted, lock_wait, began };
                bed.locks.wait_for_end(&[one], &request, &is_active, session)
            }))
        });
        let tx = |mode: u64| [0x5458_0000 + mode, 1, 1];
        assert_eq!(rows[0], Some((WaitEvent::EnqTxRowLock, tx(6))));
        assert_eq!(rows[1], Some((WaitEvent::EnqTxRowLock, tx(4))));
        assert_eq!(rows[2], Some((WaitEvent::EnqTxAllocateItl, tx(4))));
        let table = named(Box::new(move |bed, session| {
            bed.locks.lock_table(other, 71, S, lock_wait, session)
        }));
        assert_eq!(table, Some((WaitEvent::EnqTmContention, [0x544d_0004, 71, 0])));
    });
    ended(report, "seed 1");
}
