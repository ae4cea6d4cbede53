//! Random programs on random machines: whatever threads do to each other, no time is lost, no CPU
//! is used twice, and the same seed gives the same run.
//!
//! In builds with debug assertions the scheduler checks its own invariants at every hand-off, too.

use std::path::Path;
use std::sync::Arc;

use os::{
    CpuSet, File, FileOptions, IoBuf, IoKind, Os, Priority, Request, RingBackend, RingConfig,
    Session, ThreadHandle, ThreadId, ThreadSpec, WaitWord,
};
use sim::fs::Operation;
use sim::fs::faults::{Fault, FaultPlan, Scope};
use sim::model::{CostList, DiskParameters};
use sim::{DiskSpec, Failure, Perturbation, Report, Simulation, World};
use testbed::Dice;
use waits::{Nanos, WaitEvent};

const THREADS_MAX: u64 = 12;
const BLOCK: usize = 4096;
const BLOCKS: u64 = 8;

/// The state that the threads of one program share.
struct Shared {
    world: World,
    words: Vec<WaitWord>,
    files: Vec<File>,
}

impl Shared {
    fn os(&self) -> &Os {
        self.world.os()
    }
}

fn random_simulation(seed: u64, dice: &mut Dice) -> Simulation {
    let mut simulation = Simulation::new(seed);
    simulation.machine.cpus = dice.one_of(&[1, 1, 2, 2, 3, 8, 128]);
    simulation.machine.time_slice_us = dice.one_of(&[1, 50, 3_000]);
    simulation.machine.switch_cost_ns = dice.one_of(&[0, 0, 2_000]);
    simulation.machine.migration_cost_ns = dice.one_of(&[0, 5_000]);
    if dice.below(3) == 0 {
        simulation.costs = CostList::free();
    }
    simulation.perturbation = match dice.below(3) {
        0 => Perturbation::NONE,
        1 => Perturbation::RACES,
        _ => Perturbation { spurious_per_1024: 512, ..Perturbation::RACES },
    };
    let disks = ["disk", "other"].map(|name| {
        let model = DiskParameters::builtin(dice.one_of(&["fixed", "nvme-consumer"]));
        let mut disk = DiskSpec::empty(name, model.expect("a built-in disk"));
        if dice.below(2) == 0 {
            let scope = Scope::of(&[Operation::Read, Operation::Write, Operation::Sync]);
            let plan = FaultPlan::new(seed)
                .per_million(50_000, Fault::Short, scope.clone())
                .per_million(5_000, Fault::Eio, scope);
            disk.content.plan_faults(plan);
        }
        disk
    });
    simulation.disks = disks.into();
    simulation
}

/// One step of a thread's program. Every result of an I/O is right, because faults are planned.
fn step(shared: &Shared, dice: &mut Dice, session: &Session) {
    let word = &shared.words[dice.below(shared.words.len() as u64) as usize];
    let file = &shared.files[dice.below(shared.files.len() as u64) as usize];
    let at = dice.below(BLOCKS - 1) * BLOCK as u64;
    let length = Nanos(dice.one_of(&[0, 1, 1_000, 20_000, 300_000]));
    match dice.below(13) {
        0 | 1 => session.charge_nanos(length),
        2 => session.pause(length, session.waiting(WaitEvent::PlSqlLockTimer)),
        3 | 4 => {
            let seen = word.value().load(std::sync::atomic::Ordering::Acquire);
            let _ = word.wait(seen, Some(length), session.waiting(WaitEvent::LogFileSync));
        }
        5 => {
            let _ = word.value().fetch_add(1, std::sync::atomic::Ordering::AcqRel);
            word.wake(dice.one_of(&[0, 1, 2, u32::MAX]), session);
        }
        6 => {
            let waiting = session.waiting(WaitEvent::DirectPathWriteTemp);
            let _ = file.write_at(at, &[at as u8; BLOCK], waiting);
        }
        7 => {
            let mut block = [0; BLOCK];
            let waiting = session.waiting(WaitEvent::DirectPathRead);
            let _ = file.read_at(at, &mut block, waiting);
        }
        8 => _ = file.sync(session.waiting(WaitEvent::LogFileSync)),
        9 => many_at_once(shared, file, dice, session),
        10 => {
            let thread = ThreadId(dice.below(4) as u32);
            let priority = dice.one_of(&[
                Priority::NORMAL,
                Priority::Nice(10),
                Priority::Nice(-10),
                Priority::RealTime(1),
            ]);
            let _ = shared.os().set_priority(thread, priority);
        }
        11 => {
            let thread = ThreadId(dice.below(4) as u32);
            let cpus = [CpuSet::ALL, CpuSet::one(0), CpuSet::one(1), CpuSet::one(0).with(2)];
            let _ = shared.os().set_affinity(thread, dice.one_of(&cpus));
        }
        _ => {
            session.interleave();
            session.relax(dice.one_of(&[0, 100]));
        }
    }
}

