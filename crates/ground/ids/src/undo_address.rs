//! The undo address: which record of which undo block.
//!
//! Invariants
//!   * an address names a position, not a record: undo blocks are reused, so a reader that follows
//!     an address checks which transaction wrote the record
//!
//! Sources: Oracle's UBA, `dba.seq.record` of block dumps.

use std::fmt;

use crate::Dba;

/// The address of an undo record.
///
/// Units and ranges: see the fields. Source: where the record was written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UndoAddress {
    /// The undo block.
    pub block: Dba,
    /// The index of the record in its block, from 0.
    pub record: u16,
}

impl fmt::Display for UndoAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.block, self.record)
    }
}
