//! In the simulator the account closes to the nanosecond, and a planted sleep without a name shows.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

use latch::{Latch, LatchKind};
use os::{FileOptions, Session, ThreadSpec, WaitWord};
use sim::{Perturbation, Simulation, World};
use waits::{Nanos, TimeAccount, WaitEvent};

const DIRECT: FileOptions = FileOptions { direct: true, write_through: true };

/// The load of a session: CPU, I/O, sleeping on a word that another raises, and pauses.
fn load(world: &World, word: &WaitWord, number: u64, session: &Session) {
    let path = format!("/file{number}");
    let file = world.disk().create(Path::new(&path), 1 << 16, DIRECT, session).expect("no fault");
    let mut block = [0; 4096];
    for turn in 0..200 {
        session.charge_nanos(Nanos(world.os().random() % 900_000));
        let at = turn % 16 * 4096;
        file.write_at(at, &block, session.waiting(WaitEvent::DbFileParallelWrite)).expect("ok");
        file.read_at(at, &mut block, session.waiting(WaitEvent::DbFileSequentialRead)).expect("ok");
        word.value().fetch_add(1, AcqRel);
        word.wake(1, session);
        let seen = word.value().load(Acquire);
        let length = Some(Nanos::from_micros(50));
        let _ = word.wait(seen, length, session.waiting(WaitEvent::LogFileSync));
        session.interleave();
    }
}

/// The accounts of six sessions, each of which also sleeps for `unnamed` without a name.
fn accounts(seed: u64, unnamed: Nanos) -> Vec<TimeAccount> {
    let mut simulation = Simulation::new(seed);
    simulation.perturbation = Perturbation::RACES;
    let report = simulation.run(move |world, session| {
        let word = Arc::new(WaitWord::new(world.os(), 0));
        let closed = Arc::new(Latch::new(world.os(), LatchKind::Innermost, Vec::new()));
        let threads: Vec<_> = (0..6)
            .map(|number| {
                let (word, world, closed) = (Arc::clone(&word), world.clone(), Arc::clone(&closed));
                let body = move |session: &Session| {
                    let start = session.reading();
                    load(&world, &word, number, session);
                    world.sleep_without_a_name(unnamed);
                    let account = session.time_account_since(&start);
                    closed.exclusive(session).push(account);
                };
                let spec = ThreadSpec::foreground(format!("s{number}"));
                session.spawn(spec, body).expect("started")
            })
            .collect();
        for thread in threads {
            thread.join(session).expect("no panic");
        }
        std::mem::take(&mut *closed.exclusive(session))
    });
    report.result.expect("no failure")
}

/// CPU + run queue + waits = elapsed, exactly, for every session and every schedule.
#[test]
fn nothing_is_left_unaccounted() {
    for seed in 0..20 {
        for account in accounts(seed, Nanos::ZERO) {
            assert_eq!(account.unaccounted_ns, 0, "{account:?}");
            let queued: u64 = account.waits.iter().map(|line| line.of_which_run_queue.0).sum();
            assert!(queued > 0, "six threads on two CPUs queue: {account:?}");
            assert_eq!(account.waits.len(), 4, "{account:?}");
        }
    }
}

/// A planted sleep without a name is exactly the unaccounted time.
#[test]
fn a_planted_unnamed_sleep_is_what_is_left() {
    for account in accounts(1, Nanos::from_micros(1_234)) {
        assert_eq!(account.unaccounted_ns, 1_234_000, "{account:?}");
    }
}
