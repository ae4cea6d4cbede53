//! Figures that follow each other in time: how alike are neighbours, and how sure is their mean?
//!
//! The throughputs of the seconds of one run are not independent, so their standard deviation over
//! the root of their number says "surer" than it is. [`mean_error`] takes the autocorrelation into
//! account. It doesn't replace runs or pairs: what all seconds of a run share, no second shows.
//!
//! Callers: the lab; `changepoint`.
//! Sources: Newey & West, "A Simple, Positive Semi-Definite, Heteroskedasticity and Autocorrelation
//! Consistent Covariance Matrix" (Econometrica 1987), and "Automatic Lag Selection in Covariance
//! Matrix Estimation" (Review of Economic Studies 1994).

use crate::summary::mean;

/// The autocorrelations at lags 0 to `lag_max`, each with n in the denominator: the first is 1.
/// None if all values are equal. Lags from the length on are zero.
///
/// # Panics
/// If the series is empty, or a value isn't finite.
pub fn autocorrelation(series: &[f64], lag_max: usize) -> Option<Vec<f64>> {
    let covariances = covariances(series, lag_max);
    let variance = covariances[0];
    (variance > 0.0).then(|| covariances.iter().map(|it| it / variance).collect())
}

/// The standard error of the series' mean by Newey and West, with Bartlett's weights up to a lag.
/// With lag 0 it is the deviation (with n in the denominator) over the root of n.
///
/// # Panics
/// If the series is empty, or a value isn't finite.
pub fn mean_error(series: &[f64], lag: usize) -> f64 {
    let covariances = covariances(series, lag);
    let weighted = covariances[1..]
        .iter()
        .enumerate()
        .map(|(at, covariance)| 2.0 * (1.0 - (at + 1) as f64 / (lag + 1) as f64) * covariance);
    ((covariances[0] + weighted.sum::<f64>()).max(0.0) / series.len() as f64).sqrt()
}

/// The lag for [`mean_error`] that the series itself asks for: the longer its memory, the longer.
/// It is Newey and West's of 1994, for Bartlett's weights, without prewhitening.
///
/// # Panics
/// If the series is empty, or a value isn't finite.
pub fn automatic_lag(series: &[f64]) -> usize {
    let n = series.len() as f64;
    let first = (4.0 * (n / 100.0).powf(2.0 / 9.0)).floor() as usize;
    let covariances = covariances(series, first);
    let moment = |power: i32| -> f64 {
        let of = |(lag, covariance): (usize, &f64)| (lag as f64).powi(power) * covariance;
        2.0 * covariances.iter().enumerate().skip(1).map(of).sum::<f64>()
    };
    let level = covariances[0] + moment(0);
    if level <= 0.0 {
        return 0;
    }
    let lag = 1.144_7 * (moment(1) / level).powi(2).cbrt() * n.cbrt();
    // A lag of all the series would leave no products to average.
    (lag.floor() as usize).min(series.len() / 2)
}

/// The covariances of the series with itself at lags 0 to `lag_max`.
fn covariances(series: &[f64], lag_max: usize) -> Vec<f64> {
    let (center, n) = (mean(series), series.len());
    let off: Vec<f64> = series.iter().map(|value| value - center).collect();
    let at = |lag: usize| -> f64 {
        off.iter().skip(lag).zip(&off).map(|(later, earlier)| later * earlier).sum::<f64>()
            / n as f64
    };
    (0..=lag_max).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_distr::{Distribution as _, StandardNormal};
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn a_series_that_alternates_is_its_own_opposite_one_step_later() {
        let series: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        let found = autocorrelation(&series, 2).expect("a spread");
        assert!((found[0] - 1.0).abs() < 1e-12);
        assert!((found[1] + 0.99).abs() < 1e-12 && (found[2] - 0.98).abs() < 1e-12);
        assert_eq!(autocorrelation(&[2.0; 9], 3), None);
        assert_eq!(mean_error(&[2.0; 9], 3), 0.0);
    }

    /// Each value keeps 0.8 of the one before: the mean of 400 varies three times as much as that
    /// of independent ones. Bartlett's weights see most of it.
    #[test]
    fn the_error_of_a_mean_grows_with_the_memory_of_the_series() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let (mut means, mut errors, mut naive) = (Vec::new(), 0.0, 0.0);
        for _ in 0..300 {
            let mut state = 0.0;
            let series: Vec<f64> = (0..400)
                .map(|_| {
                    let step: f64 = StandardNormal.sample(&mut random);
                    state = 0.8 * state + 0.6 * step;
                    state
                })
                .collect();
            means.push(mean(&series));
            errors += mean_error(&series, automatic_lag(&series)) / 300.0;
            naive += mean_error(&series, 0) / 300.0;
        }
        let truth = crate::summary::deviation(&means);
        assert!(naive < 0.4 * truth, "{naive} of {truth}");
        assert!((0.75..1.1).contains(&(errors / truth)), "{errors} of {truth}");
    }
}
