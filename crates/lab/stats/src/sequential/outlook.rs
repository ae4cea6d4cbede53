//! How many more pairs would decide.
//!
//! The usual answer, "so many if the estimate and its spread stay as they are", is right only if
//! they stay. They won't: after twenty pairs the effect may as well be half of the estimate, and
//! then four times as many pairs are needed. Here the effect and the spread are unknown, with what
//! the pairs so far say of them, and the probability of a decision is the mean over both: the
//! assurance (O'Hagan et al. 2005) or predictive power (Spiegelhalter et al. 1986).
//!
//! With n pairs so far, an estimate m and a deviation s of a pair on f degrees of freedom, N pairs
//! in all will have
//!
//! ```text
//!   deviation  sigma^2 = f s^2 / chi-square(f)
//!   estimate   normal about m, with variance sigma^2 (1 / n - 1 / N)
//!   interval   estimate +- critical(N) * deviation of all N / sqrt(N)
//! ```
//!
//! The critical value is that of looks all the time under O'Brien-Fleming-like spending,
//! z sqrt(budget / N) with z the normal quantile at 1 - alpha / 4. It is a little higher than that
//! of looks now and then.
//!
//! # When it holds
//! The noise of the pairs to come must be that of the pairs so far. The numbers are said from
//! [`PAIRS_MIN`] pairs on, once the standard error is well below the threshold; before, the pairs
//! know too little of the effect. And an effect just as large as the threshold can't be decided by
//! any number of pairs ([`Decision::Matters`]): a number is then said rarely, and wrong.
//!
//! Of 1,000 experiments with normal noise, a budget of 300 pairs and looks after every five: in how
//! many per cent of the undecided ones a number was said, its mean, and in how many per cent of
//! those the decision had come by then. *sd*: the deviation of a pair, *0* to *2*: the effect, both
//! in thresholds; *after*: the pairs when it was asked. *Not said*: said in 1 % at most, where the
//! spread was underestimated by chance, and then not reliable.
//!
//! | decision | sd | after |             0 |          0.5 |           1 |            2 |
//! |----------|---:|------:|--------------:|-------------:|------------:|-------------:|
//! | finding  |  1 |    20 |   100, 63, 99 |  100, 66, 88 | 100, 51, 97 | 100, 27, 100 |
//! | finding  |  1 |    40 |  100, 29, 100 |  100, 44, 94 | 100, 22, 98 |  100, 5, 100 |
//! | finding  |  2 |    20 |   96, 135, 99 |  96, 130, 85 | 96, 112, 94 |   96, 56, 97 |
//! | finding  |  2 |    40 | 100, 111, 100 | 100, 110, 89 | 100, 84, 96 |  100, 23, 98 |
//! | finding  |  4 |    20 |      not said |     not said |    not said |     not said |
//! | finding  |  4 |    40 |   49, 224, 94 |  49, 216, 85 | 49, 189, 88 |   49, 96, 94 |
//! | matters  |  1 |    20 |    99, 77, 99 |  61, 121, 90 |   7, 181, 6 |   99, 58, 97 |
//! | matters  |  1 |    40 |  100, 29, 100 |   86, 93, 94 |  4, 183, 10 |  100, 23, 98 |
//! | matters  |  2 |    20 |  15, 199, 100 |  12, 200, 86 |   5, 192, 4 |  60, 122, 91 |
//! | matters  |  2 |    40 |  69, 150, 100 |  32, 161, 88 |  4, 186, 10 |   84, 94, 95 |
//! | matters  |  4 |    20 |      not said |     not said |    not said |     not said |
//! | matters  |  4 |    40 |      not said |     not said |    not said |  17, 143, 76 |
//!
//! Callers: the lab.
//! Sources: O'Hagan, Stevens & Campbell, "Assurance in Clinical Trial Design" (Pharmaceutical
//! Statistics 2005); Spiegelhalter, Freedman & Blackburn, "Monitoring Clinical Trials: Conditional
//! or Predictive Power?" (Controlled Clinical Trials 1986).

use super::{BOUND_MAX, pairs_critical};
use crate::adjusted::Estimate;
use crate::distributions::Distribution;

/// What the pairs are to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// That there is a difference, or that it is too small to matter: anything that can be said.
    Finding,
    /// Whether the difference matters. Never, if it is just as large as the threshold.
    Matters,
}

/// An experiment under way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// What is to be decided.
    pub decision: Decision,
    /// From which size on a difference matters, in the unit of the estimate.
    pub threshold: f64,
    /// The declared error.
    pub alpha: f64,
    /// How many pairs are planned in all. More can be had by a larger plan, whose last look they
    /// then are.
    pub budget: u32,
    /// The most pairs in all that are of any use.
    pub reach: u32,
}

/// Fewer pairs know too little of their own spread.
pub const PAIRS_MIN: u32 = 20;

/// How probable a decision must be for the number of pairs to be said, as a mean over the effects
/// that there may be: with 0.9 it is 0.8 for the worst of them, half a threshold.
const ASSURANCE: f64 = 0.9;

/// Nothing is said while the standard error is above this many thresholds with probability 0.1.
const SURE_ENOUGH: f64 = 0.75;

/// The number of slices of equal probability in which the spread is looked at.
const SLICES: u32 = 16;

