//! An enqueue: something that one thread at a time has, also across I/O, with no latch held.
//!
//! ```text
//!   free(value) ── hold ──▶ held ── dropped ──▶ free(value), who waits is woken
//! ```
//!
//! Invariants
//!   * the value is with the holder, or there; so nobody uses it beside the holder
//!   * who holds one gives it back whatever happens to him, so nobody waits for ever
//!   * order: extending, growing or describing, the control file (SP9)
//!
//! Callers: `growth`, `tablespace`; `instance` for the control file.

use std::fmt;
use std::ops::{Deref, DerefMut};

use latch::{Condition, Latch, LatchKind};
use os::{Os, Session};
use waits::WaitEvent;

/// Something that one thread at a time has.
pub struct Enqueue<T> {
    /// None while somebody has it.
    value: Latch<Option<T>>,
    freed: Condition,
    event: WaitEvent,
    /// p1 of the event: two letters, and mode 6, exclusive.
    name_and_mode: u64,
}

/// What is held; given back when dropped.
#[must_use = "an enqueue that is dropped at once holds nothing"]
pub struct Held<'a, T> {
    enqueue: &'a Enqueue<T>,
    value: Option<T>,
    session: &'a Session,
}

impl<T> Enqueue<T> {
    /// An enqueue of this event, which has the two letters as its name, that nobody holds.
    pub fn new(os: &Os, letters: [u8; 2], event: WaitEvent, value: T) -> Enqueue<T> {
        let value = Latch::new(os, LatchKind::Innermost, Some(value));
        let [first, second] = letters.map(u64::from);
        let name_and_mode = first << 24 | second << 16 | 6;
        Enqueue { value, freed: Condition::new(os), event, name_and_mode }
    }

    /// Waits until nobody has it. `what` is p2 of the wait.
    pub fn hold<'a>(&'a self, what: u64, session: &'a Session) -> Held<'a, T> {
        latch::assert_none_held("a wait for an enqueue");
        let mut guard = self.value.exclusive(session);
        loop {
            if let Some(value) = guard.take() {
                return Held { enqueue: self, value: Some(value), session };
            }
            let waiting = session.waiting(self.event).p(self.name_and_mode, what, 0);
            guard = self.freed.wait(guard, waiting, None).0;
        }
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
