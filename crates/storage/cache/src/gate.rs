//! The gate: what the cache needs of the redo, which it doesn't know (rule J3).
//!
//! Invariants
//!   * every change of a block has an SCN of its own, in the order of the redo, and the block's
//!     header holds the newest; so one SCN tells whether the redo of all changes of a block, or of
//!     a batch, is durable
//!
//! Callers: `pin`, `checkpoint` and `object_checkpoint` (position), `pipeline` (make_durable).
//! `instance` and `recovery` implement it.

use ids::{Rba, Scn};
use os::Session;
use stop::Stop;

/// The redo as the cache sees it.
pub trait RedoGate: Send + Sync {
    /// A redo address that isn't above the address of any record appended after this call. It never
    /// goes back. The caller may hold a working set's latch: this takes no latch of that rank or
    /// below, and doesn't wait for I/O.
    fn position(&self, session: &Session) -> Rba;

    /// Returns when the redo of every change up to this SCN is durable. Before that no block with
    /// such a change may be written (CB9). The caller holds no latch.
    fn make_durable(&self, through: Scn, session: &Session) -> Result<(), Stop>;

    /// Whether the redo of every change up to this SCN is durable already. Doesn't wait.
    fn is_durable(&self, through: Scn, session: &Session) -> bool;
}
