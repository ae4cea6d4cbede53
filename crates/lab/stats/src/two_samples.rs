//! Two independent samples: do their means differ, and by how much relative to their spread?
//!
//! For figures that don't come in pairs, such as the latencies of two runs. Pairs go to
//! `adjusted`, which uses that they were measured together.
//!
//! Callers: the lab.
//! Sources: Welch, "The Generalization of Student's Problem when Several Different Population
//! Variances are Involved" (Biometrika 1947); Hedges & Olkin, Statistical Methods for Meta-Analysis
//! (1985), 5, for effect sizes and their variances.

use crate::distributions::Distribution;
use crate::ratio::Interval;
use crate::summary::{deviation, mean};

/// Welch's t-test of equal means, for samples whose variances may differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// The mean of the first sample less that of the second.
    pub difference: f64,
    /// The standard error of the difference.
    pub standard_error: f64,
    /// The difference in standard errors.
    pub t: f64,
    /// Degrees of freedom by Welch and Satterthwaite, not whole in general.
    pub degrees: f64,
    /// The probability of a |t| as large, if the means are equal.
    pub p: f64,
}

impl Welch {
    /// Compares two samples. None if both have no spread, for then there is nothing to judge by.
    ///
    /// # Panics
    /// If a sample has fewer than two values, or one that isn't finite.
    pub fn of(first: &[f64], second: &[f64]) -> Option<Welch> {
        let share = |sample: &[f64]| deviation(sample).powi(2) / sample.len() as f64;
        let (one, other) = (share(first), share(second));
        let variance = one + other;
        if variance <= 0.0 {
            return None;
        }
        let of_degrees = |share: f64, sample: &[f64]| share * share / (sample.len() - 1) as f64;
        let degrees = variance.powi(2) / (of_degrees(one, first) + of_degrees(other, second));
        let difference = mean(first) - mean(second);
        let t = difference / variance.sqrt();
        let p = 2.0 * Distribution::Student { degrees }.survival(t.abs());
        Some(Welch { difference, standard_error: variance.sqrt(), t, degrees, p })
    }

    /// The interval that holds the difference of the means with this confidence, such as 0.95.
    pub fn interval(&self, confidence: f64) -> Interval {
        let tail = tail(confidence);
        let critical = Distribution::Student { degrees: self.degrees }.upper_quantile(tail);
        let margin = critical * self.standard_error;
        Interval { low: self.difference - margin, high: self.difference + margin }
    }
}

/// The difference of two means in standard deviations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EffectSize {
    /// First less second, in standard deviations.
    pub value: f64,
    /// Its variance, for large samples.
    pub variance: f64,
}

impl EffectSize {
    /// Cohen's d: by the deviation of both samples pooled. None if they have no spread.
    pub fn cohen_d(first: &[f64], second: &[f64]) -> Option<EffectSize> {
        let value = standardized(first, second)?;
        let (of_means, all) = counts(first, second);
        Some(EffectSize { value, variance: of_means + value * value / (2.0 * all) })
    }

    /// Hedges' g: d without its bias, which is 4 % too large with ten values in each sample.
    pub fn hedges_g(first: &[f64], second: &[f64]) -> Option<EffectSize> {
        let (of_means, all) = counts(first, second);
        let value = standardized(first, second)? * (1.0 - 3.0 / (4.0 * all - 9.0));
        // Hedges & Olkin, 6 (34): the constant that makes it right for small samples.
        Some(EffectSize { value, variance: of_means + value * value / (2.0 * (all - 3.94)) })
    }

    /// The interval that holds it with this confidence, by the normal distribution.
    pub fn interval(&self, confidence: f64) -> Interval {
        let margin = Distribution::Normal.upper_quantile(tail(confidence)) * self.variance.sqrt();
        Interval { low: self.value - margin, high: self.value + margin }
    }
}

/// What a confidence leaves to one side.
fn tail(confidence: f64) -> f64 {
    assert!(confidence > 0.0 && confidence < 1.0, "a confidence of {confidence}");
    (1.0 - confidence) / 2.0
}

fn standardized(first: &[f64], second: &[f64]) -> Option<f64> {
    let squares = |sample: &[f64]| deviation(sample).powi(2) * (sample.len() - 1) as f64;
    let degrees = (first.len() + second.len() - 2) as f64;
    let pooled = ((squares(first) + squares(second)) / degrees).sqrt();
    (pooled > 0.0).then(|| (mean(first) - mean(second)) / pooled)
}

/// (n + m) / (n m), and n + m.
fn counts(first: &[f64], second: &[f64]) -> (f64, f64) {
    let (one, other) = (first.len() as f64, second.len() as f64);
    (1.0 / one + 1.0 / other, one + other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Welch's own kind of case: few and scattered against many and close. SciPy agrees in
    /// `tests/fixtures.rs`.
    #[test]
    fn equal_samples_differ_by_nothing_and_shifted_ones_by_the_shift() {
        let sample = [3.0, 1.0, 4.0, 1.5, 5.0];
        let shifted = sample.map(|x| x + 2.0);
        let same = Welch::of(&sample, &sample).expect("a spread");
        assert_eq!((same.difference, same.t, same.p), (0.0, 0.0, 1.0));
        let moved = Welch::of(&shifted, &sample).expect("a spread");
        assert!((moved.difference - 2.0).abs() < 1e-12 && moved.degrees > 7.9 && moved.p < 0.12);
        let Interval { low, high } = moved.interval(0.95);
        assert!(low < 0.0 && high > 4.0);
    }

    #[test]
    fn hedges_takes_the_bias_out_of_cohen() {
        let (first, second) = ([1.0, 2.0, 3.0], [3.0, 4.0, 5.0]);
        let d = EffectSize::cohen_d(&first, &second).expect("a spread");
        assert!((d.value + 2.0).abs() < 1e-12);
        let g = EffectSize::hedges_g(&first, &second).expect("a spread");
        assert!((g.value + 2.0 * 0.8).abs() < 1e-12);
        assert!(g.interval(0.95).low < -1.6 && g.interval(0.95).high > -1.6);
    }

    #[test]
    fn samples_without_spread_say_nothing() {
        assert_eq!(Welch::of(&[1.0, 1.0], &[2.0, 2.0]), None);
        assert_eq!(EffectSize::cohen_d(&[1.0, 1.0], &[2.0, 2.0]), None);
    }
}
