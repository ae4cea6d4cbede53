//! The sessions that are connected to an instance.
//!
//! ```text
//!   connect ──▶ Connected, which the connection holds ──▶ dropped: the session is no longer listed
//!                   ▲
//!       list: a weak reference to each
//! ```
//!
//! What a session does (its waits, its statistics, its statement) is in its account, which the
//! world knows too (`os`); here is who is connected, to which instance, since when.
//!
//! Invariant: a reader of the list makes no session wait beyond the latch, which is held for a copy
//! of the list at most (IN50).
//!
//! Callers: connections; views.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use latch::{Latch, LatchKind};
use os::{Os, RunningSession, Session};

use crate::Instance;

/// A connected session, until its last reference is dropped.
#[derive(Debug)]
pub struct Connected {
    /// The session: its number, its account, its thread.
    pub session: RunningSession,
    /// When it connected: microseconds since 1970-01-01 00:00 UTC.
    pub since_us: u64,
}

/// The connected sessions.
pub(crate) struct Sessions {
    list: Latch<List>,
}

#[derive(Default)]
struct List {
    all: Vec<Weak<Connected>>,
    /// The length at which references to sessions that have gone are looked for.
    look_at: usize,
}

/// The shortest list in which gone sessions are looked for.
const LOOK_MIN: usize = 64;

impl List {
    /// Adds a session. References to gone ones go from time to time, so that the list is at most
    /// twice as long as there are sessions, and connecting costs the same however many there are.
    fn add(&mut self, connected: &Arc<Connected>) {
        if self.all.len() >= self.look_at {
            self.all.retain(|one| one.strong_count() > 0);
            self.look_at = LOOK_MIN.max(2 * self.all.len());
        }
        self.all.push(Arc::downgrade(connected));
    }
}

impl Sessions {
    pub(crate) fn new(os: &Os) -> Sessions {
        Sessions { list: Latch::new(os, LatchKind::Innermost, List::default()) }
    }
}

impl Instance {
    /// Lists the calling thread's session as connected, until what this returns is dropped (IN50).
    pub fn connect(&self, session: &Session) -> Arc<Connected> {
        let (number, thread) = (session.number(), session.thread());
        let account = Arc::clone(session.account());
        let since_us = session.os().calendar_us();
        let running = RunningSession { number, account, thread };
        let connected = Arc::new(Connected { session: running, since_us });
        self.sessions.list.exclusive(session).add(&connected);
        connected
    }

    /// The sessions that are connected now, in the order in which they came. A session that is
    /// connected twice is listed once.
    pub fn connected(&self, session: &Session) -> Vec<Arc<Connected>> {
        let all = self.sessions.list.shared(session).all.clone();
        let mut seen = BTreeSet::new();
        let there = all.iter().filter_map(Weak::upgrade);
        there.filter(|one| seen.insert(one.session.number)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However many sessions come and go, the list is as long as a few of them.
    #[test]
    fn sessions_that_have_gone_leave_the_list() {
        sim::Simulation::new(1)
            .run(|_, session| {
                let mut list = List::default();
                let of = || {
                    let (number, thread) = (session.number(), session.thread());
                    let account = Arc::clone(session.account());
                    let session = RunningSession { number, account, thread };
                    Arc::new(Connected { session, since_us: 0 })
                };
                let stays: Vec<_> = (0..100).map(|_| of()).collect();
                stays.iter().for_each(|one| list.add(one));
                for _ in 0..10_000 {
                    list.add(&of());
                    assert!(list.all.len() <= 2 * 100 + LOOK_MIN, "{}", list.all.len());
                }
                let there = list.all.iter().filter(|one| one.strong_count() > 0);
                assert_eq!(there.count(), 100);
            })
            .result
            .expect("no panic");
    }
}
