//! How throughput went over the experiment, in one instance: from when on it was steady, and
//! whether it has a cycle.
//!
//! ```text
//!   throughput    ______/\______/\______/\____      a ramp at the begin: the cache fills
//!              __/                                  a cycle: checkpoints, log switches
//! ```
//!
//! Both are found, not assumed. Neither leans: each round's order is drawn by lot, so ramp and
//! cycle fall on all settings alike. They are noise, and tell how long a warm-up should have been.
//!
//! Callers: `verdict`.

use std::collections::BTreeMap;

use report::labelled;
use report::number::decimal;
use serde::Serialize;
use stats::changepoint::{cycle, steady_from};

use crate::{Level, Run};

/// Fewer stretches say nothing.
const STRETCHES_MIN: usize = 40;
/// The length of a stretch, s, and how many there are at most.
const STRETCH_S: f64 = 1.0;
const STRETCHES_MAX: f64 = 600.0;

/// The course of blocks.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(crate) struct Course {
    /// The first block's moment, s since the first setting was set.
    began_s: f64,
    /// From when on throughput was steady, in the same time; None if it never was.
    steady_from_s: Option<f64>,
    /// The period of its cycle, s; None if none is seen.
    cycle_s: Option<f64>,
}

impl Course {
    /// None of runs by restart, or too few blocks.
    pub(crate) fn of(rows: &[Run]) -> Option<Course> {
        let blocks: Vec<(&Run, f64)> = rows
            .iter()
            .map(|run| Some((run, run.block.as_ref()?.at_ns as f64 / 1e9)))
            .collect::<Option<_>>()?;
        let ends = |best: fn(f64, f64) -> f64| blocks.iter().map(|(_, at)| *at).reduce(best);
        let (first, last) = (ends(f64::min)?, ends(f64::max)?);
        let length = STRETCH_S.max((last - first) / STRETCHES_MAX);
        let of_level = means(&blocks);
        // Of each stretch, how far its blocks are from what their setting does in the mean.
        let mut stretches: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for (run, at) in &blocks {
            let share = run.throughput() / of_level[&run.identity.level];
            if share.is_finite() {
                stretches.entry(((at - first) / length) as u64).or_default().push(share);
            }
        }
        let series: Vec<f64> = stretches.values().map(|shares| stats::mean(shares)).collect();
        if series.len() < STRETCHES_MIN {
            return None;
        }
        // Stretches without a block are few.
        let step = (last - first) / (series.len() - 1) as f64;
        let cycle = cycle(&series);
        // A cycle is a level, too: its parts aren't levels of their own.
        let steady = match cycle {
            Some(cycle) => steady_from(&means_of(&series, cycle.period.round() as usize)),
            None => steady_from(&series),
        };
        Some(Course {
            began_s: first,
            steady_from_s: steady.map(|at| first + at as f64 * step),
            cycle_s: cycle.map(|cycle| cycle.period * step),
        })
    }

    /// From when on throughput was steady, if it wasn't from the begin.
    pub(super) fn ramp_ends_s(&self) -> Option<f64> {
        self.steady_from_s.filter(|at| *at > self.began_s)
    }

    pub(crate) fn text(&self) -> String {
        let lines = self.lines();
        let lines = lines.iter().map(|(label, text)| labelled(label, text));
        format!("{HEADING}\n{}", lines.collect::<String>())
    }

    /// What was seen.
    pub(super) fn lines(&self) -> [(&'static str, String); 2] {
        let level = match (self.steady_from_s, self.ramp_ends_s()) {
            (None, _) => "throughput changes to the end".to_owned(),
            (_, None) => "throughput is steady from the first block on".to_owned(),
            (_, Some(at)) => format!(
                "throughput is steady from {} s on; what was before fell on all settings alike",
                decimal(at, 0)
            ),
        };
        let cycle = match self.cycle_s {
            None => "none is seen".to_owned(),
            Some(period) => {
                format!("every {} s, as checkpoints or log files make it", figure(period))
            }
        };
        [("level", level), ("cycle", cycle)]
    }
}

/// The heading.
pub(super) const HEADING: &str = "Throughput over time";

fn figure(seconds: f64) -> String {
    decimal(seconds, if seconds < 10.0 { 1 } else { 0 })
}

/// The mean of each so many values that follow each other.
fn means_of(series: &[f64], count: usize) -> Vec<f64> {
    series.windows(count.max(1)).map(stats::mean).collect()
}

/// The mean throughput of each level.
fn means(blocks: &[(&Run, f64)]) -> BTreeMap<Level, f64> {
    let mut of_level: BTreeMap<Level, Vec<f64>> = BTreeMap::new();
    for (run, _) in blocks {
        of_level.entry(run.identity.level).or_default().push(run.throughput());
    }
    of_level.into_iter().map(|(level, all)| (level, stats::mean(&all))).collect()
}
