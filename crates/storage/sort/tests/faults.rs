//! A faulty disk makes a sort fail, and never gives another order; nothing is left of the sort.
#![forbid(unsafe_code)]

mod common;

use common::{DIRECTORY, Row, expected, rows, small};
use os::FilesystemIo;
use sim::fs::FileSystem;
use sim::fs::faults::{Fault, FaultPlan, Scope};
use sim::{Failure, Report, Simulation};
use sort::{SortConfig, Sorter};
use stop::{Halt, RefusalKind, Stop};
use waits::Nanos;

/// Enough rows for a merge of runs before the last merge.
fn some() -> Vec<Row> {
    rows(1_900, 1_000, 11)
}

fn world(plan: Option<FaultPlan>) -> Simulation {
    let mut simulation = Simulation::new(1);
    let content = &mut simulation.disks[0].content;
    content.create_dir(DIRECTORY).expect("an empty disk");
    content.sync_dir("/").expect("no fault yet");
    if let Some(plan) = plan {
        content.plan_faults(plan);
    }
    simulation
}

fn run(simulation: Simulation, io: FilesystemIo) -> Report<Result<Vec<Row>, Stop>> {
    simulation.run(move |world, session| {
        let config = SortConfig { filesystem_io: io, ..small() };
        let found = common::sort(&world.disk(), config, &some(), session);
        assert!(found.as_ref().is_ok_and(|found| *found == expected(&some())) || found.is_err());
        found
    })
}

fn disk<R>(report: &Report<R>) -> FileSystem {
    report.disks["disk"].clone()
}

/// Each operation in turn fails, is cut short, goes elsewhere or nowhere, or rots: the rows come in
/// order or not at all, and nothing is left but a name that couldn't be removed.
#[test]
fn whatever_fails_the_order_is_right_or_there_is_none() {
    let faults = [
        (Fault::Eio, false),
        (Fault::Enospc, false),
        (Fault::Short, true),
        (Fault::Rot, false),
        (Fault::MisdirectedRead, false),
        (Fault::MisdirectedWrite, false),
        (Fault::LostWrite, false),
    ];
    for io in [FilesystemIo::SetAll, FilesystemIo::None] {
        for (fault, goes_on) in faults {
            let mut refused = 0;
            let mut nth = 0;
            loop {
                nth += 1;
                let plan = FaultPlan::new(nth).nth(nth, fault, Scope::all());
                let report = run(world(Some(plan)), io);
                let mut fs = disk(&report);
                let Some(injected) = fs.injected().first().cloned() else { break };
                let result = report.result.unwrap_or_else(|e| panic!("{fault:?} {nth}: {e}"));
                if let Err(stop) = result {
                    refused += 1;
                    assert!(!goes_on, "{fault:?}: {stop}");
                    let kind = stop.refusal().expect("nothing halts for a sort");
                    let fits = match fault {
                        Fault::Eio => kind == RefusalKind::Io,
                        Fault::Enospc => kind == RefusalKind::NoSpace,
                        _ => kind == RefusalKind::Corrupt || kind == RefusalKind::Io,
                    };
                    assert!(fits, "{fault:?} at {injected:?}: {kind:?}, {stop}");
                    assert!(stop.to_string().contains("; "), "what to do: {stop}");
                }
                fs.close_all();
                let left = fs.list(DIRECTORY).unwrap_or_default();
                let may_leave = injected.operation == sim::fs::Operation::Remove;
                assert!(left.is_empty() || may_leave, "{fault:?} at {injected:?}: {left:?}");
                assert!(left.iter().all(|name| name.ends_with(os::TEMPORARY_NAME_END)));
                assert_eq!(fs.space().0, 0, "{fault:?} at {injected:?}");
            }
            assert!(goes_on || refused >= 10, "{fault:?}: {refused} of {nth}");
        }
    }
}

/// A disk that is too small is a refusal, at each size, and nothing is left. Holes are filled
/// again: twice the rows' size is enough for all passes.
#[test]
fn a_full_disk_refuses_and_space_is_used_again() {
    let bytes: usize = some().iter().map(|(key, payload)| key.len() + payload.len() + 4).sum();
    let mut succeeded = 0;
    for eighths in 0..=16 {
        let capacity = (bytes * eighths / 8) as u64;
        let mut simulation = world(None);
        simulation.disks[0].content.set_capacity(capacity);
        let report = run(simulation, FilesystemIo::SetAll);
        let mut fs = disk(&report);
        match report.result.expect("no failure") {
            Ok(_) => succeeded += 1,
            Err(stop) => {
                assert_eq!(stop.refusal(), Some(RefusalKind::NoSpace), "{stop}");
                assert_eq!(succeeded, 0, "more space is never worse");
                assert!(stop.to_string().contains("free space there"), "{stop}");
            }
        }
        common::assert_nothing_is_left(&mut fs);
    }
    assert!(succeeded >= 1, "twice the size is enough");
}

