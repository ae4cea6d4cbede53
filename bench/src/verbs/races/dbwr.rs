//! Race `dbwr`: blocks from the buffer cache to disk, against fio's random writes.
//!
//! Its terms are stated below. Ours is a buffer cache with its database writers: a session changes
//! blocks at random, always some batches ahead of the writers, which copy, seal, write and sync
//! them as in any instance.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bench::fio::{Batch, Durability, Engine, Fio, FioJob, Pattern};
use bench::race::{Case, Metrics, Race, Terms, Turn, Workload, metric};
use bench::scratch::fill;
use bench::{Scratch, cpu};
use cache::{Cache, CacheConfig, DataFile, RedoGate};
use format::{BlockHeader, BlockKind};
use ids::{BlockSize, Dba, FileNo, Rba, Scn};
use latch::{FrameOrder, Shared64};
use os::{FileOptions, FilesystemIo, Os, Session, ThreadHandle};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use stop::{Halt, Stop};
use waits::SessionKind;

use super::{Run, Setup, run_race, told};

const TERMS: Terms = Terms {
    compared: "Both sides make random blocks of 8 KiB durable, in batches of 128: ours are dirty \
               buffers of a cache, which its writers copy, seal and write; blocks a second and \
               CPU time a block are compared. With doublewrite each block is written twice, first \
               all blocks of a batch in one piece to another file, which is synced, then each at \
               home.",
    rival: "fio keeps a ring as deep as a writer's, with batches, registered buffers and a \
            registered file, and takes no times. Against doublewrite fio does both parts, one \
            after the other, half of the time each: three jobs that write pieces of a batch's \
            size and sync each (as many as a writer has batches in flight), then the random \
            writes; its time for a block is the sum of both.",
    timed: "Both sync after every 128 blocks, when these are written (a barrier), while the next \
            ones are written. The files are of equal age and both sides write random bytes. CPU \
            time is that of the threads that write and of the kernel's io_uring workers; the \
            session that makes blocks dirty isn't counted, for fio has nothing like it.",
    favours: "fio copies and seals nothing and writes the same bytes again and again: that \
              favours fio. A device that does both parts of a doublewrite at once may take less \
              time than the sum: that favours ours.",
};

const BLOCKS: u32 = 16_384;
const BLOCK_BYTES: u32 = 8_192;
const BATCH: u32 = 128;
const DEPTH: u32 = 64;
/// IOPS of fio's to reach.
const IOPS_GOAL: f64 = 0.95;
/// fio's CPU time a block, in ours, to reach.
const CPU_GOAL: f64 = 0.8;
/// Batches of changed blocks that aren't durable yet, per writer: those that it can have on their
/// way, and so many more that it never waits for blocks, as fio never does.
const AHEAD: usize = 6;

/// What is raced.
struct Spec {
    name: &'static str,
    writers: u32,
    /// Whether blocks are written twice.
    doublewrite: bool,
    /// Goals are set for one writer; the others are reported beside.
    has_goals: bool,
}

const SPECS: [Spec; 5] = [
    Spec { name: "1 writer", writers: 1, doublewrite: false, has_goals: true },
    Spec { name: "2 writers", writers: 2, doublewrite: false, has_goals: false },
    Spec { name: "4 writers", writers: 4, doublewrite: false, has_goals: false },
    Spec { name: "8 writers", writers: 8, doublewrite: false, has_goals: false },
    Spec { name: "1 writer, doublewrite", writers: 1, doublewrite: true, has_goals: true },
];

pub(crate) fn run(setup: &Setup) -> Run {
    let fio = Fio::find()?;
    let scratch = Scratch::create(&setup.directory)?;
    let size = u64::from(BLOCKS) * u64::from(BLOCK_BYTES);
    let files = scratch.lay_out(&["one", "two"], size)?;
    let length = setup.plan.length;
    let rival = Rival::new(&fio, &scratch, size, length)?;
    let os = os::linux::start();
    let session = os.adopt("race", SessionKind::Foreground);
    let mut workloads = Vec::new();
    for spec in &SPECS {
        let (os, session, scratch, files, rival) = (&os, &session, &scratch, &files, &rival);
        workloads.push(Workload {
            name: spec.name.into(),
            settings: [
                vec![format!("ours: batches of {BATCH}, a sync for each, depth {DEPTH} a writer")],
                rival.settings(spec.doublewrite),
            ]
            .concat(),
            cases: cases(spec),
            ours: Box::new(move |turn| {
                let config = config(spec.writers, spec.doublewrite);
                let file = &files[which(turn, false)];
                let running = Running::start(os, file, scratch.path(), config, session)?;
                let measured = running.measure(turn.seed, length, session);
                running.stop(session)?;
                measured.map_err(told)
            }),
            rival: Box::new(move |turn| {
                rival.run(&files[which(turn, true)], turn.seed as u32, spec.doublewrite)
            }),
        });
    }
    let race = Race {
        name: "dbwr".into(),
        description: "dirty buffers to disk, against fio's random writes".into(),
        terms: TERMS,
        settings: vec![
            format!("fio: {}", fio.version()),
            format!("two files of {} MiB, of equal age, in turn for both sides", size >> 20),
            format!("file system: {}", bench::machine::file_system(scratch.path())),
        ],
        workloads,
    };
    run_race(race, setup)
}