impl Outlook {
    /// How many more pairs bring a decision with a probability of 80 %, to a twentieth of all. None
    /// if that would take more than [`Outlook::reach`] in all, or if it is too early to say.
    ///
    /// # Panics
    /// If the threshold isn't above zero, or alpha not between 0 and 1.
    pub fn more_pairs(&self, so_far: &Estimate) -> Option<u32> {
        assert!(self.threshold > 0.0, "a threshold is above zero, not {}", self.threshold);
        assert!(self.alpha > 0.0 && self.alpha < 1.0, "an error of {}", self.alpha);
        if self.is_too_early(so_far) {
            return None;
        }
        let spreads = spreads(so_far);
        let mut all = so_far.pairs + 1;
        // The probability doesn't rise all the way (an estimate just beyond a bound may fall back),
        // so each number is tried, in steps of a twentieth.
        while all <= self.reach {
            if self.probability_with(so_far, &spreads, all) >= ASSURANCE {
                return Some(all - so_far.pairs);
            }
            all += (all / 20).max(1);
        }
        None
    }

    /// Whether the pairs so far know too little of the effect to compare it with the threshold.
    fn is_too_early(&self, so_far: &Estimate) -> bool {
        let law = Distribution::ChiSquare { degrees: so_far.degrees };
        let at_most = so_far.standard_error * (so_far.degrees / law.quantile(0.1)).sqrt();
        so_far.pairs < PAIRS_MIN || at_most > SURE_ENOUGH * self.threshold
    }

    /// The probability that the interval of so many pairs in all, more than there are, decides.
    pub fn probability(&self, so_far: &Estimate, all: u32) -> f64 {
        assert!(all > so_far.pairs, "{all} pairs in all, of which there are {}", so_far.pairs);
        self.probability_with(so_far, &spreads(so_far), all)
    }

    fn probability_with(&self, so_far: &Estimate, spreads: &[f64], all: u32) -> f64 {
        let (have, count) = (f64::from(so_far.pairs), f64::from(all));
        let z = Distribution::Normal.upper_quantile(self.alpha / 4.0);
        let z = (z * (f64::from(self.budget.max(all)) / count).sqrt()).min(BOUND_MAX);
        let degrees = so_far.degrees + count - have;
        let critical = pairs_critical(z, all, degrees);
        let square = so_far.standard_error.powi(2) * have;
        let with = |truth: &f64| {
            let seen = (so_far.degrees * square + (count - have) * truth) / degrees;
            let margin = critical * (seen / count).sqrt();
            let luck = (truth * (1.0 / have - 1.0 / count)).sqrt();
            self.decided(so_far.effect, luck, margin)
        };
        spreads.iter().map(with).sum::<f64>() / spreads.len() as f64
    }

    /// The probability of a decision, for an estimate that is normal about `center` with deviation
    /// `luck`, in an interval with this margin.
    fn decided(&self, center: f64, luck: f64, margin: f64) -> f64 {
        // The probability that the estimate is less than this far from zero.
        let within = |size: f64| {
            if size <= 0.0 {
                return 0.0;
            }
            let cdf = |x: f64| Distribution::Normal.cdf((x - center) / luck.max(f64::MIN_POSITIVE));
            cdf(size) - cdf(-size)
        };
        let small = within(self.threshold - margin);
        let large = match self.decision {
            Decision::Finding => margin.max(self.threshold - margin),
            Decision::Matters => self.threshold + margin,
        };
        small + 1.0 - within(large)
    }
}

/// What the variance of a pair may be, in slices of equal probability.
fn spreads(so_far: &Estimate) -> Vec<f64> {
    let law = Distribution::ChiSquare { degrees: so_far.degrees };
    let square = so_far.standard_error.powi(2) * f64::from(so_far.pairs);
    (0..SLICES)
        .map(|at| (f64::from(at) + 0.5) / f64::from(SLICES))
        .map(|share| square * so_far.degrees / law.quantile(share))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(effect: f64, pairs: u32) -> Estimate {
        let standard_error = 1.0 / f64::from(pairs).sqrt();
        Estimate {
            effect,
            standard_error,
            degrees: f64::from(pairs - 1),
            pairs,
            covariates: Vec::new(),
            weighting: crate::adjusted::Weighting { ratio: 1.0, taken: 0.0 },
        }
    }

    fn more(decision: Decision, effect: f64) -> Option<u32> {
        let outlook = Outlook { decision, threshold: 0.5, alpha: 0.05, budget: 400, reach: 400 };
        outlook.more_pairs(&estimate(effect, 20))
    }

    #[test]
    fn a_clear_effect_needs_fewer_pairs_than_one_at_the_threshold() {
        for decision in [Decision::Finding, Decision::Matters] {
            let [none, clear] = [0.0, 2.0].map(|effect| more(decision, effect).expect("within"));
            assert!(clear < 60 && none < 380, "{decision:?}: {none}, {clear}");
        }
        assert_eq!(more(Decision::Matters, 0.5), None);
        assert!(more(Decision::Finding, 0.5).is_some());
    }

    #[test]
    fn what_the_budget_does_not_hold_is_not_promised() {
        let outlook = Outlook {
            decision: Decision::Finding,
            threshold: 0.01,
            alpha: 0.05,
            budget: 60,
            reach: 60,
        };
        assert_eq!(outlook.more_pairs(&estimate(0.0, 20)), None);
    }

    /// Behind the budget the bar is that of a larger plan's last look: what a plan of half the
    /// pairs says is what one of all of them says.
    #[test]
    fn pairs_behind_the_budget_are_those_of_a_larger_plan() {
        let with = |budget| {
            let decision = Decision::Finding;
            let outlook = Outlook { decision, threshold: 0.2, alpha: 0.05, budget, reach: 1_000 };
            outlook.more_pairs(&Estimate { standard_error: 0.1, ..estimate(0.1, 100) })
        };
        let [small, large] = [150, 300].map(|budget| with(budget).expect("within reach"));
        assert!(small > 50 && small <= large, "{small} {large}");
        assert!(large < 400, "{large}");
    }
}
