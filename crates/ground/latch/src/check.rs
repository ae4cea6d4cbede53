//! The check of the guarded data, made when a writer releases the latch (rule L15).
//!
//! ```text
//!   exclusive ──▶ change … ──▶ drop of the guard ──┬─ not due ──▶ release
//!                                                  └─ due: look ─▶ release      panics if broken
//! ```
//!
//! A check of a structure of `n` parts is due after `n / effort` changes, so that the cost of
//! checks per change is the same for structures of all sizes.
//!
//! Callers: `latch`; `change`, which checks blocks.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use os::Os;

/// Decides when a frequently changed structure is checked. Only the choice of checked changes
/// depends on it, so an access is no point at which the simulator switches.
#[derive(Debug)]
pub struct Pace {
    /// The number of parts that are checked per change.
    effort: u32,
    /// The number of changes until the next check.
    left: AtomicU32,
}

impl Pace {
    /// The pace that this world wants (rule os/O11); none where nothing is to be checked.
    pub fn new(os: &Os) -> Option<Pace> {
        let effort = os.check_effort();
        (effort > 0).then(|| Pace { effort, left: AtomicU32::new(0) })
    }

    /// Counts one more change. Returns whether the structure is to be checked now. After a panic it
    /// isn't, because the panic may have left it half changed.
    pub fn is_due(&self) -> bool {
        let left = self.left.load(Relaxed);
        self.left.store(left.saturating_sub(1), Relaxed);
        left == 0 && !std::thread::panicking()
    }

    /// Notes that a check has seen this number of parts.
    pub fn has_seen(&self, parts: usize) {
        let parts = u32::try_from(parts).unwrap_or(u32::MAX);
        self.left.store(parts / self.effort, Relaxed);
    }
}

/// The check of a value, and its pace.
pub(crate) struct Check<T> {
    pace: Pace,
    look: Look<T>,
}

/// Panics if the value isn't consistent. Returns the number of parts that it has checked.
type Look<T> = Box<dyn Fn(&T) -> usize + Send + Sync>;

impl<T> Check<T> {
    /// Makes the check; none where nothing is to be checked.
    pub(crate) fn new(
        os: &Os,
        look: impl Fn(&T) -> usize + Send + Sync + 'static,
    ) -> Option<Box<Check<T>>> {
        let pace = Pace::new(os)?;
        Some(Box::new(Check { pace, look: Box::new(look) }))
    }

    /// Called when a writer's hold ends.
    #[cold]
    pub(crate) fn run(&self, value: &T) {
        if self.pace.is_due() {
            self.pace.has_seen((self.look)(value));
        }
    }
}
