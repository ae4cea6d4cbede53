//! Is there an effect that comes so slowly that blocks don't show it?
//!
//! ```text
//!   setting    ABBAABBBBBBBBBBBBAAAAAAAAAAAAABABBAABABBA    [stretches of equals among rounds]
//!   exposure   ·········''''''''''···......·············    x = how much of B has sunk in
//!   throughput ·········.........···'''''''·············    ln y = b x + what else there is
//! ```
//!
//! What of a setting has sunk in by a moment is its exposure: a mean of the settings before, in
//! which a moment counts the less the longer it is ago. Stretches of equals make it swing.
//! Throughput, less what the setting does at once, is fitted by the exposure, as a series whose
//! noise remembers (`stats::autoregressive`). What else there is: covariates, a trend, and of each
//! instance its level and a ramp at its begin, for an instance begins cold, and with A: neither may
//! look like an effect. It is done for three memories, since nobody knows how slow the effect is.
//! From an interval to the next the noise is taken to remember six tenths at least (`RHO_MIN`).
//!
//! Two things were tried that see less. To compare the stretches with each other has the wrong sign
//! where the memory is longer than they are: what is slow to come is slow to go. And of shorter
//! ones that are spread, each makes exposure swing the less, the shorter it is.
//!
//! Callers: `carry_over`; `lab`, which doesn't end before it was looked for.

use std::collections::BTreeMap;

use serde::Serialize;
use stats::autoregressive::coefficient;

use super::carry_over::{least_found, probability};
use crate::decision::{covariates, others};
use crate::{Block, Level, Measure, RoundKind, Rule, Run};

/// The memories that are tried, in lengths of a stretch: 15, 60 and 180 s in five minutes.
const MEMORIES: [f64; 3] = [0.5, 2.0, 6.0];
/// The experiment is cut into intervals of this share of a stretch.
const INTERVAL: f64 = 1.0 / 6.0;
const INTERVALS_MAX: usize = 2_000;
/// They have so many blocks at least.
const BLOCKS_IN_INTERVAL: usize = 3;
/// Fewer intervals than this beyond the columns tell nothing.
const INTERVALS_MIN: usize = 18;
/// What noise keeps from an interval to the next at least, whatever is left of a series says: a
/// machine beside a neighbour wanders by minutes too, and then what is estimated is often far too
/// small. Found with the noise of such a machine (docs/log/lab.md, 2026-11-28).
const RHO_MIN: f64 = 0.6;
/// An interval in which the device stalled has this share of what is usual: a logarithm is taken.
const SHARE_MIN: f64 = 0.1;

/// What comes of a setting slowly, beyond what it does at once.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SlowEffect {
    /// When all of it has sunk in, as a share of the measure.
    pub effect: f64,
    /// The standard error of its logarithm (of one more than it).
    pub standard_error: f64,
    /// The probability that nothing would look like this, of any level in any of the memories that
    /// were tried.
    pub p: f64,
    /// After this time six tenths of it have come, s.
    pub memory_s: f64,
    /// A change for the worse by this share would be called found in four of five cases, in each
    /// of the memories.
    pub seen_from: f64,
}

impl SlowEffect {
    /// Of `level`, against A. A rare latency is known by too few transactions: it is looked for in
    /// the median. None before a stretch of either, or of few blocks.
    pub fn of(rows: &[Run], level: Level, rule: &Rule) -> Option<SlowEffect> {
        let mut levels = vec![level];
        levels.extend(others(rows).filter(|other| *other != level));
        let series = Series::of(rows, level, rule)?;
        let tried = (MEMORIES.len() * levels.len()) as f64;
        let mut foremost: Option<SlowEffect> = None;
        let mut seen_from: f64 = 0.0;
        for stretches in MEMORIES {
            let memory = stretches * series.stretch;
            let columns = series.columns(&levels, memory);
            if series.y.len() < columns.len() + INTERVALS_MIN {
                return None;
            }
            let found = coefficient(&series.y, &columns, RHO_MIN)?;
            let p = probability(found.effect, found.standard_error, found.degrees);
            let p = (p * tried).min(1.0);
            let least = least_found(found.standard_error, found.degrees, tried);
            seen_from = seen_from.max(match rule.measure.is_better_if_higher() {
                true => -(-least).exp_m1(),
                false => least.exp_m1(),
            });
            if foremost.is_none_or(|foremost| p < foremost.p) {
                foremost = Some(SlowEffect {
                    effect: found.effect.exp_m1(),
                    standard_error: found.standard_error,
                    p,
                    memory_s: memory / 1e9,
                    seen_from: 0.0,
                });
            }
        }
        foremost.map(|foremost| SlowEffect { seen_from, ..foremost })
    }
}

/// The experiment, cut into intervals.
struct Series<'a> {
    /// Rows in the order of time, with their blocks.
    rows: Vec<(&'a Run, &'a Block)>,
    /// The interval of each row; none of a row without a figure.
    interval_of: Vec<Option<u64>>,
    /// The mean length of a stretch, ns.
    stretch: f64,
    /// Of each interval, the logarithm of its figure as a share of what its settings do in the
    /// mean.
    y: Vec<f64>,
    /// What else there is, but for ramps.
    beside: Vec<Vec<f64>>,
    /// When instances began, ns.
    instances: Vec<u64>,
}

