//! Rows that are kept until they are read: of queries that are computed once, of RETURNING, of rows
//! that a statement locks, of virtual tables.
//!
//! ```text
//!   append ─▶ chunk │ chunk │ …  in memory, as far as the budget has some │ the rest: a spool
//!   reader ─▶ from the first row on; readers go at their own paces
//! ```
//!
//! Invariants
//!   * rows come in the order in which they were appended
//!   * memory is asked of the budget before it is used; once it was
//!     refused, rows go through a temporary file
//!   * rows are appended, then finished, then read
//!   * a reader of rows that were taken out meanwhile has nothing of the file of those behind them
//!
//! Callers: `shared`, `virtual_rows`, `cursor`, `change`.

use expression::Rows;
use rowsource::{BATCH_BYTES_MAX, BATCH_ROWS_MAX, Spill};
use sort::{Grant, Spool, SpoolFile, SpoolReader, SpoolShape};
use stop::{RefusalKind, Stop};

use super::host::Host;

/// What is asked for at a time, so that not every batch asks the budget.
const STEP_BYTES: u64 = 64 << 10;

/// Rows that are kept.
#[derive(Default)]
pub(crate) struct KeptRows {
    width: usize,
    readers: usize,
    /// The rows in memory; each has 1,024 of them at most.
    chunks: Vec<Rows>,
    /// The bytes of all chunks but the last.
    full_bytes: u64,
    grant: Option<Grant>,
    /// The rows behind those in memory.
    aside: Option<Aside>,
    count: u64,
    /// How often all rows were taken out.
    times_cleared: u64,
}

/// Rows in a temporary file.
struct Aside {
    file: SpoolFile,
    spool: Spool,
    record: Vec<u8>,
}

/// A place among kept rows.
#[derive(Default)]
pub(crate) struct KeptReader {
    chunk: usize,
    row: usize,
    /// Reads the file that there was when the rows had been taken out this often.
    spool: Option<SpoolReader>,
    times_cleared: u64,
    is_over: bool,
}

impl KeptRows {
    /// No rows yet, of `width` columns, for this many readers at the same time.
    pub(crate) fn new(width: usize, readers: usize) -> KeptRows {
        KeptRows { width, readers: readers.max(1), ..KeptRows::default() }
    }

