//! Taking rows.
//!
//! ```text
//!   Filling ──(a chunk is full)──▶ Filling        the chunk is sorted, the next one begun
//!      │  ▲
//!      │  └──────(a run is written)───────┐
//!      ├──(all chunks are full)──▶ Spilling
//!      ├──(finish)──▶ Sorted
//!      └──(anything fails)──▶ failed, for good (ST6)
//! ```
//!
//! Invariant: all chunks but the last are sorted.
//!
//! Callers: index builds; ORDER BY.

use std::fmt;

use os::{Disk, IoBuf, IoPool, Session};
use stop::{Halt, RefusalKind, Stop, check_call};

use crate::chunk::Chunk;
use crate::config::{FIRST_CHUNK_BYTES, Plan, RECORD_BYTES_MAX, SortConfig};
use crate::merge::Merge;
use crate::passes;
use crate::record;
use crate::run::Run;
use crate::run_writer::RunWriter;
use crate::sorted::Sorted;
use crate::temp_file::TempFile;

/// When there are this many runs, they are merged into half as many: a list of runs is memory too.
const RUNS_MAX: usize = 256;

/// Takes rows in any order, for one session.
pub struct Sorter<'a> {
    disk: Disk,
    config: SortConfig,
    plan: Plan,
    halt: Halt,
    session: &'a Session,
    /// The last chunk is being filled.
    chunks: Vec<Chunk>,
    /// Memory for all but the first chunk, from the first need on.
    pool: Option<IoPool>,
    /// The temporary file, from the first need on.
    temp: Option<Box<TempFile<'a>>>,
    /// Runs, in the order in which their rows were pushed.
    runs: Vec<Run>,
    rows: u64,
    /// Why the sort can't go on; then there are no chunks.
    failed: Option<Stop>,
}

