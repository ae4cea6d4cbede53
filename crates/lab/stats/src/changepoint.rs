//! Where a series changes: the end of a ramp, and the period of a cycle.
//!
//! ```text
//!   │          .-. .--. .-.--          [`steady_from`]: the first index from which on the series
//!   │     _.-.'                        keeps its level
//!   │ .-'
//!   └────────────────────── time
//! ```
//!
//! # The end of a ramp
//! PELT (Killick, Fearnhead and Eckley 2012) cuts the series into segments, each with a mean and a
//! variance of its own, such that fit plus a penalty for each cut is best of all possible cuts.
//! Then, as Barrett et al. (2017) do for the warm-up of virtual machines, segments from the end on
//! count as one level as long as their means are close to that of the last third. Theirs asks for
//! 500 iterations at that level and never gives an end to a series that is shorter; here it must be
//! a third of the series. Single stalls are clipped before the cuts are made (as they do): a stall
//! is no new level.
//!
//! Of 400 series of 120 values each (the test prints it): a series without a ramp is steady from
//! its first values on in 100 % (independent noise) and 91 % (each value keeps 0.8 of the one
//! before); the end of a ramp over 30 values from half the level is found within 8 values in 99 %.
//! A ramp that is lost in the noise is not seen.
//!
//! # The period of a cycle
//! The first of the high peaks of the autocorrelation, less a straight line, if it stands out of
//! what noise with the same short memory makes (Bartlett 1946). Three cycles must be in the series.
//! For saw-teeth over a load instead of time, module `sawtooth` fits the shape.
//!
//! Callers: the lab's verdict, for the course of an experiment.
//! Sources: Killick, Fearnhead & Eckley, "Optimal Detection of Changepoints With a Linear
//! Computational Cost" (JASA 2012); Barrett, Bolz-Tereick, Killick, Mount & Tratt, "Virtual Machine
//! Warmup Blows Hot and Cold" (OOPSLA 2017); Bartlett, "On the Theoretical Specification and
//! Sampling Properties of Autocorrelated Time-Series" (JRSS Supplement 1946).

use crate::series::autocorrelation;
use crate::summary::{deviation, mean, quantile_sorted};

/// The least number of values in a segment.
pub const SEGMENT_MIN: usize = 5;

/// The penalty of a cut in logarithms of the length, as in Barrett et al.: BIC would ask for 3, and
/// cut a series whose neighbours are alike again and again.
const PENALTY: f64 = 15.0;

/// Means are the same level if they differ by less than this share of that of the series' last
/// third, or by less than its deviation.
const LEVEL: f64 = 0.02;

/// The steady part is at least a third of the series.
const STEADY_MIN: usize = 3;

/// Stalls are clipped at this many interquartile ranges from the quartiles of their surroundings.
const FAR: f64 = 3.0;

/// The number of values to each side that are a value's surroundings.
const SURROUNDINGS: usize = 15;

/// A cycle's autocorrelation is above this many standard errors of that of noise.
const PEAK_MIN: f64 = 4.0;

/// And is at least this high.
const PEAK_LEAST: f64 = 0.3;

/// The first peak of this share of the highest is the cycle's; the highest may be one of several
/// cycles, where those are more nearly whole.
const NEAR_HIGHEST: f64 = 0.75;

/// From which index on the series is steady: 0 if it always was, None if it never gets steady or is
/// shorter than three segments.
///
/// # Panics
/// If a value isn't finite.
pub fn steady_from(series: &[f64]) -> Option<usize> {
    check(series);
    if series.len() < 3 * SEGMENT_MIN {
        return None;
    }
    let clipped = clipped(series);
    let cuts = cuts(&clipped);
    let last = &clipped[series.len() - series.len() / STEADY_MIN..];
    let (level, spread) = (mean(last), deviation(last));
    let close = spread.max(LEVEL * level.abs());
    let mut from = series.len();
    let mut end = series.len();
    for start in cuts.into_iter().rev() {
        if (mean(&clipped[start..end]) - level).abs() > close {
            break;
        }
        (from, end) = (start, start);
    }
    let steady = series.len() - from;
    (steady * STEADY_MIN >= series.len() && !drifts(&clipped[from..], close)).then_some(from)
}

/// The indexes at which segments begin by PELT with a normal cost, 0 first.
///
/// # Panics
/// If a value isn't finite.
pub fn segments(series: &[f64]) -> Vec<usize> {
    check(series);
    if series.len() < 2 * SEGMENT_MIN { vec![0] } else { cuts(series) }
}

fn check(series: &[f64]) {
    for value in series {
        assert!(value.is_finite(), "a series holds finite numbers only, not {value}");
    }
}

/// The series with far values drawn to the edge of their surroundings.
fn clipped(series: &[f64]) -> Vec<f64> {
    let clip = |at: usize| {
        let around = at.saturating_sub(SURROUNDINGS)..(at + SURROUNDINGS + 1).min(series.len());
        let mut sorted = series[around].to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (low, high) = (quantile_sorted(&sorted, 0.25), quantile_sorted(&sorted, 0.75));
        let far = FAR * (high - low);
        series[at].clamp(low - far, high + far)
    };
    (0..series.len()).map(clip).collect()
}

