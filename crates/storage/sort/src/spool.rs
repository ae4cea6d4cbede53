//! Spools: rows in the order in which they were appended, in a temporary file.
//!
//! ```text
//!   append ──▶ spool 1 │ block │ block │ …  ─┐
//!   append ──▶ spool 2 │ block │ …          ─┼─ pieces of one file, whose memory they share
//!   append ──▶ spool 3 │ block │ block │ …  ─┘
//!                         │
//!   next ◀── a reader: from the first row to the last, as often as one likes
//! ```
//!
//! A spool is a run of sort blocks whose rows have no key. A row that is longer than a block is
//! several records: in place of the key stands whether the row goes on in the next one.
//!
//! Invariants
//!   * a spool is written, then finished, then read by any number of readers, then discarded
//!   * no more spools are written at once, and no more read, than the file has pieces for (ST16)
//!   * the file is made when the first row is appended (ST8)
//!
//! Callers: hash joins, aggregates and kept rows of SQL.

use std::fmt;
use std::sync::Arc;

use os::{Disk, IoPool, Session};
use stop::{Halt, RefusalKind, Stop};

use crate::config::{Plan, RECORD_BYTES_MAX, SortConfig};
use crate::merge::Source;
use crate::record;
use crate::run::Run;
use crate::run_reader::{RunReader, SHARE_ALONE};
use crate::run_writer::RunWriter;
use crate::temp_file::{TempFile, TempState};

/// In place of the key: the row ends with this record, or goes on.
const ENDS: [u8; 1] = [0];
const GOES_ON: [u8; 1] = [1];

/// The bytes of a row in one record.
const PART_BYTES_MAX: usize = RECORD_BYTES_MAX - ENDS.len();

/// How many spools are written and read at once, and the memory for that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpoolShape {
    /// How many spools have rows appended at once, at most.
    pub written: usize,
    /// How many readers there are at once, at most.
    pub readers: usize,
    /// The memory that there is for their pieces. They take [`SpoolShape::bytes`].
    pub wanted_bytes: u64,
}

impl SpoolShape {
    /// The bytes that spools of this shape take: what is wanted, or less, or their minimum.
    pub fn bytes(&self) -> u64 {
        self.plan().bytes()
    }

    fn plan(&self) -> Plan {
        assert!(self.written > 0, "a file of spools is written to");
        Plan::of_spools(self.written, self.readers * SHARE_ALONE, self.wanted_bytes)
    }
}

/// A temporary file with spools. It lives between calls.
pub struct SpoolFile {
    disk: Disk,
    config: SortConfig,
    halt: Halt,
    plan: Plan,
    /// From the first row on.
    temp: Option<Box<TempState>>,
    failed: Option<Stop>,
}

impl SpoolFile {
    /// A file without spools. Nothing is made on disk yet, and no memory is taken. The caller has
    /// asked a budget for [`SpoolShape::bytes`].
    pub fn new(disk: &Disk, config: &SortConfig, halt: &Halt, shape: SpoolShape) -> SpoolFile {
        SpoolFile {
            disk: disk.clone(),
            config: config.clone(),
            halt: halt.clone(),
            plan: shape.plan(),
            temp: None,
            failed: None,
        }
    }

    /// Bytes of memory that the file has.
    pub fn memory_bytes(&self) -> u64 {
        self.temp.as_ref().map_or(0, |temp| self.plan.bytes() + temp.memory_bytes())
    }

    /// Bytes that were written to it.
    pub fn temp_bytes(&self) -> u64 {
        self.temp.as_ref().map_or(0, |temp| temp.written_bytes)
    }

    /// Waits for the I/O in flight and gives the space back. Its spools can't be read any more.
    pub fn close(&mut self, session: &Session) {
        if let Some(mut temp) = self.temp.take() {
            temp.close(session);
        }
        let message = "a temporary file was used after it was closed";
        self.failed.get_or_insert_with(|| Stop::refuse(RefusalKind::WrongState, message));
    }

    /// The file in the hands of a session; it is made if there is none yet.
    fn open<'a>(&'a mut self, session: &'a Session) -> Result<TempFile<'a>, Stop> {
        if let Some(stop) = &self.failed {
            return Err(stop.clone());
        }
        if self.temp.is_none() {
            let (plan, halt) = (self.plan, &self.halt);
            let pool = IoPool::new(plan.pieces as u32, plan.piece_bytes)?;
            let temp = TempState::create(&self.disk, &self.config, plan, pool, halt, session)?;
            self.temp = Some(Box::new(temp));
        }
        let state = self.temp.as_mut().expect("it was just made, or was there");
        Ok(state.with(session))
    }

    /// Does something with the file. After a failure nothing can be done with it any more, and it
    /// is given back (ST6).
    fn with<T>(
        &mut self,
        session: &Session,
        work: impl FnOnce(&mut TempFile<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let done = self.open(session).and_then(|mut temp| work(&mut temp));
        if let Err(stop) = &done
            && self.failed.is_none()
        {
            self.failed = Some(stop.clone());
            self.close(session);
        }
        done
    }
}

impl fmt::Debug for SpoolFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpoolFile({} bytes)", self.temp_bytes())
    }
}

