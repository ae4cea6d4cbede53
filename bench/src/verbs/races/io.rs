//! Race `io`: files through `os` against fio.
//!
//! Its terms are stated below. Each doorbell of a virtual disk leaves the machine, so both sides
//! reap a quarter of the depth at a time: with fewer doorbells either side reached 60,000 reads a
//! second at depth 32 instead of 52,000.

use bench::Scratch;
use bench::fio::{Batch, Durability, Engine, Fio, FioJob, Pattern};
use bench::race::{Case, Race, Side, Terms, Turn, Workload, metric};

use os::IoKind;

use super::load::{Durable, Load, Runner};
use super::{Run, Setup, run_race};

const TERMS: Terms = Terms {
    compared: "Both sides read or write blocks of the same sizes, at random or in order, with as \
               many in flight, around the page cache; I/Os a second and CPU time an I/O are \
               compared.",
    rival: "fio keeps a ring as deep as ours with batches, registered buffers and a registered \
            file; at depth 1 it makes plain system calls, which cost it less. It scrambles no \
            buffers, and takes the time of each I/O only at depth 1, where ours does. Buffers of \
            2 MiB and more are in huge pages on both sides. Both write random bytes.",
    timed: "Both are measured from the first I/O to the end of the last one. CPU time is that of \
            the thread that submits and reaps and of the kernel's io_uring workers. Durable \
            writes are synced one by one on both sides. The files are of equal age and read \
            through before, and sides change files every second pair; each pair runs on one CPU.",
    favours: "Ours puts the offset into the first eight bytes of each write, and keeps its wait \
              interface; fio draws its offsets with a longer formula. None of these is 1 % of an \
              I/O.",
};

const FILE_BYTES: u64 = 512 << 20;
/// IOPS of fio's to reach.
const IOPS_GOAL: f64 = 0.95;
/// Our CPU per I/O may be so many times fio's.
const CPU_GOAL: f64 = 0.87;

/// What both sides do.
struct Spec {
    name: &'static str,
    kind: IoKind,
    random: bool,
    block_bytes: u32,
    depth: u32,
    durable: Durable,
}

const SPECS: [Spec; 8] = [
    random("random 8 KiB writes, depth 1", IoKind::Write, 1),
    random("random 8 KiB writes, depth 32", IoKind::Write, 32),
    random("random 8 KiB reads, depth 1", IoKind::Read, 1),
    random("random 8 KiB reads, depth 32", IoKind::Read, 32),
    sequential("sequential 1 MiB writes", IoKind::Write),
    sequential("sequential 1 MiB reads", IoKind::Read),
    durable("durable 4 KiB log writes (O_DSYNC)", Durable::AtOnce),
    durable("durable 4 KiB log writes (sync)", Durable::BySync),
];

const fn random(name: &'static str, kind: IoKind, depth: u32) -> Spec {
    Spec { name, kind, random: true, block_bytes: 8192, depth, durable: Durable::Never }
}

const fn sequential(name: &'static str, kind: IoKind) -> Spec {
    Spec { name, kind, random: false, block_bytes: 1 << 20, depth: 8, durable: Durable::Never }
}

const fn durable(name: &'static str, durable: Durable) -> Spec {
    Spec { name, kind: IoKind::Write, random: false, block_bytes: 4096, depth: 1, durable }
}

