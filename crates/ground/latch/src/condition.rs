//! Waiting, with the latch released meanwhile, until another session notifies of a change.
//!
//! A waiter waits for a state of the data under the latch, which changes only under the latch (rule
//! L9). So a sleeper has either seen the change before it slept, or has entered itself among the
//! sleepers and read the word before the change was made. In the second case the notifier sees a
//! sleeper and raises the word on which it sleeps. Without sleepers a notification costs no system
//! call.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use os::{Os, Session, WaitWord, Waiting, Woken};
use waits::Nanos;

use crate::parts::{Atom, Waker, Word};
use crate::{ExclusiveGuard, held};

/// A place where sessions wait for a change of the data under one latch. It is always used with the
/// same latch.
#[derive(Debug)]
pub struct Condition {
    raw: RawCondition<AtomicU64, WaitWord>,
}

impl Condition {
    /// A condition of this world, without waiters.
    pub fn new(os: &Os) -> Condition {
        Condition { raw: RawCondition::new(AtomicU64::new(0), WaitWord::new(os, 0)) }
    }

    /// Releases the latch, sleeps until notified or until `timeout` has passed, and gets the latch
    /// again. It may return for no reason: the caller looks at the data and waits again. The wait
    /// is `waiting`; getting the latch again is a get like any other. No other latch may be held
    /// (rule L9).
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

    /// Wakes one waiting session. The caller holds the latch or has held it since the change.
    pub fn notify_one(&self, session: &Session) {
        session.interleave();
        self.raw.notify(1, session);
    }

    /// Wakes every waiting session. The caller holds the latch or has held it since the change.
    pub fn notify_all(&self, session: &Session) {
        session.interleave();
        self.raw.notify(u32::MAX, session);
    }
}

/// A condition on real or modelled parts.
#[derive(Debug)]
pub(crate) struct RawCondition<A, W> {
    sleepers: A,
    pub(crate) word: W,
}

/// The value of the word when a sleeper entered.
pub(crate) struct Ticket(pub(crate) u32);

impl<A: Atom, W: Word> RawCondition<A, W> {
    /// Makes a condition. `sleepers` must be zero.
    pub(crate) fn new(sleepers: A, word: W) -> RawCondition<A, W> {
        RawCondition { sleepers, word }
    }

    /// Enters the caller among the sleepers. The caller holds the latch.
    pub(crate) fn enter(&self) -> Ticket {
        // Relaxed is enough: a notifier gets the latch after this thread has released it.
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