fn cases(spec: &Spec) -> Vec<Case> {
    vec![
        Case {
            name: spec.name.into(),
            metric: metric::IOPS,
            unit: "IOPS",
            higher_is_better: true,
            goal: spec.has_goals.then_some(IOPS_GOAL),
        },
        Case {
            name: format!("CPU: {}", spec.name),
            metric: metric::CPU_US_PER_IO,
            unit: "us/IO",
            higher_is_better: false,
            goal: spec.has_goals.then_some(CPU_GOAL),
        },
    ]
}

/// fio's two parts: blocks at home, and a batch's copies in one piece.
struct Rival<'a> {
    fio: &'a Fio,
    scratch: &'a Scratch,
    home: FioJob,
    copies: FioJob,
}

impl<'a> Rival<'a> {
    fn new(
        fio: &'a Fio,
        scratch: &'a Scratch,
        size: u64,
        length: Duration,
    ) -> bench::Result<Rival<'a>> {
        let jobs = CacheConfig::FLYING_MAX;
        let piece = BATCH * BLOCK_BYTES;
        let file = scratch.lay_out(&["copies"], u64::from(piece) * u64::from(jobs))?.remove(0);
        let copies = FioJob {
            jobs,
            engine: Engine::Psync,
            durability: Durability::Fdatasync { every: 1 },
            runtime: length / 2,
            is_timed: false,
            ..FioJob::new(file.clone(), piece.into(), Pattern::Write, piece)
        };
        let home = FioJob {
            depth: DEPTH,
            batch: Batch { reap_min: DEPTH.div_ceil(4), ..Batch::up_to(DEPTH) },
            runtime: length,
            durability: Durability::Fdatasync { every: BATCH },
            is_timed: false,
            fixed_buffers: true,
            registered_files: true,
            ..FioJob::new(file, size, Pattern::RandWrite, BLOCK_BYTES)
        };
        Ok(Rival { fio, scratch, home, copies })
    }

    fn settings(&self, doublewrite: bool) -> Vec<String> {
        let mut settings = vec![format!("fio: {}", self.home.settings())];
        if doublewrite {
            settings.push(format!("fio, the copies: {}", self.copies.settings()));
        }
        settings
    }

    fn run(&self, file: &Path, seed: u32, doublewrite: bool) -> bench::Result<Metrics> {
        let home = FioJob { file: file.to_path_buf(), seed, ..self.home.clone() };
        if !doublewrite {
            return Ok(self.fio.run(&home, self.scratch)?.metrics());
        }
        let home = FioJob { runtime: home.runtime / 2, ..home };
        let home = self.fio.run(&home, self.scratch)?;
        let copies = self.fio.run(&self.copies, self.scratch)?;
        let batch = f64::from(BATCH);
        let seconds_a_block = 1.0 / home.iops + 1.0 / (copies.iops * batch);
        Ok(Metrics::from([
            (metric::IOPS, 1.0 / seconds_a_block),
            (metric::CPU_US_PER_IO, home.cpu_us_per_io + copies.cpu_us_per_io / batch),
        ]))
    }
}

/// The two sides change files every second pair: a file that lies better helps both alike.
fn which(turn: Turn, is_rival: bool) -> usize {
    ((turn.pair / 2 + u32::from(is_rival)) % 2) as usize
}

fn config(writers: u32, doublewrite: bool) -> CacheConfig {
    CacheConfig {
        block_size: BlockSize::KIB_8,
        // Every block has a buffer: nothing is read.
        frames: BLOCKS + BLOCKS / 8,
        working_sets: 8,
        writers,
        writers_max: writers,
        batch_blocks: BATCH,
        ring_depth: DEPTH,
        filesystem_io: FilesystemIo::SetAll,
        doublewrite,
        ..CacheConfig::default()
    }
}

/// Redo that is durable at once, and moves on by a block with each batch of changes.
struct Redo(Shared64);

impl RedoGate for Redo {
    fn position(&self, session: &Session) -> Rba {
        Rba::unpack_block(self.0.load(session))
    }

