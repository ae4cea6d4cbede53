//! The disks that a power cut would leave, shown at each operation of a run that goes on.
//!
//! A crash sweep needs the disks as a cut at operation 1, 2, 3 and so on leaves them. Cutting needs
//! a run for each; here one run shows all. The disks shown equal, to the byte and to the pending
//! change, those that a run with [`FileSystem::lose_power_at`] is left with. Files are copied on
//! write, so a clone is cheap, and the operation is done on the clone first.
//!
//! Caller: `device` and `port`, before every operation that
//! [`is_crash_point`](crate::fs::Operation::is_crash_point).

use std::fmt;
use std::sync::Arc;

use crate::fs::FileSystem;

/// The disks as a power cut leaves them, in the order of the machine's disks.
pub type Cut<'a> = &'a dyn Fn() -> Vec<FileSystem>;

type Show = dyn Fn(usize, u64, Cut<'_>) + Send + Sync;

/// The observer of the crash points of a simulation.
#[derive(Clone)]
pub struct CrashPoints(Arc<Show>);

impl CrashPoints {
    /// `show` is called with the number of the disk, the number of the crash point on it (from 1,
    /// as `lose_power_at` counts), and a way to get the disks as a cut there would leave them. The
    /// program stands still meanwhile. `show` must not call the simulated world.
    pub fn new(show: impl Fn(usize, u64, Cut<'_>) + Send + Sync + 'static) -> CrashPoints {
        CrashPoints(Arc::new(show))
    }

    pub(crate) fn show(&self, disk: usize, number: u64, cut: Cut<'_>) {
        (self.0)(disk, number, cut);
    }
}

impl fmt::Debug for CrashPoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CrashPoints")
    }
}
