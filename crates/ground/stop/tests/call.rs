//! A call that is cancelled, or out of time, is refused, and its session doesn't sleep on.
#![forbid(unsafe_code)]

use std::sync::Arc;

use latch::{Condition, Latch, LatchKind, SharedFlag};
use os::{CancelHandle, Os, Session, ThreadHandle, ThreadSpec};
use sim::{Perturbation, Report, Simulation};
use stop::{Halt, RefusalKind, SqlState, Stop, check_call};
use waits::{Nanos, Timestamp, WaitEvent};

/// A place where sessions wait in a call for something that never comes.
struct Gate {
    latch: Latch<()>,
    opened: Condition,
    halt: Halt,
    /// Where each waiting session leaves the handle on its calls.
    handles: Latch<Vec<CancelHandle>>,
    has_begun: SharedFlag,
}

impl Gate {
    fn new(os: &Os) -> Arc<Gate> {
        Arc::new(Gate {
            latch: Latch::new(os, LatchKind::Innermost, ()),
            opened: Condition::new(os),
            halt: Halt::new(os),
            handles: Latch::new(os, LatchKind::Innermost, Vec::new()),
            has_begun: SharedFlag::new(false),
        })
    }

    /// Waits, as every loop of the engine does that waits in a call.
    fn wait(&self, session: &Session) -> Stop {
        let mut guard = self.latch.exclusive(session);
        loop {
            if let Err(stop) = check_call(session) {
                return stop;
            }
            let waiting = session.waiting(WaitEvent::RdbmsIpcReply);
            guard = self.opened.wait_in_call(guard, waiting, None).0;
        }
    }

    /// A session that waits in a call, and what became of it by then.
    fn waiter(
        self: &Arc<Gate>,
        limit: Option<Nanos>,
        done: &Arc<Latch<Option<(Stop, Timestamp)>>>,
        session: &Session,
    ) -> ThreadHandle {
        let (gate, done) = (Arc::clone(self), Arc::clone(done));
        let waiter = session.spawn(ThreadSpec::foreground("waiter"), move |session| {
            let _call = session.begin_call(limit);
            gate.handles.exclusive(session).push(session.cancel_handle());
            gate.has_begun.raise(session);
            let stop = gate.wait(session);
            *done.exclusive(session) = Some((stop, session.now()));
        });
        waiter.expect("a thread starts")
    }
}

fn pause(length: Nanos, session: &Session) {
    session.pause(length, session.waiting(WaitEvent::PlSqlLockTimer));
}

fn ended<R>(report: Report<R>, seed: u64) -> R {
    report.result.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"))
}

/// The session may be anywhere on its way to sleep when the cancel comes, and wakes at once.
/// Another session that sleeps on the same condition sleeps on.
#[test]
fn a_cancel_wakes_the_session_that_it_is_for() {
    for seed in 0..400 {
        let mut simulation = Simulation::new(seed);
        simulation.perturbation = Perturbation::RACES;
        let report = simulation.run(move |world, session| {
            let gate = Gate::new(world.os());
            let results =
                [(); 2].map(|()| Arc::new(Latch::new(world.os(), LatchKind::Innermost, None)));
            let first = gate.waiter(None, &results[0], session);
            while !gate.has_begun.is_raised(session) {
                pause(Nanos::from_micros(1), session);
            }
            let second = gate.waiter(None, &results[1], session);
            if seed % 4 > 0 {
                pause(Nanos::from_micros(1 << (seed % 8)), session);
            }
            let handle = gate.handles.exclusive(session)[0].clone();
            let cancelled = session.now();
            assert!(handle.cancel_running());
            first.join(session).expect("no panic");
            let (stop, at) = results[0].exclusive(session).take().expect("it has ended");
            assert!(results[1].exclusive(session).is_none(), "the other one waits");
            while gate.handles.exclusive(session).len() < 2 {
                pause(Nanos::from_micros(1), session);
            }
            let other = gate.handles.exclusive(session)[1].clone();
            assert!(other.cancel_running());
            second.join(session).expect("no panic");
            (stop.refusal(), at.since(cancelled))
        });
        let (kind, took) = ended(report, seed);
        assert_eq!(kind, Some(RefusalKind::Cancelled), "seed {seed}");
        assert!(took < Nanos::from_millis(50), "seed {seed}: it took {took}");
    }
}

/// A call with a limit ends when that is over, without a cancel.
#[test]
fn a_call_is_woken_when_its_time_is_over() {
    for seed in 0..50 {
        let limit = Nanos::from_millis(20);
        let report = Simulation::new(seed).run(move |world, session| {
            let gate = Gate::new(world.os());
            let done = Arc::new(Latch::new(world.os(), LatchKind::Innermost, None));
            let began = session.now();
            gate.waiter(Some(limit), &done, session).join(session).expect("no panic");
            let (stop, at) = done.exclusive(session).take().expect("it has ended");
            (stop.refusal(), stop.state(), stop.to_string(), at.since(began))
        });
        let (kind, state, text, took) = ended(report, seed);
        assert_eq!((kind, state), (Some(RefusalKind::Cancelled), SqlState::QUERY_CANCELED));
        assert!(text.contains("time-out of 20.0 ms"), "{text}");
        assert!(took >= limit && took < Nanos::from_millis(25), "{took}");
    }
}

/// An instance that has ended says so, whatever was cancelled; work that is held off goes on.
#[test]
fn the_halt_comes_first_and_what_is_held_off_goes_on() {
    let report = Simulation::new(1).run(|world, session| {
        let gate = Gate::new(world.os());
        let _call = session.begin_call(None);
        assert!(session.cancel_handle().cancel_running());
        let refused = gate.halt.check_call(session).expect_err("it is cancelled");
        assert!(refused.is_cancelled());
        let held = session.hold_off();
        gate.halt.check_call(session).expect("it is held off");
        drop(held);
        gate.halt.raise("redo cannot be written", session);
        let halted = gate.halt.check_call(session).expect_err("it has halted");
        (refused.to_string(), halted.refusal())
    });
    let (text, kind) = ended(report, 1);
    assert_eq!(text, "the statement was cancelled; run it again to have it done");
    assert_eq!(kind, None);
}
