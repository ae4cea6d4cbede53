//! Rows that are kept in their order and read again: in memory, and behind that in a spool.
//!
//! ```text
//!   rows 0 … in memory, as many as there is memory for │ the others in a spool
//! ```
//!
//! Invariants
//!   * rows are appended, then finished, then read from the first on, as often as one likes
//!   * a row's chunk is its number by 1,024, so each row in memory is found by its number
//!
//! Callers: `materialise`; `merge_join`, for right rows with equal keys.

use expression::{RowOf, Rows};
use sort::{Spool, SpoolReader};
use stop::Stop;

use crate::memory::{Memory, row_bytes};
use crate::partitions::{Aside, ReadRows};
use crate::{BATCH_BYTES_MAX, BATCH_ROWS_MAX, WorkArea, World};

/// The bytes of a chunk's first allocations, however short its first row is.
const FIRST_BYTES: u64 = 256;

/// Rows in their order.
pub(crate) struct Store {
    width: usize,
    memory: Memory,
    chunks: Vec<Rows>,
    /// How many of the chunks are in use; the others are empty.
    used: usize,
    /// The bytes of all chunks but the last that is used.
    full_bytes: u64,
    /// How many rows are in memory.
    in_memory: u64,
    aside: Option<Aside>,
    spool: Spool,
    reader: Option<SpoolReader>,
    /// Rows of the spool, of which one may be the current row.
    batch: ReadRows,
    /// The number of the current row, plus one.
    at: u64,
    /// The current row in the batch, if it is of the spool.
    in_batch: usize,
    temp_bytes: u64,
}

impl Store {
    /// A store without rows, of `width` columns.
    pub(crate) fn new(width: usize) -> Store {
        Store {
            width,
            memory: Memory::default(),
            chunks: Vec::new(),
            used: 0,
            full_bytes: 0,
            in_memory: 0,
            aside: None,
            spool: Spool::new(),
            reader: None,
            batch: ReadRows::new(width),
            at: 0,
            in_batch: 0,
            temp_bytes: 0,
        }
    }

    /// Tells the number of columns of a store without rows.
    pub(crate) fn set_width(&mut self, width: usize) {
        assert_eq!(self.rows(), 0);
        self.width = width;
        (self.chunks, self.batch) = (Vec::new(), ReadRows::new(width));
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> u64 {
        self.in_memory + self.spool.rows()
    }

    /// Appends a row.
    pub(crate) fn append<W: World>(
        &mut self,
        rows: &Rows,
        row: usize,
        world: &W,
    ) -> Result<(), Stop> {
        let of = rows.row(row);
        if self.spool.rows() == 0 && self.has_memory(of, world) {
            let is_full = self.used == 0 || self.chunks[self.used - 1].len() == BATCH_ROWS_MAX;
            if is_full {
                self.begin_chunk();
            }
            self.chunks[self.used - 1].push_row(&of);
            self.in_memory += 1;
            return Ok(());
        }
        let memory = &mut self.memory;
        let aside = self.aside.get_or_insert_with(|| Aside::of_one(memory, world));
        aside.append(&mut self.spool, None, rows, row, world)
    }

    /// Ends the appending, and goes in front of the first row.
    pub(crate) fn finish<W: World>(&mut self, world: &W) -> Result<(), Stop> {
        if let Some(aside) = &mut self.aside {
            aside.finish(std::slice::from_mut(&mut self.spool), world)?;
        }
        self.rewind(world);
        Ok(())
    }

    /// Goes in front of the first row.
    pub(crate) fn rewind<W: World>(&mut self, world: &W) {
        self.at = 0;
        if let (Some(aside), Some(reader)) = (&mut self.aside, self.reader.take()) {
            aside.close_reader(reader, world);
        }
    }

    /// Goes to the next row. Returns false behind the last.
    pub(crate) fn advance<W: World>(&mut self, world: &W) -> Result<bool, Stop> {
        self.at += 1;
        if self.at <= self.in_memory {
            return Ok(true);
        }
        let Some(aside) = &mut self.aside else { return Ok(false) };
        if self.spool.rows() == 0 {
            return Ok(false);
        }
        self.in_batch += 1;
        let reader = match &mut self.reader {
            Some(reader) => reader,
            None => {
                self.batch.clear();
                self.reader.insert(aside.reader(&self.spool, world)?)
            }
        };
        if self.in_batch >= self.batch.rows.len() {
            aside.read(reader, &mut self.batch, BATCH_BYTES_MAX as u64, world)?;
            self.in_batch = 0;
        }
        Ok(!self.batch.rows.is_empty())
    }

    /// The current row, behind an `advance` that found one.
    pub(crate) fn row(&self) -> RowOf<'_> {
        let number = self.at - 1;
        if number < self.in_memory {
            let (chunk, place) = (number / BATCH_ROWS_MAX as u64, number % BATCH_ROWS_MAX as u64);
            return self.chunks[chunk as usize].row(place as usize);
        }
        self.batch.rows.row(self.in_batch)
    }

    /// The number of the current row, from 0.
    pub(crate) fn number(&self) -> u64 {
        self.at - 1
    }

    /// Takes all rows out, for others. The first chunk's memory, and the file, are kept.
    pub(crate) fn clear<W: World>(&mut self, world: &W) {
        self.rewind(world);
        self.chunks.truncate(1);
        self.chunks.iter_mut().for_each(Rows::clear);
        (self.used, self.full_bytes, self.in_memory) = (0, 0, 0);
        let spool = std::mem::take(&mut self.spool);
        if let Some(aside) = &mut self.aside {
            aside.discard(spool);
        }
    }

    /// Gives everything back.
    pub(crate) fn close<W: World>(&mut self, world: &W) {
        if let Some(mut aside) = self.aside.take() {
            self.temp_bytes += aside.temp_bytes();
            aside.close(world);
        }
        self.memory.close(world);
        let (temp_bytes, memory) = (self.temp_bytes, std::mem::take(&mut self.memory));
        *self = Store { temp_bytes, memory, ..Store::new(self.width) };
    }

    /// The most that it has taken.
    pub(crate) fn most(&self) -> WorkArea {
        let now = self.aside.as_ref().map_or(0, Aside::temp_bytes);
        let memory_bytes_max = self.memory.bytes_max();
        WorkArea { memory_bytes_max, temp_bytes: self.temp_bytes + now }
    }

    /// Whether a row may go into memory.
    fn has_memory<W: World>(&mut self, row: RowOf<'_>, world: &W) -> bool {
        let last = self.used.checked_sub(1).map(|last| &self.chunks[last]);
        let last = last.map_or(0, |last| last.bytes() + last.bytes_used()) as u64;
        let bytes = self.full_bytes + last + 2 * row_bytes(row) + FIRST_BYTES;
        self.memory.ask(bytes, world)
    }

    fn begin_chunk(&mut self) {
        if let Some(last) = self.used.checked_sub(1) {
            self.full_bytes += self.chunks[last].bytes() as u64;
        }
        if self.used == self.chunks.len() {
            self.chunks.push(Rows::new(self.width));
        }
        self.used += 1;
    }
}
