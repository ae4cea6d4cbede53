//! The check of what a latch guards, made as a writer lets go of it (rule L15).
//!
//! ```text
//!   exclusive ──▶ change … ──▶ drop of the guard ──┬─ not due ──▶ release
//!                                                  └─ due: look ─▶ release      panics if broken
//! ```
//!
//! A look at a structure of `n` parts is due after `n / effort` changes, so that checks cost each
//! change the same, however large the structure is.
//!
//! Callers: `latch`; `change`, which checks blocks.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use os::Os;

/// When a structure is to be checked that changes all the time. Only which changes are checked
/// depends on it, so an access is no point at which the simulator switches.
#[derive(Debug)]
pub struct Pace {
    /// So many parts are looked at for each change.
    effort: u32,
    /// So many changes until the next look.
    left: AtomicU32,
}

impl Pace {
    /// As this world wants it (rule os/O11); none where nothing is to be checked.
    pub fn new(os: &Os) -> Option<Pace> {
        let effort = os.check_effort();
        (effort > 0).then(|| Pace { effort, left: AtomicU32::new(0) })
    }

    /// One more change was made. Whether the structure is to be looked at now: not after a panic,
    /// which may have left it half changed.
    pub fn is_due(&self) -> bool {
        let left = self.left.load(Relaxed);
        self.left.store(left.saturating_sub(1), Relaxed);
        left == 0 && !std::thread::panicking()
    }

    /// It was looked at, and has so many parts.
    pub fn has_seen(&self, parts: usize) {
        let parts = u32::try_from(parts).unwrap_or(u32::MAX);
        self.left.store(parts / self.effort, Relaxed);
    }
}

/// When a value is looked at, and how.
pub(crate) struct Check<T> {
    pace: Pace,
    look: Look<T>,
}

/// Panics if the value isn't consistent; says how many parts it has looked at.
type Look<T> = Box<dyn Fn(&T) -> usize + Send + Sync>;

impl<T> Check<T> {
    /// None where nothing is to be checked.
    pub(crate) fn new(
        os: &Os,
        look: impl Fn(&T) -> usize + Send + Sync + 'static,
    ) -> Option<Box<Check<T>>> {
        let pace = Pace::new(os)?;
        Some(Box::new(Check { pace, look: Box::new(look) }))
    }

    /// A hold ends.
    #[cold]
    pub(crate) fn run(&self, value: &T) {
        if self.pace.is_due() {
            self.pace.has_seen((self.look)(value));
        }
    }
}
