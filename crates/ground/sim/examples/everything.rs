//! A program that uses every primitive, for the test of determinism: latches, conditions,
//! signals, shared numbers, timeouts, spins, priorities, affinity, blocking and asynchronous I/O,
//! I/O slaves, faults, random numbers, threads that come and go.
//!
//! `cargo run -p sim --example everything SEED` prints the complete event log. The same seed gives
//! the same bytes in every process, build and load; `cargo xbench determinism` checks that.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use latch::{Condition, Latch, LatchKind, Shared64, Signal};
use os::{
    Completion, CpuSet, FileOptions, IoBuf, IoKind, Os, Priority, Request, RingBackend, RingConfig,
    Session, ThreadHandle, ThreadSpec,
};
use sim::fs::Operation;
use sim::fs::faults::{Fault, FaultPlan, Scope};
use sim::{LogMode, Perturbation, Simulation, World};
use waits::{Nanos, WaitEvent};

const DIRECT: FileOptions = FileOptions { direct: true, write_through: false };
const BLOCK: usize = 4096;
const BLOCKS: u64 = 16;

/// The state that the threads share.
struct Shared {
    world: World,
    queue: Latch<Vec<u64>>,
    filled: Condition,
    taken: Latch<u64>,
    turns: Shared64,
    gate: Shared64,
    signal: Signal,
}

