//! What a column explains of a series whose noise remembers.
//!
//! ```text
//!   y_t = b1 x1_t + b2 x2_t + ... + e_t          e_t = rho e_(t-1) + noise
//! ```
//!
//! Least squares of the plain series would call drift an effect: neighbours in time are alike, so
//! there are fewer of them than it seems. Here rho is estimated from what is left of the series,
//! and y_t - rho y_(t-1) is fitted by the columns, less rho of theirs, in turns until neither
//! changes. What is left of a short series looks less alike than its noise is. Rho is raised by as
//! much as that makes in the mean: exactly so where the columns are a constant, or a constant and a
//! trend; each other column counts as a trend does. Even so it scatters, and where it is found too
//! small an error is too small with it: so the caller says how much the noise remembers at least.
//!
//! Callers: the lab.
//! Sources: Cochrane & Orcutt, "Application of Least Squares Regression to Relationships Containing
//! Auto-Correlated Error Terms" (JASA 1949); Tjostheim & Paulsen, "Bias of Some Commonly-Used Time
//! Series Estimates" (Biometrika 1983), for (1 + 3 rho) / n and (2 + 4 rho) / n.

use crate::fit::{self, Fit};

/// The noise isn't taken to remember more than this: then nothing could be told from a drift.
const RHO_MAX: f64 = 0.97;
/// Turns after which rho is what it is.
const TURNS_MAX: u32 = 50;
const RHO_CLOSE: f64 = 1e-12;
/// What is left of an exact fit, as a share of the squares.
const EXACT: f64 = 1e-20;

/// The first column's coefficient.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Coefficient {
    /// Of y, by a unit of the column.
    pub effect: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Its degrees of freedom.
    pub degrees: f64,
    /// How much of the noise each value keeps of the one before.
    pub rho: f64,
}

/// The coefficient of the first column among these, which should have a constant and a trend. Those
/// that are made of the ones before them are left out. The noise isn't taken to remember less than
/// `rho_min`. None if the first one is made of the others, if the columns are as many as the
/// values, or fit them exactly.
///
/// # Panics
/// If a column isn't as long as `y`, or `rho_min` is below 0 or near 1.
pub fn coefficient(y: &[f64], columns: &[Vec<f64>], rho_min: f64) -> Option<Coefficient> {
    assert!((0.0..=RHO_MAX).contains(&rho_min), "a share of the noise");
    assert!(columns.iter().all(|column| column.len() == y.len()), "columns as long as the series");
    let columns = independent(columns)?;
    let (n, k) = (y.len() as f64, columns.len() as f64);
    if y.len() < columns.len() + 3 {
        return None;
    }
    let whole: f64 = y.iter().map(|y| y * y).sum();
    let (mut rho, mut found) = (rho_min, None);
    for _ in 0..TURNS_MAX {
        let whitened: Vec<Vec<f64>> = columns.iter().map(|column| less(column, rho)).collect();
        let fit = Fit::of(&whitened, &less(y, rho));
        let mut left = y.to_vec();
        for (at, column) in columns.iter().enumerate() {
            fit::subtract(&mut left, fit.coefficient(at), column);
        }
        let squares: f64 = left[..left.len() - 1].iter().map(|left| left * left).sum();
        if squares <= EXACT * whole {
            return None;
        }
        let seen = left.windows(2).map(|two| two[0] * two[1]).sum::<f64>() / squares;
        let before = rho;
        let of_noise = seen.max(0.0);
        rho = (seen + (k * (1.0 + of_noise) + 2.0 * of_noise) / n).clamp(rho_min, RHO_MAX);
        found = Some(Coefficient {
            effect: fit.coefficient(0),
            standard_error: fit.plain_error(0),
            degrees: fit.degrees(),
            rho: before,
        });
        if (rho - before).abs() < RHO_CLOSE {
            break;
        }
    }
    found
}

/// Each value less rho times the one before it; the first has none.
fn less(series: &[f64], rho: f64) -> Vec<f64> {
    series.windows(2).map(|two| two[1] - rho * two[0]).collect()
}

/// The columns without those that others already are, but for the first value, which the fit
/// hasn't. None if the first is such a one.
fn independent(columns: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let (first, others) = columns.split_first()?;
    let mut kept: Vec<Vec<f64>> = Vec::new();
    let mut is_new = false;
    let mut without_first: Vec<Vec<f64>> = Vec::new();
    for column in others.iter().chain([first]) {
        without_first.push(less(column, 0.0));
        is_new = !fit::last_is_redundant(&without_first);
        if is_new {
            kept.push(column.clone());
        } else {
            without_first.pop();
        }
    }
    if is_new {
        kept.rotate_right(1);
    }
    is_new.then_some(kept)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_distr::{Distribution as _, StandardNormal};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::distributions::Distribution;

    const N: usize = 60;

    fn constant_and_trend() -> [Vec<f64>; 2] {
        [vec![1.0; N], (0..N).map(|at| at as f64).collect()]
    }

    /// A setting is on for ten steps, off for ten, and so on; the noise remembers.
    #[test]
    fn equals_are_told_apart_as_often_as_was_said_and_an_effect_is_seen() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        for (memory, effect, least, most) in
            [(0.0, 0.0, 0.0, 0.025), (0.6, 0.0, 0.0, 0.035), (0.6, 2.0, 0.5, 1.0)]
        {
            let mut called = 0;
            for _ in 0..1_000 {
                let mut noise = 0.0;
                let on: Vec<f64> = (0..N).map(|at| f64::from(at / 10 % 2 == 0)).collect();
                let y: Vec<f64> = on
                    .iter()
                    .map(|on| {
                        let step: f64 = StandardNormal.sample(&mut random);
                        noise = memory * noise + step;
                        effect * on + noise
                    })
                    .collect();
                let [constant, trend] = constant_and_trend();
                let found = coefficient(&y, &[on, constant, trend], 0.0).expect("enough of it");
                let student = Distribution::Student { degrees: found.degrees };
                let z = found.effect / found.standard_error;
                called += u32::from(2.0 * student.survival(z.abs()) < 0.01);
            }
            let share = f64::from(called) / 1_000.0;
            assert!((least..=most).contains(&share), "memory {memory}: {share}");
        }
    }

    #[test]
    fn what_others_explain_is_left_out_and_says_nothing_alone() {
        let [constant, trend] = constant_and_trend();
        let y: Vec<f64> = trend.iter().map(|at| (at * 1.7).sin()).collect();
        let x: Vec<f64> = trend.iter().map(|at| (at * 0.9).cos()).collect();
        let twice: Vec<f64> = trend.iter().map(|at| 2.0 * at).collect();
        let with =
            coefficient(&y, &[x.clone(), constant.clone(), trend.clone(), twice.clone()], 0.0);
        let without = coefficient(&y, &[x.clone(), constant.clone(), trend.clone()], 0.0);
        assert!(with.is_some() && with == without);
        assert_eq!(coefficient(&y, &[twice, constant.clone(), trend], 0.0), None);
        assert_eq!(coefficient(&y[..3], &[y[..3].to_vec(), vec![1.0; 3]], 0.0), None);
        assert_eq!(coefficient(&[0.0; 60], &[y.clone(), constant.clone()], 0.0), None);
        let mut first_only = vec![0.0; N];
        first_only[0] = 1.0;
        let found = coefficient(&y, &[x.clone(), constant.clone(), first_only.clone()], 0.0);
        assert_eq!(found, coefficient(&y, &[x, constant.clone()], 0.0));
        assert_eq!(coefficient(&y, &[first_only, constant], 0.0), None);
    }
}
