//! Is a curve a saw-tooth, and with which period?
//!
//! ```text
//!   y │   /|   /|   /        y = level + trend x + rise ((x - phase) mod period)
//!     │  / |  / |  /
//!     │_/__|_/__|_/__ x
//! ```
//!
//! For each period and phase the rest is linear: what is left of `y` and of the teeth beside a
//! straight line is compared. The best pair is searched for, first on a grid, then around it.
//! Teeth twice as long, or half as long, explain less: they rise where the curve falls.
//!
//! Callers: the lab's `redo-size`.

use crate::Interval;
use crate::summary::{median, quantile};

/// A period is looked for in steps of this share of it.
const STEP: f64 = 0.01;
/// The phase, in shares of the period.
const PHASES: u32 = 16;
/// Around the best of the grid, so often with half the steps.
const REFINEMENTS: u32 = 8;

/// The saw-tooth that fits best.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sawtooth {
    /// The length of a tooth.
    pub period: f64,
    /// Where the first one begins, from 0 to the period.
    pub phase: f64,
    /// How `y` rises with `x` within a tooth, beside the trend.
    pub rise: f64,
    /// Of what a straight line leaves unexplained, the share that the teeth explain.
    pub explained: f64,
}

/// The best fit with a period in this range, or none if there are too few points to tell, or all
/// lie on a line.
///
/// # Panics
/// If a number isn't finite, or the range isn't one of positive numbers.
pub fn fit(points: &[(f64, f64)], periods: Interval) -> Option<Sawtooth> {
    let Interval { low: shortest, high: longest } = periods;
    let finite = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
    assert!(points.iter().all(finite), "points are finite numbers");
    assert!(shortest > 0.0 && shortest < longest, "periods from {shortest} to {longest}");
    let line = Line::of(points)?;
    let mut best: Option<Sawtooth> = None;
    let mut offer = |period: f64, phase: f64| {
        if (shortest..=longest).contains(&period) {
            let found = line.teeth(points, period, phase.rem_euclid(period));
            if best.is_none_or(|best| found.explained > best.explained) {
                best = Some(found);
            }
        }
        best
    };
    let mut period = shortest;
    while period <= longest {
        for phase in 0..PHASES {
            offer(period, period * f64::from(phase) / f64::from(PHASES));
        }
        period *= 1.0 + STEP;
    }
    let mut step = (STEP / 2.0, 0.5 / f64::from(PHASES));
    for _ in 0..REFINEMENTS {
        let Sawtooth { period, phase, .. } = offer(longest, 0.0)?;
        for (longer, later) in
            [-1.0, 0.0, 1.0].iter().flat_map(|a| [-1.0, 0.0, 1.0].map(|b| (a, b)))
        {
            offer(period * (1.0 + longer * step.0), phase + later * step.1 * period);
        }
        step = (step.0 / 2.0, step.1 / 2.0);
    }
    best
}

/// What a straight line explains, and what it leaves.
struct Line {
    mean_x: f64,
    spread_x: f64,
    /// What it leaves of each `y`.
    left: Vec<f64>,
    /// The sum of their squares.
    unexplained: f64,
}

impl Line {
    fn of(points: &[(f64, f64)]) -> Option<Line> {
        if points.len() < 8 {
            return None;
        }
        let count = points.len() as f64;
        let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
        let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
        let spread_x: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
        let together: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
        let slope = if spread_x > 0.0 { together / spread_x } else { return None };
        let left: Vec<f64> =
            points.iter().map(|(x, y)| y - mean_y - slope * (x - mean_x)).collect();
        let unexplained: f64 = left.iter().map(|left| left * left).sum();
        (unexplained > 0.0).then_some(Line { mean_x, spread_x, left, unexplained })
    }

    /// The teeth of this period and phase that fit best.
    fn teeth(&self, points: &[(f64, f64)], period: f64, phase: f64) -> Sawtooth {
        let tooth = |x: f64| (x - phase).rem_euclid(period);
        let mean = points.iter().map(|(x, _)| tooth(*x)).sum::<f64>() / points.len() as f64;
        let together: f64 =
            points.iter().map(|(x, _)| (x - self.mean_x) * (tooth(*x) - mean)).sum();
        let slope = together / self.spread_x;
        let (mut with_left, mut with_itself) = (0.0, 0.0);
        for ((x, _), left) in points.iter().zip(&self.left) {
            let own = tooth(*x) - mean - slope * (x - self.mean_x);
            with_left += own * left;
            with_itself += own * own;
        }
        // Teeth that a straight line follows explain nothing beside it; nor do some that fall.
        let rise = if with_itself > 0.0 { with_left / with_itself } else { 0.0 };
        let explained = (rise.max(0.0) * with_left / self.unexplained).clamp(0.0, 1.0);
        Sawtooth { period, phase, rise, explained }
    }
}

