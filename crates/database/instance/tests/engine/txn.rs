//! Row locks: who waits for whom, that each wait ends, and that deadlocks are named and no others.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use instance::{CommitLogging, CommitWait, Instance, Parameters, Transaction};
use latch::Shared64;
use os::Session;
use stop::{RefusalKind, Stop};
use waits::{Nanos, WaitEvent};

use crate::common::{
    self, Dice, TABLE, abort, add, check, database, join, machine, number, open, open_as, pause,
    racy, rows, run, run_kept, shut, start, with_instance,
};
use crate::rows::Rows;

/// Adds 1 to the row, again and again when refused as a deadlock; whether it was committed.
fn increment(
    instance: &Instance,
    order: &[access::RowAddress],
    commits: bool,
    session: &Session,
) -> Result<(), Stop> {
    let table = Rows::open(instance, TABLE, session)?;
    let mut transaction = Transaction::new();
    for row in order {
        if let Err(stop) = add(&table, &mut transaction, *row, 1, session) {
            instance.rollback(transaction, session)?;
            return Err(stop);
        }
    }
    match commits {
        true => instance.commit(transaction, session),
        false => instance.rollback(transaction, session),
    }
}

/// Each of two increments waits for the other's commit, and rollbacks leave no trace.
#[test]
fn increments_of_one_row_by_many_sessions_lose_none() {
    let base = database(1);
    let mut waited = 0;
    for seed in 0..150 {
        let (waits, _) = with_instance(racy(seed, base.clone()), move |instance, session| {
            let row = rows(&Rows::open(instance, TABLE, session).expect("there"), session)[0];
            let sessions = (0..4).map(|user| {
                start("user", instance, session, move |instance, session| {
                    for step in 0..6 {
                        let commits = (user + step) % 3 != 0;
                        increment(instance, &[row], commits, session).expect("no deadlock");
                    }
                })
            });
            join(sessions.collect(), session);
            let table = Rows::open(instance, TABLE, session).expect("there");
            assert_eq!(number(&table, row, session), 16, "4 sessions, each with 4 of 6 commits");
            check(instance, session);
            drop(table);
            *session.os().totals().event(WaitEvent::EnqTxRowLock)
        });
        assert_eq!(waits.timeouts, 0, "seed {seed}: a sleeper was forgotten");
        waited += waits.count;
    }
    assert!(waited > 150, "{waited} waits for row locks");
}

/// Two sessions lock the same rows the other way round: at most one at a time is refused, with the
/// deadlock named, and the other goes on.
#[test]
fn a_deadlock_is_named_and_one_of_the_two_goes_on() {
    let base = database(3);
    let mut refused = 0;
    for seed in 0..150 {
        let (failures, timeouts) = run(racy(seed, base.clone()), move |world, session| {
            let instance = open(world, session);
            let table = Rows::open(&instance, TABLE, session).expect("there");
            let all = rows(&table, session);
            let refusals = Arc::new(Shared64::new(0));
            let sessions = (0..3).map(|user: usize| {
                let refusals = Arc::clone(&refusals);
                let order = [all[user], all[(user + 1) % 3], all[(user + 2) % 3]];
                start("user", &instance, session, move |instance, session| {
                    let mut failures = 0;
                    while let Err(stop) = increment(instance, &order, true, session) {
                        assert_eq!(stop.refusal(), Some(RefusalKind::Deadlock), "{stop}");
                        let message = stop.to_string();
                        let waiters = message.matches("wants a row of object").count();
                        let holders = message.matches("has the row locked").count();
                        assert!(message.contains("deadlock"), "{message}");
                        assert!(waiters >= 2 && holders == waiters, "both sides: {message}");
                        failures += 1;
                        assert!(failures < 100, "a deadlock for ever");
                        let length = Nanos::from_micros(session.os().random() % 1_000);
                        pause(length, session);
                    }
                    refusals.fetch_add(failures, session);
                })
            });
            join(sessions.collect(), session);
            all.iter().for_each(|row| assert_eq!(number(&table, *row, session), 3));
            drop(table);
            shut(instance, session);
            let timeouts = world.os().totals().event(WaitEvent::EnqTxRowLock).timeouts;
            (refusals.load(session), timeouts)
        });
        assert_eq!(timeouts, 0, "seed {seed}: a sleeper was forgotten");
        refused += failures;
    }
    assert!(refused > 30, "{refused} deadlocks");
}

