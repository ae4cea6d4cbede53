//! Is a sample normal? The test of Shapiro and Wilk.
//!
//! W compares the spread as the ordered values of a normal sample would have it with the spread
//! that there is: 1 for a perfect fit. With hundreds of values it finds deviations that harm no
//! mean; look at the density (module `density`), too.
//!
//! Callers: the lab.
//! Sources: Royston, "Remark AS R94: A Remark on Algorithm AS 181: The W-test for Normality"
//! (Applied Statistics 1995), whose constants these are.

use crate::distributions::Distribution;

/// The smallest sample that can be tested.
pub const COUNT_MIN: usize = 3;

/// The largest sample for which Royston's approximation of p was fitted.
pub const COUNT_MAX: usize = 5_000;

/// The result of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShapiroWilk {
    /// From 0 to 1; 1 if the sample looks perfectly normal.
    pub w: f64,
    /// The probability of a W as small, if the sample is normal.
    pub p: f64,
}

impl ShapiroWilk {
    /// Tests a sample of [`COUNT_MIN`] to [`COUNT_MAX`] values; None for another size, or if all
    /// values are equal.
    ///
    /// # Panics
    /// If a value isn't finite.
    pub fn of(sample: &[f64]) -> Option<ShapiroWilk> {
        for value in sample {
            assert!(value.is_finite(), "a sample holds finite numbers only, not {value}");
        }
        if !(COUNT_MIN..=COUNT_MAX).contains(&sample.len()) {
            return None;
        }
        let mut sorted = sample.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let range = sorted[sorted.len() - 1] - sorted[0];
        if range <= 0.0 {
            return None;
        }
        let missing = missing(&sorted, range, &weights(sorted.len()));
        Some(ShapiroWilk { w: 1.0 - missing, p: probability(missing, sorted.len()) })
    }
}

/// The value of a polynomial whose coefficients are given from the constant up.
fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

/// The weights of the upper half of the ordered values, the largest first.
fn weights(count: usize) -> Vec<f64> {
    const LAST: [f64; 6] = [0.0, 0.221_157, -0.147_981, -2.071_19, 4.434_685, -2.706_056];
    const LAST_BUT_ONE: [f64; 6] = [0.0, 0.042_981, -0.293_762, -1.752_461, 5.682_633, -3.582_633];
    if count == 3 {
        return vec![std::f64::consts::FRAC_1_SQRT_2];
    }
    let n = count as f64;
    // What a normal sample is expected to have at each place (Blom).
    let expected: Vec<f64> = (1..=count / 2)
        .map(|place| Distribution::Normal.upper_quantile((place as f64 - 0.375) / (n + 0.25)))
        .collect();
    let squares = 2.0 * expected.iter().map(|m| m * m).sum::<f64>();
    let mut weights = vec![polynomial(&LAST, n.sqrt().recip()) + expected[0] / squares.sqrt()];
    if count > 5 {
        weights.push(polynomial(&LAST_BUT_ONE, n.sqrt().recip()) + expected[1] / squares.sqrt());
    }
    // The rest in proportion, such that all squares add up to 1.
    let fitted = weights.len();
    let of = |values: &[f64]| 2.0 * values[..fitted].iter().map(|x| x * x).sum::<f64>();
    let scale = ((squares - of(&expected)) / (1.0 - of(&weights))).sqrt();
    weights.extend(expected[fitted..].iter().map(|m| m / scale));
    weights
}

/// 1 - W, computed such that it keeps its digits where W is nearly 1.
fn missing(sorted: &[f64], range: f64, upper: &[f64]) -> f64 {
    let count = sorted.len();
    let weight = |at: usize| {
        let mirror = count - 1 - at;
        match at.cmp(&mirror) {
            std::cmp::Ordering::Less => -upper[at],
            std::cmp::Ordering::Equal => 0.0,
            std::cmp::Ordering::Greater => upper[mirror],
        }
    };
    let center = sorted.iter().map(|x| x / range).sum::<f64>() / count as f64;
    let (mut of_weights, mut of_values, mut of_both) = (0.0, 0.0, 0.0);
    for (at, value) in sorted.iter().enumerate() {
        let (weight, value) = (weight(at), value / range - center);
        of_weights += weight * weight;
        of_values += value * value;
        of_both += weight * value;
    }
    let root = (of_weights * of_values).sqrt();
    (root - of_both) * (root + of_both) / (of_weights * of_values)
}

/// p of 1 - W.
fn probability(missing: f64, count: usize) -> f64 {
    const LIMIT: [f64; 2] = [-2.273, 0.459];
    const MEAN_SMALL: [f64; 4] = [0.544, -0.399_78, 0.025_054, -6.714e-4];
    const DEVIATION_SMALL: [f64; 4] = [1.382_2, -0.778_57, 0.062_767, -0.002_032_2];
    const MEAN_LARGE: [f64; 4] = [-1.586_1, -0.310_82, -0.083_751, 0.003_891_5];
    const DEVIATION_LARGE: [f64; 3] = [-0.480_3, -0.082_676, 0.003_030_2];
    let n = count as f64;
    if count == 3 {
        // Exact.
        let angle = (1.0 - missing).max(0.0).sqrt().asin() - std::f64::consts::FRAC_PI_3;
        return (6.0 / std::f64::consts::PI * angle).clamp(0.0, 1.0);
    }
    let logarithm = missing.max(f64::MIN_POSITIVE).ln();
    let z = if count <= 11 {
        let room = polynomial(&LIMIT, n) - logarithm;
        if room <= 0.0 {
            return 0.0;
        }
        (-room.ln() - polynomial(&MEAN_SMALL, n)) / polynomial(&DEVIATION_SMALL, n).exp()
    } else {
        let size = n.ln();
        (logarithm - polynomial(&MEAN_LARGE, size)) / polynomial(&DEVIATION_LARGE, size).exp()
    };
    Distribution::Normal.survival(z)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_normal_shape_passes_and_an_exponential_one_does_not() {
        let places = (1..=50).map(|i| (f64::from(i) - 0.5) / 50.0);
        let normal: Vec<f64> = places.clone().map(|p| Distribution::Normal.quantile(p)).collect();
        let skewed: Vec<f64> = places.map(|p| -(1.0 - p).ln()).collect();
        let (good, bad) = (ShapiroWilk::of(&normal), ShapiroWilk::of(&skewed));
        assert!(good.is_some_and(|it| it.w > 0.99 && it.p > 0.9), "{good:?}");
        assert!(bad.is_some_and(|it| it.w < 0.9 && it.p < 1e-4), "{bad:?}");
    }

    #[test]
    fn samples_that_it_was_not_made_for_have_no_result() {
        assert_eq!(ShapiroWilk::of(&[1.0, 2.0]), None);
        assert_eq!(ShapiroWilk::of(&[1.0; 10]), None);
        assert_eq!(ShapiroWilk::of(&vec![0.5; COUNT_MAX + 1]), None);
    }
}
