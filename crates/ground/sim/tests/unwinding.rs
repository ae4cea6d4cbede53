//! Threads leave a simulation that stops one at a time, destructors and all, in any state.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::Duration;

use latch::{FrameBlock, FrameLatch, FrameOrder, Latch, LatchKind, Pinned, ReaderCounts};
use os::{FileOptions, Priority, Session, ThreadHandle, ThreadSpec, WaitWord};
use sim::model::CostList;
use sim::{Failure, Perturbation, Simulation};
use waits::{Nanos, WaitEvent};

/// Moments at which the power goes.
const CUTS: u64 = 500;

/// The owner of a frame's pins, whom it doesn't concern that there are none left.
#[derive(Clone, Copy)]
struct NoPins;

impl Pinned for NoPins {
    fn stripe_unpinned(&self, _: &Session) {}
}

const DIRECT: FileOptions = FileOptions { direct: true, write_through: false };

/// Runs a closure when it is dropped.
struct AtEnd<F: FnMut()>(F);

impl<F: FnMut()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Takes real time, which the simulator doesn't see.
#[expect(clippy::disallowed_methods, reason = "foreign to the simulator on purpose")]
fn really_sleep(length: Duration) {
    std::thread::sleep(length);
}

fn pause(session: &Session, ms: u64) {
    session.pause(Nanos::from_millis(ms), session.waiting(WaitEvent::PlSqlLockTimer));
}

/// A thread that sleeps on a word that is never raised.
fn sleeper(session: &Session, name: &str) -> ThreadHandle {
    let word = WaitWord::new(session.os(), 0);
    let body = move |session: &Session| {
        let _ = word.wait(0, None, session.waiting(WaitEvent::RdbmsIpcMessage));
    };
    session.spawn(ThreadSpec::background(name), body).expect("started")
}

/// An owner that joins its threads when it is dropped, as an instance does: while the simulation
/// stops they unwind first, and the joins come back.
#[test]
fn a_destructor_may_join_threads_while_everything_stops() {
    let joined = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&joined);
    let report = Simulation::new(1).run(move |world, session| {
        let threads: Vec<_> = (0..5).map(|n| sleeper(session, &format!("s{n}"))).collect();
        let _owner = AtEnd(|| {
            for thread in &threads {
                let _ = thread.join(session);
                assert!(thread.has_ended());
                let _ = count.fetch_add(1, Relaxed);
            }
        });
        pause(session, 1);
        world.cut_power();
    });
    assert_eq!(report.result, Err(Failure::PowerLost));
    assert_eq!(joined.load(Relaxed), 5);
}

/// The same holds where the joiner is not the first to unwind, and where it spins.
#[test]
fn a_destructor_may_spin_until_another_thread_has_unwound() {
    let report = Simulation::new(1).run(move |world, session| {
        let ended = Arc::new(AtomicBool::new(false));
        for number in 0..3 {
            let ended = Arc::clone(&ended);
            let body = move |session: &Session| {
                let _spins = AtEnd(|| {
                    let mut turn = 0;
                    while number < 2 && !ended.load(Relaxed) {
                        session.relax(turn);
                        turn += 1;
                    }
                    ended.store(number == 2 || ended.load(Relaxed), Relaxed);
                });
                pause(session, 1_000);
            };
            session.spawn(ThreadSpec::background(format!("s{number}")), body).expect("started");
        }
        pause(session, 1);
        world.cut_power();
    });
    let result: Result<(), Failure> = report.result;
    assert_eq!(result, Err(Failure::PowerLost));
}

/// A statement catches a panic to take its work back. Where it caught the unwinding out of a wait,
/// its next wait unwinds as well, and is no failure of its own.
#[test]
fn a_thread_that_catches_its_unwinding_unwinds_again_from_its_next_wait() {
    let messages = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&messages);
    let report = Simulation::new(1).run(move |world, session| {
        let body = move |session: &Session| {
            let wait = || catch_unwind(AssertUnwindSafe(|| pause(session, 1_000)));
            let _ = wait().expect_err("everything stops");
            let again = wait().expect_err("everything stops");
            // The payload of a panic is its message; that of a simulation that stops isn't.
            if again.is::<String>() || again.is::<&str>() {
                let _ = count.fetch_add(1, Relaxed);
            }
            resume_unwind(again);
        };
        session.spawn(ThreadSpec::background("catches"), body).expect("started");
        pause(session, 1);
        world.cut_power();
    });
    let result: Result<(), Failure> = report.result;
    assert_eq!(result, Err(Failure::PowerLost));
    assert_eq!(messages.load(Relaxed), 0);
}

