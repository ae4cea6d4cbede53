//! Runs: rows in order, in the temporary file.
//!
//! Callers: `run_writer` makes a run, `run_reader` reads it, `passes` chooses among runs.

use crate::space::Extent;

/// A run: where it is, and how long.
#[derive(Debug)]
pub(crate) struct Run {
    /// The run's number in the sort, which its blocks have too.
    pub(crate) number: u32,
    /// The run's pieces, in the order of its rows.
    pub(crate) extents: Vec<Extent>,
    /// The number of blocks with rows. The last piece may have more blocks, which are empty.
    pub(crate) blocks: u32,
    /// The number of rows.
    pub(crate) rows: u64,
}

impl Run {
    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.extents.capacity() * size_of::<Extent>()) as u64
    }
}
