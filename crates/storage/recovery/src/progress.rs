//! How far recovery has come.
//!
//! Callers: `recover` reports it; the binary prints it.

use std::fmt;

use waits::Nanos;

/// How much of the redo was applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Bytes of redo records that were applied.
    pub applied: u64,
    /// Bytes of all redo records; `None` as long as the end of the redo isn't known.
    pub of: Option<u64>,
    /// The time since recovery began to apply changes.
    pub elapsed: Nanos,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Progress { applied, of, elapsed } = *self;
        let mb = applied as f64 / 1e6;
        let rate = mb / elapsed.as_secs_f64().max(1e-9);
        write!(f, "recovery: {mb:.0} ")?;
        if let Some(of) = of {
            write!(f, "of {:.0} ", of as f64 / 1e6)?;
        }
        write!(f, "MB of redo applied, {rate:.0} MB/s")
    }
}
