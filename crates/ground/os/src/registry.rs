//! The sessions of a world: the running ones, and the totals of the ended ones.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use waits::{Account, Level, ThreadTimes, Timestamp, Totals, WaitSink};

use crate::ThreadId;

/// A running session.
#[derive(Clone, Debug)]
pub struct RunningSession {
    /// Its account.
    pub account: Arc<Account>,
    /// Its thread.
    pub thread: ThreadId,
}

/// A running session and its thread's clocks, as `ps` would show them.
#[derive(Clone, Debug)]
pub struct SessionTimes {
    /// The session.
    pub session: RunningSession,
    /// CPU and run-queue time since the thread began.
    pub times: ThreadTimes,
    /// The time of the reading.
    pub at: Timestamp,
}

/// Gives the receiver of a session's ended waits, by the session's name. It is called as the
/// session begins.
pub type WaitSinks = Arc<dyn Fn(&str) -> Option<Box<dyn WaitSink>> + Send + Sync>;

/// The lock is held for a few hundred instructions and never across a call that blocks, so a plain
/// mutex does no harm in a simulated world either.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    running: Vec<RunningSession>,
    ended: Totals,
    level: Option<Level>,
    sinks: Option<WaitSinks>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").field("running", &self.running).finish_non_exhaustive()
    }
}

impl Registry {
    /// The receiver of its waits, if there is one.
    pub(crate) fn enter(
        &self,
        account: &Arc<Account>,
        thread: ThreadId,
    ) -> Option<Box<dyn WaitSink>> {
        let mut inner = self.lock();
        if let Some(level) = inner.level {
            account.set_level(level);
        }
        inner.running.push(RunningSession { account: Arc::clone(account), thread });
        let sinks = inner.sinks.clone();
        drop(inner);
        sinks.and_then(|sinks| sinks(account.name()))
    }

    /// Adds the session's totals to those of the ended ones in one step, so that the sum over all
    /// never shrinks.
    pub(crate) fn leave(&self, account: &Arc<Account>) {
        let totals = account.totals();
        let mut inner = self.lock();
        inner.running.retain(|session| !Arc::ptr_eq(&session.account, account));
        inner.ended.add(&totals);
    }

    pub(crate) fn running(&self) -> Vec<RunningSession> {
        self.lock().running.clone()
    }

    /// The list of running sessions and the totals of ended ones are read in one step. The sum is
    /// made outside the lock, because it takes microseconds per session. An account that ends
    /// meanwhile keeps its figures.
    pub(crate) fn totals(&self) -> Totals {
        let (mut totals, running) = {
            let inner = self.lock();
            (inner.ended.clone(), inner.running.clone())
        };
        for session in running {
            totals.add(&session.account.totals());
        }
        totals
    }

    pub(crate) fn set_level(&self, level: Level) {
        let mut inner = self.lock();
        inner.level = Some(level);
        for session in &inner.running {
            session.account.set_level(level);
        }
    }

    pub(crate) fn set_wait_sinks(&self, sinks: Option<WaitSinks>) {
        self.lock().sinks = sinks;
    }

    /// A thread that panicked inside has left consistent sums.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
