//! The sessions of a world: the running ones with their numbers, and the totals of the ended ones.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use waits::{Account, Level, Nanos, SessionKind, ThreadTimes, Timestamp, Totals, WaitSink};

use crate::ThreadId;

/// The number of a session in its world. No other running session has its `sid`, and no other
/// session has the pair (O73).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SessionNo {
    /// A number from 1 on, which a later session gets when this one has ended.
    pub sid: u32,
    /// How many sessions have had this `sid`, this one included.
    pub serial: u32,
}

/// `12,3`, as a user names a session.
impl fmt::Display for SessionNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.sid, self.serial)
    }
}

/// A running session.
#[derive(Clone, Debug)]
pub struct RunningSession {
    /// Its number.
    pub number: SessionNo,
    /// Its account.
    pub account: Arc<Account>,
    /// Its thread.
    pub thread: ThreadId,
}

/// The times of the ended sessions of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EndedTimes {
    /// From the begins of the sessions to their ends.
    pub elapsed: Nanos,
    /// Their threads' time on a CPU meanwhile.
    pub cpu: Nanos,
    /// Their threads' time in the run queue meanwhile.
    pub run_queue: Nanos,
}

/// The totals of all sessions of a world, ended ones included.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TotalsByKind {
    /// Of the sessions that work for users.
    pub foreground: Totals,
    /// Of the sessions that work for the instance.
    pub background: Totals,
}

impl TotalsByKind {
    fn of(&mut self, kind: SessionKind) -> &mut Totals {
        match kind {
            SessionKind::Foreground => &mut self.foreground,
            SessionKind::Background => &mut self.background,
        }
    }
}

/// All sessions of a world at one moment: each is either running or among the ended (O28).
#[derive(Clone, Debug)]
pub struct Census {
    /// The running sessions.
    pub running: Vec<RunningSession>,
    /// The times of the ended sessions that worked for users.
    pub ended_foreground: EndedTimes,
    /// The times of the ended sessions that worked for the instance.
    pub ended_background: EndedTimes,
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
    numbers: Numbers,
    ended: TotalsByKind,
    ended_foreground: EndedTimes,
    ended_background: EndedTimes,
    level: Option<Level>,
    sinks: Option<WaitSinks>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").field("running", &self.running).finish_non_exhaustive()
    }
}

/// The numbers of sessions.
#[derive(Default)]
struct Numbers {
    /// The serial of the last session of each `sid`, from 1 on.
    serials: Vec<u32>,
    /// The `sid`s that no running session has.
    free: BinaryHeap<Reverse<u32>>,
}

impl Numbers {
    /// The lowest free number.
    fn give(&mut self) -> SessionNo {
        let sid = match self.free.pop() {
            Some(Reverse(sid)) => sid,
            None => {
                self.serials.push(0);
                u32::try_from(self.serials.len()).expect("under four billion sessions at once")
            }
        };
        let serial = &mut self.serials[sid as usize - 1];
        *serial = serial.wrapping_add(1);
        SessionNo { sid, serial: *serial }
    }

    fn take_back(&mut self, number: SessionNo) {
        self.free.push(Reverse(number.sid));
    }
}

/// What a session gets as it begins.
pub(crate) struct Entered {
    pub(crate) number: SessionNo,
    /// The receiver of its waits, if there is one.
    pub(crate) sink: Option<Box<dyn WaitSink>>,
}

impl Registry {
    /// Enters a session that begins.
    pub(crate) fn enter(&self, account: &Arc<Account>, thread: ThreadId) -> Entered {
        let mut inner = self.lock();
        if let Some(level) = inner.level {
            account.set_level(level);
        }
        let number = inner.numbers.give();
        inner.running.push(RunningSession { number, account: Arc::clone(account), thread });
        let sinks = inner.sinks.clone();
        drop(inner);
        Entered { number, sink: sinks.and_then(|sinks| sinks(account.name())) }
    }

    /// Adds the session's totals and times to those of the ended ones in one step, so that the sum
    /// over all never shrinks.
    pub(crate) fn leave(&self, account: &Arc<Account>, number: SessionNo, times: EndedTimes) {
        let totals = account.totals();
        let mut inner = self.lock();
        inner.running.retain(|session| session.number != number);
        inner.numbers.take_back(number);
        inner.ended.of(account.kind()).add(&totals);
        let ended = match account.kind() {
            SessionKind::Foreground => &mut inner.ended_foreground,
            SessionKind::Background => &mut inner.ended_background,
        };
        ended.elapsed.0 += times.elapsed.0;
        ended.cpu.0 += times.cpu.0;
        ended.run_queue.0 += times.run_queue.0;
    }

    pub(crate) fn census(&self) -> Census {
        let inner = self.lock();
        let Inner { ended_foreground, ended_background, .. } = *inner;
        Census { running: inner.running.clone(), ended_foreground, ended_background }
    }

    pub(crate) fn running(&self) -> Vec<RunningSession> {
        self.lock().running.clone()
    }

    /// The list of running sessions and the totals of ended ones are read in one step. The sum is
    /// made outside the lock, because it takes microseconds per session. An account that ends
    /// meanwhile keeps its figures.
    pub(crate) fn totals(&self) -> TotalsByKind {
        let (mut totals, running) = {
            let inner = self.lock();
            (inner.ended.clone(), inner.running.clone())
        };
        for session in running {
            totals.of(session.account.kind()).add(&session.account.totals());
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The lowest number that is free is given, and never the same pair again.
    #[test]
    fn a_number_comes_again_with_another_serial() {
        let mut numbers = Numbers::default();
        let [one, two, three] = [(); 3].map(|()| numbers.give());
        assert_eq!([one, two, three].map(|of| of.sid), [1, 2, 3]);
        numbers.take_back(three);
        numbers.take_back(one);
        let again = numbers.give();
        assert_eq!((again.sid, again.serial), (1, 2));
        assert_eq!(numbers.give(), SessionNo { sid: 3, serial: 2 });
        assert_eq!(numbers.give(), SessionNo { sid: 4, serial: 1 });
        assert_eq!(again.to_string(), "1,2");
    }
}
