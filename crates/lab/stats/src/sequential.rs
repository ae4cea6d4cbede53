//! Experiments that are looked at again and again, and stop when they have an answer.
//!
//! A test of 5 % that is repeated after every pair calls equals different far more often than in
//! 5 % of experiments. The remedy is a higher bar at each look, such that all looks together keep
//! the 5 %. Two such bars are here:
//!
//! ```text
//!   |z| needed
//!    5 |  L                          L  Looks: for an experiment with a budget, here five looks
//!    4 |c
//!    3 |  c  L                       c  confidence_sequence: without a budget, may go on for ever
//!    2 |     c  Lc  Lc  L
//!      └──────────────────
//!       0.2 0.4 0.6 0.8 1  of the budget
//! ```
//!
//! # With a budget: group-sequential bounds by alpha spending
//! A spending function says which part of the error may have been spent when a share t of the
//! information (of the planned pairs) is in. [`Spending::OBrienFleming`] spends almost nothing
//! early, so the last look costs hardly more than a single test: 2.03 rather than 1.96 with five
//! looks. The number of looks and their times need not be known beforehand: each look tells its
//! share when it comes. It must not depend on what was seen: "the estimate is promising, look
//! sooner" breaks the promise. When to stop may depend on everything.
//!
//! The bound of a look follows from those before it by the recursive integration of Armitage,
//! McPherson and Rowe. With B(t) = Z(t) sqrt(t), which has independent increments, and g the
//! density of B among experiments that haven't crossed a bound yet,
//!
//! ```text
//!   g_k(b) = integral of g_{k-1}(u) phi((b - u) / s) / s du,  s^2 = t_k - t_{k-1}, |u| < c_{k-1}
//!   spent at look k = 2 integral of g_{k-1}(u) Phi(-(c_k sqrt(t_k) - u) / s) du
//! ```
//!
//! # What to do with the bound
//! [`pairs_critical`] turns it into one of Student's t, because the standard error of some pairs is
//! itself an estimate. `estimate +- critical * standard error` is then a *repeated confidence
//! interval*: with the error declared, the intervals of all looks hold the truth at once, however
//! and whenever the experiment stops. All answers ([`Answer`]) are read from it.
//!
//! Callers: the lab.
//! Sources: Lan & DeMets, "Discrete Sequential Boundaries for Clinical Trials" (Biometrika 1983);
//! Armitage, McPherson & Rowe, "Repeated Significance Tests on Accumulating Data" (JRSS A 1969);
//! Jennison & Turnbull, Group Sequential Methods (2000), 7 (spending), 9 (repeated intervals), 4.4
//! (Student's t by equal tail probability); Efron, "Student's t-Test under Symmetry Conditions"
//! (JASA 1969); Robbins, "Statistical Methods Related to the Law of the Iterated Logarithm" (1970);
//! Howard, Ramdas, McAuliffe & Sekhon, "Time-uniform, Nonparametric, Nonasymptotic Confidence
//! Sequences" (Annals of Statistics 2021), 3.2.

mod answer;
mod density;
pub mod outlook;

pub use answer::{Answer, Direction, Matters};
pub use outlook::{Decision, Outlook};

use crate::distributions::Distribution;
use density::Density;

/// The highest bound, in standard errors. A look whose bound would be higher spends nothing (its
/// two-sided tail is 1e-15) and gets this one.
pub const BOUND_MAX: f64 = 8.0;

/// A look that brings less new information than this share spends nothing and gets [`BOUND_MAX`].
pub const STEP_MIN: f64 = 1e-5;

/// How the declared error is spread over an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spending {
    /// Almost all of it late: 4 - 4 Phi(z / sqrt(t)), z the normal quantile at 1 - alpha / 4.
    OBrienFleming,
    /// Nearly evenly over the looks: alpha ln(1 + (e - 1) t). Stops sooner where the difference is
    /// large, and pays with a higher bound at the end.
    Pocock,
    /// alpha t to this power, which is above zero (Kim & DeMets 1987).
    Power(f64),
}

impl Spending {
    /// Of the error `alpha`, what may have been spent at this share of the information.
    pub fn spent(&self, alpha: f64, fraction: f64) -> f64 {
        assert!(fraction > 0.0, "a share of information is above zero, not {fraction}");
        if fraction >= 1.0 {
            return alpha;
        }
        match *self {
            Spending::OBrienFleming => {
                let z = Distribution::Normal.upper_quantile(alpha / 4.0);
                4.0 * Distribution::Normal.survival(z / fraction.sqrt())
            }
            Spending::Pocock => alpha * ((std::f64::consts::E - 1.0) * fraction).ln_1p(),
            Spending::Power(power) => {
                assert!(power > 0.0, "a power of spending is above zero, not {power}");
                alpha * fraction.powf(power)
            }
        }
    }
}