/// Time goes on for a destructor that sleeps for a while, though no time passes any more.
#[test]
fn a_destructor_may_pause_while_everything_stops() {
    let mut simulation = Simulation::new(1);
    simulation.costs = CostList::free();
    let report = simulation.run(move |world, session| {
        let _pauses = AtEnd(|| pause(session, 250));
        world.cut_power();
    });
    let result: Result<(), Failure> = report.result;
    assert_eq!(result, Err(Failure::PowerLost));
}

/// A destructor that waits for an event that can never come is left behind. The report says what
/// happened first, and all other threads unwind.
#[test]
fn a_destructor_that_waits_for_ever_is_left_behind() {
    let dropped = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&dropped);
    let report = Simulation::new(1).run(move |world, session| {
        let body = move |session: &Session| {
            let _counts = AtEnd(|| {
                let _ = count.fetch_add(1, Relaxed);
            });
            pause(session, 1_000);
        };
        let _other = session.spawn(ThreadSpec::background("other"), body).expect("started");
        let word = WaitWord::new(world.os(), 0);
        let _waits = AtEnd(|| {
            loop {
                let _ = word.wait(0, None, session.waiting(WaitEvent::RdbmsIpcMessage));
            }
        });
        pause(session, 1);
        world.cut_power();
    });
    let result: Result<(), Failure> = report.result;
    assert_eq!(result, Err(Failure::PowerLost));
    assert_eq!(dropped.load(Relaxed), 1);
}

/// A thread that unwinds out of a wait for a latch leaves the waiters, so a destructor can get the
/// latch.
#[test]
fn a_latch_that_others_waited_for_can_be_had_by_destructors() {
    for exclusive in [false, true] {
        let dropped = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&dropped);
        let report = Simulation::new(1).run(move |world, session| {
            let latch = Arc::new(Latch::new(world.os(), LatchKind::Innermost, 0_u32));
            let word = Arc::new(WaitWord::new(world.os(), 0));
            for number in 0..6 {
                let (latch, word, count) = (latch.clone(), word.clone(), count.clone());
                let body = move |session: &Session| {
                    let _has_it_again = AtEnd(|| {
                        *latch.exclusive(session) += 1;
                        drop(latch.shared(session));
                        let _ = count.fetch_add(1, Relaxed);
                    });
                    if number == 0 {
                        let _held = latch.exclusive(session);
                        let _ = word.wait(0, None, session.waiting(WaitEvent::RdbmsIpcMessage));
                    } else if exclusive && number % 2 == 0 {
                        drop(latch.exclusive(session));
                    } else {
                        drop(latch.shared(session));
                    }
                };
                let spec = ThreadSpec::background(format!("thread{number}"));
                session.spawn(spec, body).expect("started");
                pause(session, 1);
            }
            pause(session, 1_000);
            world.cut_power();
        });
        let result: Result<(), Failure> = report.result;
        assert_eq!(result, Err(Failure::PowerLost));
        assert_eq!(dropped.load(Relaxed), 6, "with writers that wait: {exclusive}");
    }
}

