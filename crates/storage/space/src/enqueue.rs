//! An enqueue: a value that one session at a time holds, also across I/O, without a latch.
//!
//! ```text
//!   free(value) ── hold ──▶ held ── dropped ──▶ free(value), one waiter is woken
//! ```
//!
//! Invariants
//!   * the holder has the value, or the enqueue has it; so only the holder uses it
//!   * the guard gives it back, also after a panic, so no session waits for ever
//!   * order: extending, growing or describing, the control file (SP9)
//!
//! Callers: `growth`, `ddl`, `directory`, `tablespace`; `instance` for the control file.

use std::fmt;
use std::ops::{Deref, DerefMut};

use latch::{Condition, Latch, LatchKind};
use os::{Os, Session, Waiting};
use stop::{Stop, check_call};
use waits::WaitEvent;

/// A value that one session at a time holds.
pub struct Enqueue<T> {
    /// The value, or `None` while a session holds it.
    value: Latch<Option<T>>,
    freed: Condition,
    event: WaitEvent,
    /// p1 of the event: two letters, and mode 6, exclusive.
    name_and_mode: u64,
}

/// A held enqueue, given back when this is dropped.
#[must_use = "an enqueue that is dropped at once holds nothing"]
pub struct Held<'a, T> {
    enqueue: &'a Enqueue<T>,
    value: Option<T>,
    session: &'a Session,
}

impl<T> Enqueue<T> {
    /// A free enqueue with this wait event, whose name is these two letters.
    pub fn new(os: &Os, letters: [u8; 2], event: WaitEvent, value: T) -> Enqueue<T> {
        let value = Latch::new(os, LatchKind::Innermost, Some(value));
        let [first, second] = letters.map(u64::from);
        let name_and_mode = first << 24 | second << 16 | 6;
        Enqueue { value, freed: Condition::new(os), event, name_and_mode }
    }

    /// Waits until the enqueue is free, and holds it. `what` is p2 of the wait.
    pub fn hold<'a>(&'a self, what: u64, session: &'a Session) -> Held<'a, T> {
        latch::assert_none_held("a wait for an enqueue");
        let mut guard = self.value.exclusive(session);
        loop {
            if let Some(value) = guard.take() {
                return Held { enqueue: self, value: Some(value), session };
            }
            guard = self.freed.wait(guard, self.waiting(what, session), None).0;
        }
    }

    /// As [`hold`](Enqueue::hold), but refused if the session's call is to end while another
    /// session holds the enqueue (rule stop/K26).
    pub fn hold_in_call<'a>(
        &'a self,
        what: u64,
        session: &'a Session,
    ) -> Result<Held<'a, T>, Stop> {
        latch::assert_none_held("a wait for an enqueue");
        let mut guard = self.value.exclusive(session);
        loop {
            if let Some(value) = guard.take() {
                return Ok(Held { enqueue: self, value: Some(value), session });
            }
            // The holder wakes another session as it gives the enqueue back.
            check_call(session)?;
            guard = self.freed.wait_in_call(guard, self.waiting(what, session), None).0;
        }
    }

    fn waiting<'s>(&self, what: u64, session: &'s Session) -> Waiting<'s> {
        session.waiting(self.event).p(self.name_and_mode, what, 0)
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("there until it is dropped")
    }
}

impl<T> DerefMut for Held<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("there until it is dropped")
    }
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        *self.enqueue.value.exclusive(self.session) = self.value.take();
        self.enqueue.freed.notify_one(self.session);
    }
}

impl<T> fmt::Debug for Enqueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Enqueue({})", self.event)
    }
}
