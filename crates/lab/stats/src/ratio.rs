//! The ratio of two sides measured in pairs, and a 95 % interval around it.
//!
//! The estimate is the geometric mean of the pairs' ratios: the mean of their logarithms. It treats
//! "twice as fast" and "half as fast" alike, and dividing within each pair cancels what both runs
//! of the pair shared, such as a slow minute of the host.
//!
//! The interval is the bootstrap-t over pairs (resample pairs, studentize each resample's mean log
//! ratio), never narrower at either end than Student's t. With ten pairs the plainer choices say
//! "95 %" and mean less. Coverage in per cent, 4,000 trials of n = 10 for each distribution of the
//! log ratios:
//!
//! | log ratios            | percentile | bootstrap-t | Student's t | both (used) |
//! |-----------------------|-----------:|------------:|------------:|------------:|
//! | normal                |       90.4 |        94.6 |        95.1 |        96.0 |
//! | heavy tails (t, 3 df) |       89.7 |        93.2 |        96.1 |        96.7 |
//! | skewed (exponential)  |       86.1 |        94.3 |        90.6 |        94.9 |
//! | one in ten 3 sd off   |       88.5 |        93.5 |        94.1 |        95.3 |
//! | two values, even      |       97.4 |        88.8 |        97.4 |        97.4 |
//!
//! The bootstrap guards against skew, Student's t against heavy tails and coarse figures; taking
//! both costs 7 to 14 % of width where the ratios are normal or hold a rare outlier, and up to half
//! where they are strongly skewed. Where an outlier never showed in the sample, no method knows of
//! it.
//!
//! Callers: races.
//! Sources: Efron & Tibshirani, An Introduction to the Bootstrap (1993), 12.5 (bootstrap-t);
//! Kalibera & Jones, "Rigorous Benchmarking in Reasonable Time" (ISMM '13), for ratios by
//! bootstrap.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::distributions::Distribution;
use crate::summary::{deviation, mean, quantile_sorted};

/// How many times the pairs are resampled.
pub const RESAMPLES: u32 = 10_000;

/// Below this spread of the log ratios the pairs agree to rounding, and resampling says nothing.
const SPREAD_MIN: f64 = 1e-12;

/// From `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The geometric mean of first / second over the pairs. Both must be finite and above zero.
pub fn geometric_mean(pairs: &[(f64, f64)]) -> f64 {
    mean(&log_ratios(pairs)).exp()
}

/// The 95 % interval of [`geometric_mean`], from [`RESAMPLES`] resamples. Needs two pairs to be
/// defined; ten to be worth reading.
pub fn interval_95(pairs: &[(f64, f64)], seed: u64) -> Interval {
    let logs = log_ratios(pairs);
    let interval = interval_95_of_mean(&logs, seed, RESAMPLES);
    Interval { low: interval.low.exp(), high: interval.high.exp() }
}

pub(crate) fn log_ratios(pairs: &[(f64, f64)]) -> Vec<f64> {
    let log = |value: f64| {
        assert!(value.is_finite() && value > 0.0, "a ratio needs values above zero, not {value}");
        value.ln()
    };
    // The difference of logarithms: a / b may overflow where both are fine.
    pairs.iter().map(|&(a, b)| log(a) - log(b)).collect()
}

pub(crate) fn interval_95_of_mean(sample: &[f64], seed: u64, resamples: u32) -> Interval {
    let count = sample.len();
    assert!(count >= 2, "an interval needs two pairs, not {count}");
    let (center, spread) = (mean(sample), deviation(sample));
    let error = spread / (count as f64).sqrt();
    let student = student_975(count - 1);
    if spread <= SPREAD_MIN {
        return Interval { low: center - student * error, high: center + student * error };
    }
    let bootstrap = studentized_means(sample, seed, resamples);
    // The tails change sides: a resample above the center speaks of a truth below it.
    let down = quantile_sorted(&bootstrap, 0.975).max(student);
    let up = (-quantile_sorted(&bootstrap, 0.025)).max(student);
    Interval { low: center - down * error, high: center + up * error }
}

/// (mean - center) / standard error of each resample, sorted. Resamples without spread (the same
/// value drawn every time) have no standard error and are drawn again.
fn studentized_means(sample: &[f64], seed: u64, resamples: u32) -> Vec<f64> {
    let (count, center, spread) = (sample.len(), mean(sample), deviation(sample));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut drawn = vec![0.0; count];
    let mut studentized = Vec::with_capacity(resamples as usize);
    while studentized.len() < resamples as usize {
        for value in &mut drawn {
            *value = sample[random.random_range(0..count)];
        }
        let drawn_spread = deviation(&drawn);
        if drawn_spread > spread * 1e-9 {
            studentized.push((mean(&drawn) - center) * (count as f64).sqrt() / drawn_spread);
        }
    }
    studentized.sort_unstable_by(f64::total_cmp);
    studentized
}

