//! The syncs of a file that are running.
//!
//! A kernel reports a failed write-back to one of the syncs that wait for it, and the others end
//! well (MEDIA, M11: the error belongs to the open file, and the first caller gets it). So a sync
//! that ended well proves nothing as long as another sync runs that began before its end. A
//! buffered write to a write-through file counts as a sync: at its end the kernel writes back and
//! checks for errors.
//!
//! ```text
//!   sync 1      ├──────────────┤ ended well · · · ┤ and now it's known
//!   sync 2            ├───────────────────────────┤ failed? then both have
//! ```
//!
//! Callers: `file` and `ring`.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use waits::Nanos;

use crate::{Session, WaitWord, Waiting};

/// The kind of waiter for the end of a sync.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SyncBy {
    /// The thread that asked, which does nothing else meanwhile.
    Thread,
    /// A ring, whose thread sees the end when it looks.
    Ring,
}

/// The time after which a waiter looks again: a ring that was given up wakes no waiter.
const LOOK_AGAIN: Nanos = Nanos::from_millis(100);

/// The lock is held for a few instructions and never across a call that blocks, so a plain mutex
/// does no harm in a simulated world either.
#[derive(Debug, Default)]
pub(crate) struct Syncs {
    running: Mutex<Running>,
    /// A word that changes with each end, once there has been a waiter.
    ended: OnceLock<WaitWord>,
}

#[derive(Debug, Default)]
struct Running {
    next: u64,
    /// The running syncs, in the order in which they began.
    numbers: Vec<(u64, SyncBy)>,
}

impl Syncs {
    /// Notes the beginning of a sync. Returns its number.
    pub(crate) fn begin(&self, by: SyncBy) -> u64 {
        let mut running = self.running();
        let number = running.next;
        running.next += 1;
        running.numbers.push((number, by));
        number
    }

    /// Notes the end of a sync of a ring that was given up, without waking any waiter.
    pub(crate) fn forget(&self, number: u64) {
        self.running().numbers.retain(|(running, _)| *running != number);
    }

    /// Notes the end of a sync. If it failed, the file has been marked as failed before.
    pub(crate) fn end(&self, number: u64, session: &Session) {
        self.forget(number);
        if let Some(ended) = self.ended.get() {
            ended.value().fetch_add(1, Ordering::Release);
            ended.wake(u32::MAX, session);
        }
    }

    /// Waits until all syncs that run now have ended; syncs of rings count only `with_rings`.
    pub(crate) fn wait_for_all(&self, with_rings: bool, waiting: Waiting<'_>) {
        let bound = self.running().next;
        let runs = || {
            let earlier = |(number, by): &(u64, SyncBy)| {
                *number < bound && (with_rings || *by == SyncBy::Thread)
            };
            self.running().numbers.iter().any(earlier)
        };
        if !runs() {
            return;
        }
        let ended = self.ended.get_or_init(|| WaitWord::new(waiting.session().os(), 0));
        loop {
            let seen = ended.value().load(Ordering::Acquire);
            if !runs() {
                return;
            }
            let _ = ended.wait(seen, Some(LOOK_AGAIN), waiting);
        }
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
