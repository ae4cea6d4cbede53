//! Batches of redo on their way from who reads them to who applies them.
//!
//! ```text
//!   read, bring the blocks ──▶ │ ready │ ready │ ──▶ apply
//!           ▲                                          │
//!           └──────────────── spare ◀──────────────────┘
//! ```
//!
//! Invariants
//!   * who reads is at most so many batches ahead; so the blocks that were brought and not used yet
//!     are bounded (RC6)
//!   * after the end, or an error, nothing comes any more
//!
//! Callers: `ahead` puts, `roll` takes.

use std::collections::VecDeque;

use ids::Dba;
use latch::{Condition, Latch, LatchKind};
use os::{Os, Session};
use redo::Records;
use stop::{Halt, Stop};
use waits::{Nanos, WaitEvent};

/// So many batches are ready at most.
const READY_MAX: usize = 2;
/// A sleeper looks up so often: at the halt.
const LOOK_UP: Nanos = Nanos::from_millis(200);

/// Records, and blocks that they name.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) records: Records,
    /// Each of them once.
    pub(crate) blocks: Vec<Dba>,
}

pub(crate) struct BatchQueue {
    state: Latch<State>,
    changed: Condition,
    halt: Halt,
}

#[derive(Default)]
struct State {
    ready: VecDeque<Batch>,
    spare: Vec<Batch>,
    /// How reading ended.
    ended: Option<Result<(), Stop>>,
    /// Nobody takes any more.
    closed: bool,
}

impl BatchQueue {
    pub(crate) fn new(os: &Os, halt: &Halt) -> BatchQueue {
        BatchQueue {
            state: Latch::new(os, LatchKind::Innermost, State::default()),
            changed: Condition::new(os),
            halt: halt.clone(),
        }
    }

    /// An empty batch.
    pub(crate) fn spare(&self, session: &Session) -> Batch {
        let mut batch = self.state.exclusive(session).spare.pop().unwrap_or_default();
        batch.records.clear();
        batch.blocks.clear();
        batch
    }

    /// One more batch, when there is room for it. False if nobody takes any more.
    pub(crate) fn put(&self, batch: Batch, session: &Session) -> bool {
        let waiting = session.waiting(WaitEvent::RdbmsIpcMessage);
        let mut state = self.state.exclusive(session);
        while state.ready.len() >= READY_MAX && !state.closed && !self.halt.is_raised(session) {
            state = self.changed.wait(state, waiting, Some(LOOK_UP)).0;
        }
        let goes_on = !state.closed && !self.halt.is_raised(session);
        if goes_on {
            state.ready.push_back(batch);
            self.changed.notify_all(session);
        }
        goes_on
    }

    /// Nothing comes any more.
    pub(crate) fn end(&self, how: Result<(), Stop>, session: &Session) {
        self.state.exclusive(session).ended = Some(how);
        self.changed.notify_all(session);
    }

    /// The next batch; none at the end.
    pub(crate) fn take(&self, session: &Session) -> Result<Option<Batch>, Stop> {
        let waiting = session.waiting(WaitEvent::RdbmsIpcReply);
        let mut state = self.state.exclusive(session);
        loop {
            // First: who reads ends early then, and that is no end of the redo.
            if self.halt.is_raised(session) {
                drop(state);
                return self.halt.check(session).map(|()| None);
            }
            if let Some(batch) = state.ready.pop_front() {
                self.changed.notify_all(session);
                return Ok(Some(batch));
            }
            if let Some(how) = &state.ended {
                return how.clone().map(|()| None);
            }
            state = self.changed.wait(state, waiting, Some(LOOK_UP)).0;
        }
    }

    /// An error if reading ended with one.
    pub(crate) fn how_it_ended(&self, session: &Session) -> Result<(), Stop> {
        self.state.shared(session).ended.clone().unwrap_or(Ok(()))
    }

    /// Whether who takes would wait.
    pub(crate) fn is_empty(&self, session: &Session) -> bool {
        let state = self.state.shared(session);
        state.ready.is_empty() && state.ended.is_none()
    }

    /// A batch that was applied.
    pub(crate) fn give_back(&self, batch: Batch, session: &Session) {
        self.state.exclusive(session).spare.push(batch);
    }

    /// Nobody takes any more.
    pub(crate) fn close(&self, session: &Session) {
        self.state.exclusive(session).closed = true;
        self.changed.notify_all(session);
    }
}
