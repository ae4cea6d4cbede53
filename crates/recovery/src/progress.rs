//! How far recovery has come, for who waits for it.
//!
//! Callers: `recover` tells; the binary prints.

use std::fmt;

use waits::Nanos;

/// How much of the redo was applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Bytes of redo records that were applied.
    pub applied: u64,
    /// Bytes of all that are to be.
    pub of: u64,
    /// Since when changes are applied.
    pub elapsed: Nanos,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Progress { applied, of, elapsed } = *self;
        let (mb, mb_of) = (applied as f64 / 1e6, of as f64 / 1e6);
        let rate = mb / elapsed.as_secs_f64().max(1e-9);
        write!(f, "recovery: {mb:.0} of {mb_of:.0} MB of redo applied, {rate:.0} MB/s")
    }
}
