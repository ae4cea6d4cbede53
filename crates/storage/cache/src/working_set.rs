//! A working set: a share of the frames, with lists of its own, and the sessions that wait for a
//! frame of it.
//!
//! Callers: `victim`, `pin`, `writer`, `checkpoint`.

use std::sync::Arc;

use latch::{Condition, Latch, LatchKind};
use os::Os;

use crate::frame::Frame;
use crate::set_state::SetState;

/// A working set.
pub(crate) struct WorkingSet {
    pub(crate) state: Latch<SetState>,
    /// Sessions wait here for a victim.
    pub(crate) freed: Condition,
}

impl WorkingSet {
    /// The set of this number, without frames yet. `frames` are all frames of the cache.
    pub(crate) fn new(os: &Os, number: u32, frames: &Arc<[Frame]>) -> WorkingSet {
        let frames = Arc::clone(frames);
        let look = move |state: &SetState| state.assert_consistent(number, &frames);
        WorkingSet {
            state: Latch::new(os, LatchKind::WorkingSet, SetState::new()).checked(os, look),
            freed: Condition::new(os),
        }
    }
}
