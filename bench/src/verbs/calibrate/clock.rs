//! The CPU clock of the calling thread, and windows on it.
//!
//! A cost is what the thread that pays has on its own CPU clock: neither sleeping nor standing in
//! the run queue counts, and nor does what other threads do meanwhile. Reading the clock is a
//! system call here or there, so its price is measured and taken off.
//!
//! Callers: every file here that measures.

use std::hint::black_box;

use rustix::time::{ClockId, clock_gettime};

/// CPU time of the calling thread so far, in ns.
pub(super) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).expect("a thread's CPU time isn't negative");
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).expect("below 10^9")
}

/// The mean CPU time of `times` calls of `work`, in one window: for what is too short for a window
/// of its own.
pub(super) fn mean_ns(times: u32, mut work: impl FnMut(u32)) -> f64 {
    let reading_ns = reading_ns();
    let before = now_ns();
    for turn in 0..times {
        work(black_box(turn));
    }
    let window = now_ns() - before;
    (window as f64 - reading_ns).max(0.0) / f64::from(times)
}

/// Windows around single operations. Their median leaves out those that an interrupt or a
/// sampled wait (rule T1) fell into.
pub(super) struct Windows {
    reading_ns: f64,
    windows: Vec<f64>,
}

impl Windows {
    /// None yet, for the calling thread.
    pub(super) fn new() -> Windows {
        Windows { reading_ns: reading_ns(), windows: Vec::new() }
    }

    /// One window around `work`.
    pub(super) fn around<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let before = now_ns();
        let result = work();
        let window = now_ns() - before;
        self.windows.push((window as f64 - self.reading_ns).max(0.0));
        result
    }

    /// The window in the middle, in ns.
    pub(super) fn median_ns(&self) -> f64 {
        stats::median(&self.windows)
    }
}

/// What a window with nothing in it shows.
fn reading_ns() -> f64 {
    let empty: Vec<f64> = (0..33)
        .map(|_| {
            let before = now_ns();
            (now_ns() - before) as f64
        })
        .collect();
    stats::median(&empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_is_not_paid_for_and_working_is() {
        let mut sleeps = Windows::new();
        sleeps.around(|| std::thread::sleep(std::time::Duration::from_millis(20)));
        assert!(sleeps.median_ns() < 10e6, "{} ns for a sleep", sleeps.median_ns());
        let mut work = Windows::new();
        work.around(|| {
            let before = now_ns();
            while now_ns() - before < 2_000_000 {}
        });
        assert!(work.median_ns() >= 1.9e6, "{} ns for 2 ms of work", work.median_ns());
    }

    #[test]
    fn an_empty_window_is_next_to_nothing() {
        let mut windows = Windows::new();
        for _ in 0..101 {
            windows.around(|| ());
        }
        // Whatever a reading costs on this machine, it is taken off.
        let (window, reading) = (windows.median_ns(), reading_ns());
        assert!(window < reading / 2.0, "{window} ns for nothing, {reading} ns for a reading");
    }
}
