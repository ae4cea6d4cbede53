//! A halt is for good, wakes sleeping sessions, and follows from a panic.
#![forbid(unsafe_code)]

use std::sync::Arc;

use latch::{Condition, Latch, LatchKind};
use os::ThreadSpec;
use sim::{Perturbation, Simulation};
use stop::{Halt, RefusalKind, Stop};
use waits::WaitEvent;

/// The first cause stays, whichever cause comes later.
#[test]
fn the_first_cause_is_the_one_that_counts() {
    let report = Simulation::new(1).run(|world, session| {
        let halt = Halt::new(world.os());
        assert!(halt.check(session).is_ok());
        halt.raise("redo cannot be written", session);
        halt.raise("something later", session);
        halt.check(session).map_err(|stop| stop.to_string())
    });
    let said = report.result.expect("it runs").expect_err("it is halted");
    assert_eq!(said, "the instance has halted: redo cannot be written");
}

/// An instance that was shut refuses later calls, and an abort of it changes nothing.
#[test]
fn what_comes_after_the_end_in_good_order_is_refused() {
    let report = Simulation::new(1).run(|world, session| {
        let halt = Halt::new(world.os());
        halt.close(session);
        halt.raise("it was aborted", session);
        assert!(halt.is_raised(session) && halt.cause(session).is_none());
        halt.check(session).map_err(|stop| (stop.refusal(), stop.to_string()))
    });
    let (kind, said) = report.result.expect("it runs").expect_err("it is shut");
    assert_eq!(kind, Some(RefusalKind::WrongState));
    assert_eq!(said, "the database is shut: open it again to work with it");
}

/// A process that panics halts the instance, and a session that sleeps without a time limit goes
/// on.
#[test]
fn a_panic_halts_and_wakes_the_sleepers() {
    for seed in 0..50 {
        let mut simulation = Simulation::new(seed);
        simulation.contain_panics = true;
        simulation.perturbation = Perturbation::RACES;
        let report = simulation.run(|world, session| {
            let halt = Halt::new(world.os());
            let gate = Arc::new((
                Latch::new(world.os(), LatchKind::Innermost, ()),
                Condition::new(world.os()),
            ));
            let weak = Arc::downgrade(&gate);
            halt.on_raise(session, move |session| {
                if let Some(gate) = weak.upgrade() {
                    let _guard = gate.0.exclusive(session);
                    gate.1.notify_all(session);
                }
            });
            let inside = halt.clone();
            let process = session.spawn(ThreadSpec::background("fb_dbw0"), move |session| {
                let _guard = inside.guard("fb_dbw0 panicked", session);
                panic!("a broken invariant");
            });
            let process = process.expect("a thread starts");
            let mut guard = gate.0.exclusive(session);
            while !halt.is_raised(session) {
                let waiting = session.waiting(WaitEvent::RdbmsIpcReply);
                guard = gate.1.wait(guard, waiting, None).0;
            }
            drop(guard);
            assert!(process.join(session).is_err());
            match halt.check(session) {
                Err(Stop::Halted(cause)) => cause.to_string(),
                other => panic!("{other:?}"),
            }
        });
        assert_eq!(report.result.expect("nobody sleeps for ever"), "fb_dbw0 panicked");
    }
}
