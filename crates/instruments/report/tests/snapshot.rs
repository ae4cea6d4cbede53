//! In the simulator: sessions' books come into a row whole, read from inside and from outside.

use std::path::Path;
use std::sync::Arc;

use latch::{Latch, LatchKind, SharedFlag};
use os::{FileOptions, Session, ThreadSpec};
use report::{ProcessUsage, SessionInterval, Snapshot, TimeProfile};
use sim::{Perturbation, Simulation, World};
use waits::{Nanos, SessionKind, WaitEvent};

const DIRECT: FileOptions = FileOptions { direct: true, write_through: true };

/// A process: it works a little, writes a block, and idles, as a rule across whatever is measured.
fn writer(world: &World, stop: &SharedFlag, session: &Session) {
    let file = world.disk().create(Path::new("/f"), 1 << 16, DIRECT, session).expect("no fault");
    while !stop.is_raised(session) {
        session.charge_nanos(Nanos::from_micros(300));
        file.write_at(0, &[7; 4096], session.waiting(WaitEvent::DbFileParallelWrite)).expect("ok");
        session.pause(Nanos::from_millis(70), session.waiting(WaitEvent::RdbmsIpcMessage));
    }
}

/// A user: works for 5 ms and thinks for 1 ms, forty times.
fn user(session: &Session) -> SessionInterval {
    let start = session.reading();
    for _ in 0..40 {
        session.charge_nanos(Nanos::from_millis(5));
        session.pause(Nanos::from_millis(1), session.waiting(WaitEvent::PlSqlLockTimer));
    }
    SessionInterval::since(session, &start)
}

struct Books {
    users: Vec<SessionInterval>,
    processes: Vec<SessionInterval>,
    measured: Nanos,
}

/// Three users and a writer on two CPUs.
fn books(seed: u64) -> Books {
    let mut simulation = Simulation::new(seed);
    simulation.perturbation = Perturbation::RACES;
    let report = simulation.run(move |world, session| {
        let stop = Arc::new(SharedFlag::new(false));
        let closed = Arc::new(Latch::new(world.os(), LatchKind::Innermost, Vec::new()));
        let (own_world, own_stop) = (world.clone(), Arc::clone(&stop));
        let process = ThreadSpec::background("fb_dbw0");
        let process = session.spawn(process, move |s| writer(&own_world, &own_stop, s));
        // The snapshot falls into the writer's first or second idle wait.
        session.pause(Nanos::from_millis(33), session.waiting(WaitEvent::PlSqlLockTimer));
        let before = Snapshot::take(session, SessionKind::Background);
        let started = world.os().now();
        let users: Vec<_> = (0..3)
            .map(|number| {
                let closed = Arc::clone(&closed);
                let body = move |s: &Session| {
                    let interval = user(s);
                    closed.exclusive(s).push(interval);
                };
                let spec = ThreadSpec::foreground(format!("user {number}"));
                session.spawn(spec, body).expect("started")
            })
            .collect();
        for user in users {
            user.join(session).expect("no panic");
        }
        let measured = world.os().now().since(started);
        let after = Snapshot::take(session, SessionKind::Background);
        stop.raise(session);
        process.expect("started").join(session).expect("no panic");
        let users = std::mem::take(&mut *closed.exclusive(session));
        Books { users, processes: after.intervals_since(&before), measured }
    });
    report.result.expect("no failure")
}

/// A process that idles when it is read at both ends has all of its time in its books: what is
/// left over is the CPU before it fell asleep, some microseconds of a quarter of a second.
#[test]
fn a_process_read_from_outside_in_the_middle_of_a_wait_is_accounted_for() {
    for seed in 0..50 {
        let books = books(seed);
        let [process] = books.processes.as_slice() else { panic!("one process, seed {seed}") };
        let account = TimeProfile::from(&process.account);
        assert!(account.closes(), "seed {seed}: {account:?}");
        let elapsed = account.elapsed_ns.abs_diff(books.measured.0);
        assert!(elapsed < 200_000, "seed {seed}: {account:?}");
        assert!(account.unaccounted_ns.abs() < 50_000, "seed {seed}: {account:?}");
        assert!(account.idle_ns() > account.elapsed_ns / 2, "seed {seed}: {account:?}");
    }
}

/// A session that closes its own books leaves nothing, and its CPU is what it charged.
#[test]
fn a_users_own_books_leave_nothing() {
    for seed in 0..50 {
        for user in books(seed).users {
            let account = TimeProfile::from(&user.account);
            assert!(account.closes() && account.unaccounted_ns == 0, "seed {seed}: {account:?}");
            assert!(account.cpu_in_all_ns() >= 200_000_000, "seed {seed}: {account:?}");
            assert!(account.idle_ns() >= 40_000_000, "seed {seed}: {account:?}");
        }
    }
}

#[test]
fn a_process_is_shown_with_the_writes_that_it_made() {
    let books = books(1);
    let process = ProcessUsage::from(&books.processes[0]);
    assert_eq!(process.name, "fb_dbw0");
    assert!((2..=5).contains(&process.writes), "{process:?}");
    assert_eq!(process.write_bytes, process.writes * 4096);
    assert!(process.cpu_ns >= 600_000, "{process:?}");
}
