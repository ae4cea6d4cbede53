//! What views show of an instance, without waiting beyond a latch (IN51).
//!
//! The parameters in `alter` are under an enqueue, which a session may hold for as long as a change
//! takes; here is a copy for readers.
//!
//! Callers: views; `alter` and `scheduling`, which renew the copy.

use std::sync::Arc;

use os::Session;
use waits::Nanos;

use crate::{Instance, Parameters, UndoInterval};

/// The work that a recovery would have if the instance stopped now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecoveryAhead {
    /// The redo blocks between the checkpoint in the control file and the end, counted as if each
    /// log were full to its end.
    pub redo_blocks: u64,
    /// The dirty blocks of the cache.
    pub dirty_blocks: u64,
    /// The blocks of the largest log.
    pub log_blocks: u32,
    /// How long it would take, at the pace at which this instance has read and written.
    pub estimate: Nanos,
}

impl Instance {
    /// The parameters that the instance runs with. Unlike [`Instance::parameters`] it waits for no
    /// session that is changing one, and shows what was before.
    pub fn parameters_shown(&self, session: &Session) -> Arc<Parameters> {
        Arc::clone(&self.shown.shared(session))
    }

    pub(crate) fn show(&self, parameters: &Parameters, session: &Session) {
        *self.shown.exclusive(session) = Arc::new(parameters.clone());
    }

    /// The work that a recovery would have if the instance stopped now.
    pub fn recovery_ahead(&self, session: &Session) -> RecoveryAhead {
        self.checkpointer.ahead(session)
    }

    /// What became of undo, in intervals of ten minutes, the one under way first.
    pub fn undo_intervals(&self, session: &Session) -> Vec<UndoInterval> {
        self.cleaners.undo_history.all(session)
    }

    /// When the instance was opened: microseconds since 1970-01-01 00:00 UTC.
    pub fn opened_us(&self) -> u64 {
        self.opened_us
    }
}