impl<'a> Series<'a> {
    fn of(rows: &'a [Run], level: Level, rule: &Rule) -> Option<Series<'a>> {
        let mut rows: Vec<(&Run, &Block)> =
            rows.iter().map(|run| Some((run, run.block.as_ref()?))).collect::<Option<_>>()?;
        rows.sort_by_key(|(_, block)| block.at_ns);
        let stretch = length_of_stretches(&rows, level)?;
        let shares = shares(&rows, rule.measure)?;
        let (first, last) = (rows.first()?.1.at_ns, rows.last()?.1.at_ns);
        let all = (last - first) as f64;
        let count = (all / (stretch * INTERVAL)) as usize;
        let count = count.min(rows.len() / BLOCKS_IN_INTERVAL).min(INTERVALS_MAX);
        if count < INTERVALS_MIN {
            return None;
        }
        let length = all / count as f64;
        let interval =
            |at_ns: u64| (((at_ns - first) as f64 / length) as u64).min(count as u64 - 1);
        let interval_of = rows.iter().zip(&shares);
        let interval_of =
            interval_of.map(|((_, block), share)| share.map(|_| interval(block.at_ns))).collect();
        let mut instances: Vec<u64> = rows.iter().map(|(_, block)| block.instance_ns).collect();
        instances.dedup();
        let (y, beside) = (Vec::new(), Vec::new());
        let mut series = Series { rows, interval_of, stretch, y, beside, instances };
        let shares: Vec<f64> = shares.into_iter().map(|share| share.unwrap_or(1.0)).collect();
        series.y = series.means(&shares).iter().map(|share| share.max(SHARE_MIN).ln()).collect();
        series.beside = vec![series.of_rows(|_, _| 1.0), series.of_rows(|_, b| b.at_ns as f64)];
        for began in &series.instances[1..] {
            let of = series.of_rows(|_, block| f64::from(block.instance_ns == *began));
            series.beside.push(of);
        }
        for covariate in covariates(rule, true) {
            series.beside.push(series.of_rows(|run, _| (covariate.of)(run)));
        }
        Some(series)
    }

    /// The exposures to these levels, ramps, and what else there is.
    fn columns(&self, levels: &[Level], memory: f64) -> Vec<Vec<f64>> {
        let exposures = levels.iter().map(|level| self.means(&self.exposure(*level, memory)));
        let ramps = self.instances.iter().map(|began| {
            self.of_rows(|_, block| match block.instance_ns == *began {
                true => (-((block.at_ns - began) as f64) / memory).exp(),
                false => 0.0,
            })
        });
        exposures.chain(ramps).chain(self.beside.iter().cloned()).collect()
    }

    /// How much of the level has sunk in, as a mean of each row's block. An instance begins with A.
    fn exposure(&self, level: Level, memory: f64) -> Vec<f64> {
        let (mut now, mut instance) = (0.0, None);
        let mut exposures = Vec::new();
        for (at, (run, block)) in self.rows.iter().enumerate() {
            if instance.replace(block.instance_ns) != Some(block.instance_ns) {
                now = 0.0;
            }
            // A block lasts until the next one begins.
            let next = self.rows.get(at + 1).map(|(_, next)| next.at_ns - block.at_ns);
            let length = next.unwrap_or(block.washout_ns + block.window_ns).max(1) as f64;
            let set = f64::from(run.identity.level == level);
            let kept = (-length / memory).exp();
            exposures.push(set + (now - set) * (1.0 - kept) * memory / length);
            now = set + (now - set) * kept;
        }
        exposures
    }

    fn of_rows(&self, of: impl Fn(&Run, &Block) -> f64) -> Vec<f64> {
        self.means(&self.rows.iter().map(|(run, block)| of(run, block)).collect::<Vec<_>>())
    }

    /// The means of the intervals; those without a row that has a figure are left out.
    fn means(&self, of: &[f64]) -> Vec<f64> {
        let mut intervals: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for (interval, value) in self.interval_of.iter().zip(of) {
            if let Some(interval) = interval {
                intervals.entry(*interval).or_default().push(*value);
            }
        }
        intervals.values().map(|values| stats::mean(values)).collect()
    }
}

/// The mean length of stretches of equals, ns. None if A or the level has none.
fn length_of_stretches(rows: &[(&Run, &Block)], level: Level) -> Option<f64> {
    let of = |(run, _): &(&Run, &Block)| (run.identity.kind, run.identity.level);
    let stretches: Vec<&[(&Run, &Block)]> = rows
        .chunk_by(|a, b| of(a) == of(b) && of(a).0 == RoundKind::Equals)
        .filter(|stretch| of(&stretch[0]).0 == RoundKind::Equals)
        .collect();
    let has_one = |level| stretches.iter().any(|stretch| of(&stretch[0]).1 == level);
    if !has_one(Level::A) || !has_one(level) {
        return None;
    }
    let length = |block: &Block| (block.washout_ns + block.window_ns) as f64;
    let all: f64 = stretches.iter().flat_map(|of| of.iter()).map(|(_, block)| length(block)).sum();
    Some(all / stretches.len() as f64).filter(|length| *length > 0.0)
}

/// Of each block, its figure as a share of the mean of its setting in the rounds that compare; none
/// of a block in which nothing ended, which has no latency. None if a setting has nothing of it.
fn shares(rows: &[(&Run, &Block)], measure: Measure) -> Option<Vec<Option<f64>>> {
    let measure = match measure {
        Measure::Percentile99 | Measure::Percentile999 => Measure::Median,
        measure => measure,
    };
    let mut of_level: BTreeMap<Level, Vec<f64>> = BTreeMap::new();
    for (run, _) in rows.iter().filter(|(run, _)| run.identity.kind == RoundKind::Compared) {
        of_level.entry(run.identity.level).or_default().extend(measure.of(run));
    }
    let means: BTreeMap<Level, f64> =
        of_level.into_iter().map(|(level, all)| (level, stats::mean(&all))).collect();
    let share = |(run, _): &(&Run, &Block)| {
        let mean = means.get(&run.identity.level).filter(|mean| **mean > 0.0)?;
        Some(measure.of(run).map(|figure| figure / mean))
    };
    rows.iter().map(share).collect()
}