/// The same holds for the latch of a frame, whose readers are counted apart, wherever the threads
/// are when the power goes.
#[test]
fn a_frame_latch_can_be_had_by_destructors_whenever_the_power_goes() {
    for seed in 0..CUTS {
        let (begun, dropped) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let (begins, count) = (Arc::clone(&begun), Arc::clone(&dropped));
        let mut simulation = Simulation::new(seed);
        simulation.perturbation = Perturbation::RACES;
        let report = simulation.run(move |world, session| {
            let counts = ReaderCounts::new(world.os(), 1);
            let latch = Arc::new(FrameLatch::new(world.os(), &counts, 0, 0_u32));
            let block = FrameBlock { order: FrameOrder::Heap, file: 1, block: 1, class: 1 };
            for number in 0..4 {
                let latch = Arc::clone(&latch);
                let (begins, count) = (Arc::clone(&begins), Arc::clone(&count));
                let body = move |session: &Session| {
                    let _ = begins.fetch_add(1, Relaxed);
                    let _has_it_again = AtEnd(|| {
                        *latch.exclusive(block, session) += 1;
                        drop(latch.shared(block, session));
                        let _ = count.fetch_add(1, Relaxed);
                    });
                    loop {
                        session.charge_nanos(Nanos(100));
                        let order = block.order;
                        match number {
                            0 => drop(latch.exclusive(block, session)),
                            1 => drop(latch.try_exclusive(order, session)),
                            2 => drop(latch.shared(block, session)),
                            _ => drop(latch.pin_shared(order, NoPins, || true, session)),
                        }
                    }
                };
                let spec = ThreadSpec::background(format!("thread{number}"));
                session.spawn(spec, body).expect("started");
            }
            session.pause(Nanos(100_000), session.waiting(WaitEvent::PlSqlLockTimer));
            world.cut_power();
        });
        let result: Result<(), Failure> = report.result;
        assert_eq!(result, Err(Failure::PowerLost));
        assert_eq!(dropped.load(Relaxed), begun.load(Relaxed), "seed {seed}");
    }
}

/// A guard that closes the account when it is dropped works while everything stops, and sees no
/// time before the last that it saw.
#[test]
fn a_destructor_may_read_the_threads_clocks_after_a_power_cut() {
    for cut_at in 1..12 {
        let mut simulation = Simulation::new(1);
        simulation.disks[0].content.lose_power_at(cut_at);
        let closed = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&closed);
        let report = simulation.run(move |world, session| {
            let start = session.reading();
            let _books = AtEnd(|| {
                let account = session.time_account_since(&start);
                assert!(account.elapsed.0 <= session.now().as_nanos());
                let _ = count.fetch_add(1, Relaxed);
            });
            let disk = world.disk();
            let file = disk.create(Path::new("/file"), 1 << 16, DIRECT, session)?;
            loop {
                file.write_at(0, &[7; 4096], session.waiting(WaitEvent::DirectPathWriteTemp))?;
                session.charge_nanos(Nanos::from_micros(10));
                file.sync(session.waiting(WaitEvent::LogFileSync))?;
            }
            #[expect(unreachable_code, reason = "names the closure's type")]
            Ok::<(), os::Error>(())
        });
        let Err(failure) = report.result else { panic!("the power goes") };
        assert_eq!(failure, Failure::PowerLost);
        assert_eq!(closed.load(Relaxed), 1, "cut at {cut_at}");
    }
}

