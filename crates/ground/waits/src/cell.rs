//! A counter that one thread writes and any thread reads.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A single-writer counter. The writer pays a plain load and a plain store, no locked instruction.
/// A reader sees some recent value, and two counters read in turn may show different moments.
///
/// Only a session's [`Recorder`](crate::Recorder) writes; it can't be shared or cloned (rule W1).
#[derive(Debug, Default)]
pub(crate) struct Cell64(AtomicU64);

impl Cell64 {
    #[inline]
    pub(crate) fn add(&self, amount: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(amount), Relaxed);
    }

    #[inline]
    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    #[inline]
    pub(crate) fn raise_to(&self, value: u64) {
        if value > self.0.load(Relaxed) {
            self.0.store(value, Relaxed);
        }
    }

    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}
