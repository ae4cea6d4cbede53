//! What settings are compared by: the figure that decides.
//!
//! Callers: `decision`; `verdict`, which words the answers; `lab`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Figure, Latency, Run};

/// The figure by which it is decided whether settings differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Measure {
    /// Transactions a second: more is better.
    #[default]
    Throughput,
    /// The median of the transactions' latencies: less is better, as of the others.
    Median,
    /// The latency that 1 in 100 exceeds.
    Percentile99,
    /// The latency that 1 in 1,000 exceeds.
    Percentile999,
}

impl Measure {
    /// All of them.
    pub const ALL: [Measure; 4] =
        [Measure::Throughput, Measure::Median, Measure::Percentile99, Measure::Percentile999];

    /// The figure of a row.
    pub const fn figure(self) -> Figure {
        match self {
            Measure::Throughput => Figure::counted(Run::throughput_parts),
            Measure::Median => read(|run| latency(run, |of| of.p50_us)),
            Measure::Percentile99 => read(|run| latency(run, |of| of.p99_us)),
            Measure::Percentile999 => read(|run| latency(run, |of| of.p999_us)),
        }
    }

    /// Its name in a table.
    pub const fn name(self) -> &'static str {
        match self {
            Measure::Throughput => "throughput",
            Measure::Median => "latency, median",
            Measure::Percentile99 => "latency, 99 %",
            Measure::Percentile999 => "latency, 99.9 %",
        }
    }

    /// Its name in a sentence.
    pub const fn noun(self) -> &'static str {
        match self {
            Measure::Throughput => "throughput",
            Measure::Median => "latency (median)",
            Measure::Percentile99 => "latency (99 %)",
            Measure::Percentile999 => "latency (99.9 %)",
        }
    }

    /// Its name in a file or on a command line.
    pub const fn word(self) -> &'static str {
        match self {
            Measure::Throughput => "throughput",
            Measure::Median => "latency-median",
            Measure::Percentile99 => "latency-99",
            Measure::Percentile999 => "latency-99.9",
        }
    }

    /// Whether more of it is better.
    pub(crate) fn is_better_if_higher(self) -> bool {
        self == Measure::Throughput
    }

    /// What a setting is that has more of it than another, and less.
    pub(crate) fn comparatives(self) -> [&'static str; 2] {
        match self {
            Measure::Throughput => ["faster", "slower"],
            _ => ["longer", "shorter"],
        }
    }

    /// Of one run; None if nothing ended in it.
    pub(crate) fn of(self, run: &Run) -> Option<f64> {
        let [numerator, denominator] = self.figure().of(run);
        Some(numerator / denominator).filter(|value| value.is_finite())
    }
}

/// The figure of a run that has none, and can't have one. Its round is left out.
pub(crate) const NOTHING: [f64; 2] = [f64::NAN, 0.0];

/// What was read from a histogram.
const fn read(parts: fn(&Run) -> [f64; 2]) -> Figure {
    let resolution = |run: &Run| run.latency.map_or(0.0, |of| of.resolution.clamp(0.0, 1.0));
    Figure { parts, resolution }
}

/// Of a run; levels are compared by the means of their runs.
fn latency(run: &Run, of: fn(&Latency) -> f64) -> [f64; 2] {
    match &run.latency {
        Some(latency) => [of(latency) * 1e3, 1.0],
        None if run.is_idle() => NOTHING,
        None => [f64::NAN, 1.0],
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Measure {
    type Err = String;

    fn from_str(word: &str) -> Result<Measure, String> {
        let words = Measure::ALL.map(Measure::word);
        let known = Measure::ALL.into_iter().find(|measure| measure.word() == word);
        known.ok_or_else(|| format!("'{word}' is no measure: choose {}", words.join(", ")))
    }
}

impl TryFrom<String> for Measure {
    type Error = String;

    fn try_from(word: String) -> Result<Measure, String> {
        word.parse()
    }
}

impl From<Measure> for String {
    fn from(measure: Measure) -> String {
        measure.word().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_as_measures() {
        for measure in Measure::ALL {
            assert_eq!(measure.to_string().parse(), Ok(measure));
        }
        let error = "speed".parse::<Measure>().expect_err("it is none");
        assert_eq!(
            error,
            "'speed' is no measure: choose throughput, latency-median, latency-99, latency-99.9"
        );
    }
}
