//! The verdict on a goal: what an interval allows to be said, and nothing beyond it.
//!
//! ```text
//!              goal
//!   Missed      |        [----x----] |              upper end below the goal
//!   Undecided   |              [-----|---x---]      the interval straddles it
//!   Met         |                    |[---x------]  lower end reaches it
//! ```
//!
//! Callers: the races of `bench`, for their cases.

use crate::ratio::Interval;

/// Whether a goal was reached, as far as the interval allows to say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The interval's lower end reaches the goal.
    Met,
    /// The interval's upper end is below the goal.
    Missed,
    /// The interval straddles the goal: more pairs, or a quieter machine, might decide.
    Undecided,
}

impl Verdict {
    /// The verdict on `goal`, where larger is better.
    pub fn of(interval: Interval, goal: f64) -> Verdict {
        assert!(goal.is_finite(), "a goal is a finite number, not {goal}");
        if interval.low >= goal {
            Verdict::Met
        } else if interval.high < goal {
            Verdict::Missed
        } else {
            Verdict::Undecided
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Verdict::Met => "met",
            Verdict::Missed => "missed",
            Verdict::Undecided => "undecided",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(low: f64, high: f64) -> Verdict {
        Verdict::of(Interval { low, high }, 0.95)
    }

    #[test]
    fn a_lower_end_at_or_above_the_goal_meets_it() {
        assert_eq!(verdict(0.95, 1.20), Verdict::Met);
        assert_eq!(verdict(0.96, 0.97), Verdict::Met);
    }

    #[test]
    fn an_upper_end_below_the_goal_misses_it() {
        assert_eq!(verdict(0.80, 0.9499), Verdict::Missed);
    }

    #[test]
    fn an_interval_that_straddles_or_only_touches_the_goal_decides_nothing() {
        assert_eq!(verdict(0.90, 1.00), Verdict::Undecided);
        assert_eq!(verdict(0.90, 0.95), Verdict::Undecided);
    }
}
