//! Where rows are.
//!
//! Callers: `rows`, `btree`, and whoever keeps a row's address.

use std::fmt;

use ids::Dba;

/// Where a row lies. It never moves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RowAddress {
    /// Its block.
    pub block: Dba,
    /// Its slot in the block.
    pub slot: u16,
}

impl fmt::Display for RowAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.block, self.slot)
    }
}
