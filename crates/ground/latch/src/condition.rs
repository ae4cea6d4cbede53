//! Waiting, with a latch let go meanwhile, until another session says that something has changed.
//!
//! What is waited for is a state of the data under the latch. It changes only under the latch
//! (rule L9), so a sleeper has either seen the change before it slept, or has entered itself
//! among the sleepers, and read the word, before the change was made: then the one who notifies
//! sees a sleeper and raises the word that the sleeper sleeps on. Nobody sleeping: no system call.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use os::{Os, Session, WaitWord, Waiting, Woken};
use waits::Nanos;

use crate::parts::{Atom, Waker, Word};
use crate::{ExclusiveGuard, held};

/// Where sessions wait for a change of what one latch guards. Always used with the same latch.
#[derive(Debug)]
pub struct Condition {
    raw: RawCondition<AtomicU64, WaitWord>,
}

impl Condition {
    /// A condition of this world that nobody waits for.
    pub fn new(os: &Os) -> Condition {
        Condition { raw: RawCondition::new(AtomicU64::new(0), WaitWord::new(os, 0)) }
    }

    /// Lets go of the latch, sleeps until notified or until `timeout` has passed, gets the latch
    /// again. May return for no reason: look at the data, and wait again. The wait is `waiting`;
    /// getting the latch again is a get like any other. No other latch may be held (rule L9).
    pub fn wait<'a, T>(
        &self,
        guard: ExclusiveGuard<'a, T>,
        waiting: Waiting<'_>,
        timeout: Option<Nanos>,
    ) -> (ExclusiveGuard<'a, T>, Woken) {
        let ticket = self.raw.enter();
        let (latch, session) = guard.release();
        held::assert_none_held("a wait for a condition");
        session.interleave();
        let woken = self.raw.word.wait(ticket.0, timeout, waiting);
        self.raw.leave();
        (latch.exclusive(session), woken)
    }

    /// Wakes one session that waits. Called with the latch held, or after it was.
    pub fn notify_one(&self, session: &Session) {
        session.interleave();
        self.raw.notify(1, session);
    }

    /// Wakes every session that waits. Called with the latch held, or after it was.
    pub fn notify_all(&self, session: &Session) {
        session.interleave();
        self.raw.notify(u32::MAX, session);
    }
}

/// The same on real or modelled parts.
#[derive(Debug)]
pub(crate) struct RawCondition<A, W> {
    sleepers: A,
    pub(crate) word: W,
}

/// What the word held when a sleeper entered.
pub(crate) struct Ticket(pub(crate) u32);

impl<A: Atom, W: Word> RawCondition<A, W> {
    /// `sleepers` is zero.
    pub(crate) fn new(sleepers: A, word: W) -> RawCondition<A, W> {
        RawCondition { sleepers, word }
    }

    /// With the latch held.
    pub(crate) fn enter(&self) -> Ticket {
        // Relaxed: whoever has to see this gets the latch after it was let go with this done.
        self.sleepers.add(1, Relaxed);
        Ticket(self.word.load())
    }

    pub(crate) fn leave(&self) {
        self.sleepers.subtract(1, Relaxed);
    }

    pub(crate) fn notify(&self, count: u32, waker: &impl Waker<W>) {
        if self.sleepers.load(Relaxed) > 0 {
            self.word.raise();
            waker.wake(&self.word, count);
        }
    }
}
