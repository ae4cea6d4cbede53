//! Race `dbwr`: blocks from the buffer cache to disk, against fio's random writes.
//!
//! Ours is a buffer cache with its database writers: a session changes blocks at random, always
//! some batches ahead of the writers, which copy, seal, write and sync them as in any instance.
//! Each block that counts is durable at home. fio writes blocks of the same size at random into a
//! file of the same size, with as many in flight as a database writer has, and syncs as often as it
//! does (a sync for each batch). CPU is that of the writers with the kernel's workers; the session
//! that changes blocks isn't counted, for fio has nothing like it.
//!
//! With the doublewrite file each block is written twice and synced twice; that is what safety from
//! torn blocks costs, and it is reported beside.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use bench::fio::{Batch, Durability, Engine, Fio, FioJob, Pattern};
use bench::race::{Case, Metrics, Outcome, Race, Turn, Workload, metric};
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

use super::{Setup, run_race, told};

const BLOCKS: u32 = 16_384;
const BLOCK_BYTES: u32 = 8_192;
const BATCH: u32 = 128;
const DEPTH: u32 = 64;
/// IOPS of fio's to reach.
const IOPS_GOAL: f64 = 0.85;
/// Our CPU per write may be so many times fio's.
const CPU_GOAL: f64 = 1.0 / 1.3;
/// Batches of changed blocks that aren't durable yet, per writer: those that it can have on their
/// way, and so many more that it never waits for blocks, as fio never does.
const AHEAD: usize = 6;

/// What is raced: writers, and whether blocks are written twice.
const SPECS: [(&str, u32, bool); 5] = [
    ("1 writer", 1, false),
    ("2 writers", 2, false),
    ("4 writers", 4, false),
    ("8 writers", 8, false),
    ("1 writer, doublewrite", 1, true),
];

pub(crate) fn run(setup: &Setup) -> bench::Result<Outcome> {
    let fio = Fio::find()?;
    let scratch = Scratch::create(&setup.directory)?;
    let size = u64::from(BLOCKS) * u64::from(BLOCK_BYTES);
    let files = scratch.lay_out(&["one", "two"], size)?;
    let os = os::linux::start();
    let session = os.adopt("race", SessionKind::Foreground);
    let job = FioJob {
        depth: DEPTH,
        batch: Batch { reap_min: DEPTH.div_ceil(4), ..Batch::up_to(DEPTH) },
        runtime: setup.length,
        engine: Engine::IoUring,
        durability: Durability::Fdatasync { every: BATCH },
        fixed_buffers: true,
        registered_files: true,
        ..FioJob::new(files[1].clone(), size, Pattern::RandWrite, BLOCK_BYTES)
    };
    let mut workloads = Vec::new();
    for (number, &(name, writers, doublewrite)) in SPECS.iter().enumerate() {
        let (os, session, fio, scratch, files) = (&os, &session, &fio, &scratch, &files);
        let rival_job = job.clone();
        workloads.push(Workload {
            name: name.into(),
            settings: vec![
                format!("ours: batches of {BATCH}, a sync for each, depth {DEPTH} a writer"),
                format!("fio: {}", job.settings()),
            ],
            cases: cases(name, number == 0),
            ours: Box::new(move |turn| {
                let config = config(writers, doublewrite);
                let file = &files[which(turn, false)];
                let running = Running::start(os, file, scratch.path(), config, session)?;
                let measured = running.measure(turn.seed, setup.length, session);
                running.stop(session)?;
                measured.map_err(told)
            }),
            rival: Box::new(move |turn| {
                let file = files[which(turn, true)].clone();
                let job = FioJob { file, seed: turn.seed as u32, ..rival_job.clone() };
                Ok(fio.run(&job, scratch)?.metrics())
            }),
        });
    }
    let race = Race {
        name: "dbwr".into(),
        description: "dirty buffers to disk, against fio's random writes".into(),
        settings: vec![
            format!("fio: {}", fio.version()),
            format!("two files of {} MiB, of equal age, in turn for both sides", size >> 20),
            format!("file system: {}", bench::machine::file_system(scratch.path())),
        ],
        workloads,
    };
    run_race(race, setup)
}

/// Goals are set for one writer; the others are reported beside.
fn cases(name: &str, has_goals: bool) -> Vec<Case> {
    vec![
        Case {
            name: name.into(),
            metric: metric::IOPS,
            unit: "IOPS",
            higher_is_better: true,
            goal: has_goals.then_some(IOPS_GOAL),
        },
        Case {
            name: format!("CPU: {name}"),
            metric: metric::CPU_US_PER_IO,
            unit: "us/IO",
            higher_is_better: false,
            goal: has_goals.then_some(CPU_GOAL),
        },
    ]
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
        for block in 0..BLOCKS {
            let address = Dba::new(1, block);
            let pin = self.cache.pin_new(address, session)?;
            let mut guard = pin.exclusive(FrameOrder::Heap, session);
            guard.will_change();
            let bytes = guard.bytes_for_apply();
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
    fn measure(
        &self,
        seed: u64,
        length: std::time::Duration,
        session: &Session,
    ) -> Result<Metrics, Stop> {
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