fn main() -> ExitCode {
    let seed = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let seed = seed.expect("usage: everything SEED");
    let report = simulation(seed).run(program);
    let mut out = std::io::stdout().lock();
    out.write_all(&report.log).expect("standard output takes it");
    writeln!(
        out,
        "end {} ns, {} hand-offs, hash {:016x}, result {:?}",
        report.elapsed_ns, report.hand_offs, report.log_hash, report.result
    )
    .expect("standard output takes it");
    if report.result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn simulation(seed: u64) -> Simulation {
    let mut simulation = Simulation::new(seed);
    simulation.perturbation = Perturbation::RACES;
    simulation.log = LogMode::Full;
    simulation.machine.cpus = 1 + (seed % 4) as u16;
    simulation.machine.time_slice_us = 100;
    let data = Scope::of(&[Operation::Read, Operation::Write]);
    let faults = FaultPlan::new(seed).per_million(20_000, Fault::Short, data.clone()).per_million(
        5_000,
        Fault::Eio,
        data,
    );
    simulation.disks[0].content.plan_faults(faults);
    simulation
}

fn program(world: &World, session: &Session) -> u64 {
    let os = world.os();
    let shared = Arc::new(Shared {
        queue: Latch::new(os, LatchKind::WorkingSet, Vec::new()),
        filled: Condition::new(os),
        taken: Latch::new(os, LatchKind::Innermost, 0),
        turns: Shared64::new(0),
        gate: Shared64::new(0),
        signal: Signal::new(os),
        world: world.clone(),
    });
    let mut threads = Vec::new();
    for number in 0..3 {
        threads.push(start(&shared, session, format!("take{number}"), take));
    }
    for number in 0..3 {
        threads.push(start(&shared, session, format!("fill{number}"), fill));
    }
    threads.push(start(&shared, session, "spin".into(), spin));
    threads.push(start(&shared, session, "io".into(), blocking_io));
    threads.push(start(&shared, session, "ring".into(), ring_io_by_ring));
    threads.push(start(&shared, session, "slaves".into(), ring_io_by_slaves));
    threads.push(start(&shared, session, "idle".into(), idle));
    steer(os, &threads, session);
    for thread in threads {
        thread.join(session).expect("no thread panics");
    }
    *shared.taken.shared(session)
}

fn start(
    shared: &Arc<Shared>,
    session: &Session,
    name: String,
    body: fn(&Arc<Shared>, &Session),
) -> ThreadHandle {
    let shared = Arc::clone(shared);
    session.spawn(ThreadSpec::background(name), move |s| body(&shared, s)).expect("started")
}

/// Priorities and CPUs change while threads run.
fn steer(os: &Os, threads: &[ThreadHandle], session: &Session) {
    for turn in 0..20 {
        let thread = &threads[(os.random() % threads.len() as u64) as usize];
        let nice = (os.random() % 40) as i8 - 20;
        let done = os.set_priority(thread.id(), Priority::Nice(nice));
        assert!(done.is_ok() || thread.has_ended(), "only an ended thread refuses: {done:?}");
        let cpu = (os.random() % u64::from(os.cpu_count())) as u32;
        let cpus = if turn % 3 == 0 { CpuSet::one(cpu) } else { CpuSet::ALL };
        let done = os.set_affinity(thread.id(), cpus);
        assert!(done.is_ok() || thread.has_ended(), "only an ended thread refuses: {done:?}");
        let length = Nanos(os.random() % 300_000);
        session.pause(length, session.waiting(WaitEvent::PlSqlLockTimer));
    }
}

/// Fills the queue; every tenth time with a thread that ends at once.
fn fill(shared: &Arc<Shared>, session: &Session) {
    for number in 0..60 {
        session.charge_nanos(Nanos(shared.world.os().random() % 20_000));
        if number % 10 == 0 {
            let name = format!("once{number}");
            let child = start(shared, session, name, |shared, session| push(shared, 1, session));
            child.join(session).expect("no panic");
        } else {
            push(shared, 1, session);
        }
    }
    shared.gate.fetch_add(1, session);
    shared.signal.post(session);
    shared.filled.notify_all(session);
}

fn push(shared: &Shared, value: u64, session: &Session) {
    shared.queue.exclusive(session).push(value);
    shared.filled.notify_one(session);
}

/// Takes from the queue until all fillers have ended; sometimes gives up waiting.
fn take(shared: &Arc<Shared>, session: &Session) {
    loop {
        let mut queue = shared.queue.exclusive(session);
        while queue.is_empty() {
            if shared.gate.load(session) == 3 {
                return;
            }
            let waiting = session.waiting(WaitEvent::RdbmsIpcMessage);
            let timeout = Some(Nanos::from_micros(70));
            (queue, _) = shared.filled.wait(queue, waiting, timeout);
        }
        let value = queue.pop().expect("not empty");
        *shared.taken.exclusive(session) += value;
        drop(queue);
        session.charge_nanos(Nanos(shared.world.os().random() % 30_000));
    }
}

/// Spins on a shared number that only moves while other threads run.
fn spin(shared: &Arc<Shared>, session: &Session) {
    let mut turn = 0;
    while shared.gate.load(session) < 3 {
        shared.turns.fetch_add(1, session);
        session.relax(turn);
        turn += 1;
        if turn % 50 == 0 {
            drop(shared.queue.try_shared(session));
            // Priorities are strict here: a thread that only spins would starve the others for
            // ever.
            session.pause(Nanos(9_000), session.waiting(WaitEvent::PlSqlLockTimer));
        }
    }
}

/// Waits for the fillers' posts, by signal, with a time-out in between.
fn idle(shared: &Arc<Shared>, session: &Session) {
    let waiting = session.waiting(WaitEvent::RdbmsIpcMessage).p(300, 0, 0);
    while shared.gate.load(session) < 3 {
        let _ = shared.signal.wait(waiting, Some(Nanos::from_micros(400)));
    }
}

/// Writes, syncs and reads one block at a time; a device error is ignored.
fn blocking_io(shared: &Arc<Shared>, session: &Session) {
    let disk = shared.world.disk();
    let Ok(file) = disk.create(Path::new("/blocks"), BLOCKS * BLOCK as u64, DIRECT, session) else {
        return;
    };
    let mut block = IoBuf::zeroed(BLOCK);
    for turn in 0..60u64 {
        let at = shared.world.os().random() % BLOCKS * BLOCK as u64;
        block.fill(turn as u8);
        let _ = file.write_at(at, &block, session.waiting(WaitEvent::DbFileParallelWrite));
        let _ = file.read_at(at, &mut block, session.waiting(WaitEvent::DbFileSequentialRead));
        if turn % 8 == 0 {
            let _ = file.sync(session.waiting(WaitEvent::LogFileParallelWrite));
        }
    }
}

fn ring_io_by_ring(shared: &Arc<Shared>, session: &Session) {
    ring_io(shared, session, RingBackend::Auto);
}

fn ring_io_by_slaves(shared: &Arc<Shared>, session: &Session) {
    ring_io(shared, session, RingBackend::Slaves(3));
}

/// Keeps a ring full of reads and writes.
fn ring_io(shared: &Arc<Shared>, session: &Session, backend: RingBackend) {
    let disk = shared.world.disk();
    let path = format!("/ring{}", session.thread());
    let length = BLOCKS * BLOCK as u64;
    let Ok(file) = disk.create(Path::new(&path), length, DIRECT, session) else { return };
    let config = RingConfig { backend, ..RingConfig::new(8) };
    let mut ring = disk.ring(&config, session).expect("a simulated disk has rings");
    let mut done: Vec<Completion> = Vec::new();
    for tag in 0..120u64 {
        if !ring.has_room() {
            let waiting = session.waiting(WaitEvent::DbFileParallelWrite);
            ring.reap(3, Some(Nanos::from_micros(250)), &mut done, waiting).expect("it goes on");
        }
        if ring.has_room() {
            let kind = if tag % 3 == 0 { IoKind::Read } else { IoKind::Write };
            let offset = shared.world.os().random() % BLOCKS * BLOCK as u64;
            let buffer = done.pop().map_or_else(|| IoBuf::zeroed(BLOCK), |old| old.buffer);
            let _ = ring.push(Request { file: file.clone(), kind, offset, buffer, tag }, session);
        }
    }
    let waiting = session.waiting(WaitEvent::DbFileParallelWrite);
    ring.reap(8, None, &mut done, waiting).expect("everything in flight comes back");
}