/// Student's t at 97.5 %.
pub(crate) fn student_975(degrees: usize) -> f64 {
    assert!(degrees >= 1, "Student's t needs a degree of freedom");
    Distribution::Student { degrees: degrees as f64 }.quantile(0.975)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_distr::{Distribution as _, Exp, LogNormal};

    /// The share of `trials` in which the interval of ten pairs holds the truth, and its mean
    /// width. Fewer resamples than in earnest: they blur single intervals, hardly the coverage.
    fn coverage(truth: f64, mut draw: impl FnMut(&mut Xoshiro256PlusPlus) -> f64) -> (f64, f64) {
        const TRIALS: u32 = 800;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let (mut hits, mut width) = (0, 0.0);
        for trial in 0..TRIALS {
            let logs: Vec<f64> = (0..10).map(|_| draw(&mut random)).collect();
            let interval = interval_95_of_mean(&logs, trial.into(), 400);
            hits += u32::from(interval.low <= truth && truth <= interval.high);
            width += interval.high - interval.low;
        }
        (f64::from(hits) / f64::from(TRIALS), width / f64::from(TRIALS))
    }

    /// Both sides lognormal, so the log ratio is normal with deviation 0.1 * sqrt 2.
    #[test]
    fn ten_lognormal_pairs_are_covered_at_95_percent_without_waste() {
        let side = LogNormal::new(3.0_f64, 0.1).expect("0.1 is a valid deviation");
        let (share, width) = coverage(0.0, |r| side.sample(r).ln() - side.sample(r).ln());
        assert!((0.935..=0.985).contains(&share), "covered {share}");
        // 2 * t(9) * sd / sqrt(10), times the mean of s/sd for n = 10: what Student's t costs.
        let student = 2.0 * 2.262 * 0.1 * 2f64.sqrt() / 10f64.sqrt() * 0.973;
        assert!(width < student * 1.20, "width {width}, Student's t {student}");
    }

    #[test]
    fn ten_skewed_pairs_are_covered_at_92_percent_or_more() {
        let skewed = Exp::new(1.0).expect("1 is a valid rate");
        let (share, _) = coverage(1.0, |r| skewed.sample(r));
        assert!(share >= 0.92, "covered {share}");
    }

    #[test]
    fn the_ratio_is_the_geometric_mean_of_the_pairs() {
        let pairs = [(2.0, 1.0), (1.0, 2.0), (8.0, 1.0)];
        assert!((geometric_mean(&pairs) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn swapping_the_sides_inverts_the_ratio_and_its_interval() {
        let pairs: Vec<(f64, f64)> = (1..=10).map(|i| (100.0 + f64::from(i), 90.0)).collect();
        let swapped: Vec<(f64, f64)> = pairs.iter().map(|&(a, b)| (b, a)).collect();
        let (straight, inverse) = (interval_95(&pairs, 1), interval_95(&swapped, 1));
        assert!((geometric_mean(&pairs) * geometric_mean(&swapped) - 1.0).abs() < 1e-12);
        assert!((straight.low * inverse.high - 1.0).abs() < 1e-3);
        assert!((straight.high * inverse.low - 1.0).abs() < 1e-3);
    }

    #[test]
    fn the_same_seed_gives_the_same_interval_and_another_seed_a_close_one() {
        let pairs: Vec<(f64, f64)> = (0..10).map(|i| (f64::from(i % 4) + 10.0, 10.0)).collect();
        let (first, second) = (interval_95(&pairs, 5), interval_95(&pairs, 5));
        assert_eq!(first, second);
        let other = interval_95(&pairs, 6);
        assert_ne!(first, other);
        assert!((first.low / other.low - 1.0).abs() < 0.01);
    }

    #[test]
    fn what_the_pairs_share_cancels() {
        let drift = [1.0, 3.0, 0.2, 7.0, 1.5, 0.9, 2.0, 4.0, 5.0, 0.1];
        let pairs: Vec<(f64, f64)> = drift.iter().map(|d| (1.1 * d, *d)).collect();
        let interval = interval_95(&pairs, 1);
        assert!((interval.low - 1.1).abs() < 1e-9 && (interval.high - 1.1).abs() < 1e-9);
    }

    #[test]
    fn one_pair_that_differs_widens_the_interval_and_ends() {
        let mut pairs = vec![(1.0, 1.0); 9];
        pairs.push((2.0, 1.0));
        let interval = interval_95(&pairs, 1);
        assert!(interval.low < 1.0 && interval.high > 1.1 && interval.high.is_finite());
    }

    #[test]
    fn students_t_agrees_with_the_tables() {
        for (degrees, expected) in [(1, 12.7062), (8, 2.3060), (9, 2.2622), (29, 2.0452)] {
            assert!((student_975(degrees) - expected).abs() < 5e-4, "{degrees} degrees");
        }
    }

    #[test]
    #[should_panic(expected = "values above zero, not 0")]
    fn a_zero_is_refused_by_name() {
        geometric_mean(&[(1.0, 0.0)]);
    }
}
