//! The ways in which a simulation ends: well, in a deadlock, by panic, stuck, at its limit, without
//! power.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use os::{FileOptions, ThreadSpec, WaitWord};
use sim::{Failure, Perturbation, Simulation};
use waits::{Nanos, WaitEvent};

const DIRECT: FileOptions = FileOptions { direct: true, write_through: false };

/// Two threads that wait for each other: the report names both, their events and their words.
#[test]
fn a_deadlock_is_reported_with_who_waits_for_what() {
    let report = Simulation::new(1).run(|world, session| {
        let word = Arc::new(WaitWord::new(world.os(), 0));
        let theirs = Arc::clone(&word);
        let other = session.spawn(ThreadSpec::background("fb_dbw0"), move |session| {
            let _ = theirs.wait(0, None, session.waiting(WaitEvent::FreeBufferWaits));
        });
        other.expect("started").join(session).expect("no panic");
    });
    let Err(Failure::Deadlock(waiters)) = report.result else { panic!("{report:?}") };
    let seen: Vec<_> = waiters.iter().map(|w| (w.thread.as_str(), w.event)).collect();
    let exit = (String::from("main (t0)"), Some(WaitEvent::ProcessExit));
    let free = (String::from("fb_dbw0 (t1)"), Some(WaitEvent::FreeBufferWaits));
    assert_eq!(seen, [(exit.0.as_str(), exit.1), (free.0.as_str(), free.1)]);
    let text = Failure::Deadlock(waiters).to_string();
    assert!(text.contains("fb_dbw0 (t1) waits for 'free buffer waits' on word"), "{text}");
}

/// A panic ends the simulation and names its thread; all other threads unwind, destructors and all.
#[test]
fn a_panic_ends_the_simulation_and_everybody_unwinds() {
    struct Dropped(Arc<AtomicU32>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let dropped = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&dropped);
    let report = Simulation::new(1).run(move |world, session| {
        let word = Arc::new(WaitWord::new(world.os(), 0));
        for number in 0..5 {
            let (word, held) = (Arc::clone(&word), Dropped(Arc::clone(&count)));
            let sleeper = session.spawn(ThreadSpec::background(format!("s{number}")), move |s| {
                let _held = held;
                let _ = word.wait(0, None, s.waiting(WaitEvent::RdbmsIpcMessage));
            });
            sleeper.expect("started");
        }
        let bad = session.spawn(ThreadSpec::background("bad"), |session| {
            session.pause(Nanos::from_millis(1), session.waiting(WaitEvent::PlSqlLockTimer));
            panic!("planted");
        });
        let _ = bad.expect("started").join(session);
        unreachable!("the simulation has ended");
    });
    let expected = Failure::Panicked { thread: "bad (t6)".into(), message: "planted".into() };
    assert_eq!(report.result, Err(expected));
    assert_eq!(dropped.load(Relaxed), 5);
}

/// Where panics are contained, the thread that joins gets the panic, as in production.
#[test]
fn a_contained_panic_is_told_to_whoever_joins() {
    let mut simulation = Simulation::new(1);
    simulation.contain_panics = true;
    let report = simulation.run(|_, session| {
        let bad = session.spawn(ThreadSpec::background("bad"), |_| panic!("planted"));
        bad.expect("started").join(session)
    });
    let panicked = report.result.expect("the simulation goes on").expect_err("it panicked");
    assert_eq!(panicked.thread, "bad");
}

/// A holder that blocks on something outside the simulation is caught and named.
#[test]
fn the_watchdog_names_a_holder_that_does_not_return() {
    let mut simulation = Simulation::new(1);
    simulation.stuck_after = Duration::from_millis(200);
    let report = simulation.run(|_, session| {
        #[expect(clippy::disallowed_methods, reason = "foreign to the simulator: that's the point")]
        let sleep_for_real = || std::thread::sleep(Duration::from_secs(600));
        let spec = ThreadSpec::background("fb_lgwr");
        let stuck = session.spawn(spec, move |_| sleep_for_real());
        stuck.expect("started").join(session).expect("no panic");
    });
    let Err(Failure::Stuck { thread, last }) = report.result else { panic!("{report:?}") };
    assert_eq!(thread, "fb_lgwr (t1)");
    assert!(last.contains("running"), "{last}");
}

/// A program that never ends is stopped at the limit of virtual time.
#[test]
fn virtual_time_has_a_limit() {
    let mut simulation = Simulation::new(1);
    simulation.time_limit_ns = 1_000_000_000;
    let report = simulation.run(|_, session| {
        loop {
            session.pause(Nanos::from_millis(7), session.waiting(WaitEvent::PlSqlLockTimer));
        }
    });
    let result: Result<(), Failure> = report.result;
    assert!(matches!(result, Err(Failure::TimeLimit { .. })), "{result:?}");
}

/// Power cut in the middle of a load: the simulation ends, and the disk keeps what was durable.
#[test]
fn after_a_power_cut_the_disk_holds_what_was_durable() {
    for cut_at in 1..40 {
        let mut simulation = Simulation::new(7);
        simulation.perturbation = Perturbation::RACES;
        simulation.disks[0].content.lose_power_at(cut_at);
        let acknowledged = Arc::new(AtomicU32::new(0));
        let told = Arc::clone(&acknowledged);
        let report = simulation.run(move |world, session| {
            let disk = world.disk();
            let file = disk.create(Path::new("/log"), 8 << 12, DIRECT, session)?;
            for number in 1..=8u32 {
                let block = os::IoBuf::copy_of(&[number as u8; 4096]);
                let at = u64::from(number - 1) << 12;
                file.write_at(at, &block, session.waiting(WaitEvent::LogFileParallelWrite))?;
                file.sync(session.waiting(WaitEvent::LogFileParallelWrite))?;
                told.store(number, Relaxed);
            }
            Ok::<(), os::Error>(())
        });
        let survived = acknowledged.load(Relaxed);
        let disk = &report.disks["disk"];
        match report.result {
            Ok(result) => {
                result.expect("no fault was planned");
                assert_eq!(survived, 8);
            }
            Err(failure) => assert_eq!(failure, Failure::PowerLost),
        }
        let states = sim::fs::crash::CrashStates::of(disk);
        for seed in 0..20 {
            let mut left = states.sample(seed);
            for number in 1..=survived {
                let file = left.open("/log").expect("created durably before the first write");
                let mut block = [0; 4096];
                let read = left.read(file, u64::from(number - 1) << 12, &mut block);
                assert_eq!(read.expect("no fault"), 4096);
                assert!(block.iter().all(|byte| *byte == number as u8), "cut at {cut_at}");
            }
        }
    }
}

/// A test that cuts the power can tell the cut from a normal end, and mistakes no other failure for
/// it.
#[test]
fn only_lost_power_is_a_cut() {
    let cut_at = |point| {
        let mut simulation = Simulation::new(1);
        simulation.disks[0].content.lose_power_at(point);
        simulation.run(|world, session| {
            world.disk().create(Path::new("/f"), 4096, DIRECT, session).expect("created");
        })
    };
    assert!(cut_at(1).was_cut("the power goes at the first operation"));
    assert!(!cut_at(u64::MAX).was_cut("the power stays on"));
    let report = Simulation::new(1).run(|_, _| panic!("planted"));
    let taken = std::panic::catch_unwind(|| report.was_cut("the third"));
    let said = *taken.expect_err("a panic is no cut").downcast::<String>().expect("a text");
    assert!(said.starts_with("the third: ") && said.contains("planted"), "{said}");
}
