//! The mean difference of pairs, adjusted for what is known to have disturbed them.
//!
//! ```text
//!   d_i = tau + gamma' z_i + e_i
//!
//!   d    ln(throughput of B) - ln(throughput of A)   tau    the effect of the setting
//!   z    covariates, B - A                           gamma  what a unit of a covariate costs
//! ```
//!
//! A hypervisor took the CPU while B ran, or the device was slower while A did: the difference that
//! this made is subtracted, and the noise that is left is smaller. A covariate must be something
//! that the setting can't affect (CPU that was stolen, the latency of a probe of the device); else
//! the adjustment takes a part of the effect away. Because the order within a pair is drawn by
//! lot, the expected z is zero, and tau is the effect at z = 0.
//!
//! # Weights
//! A pair whose surroundings were restless says less. How much less is not told by its d: a rare
//! stall that the setting causes is a part of the effect and must never be weighted away. It is
//! told by the pair's *disturbance* alone, by a rule that was stated before:
//!
//!   1. Fit without weights, and fit ln e^2 = a + b disturbance to what is left.
//!   2. Take b less its own standard error, and no less than zero: noise must not make weights.
//!   3. The weight is exp(-b disturbance), and no weight is more than [`WEIGHT_RATIO_MAX`] times
//!      another.
//!
//! With fewer than [`WEIGHTED_PAIRS_MIN`] pairs all weights are equal.
//!
//! # Standard error
//! It is HC3 (MacKinnon & White 1985), which is robust against noise that isn't the same in every
//! pair, with as many degrees of freedom as there are pairs beyond the coefficients. HC2 with the
//! degrees of Bell and McCaffrey was tried: it covers a single interval to the point, but with
//! looks its total error came to 5.3 to 5.7 % with covariates, where 5 % were declared. HC3 keeps
//! the promise; without covariates its variance is wider by n / (n - 1).
//!
//! # What it promises, and what it keeps
//! In per cent of 40,000 experiments for each figure (`cargo run --release -p stats --example
//! calibrate` prints the table): how often the nominal 95 % interval of so many pairs holds the
//! truth (in the rest equals would be called different), and how often equals are called different
//! at any of the looks after every five pairs to 40 and to 100 pairs, where 5 % were declared. *z*:
//! with two covariates.
//!
//! | noise                    | z   |    10 |    15 |    20 |    40 |   100 | to 40 | to 100 |
//! |--------------------------|-----|------:|------:|------:|------:|------:|------:|-------:|
//! | normal                   | no  |  96.1 |  95.8 |  95.6 |  95.4 |  95.3 |   4.8 |    5.0 |
//! | normal                   | yes |  96.1 |  96.2 |  95.6 |  95.5 |  95.4 |   4.7 |    4.8 |
//! | skewed (exponential)     | no  |  96.6 |  96.2 |  95.9 |  95.3 |  94.9 |   4.2 |    4.5 |
//! | skewed (exponential)     | yes |  96.6 |  96.7 |  96.1 |  95.8 |  95.1 |   3.9 |    4.4 |
//! | heavy tails (t, 3 df)    | no  |  96.5 |  96.1 |  95.9 |  95.6 |  95.4 |   4.1 |    4.5 |
//! | heavy tails (t, 3 df)    | yes |  96.5 |  96.6 |  96.0 |  96.0 |  95.6 |   4.0 |    4.3 |
//! | autocorrelated (AR 0.8)  | no  |  95.9 |  95.6 |  95.5 |  95.3 |  95.2 |   4.8 |    4.8 |
//! | autocorrelated (AR 0.8)  | yes |  95.9 |  96.1 |  95.5 |  95.6 |  95.3 |   4.7 |    4.7 |
//! | bursts of a neighbour    | no  |  96.0 |  95.9 |  95.6 |  95.4 |  95.1 |   4.5 |    4.8 |
//! | bursts of a neighbour    | yes |  96.0 |  96.2 |  95.4 |  95.4 |  95.2 |   4.6 |    4.7 |
//! | restless in bursts       | no  |  97.5 |  97.3 |  97.1 |  96.2 |  95.4 |   3.2 |    3.9 |
//! | restless in bursts       | yes |  97.5 |  97.5 |  96.3 |  96.0 |  95.4 |   4.0 |    4.8 |
//! | two states               | no  |  95.6 |  95.6 |  95.4 |  95.0 |  95.1 |   4.9 |    4.9 |
//! | two states               | yes |  95.6 |  95.8 |  95.4 |  95.3 |  95.1 |   4.8 |    4.9 |
//!
//! *Noise* is that of the log throughput of one block. A neighbour's bursts are seen by a covariate
//! and make the disturbance; elsewhere both are chance and explain nothing. *Restless*: in a burst
//! blocks scatter three to eleven times as much; few pairs then cover more than they say, as with
//! all tails so heavy.
//!
//! With covariates and weights the interval of 40 pairs is 0.87 times as wide where a neighbour
//! slows blocks down (two blocks of one pair mostly meet the same burst, which cancels anyway),
//! 0.52 times where it makes them restless, and 1.05 times where the covariates explain nothing.
//!
//! Callers: the lab.
//! Sources: Long & Ervin, "Using Heteroscedasticity Consistent Standard Errors in the Linear
//! Regression Model" (American Statistician 2000), for HC3 in small samples; Imbens & Kolesar,
//! "Robust Standard Errors in Small Samples" (Review of Economics and Statistics 2016); Lin,
//! "Agnostic Notes on Regression Adjustments to Experimental Data" (Annals of Applied Statistics
//! 2013); Harvey, "Estimating Regression Models with Multiplicative Heteroscedasticity"
//! (Econometrica 1976), for the weights; Deng et al., "Improving the Sensitivity of Online
//! Controlled Experiments" (WSDM '13), for covariates from outside.

