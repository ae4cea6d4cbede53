//! One working set: a slice of the frames with lists of its own, and the sessions that wait for a
//! frame of it.
//!
//! Callers: `victim`, `pin`, `writer`, `checkpoint`.

use latch::{Condition, Latch, LatchKind, Shared32};
use os::Os;

use crate::set_state::SetState;

/// A working set.
pub(crate) struct WorkingSet {
    pub(crate) state: Latch<SetState>,
    /// Sessions wait here for a frame that could be given away.
    pub(crate) freed: Condition,
    /// How many of them can be helped only by a pin that goes: the writer has nothing to write for
    /// them. Raised before the last look at the pins, so that either the one who waits sees that a
    /// pin is gone, or the one who lets it go sees that somebody waits.
    pub(crate) unpin_wanted: Shared32,
}

impl WorkingSet {
    /// A set without frames.
    pub(crate) fn new(os: &Os) -> WorkingSet {
        WorkingSet {
            state: Latch::new(os, LatchKind::WorkingSet, SetState::new()),
            freed: Condition::new(os),
            unpin_wanted: Shared32::new(0),
        }
    }
}
