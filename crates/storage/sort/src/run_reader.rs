//! Reading a run, with reads of its next pieces in flight.
//!
//! Invariants
//!   * no byte of a block is used before it was checked to be this block of this run (ST4)
//!   * a run ends with its last row and not before: the number of rows that were written is read
//!
//! Callers: `passes`, `sorted`, `spool`.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use format::{SORT_BLOCK, SORT_PAYLOAD_BYTES, SortBlock};
use os::{Cost, IoBuf};
use stop::{RefusalKind, Stop};

use crate::merge::Source;
use crate::record::{self, BLOCK_KIB};
use crate::run::Run;
use crate::run_writer::RECORDS_AT;
use crate::temp_file::{PendingRead, TempFile};

/// The number of pieces of a run in hand or in flight, at most.
const PIECES_MAX: usize = 9;
/// The same for a run that isn't merged.
pub(crate) const SHARE_ALONE: usize = 2;

/// A run that is being read.
pub(crate) struct RunReader {
    run: Arc<Run>,
    /// How many pieces may be in hand or in flight.
    share: usize,
    /// The extent, and the piece in it, that is read next.
    next: (usize, u32),
    asked: VecDeque<PendingRead>,
    /// The piece in hand, and its number.
    piece: Option<(u32, IoBuf)>,
    /// The number of blocks that were begun.
    blocks: u32,
    /// The number of remaining rows, the current one included.
    rows: u64,
    /// The current row in the piece, and where the records of its block end.
    record: Range<usize>,
    end: usize,
    /// How often a row is compared in the merge, for the simulator.
    levels: u64,
}

impl RunReader {
    /// A reader of one of `among` runs that are merged, each with the same share of the pieces. It
    /// is at no row yet.
    pub(crate) fn new(run: Arc<Run>, among: usize, temp: &TempFile<'_>) -> RunReader {
        let share = (temp.state.plan.chunks() / among).min(PIECES_MAX);
        RunReader::with_share(run, share, record::levels(among))
    }

    /// A reader of a run that isn't merged, with one piece in hand and one on its way. It is at no
    /// row yet.
    pub(crate) fn alone(run: Arc<Run>) -> RunReader {
        RunReader::with_share(run, SHARE_ALONE, 0)
    }

    fn with_share(run: Arc<Run>, share: usize, levels: u64) -> RunReader {
        assert!(share >= 2, "one piece in hand, one on its way");
        RunReader {
            rows: run.rows,
            run,
            share,
            next: (0, 0),
            asked: VecDeque::with_capacity(share),
            piece: None,
            blocks: 0,
            record: 0..0,
            end: 0,
            levels,
        }
    }

    /// Begins reads of the next pieces, without waiting.
    pub(crate) fn ask(&mut self, temp: &mut TempFile<'_>) -> Result<(), Stop> {
        while self.asked.len() + usize::from(self.piece.is_some()) < self.share {
            let (extent, at) = self.next;
            let Some(found) = self.run.extents.get(extent) else { return Ok(()) };
            self.next = if at + 1 < found.count { (extent, at + 1) } else { (extent + 1, 0) };
            self.asked.push_back(temp.ask(found.first + at)?);
        }
        Ok(())
    }

    /// Goes to the first row.
    pub(crate) fn begin(&mut self, temp: &mut TempFile<'_>) -> Result<(), Stop> {
        if self.rows > 0 { self.find(temp) } else { Ok(()) }
    }

    /// Gives its pieces back before its last row, after the reads that are on their way. Their
    /// errors are ignored.
    pub(crate) fn close(&mut self, temp: &mut TempFile<'_>) {
        self.piece = None;
        self.rows = 0;
        while let Some(asked) = self.asked.pop_front() {
            let _ = temp.receive(asked);
        }
    }

    pub(crate) fn run(self) -> Arc<Run> {
        self.run
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        let asked = self.asked.capacity() * size_of::<PendingRead>();
        asked as u64 + self.run.memory_bytes()
    }

    /// Goes to the next record; there is one.
    #[inline]
    fn find(&mut self, temp: &mut TempFile<'_>) -> Result<(), Stop> {
        if self.record.end == self.end {
            self.next_block(temp)?;
        }
        let (number, buffer) = self.piece.as_ref().expect("there was a block");
        let Some(length) = record::whole(&buffer[self.record.end..self.end]) else {
            return Err(self.corrupt(temp, *number, "a record goes beyond its end"));
        };
        self.record = self.record.end..self.record.end + length;
        Ok(())
    }

    #[cold]
    fn next_block(&mut self, temp: &mut TempFile<'_>) -> Result<(), Stop> {
        let in_piece = self.blocks % temp.state.plan.piece_blocks();
        if in_piece == 0 {
            self.piece = None;
            self.ask(temp)?;
            let Some(asked) = self.asked.pop_front() else {
                return Err(self.corrupt(temp, 0, "there are fewer rows than were written"));
            };
            let number = asked.piece;
            self.piece = Some((number, temp.receive(asked)?));
        }
        let (number, buffer) = self.piece.as_ref().expect("just received, or still there");
        let address = temp.address(*number, in_piece);
        let start = in_piece as usize * SORT_BLOCK.bytes();
        let block = &buffer[start..][..SORT_BLOCK.bytes()];
        temp.session.charge(Cost::ChecksumKib, BLOCK_KIB);
        if let Err(fault) = format::check(block, address) {
            return Err(self.corrupt(temp, *number, &fault.to_string()));
        }
        let head = SortBlock::at(block, SortBlock::START);
        let used = head.used.get() as usize;
        let is_ours = head.sort.get() == temp.state.sort
            && head.run.get() == self.run.number
            && head.number.get() == self.blocks;
        if !is_ours || used > SORT_PAYLOAD_BYTES {
            return Err(self.corrupt(temp, *number, "it is another block, or an older one"));
        }
        self.blocks += 1;
        self.record = start + RECORDS_AT..start + RECORDS_AT;
        self.end = self.record.end + used;
        Ok(())
    }

    pub(crate) fn corrupt(&self, temp: &TempFile<'_>, piece: u32, fault: &str) -> Stop {
        let in_piece = self.blocks % temp.state.plan.piece_blocks();
        let address = temp.address(piece, in_piece);
        let message = format!(
            "cannot go on: what was read from a temporary file, at block {address} of run {}, \
             isn't what was written there: {fault}; look at the device, and begin the statement \
             again",
            self.run.number
        );
        Stop::refuse(RefusalKind::Corrupt, message)
    }
}

impl Source for RunReader {
    type From<'f> = TempFile<'f>;

    #[inline]
    fn record(&self) -> Option<&[u8]> {
        if self.rows == 0 {
            return None;
        }
        let (_, buffer) = self.piece.as_ref()?;
        Some(&buffer[self.record.clone()])
    }

    #[inline]
    fn advance(&mut self, temp: &mut TempFile<'_>) -> Result<(), Stop> {
        self.rows -= 1;
        record::charge(self.levels, temp.session);
        if self.rows > 0 {
            return self.find(temp);
        }
        // The other readers may have its share now. No read is in flight, because all were needed.
        self.piece = None;
        Ok(())
    }
}
