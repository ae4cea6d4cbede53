//! The rows in order.
//!
//! A [`SortedState`] owns them and lives between calls. A [`Sorted`] is one with its session
//! (ST17).
//!
//! Callers: index builds; ORDER BY.

use std::fmt;

use os::Session;
use stop::{RefusalKind, Stop};
use waits::Statistic;

use crate::Grant;
use crate::chunk::Chunk;
use crate::config::FIRST_CHUNK_BYTES;
use crate::merge::Merge;
use crate::record;
use crate::run_reader::RunReader;
use crate::temp_file::TempState;

/// Rows in the order of their keys. Of equal keys, the row that was pushed first comes first. It
/// lives between calls.
pub struct SortedState {
    kept: Rows,
    /// The memory, if a budget was asked for it.
    grant: Option<Grant>,
    /// Whether the caller has had the merge's current row.
    is_had: bool,
    failed: Option<Stop>,
}

enum Rows {
    /// The pool's memory is freed with the last chunk.
    Memory {
        merge: Merge<Chunk>,
        pool_bytes: u64,
    },
    Disk {
        merge: Merge<RunReader>,
        temp: Box<TempState>,
    },
    /// The sort has failed or was closed, and has given everything back.
    Nothing,
}

impl SortedState {
    pub(crate) fn in_memory(
        merge: Merge<Chunk>,
        pool_bytes: u64,
        grant: Option<Grant>,
        rows: u64,
        session: &Session,
    ) -> SortedState {
        session.count(Statistic::SortsMemory, 1);
        session.count(Statistic::SortsRows, rows);
        let kept = Rows::Memory { merge, pool_bytes };
        SortedState { kept, grant, is_had: false, failed: None }
    }

    pub(crate) fn on_disk(
        merge: Merge<RunReader>,
        temp: Box<TempState>,
        grant: Option<Grant>,
        rows: u64,
        session: &Session,
    ) -> SortedState {
        session.count(Statistic::SortsDisk, 1);
        session.count(Statistic::SortsRows, rows);
        SortedState { kept: Rows::Disk { merge, temp }, grant, is_had: false, failed: None }
    }

    /// The key and the payload of the next row; none after the last. May wait for the disk, so the
    /// caller holds no latch. A failure is for good (ST6).
    #[expect(clippy::type_complexity, reason = "a row is two slices, if there is one, or a stop")]
    pub fn next_row(&mut self, session: &Session) -> Result<Option<(&[u8], &[u8])>, Stop> {
        if self.is_had
            && let Err(stop) = self.advance(session)
        {
            self.give_back(session);
            self.failed = Some(stop);
        }
        if let Some(stop) = &self.failed {
            return Err(stop.clone());
        }
        let record = match &self.kept {
            Rows::Memory { merge, .. } => merge.record(),
            Rows::Disk { merge, .. } => merge.record(),
            Rows::Nothing => None,
        };
        self.is_had = record.is_some();
        Ok(record.map(record::split))
    }

    /// Gives everything back. There are no more rows.
    pub fn close(&mut self, session: &Session) {
        self.give_back(session);
        let message = "a sort has no more rows once it was closed";
        self.failed.get_or_insert_with(|| Stop::refuse(RefusalKind::WrongState, message));
    }

    /// Bytes of memory that the sort has: never more than the sort area (ST1).
    pub fn memory_bytes(&self) -> u64 {
        match &self.kept {
            Rows::Memory { merge, pool_bytes } => {
                let first = if merge.sources().is_empty() { 0 } else { FIRST_CHUNK_BYTES };
                pool_bytes + first as u64 + merge.memory_bytes()
            }
            Rows::Disk { merge, temp } => {
                let sources: u64 = merge.sources().iter().map(RunReader::memory_bytes).sum();
                temp.plan.bytes() + sources + merge.memory_bytes() + temp.memory_bytes()
            }
            Rows::Nothing => 0,
        }
    }

    /// Bytes of that memory which the rows take that are left.
    pub fn used_bytes(&self) -> u64 {
        match &self.kept {
            Rows::Memory { merge, .. } => merge.sources().iter().map(Chunk::used_bytes).sum(),
            Rows::Disk { .. } | Rows::Nothing => self.memory_bytes(),
        }
    }

    /// Bytes that were written to the temporary file.
    pub fn temp_bytes(&self) -> u64 {
        match &self.kept {
            Rows::Disk { temp, .. } => temp.written_bytes,
            Rows::Memory { .. } | Rows::Nothing => 0,
        }
    }

    fn advance(&mut self, session: &Session) -> Result<(), Stop> {
        match &mut self.kept {
            Rows::Memory { merge, .. } => merge.advance(&mut ()),
            Rows::Disk { merge, temp } => merge.advance(&mut temp.with(session)),
            Rows::Nothing => Ok(()),
        }
    }

    fn give_back(&mut self, session: &Session) {
        self.is_had = false;
        if let Rows::Disk { mut temp, merge } = std::mem::replace(&mut self.kept, Rows::Nothing) {
            drop(merge);
            temp.close(session);
        }
        if let Some(grant) = self.grant.take() {
            grant.close(session);
        }
    }
}

impl fmt::Debug for SortedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SortedState")
    }
}

/// Rows in the order of their keys, for one session, within one call.
#[derive(Debug)]
pub struct Sorted<'a> {
    state: SortedState,
    session: &'a Session,
}

impl<'a> Sorted<'a> {
    pub(crate) fn new(state: SortedState, session: &'a Session) -> Sorted<'a> {
        Sorted { state, session }
    }

    /// As [`SortedState::next_row`].
    #[expect(clippy::type_complexity, reason = "a row is two slices, if there is one, or a stop")]
    pub fn next_row(&mut self) -> Result<Option<(&[u8], &[u8])>, Stop> {
        self.state.next_row(self.session)
    }

    /// As [`SortedState::memory_bytes`].
    pub fn memory_bytes(&self) -> u64 {
        self.state.memory_bytes()
    }
}

impl Drop for Sorted<'_> {
    fn drop(&mut self) {
        self.state.close(self.session);
    }
}
