//! What the interval of a look says.
//!
//! ```text
//!                              -threshold    0     +threshold
//!   real, up, matters               |        |          | [---]
//!   real, up, open whether          |        |       [--|-]
//!   real, up, too small to matter   |        | [---]    |
//!   not real, too small to matter   |     [--|--]       |
//!   nothing can be said yet         |   [----|----------|----]
//! ```
//!
//! Callers: the lab, after each look.

use crate::ratio::Interval;

/// What an interval of a difference says, against the size from which on a difference matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Where the difference lies; open if zero is in the interval.
    pub direction: Direction,
    /// Yes: the whole interval is at or beyond the threshold, to one side. No: all of it is within,
    /// whether or not there is a difference. Open: neither.
    pub matters: Matters,
}

/// Whether a difference is large enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Matters {
    /// The whole interval lies at or beyond the threshold.
    Yes,
    /// The whole interval lies within it.
    No,
    /// The interval straddles it.
    Open,
}

/// The sign of a difference, as far as its interval tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// All of the interval is above zero: B has more than A.
    Up,
    /// All of it is below zero.
    Down,
    /// Zero is in it.
    Open,
}

impl Answer {
    /// Reads the interval of a difference, such as that of ln B - ln A. The threshold is in the
    /// same unit and above zero: for two per cent, `0.02_f64.ln_1p()`.
    pub fn of(interval: Interval, threshold: f64) -> Answer {
        assert!(
            threshold.is_finite() && threshold > 0.0,
            "a threshold is above zero, not {threshold}"
        );
        let Interval { low, high } = interval;
        assert!(low <= high, "an interval from {low} to {high}");
        let direction = if low > 0.0 {
            Direction::Up
        } else if high < 0.0 {
            Direction::Down
        } else {
            Direction::Open
        };
        let matters = if low >= threshold || high <= -threshold {
            Matters::Yes
        } else if low > -threshold && high < threshold {
            Matters::No
        } else {
            Matters::Open
        };
        Answer { direction, matters }
    }

    /// Whether there is a difference: the interval leaves zero out.
    pub fn is_real(&self) -> bool {
        self.direction != Direction::Open
    }

    /// Whether it is known if the difference matters: the experiment may stop.
    pub fn is_decided(&self) -> bool {
        self.matters != Matters::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The picture above, line by line.
    #[test]
    fn each_position_of_the_interval_has_its_answer() {
        let answer = |low, high| Answer::of(Interval { low, high }, 1.0);
        let (yes, no, open) = (Matters::Yes, Matters::No, Matters::Open);
        for (low, high, direction, matters) in [
            (1.0, 2.0, Direction::Up, yes),
            (0.5, 1.0, Direction::Up, open),
            (0.1, 0.9, Direction::Up, no),
            (-0.3, 0.3, Direction::Open, no),
            (-0.5, 2.0, Direction::Open, open),
            (-1.0, 0.5, Direction::Open, open),
            (-2.0, -1.0, Direction::Down, yes),
            (-0.9, -0.1, Direction::Down, no),
            (0.0, 0.5, Direction::Open, no),
        ] {
            assert_eq!(answer(low, high), Answer { direction, matters }, "{low} to {high}");
        }
    }
}
