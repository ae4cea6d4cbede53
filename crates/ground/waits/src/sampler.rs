//! Chooses the waits around which the thread's CPU and run-queue clocks are read.
//!
//! A wait's wall time holds the CPU time of the system call and the thread's run-queue delay after
//! waking. Both must be taken out of the thread's totals, or they would be counted twice. Reading
//! the two clocks takes 2-4 us, which is too much for every wait. So one wait in N is sampled, at
//! random distances so as not to fall in step with the load. N adapts so that sampling costs at
//! most 0.4 % of the session's time. A session with few waits has N = 1 and an exact account. In
//! the simulator, where reading is free, N is always 1.
//!
//! CPU time differs a hundredfold between waits of one event, but little between those of one
//! length. So the samples of each event stand for the waits of their own stratum of lengths, whose
//! total time is known.
//!
//! Run-queue delay comes in few and large pieces: one wait in a thousand stands a time slice in the
//! queue. Whether the samples catch that wait moves their sum by per cents of elapsed time. So that
//! sum isn't trusted (see [`TimeAccount`](crate::TimeAccount)): samples come in pairs of waits, and
//! the gap between the two waits of a pair is measured too.

use std::cell::Cell;

use crate::{Nanos, Timestamp};

/// The way in which waits are chosen for sampling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sampling {
    /// Every wait is sampled, which is exact. For worlds in which reading the clocks costs nothing.
    EveryWait,
    /// One wait in N is sampled; N adapts to cost at most 0.4 % of elapsed time.
    Adaptive,
}

/// The inverse of the share of elapsed time that sampling may cost (0.4 %).
const COST_SHARE_INVERSE: u64 = 250;
/// The upper limit of N.
const EVERY_MAX: u64 = 1 << 16;
/// The number of samples after which N is adapted.
const WINDOW: u32 = 16;
/// The number of allowed intervals after which a sample is overdue.
const OVERDUE_INTERVALS: u64 = 64;

#[derive(Debug)]
pub(crate) struct Sampler {
    sampling: Cell<Sampling>,
    /// N: one wait in N is sampled.
    every: Cell<u32>,
    /// The number of waits until the end of the next pair.
    countdown: Cell<u32>,
    /// The window by which N is judged: its beginning, the number of its samples, and their cost.
    window: Cell<(Timestamp, u32, Nanos)>,
    /// When N is reset to one if no sample comes before: it is then too large for the load.
    overdue: Cell<Timestamp>,
    random: Cell<u64>,
}

impl Sampler {
    pub(crate) fn new(sampling: Sampling, started: Timestamp) -> Sampler {
        Sampler {
            sampling: Cell::new(sampling),
            every: Cell::new(1),
            countdown: Cell::new(1),
            window: Cell::new((started, 0, Nanos::ZERO)),
            overdue: Cell::new(Timestamp::from_nanos(u64::MAX)),
            random: Cell::new(started.as_nanos() | 1),
        }
    }

    /// Chooses waits in another way from `now` on, and returns the way until now. An N of 1 has the
    /// next wait sampled and each one behind it, until N is adapted.
    pub(crate) fn set(&self, sampling: Sampling, now: Timestamp) -> Sampling {
        self.every.set(1);
        self.countdown.set(1);
        self.window.set((now, 0, Nanos::ZERO));
        self.overdue.set(Timestamp::from_nanos(u64::MAX));
        self.sampling.replace(sampling)
    }

    #[inline]
    pub(crate) fn due(&self) -> bool {
        let left = self.countdown.get() - 1;
        if left > 1 {
            self.countdown.set(left);
            return false;
        }
        self.countdown.set(if left == 1 { 1 } else { self.distance() });
        true
    }