pub(crate) fn run(setup: &Setup) -> Run {
    let fio = Fio::find()?;
    let scratch = Scratch::create(&setup.directory)?;
    let files = scratch.lay_out(&["one", "two"], FILE_BYTES)?;
    let runner = Runner::new();
    let cpus = runner.cpu_count();
    let mut workloads = Vec::new();
    for spec in &SPECS {
        let load = Load {
            file: files[0].clone(),
            size: FILE_BYTES,
            kind: spec.kind,
            random: spec.random,
            block_bytes: spec.block_bytes as usize,
            depth: spec.depth,
            durable: spec.durable,
            length: setup.plan.length,
        };
        let job = job(spec, FioJob::new(files[1].clone(), FILE_BYTES, pattern(spec), 0), setup);
        let (runner, fio, scratch, files) = (&runner, &fio, &scratch, &files);
        workloads.push(Workload {
            name: spec.name.into(),
            settings: vec![ours_in_words(spec), format!("fio: {}", job.settings())],
            cases: cases(spec),
            ours: Box::new(move |turn| {
                let file = files[which(turn, Side::Ours)].clone();
                runner.run(&Load { file, ..load.clone() }, turn.pair % cpus, turn.seed)
            }),
            rival: Box::new(move |turn| {
                let file = files[which(turn, Side::Rival)].clone();
                let cpu = Some(turn.pair % cpus);
                let job = FioJob { file, cpu, seed: turn.seed as u32, ..job.clone() };
                Ok(fio.run(&job, scratch)?.metrics())
            }),
        });
    }
    for file in &files {
        read_through(&runner, file)?;
    }
    let race = Race {
        name: "io".into(),
        description: "files through `os` against fio".into(),
        terms: TERMS,
        settings: vec![
            format!("fio: {}", fio.version()),
            format!(
                "two files of {} MiB, equal age, host-warm, in turn for both sides",
                FILE_BYTES >> 20
            ),
            "each pair on one CPU, the same for both sides, another for the next pair".into(),
            format!("file system: {}", bench::machine::file_system(scratch.path())),
        ],
        workloads,
    };
    run_race(race, setup)
}

/// The two sides change files every second pair: a file that lies better helps both alike.
fn which(turn: Turn, side: Side) -> usize {
    ((turn.pair / 2 + u32::from(side == Side::Rival)) % 2) as usize
}

fn pattern(spec: &Spec) -> Pattern {
    match (spec.kind, spec.random) {
        (IoKind::Read, true) => Pattern::RandRead,
        (IoKind::Write, true) => Pattern::RandWrite,
        (IoKind::Read, false) => Pattern::Read,
        (IoKind::Write, false) => Pattern::Write,
        (IoKind::Sync, _) => unreachable!("no race is of syncs alone"),
    }
}

/// The same work for fio, at its best: one I/O at a time costs it less by plain system calls than
/// by its ring, which hands every sync to a kernel worker.
fn job(spec: &Spec, job: FioJob, setup: &Setup) -> FioJob {
    let is_deep = spec.depth > 1;
    FioJob {
        block_bytes: spec.block_bytes,
        depth: spec.depth,
        batch: Batch { reap_min: spec.depth.div_ceil(4), ..Batch::up_to(spec.depth) },
        runtime: setup.plan.length,
        engine: if is_deep { Engine::IoUring } else { Engine::Psync },
        durability: match spec.durable {
            Durable::Never => Durability::None,
            Durable::AtOnce => Durability::ODsync,
            Durable::BySync => Durability::Fdatasync { every: 1 },
        },
        is_timed: !is_deep,
        fixed_buffers: is_deep,
        registered_files: is_deep,
        ..job
    }
}

fn ours_in_words(spec: &Spec) -> String {
    match spec.depth {
        1 => "ours: blocking calls, as a session or the log writer makes them".into(),
        _ => "ours: a ring, registered pool and files, as a database writer uses it".into(),
    }
}

fn cases(spec: &Spec) -> Vec<Case> {
    vec![
        Case {
            name: spec.name.into(),
            metric: metric::IOPS,
            unit: "IOPS",
            higher_is_better: true,
            goal: Some(IOPS_GOAL),
        },
        Case {
            name: format!("CPU: {}", spec.name),
            metric: metric::CPU_US_PER_IO,
            unit: "us/IO",
            higher_is_better: false,
            goal: Some(CPU_GOAL),
        },
    ]
}

/// So that neither side's reads are the first ones.
fn read_through(runner: &Runner, file: &std::path::Path) -> bench::Result<()> {
    let load = Load {
        file: file.to_path_buf(),
        size: FILE_BYTES,
        kind: IoKind::Read,
        random: false,
        block_bytes: 1 << 20,
        depth: 8,
        durable: Durable::Never,
        length: std::time::Duration::from_secs(2),
    };
    runner.run(&load, 0, 1).map(|_| ())
}