impl<'a> Sorter<'a> {
    /// Without rows. It takes no memory and no disk space before it needs them (ST8).
    pub fn new(
        disk: &Disk,
        config: SortConfig,
        halt: &Halt,
        session: &'a Session,
    ) -> Result<Sorter<'a>, Stop> {
        let plan = Plan::new(&config)?;
        Ok(Sorter {
            disk: disk.clone(),
            config,
            plan,
            halt: halt.clone(),
            session,
            chunks: Vec::new(),
            pool: None,
            temp: None,
            runs: Vec::new(),
            rows: 0,
            failed: None,
        })
    }

    /// Takes a row. May wait for the disk, so the caller holds no latch. A row that is too long is
    /// refused and not taken, and the sort goes on (ST9); any other failure is for good (ST6).
    #[inline]
    pub fn push(&mut self, key: &[u8], payload: &[u8]) -> Result<(), Stop> {
        let is_taken = key.len() + payload.len() <= RECORD_BYTES_MAX
            && self.chunks.last_mut().is_some_and(|chunk| chunk.push(key, payload));
        if !is_taken {
            self.push_into_next(key, payload)?;
        }
        self.rows += 1;
        Ok(())
    }

    /// Ends the pushing. Returns all rows in order.
    pub fn finish(mut self) -> Result<Sorted<'a>, Stop> {
        if let Some(stop) = self.failed {
            return Err(stop);
        }
        if let Some(last) = self.chunks.last_mut() {
            last.sort(self.session);
        }
        if self.temp.is_none() {
            let pool_bytes = self.pool_bytes();
            let merge = Merge::new(self.chunks);
            return Ok(Sorted::in_memory(merge, pool_bytes, self.rows, self.session));
        }
        if !self.chunks.is_empty() {
            self.spill()?;
        }
        let mut temp = self.temp.expect("it was there");
        passes::reduce(&mut self.runs, self.plan.fan_in(), &mut temp)?;
        let merge = passes::open(self.runs, &mut temp)?;
        Ok(Sorted::on_disk(merge, temp, self.rows))
    }

    /// Bytes of memory that the sort has: never more than the sort area (ST1).
    pub fn memory_bytes(&self) -> u64 {
        let first = !self.chunks.is_empty() && self.temp.is_none();
        let lists = self.chunks.capacity() * size_of::<Chunk>()
            + self.runs.capacity() * size_of::<Run>()
            + usize::from(first) * FIRST_CHUNK_BYTES;
        let extents: u64 = self.runs.iter().map(Run::memory_bytes).sum();
        let temp = self.temp.as_ref().map_or(0, |temp| temp.memory_bytes());
        (self.pool_bytes() + lists) as u64 + extents + temp
    }

    fn pool_bytes(&self) -> usize {
        self.pool.as_ref().map_or(0, |_| self.plan.piece_bytes * self.plan.pieces)
    }

    /// Takes a row for which the last chunk has no room.
    #[cold]
    fn push_into_next(&mut self, key: &[u8], payload: &[u8]) -> Result<(), Stop> {
        if let Some(stop) = &self.failed {
            return Err(stop.clone());
        }
        let bytes = key.len() + payload.len();
        if bytes > RECORD_BYTES_MAX {
            let message = format!(
                "cannot sort a row of {bytes} bytes: those that it is sorted by and those that go \
                 with it are {RECORD_BYTES_MAX} together at most; sort by less, or select less"
            );
            return Err(Stop::refuse(RefusalKind::Invalid, message));
        }
        let begun = self.begin_chunk();
        if let Err(stop) = begun {
            self.fail(&stop);
            return Err(stop);
        }
        let is_taken = self.chunks.last_mut().is_some_and(|chunk| chunk.push(key, payload));
        assert!(is_taken, "an empty chunk has room for any row");
        Ok(())
    }

    /// Sorts the last chunk, if there is one, and begins an empty one, if need be after writing a
    /// run.
    fn begin_chunk(&mut self) -> Result<(), Stop> {
        check_call(self.session)?;
        match self.chunks.last_mut() {
            Some(last) => last.sort(self.session),
            None if self.pool.is_none() => {
                self.chunks.push(Chunk::new(IoBuf::zeroed(FIRST_CHUNK_BYTES)));
                return Ok(());
            }
            None => {}
        }
        let first = usize::from(self.temp.is_none());
        if self.chunks.len() == self.plan.chunks() + first {
            self.spill()?;
        }
        let pool = self.pool()?;
        let bytes = pool.take().expect("chunks are as many as pieces for them");
        self.chunks.push(Chunk::new(bytes));
        Ok(())
    }

    /// Writes all chunks as a run.
    fn spill(&mut self) -> Result<(), Stop> {
        let pool = self.pool()?;
        let chunks = std::mem::take(&mut self.chunks);
        let temp = match &mut self.temp {
            Some(temp) => temp,
            None => {
                let (disk, config, halt) = (&self.disk, &self.config, &self.halt);
                let temp = TempFile::create(disk, config, self.plan, pool, halt, self.session)?;
                self.temp.insert(Box::new(temp))
            }
        };
        let levels = record::levels(chunks.len());
        let mut merge = Merge::new(chunks);
        let mut writer = RunWriter::new(temp);
        while let Some(record) = merge.record() {
            writer.append(record, temp)?;
            merge.advance(&mut ())?;
        }
        drop(merge);
        let run = writer.finish(temp)?;
        record::charge(run.rows * levels, self.session);
        self.runs.push(run);
        if self.runs.len() == RUNS_MAX {
            passes::reduce(&mut self.runs, RUNS_MAX / 2, temp)?;
        }
        Ok(())
    }

    fn pool(&mut self) -> Result<IoPool, Stop> {
        if let Some(pool) = &self.pool {
            return Ok(pool.clone());
        }
        let pool = IoPool::new(self.plan.pieces as u32, self.plan.piece_bytes)?;
        Ok(self.pool.insert(pool).clone())
    }

    /// Gives everything back. The sort stays failed (ST6).
    fn fail(&mut self, stop: &Stop) {
        self.failed = Some(stop.clone());
        self.chunks = Vec::new();
        self.runs = Vec::new();
        self.temp = None;
        self.pool = None;
    }
}

impl fmt::Debug for Sorter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sorter({} rows, {} runs)", self.rows, self.runs.len())
    }
}