    /// Called after each sample with its cost. Moves N towards the allowed share.
    pub(crate) fn sampled(&self, now: Timestamp, cost: Nanos) {
        if self.sampling.get() == Sampling::EveryWait {
            return;
        }
        let allowed = cost.0.saturating_mul(COST_SHARE_INVERSE);
        self.overdue.set(now.after(Nanos(allowed.saturating_mul(OVERDUE_INTERVALS))));
        let (since, samples, costs) = self.window.get();
        let (samples, costs) = (samples + 1, Nanos(costs.0 + cost.0));
        if samples < WINDOW {
            self.window.set((since, samples, costs));
            return;
        }
        self.window.set((now, 0, Nanos::ZERO));
        let took = now.since(since).0.max(1);
        let every = u64::from(self.every.get());
        let wanted = every.saturating_mul(costs.0.saturating_mul(COST_SHARE_INVERSE)) / took;
        let wanted = wanted.clamp(every / 4, every * 4).clamp(1, EVERY_MAX);
        self.every.set(u32::try_from(wanted).expect("at most EVERY_MAX"));
    }

    /// Called at the end of every wait. After a storm of waits N returns to one without first
    /// counting N slow waits.
    #[inline]
    pub(crate) fn wait_ended(&self, now: Timestamp) {
        if now > self.overdue.get() {
            self.every.set(1);
            self.countdown.set(1);
            self.overdue.set(Timestamp::from_nanos(u64::MAX));
        }
    }

    /// A distance to the end of the next pair, drawn evenly from 2 ..= 4N - 2, so 2N on average
    /// (xorshift64, Marsaglia 2003).
    fn distance(&self) -> u32 {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        2 + (x % u64::from(4 * self.every.get() - 3)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `waits` waits `gap_ns` apart, each sample costing `cost_ns`; returns the samples taken.
    fn run(sampler: &Sampler, waits: u64, gap_ns: u64, cost_ns: u64) -> u64 {
        let mut now = sampler.window.get().0.as_nanos();
        let mut samples = 0;
        for _ in 0..waits {
            now += gap_ns;
            if sampler.due() {
                samples += 1;
                sampler.sampled(Timestamp::from_nanos(now), Nanos(cost_ns));
            }
            sampler.wait_ended(Timestamp::from_nanos(now));
        }
        samples
    }

    /// 100,000 waits a second and 4 us a sample: the cost settles at or under its share.
    #[test]
    fn sampling_costs_at_most_its_share() {
        let sampler = Sampler::new(Sampling::Adaptive, Timestamp::ZERO);
        let samples = run(&sampler, 1_000_000, 10_000, 4_000);
        let share = (samples * 4_000) as f64 / (1_000_000.0 * 10_000.0);
        assert!(share <= 0.0042, "share {share}");
        assert!(samples > 1_000, "only {samples} samples");
    }

    /// A session that waits a hundred times a second has every wait sampled.
    #[test]
    fn few_waits_are_all_sampled() {
        let sampler = Sampler::new(Sampling::Adaptive, Timestamp::ZERO);
        assert_eq!(run(&sampler, 1_000, 10_000_000, 4_000), 1_000);
    }

    /// After a storm of waits has passed, N comes back to one.
    #[test]
    fn the_distance_recovers_after_a_storm() {
        let sampler = Sampler::new(Sampling::Adaptive, Timestamp::ZERO);
        let _ = run(&sampler, 1_000_000, 1_000, 4_000);
        assert!(sampler.every.get() > 100);
        assert!(run(&sampler, 100, 50_000_000, 4_000) >= 95);
        assert_eq!(sampler.every.get(), 1);
    }

    /// In the middle of a storm of waits every one is sampled, from the moment that this is set
    /// until it is set back. Then N adapts again.
    #[test]
    fn every_wait_is_sampled_for_a_while() {
        let sampler = Sampler::new(Sampling::Adaptive, Timestamp::ZERO);
        let _ = run(&sampler, 1_000_000, 1_000, 4_000);
        assert!(sampler.every.get() > 100);
        let now = sampler.window.get().0;
        assert_eq!(sampler.set(Sampling::EveryWait, now), Sampling::Adaptive);
        assert_eq!(run(&sampler, 10_000, 1_000, 4_000), 10_000);
        assert_eq!(sampler.set(Sampling::Adaptive, now), Sampling::EveryWait);
        assert!(run(&sampler, 1_000_000, 1_000, 4_000) < 100_000);
    }
}