    fn make_durable(&self, _: Scn, _: &Session) -> Result<(), Stop> {
        Ok(())
    }

    fn is_durable(&self, _: Scn, _: &Session) -> bool {
        true
    }
}

/// A cache with its writers.
struct Running {
    cache: Arc<Cache>,
    redo: Arc<Redo>,
    writers: Vec<ThreadHandle>,
}

impl Running {
    /// Over this file, with all its blocks in the cache and clean.
    fn start(
        os: &Os,
        file: &Path,
        folder: &Path,
        config: CacheConfig,
        session: &Session,
    ) -> bench::Result<Running> {
        let disk = os::linux::disk();
        let options = FilesystemIo::SetAll.file_options();
        let data = disk.open(file, options, session).map_err(told)?;
        let copies: PathBuf = folder.join("doublewrite");
        let bytes = config.doublewrite_bytes();
        let doublewrite = disk
            .create(&copies, bytes, FileOptions { direct: true, write_through: false }, session)
            .map_err(told)?;
        disk.remove(&copies, session).map_err(told)?;
        let redo = Arc::new(Redo(Shared64::new(Rba::block(1, 1).pack_block())));
        let writers = config.writers;
        let files = vec![DataFile::new(FileNo::new(1), data, config.block_size)];
        let (gate, halt) = (Arc::clone(&redo) as Arc<dyn RedoGate>, Halt::new(os));
        let cache =
            Cache::open(os, disk, files, doublewrite, config, gate, halt, session).map_err(told)?;
        let mut running = Running { cache, redo, writers: Vec::new() };
        for number in 0..writers {
            let writer = running.cache.start_writer(number, session).map_err(told)?;
            running.writers.push(writer);
        }
        running.fill(session).map_err(told)?;
        Ok(running)
    }

    fn fill(&self, session: &Session) -> Result<(), Stop> {
        let mut state = 1;
        for block in 0..BLOCKS {
            let address = Dba::new(1, block);
            let pin = self.cache.pin_new(address, session)?;
            let mut guard = pin.exclusive(FrameOrder::Heap, session);
            guard.will_change();
            let bytes = guard.bytes_for_apply();
            // As fio's: neither side's bytes are easier for the device than the other's.
            fill(bytes, &mut state);
            *BlockHeader::of_mut(bytes) = BlockHeader::new(BlockKind::Scratch, address);
        }
        self.cache.checkpoint(self.ask(session), session)
    }

    /// Ends this batch of changes and asks the writers for it; what the checkpoint will have come
    /// to when they are done.
    fn ask(&self, session: &Session) -> Rba {
        let target = Rba::unpack_block(self.redo.0.fetch_add(1, session) + 1);
        self.cache.request_checkpoint(target, session);
        target
    }

    /// Changes blocks at random for so long, some batches for each writer ahead of them.
    fn measure(&self, seed: u64, length: Duration, session: &Session) -> Result<Metrics, Stop> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let changes = BATCH * self.writers.len() as u32;
        let mut change = |session: &Session| -> Result<Rba, Stop> {
            for _ in 0..changes {
                let pin = self.cache.pin(Dba::new(1, random.random_range(0..BLOCKS)), session)?;
                let mut guard = pin.exclusive(FrameOrder::Heap, session);
                guard.will_change();
                guard.bytes_for_apply()[64] ^= 1;
            }
            Ok(self.ask(session))
        };
        let mut asked = VecDeque::new();
        for _ in 0..AHEAD {
            asked.push_back(change(session)?);
        }
        let (began, cpu_before) = (Instant::now(), cpu::own());
        let own_before = session.thread_times().cpu;
        let written_before = self.written(session);
        while began.elapsed() < length {
            let oldest = asked.pop_front().expect("there are some ahead");
            self.cache.checkpoint(oldest, session)?;
            asked.push_back(change(session)?);
        }
        let seconds = began.elapsed().as_secs_f64();
        let written = (self.written(session) - written_before) as f64;
        let own = session.thread_times().cpu.0 - own_before.0;
        let cpu_us = (cpu::own() - cpu_before).as_secs_f64() * 1e6 - own as f64 / 1e3;
        Ok(Metrics::from([
            (metric::IOPS, written / seconds),
            (metric::CPU_US_PER_IO, cpu_us / written.max(1.0)),
        ]))
    }

    fn written(&self, session: &Session) -> u64 {
        session.os().totals().statistic(waits::Statistic::PhysicalWrites)
    }

    fn stop(self, session: &Session) -> bench::Result<()> {
        self.cache.stop(session);
        for writer in self.writers {
            writer.join(session).map_err(|panicked| format!("a writer panicked: {panicked:?}"))?;
        }
        Ok(())
    }
}
