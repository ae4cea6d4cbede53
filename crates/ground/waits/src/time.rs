//! Time as the engine sees it: nanoseconds since its world began.
//!
//! A world is a Linux process or a simulated machine. Both start near zero, so a time stamp never
//! says anything about the calendar, and an event log of one seed is the same on every run.

use std::fmt;

/// A point in time: nanoseconds since this world began. Never goes backwards within a thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The moment at which the world began.
    pub const ZERO: Timestamp = Timestamp(0);

    /// The point `ns` nanoseconds after the world began.
    pub const fn from_nanos(ns: u64) -> Timestamp {
        Timestamp(ns)
    }

    /// Nanoseconds since the world began.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time since `earlier`; zero when it lies ahead, as it may between two CPUs' clocks.
    pub const fn since(self, earlier: Timestamp) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// The point `length` later.
    pub const fn after(self, length: Nanos) -> Timestamp {
        Timestamp(self.0.saturating_add(length.0))
    }
}

/// A length of time in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Nanos = Nanos(0);

    /// `us` microseconds.
    pub const fn from_micros(us: u64) -> Nanos {
        Nanos(us.saturating_mul(1_000))
    }

    /// `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Nanos {
        Nanos(ms.saturating_mul(1_000_000))
    }

    /// `s` seconds.
    pub const fn from_secs(s: u64) -> Nanos {
        Nanos(s.saturating_mul(1_000_000_000))
    }

    /// Whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Seconds as a fraction, for printing and for rates.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl fmt::Display for Nanos {
    /// Three figures and the unit that fits: `412 ns`, `3.20 us`, `17.5 ms`, `2.05 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        let (value, unit) = match self.0 {
            0..1_000 => return write!(f, "{} ns", self.0),
            1_000..1_000_000 => (ns / 1e3, "us"),
            1_000_000..1_000_000_000 => (ns / 1e6, "ms"),
            _ => (ns / 1e9, "s"),
        };
        let decimals = if value < 10.0 {
            2
        } else if value < 100.0 {
            1
        } else {
            0
        };
        write!(f, "{value:.decimals$} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A length that doesn't fit becomes the longest: a lock wait of that length doesn't end at
    /// once.
    #[test]
    fn a_length_that_does_not_fit_is_the_longest() {
        let longest = Nanos(u64::MAX);
        assert_eq!(Nanos::from_secs(18_446_744_074), longest);
        assert_eq!(Nanos::from_millis(u64::MAX), longest);
        assert_eq!(Nanos::from_micros(u64::MAX), longest);
    }

    /// A duration prints with three figures in the unit a reader would choose.
    #[test]
    fn a_duration_prints_in_the_unit_that_fits() {
        let shown: Vec<String> = [412, 3_204, 17_460_000, 2_050_000_000, 640_000_000_000]
            .iter()
            .map(|ns| Nanos(*ns).to_string())
            .collect();
        assert_eq!(shown, ["412 ns", "3.20 us", "17.5 ms", "2.05 s", "640 s"]);
    }

    /// The clocks of two CPUs may disagree a little. A length of time is never negative.
    #[test]
    fn a_length_of_time_is_never_negative() {
        assert_eq!(Timestamp::from_nanos(5).since(Timestamp::from_nanos(9)), Nanos::ZERO);
    }
}
