//! The address of a row.
//!
//! Callers: `rows`, `btree`, and users that keep a row's address.

use std::fmt;

use ids::Dba;

/// Where a row lies. A row keeps its address as long as it lives (AC6).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RowAddress {
    /// The row's block.
    pub block: Dba,
    /// The row's slot in the block.
    pub slot: u16,
}

impl fmt::Display for RowAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.block, self.slot)
    }
}
