//! What I/O costs the thread that asks for it: one blocking read after the other, and requests in
//! a ring, 32 at a time.
//!
//! Reads of 8 KiB around the page cache, at places all over a file. How long the disk takes
//! doesn't count: the thread sleeps.
//!
//! Callers: `rounds`.

use std::path::Path;

use os::{
    Completion, Cost, Disk, File, FileOptions, IoBuf, IoKind, IoPool, Request, Ring, RingConfig,
    Session,
};
use waits::WaitEvent;

use super::clock::Windows;
use super::figure::Figure;

const BLOCK_BYTES: usize = 8_192;
const BLOCKS: u64 = 1_024;
const DEPTH: u32 = 32;
/// Blocking reads, and ringfuls of reads, in a round.
const READS: u32 = 48;
const RINGFULS: u32 = 8;

const DIRECT: FileOptions = FileOptions { direct: true, write_through: false };

/// A file to read from, with what it takes.
pub(super) struct Reads {
    file: File,
    ring: Ring,
    pool: IoPool,
    buffer: IoBuf,
    next: u64,
}

impl Reads {
    /// Makes the file in `folder`.
    pub(super) fn prepare(disk: &Disk, folder: &Path, session: &Session) -> Result<Reads, String> {
        let said = |error: os::Error| error.to_string();
        let pool = IoPool::new(DEPTH, BLOCK_BYTES).map_err(said)?;
        let config = RingConfig { pool: Some(pool.clone()), ..RingConfig::new(DEPTH) };
        let length = BLOCKS * BLOCK_BYTES as u64;
        Ok(Reads {
            file: disk.create(&folder.join("blocks"), length, DIRECT, session).map_err(said)?,
            ring: disk.ring(&config, session).map_err(said)?,
            pool,
            buffer: IoBuf::zeroed(BLOCK_BYTES),
            next: 0,
        })
    }

    /// What works for the ring, for the report.
    pub(super) fn ring(&self) -> String {
        self.ring.description()
    }

    pub(super) fn round(&mut self, session: &Session) -> Result<Vec<(Figure, f64)>, String> {
        let (submit, reap) = self.in_a_ring(session).map_err(|error| error.to_string())?;
        let sync = self.one_by_one(session).map_err(|error| error.to_string())?;
        Ok(vec![
            (Figure::Cost(Cost::IoSync), sync),
            (Figure::Cost(Cost::IoSubmit), submit),
            (Figure::Cost(Cost::IoReap), reap),
        ])
    }

    fn one_by_one(&mut self, session: &Session) -> Result<f64, os::Error> {
        let mut reads = Windows::new();
        for _ in 0..READS {
            let offset = self.next_offset();
            let waiting = session.waiting(WaitEvent::DbFileSequentialRead);
            reads.around(|| self.file.read_at(offset, &mut self.buffer, waiting))?;
        }
        Ok(reads.median_ns())
    }

    /// A request's share in handing over a ringful, and a completion's share in taking one back.
    fn in_a_ring(&mut self, session: &Session) -> Result<(f64, f64), os::Error> {
        let (mut submits, mut reaps) = (Windows::new(), Windows::new());
        let mut done: Vec<Completion> = Vec::with_capacity(DEPTH as usize);
        for _ in 0..RINGFULS {
            let requests: Vec<Request> = (0..DEPTH).map(|tag| self.request(tag)).collect();
            submits.around(|| {
                requests.into_iter().try_for_each(|request| self.ring.push(request, session))?;
                self.ring.submit()
            })?;
            let waiting = session.waiting(WaitEvent::DbFileParallelRead);
            reaps.around(|| self.ring.reap(DEPTH, None, &mut done, waiting))?;
            assert_eq!(done.len(), DEPTH as usize, "a ringful comes back whole");
            done.drain(..).try_for_each(|completion| completion.result)?;
        }
        let share = |windows: Windows| windows.median_ns() / f64::from(DEPTH);
        Ok((share(submits), share(reaps)))
    }

    fn request(&mut self, tag: u32) -> Request {
        let buffer = self.pool.take().expect("a buffer for each request that the ring holds");
        let (file, offset) = (self.file.clone(), self.next_offset());
        Request { file, kind: IoKind::Read, offset, buffer, tag: u64::from(tag) }
    }

    /// Every block once before one comes again, neighbours far apart.
    fn next_offset(&mut self) -> u64 {
        const STRIDE: u64 = 389;
        const { assert!(BLOCKS.is_power_of_two() && STRIDE % 2 == 1, "every block has its turn") }
        self.next = (self.next + STRIDE) % BLOCKS;
        self.next * BLOCK_BYTES as u64
    }
}
