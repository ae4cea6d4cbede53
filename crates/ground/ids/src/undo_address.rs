//! The undo address: which record of which undo block.
//!
//! Invariants
//!   * an address names a place, not a record: blocks of undo are used again, so who follows an
//!     address asks the record whose it is
//!
//! Sources: Oracle's UBA, `dba.seq.record` of block dumps.

use std::fmt;

use crate::Dba;

/// A record of undo.
///
/// Units and ranges: see the fields. Source: where the record was pushed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UndoAddress {
    /// The undo block.
    pub block: Dba,
    /// Which of the block's records, from 0.
    pub record: u16,
}

impl fmt::Display for UndoAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.block, self.record)
    }
}