/// `a` waits for the first row, whose holder commits and begins anew in the same slot before `a`
/// has woken; then it waits for a row of `a`. No circle: `a` waits for one that has ended.
#[test]
fn a_slot_that_is_used_again_makes_no_deadlock() {
    let base = database(2);
    for seed in 0..50 {
        with_instance(machine(seed, base.clone()), move |instance, session| {
            let table = Rows::open(instance, TABLE, session).expect("there");
            let all = rows(&table, session);
            let mut first = Transaction::new();
            add(&table, &mut first, all[0], 1, session).expect("locked");
            let (one, two) = (all[0], all[1]);
            let waiter = start("a", instance, session, move |instance, session| {
                increment(instance, &[two, one], true, session).expect("no deadlock");
            });
            pause(Nanos::from_millis(5), session);
            // Both CPUs are busy, so that who is woken doesn't run at once.
            let busy = (0..6).map(|_| {
                start("busy", instance, session, move |_, session| {
                    (0..20).for_each(|_| {
                        session.charge_nanos(Nanos::from_micros(300 + seed));
                        session.interleave();
                    });
                })
            });
            let busy: Vec<_> = busy.collect();
            instance.commit(first, session).expect("committed");
            let mut second = Transaction::new();
            add(&table, &mut second, two, 1, session).expect("no deadlock");
            instance.commit(second, session).expect("committed");
            join(vec![waiter], session);
            join(busy, session);
            assert_eq!((number(&table, one, session), number(&table, two, session)), (2, 2));
            drop(table);
        });
    }
}

/// A halt wakes who waits for a row, with the cause.
#[test]
fn who_waits_for_a_row_wakes_at_a_halt_and_gets_the_cause() {
    let base = database(1);
    for seed in 0..100 {
        run(racy(seed, base.clone()), move |world, session| {
            let instance = open(world, session);
            let table = Rows::open(&instance, TABLE, session).expect("there");
            let row = rows(&table, session)[0];
            let mut holder = Transaction::new();
            add(&table, &mut holder, row, 1, session).expect("locked");
            let waiters = (0..2).map(|_| {
                start("waiter", &instance, session, move |instance, session| {
                    let table = Rows::open(instance, TABLE, session).expect("there");
                    let mut own = Transaction::new();
                    let stop = add(&table, &mut own, row, 1, session).expect_err("halted");
                    assert!(stop.to_string().contains("the test ends"), "{stop}");
                })
            });
            let waiters = waiters.collect();
            pause(Nanos::from_micros(seed * 30), session);
            let before = session.now();
            instance.halt().raise("the test ends", session);
            join(waiters, session);
            assert!(session.now().since(before) < Nanos::from_millis(100), "woken at once");
            let stop = instance.commit(holder, session).expect_err("halted");
            assert!(stop.to_string().contains("the test ends"), "{stop}");
            drop(table);
            abort(instance, session);
        });
    }
}

type Seen = Arc<[AtomicU64; 3]>;

/// Keeps what the last wait for a row said.
struct Sink(Seen);

impl waits::WaitSink for Sink {
    fn wait_ended(&mut self, record: &waits::WaitRecord) {
        if record.event == WaitEvent::EnqTxRowLock {
            self.0.iter().zip(record.p).for_each(|(place, p)| place.store(p, Relaxed));
        }
    }
}

/// Who waits for a row says for whom: the transaction's place in p2, its sequence in p3.
#[test]
fn a_wait_for_a_row_names_the_transaction() {
    let base = database(1);
    with_instance(racy(1, base), move |instance, session| {
        let table = Rows::open(instance, TABLE, session).expect("there");
        let row = rows(&table, session)[0];
        let mut holder = Transaction::new();
        add(&table, &mut holder, row, 1, session).expect("locked");
        let id = holder.id().expect("begun");
        let seen: Seen = Arc::default();
        let sink = Sink(Arc::clone(&seen));
        let waiter = start("waiter", instance, session, move |instance, session| {
            session.os().set_level(waits::Level::Trace);
            session.set_wait_sink(Some(Box::new(sink)));
            increment(instance, &[row], true, session).expect("no deadlock");
        });
        pause(Nanos::from_millis(5), session);
        instance.commit(holder, session).expect("committed");
        join(vec![waiter], session);
        let p = [0, 1, 2].map(|number: usize| seen[number].load(Relaxed));
        let place = u64::from(id.segment) << 16 | u64::from(id.slot);
        assert_eq!(p, [0x5458_0006, place, u64::from(id.sequence)]);
        drop(table);
    });
}

/// However many sessions change rows in the smallest cache: each comes to its end, or is refused
/// with what to do.
#[test]
fn sessions_beyond_what_the_cache_can_pin_are_refused_and_do_not_hang() {
    let base = database(16 * 20);
    let mut refusals = 0;
    for seed in 0..60 {
        refusals += run(racy(seed, base.clone()), move |world, session| {
            let smallest = Parameters { db_cache_size: 16 * 2048, ..common::parameters() };
            let instance = open_as(&smallest, world, session);
            let table = Rows::open(&instance, TABLE, session).expect("there");
            let all = rows(&table, session);
            let refusals = Arc::new(Shared64::new(0));
            let users = (0..16).map(|user| {
                let (all, refusals) = (all.clone(), Arc::clone(&refusals));
                start("user", &instance, session, move |instance, session| {
                    let mut dice = Dice(seed * 100 + user);
                    for _ in 0..3 {
                        let row = all[dice.below(all.len() as u64) as usize];
                        if let Err(stop) = increment(instance, &[row], true, session) {
                            assert_eq!(stop.refusal(), Some(RefusalKind::NoSpace), "{stop}");
                            refusals.fetch_add(1, session);
                        }
                    }
                })
            });
            join(users.collect(), session);
            drop(table);
            shut(instance, session);
            refusals.load(session)
        });
    }
    println!("{refusals} refusals");
    assert!(refusals > 0 && refusals < 60 * 16 * 3, "{refusals} refusals");
}