/// A few requests through a ring or through slaves; sometimes dropped in flight.
fn many_at_once(shared: &Shared, file: &File, dice: &mut Dice, session: &Session) {
    let mut config = RingConfig::new(4);
    if dice.below(4) == 0 {
        config.backend = RingBackend::Slaves(2);
    }
    let mut ring = shared.world.disk().ring(&config, session).expect("simulated");
    for tag in 0..1 + dice.below(4) {
        let kind = dice.one_of(&[IoKind::Read, IoKind::Write]);
        let (buffer, offset) = (IoBuf::zeroed(BLOCK), tag * BLOCK as u64);
        let request = Request { file: file.clone(), kind, offset, buffer, tag };
        // A file that has failed for good refuses.
        let _ = ring.push(request, session);
    }
    let timeout = dice.one_of(&[None, Some(Nanos(0)), Some(Nanos(100_000)), Some(Nanos(u64::MAX))]);
    let wanted = dice.one_of(&[0, 1, u32::MAX]);
    let waiting = session.waiting(WaitEvent::DbFileParallelWrite);
    ring.reap(wanted, timeout, &mut Vec::new(), waiting).expect("the ring works");
}

/// A thread's life: steps, and children of its own.
fn live(shared: &Arc<Shared>, dice: &mut Dice, depth: u64, session: &Session) {
    let mut children: Vec<ThreadHandle> = Vec::new();
    for _ in 0..10 + dice.below(30) {
        step(shared, dice, session);
        if depth < 2 && dice.below(12) == 0 && children.len() < 3 {
            let (theirs, mut luck) = (Arc::clone(shared), Dice(dice.below(u64::MAX)));
            let body = move |session: &Session| live(&theirs, &mut luck, depth + 1, session);
            let spec = ThreadSpec::foreground(format!("d{depth}"));
            children.push(session.spawn(spec, body).expect("started"));
        }
    }
    if dice.below(4) > 0 {
        for child in children {
            child.join(session).expect("no panic");
        }
    }
}

fn run(seed: u64, cut_power: bool) -> Report<()> {
    let mut dice = Dice(seed);
    let mut simulation = random_simulation(seed, &mut dice);
    if cut_power {
        let at = 6 + dice.below(60);
        simulation.disks[dice.below(2) as usize].content.lose_power_at(at);
    }
    simulation.run(move |world, session| {
        let words = (0..3).map(|_| WaitWord::new(world.os(), 0)).collect();
        let mut files = Vec::new();
        for (disk, write_through) in [("disk", false), ("disk", true), ("other", true)] {
            let options = FileOptions { direct: write_through, write_through };
            let path = format!("/file{}", files.len());
            let disk = world.disk_called(disk);
            let file = disk.create(Path::new(&path), BLOCKS * BLOCK as u64, options, session);
            // A planned fault may leave one file less.
            files.extend(file);
        }
        if files.is_empty() {
            return;
        }
        let shared = Arc::new(Shared { world: world.clone(), words, files });
        let threads: Vec<_> = (0..1 + dice.below(THREADS_MAX))
            .map(|number| {
                let (theirs, mut luck) = (Arc::clone(&shared), Dice(dice.below(u64::MAX)));
                let body = move |session: &Session| live(&theirs, &mut luck, 0, session);
                let spec = ThreadSpec::foreground(format!("t{number}"));
                session.spawn(spec, body).expect("started")
            })
            .collect();
        for thread in threads {
            thread.join(session).expect("no panic");
        }
    })
}

/// Every thread's time adds up to its age, and all threads together had no more CPU time than
/// exists.
fn assert_all_time_is_there<R>(report: &Report<R>, cpus: u64) {
    let mut used = 0;
    for thread in &report.threads {
        let sum = thread.cpu_ns + thread.run_queue_ns + thread.blocked_ns;
        assert_eq!(sum, thread.age_ns, "{thread:?}");
        assert!(thread.age_ns <= report.elapsed_ns, "{thread:?}");
        used += thread.cpu_ns;
    }
    assert!(used <= cpus * report.elapsed_ns, "{used} ns of CPU: {report:?}");
}

fn cpus_of(seed: u64) -> u64 {
    u64::from(random_simulation(seed, &mut Dice(seed)).machine.cpus)
}

/// The figures by which two runs are compared.
fn identity<R>(report: &Report<R>) -> (u64, u64, u64, u64) {
    (report.log_hash, report.log_lines, report.elapsed_ns, report.hand_offs)
}

/// Programs that end: all time is there, no deadlock, the same seed gives the same run.
#[test]
fn whatever_threads_do_all_time_is_accounted_for() {
    let mut seen = 0;
    for seed in 0..150 {
        let report = run(seed, false);
        assert_eq!(report.result, Ok(()), "seed {seed}");
        assert_all_time_is_there(&report, cpus_of(seed));
        if seed % 5 == 0 {
            assert_eq!(identity(&report), identity(&run(seed, false)), "seed {seed}");
        }
        seen += report.threads.len();
    }
    assert!(seen > 1_000, "the programs are worth it: {seen} threads");
}

/// Programs that lose power in the middle keep the same claims, and the same data survives.
#[test]
fn whatever_threads_do_when_the_power_goes_all_time_is_accounted_for() {
    let mut cut = 0;
    for seed in 0..80 {
        let (report, again) = (run(seed, true), run(seed, true));
        if let Err(failure) = &report.result {
            assert_eq!(*failure, Failure::PowerLost, "seed {seed}");
            cut += 1;
        }
        assert_all_time_is_there(&report, cpus_of(seed));
        assert_eq!(identity(&report), identity(&again), "seed {seed}");
        for (disk, other) in report.disks.values().zip(again.disks.values()) {
            assert_eq!(disk.image_hash(), other.image_hash(), "seed {seed}");
        }
    }
    assert!(cut > 40, "the power goes often enough: {cut}");
}