/// A sorter, or its rows, that is dropped half-way leaves nothing; one that failed stays failed.
#[test]
fn what_is_dropped_leaves_nothing() {
    for pushed in [0, 10, 400, 1_000, 1_900] {
        for taken in [None, Some(0), Some(1), Some(300)] {
            let report = world(None).run(move |world, session| {
                let halt = Halt::new(world.os());
                let mut sorter =
                    Sorter::new(&world.disk(), small(), &halt, session).expect("an area");
                for (key, payload) in some().iter().take(pushed) {
                    sorter.push(key, payload).expect("no fault");
                }
                let Some(taken) = taken else { return };
                let mut sorted = sorter.finish().expect("no fault");
                for _ in 0..taken {
                    let _ = sorted.next_row().expect("no fault");
                }
            });
            let mut fs = disk(&report);
            report.result.expect("no failure");
            common::assert_nothing_is_left(&mut fs);
        }
    }
}

/// When the instance halts, each later I/O of a sort returns the halt, and the sort gives
/// everything back.
#[test]
fn a_halt_ends_a_sort() {
    let report = world(None).run(|world, session| {
        let halt = Halt::new(world.os());
        let mut sorter = Sorter::new(&world.disk(), small(), &halt, session).expect("an area");
        let rows = some();
        let (first, rest) = rows.split_at(800);
        for (key, payload) in first {
            sorter.push(key, payload).expect("no halt yet");
        }
        halt.raise("a test", session);
        let stopped = rest.iter().find_map(|(key, payload)| sorter.push(key, payload).err());
        assert!(matches!(stopped, Some(Stop::Halted(_))));
        assert!(sorter.memory_bytes() < 100_000, "{}", sorter.memory_bytes());
        assert!(matches!(sorter.push(b"", b""), Err(Stop::Halted(_))));
        assert!(matches!(sorter.finish(), Err(Stop::Halted(_))));
    });
    let mut fs = disk(&report);
    report.result.expect("no failure");
    common::assert_nothing_is_left(&mut fs);
}

/// A sort whose call has had its time, at whatever moment that is, is refused and leaves nothing
/// (ST13).
#[test]
fn a_sort_ends_with_its_call() {
    let sorted_within = |limit: Option<Nanos>| {
        let report = world(None).run(move |world, session| {
            let _call = session.begin_call(limit);
            let began = session.now();
            let found = common::sort(&world.disk(), small(), &some(), session);
            (found.map_err(|stop| stop.refusal()), session.now().since(began))
        });
        common::assert_nothing_is_left(&mut disk(&report));
        report.result.expect("no failure")
    };
    let (found, whole) = sorted_within(None);
    assert_eq!(found, Ok(expected(&some())));
    let mut refused = 0;
    for part in 1..=30 {
        let limit = Nanos(whole.0 * part / 30);
        let (found, took) = sorted_within(Some(limit));
        match found {
            Ok(found) => assert_eq!(found, expected(&some())),
            Err(kind) => {
                refused += 1;
                assert_eq!(kind, Some(RefusalKind::Cancelled));
                assert!(took < Nanos(limit.0 + Nanos::from_millis(50).0), "{took} of {limit}");
            }
        }
    }
    assert!(refused >= 10, "{refused} of 30 parts were too short");
}

/// A power failure at each operation leaves at most a name, which the next opening removes.
#[test]
fn a_power_cut_leaves_a_leftover_at_most() {
    let clean = run(world(None), FilesystemIo::SetAll);
    let (before, points) = (2, disk(&clean).crash_points());
    let mut left = 0;
    for point in (before + 1..=points).filter(|point| *point < 12 || point % 29 == 0) {
        let mut simulation = world(None);
        simulation.disks[0].content.lose_power_at(point);
        let report = run(simulation, FilesystemIo::SetAll);
        assert!(matches!(report.result, Err(Failure::PowerLost)), "{:?}", report.result.err());
        let fs = disk(&report);
        let states = sim::fs::crash::CrashStates::of(&fs);
        for seed in 0..8 {
            let mut after = states.sample(seed);
            let names = after.list(DIRECTORY).expect("it was durable");
            assert!(names.iter().all(|name| name.ends_with(os::TEMPORARY_NAME_END)));
            left += names.len();
        }
    }
    assert!(left > 0, "the moment in which the file has a name was met");
}
