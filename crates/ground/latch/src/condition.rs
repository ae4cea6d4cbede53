//! Waiting, with the latch released meanwhile, until another session notifies of a change.
//!
//! A waiter waits for a state of the data under the latch, which changes only under the latch (rule
//! L9). So a sleeper has either seen the change before it slept, or has entered itself among the
//! sleepers and read the word before the change was made. In the second case the notifier sees a
//! sleeper and raises the word on which it sleeps. Without sleepers a notification costs no system
//! call.

use std::sync::Arc;
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
    raw: RawCondition<AtomicU64, Arc<WaitWord>>,
}

impl Condition {
    /// A condition of this world, without waiters.
    pub fn new(os: &Os) -> Condition {
        Condition { raw: RawCondition::new(AtomicU64::new(0), Arc::new(WaitWord::new(os, 0))) }
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
        self.sleep(ticket, guard, waiting, timeout)
    }

    /// As [`wait`](Condition::wait), for a loop that looks before each sleep whether its session's
    /// call is to end (rule os/O68): the end of the call ends this wait too, or keeps it from
    /// beginning. The session is `waiting`'s (L28).
    pub fn wait_in_call<'a, T>(
        &self,
        guard: ExclusiveGuard<'a, T>,
        waiting: Waiting<'_>,
        timeout: Option<Nanos>,
    ) -> (ExclusiveGuard<'a, T>, Woken) {
        // The word is read before a cancel can raise it.
        let ticket = self.raw.enter();
        let Some(sleep) = waiting.session().enter_sleep(&self.raw.word, timeout) else {
            self.raw.leave();
            return (guard, Woken::Woken);
        };
        self.sleep(ticket, guard, waiting, sleep.timeout())
    }

    /// Releases the latch, sleeps, and gets the latch again.
    fn sleep<'a, T>(
        &self,
        ticket: Ticket,
        guard: ExclusiveGuard<'a, T>,
        waiting: Waiting<'_>,
        timeout: Option<Nanos>,
    ) -> (ExclusiveGuard<'a, T>, Woken) {
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