/// The period with its interval, of a curve that was measured in rounds: each round has a `y` for
/// every `x`. A point is the median of its rounds. The interval holds the middle 95 % of the
/// periods found when rounds are drawn anew, with replacement, `draws` times.
pub fn fit_rounds(
    xs: &[f64],
    rounds: &[Vec<f64>],
    periods: Interval,
    draws: u32,
    seed: u64,
) -> Option<(Sawtooth, Interval)> {
    assert!(rounds.iter().all(|round| round.len() == xs.len()), "a round has each point");
    let curve = |picked: &[usize]| -> Vec<(f64, f64)> {
        let at = |(at, x): (usize, &f64)| {
            let ys: Vec<f64> = picked.iter().map(|round| rounds[*round][at]).collect();
            (*x, median(&ys))
        };
        xs.iter().enumerate().map(at).collect()
    };
    if rounds.is_empty() {
        return None;
    }
    let all: Vec<usize> = (0..rounds.len()).collect();
    let best = fit(&curve(&all), periods)?;
    let mut state = seed;
    let mut found = Vec::new();
    for _ in 0..draws {
        let picked: Vec<usize> =
            all.iter().map(|_| (next(&mut state) % rounds.len() as u64) as usize).collect();
        found.extend(fit(&curve(&picked), periods).map(|fit| fit.period));
    }
    if found.is_empty() {
        return Some((best, Interval { low: best.period, high: best.period }));
    }
    Some((best, Interval { low: quantile(&found, 0.025), high: quantile(&found, 0.975) }))
}

/// The next of a stream of numbers (splitmix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From -1 to 1.
    fn noise(state: &mut u64) -> f64 {
        next(state) as f64 / u64::MAX as f64 * 2.0 - 1.0
    }

    fn curve(period: f64, phase: f64, blur: f64, state: &mut u64) -> Vec<(f64, f64)> {
        let y = |x: f64| 30.0 + 0.1 * x + (x - phase).rem_euclid(period);
        (1..=72).map(f64::from).map(|x| (x, y(x) + blur * noise(state))).collect()
    }

    #[test]
    fn the_period_and_the_phase_are_found_to_a_step_of_x() {
        let mut state = 1;
        for (period, phase) in [(16.0, 0.0), (16.0, 3.0), (11.3, 5.0), (23.0, 20.0)] {
            let found =
                fit(&curve(period, phase, 0.0, &mut state), Interval { low: 4.0, high: 36.0 })
                    .expect("a fit");
            assert!((found.period - period).abs() < 0.4, "{period}: {found:?}");
            assert!(found.explained > 0.98, "{found:?}");
            assert!((found.rise - 1.0).abs() < 0.1, "{found:?}");
        }
    }

    #[test]
    fn teeth_are_found_under_noise_of_half_their_height() {
        let mut state = 7;
        let rounds: Vec<Vec<f64>> = (0..9)
            .map(|_| curve(16.0, 2.0, 8.0, &mut state).iter().map(|(_, y)| *y).collect())
            .collect();
        let xs: Vec<f64> = (1..=72).map(f64::from).collect();
        let periods = Interval { low: 4.0, high: 36.0 };
        let fitted = fit_rounds(&xs, &rounds, periods, 100, 3).expect("a fit");
        let (best, Interval { low, high }) = fitted;
        assert!((best.period - 16.0).abs() < 0.5, "{best:?}");
        assert!(low <= 16.0 && 16.0 <= high && high - low < 1.5, "{low} to {high}");
    }

    #[test]
    fn a_line_with_noise_has_no_teeth_to_speak_of() {
        let mut state = 3;
        let periods = Interval { low: 8.0, high: 36.0 };
        let points: Vec<(f64, f64)> =
            (1..=72).map(|n| (f64::from(n), 5.0 + f64::from(n) + noise(&mut state))).collect();
        let found = fit(&points, periods).expect("a fit");
        assert!(found.explained < 0.5, "{found:?}");
        let line: Vec<(f64, f64)> = (1..=72).map(|n| (f64::from(n), 0.0)).collect();
        assert_eq!(fit(&line, periods), None);
        assert_eq!(fit(&points[..5], periods), None);
    }
}
