//! Typical values of a sample: mean, median, quantiles; and its worst ones.
//!
//! Quantiles are Hyndman and Fan's type 7: with the sample sorted as x\[0\] .. x\[n-1\], the
//! quantile at p lies at position h = (n - 1) p, linear between x\[floor h\] and the next. It is
//! what R, NumPy and Excel's PERCENTILE.INC give by default, so our users can check us.
//!
//! Callers: `ratio`, and whoever condenses runs into a row.
//! Sources: Hyndman & Fan, "Sample Quantiles in Statistical Packages", Am. Stat. 50 (1996).

/// The arithmetic mean. Panics on an empty sample or one with a value that is not finite.
pub fn mean(sample: &[f64]) -> f64 {
    check(sample);
    sample.iter().sum::<f64>() / sample.len() as f64
}

/// The standard deviation with n - 1 in the denominator. Needs two values.
pub(crate) fn deviation(sample: &[f64]) -> f64 {
    assert!(sample.len() >= 2, "a deviation needs two values, this sample has {}", sample.len());
    let mean = mean(sample);
    let squares: f64 = sample.iter().map(|x| (x - mean).powi(2)).sum();
    (squares / (sample.len() - 1) as f64).sqrt()
}

/// The median: the quantile at one half.
pub fn median(sample: &[f64]) -> f64 {
    quantile(sample, 0.5)
}

/// The type 7 quantile at `p` in 0..=1. Panics on an empty sample or a value that is not finite.
pub fn quantile(sample: &[f64], p: f64) -> f64 {
    check(sample);
    let mut sorted = sample.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    quantile_sorted(&sorted, p)
}

/// Six numbers that say where a sample lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SixNumbers {
    /// The least value.
    pub min: f64,
    /// The quantile at one quarter.
    pub q1: f64,
    /// The quantile at one half.
    pub median: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The quantile at three quarters.
    pub q3: f64,
    /// The greatest value.
    pub max: f64,
}

impl SixNumbers {
    /// The six numbers of a sample. Panics on an empty one or a value that is not finite.
    pub fn of(sample: &[f64]) -> SixNumbers {
        let mean = mean(sample);
        let mut sorted = sample.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let [min, q1, median, q3, max] =
            [0.0, 0.25, 0.5, 0.75, 1.0].map(|p| quantile_sorted(&sorted, p));
        SixNumbers { min, q1, median, mean, q3, max }
    }
}

/// One of the greatest values of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worst {
    /// Its place in the sample.
    pub index: usize,
    /// The value.
    pub value: f64,
}

/// The `count` greatest values of a sample (all, if it has fewer), the greatest first; of equal
/// ones the earlier first. Of latencies these are the worst. Panics on a value that is not finite.
pub fn worst(sample: &[f64], count: usize) -> Vec<Worst> {
    let mut all: Vec<Worst> =
        sample.iter().enumerate().map(|(index, value)| Worst { index, value: *value }).collect();
    for Worst { value, .. } in &all {
        assert!(value.is_finite(), "a sample holds finite numbers only, not {value}");
    }
    all.sort_by(|one, other| other.value.total_cmp(&one.value));
    all.truncate(count);
    all
}

/// As [`quantile`], of a sample that is sorted already.
pub(crate) fn quantile_sorted(sorted: &[f64], p: f64) -> f64 {
    assert!((0.0..=1.0).contains(&p), "a quantile lies in 0..=1, not at {p}");
    debug_assert!(sorted.is_sorted());
    let position = (sorted.len() - 1) as f64 * p;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
}

fn check(sample: &[f64]) {
    assert!(!sample.is_empty(), "an empty sample has no typical value");
    for value in sample {
        assert!(value.is_finite(), "a sample holds finite numbers only, not {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_odd_sample_has_its_middle_value_as_median_in_any_order() {
        assert_eq!(median(&[9.0, 1.0, 5.0]), 5.0);
    }

    #[test]
    fn an_even_sample_has_the_mean_of_its_middle_two_as_median() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
    }

    /// R: `quantile(c(1, 2, 3, 4, 10), c(0, .1, .25, .9, 1), type = 7)`.
    #[test]
    fn quantiles_are_those_of_type_7() {
        let sample = [10.0, 3.0, 1.0, 4.0, 2.0];
        for (p, expected) in [(0.0, 1.0), (0.1, 1.4), (0.25, 2.0), (0.9, 7.6), (1.0, 10.0)] {
            assert!((quantile(&sample, p) - expected).abs() < 1e-12, "p = {p}");
        }
    }

    #[test]
    fn a_single_value_is_its_own_every_quantile() {
        assert_eq!((quantile(&[7.0], 0.0), quantile(&[7.0], 0.99)), (7.0, 7.0));
    }

    #[test]
    fn mean_and_deviation_of_a_known_sample() {
        let sample = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&sample), 5.0);
        assert!((deviation(&sample) - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn six_numbers_and_the_worst_values_of_a_known_sample() {
        let found = SixNumbers::of(&[10.0, 3.0, 1.0, 4.0, 2.0]);
        let expected = SixNumbers { min: 1.0, q1: 2.0, median: 3.0, mean: 4.0, q3: 4.0, max: 10.0 };
        assert_eq!(found, expected);
        let at = |index, value| Worst { index, value };
        assert_eq!(worst(&[5.0, 9.0, 1.0, 9.0], 3), [at(1, 9.0), at(3, 9.0), at(0, 5.0)]);
        assert_eq!(worst(&[5.0], 3), [at(0, 5.0)]);
    }

    #[test]
    #[should_panic(expected = "empty sample")]
    fn an_empty_sample_is_refused() {
        median(&[]);
    }

    #[test]
    #[should_panic(expected = "finite numbers only, not NaN")]
    fn a_nan_is_refused_by_name() {
        mean(&[1.0, f64::NAN]);
    }
}