/// Threads that never ran are dropped one after the other too, with all that they own.
#[test]
fn threads_that_never_ran_are_dropped_one_at_a_time() {
    let (inside, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (now, seen) = (Arc::clone(&inside), Arc::clone(&most));
    let mut simulation = Simulation::new(1);
    simulation.machine.cpus = 1;
    let report = simulation.run(move |world, session| {
        for number in 0..4 {
            let (now, seen) = (Arc::clone(&now), Arc::clone(&seen));
            let held = AtEnd(move || {
                seen.fetch_max(now.fetch_add(1, Relaxed) + 1, Relaxed);
                really_sleep(Duration::from_millis(30));
                now.fetch_sub(1, Relaxed);
            });
            let body = move |_: &Session| drop(held);
            session.spawn(ThreadSpec::background(format!("s{number}")), body).expect("started");
        }
        world.cut_power();
    });
    let result: Result<(), Failure> = report.result;
    assert_eq!(result, Err(Failure::PowerLost));
    assert_eq!((inside.load(Relaxed), most.load(Relaxed)), (0, 1));
}

/// The thread that panics first is named, even where its destructors let another thread panic
/// meanwhile.
#[test]
fn the_first_panic_is_the_one_that_is_reported() {
    let mut simulation = Simulation::new(1);
    simulation.machine.cpus = 1;
    let report = simulation.run(|world, session| {
        let bad = session.spawn(ThreadSpec::background("bad"), |session| {
            pause(session, 1);
            panic!("planted");
        });
        let bad = bad.expect("started");
        // The joining thread preempts it before it has unwound.
        world.os().set_priority(bad.id(), Priority::Nice(10)).expect("allowed");
        bad.join(session).expect("no panic");
    });
    let expected = Failure::Panicked { thread: "bad (t1)".into(), message: "planted".into() };
    assert_eq!(report.result, Err(expected));
}

/// A panic whose destructors wait for ever is a panic, not a deadlock.
#[test]
fn a_panic_is_not_hidden_by_the_deadlock_of_its_destructors() {
    let report = Simulation::new(1).run(|_, session| {
        let thread = sleeper(session, "server");
        let _joins = AtEnd(|| {
            let _ = thread.join(session);
        });
        pause(session, 1);
        panic!("planted");
    });
    let result: Result<(), Failure> = report.result;
    let expected = Failure::Panicked { thread: "main (t0)".into(), message: "planted".into() };
    assert_eq!(result, Err(expected));
}

/// A panic of the first thread leaves no result, even where panics are contained.
#[test]
fn a_panic_of_the_first_thread_is_reported_even_where_panics_are_contained() {
    let mut simulation = Simulation::new(1);
    simulation.contain_panics = true;
    let report = simulation.run(|_, session| {
        let _other = sleeper(session, "server");
        panic!("planted");
    });
    let result: Result<(), Failure> = report.result;
    let expected = Failure::Panicked { thread: "main (t0)".into(), message: "planted".into() };
    assert_eq!(result, Err(expected));
}

/// A simulation that was given up doesn't run on behind the caller's back: a holder that comes
/// back after all unwinds.
#[test]
fn a_stuck_holder_that_comes_back_unwinds() {
    let (turns, unwound) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
    let (count, told) = (Arc::clone(&turns), Arc::clone(&unwound));
    let mut simulation = Simulation::new(1);
    simulation.stuck_after = Duration::from_millis(100);
    let report = simulation.run(move |_, session| {
        let _tells = AtEnd(|| told.store(true, Relaxed));
        really_sleep(Duration::from_millis(400));
        loop {
            count.fetch_add(1, Relaxed);
            pause(session, 1);
            really_sleep(Duration::from_millis(1));
        }
    });
    let result: Result<(), Failure> = report.result;
    assert!(matches!(result, Err(Failure::Stuck { .. })), "{result:?}");
    really_sleep(Duration::from_millis(1_000));
    assert!(unwound.load(Relaxed), "it still runs, {} turns later", turns.load(Relaxed));
}

/// A holder that is stuck while everything stops: the report says so, and what happened before.
#[test]
fn a_destructor_that_blocks_on_something_foreign_is_reported_with_the_first_failure() {
    let mut simulation = Simulation::new(1);
    simulation.stuck_after = Duration::from_millis(200);
    let report = simulation.run(move |world, _| {
        let _blocks = AtEnd(|| really_sleep(Duration::from_secs(600)));
        world.cut_power();
    });
    let result: Result<(), Failure> = report.result;
    let Err(Failure::Stuck { thread, last }) = &result else { panic!("{result:?}") };
    assert_eq!(thread, "main (t0)");
    assert!(last.contains("lost power"), "{last}");
}

/// An operation on names during which the power fails doesn't return, whatever its caller would do
/// with the error.
#[test]
fn no_code_runs_after_the_power_cut_that_it_was_in() {
    let mut simulation = Simulation::new(1);
    simulation.disks[0].content.lose_power_at(1);
    let went_on = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&went_on);
    let report = simulation.run(move |world, session| {
        let _ = world.disk().create_dir(Path::new("/dir"), session);
        told.store(true, Relaxed);
    });
    assert_eq!(report.result, Err(Failure::PowerLost));
    assert!(!went_on.load(Relaxed));
}
