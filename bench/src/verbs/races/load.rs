//! Our side of an I/O race: a load through `os`, as the engine would put it.

use std::path::PathBuf;
use std::time::Duration;

use bench::race::{Metrics, metric};
use bench::scratch::fill;
use os::{
    Completion, CpuSet, Disk, File, FileOptions, IoBuf, IoKind, IoPool, Os, Request, Ring,
    RingConfig, Session,
};
use waits::{Nanos, Timestamp, WaitEvent};

/// When a write is durable.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durable {
    Never,
    /// O_DSYNC.
    AtOnce,
    /// A sync after each write.
    BySync,
}

/// What is done to the file.
#[derive(Clone)]
pub(crate) struct Load {
    pub(crate) file: PathBuf,
    pub(crate) size: u64,
    pub(crate) kind: IoKind,
    pub(crate) random: bool,
    pub(crate) block_bytes: usize,
    pub(crate) depth: u32,
    pub(crate) durable: Durable,
    pub(crate) length: Duration,
}

/// A world, and the session that runs the loads in it.
pub(crate) struct Runner {
    os: Os,
    disk: Disk,
    session: Session,
}

/// The offsets of a load, in order or at random.
struct Offsets {
    blocks: u64,
    block_bytes: u64,
    random: bool,
    state: u64,
}

impl Offsets {
    fn new(load: &Load, seed: u64) -> Offsets {
        let block_bytes = load.block_bytes as u64;
        let state = if load.random { seed | 1 } else { 0 };
        Offsets { blocks: load.size / block_bytes, block_bytes, random: load.random, state }
    }

    fn next(&mut self) -> u64 {
        if self.random {
            // xorshift64 (Marsaglia 2003).
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
        } else {
            self.state += 1;
        }
        self.state % self.blocks * self.block_bytes
    }
}

impl Runner {
    pub(crate) fn new() -> Runner {
        let os = os::linux::start();
        let session = os.adopt("race", waits::SessionKind::Foreground);
        Runner { disk: os::linux::disk(), session, os }
    }

    /// Runs the load once, on one CPU, and says what it reached.
    pub(crate) fn run(&self, load: &Load, cpu: u32, seed: u64) -> bench::Result<Metrics> {
        let pinned = self.os.set_affinity(self.session.thread(), CpuSet::one(cpu));
        pinned.and_then(|()| self.measure(load, seed)).map_err(|error| error.to_string().into())
    }

    pub(crate) fn cpu_count(&self) -> u32 {
        self.os.cpu_count()
    }

    fn measure(&self, load: &Load, seed: u64) -> Result<Metrics, os::Error> {
        let write_through = load.durable == Durable::AtOnce;
        let options = FileOptions { direct: true, write_through };
        let file = self.disk.open(&load.file, options, &self.session)?;
        // What is set up once isn't part of an I/O; nor is it in fio's figures.
        let mut ring = match load.depth {
            1 => None,
            depth => {
                let pool = IoPool::new(depth, load.block_bytes)?;
                let config = RingConfig { pool: Some(pool.clone()), ..RingConfig::new(depth) };
                Some((self.disk.ring(&config, &self.session)?, pool))
            }
        };
        let mut buffer = IoBuf::zeroed(load.block_bytes);
        let mut state = seed;
        fill(&mut buffer, &mut state);
        if let Some((_, pool)) = &ring {
            fill_all(pool);
        }
        let mut offsets = Offsets::new(load, seed);
        let cpu = bench::cpu::own();
        let start = self.os.now();
        let until = start.after(Nanos::from_micros(load.length.as_micros() as u64));
        let ios = match &mut ring {
            None => self.one_by_one(load, &file, &mut buffer, &mut offsets, until)?,
            Some((ring, pool)) => {
                self.many_at_once(load, &file, ring, pool, &mut offsets, until)?
            }
        };
        let seconds = self.os.now().since(start).as_secs_f64();
        let cpu = bench::cpu::own().saturating_sub(cpu);
        let iops = ios as f64 / seconds;
        Ok(Metrics::from([
            (metric::IOPS, iops),
            (metric::MB_PER_S, iops * load.block_bytes as f64 / 1e6),
            (metric::CPU_US_PER_IO, cpu.as_secs_f64() * 1e6 / ios.max(1) as f64),
        ]))
    }

    /// Blocking calls, as a session that reads one block, or a log writer.
    fn one_by_one(
        &self,
        load: &Load,
        file: &File,
        buffer: &mut IoBuf,
        offsets: &mut Offsets,
        until: Timestamp,
    ) -> Result<u64, os::Error> {
        let session = &self.session;
        let mut ios = 0;
        while self.os.now() < until {
            let offset = offsets.next();
            match load.kind {
                IoKind::Read => {
                    let waiting = session.waiting(WaitEvent::DbFileSequentialRead);
                    file.read_at(offset, buffer, waiting)?;
                }
                IoKind::Write => {
                    buffer[..8].copy_from_slice(&offset.to_le_bytes());
                    let waiting = session.waiting(WaitEvent::LogFileParallelWrite);
                    file.write_at(offset, buffer, waiting)?;
                    if load.durable == Durable::BySync {
                        file.sync(waiting)?;
                    }
                }
                IoKind::Sync => file.sync(session.waiting(WaitEvent::LogFileParallelWrite))?,
            }
            ios += 1;
        }
        Ok(ios)
    }

    /// A ring kept full, as a database writer or a scan.
    fn many_at_once(
        &self,
        load: &Load,
        file: &File,
        ring: &mut Ring,
        pool: &IoPool,
        offsets: &mut Offsets,
        until: Timestamp,
    ) -> Result<u64, os::Error> {
        let session = &self.session;
        let mut done: Vec<Completion> = Vec::with_capacity(load.depth as usize);
        let mut ios = 0;
        let mut running = true;
        while running || ring.in_flight() > 0 {
            while running && let Some(mut buffer) = pool.take() {
                let offset = offsets.next();
                buffer[..8].copy_from_slice(&offset.to_le_bytes());
                let request =
                    Request { file: file.clone(), kind: load.kind, offset, buffer, tag: 0 };
                ring.push(request, session)?;
            }
            let waiting = session.waiting(WaitEvent::DbFileParallelWrite);
            ring.reap(load.depth.div_ceil(4), None, &mut done, waiting)?;
            for completion in done.drain(..) {
                completion.result?;
                ios += 1;
            }
            running = self.os.now() < until;
        }
        Ok(ios)
    }
}

/// Fills the buffers of a pool with random bytes, as fio's are.
fn fill_all(pool: &IoPool) {
    let mut state = 1;
    let mut taken: Vec<IoBuf> = std::iter::from_fn(|| pool.take()).collect();
    taken.iter_mut().for_each(|buffer| fill(buffer, &mut state));
}