/// Rows in the order in which they were appended. Every call takes the file that it lies in.
#[derive(Default)]
pub struct Spool {
    /// While rows come.
    writer: Option<RunWriter>,
    /// Once it is finished, if it has rows.
    run: Option<Arc<Run>>,
    rows: u64,
    bytes: u64,
}

impl Spool {
    /// A spool without rows.
    pub fn new() -> Spool {
        Spool::default()
    }

    /// How many rows it has.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The bytes of its rows.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends a row, of any length. May wait for the disk, so the caller holds no latch.
    #[inline]
    pub fn append(
        &mut self,
        row: &[u8],
        file: &mut SpoolFile,
        session: &Session,
    ) -> Result<(), Stop> {
        assert!(self.run.is_none(), "a spool that is finished takes no more rows");
        let writer = &mut self.writer;
        file.with(session, |temp| {
            let writer = writer.get_or_insert_with(|| RunWriter::new(temp));
            let mut rest = row;
            while rest.len() > PART_BYTES_MAX {
                let (part, left) = rest.split_at(PART_BYTES_MAX);
                writer.put(&GOES_ON, part, temp)?;
                rest = left;
            }
            writer.put(&ENDS, rest, temp)
        })?;
        self.rows += 1;
        self.bytes += row.len() as u64;
        Ok(())
    }

    /// Ends the appending: its memory is free for other spools.
    pub fn finish(&mut self, file: &mut SpoolFile, session: &Session) -> Result<(), Stop> {
        if let Some(writer) = self.writer.take() {
            self.run = Some(Arc::new(file.with(session, |temp| writer.finish(temp))?));
        }
        Ok(())
    }

    /// A reader of all rows. The spool is finished.
    pub fn reader(&self, file: &mut SpoolFile, session: &Session) -> Result<SpoolReader, Stop> {
        assert!(self.writer.is_none(), "a spool is read once it is finished");
        let Some(run) = &self.run else { return Ok(SpoolReader::default()) };
        let mut reader = RunReader::alone(Arc::clone(run));
        file.with(session, |temp| {
            temp.await_writes(0)?;
            reader.ask(temp)?;
            reader.begin(temp)
        })?;
        Ok(SpoolReader { reader: Some(reader), is_had: false, row: Vec::new() })
    }

    /// Gives the spool's space back to its file, for other spools. No reader of it is in use.
    pub fn discard(self, file: &mut SpoolFile) {
        if let (Some(run), Some(temp)) = (&self.run, &mut file.temp) {
            assert_eq!(Arc::strong_count(run), 1, "no reader reads what is discarded (ST5)");
            temp.space.give_back(&run.extents);
        }
    }
}

impl fmt::Debug for Spool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spool({} rows, {} bytes)", self.rows, self.bytes)
    }
}

/// A reader of a spool, from its first row to its last. One that isn't read to its end is closed.
#[derive(Default)]
pub struct SpoolReader {
    /// None: there are no rows.
    reader: Option<RunReader>,
    /// Whether the caller has had the reader's current row.
    is_had: bool,
    /// A row of several records.
    row: Vec<u8>,
}

impl SpoolReader {
    /// The next row; none after the last. Its bytes stay until the next call.
    pub fn next<'r>(
        &'r mut self,
        file: &mut SpoolFile,
        session: &Session,
    ) -> Result<Option<&'r [u8]>, Stop> {
        let Some(reader) = &mut self.reader else { return Ok(None) };
        if std::mem::replace(&mut self.is_had, false) {
            file.with(session, |temp| reader.advance(temp))?;
        }
        let is_whole = reader.record().map(|record| record::split(record).0 == ENDS);
        self.is_had = is_whole.is_some();
        match is_whole {
            None => Ok(None),
            Some(true) => Ok(reader.record().map(|record| record::split(record).1)),
            Some(false) => {
                let row = &mut self.row;
                file.with(session, |temp| join(reader, row, temp))?;
                Ok(Some(&self.row))
            }
        }
    }

    /// Ends the reading before the last row: its memory is free for other readers.
    pub fn close(&mut self, file: &mut SpoolFile, session: &Session) {
        if let (Some(mut reader), Some(temp)) = (self.reader.take(), &mut file.temp) {
            reader.close(&mut temp.with(session));
        }
    }
}

impl fmt::Debug for SpoolReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SpoolReader")
    }
}

/// Puts a row of several records together. The reader is at its first record, and then at its last.
fn join(reader: &mut RunReader, row: &mut Vec<u8>, temp: &mut TempFile<'_>) -> Result<(), Stop> {
    row.clear();
    loop {
        let Some((mark, part)) = reader.record().map(record::split) else {
            return Err(reader.corrupt(temp, 0, "a row has no end"));
        };
        row.extend_from_slice(part);
        if mark == ENDS {
            return Ok(());
        }
        reader.advance(temp)?;
    }
}
