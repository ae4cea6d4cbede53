//! The edges of time, of waking and of machines.

use std::path::Path;

use os::{Cause, CpuSet, FileOptions, Priority, RingConfig, ThreadId, ThreadSpec, WaitWord, Woken};
use sim::fs::faults::{Fault, FaultPlan, Scope};
use sim::model::{DiskParameters, MachineParameters};
use sim::{DiskSpec, Failure, Perturbation, Simulation};
use waits::{Nanos, WaitEvent};

const BUFFERED: FileOptions = FileOptions { direct: false, write_through: false };

/// A sleep that ends for no reason is reported so; `Changed` means that the word had another value.
#[test]
fn a_sleep_that_ends_for_nothing_does_not_say_that_the_word_changed() {
    let mut simulation = Simulation::new(1);
    simulation.perturbation = Perturbation { spurious_per_1024: 1_024, ..Perturbation::NONE };
    let report = simulation.run(|world, session| {
        let word = WaitWord::new(world.os(), 7);
        let timeout = Some(Nanos::from_millis(1));
        let asleep = word.wait(7, timeout, session.waiting(WaitEvent::RdbmsIpcMessage));
        let other = word.wait(8, timeout, session.waiting(WaitEvent::RdbmsIpcMessage));
        (asleep, other)
    });
    assert_eq!(report.result, Ok((Woken::Woken, Woken::Changed)));
}

/// A timeout of zero looks once; one beyond the end of time is none. A thread that then can't go on
/// is a deadlock, and is reported as one, whatever the limit.
#[test]
fn a_time_out_beyond_the_end_of_time_is_none() {
    for limit in [1_000_000_000, u64::MAX] {
        let mut simulation = Simulation::new(1);
        simulation.time_limit_ns = limit;
        let report = simulation.run(|world, session| {
            let word = WaitWord::new(world.os(), 0);
            let now = Some(Nanos(0));
            let woken = word.wait(0, now, session.waiting(WaitEvent::RdbmsIpcMessage));
            assert_eq!(woken, Woken::TimedOut);
            assert!(session.now().as_nanos() < 1_000_000);
            let never = Some(Nanos(u64::MAX));
            let _ = word.wait(0, never, session.waiting(WaitEvent::RdbmsIpcMessage));
        });
        let Err(Failure::Deadlock(waiters)) = report.result else { panic!("{report:?}") };
        assert_eq!(waiters.len(), 1);
    }
}

/// CPU use for longer than the limit ends there.
#[test]
fn a_charge_beyond_the_limit_meets_it() {
    let report = Simulation::new(1).run(|_, session| {
        session.charge_nanos(Nanos(u64::MAX / 2));
        session.relax(0);
    });
    assert!(matches!(report.result, Err(Failure::TimeLimit { .. })), "{report:?}");
}

/// A simulation without any time to run in ends at its limit.
#[test]
fn a_limit_of_no_time_is_met_at_once() {
    let mut simulation = Simulation::new(1);
    simulation.time_limit_ns = 0;
    let report = simulation.run(|_, session| session.relax(0));
    assert!(matches!(report.result, Err(Failure::TimeLimit { .. })), "{report:?}");
}

/// A loop that polls without using CPU would never end, because no time passes for the awaited
/// event. It is named instead.
#[test]
fn a_loop_in_which_no_time_passes_is_named() {
    let report = Simulation::new(1).run(|world, session| {
        let mut ring = world.disk().ring(&RingConfig::new(1), session).expect("simulated");
        let size = 4096;
        let file = world.disk().create(Path::new("/file"), size, BUFFERED, session)?;
        let (buffer, kind) = (os::IoBuf::zeroed(4096), os::IoKind::Read);
        ring.push(os::Request { file, kind, offset: 0, buffer, tag: 0 }, session)?;
        let mut done = Vec::new();
        while done.is_empty() {
            ring.reap(0, None, &mut done, session.waiting(WaitEvent::DirectPathRead))?;
        }
        Ok::<(), os::Error>(())
    });
    let Err(Failure::NoProgress { thread, .. }) = &report.result else { panic!("{report:?}") };
    assert_eq!(thread, "main (t0)");
}

