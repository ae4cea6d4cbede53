//! One working set: a slice of the frames with lists of its own, and the sessions that wait for a
//! frame of it.
//!
//! Callers: `victim`, `pin`, `writer`, `checkpoint`.

use latch::{Condition, Latch, LatchKind};
use os::Os;

use crate::set_state::SetState;

/// A working set.
pub(crate) struct WorkingSet {
    pub(crate) state: Latch<SetState>,
    /// Sessions wait here for a frame that could be given away.
    pub(crate) freed: Condition,
}

impl WorkingSet {
    /// A set without frames.
    pub(crate) fn new(os: &Os) -> WorkingSet {
        WorkingSet {
            state: Latch::new(os, LatchKind::WorkingSet, SetState::new()),
            freed: Condition::new(os),
        }
    }
}
