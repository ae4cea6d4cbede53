//! Rows in order, in the temporary file.
//!
//! Callers: `run_writer` makes it, `run_reader` reads it, `passes` chooses among them.

use crate::space::Extent;

/// Where a run is, and how much.
#[derive(Debug)]
pub(crate) struct Run {
    /// Which of all that the sort has made: its blocks say the same.
    pub(crate) number: u32,
    /// Its pieces, in the order of its rows.
    pub(crate) extents: Vec<Extent>,
    /// Blocks with rows; the last piece may have more, which are empty.
    pub(crate) blocks: u32,
    /// How many rows it has.
    pub(crate) rows: u64,
}

impl Run {
    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.extents.capacity() * size_of::<Extent>()) as u64
    }
}