    /// The number of columns.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> u64 {
        self.count
    }

    /// Appends all rows of a batch.
    pub(crate) fn append(&mut self, batch: &Rows, host: &Host<'_>) -> Result<(), Stop> {
        (0..batch.len()).try_for_each(|row| self.append_row(batch, row, host))
    }

    /// Appends one row of a batch.
    pub(crate) fn append_row(
        &mut self,
        batch: &Rows,
        row: usize,
        host: &Host<'_>,
    ) -> Result<(), Stop> {
        self.count += 1;
        if self.aside.is_none() {
            if self.has_memory(host) {
                self.chunk_with_room().push_row(&batch.row(row));
                return Ok(());
            }
            self.aside = Some(self.new_aside(host));
        }
        let aside = self.aside.as_mut().expect("it was just made, or was there");
        let Aside { file, spool, record } = aside;
        record.clear();
        batch.write_row(row, record);
        spool.append(record, file, host.session)
    }

    /// Whether there is memory for another row. A chunk grows to twice its bytes at once.
    fn has_memory(&mut self, host: &Host<'_>) -> bool {
        let last = self.chunks.last().map_or(0, Rows::bytes) as u64;
        let needed = self.full_bytes + 2 * last + STEP_BYTES / 4;
        let grant = self.grant.get_or_insert_with(|| host.budget.grant());
        needed <= grant.bytes() || needed <= grant.grow_to(needed + STEP_BYTES, host.session)
    }

    fn chunk_with_room(&mut self) -> &mut Rows {
        let is_full =
            |last: &Rows| last.len() == BATCH_ROWS_MAX || last.bytes_used() >= BATCH_BYTES_MAX;
        if self.chunks.last().is_none_or(is_full) {
            self.full_bytes += self.chunks.last().map_or(0, Rows::bytes) as u64;
            self.chunks.push(Rows::new(self.width));
        }
        self.chunks.last_mut().expect("it was just made, or has room")
    }

    fn new_aside(&mut self, host: &Host<'_>) -> Aside {
        let shape = SpoolShape { written: 1, readers: self.readers, wanted_bytes: STEP_BYTES };
        let grant = self.grant.get_or_insert_with(|| host.budget.grant());
        grant.need(grant.bytes() + shape.bytes(), host.session);
        let Spill { disk, config, halt } = host.spill();
        let file = SpoolFile::new(disk, config, halt, shape);
        Aside { file, spool: Spool::new(), record: Vec::new() }
    }

    /// Ends the appending.
    pub(crate) fn finish(&mut self, host: &Host<'_>) -> Result<(), Stop> {
        match &mut self.aside {
            Some(Aside { file, spool, .. }) => spool.finish(file, host.session),
            None => Ok(()),
        }
    }

    /// Appends the next rows to `into`, which ends with this many rows at most. Returns false if
    /// none come after these.
    pub(crate) fn read(
        &mut self,
        reader: &mut KeptReader,
        most: usize,
        into: &mut Rows,
        host: &Host<'_>,
    ) -> Result<bool, Stop> {
        while into.len() < most && into.bytes_used() < BATCH_BYTES_MAX {
            if let Some(chunk) = self.chunks.get(reader.chunk) {
                match reader.row < chunk.len() {
                    true => {
                        into.push_row(&chunk.row(reader.row));
                        reader.row += 1;
                    }
                    false => (reader.chunk, reader.row) = (reader.chunk + 1, 0),
                }
            } else if !self.read_aside(reader, into, host)? {
                reader.is_over = true;
                return Ok(false);
            }
        }
        Ok(!reader.is_over)
    }

    /// Appends the next row of the file. Returns false if there is none.
    fn read_aside(
        &mut self,
        reader: &mut KeptReader,
        into: &mut Rows,
        host: &Host<'_>,
    ) -> Result<bool, Stop> {
        let Some(Aside { file, spool, .. }) = &mut self.aside else { return Ok(false) };
        if reader.is_over {
            return Ok(false);
        }
        let of_spool = match &mut reader.spool {
            Some(of_spool) => of_spool,
            None => {
                reader.times_cleared = self.times_cleared;
                reader.spool.insert(spool.reader(file, host.session)?)
            }
        };
        match of_spool.next(file, host.session)? {
            Some(row) => into.read_row(row).map(|()| true).map_err(|_| damaged()),
            None => Ok(false),
        }
    }

    /// Ends a reading: the memory of its reader is free for others. What was on its way from a file
    /// that was given back has ended with that.
    pub(crate) fn close_reader(&mut self, reader: &mut KeptReader, host: &Host<'_>) {
        if let (Some(aside), Some(mut of_spool)) = (&mut self.aside, reader.spool.take())
            && reader.times_cleared == self.times_cleared
        {
            of_spool.close(&mut aside.file, host.session);
        }
        *reader = KeptReader { is_over: true, ..KeptReader::default() };
    }

    /// Takes all rows out, and gives memory and file back. Readers begin anew.
    pub(crate) fn clear(&mut self, host: &Host<'_>) {
        if let Some(mut aside) = self.aside.take() {
            aside.file.close(host.session);
        }
        if let Some(grant) = self.grant.take() {
            grant.close(host.session);
        }
        let times_cleared = self.times_cleared + 1;
        *self = KeptRows { times_cleared, ..KeptRows::new(self.width, self.readers) };
    }
}

/// What was read is checked block by block, so this is a mistake in the program.
#[cold]
fn damaged() -> Stop {
    let message = "cannot go on: a row that was kept can't be read; run the statement again";
    Stop::refuse(RefusalKind::Corrupt, message)
}