use crate::fit::{self, Fit};
use crate::ratio::Interval;
use crate::sequential::pairs_critical;
use crate::summary::mean;

/// The number of pairs that each covariate needs: two need twice as many. With ten, HC3 is too wide
/// where the noise is skewed (97.3 % for 95).
pub const PAIRS_PER_COVARIATE: u32 = 15;

/// With fewer pairs all weights are equal.
pub const WEIGHTED_PAIRS_MIN: u32 = 20;

/// The largest weight over the smallest.
pub const WEIGHT_RATIO_MAX: f64 = 20.0;

/// For logarithms, a square of what is left is at least this share of their mean.
const SQUARE_MIN: f64 = 1e-4;

/// Two runs or blocks next to each other in time, one of A and one of B in an order drawn by lot.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// ln(B) - ln(A) of the figure that is compared.
    pub difference: f64,
    /// B - A of what the setting can't affect, in the order of the names.
    pub covariates: Vec<f64>,
    /// How disturbed the pair was, zero or more; its unit doesn't matter.
    pub disturbance: f64,
}

impl Pair {
    /// A pair of which nothing but its difference is known.
    pub fn bare(difference: f64) -> Pair {
        Pair { difference, covariates: Vec::new(), disturbance: 0.0 }
    }
}

/// The mean difference, and how sure it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The effect of the setting: tau.
    pub effect: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The degrees of freedom of the standard error.
    pub degrees: f64,
    /// How many pairs it rests on.
    pub pairs: u32,
    /// What became of each covariate, in the order of the names.
    pub covariates: Vec<Covariate>,
    /// What the weights did.
    pub weighting: Weighting,
}

/// A covariate and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Covariate {
    /// As the caller names it.
    pub name: String,
    /// Whether it is in the model.
    pub part: Part,
}

/// What a covariate does in the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    /// It explains a part of the differences.
    Used {
        /// How the difference changes with a unit of it.
        gamma: f64,
        /// The HC3 standard error of that.
        standard_error: f64,
        /// The share of the variance of the (weighted) differences that it took, after the
        /// covariates before it: the shares of all covariates add up to the model's.
        r_squared: f64,
    },
    /// It has the same value in all pairs.
    WithoutVariance,
    /// The covariates before it say the same already.
    Redundant,
    /// There are fewer than [`PAIRS_PER_COVARIATE`] pairs for it.
    TooFewPairs,
}

/// What the weights did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighting {
    /// The largest weight over the smallest: 1 if all are equal.
    pub ratio: f64,
    /// The share of the squared standard error that they took; below zero if they added to it.
    pub taken: f64,
}

impl Estimate {
    /// The adjusted mean difference. Covariates are used in the order of their names as far as the
    /// pairs go. None with fewer than two pairs.
    ///
    /// # Panics
    /// If a pair hasn't a covariate for each name, or a figure isn't finite, or a disturbance is
    /// below zero.
    pub fn of(pairs: &[Pair], names: &[&str]) -> Option<Estimate> {
        check(pairs, names);
        if pairs.len() < 2 {
            return None;
        }
        let plan = Plan::of(pairs, names);
        let plain = plan.fit(&vec![1.0; pairs.len()]);
        let weights = weights(pairs, &plain);
        let weighted = weights.as_ref().map(|weights| plan.fit(weights));
        let (fit, weighting) = match (weights, weighted) {
            (Some(weights), Some(fit)) => {
                let ratio =
                    largest(&weights) / -largest(&weights.iter().map(|w| -w).collect::<Vec<_>>());
                let taken = 1.0 - (fit.standard_error(0) / plain.standard_error(0)).powi(2);
                (fit, Weighting { ratio, taken })
            }
            _ => (plain, Weighting { ratio: 1.0, taken: 0.0 }),
        };
        Some(Estimate {
            effect: fit.coefficient(0),
            standard_error: fit.standard_error(0),
            degrees: fit.degrees(),
            pairs: u32::try_from(pairs.len()).expect("pairs are counted in dozens"),
            covariates: plan.parts(&fit, names),
            weighting,
        })
    }

