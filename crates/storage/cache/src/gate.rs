//! What the cache needs of the redo, so that it needn't know it (rule J3).
//!
//! Invariants
//!   * every change of a block has an SCN of its own, in the order of the redo, and the block's
//!     header holds the newest; so "redo is durable past the block's changes" is a question of one
//!     SCN
//!
//! Callers: `pin` (position), `checkpoint` (position), `batch` (make_durable). The instance plugs
//! the redo in.

use ids::{Rba, Scn};
use os::Session;
use stop::Stop;

/// The redo as the cache sees it.
pub trait RedoGate: Send + Sync {
    /// A redo address that isn't above that of any record appended after this call. It never goes
    /// back. Called with a working set's latch held: it takes no latch of that rank or below, and
    /// doesn't wait for I/O.
    fn position(&self, session: &Session) -> Rba;

    /// Returns when the redo of every change up to this SCN is durable; until then no block with
    /// such a change may be written (CB9). Called with no latch held.
    fn make_durable(&self, through: Scn, session: &Session) -> Result<(), Stop>;

    /// Whether the redo of every change up to this SCN is durable already. Doesn't wait.
    fn is_durable(&self, through: Scn, session: &Session) -> bool;
}
