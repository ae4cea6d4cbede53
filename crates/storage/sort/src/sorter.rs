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
//! A [`SortState`] owns the rows and lives between calls. A [`Sorter`] is one with its session,
//! for a sort within one call (ST17).
//!
//! Invariant: all chunks but the last are sorted.
//!
//! Callers: index builds; ORDER BY.

use std::fmt;

use os::{Disk, IoBuf, IoPool, Session};
use stop::{Halt, RefusalKind, Stop, check_call};

use crate::Grant;
use crate::chunk::Chunk;
use crate::config::{FIRST_CHUNK_BYTES, Plan, RECORD_BYTES_MAX, SORT_AREA_BYTES_MIN, SortConfig};
use crate::merge::Merge;
use crate::passes;
use crate::record;
use crate::run::Run;
use crate::run_writer::RunWriter;
use crate::sorted::{Sorted, SortedState};
use crate::temp_file::TempState;

/// When there are this many runs, they are merged into half as many: a list of runs is memory too.
const RUNS_MAX: usize = 256;

/// Takes rows in any order, from one session. It lives between calls.
pub struct SortState {
    disk: Disk,
    config: SortConfig,
    plan: Plan,
    halt: Halt,
    /// The memory, if a budget is asked for it.
    grant: Option<Grant>,
    /// The last chunk is being filled.
    chunks: Vec<Chunk>,
    /// Memory for all but the first chunk, from the first need on.
    pool: Option<IoPool>,
    /// The temporary file, from the first need on.
    temp: Option<Box<TempState>>,
    /// Runs, in the order in which their rows were pushed.
    runs: Vec<Run>,
    rows: u64,
    /// Why the sort can't go on; then there are no chunks.
    failed: Option<Stop>,
}