/// Whether the halves of the steady part differ by a level: a ramp so slow that no cut paid.
fn drifts(steady: &[f64], close: f64) -> bool {
    let (early, late) = steady.split_at(steady.len() / 2);
    !early.is_empty() && (mean(early) - mean(late)).abs() > close
}

/// PELT: for each end, the best last cut, among those that can still be best.
fn cuts(series: &[f64]) -> Vec<usize> {
    let costs = Costs::of(series);
    let count = series.len();
    let penalty = PENALTY * (count as f64).ln();
    let mut best = vec![f64::INFINITY; count + 1];
    let mut last_cut = vec![0; count + 1];
    best[0] = -penalty;
    let mut candidates: Vec<usize> = vec![0];
    for end in SEGMENT_MIN..=count {
        for &start in &candidates {
            let with = best[start] + costs.of_segment(start, end) + penalty;
            if with < best[end] {
                (best[end], last_cut[end]) = (with, start);
            }
        }
        // A start that is worse than the best even without a penalty never becomes the best.
        candidates.retain(|&start| best[start] + costs.of_segment(start, end) <= best[end]);
        let next = end + 1 - SEGMENT_MIN;
        if best[next].is_finite() && next > 0 {
            candidates.push(next);
        }
    }
    let mut starts = Vec::new();
    let mut end = count;
    while end > 0 {
        end = last_cut[end];
        starts.push(end);
    }
    starts.reverse();
    starts
}

/// Twice the negative log likelihood of a segment, normal with its own mean and variance.
struct Costs {
    /// Sums of the values and of their squares before each index, about the series' mean.
    sums: Vec<(f64, f64)>,
    /// No variance is less: equal values are not infinitely likely.
    floor: f64,
}

impl Costs {
    fn of(series: &[f64]) -> Costs {
        let center = mean(series);
        let mut sums = vec![(0.0, 0.0)];
        let (mut sum, mut squares) = (0.0, 0.0);
        for value in series {
            sum += value - center;
            squares += (value - center).powi(2);
            sums.push((sum, squares));
        }
        let variance = squares / series.len() as f64;
        Costs { sums, floor: (variance * 1e-4).max(f64::MIN_POSITIVE) }
    }

    fn of_segment(&self, start: usize, end: usize) -> f64 {
        let n = (end - start) as f64;
        let (sum, squares) =
            (self.sums[end].0 - self.sums[start].0, self.sums[end].1 - self.sums[start].1);
        let variance = (squares / n - (sum / n).powi(2)).max(self.floor);
        n * (variance.ln() + 1.0)
    }
}

/// A cycle of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cycle {
    /// How many values a cycle takes, not whole in general.
    pub period: f64,
    /// The autocorrelation at that lag: how alike cycles are, up to 1.
    pub likeness: f64,
}

/// The cycle of a series, if it has one of which three are in it.
///
/// # Panics
/// If a value isn't finite.
pub fn cycle(series: &[f64]) -> Option<Cycle> {
    check(series);
    let lag_max = series.len() / 3;
    if lag_max < 3 {
        return None;
    }
    // One lag more, so that a peak at the longest is seen to be one.
    let found = autocorrelation(&without_line(series), lag_max + 1)?;
    let memory = found.iter().position(|it| *it <= 0.0)?;
    let known: f64 = found[1..memory].iter().map(|it| it * it).sum();
    let noise = ((1.0 + 2.0 * known) / series.len() as f64).sqrt();
    let peaks = || {
        (memory.max(2)..=lag_max)
            .filter(|lag| found[*lag] >= found[lag - 1] && found[*lag] >= found[lag + 1])
    };
    // Later peaks are lower by (n - lag) / n alone.
    let n = series.len() as f64;
    let level = |lag: usize| found[lag] * n / (n - lag as f64);
    let highest = peaks().map(level).fold(0.0, f64::max);
    let lag = peaks().find(|lag| level(*lag) >= NEAR_HIGHEST * highest)?;
    if found[lag] < (PEAK_MIN * noise).max(PEAK_LEAST) {
        return None;
    }
    // The top of the parabola through the peak and its neighbours.
    let (before, at, after) = (found[lag - 1], found[lag], found[lag + 1]);
    let bend = before - 2.0 * at + after;
    let shift = if bend < 0.0 { 0.5 * (before - after) / bend } else { 0.0 };
    Some(Cycle { period: lag as f64 + shift, likeness: level(lag).min(1.0) })
}

/// What a straight line leaves of the series.
fn without_line(series: &[f64]) -> Vec<f64> {
    let center = (series.len() - 1) as f64 / 2.0;
    let level = mean(series);
    let (mut together, mut spread) = (0.0, 0.0);
    for (at, value) in series.iter().enumerate() {
        let x = at as f64 - center;
        together += x * (value - level);
        spread += x * x;
    }
    let slope = together / spread;
    let left = |(at, value): (usize, &f64)| value - level - slope * (at as f64 - center);
    series.iter().enumerate().map(left).collect()
}

#[cfg(test)]
mod tests;