    /// `effect +- critical * standard error`, for the critical |z| of a look or of an ordinary
    /// interval (1.96 for 95 %), turned into one of pairs by [`pairs_critical`].
    pub fn interval(&self, critical_z: f64) -> Interval {
        let margin = pairs_critical(critical_z, self.pairs, self.degrees) * self.standard_error;
        Interval { low: self.effect - margin, high: self.effect + margin }
    }
}

fn check(pairs: &[Pair], names: &[&str]) {
    for Pair { difference, covariates, disturbance } in pairs {
        assert!(difference.is_finite(), "a difference is a finite number, not {difference}");
        assert!(
            disturbance.is_finite() && *disturbance >= 0.0,
            "a disturbance is zero or more, not {disturbance}"
        );
        let (found, wanted) = (covariates.len(), names.len());
        assert!(found == wanted, "a pair with {found} covariates of {wanted} names");
        for (value, name) in covariates.iter().zip(names) {
            assert!(value.is_finite(), "covariate {name} is a finite number, not {value}");
        }
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// Which covariates are in the model.
struct Plan<'a> {
    pairs: &'a [Pair],
    /// Why each covariate is left out; none if it is in the model.
    left_out: Vec<Option<Part>>,
}

impl Plan<'_> {
    fn of<'a>(pairs: &'a [Pair], names: &[&str]) -> Plan<'a> {
        let mut plan = Plan { pairs, left_out: Vec::new() };
        let room = pairs.len() / PAIRS_PER_COVARIATE as usize;
        let mut used = 0;
        for at in 0..names.len() {
            let first = pairs.first().map_or(0.0, |pair| pair.covariates[at]);
            // As the model would be with it.
            plan.left_out.push(None);
            let reason = if pairs.iter().all(|pair| pair.covariates[at] == first) {
                Some(Part::WithoutVariance)
            } else if used == room {
                Some(Part::TooFewPairs)
            } else if plan.is_last_redundant() {
                Some(Part::Redundant)
            } else {
                used += 1;
                None
            };
            plan.left_out[at] = reason;
        }
        plan
    }

    fn is_last_redundant(&self) -> bool {
        fit::last_is_redundant(&self.columns(&vec![1.0; self.pairs.len()]))
    }

    /// The constant and the covariates of the model, each times the root of the weight.
    fn columns(&self, weights: &[f64]) -> Vec<Vec<f64>> {
        let used = |at: &usize| self.left_out[*at].is_none();
        let mut columns = vec![weights.iter().map(|weight| weight.sqrt()).collect()];
        columns.extend((0..self.left_out.len()).filter(used).map(|at| {
            let of = |(pair, weight): (&Pair, &f64)| pair.covariates[at] * weight.sqrt();
            self.pairs.iter().zip(weights).map(of).collect()
        }));
        columns
    }

    fn fit(&self, weights: &[f64]) -> Fit {
        let differences = self.pairs.iter().zip(weights);
        Fit::of(
            &self.columns(weights),
            &differences.map(|(pair, weight)| pair.difference * weight.sqrt()).collect::<Vec<_>>(),
        )
    }

    fn parts(&self, fit: &Fit, names: &[&str]) -> Vec<Covariate> {
        let mut column = 0;
        let mut covariates = Vec::new();
        for (name, left_out) in names.iter().zip(&self.left_out) {
            let part = left_out.unwrap_or_else(|| {
                column += 1;
                Part::Used {
                    gamma: fit.coefficient(column),
                    standard_error: fit.standard_error(column),
                    r_squared: fit.share_of_variance(column),
                }
            });
            covariates.push(Covariate { name: (*name).to_owned(), part });
        }
        covariates
    }
}

/// The weights by the rule in the essay; none if they are all equal.
fn weights(pairs: &[Pair], plain: &Fit) -> Option<Vec<f64>> {
    if pairs.len() < WEIGHTED_PAIRS_MIN as usize {
        return None;
    }
    let squares: Vec<f64> = plain.left().iter().map(|left| left * left).collect();
    let floor = SQUARE_MIN * mean(&squares);
    let disturbances: Vec<f64> = pairs.iter().map(|pair| pair.disturbance).collect();
    let ones = vec![1.0; pairs.len()];
    let columns = [ones, disturbances];
    if floor <= 0.0 || fit::last_is_redundant(&columns) {
        return None;
    }
    let logs: Vec<f64> = squares.iter().map(|square| square.max(floor).ln()).collect();
    let line = Fit::of(&columns, &logs);
    let slope = line.coefficient(1) - line.standard_error(1);
    if slope <= 0.0 {
        return None;
    }
    let least = -largest(&columns[1].iter().map(|disturbance| -disturbance).collect::<Vec<_>>());
    let weight =
        |disturbance: &f64| (-slope * (disturbance - least)).exp().max(1.0 / WEIGHT_RATIO_MAX);
    Some(columns[1].iter().map(weight).collect())
}

#[cfg(test)]
mod tests;