/// Every machine that can be described can be simulated.
#[test]
fn a_machine_has_at_most_as_many_cpus_as_threads_can_be_held_on() {
    let text = include_str!("../models/machine-two-core.toml");
    let of =
        |cpus: u32| MachineParameters::parse(&text.replace("cpus = 2", &format!("cpus = {cpus}")));
    for cpus in [1, 128] {
        let mut simulation = Simulation::new(1);
        simulation.machine = of(cpus).expect("a machine");
        let report = simulation.run(|world, _| world.os().cpu_count());
        assert_eq!(report.result, Ok(cpus));
    }
    of(129).expect_err("one more than can be named");
}

/// A request for more than the whole disk is refused or cut short, not a panic of the model.
#[test]
fn a_request_larger_than_the_disk_is_answered() {
    let mut simulation = Simulation::new(1);
    let model = DiskParameters::builtin("disk-7200").expect("built in");
    let mut disk = DiskSpec::empty("disk", model);
    disk.content.set_capacity(8_192);
    simulation.disks = vec![disk];
    let report = simulation.run(|world, session| {
        let file = world.disk().create(Path::new("/file"), 4096, BUFFERED, session)?;
        let waiting = session.waiting(WaitEvent::DirectPathWriteTemp);
        let refused = file.write_at(0, &[1; 16_384], waiting).expect_err("it doesn't fit");
        let mut nothing = [];
        file.read_at(0, &mut nothing, session.waiting(WaitEvent::DirectPathRead))?;
        file.write_at(0, &nothing, session.waiting(WaitEvent::DirectPathWriteTemp))?;
        Ok::<_, os::Error>(refused.cause())
    });
    assert_eq!(report.result.expect("no failure").expect("no fault"), os::Cause::NoSpace);
}

/// Linux refuses to set these values, and so does the simulator: a level that doesn't exist, a
/// thread that has ended or never existed.
#[test]
fn priorities_that_do_not_exist_and_threads_that_are_gone_are_refused() {
    let report = Simulation::new(1).run(|world, session| {
        let os = world.os();
        for priority in [
            Priority::Nice(20),
            Priority::Nice(-21),
            Priority::RealTime(0),
            Priority::RealTime(100),
        ] {
            let error = os.set_priority(session.thread(), priority).expect_err("out of range");
            assert_eq!(error.cause(), Cause::Invalid, "{error}");
        }
        let gone = session.spawn(ThreadSpec::background("gone"), |_| ()).expect("started");
        gone.join(session).expect("no panic");
        session.pause(Nanos::from_millis(1), session.waiting(WaitEvent::PlSqlLockTimer));
        for thread in [gone.id(), ThreadId(99)] {
            let error = os.set_priority(thread, Priority::NORMAL).expect_err("nobody there");
            assert_eq!(error.cause(), Cause::NotFound, "{error}");
            let error = os.set_affinity(thread, CpuSet::ALL).expect_err("nobody there");
            assert_eq!(error.cause(), Cause::NotFound, "{error}");
        }
    });
    assert_eq!(report.result, Ok(()));
}

/// A plan that comes while the program runs counts from there, and is told what it has done.
#[test]
fn faults_are_planned_amid_a_run() {
    let report = Simulation::new(1).run(|world, session| {
        let disk = world.disk();
        let list = || disk.list(Path::new("/"), session).is_ok();
        assert!(list() && world.injected().is_empty());
        world.plan_faults(FaultPlan::new(1).nth(2, Fault::Eio, Scope::all()));
        let done = [list(), list(), list()];
        let injected = world.injected().len();
        world.plan_faults(FaultPlan::new(1));
        (done, injected, world.injected().len())
    });
    assert_eq!(report.result, Ok(([true, false, true], 1, 0)));
}