/// The looks of one experiment, in the order in which they come.
#[derive(Clone, Debug)]
pub struct Looks {
    alpha: f64,
    spending: Spending,
    spent: f64,
    density: Density,
}

impl Looks {
    /// An experiment that calls equals different with probability `alpha` at most, over all its
    /// looks, by [`Spending::OBrienFleming`].
    pub fn new(alpha: f64) -> Looks {
        Looks::with(alpha, Spending::OBrienFleming)
    }

    /// An experiment as [`Looks::new`] makes it, with another spending function.
    pub fn with(alpha: f64, spending: Spending) -> Looks {
        assert!(alpha > 0.0 && alpha < 1.0, "an error lies between 0 and 1, not at {alpha}");
        Looks { alpha, spending, spent: 0.0, density: Density::start() }
    }

    /// The critical |z| of the look at this share of the information: a difference is real if its
    /// |z| is larger. The share is that of the planned pairs that are in, above that of the look
    /// before; 1 or more is the last look, which spends the rest.
    ///
    /// # Panics
    /// If the share isn't above that of the look before, or is none (NaN), or after the last look.
    pub fn next(&mut self, fraction: f64) -> f64 {
        let before = self.density.fraction();
        // `f64::min` would take the other for NaN.
        let fraction = if fraction > 1.0 { 1.0 } else { fraction };
        assert!(
            fraction > before,
            "a look at {fraction} of the information, after one at {before}"
        );
        if fraction - before < STEP_MIN {
            return BOUND_MAX;
        }
        let allowed = self.spending.spent(self.alpha, fraction) - self.spent;
        let step = self.density.step_to(fraction);
        let bound = step.bound_that_spends(allowed);
        self.spent += step.spent_at(bound);
        self.density = step.after(bound);
        bound
    }

    /// Of the declared error, what the looks so far have spent.
    pub fn spent(&self) -> f64 {
        self.spent
    }
}

/// The critical |t| with the tail probability of this critical |z|, for a standard error with
/// `degrees` of freedom.
pub fn student_critical(z: f64, degrees: f64) -> f64 {
    Distribution::Student { degrees }.upper_quantile(Distribution::Normal.survival(z))
}

/// The critical |t| of a mean of pairs whose order was drawn by lot, at this critical |z|, for a
/// standard error by HC3 (see module `adjusted`): the larger of two.
///
///   * [`student_critical`], which is right for normal noise.
///   * The one that signs drawn by lot reach with that probability, whatever the noise. With S the
///     sum of n differences and V the root of the sum of their squares, S / V has variance 1, no
///     moment of it is larger than a normal one's (Efron 1969), and t grows with it:
///     `t = z (n - 1) / sqrt(n (n - z^2))`. Where z^2 is n or more, so few signs can't be as
///     unlikely: the bar is then out of reach, but finite.
///
/// The second is the larger only where few pairs face a high bar. There Student's t is wrong: of a
/// machine with two states, five pairs may agree to a hair by chance.
pub fn pairs_critical(z: f64, pairs: u32, degrees: f64) -> f64 {
    /// The bar is at most so many times the one of normal noise.
    const OUT_OF_REACH: f64 = 1e3;
    let count = f64::from(pairs);
    let room = (1.0 - z * z / count).max(OUT_OF_REACH.powi(-2));
    let of_signs = z * (count - 1.0) / count / room.sqrt();
    student_critical(z, degrees).max(of_signs)
}

/// The critical |z| at `units` for an experiment without a budget: looks may come at any time and
/// for ever, and all of them together call equals different with probability `alpha` at most.
/// The bound is tightest at `tightest_at` units, relative to those of its kind.
///
/// It is Robbins's normal mixture: with r set for `tightest_at`,
/// `sqrt((n + r) / n * ln((n + r) / (r alpha^2)))`. At its tightest and 5 % it is 3.0, and a
/// hundred times later 3.6: not having a budget costs half as much again as [`Looks`].
pub fn confidence_sequence(alpha: f64, units: f64, tightest_at: f64) -> f64 {
    assert!(alpha > 0.0 && alpha < 1.0, "an error lies between 0 and 1, not at {alpha}");
    assert!(units > 0.0 && tightest_at > 0.0, "{units} units, tightest at {tightest_at}");
    // The minimum of the bound over r is where x = tightest_at / r solves x = ln(1 + x) + log. The
    // iteration contracts by 1 / (1 + x).
    let log = -2.0 * alpha.ln();
    let mut x = log + 1.0;
    for _ in 0..200 {
        x = x.ln_1p() + log;
    }
    let r = tightest_at / x;
    ((units + r) / units * ((units / r).ln_1p() + log)).sqrt()
}

#[cfg(test)]
mod tests;
