//! The syncs of a file that are on their way.
//!
//! A kernel tells a failed write-back to one of the syncs that wait for it, and the others end well
//! (MEDIA, M11: the error belongs to the open file, and whoever asks first has it). So a sync that
//! ended well proves nothing as long as another runs that began before its end. A buffered write to
//! a file that is write-through is one too: at its end the kernel writes back and looks for errors.
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

/// Who waits for the end of a sync.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SyncBy {
    /// The thread that asked, which does nothing else meanwhile.
    Thread,
    /// A ring, whose thread sees the end when it looks.
    Ring,
}

/// A ring that was given up wakes nobody.
const LOOK_AGAIN: Nanos = Nanos::from_millis(100);

/// Held for a few instructions and never across anything that blocks, so that a plain mutex does no
/// harm in a simulated world either.
#[derive(Debug, Default)]
pub(crate) struct Syncs {
    running: Mutex<Running>,
    /// Changes with each end, once somebody has waited for one.
    ended: OnceLock<WaitWord>,
}

#[derive(Debug, Default)]
struct Running {
    next: u64,
    /// In the order in which they began.
    numbers: Vec<(u64, SyncBy)>,
}

impl Syncs {
    /// One begins; its number.
    pub(crate) fn begin(&self, by: SyncBy) -> u64 {
        let mut running = self.running();
        let number = running.next;
        running.next += 1;
        running.numbers.push((number, by));
        number
    }

    /// It has ended, and nobody is woken: that of a ring that was given up.
    pub(crate) fn forget(&self, number: u64) {
        self.running().numbers.retain(|(running, _)| *running != number);
    }

    /// It has ended. If it failed, the file has been marked as failed before.
    pub(crate) fn end(&self, number: u64, session: &Session) {
        self.forget(number);
        if let Some(ended) = self.ended.get() {
            ended.value().fetch_add(1, Ordering::Release);
            ended.wake(u32::MAX, session);
        }
    }

    /// Waits until all have ended that run now; of those of rings only `with_rings`.
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
