//! When transactions arrive in an open loop.
//!
//! In a closed loop a session begins its next transaction when the last has ended, so a system that
//! stalls is also asked less, and the stall counts once. In an open loop transactions arrive
//! whether or not the system keeps up. One that arrives while its session is busy waits, and its
//! latency counts from the arrival: a stall counts for everybody whom it keeps waiting.
//!
//! ```text
//!   arrivals   1   2 3        4  5            exponential distances, of each session its own
//!   session    [1 ][2 ][3 ]   [4][5 ]
//!   latency    |--||--|                       of 1 and 2
//!                    |-----|                  of 3: it waited for 2
//! ```
//!
//! Callers: `drive`.
//! Sources: Schroeder, Wierman & Harchol-Balter, "Open Versus Closed: A Cautionary Tale" (NSDI
//! 2006); Tene, "How NOT to Measure Latency" (2013), for what is left out otherwise.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use waits::Timestamp;

/// The arrivals of one session.
pub(crate) struct Arrivals {
    random: Xoshiro256PlusPlus,
    /// Between two of them, on average.
    mean_ns: f64,
    last: Timestamp,
}

impl Arrivals {
    /// Of session `number`, one of `sessions` that together have `rate` a second from `begin` on.
    /// They are the same whenever a load with these numbers and this seed runs.
    pub(crate) fn new(
        rate: u32,
        sessions: u32,
        number: u32,
        seed: u64,
        begin: Timestamp,
    ) -> Arrivals {
        // Not the session's choices of rows, which have this seed but for the complement.
        let seed = !seed.wrapping_mul(1_000_003).wrapping_add(number.into());
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mean_ns = 1e9 * f64::from(sessions) / f64::from(rate.max(1));
        Arrivals { random, mean_ns, last: begin }
    }

    /// The next one.
    pub(crate) fn next(&mut self) -> Timestamp {
        let share: f64 = self.random.random_range(0.0..1.0);
        let distance = -(1.0 - share).ln() * self.mean_ns;
        self.last = self.last.after(waits::Nanos(distance as u64));
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exponential distances: their deviation is their mean. Sessions don't arrive together.
    #[test]
    fn arrivals_have_their_rate_and_are_spread_as_a_poisson_process() {
        let of = |number, seed| {
            let mut arrivals = Arrivals::new(2_000, 4, number, seed, Timestamp::ZERO);
            let mut before = Timestamp::ZERO;
            let mut distance = || {
                let next = arrivals.next();
                let distance = next.since(before).0 as f64 / 1e6;
                before = next;
                distance
            };
            (0..100_000).map(|_| distance()).collect::<Vec<f64>>()
        };
        let distances = of(3, 1);
        let mean = distances.iter().sum::<f64>() / distances.len() as f64;
        let squares = distances.iter().map(|distance| (distance - mean).powi(2)).sum::<f64>();
        let deviation = (squares / distances.len() as f64).sqrt();
        assert!((mean - 2.0).abs() < 0.03, "a mean of {mean} ms");
        assert!((deviation - 2.0).abs() < 0.04, "a deviation of {deviation} ms");
        assert_ne!(of(4, 1)[..5], distances[..5]);
        assert_eq!(of(3, 1)[..5], distances[..5]);
        assert_ne!(of(3, 2)[..5], distances[..5], "rounds have bursts of their own (WL22)");
    }
}