/// With `commit_wait = nowait` a commit returns before it is durable and lets its rows go; whoever
/// then commits in the usual way makes it durable too. The mode is changed while the instance runs.
#[test]
fn a_commit_that_does_not_wait_lets_go_of_its_rows_and_is_durable_with_the_next() {
    let base = database(4);
    for seed in 0..100 {
        run(racy(seed, base.clone()), move |world, session| {
            let modes = (CommitWait::Nowait, CommitLogging::Batch);
            let parameters = Parameters {
                commit_wait: modes.0,
                commit_logging: modes.1,
                ..common::parameters()
            };
            let instance = open_as(&parameters, world, session);
            let table = Rows::open(&instance, TABLE, session).expect("there");
            let at = rows(&table, session)[0];
            let waits = || session.os().totals().event(WaitEvent::LogFileSync).count;
            let before = waits();
            let mut first = Transaction::new();
            add(&table, &mut first, at, 1, session).expect("locked");
            instance.commit(first, session).expect("committed");
            let (last, redo) = (instance.redo().last_scn(session), instance.redo());
            assert_eq!(waits(), before, "nobody waited");
            let mut second = Transaction::new();
            add(&table, &mut second, at, 1, session).expect("the row is free");
            instance.set_parameter("commit_wait", "wait", session).expect("allowed");
            instance.set_parameter("commit_logging", "immediate", session).expect("allowed");
            instance.commit(second, session).expect("committed");
            assert!(redo.durable_scn(session) > last);
            drop(table);
            abort(instance, session);
            let instance = open(world, session);
            let table = Rows::open(&instance, TABLE, session).expect("there");
            assert_eq!(number(&table, at, session), 2);
            drop(table);
            shut(instance, session);
        });
    }
}

/// A session vanishes without ending its transaction: it is rolled back, and who waits for its row
/// goes on.
#[test]
fn a_transaction_whose_session_vanishes_is_rolled_back() {
    let base = database(2);
    for seed in 0..20 {
        with_instance(racy(seed, base.clone()), move |instance, session| {
            let table = Rows::open(instance, TABLE, session).expect("there");
            let row = rows(&table, session)[0];
            let vanishes = start("vanishes", instance, session, move |instance, session| {
                let table = Rows::open(instance, TABLE, session).expect("there");
                let mut transaction =
                    instance.transactions().begin_serializable(session).expect("begun");
                add(&table, &mut transaction, row, 5, session).expect("changed");
                drop(transaction);
            });
            join(vec![vanishes], session);
            let before = session.now();
            let mut next = Transaction::new();
            add(&table, &mut next, row, 1, session).expect("changed");
            let waited = session.now().since(before);
            assert!(waited < Nanos::from_secs(2), "{waited}");
            instance.commit(next, session).expect("committed");
            assert_eq!(number(&table, row, session), 1);
            drop(table);
            // Which would be refused with a transaction active.
        });
    }
}

/// What was active at a crash is rolled back while new sessions work: they read what was committed,
/// at once, and wait for rows only as for anybody's.
#[test]
fn the_dead_are_rolled_back_beside_new_sessions_on_the_same_rows() {
    let base = database(16 * 4);
    for seed in 0..30 {
        let ((), disk) = run_kept(racy(seed, base.clone()), move |world, session| {
            let instance = open(world, session);
            let table = Rows::open(&instance, TABLE, session).expect("there");
            let all = rows(&table, session);
            let mut dead = Transaction::new();
            for row in &all {
                add(&table, &mut dead, *row, 7, session).expect("changed");
            }
            let mut other = Transaction::new();
            let mut inserter = access::HeapInserter::default();
            table.insert(&mut other, &mut inserter, |_| {}, session).expect("inserted");
            instance.commit(other, session).expect("committed, and all redo before it");
            drop(table);
            abort(instance, session);
        });
        with_instance(racy(seed, disk), move |instance, session| {
            assert_eq!(instance.opened().rolled_back, 1);
            let table = Rows::open(instance, TABLE, session).expect("there");
            let mut sum = 0;
            table.scan(|_, row| sum += row.number, session).expect("read");
            assert_eq!(sum, 0, "what wasn't committed isn't seen");
            let all: Vec<_> = rows(&table, session).into_iter().take(64).collect();
            let mut transaction = Transaction::new();
            for row in all.iter().rev() {
                add(&table, &mut transaction, *row, 1, session).expect("changed");
                assert_eq!(number(&table, *row, session), 0);
            }
            instance.commit(transaction, session).expect("committed");
            assert!(all.iter().all(|row| number(&table, *row, session) == 1));
            drop(table);
            check(instance, session);
        });
    }
}