impl SortState {
    /// Without rows. It takes no memory and no disk space before it needs them (ST8).
    pub fn new(disk: &Disk, config: SortConfig, halt: &Halt) -> Result<SortState, Stop> {
        let plan = Plan::new(&config)?;
        let grant = config.budget.as_ref().map(|budget| budget.grant());
        Ok(SortState {
            disk: disk.clone(),
            config,
            plan,
            halt: halt.clone(),
            grant,
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
    pub fn push(&mut self, key: &[u8], payload: &[u8], session: &Session) -> Result<(), Stop> {
        let is_taken = key.len() + payload.len() <= RECORD_BYTES_MAX
            && self.chunks.last_mut().is_some_and(|chunk| chunk.push(key, payload));
        if !is_taken {
            self.push_into_next(key, payload, session)?;
        }
        self.rows += 1;
        Ok(())
    }

    /// Ends the pushing. Returns all rows in order, and the state keeps nothing. After a failure
    /// what it had is given back.
    pub fn finish(&mut self, session: &Session) -> Result<SortedState, Stop> {
        if let Some(stop) = &self.failed {
            return Err(stop.clone());
        }
        let finished = self.merge_all(session);
        if let Err(stop) = &finished {
            self.fail(stop, session);
        }
        finished
    }

    /// Gives everything back. Nothing can be pushed any more.
    pub fn close(&mut self, session: &Session) {
        let message = "a sort takes no more rows once it was closed";
        self.fail(&Stop::refuse(RefusalKind::WrongState, message), session);
    }

    /// Bytes of memory that the sort has: never more than the sort area (ST1).
    pub fn memory_bytes(&self) -> u64 {
        let first = !self.chunks.is_empty() && self.temp.is_none();
        let lists = self.chunks.capacity() * size_of::<Chunk>()
            + self.runs.capacity() * size_of::<Run>()
            + usize::from(first) * FIRST_CHUNK_BYTES;
        let extents: u64 = self.runs.iter().map(Run::memory_bytes).sum();
        let temp = self.temp.as_ref().map_or(0, |temp| temp.memory_bytes());
        self.pool_bytes() + lists as u64 + extents + temp
    }

    /// Bytes of that memory which rows have taken. The rest was asked for, and isn't touched yet.
    pub fn used_bytes(&self) -> u64 {
        match self.temp {
            // All chunks were full when they were written.
            Some(_) => self.memory_bytes(),
            None => self.chunks.iter().map(Chunk::used_bytes).sum(),
        }
    }

    /// Bytes that were written to the temporary file.
    pub fn temp_bytes(&self) -> u64 {
        self.temp.as_ref().map_or(0, |temp| temp.written_bytes)
    }

    fn pool_bytes(&self) -> u64 {
        self.pool.as_ref().map_or(0, |_| self.plan.bytes())
    }

    /// Opens a merge of all rows.
    fn merge_all(&mut self, session: &Session) -> Result<SortedState, Stop> {
        if let Some(last) = self.chunks.last_mut() {
            last.sort(session);
        }
        if self.temp.is_none() {
            let pool_bytes = self.pool_bytes();
            let merge = Merge::new(std::mem::take(&mut self.chunks));
            // The chunks keep the pool's memory.
            self.pool = None;
            let grant = self.grant.take();
            return Ok(SortedState::in_memory(merge, pool_bytes, grant, self.rows, session));
        }
        if !self.chunks.is_empty() {
            self.spill(session)?;
        }
        let state = self.temp.as_mut().expect("it was there, and it stays");
        let mut temp = state.with(session);
        passes::reduce(&mut self.runs, self.plan.fan_in(), &mut temp)?;
        let merge = passes::open(std::mem::take(&mut self.runs), &mut temp)?;
        self.pool = None;
        let state = self.temp.take().expect("it is still there");
        Ok(SortedState::on_disk(merge, state, self.grant.take(), self.rows, session))
    }

    /// Takes a row for which the last chunk has no room.
    #[cold]
    fn push_into_next(
        &mut self,
        key: &[u8],
        payload: &[u8],
        session: &Session,
    ) -> Result<(), Stop> {
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
        let begun = self.begin_chunk(session);
        if let Err(stop) = begun {
            self.fail(&stop, session);
            return Err(stop);
        }
        let is_taken = self.chunks.last_mut().is_some_and(|chunk| chunk.push(key, payload));
        assert!(is_taken, "an empty chunk has room for any row");
        Ok(())
    }

    /// Sorts the last chunk, if there is one, and begins an empty one, if need be after writing a
    /// run.
    fn begin_chunk(&mut self, session: &Session) -> Result<(), Stop> {
        check_call(session)?;
        match self.chunks.last_mut() {
            Some(last) => last.sort(session),
            None if self.pool.is_none() => {
                if let Some(grant) = &mut self.grant {
                    grant.need(FIRST_CHUNK_BYTES as u64, session);
                }
                self.chunks.push(Chunk::new(IoBuf::zeroed(FIRST_CHUNK_BYTES)));
                return Ok(());
            }
            None => {}
        }
        let pool = self.pool(session)?;
        let first = usize::from(self.temp.is_none());
        if self.chunks.len() == self.plan.chunks() + first {
            self.spill(session)?;
        }
        let bytes = pool.take().expect("chunks are as many as pieces for them");
        self.chunks.push(Chunk::new(bytes));
        Ok(())
    }

    /// Writes all chunks as a run.
    fn spill(&mut self, session: &Session) -> Result<(), Stop> {
        let pool = self.pool(session)?;
        let chunks = std::mem::take(&mut self.chunks);
        let state = match &mut self.temp {
            Some(temp) => temp,
            None => {
                let (disk, config, halt) = (&self.disk, &self.config, &self.halt);
                let temp = TempState::create(disk, config, self.plan, pool, halt, session)?;
                self.temp.insert(Box::new(temp))
            }
        };
        let temp = &mut state.with(session);
        let levels = record::levels(chunks.len());
        let mut merge = Merge::new(chunks);
        let mut writer = RunWriter::new(temp);
        while let Some(record) = merge.record() {
            writer.append(record, temp)?;
            merge.advance(&mut ())?;
        }
        drop(merge);
        let run = writer.finish(temp)?;
        record::charge(run.rows * levels, session);
        self.runs.push(run);
        if self.runs.len() == RUNS_MAX {
            passes::reduce(&mut self.runs, RUNS_MAX / 2, temp)?;
        }
        Ok(())
    }

    /// The memory for all but the first chunk. The budget is asked for it when it is needed first,
    /// and decides how it is divided (ST14).
    fn pool(&mut self, session: &Session) -> Result<IoPool, Stop> {
        if let Some(pool) = &self.pool {
            return Ok(pool.clone());
        }
        if let Some(grant) = &mut self.grant {
            let granted = grant.grow_to(self.config.area_bytes, session);
            let area = granted.clamp(SORT_AREA_BYTES_MIN, self.config.area_bytes);
            grant.need(area, session);
            self.plan = Plan::of_area(area);
        }
        let pool = IoPool::new(self.plan.pieces as u32, self.plan.piece_bytes)?;
        Ok(self.pool.insert(pool).clone())
    }

    /// Gives everything back. The sort stays failed (ST6).
    fn fail(&mut self, stop: &Stop, session: &Session) {
        self.failed = Some(stop.clone());
        self.chunks = Vec::new();
        self.runs = Vec::new();
        if let Some(mut temp) = self.temp.take() {
            temp.close(session);
        }
        self.pool = None;
        if let Some(grant) = self.grant.take() {
            grant.close(session);
        }
    }
}

impl fmt::Debug for SortState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SortState({} rows, {} runs)", self.rows, self.runs.len())
    }
}

/// Takes rows in any order, for one session, within one call.
#[derive(Debug)]
pub struct Sorter<'a> {
    state: SortState,
    session: &'a Session,
}

impl<'a> Sorter<'a> {
    /// As [`SortState::new`].
    pub fn new(
        disk: &Disk,
        config: SortConfig,
        halt: &Halt,
        session: &'a Session,
    ) -> Result<Sorter<'a>, Stop> {
        Ok(Sorter { state: SortState::new(disk, config, halt)?, session })
    }

    /// As [`SortState::push`].
    #[inline]
    pub fn push(&mut self, key: &[u8], payload: &[u8]) -> Result<(), Stop> {
        self.state.push(key, payload, self.session)
    }

    /// Ends the pushing. Returns all rows in order.
    pub fn finish(mut self) -> Result<Sorted<'a>, Stop> {
        let state = self.state.finish(self.session)?;
        Ok(Sorted::new(state, self.session))
    }

    /// As [`SortState::memory_bytes`].
    pub fn memory_bytes(&self) -> u64 {
        self.state.memory_bytes()
    }
}

impl Drop for Sorter<'_> {
    fn drop(&mut self) {
        self.state.close(self.session);
    }
}
