//! Batches of redo on their way from the reader process to the applying session.
//!
//! ```text
//!   read, bring the blocks ──▶ │ ready │ ready │ ──▶ apply
//!       │   ▲                                          │
//!       │   └──────────────── spare ◀──────────────────┘
//!       └─ how many buffers it is going to take ─▶ touch their memory
//! ```
//!
//! Invariants
//!   * at most `READY_MAX` batches are ready, so the blocks that were brought and not used yet are
//!     bounded (RC6)
//!   * after the end of the redo, or an error, no batch comes any more
//!
//! Callers: `ahead` puts, `roll` takes.

use std::collections::VecDeque;

use ids::Dba;
use latch::{Condition, Latch, LatchKind};
use os::{Os, Session};
use redo::Records;
use stop::{Halt, Stop};
use waits::{Nanos, WaitEvent};

/// The largest number of ready batches.
const READY_MAX: usize = 2;
/// How often a sleeper looks at the halt.
pub(crate) const LOOK_UP: Nanos = Nanos::from_millis(200);

/// Records, and the blocks that they name.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) records: Records,
    /// The blocks that weren't in the cache.
    pub(crate) missing: Vec<Dba>,
}

/// What the applying session does next.
pub(crate) enum Next {
    /// It applies this batch.
    Apply(Batch),
    /// It touches memory: this number of buffers is going to be taken (RC9).
    Touch(u64),
    /// Nothing: the redo has ended.
    End,
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
    /// The number of buffers that the reader process takes, with those that it is going to take
    /// for the next batch.
    wanted: u64,
    /// How reading ended.
    ended: Option<Result<(), Stop>>,
    /// Whether the applying session takes no more.
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
        batch.missing.clear();
        batch
    }

    /// Adds a batch, when there is room for it. Returns false if no more batches are taken.
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

    /// Ends the queue: no batch comes any more.
    pub(crate) fn end(&self, how: Result<(), Stop>, session: &Session) {
        self.state.exclusive(session).ended = Some(how);
        self.changed.notify_all(session);
    }

    /// Tells that the reader process is going to take this number of buffers.
    pub(crate) fn want(&self, buffers: u64, session: &Session) {
        self.state.exclusive(session).wanted += buffers;
        self.changed.notify_all(session);
    }

    /// What comes next for a session that knows of this number of buffers. It waits for a batch, or
    /// until more buffers are wanted.
    pub(crate) fn take(&self, known: u64, session: &Session) -> Result<Next, Stop> {
        let waiting = session.waiting(WaitEvent::RdbmsIpcReply);
        let mut state = self.state.exclusive(session);
        loop {
            // The halt is checked first: it also ends the reading early, and that is no end of the
            // redo.
            if self.halt.is_raised(session) {
                drop(state);
                return self.halt.check(session).map(|()| Next::End);
            }
            if let Some(batch) = state.ready.pop_front() {
                self.changed.notify_all(session);
                return Ok(Next::Apply(batch));
            }
            if let Some(how) = &state.ended {
                return how.clone().map(|()| Next::End);
            }
            if state.wanted > known {
                return Ok(Next::Touch(state.wanted));
            }
            state = self.changed.wait(state, waiting, Some(LOOK_UP)).0;
        }
    }

    /// The error with which reading ended, if it did.
    pub(crate) fn how_it_ended(&self, session: &Session) -> Result<(), Stop> {
        self.state.shared(session).ended.clone().unwrap_or(Ok(()))
    }

    /// Whether `take` would wait.
    pub(crate) fn is_empty(&self, session: &Session) -> bool {
        let state = self.state.shared(session);
        state.ready.is_empty() && state.ended.is_none()
    }

    /// Takes back a batch that was applied.
    pub(crate) fn give_back(&self, batch: Batch, session: &Session) {
        self.state.exclusive(session).spare.push(batch);
    }

    /// Closes the queue: no more batches are taken.
    pub(crate) fn close(&self, session: &Session) {
        self.state.exclusive(session).closed = true;
        self.changed.notify_all(session);
    }
}
