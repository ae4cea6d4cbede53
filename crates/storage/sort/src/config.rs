//! The configuration of a sort, and how it divides its memory.
//!
//! ```text
//!   sort area ┌───────┬─────────────┬───────┬───────┬── … ──┬───────┐
//!             │ first │ bookkeeping │ piece │ piece │       │ piece │   a piece is one I/O
//!             └───────┴─────────────┴───────┴───────┴── … ──┴───────┘
//!   while rows come:   chunks: all pieces but some for writes
//!   while runs merge:  two or more for each run, and the same for writes
//! ```
//!
//! Callers: `sorter`, `spool`, `temp_file`.

use std::path::PathBuf;

use format::{SORT_BLOCK, SORT_PAYLOAD_BYTES, SortRecord};
use ids::FileNo;
use os::FilesystemIo;
use stop::{RefusalKind, Stop};

use crate::Budget;

/// The smallest sort area.
pub const SORT_AREA_BYTES_MIN: u64 = 512 << 10;
/// The largest sort area.
pub const SORT_AREA_BYTES_MAX: u64 = 2 << 30;
/// Bytes of a key and its payload together, at most.
pub const RECORD_BYTES_MAX: usize = SORT_PAYLOAD_BYTES - SortRecord::BYTES;

/// Bytes of the chunk that rows go into first, so that a small sort is cheap.
pub(crate) const FIRST_CHUNK_BYTES: usize = 64 << 10;
/// Bytes of one I/O, unless the area is too small for that.
const PIECE_BYTES_MAX: usize = 1 << 20;
/// How many pieces a small area is divided into.
const PIECES_AIM: u64 = 64;
/// How many writes are in flight at once, at most.
const WRITES_MAX: usize = 8;
/// Bytes that are needed beside the pieces: once, for lists of runs and for requests; and for each
/// piece.
const BOOKKEEPING_BYTES: u64 = 64 << 10;
const BOOKKEEPING_PIECE_BYTES: u64 = 512;

/// The configuration of a sort.
#[derive(Clone, Debug)]
pub struct SortConfig {
    /// The directory of the temporary file, if one is needed.
    pub directory: PathBuf,
    /// Bytes of the sort area (`sort_area_size`).
    pub area_bytes: u64,
    /// How files are read and written. Write-through doesn't matter, because no byte of a sort has
    /// to be durable.
    pub filesystem_io: FilesystemIo,
    /// The number under which waits and blocks name the temporary file.
    pub file: FileNo,
    /// The budget that is asked for the sort area (ST14); none: the area is had unasked.
    pub budget: Option<Budget>,
}

/// The division of the memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Bytes of a piece, which is a number of whole blocks.
    pub(crate) piece_bytes: usize,
    /// How many pieces there are.
    pub(crate) pieces: usize,
    /// How many of the pieces are for writing.
    pub(crate) writing: usize,
}

impl Plan {
    pub(crate) fn new(config: &SortConfig) -> Result<Plan, Stop> {
        let area = config.area_bytes;
        if !(SORT_AREA_BYTES_MIN..=SORT_AREA_BYTES_MAX).contains(&area) {
            let message = format!(
                "cannot sort with sort_area_size at {area}: it is {SORT_AREA_BYTES_MIN} to \
                 {SORT_AREA_BYTES_MAX} bytes"
            );
            return Err(Stop::refuse(RefusalKind::Invalid, message));
        }
        Ok(Plan::of_area(area))
    }

    /// The division of an area of this size, which is within the limits.
    pub(crate) fn of_area(area: u64) -> Plan {
        let block = SORT_BLOCK.bytes();
        let aim = usize::try_from(area / PIECES_AIM).expect("the largest area is in range");
        let piece_bytes = (aim / block * block).clamp(block, PIECE_BYTES_MAX);
        let beside = FIRST_CHUNK_BYTES as u64 + BOOKKEEPING_BYTES;
        let pieces = (area - beside) / (piece_bytes as u64 + BOOKKEEPING_PIECE_BYTES);
        let pieces = usize::try_from(pieces).expect("fewer than bytes");
        Plan { piece_bytes, pieces, writing: (pieces / 8).clamp(2, WRITES_MAX) }
    }

    /// The division of the memory of spools: a piece in hand for each that is written, and
    /// `reading` pieces for all that are read. Pieces are as large as the memory allows.
    pub(crate) fn of_spools(written: usize, reading: usize, bytes: u64) -> Plan {
        let block = SORT_BLOCK.bytes();
        let writing = (written / 2).clamp(2, WRITES_MAX);
        let pieces = written + reading + writing;
        let aim = usize::try_from(bytes).unwrap_or(usize::MAX) / pieces;
        Plan { piece_bytes: (aim / block * block).clamp(block, PIECE_BYTES_MAX), pieces, writing }
    }

    /// Bytes of all pieces.
    pub(crate) fn bytes(&self) -> u64 {
        (self.piece_bytes * self.pieces) as u64
    }

    /// The number of chunks beside the first one.
    pub(crate) fn chunks(&self) -> usize {
        self.pieces - self.writing
    }

    /// The number of runs that are merged at once: each has a piece in hand and one in flight.
    pub(crate) fn fan_in(&self) -> usize {
        self.chunks() / 2
    }

    pub(crate) fn piece_blocks(&self) -> u32 {
        (self.piece_bytes / SORT_BLOCK.bytes()) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With an area of any size at least two runs are merged at once, a chunk holds the longest
    /// row, and no more memory is planned than there is.
    #[test]
    fn every_size_of_the_area_is_enough() {
        let sizes = (0..=4_096).map(|step| {
            let span = SORT_AREA_BYTES_MAX - SORT_AREA_BYTES_MIN;
            SORT_AREA_BYTES_MIN + span / 4_096 * step
        });
        for area_bytes in sizes.chain([SORT_AREA_BYTES_MIN + 1, 1 << 20, 64 << 20]) {
            let config = SortConfig {
                directory: PathBuf::new(),
                area_bytes,
                filesystem_io: FilesystemIo::SetAll,
                file: FileNo::new(1),
                budget: None,
            };
            let plan = Plan::new(&config).expect("in range");
            assert!(plan.fan_in() >= 2 && plan.writing >= 2, "{area_bytes}: {plan:?}");
            assert!(plan.piece_bytes.is_multiple_of(SORT_BLOCK.bytes()));
            let pieces = (plan.piece_bytes * plan.pieces) as u64;
            assert!(pieces + FIRST_CHUNK_BYTES as u64 + BOOKKEEPING_BYTES <= area_bytes);
        }
    }

    /// Spools have a piece for each that is written, two for each that is read, and those on their
    /// way; with more memory the pieces are longer, and with little they are a block.
    #[test]
    fn spools_have_their_pieces_whatever_the_memory() {
        for bytes in [0, 64 << 10, 1 << 20, 64 << 20, u64::MAX] {
            for written in [1, 4, 32] {
                let plan = Plan::of_spools(written, 4, bytes);
                assert!(plan.pieces == written + 4 + plan.writing && plan.writing >= 2);
                assert!(plan.piece_bytes.is_multiple_of(SORT_BLOCK.bytes()));
                let is_least = plan.piece_bytes == SORT_BLOCK.bytes();
                assert!(is_least || plan.bytes() <= bytes, "{bytes}: {plan:?}");
            }
        }
    }
}
