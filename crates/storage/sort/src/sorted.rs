//! The rows in order.
//!
//! Callers: index builds; ORDER BY.

use std::fmt;

use os::Session;
use stop::Stop;
use waits::Statistic;

use crate::chunk::Chunk;
use crate::config::FIRST_CHUNK_BYTES;
use crate::merge::Merge;
use crate::record;
use crate::run_reader::RunReader;
use crate::temp_file::TempFile;

/// Rows in the order of their keys. Of equal keys, the row that was pushed first comes first.
pub struct Sorted<'a> {
    kept: Rows<'a>,
    /// Whether the caller has had the merge's current row.
    is_had: bool,
    failed: Option<Stop>,
}

enum Rows<'a> {
    /// The pool's memory is freed with the last chunk.
    Memory {
        merge: Merge<Chunk>,
        pool_bytes: usize,
    },
    Disk {
        merge: Merge<RunReader>,
        temp: Box<TempFile<'a>>,
    },
    /// The sort has failed, and has given everything back.
    Nothing,
}

impl<'a> Sorted<'a> {
    pub(crate) fn in_memory(
        merge: Merge<Chunk>,
        pool_bytes: usize,
        rows: u64,
        session: &Session,
    ) -> Sorted<'a> {
        session.count(Statistic::SortsMemory, 1);
        session.count(Statistic::SortsRows, rows);
        Sorted { kept: Rows::Memory { merge, pool_bytes }, is_had: false, failed: None }
    }

    pub(crate) fn on_disk(
        merge: Merge<RunReader>,
        temp: Box<TempFile<'a>>,
        rows: u64,
    ) -> Sorted<'a> {
        temp.session.count(Statistic::SortsDisk, 1);
        temp.session.count(Statistic::SortsRows, rows);
        Sorted { kept: Rows::Disk { merge, temp }, is_had: false, failed: None }
    }

    /// The key and the payload of the next row; none after the last. May wait for the disk, so the
    /// caller holds no latch. A failure is for good (ST6).
    #[expect(clippy::type_complexity, reason = "a row is two slices, if there is one, or a stop")]
    pub fn next_row(&mut self) -> Result<Option<(&[u8], &[u8])>, Stop> {
        if self.is_had
            && let Err(stop) = self.advance()
        {
            self.failed = Some(stop);
            self.kept = Rows::Nothing;
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

    /// Bytes of memory that the sort has: never more than the sort area (ST1).
    pub fn memory_bytes(&self) -> u64 {
        match &self.kept {
            Rows::Memory { merge, pool_bytes } => {
                let first = if merge.sources().is_empty() { 0 } else { FIRST_CHUNK_BYTES };
                (pool_bytes + first) as u64 + merge.memory_bytes()
            }
            Rows::Disk { merge, temp } => {
                let pool = (temp.plan.piece_bytes * temp.plan.pieces) as u64;
                let sources: u64 = merge.sources().iter().map(RunReader::memory_bytes).sum();
                pool + sources + merge.memory_bytes() + temp.memory_bytes()
            }
            Rows::Nothing => 0,
        }
    }

    fn advance(&mut self) -> Result<(), Stop> {
        match &mut self.kept {
            Rows::Memory { merge, .. } => merge.advance(&mut ()),
            Rows::Disk { merge, temp } => merge.advance(temp),
            Rows::Nothing => Ok(()),
        }
    }
}

impl fmt::Debug for Sorted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sorted")
    }
}
