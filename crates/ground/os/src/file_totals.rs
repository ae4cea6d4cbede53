//! What was read from a file and written to it since it was opened.
//!
//! No thread acts by these numbers, so they need no order among themselves, and counting is no
//! point at which the simulator switches.
//!
//! Callers: `file` and `ring` count; views read.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use waits::Nanos;

/// The I/O of one opening of a file so far (O74).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileTotals {
    /// The reads.
    pub reads: IoTotals,
    /// The writes.
    pub writes: IoTotals,
}

/// The reads, or the writes, of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IoTotals {
    /// The number of requests, whatever their size.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Of the requests, those whose session did nothing but wait for them, and recorded the wait.
    /// Those of a ring aren't among them.
    pub waited_for: u64,
    /// The wall time of these waits.
    pub waited: Nanos,
}

/// The counters of one opening of a file.
#[derive(Debug, Default)]
pub(crate) struct FileCounters {
    pub(crate) reads: IoCounters,
    pub(crate) writes: IoCounters,
}

/// The counters of reads, or of writes.
#[derive(Debug, Default)]
pub(crate) struct IoCounters {
    requests: AtomicU64,
    bytes: AtomicU64,
    waited_for: AtomicU64,
    waited_ns: AtomicU64,
}

impl FileCounters {
    pub(crate) fn totals(&self) -> FileTotals {
        FileTotals { reads: self.reads.totals(), writes: self.writes.totals() }
    }
}

impl IoCounters {
    /// Counts a request of a ring.
    pub(crate) fn pushed(&self, bytes: u64) {
        self.requests.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }

    /// Counts a request that its thread has waited for this long; zero if the wait wasn't recorded.
    pub(crate) fn waited_for(&self, bytes: u64, waited: Nanos) {
        self.pushed(bytes);
        if waited > Nanos::ZERO {
            self.waited_for.fetch_add(1, Relaxed);
            self.waited_ns.fetch_add(waited.0, Relaxed);
        }
    }

    fn totals(&self) -> IoTotals {
        IoTotals {
            requests: self.requests.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            waited_for: self.waited_for.load(Relaxed),
            waited: Nanos(self.waited_ns.load(Relaxed)),
        }
    }
}
