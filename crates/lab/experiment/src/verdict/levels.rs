//! All settings beside each other, where there are more than two.
//!
//! ```text
//!        tx/s  to A      interval  real  matters     CPU       to A  writes
//!   A   1,372                                     241 us              0.250
//!   B   1,482  +8.0  +5.8 to +10.2  yes  yes      131 us  -46 to -45  0.250
//!   best   B is the best for certain
//! ```
//!
//! Each setting is compared with A, and the comparisons share the declared error
//! ([`Rule::shared_by`]): all intervals hold at once, but with that error. So a setting is the best
//! for certain if its interval lies above those of all others (A's is 1): nothing else has to be
//! compared.
//!
//! Callers: `verdict`.

use report::number::{change, counted, share};
use report::{Table, labelled, paragraph};
use serde::Serialize;
use stats::Matters;

use super::headline::Labelled;
use super::yardsticks::{CPU_OF_INSTANCE, DEVICE_WRITES, figure};
use crate::decision::{Figure, Rule, decide};
use crate::rounds::Rounds;
use crate::{Level, Measure, Run};

/// An interval that ends beyond this ratio says nothing.
const RATIO_MAX: f64 = 10.0;

/// The settings, and which is best.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Levels {
    /// The error of all comparisons together.
    error: f64,
    /// The share of each.
    error_of_each: f64,
    /// What they are compared by.
    pub(super) measure: Measure,
    /// The best one by that, if it is certain.
    best: Option<Level>,
    /// The one that is compared with A in detail.
    pub(super) compared: Level,
    /// Whether the difference of that one is certain.
    is_certain: bool,
    pub(super) lines: Vec<Line>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Line {
    pub(super) level: Level,
    pub(super) setting: String,
    /// Transactions a second, by sums (rule V3).
    pub(super) throughput: f64,
    /// Against A; none of A itself, and before the first look.
    pub(super) against_a: Option<Against>,
    /// CPU of the instance, ns a transaction.
    pub(super) cpu_ns: f64,
    pub(super) cpu_against_a: Option<Against>,
    /// Device writes a transaction.
    pub(super) device_writes: f64,
}

/// A ratio to A.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Against {
    pub(super) ratio: f64,
    /// None if the rounds are too few to bound it.
    pub(super) interval: Option<[f64; 2]>,
    /// Of the ratio's logarithm, as it is: an end may bound another setting all the same, and one
    /// that isn't there bounds none.
    #[serde(skip)]
    ends: [f64; 2],
    /// Whether the ratio isn't that of the figures.
    #[serde(skip)]
    is_adjusted: bool,
    /// `yes`, or `not seen`.
    pub(super) real: &'static str,
    /// `yes`, `no` or `open`.
    pub(super) matters: &'static str,
}

impl Against {
    fn of(rows: &[Run], level: Level, figure: Figure, rule: &Rule) -> Option<Against> {
        if level == Level::A {
            return None;
        }
        let of = decide(rows, level, figure, rule)?;
        let logs = of.of_logs();
        Some(Against {
            ratio: of.ratio,
            interval: of.bounds().map(|of| [of.low, of.high]),
            ends: [logs.low, logs.high],
            is_adjusted: of.is_adjusted(),
            real: if of.answer.is_real() { "yes" } else { "not seen" },
            matters: match of.answer.matters {
                Matters::Yes => "yes",
                Matters::No => "no",
                Matters::Open => "open",
            },
        })
    }

    /// Its interval, if it isn't too long to be told.
    pub(super) fn told(&self) -> Option<[f64; 2]> {
        self.interval.filter(|[_, high]| *high <= RATIO_MAX)
    }

    /// The change and its interval, in per cent, without the sign.
    fn cells(of: Option<&Against>) -> [String; 2] {
        let bare = |ratio: f64| change(ratio).trim_end_matches(" %").to_owned();
        match of {
            None => [String::new(), String::new()],
            Some(of) => {
                let interval = of.told().map(|ends| ends.map(bare).join(" to "));
                [bare(of.ratio), interval.unwrap_or_else(|| "too long".to_owned())]
            }
        }
    }
}

impl Levels {
    /// None of two settings, which the headline compares.
    pub(crate) fn of(
        rows: &[Run],
        rounds: &Rounds<'_>,
        compared: Level,
        rule: &Rule,
    ) -> Option<Levels> {
        if rounds.levels <= 2 {
            return None;
        }
        let line = |index: usize| -> Option<Line> {
            let level = Level::of(index);
            let runs: Vec<&Run> =
                rounds.compared.iter().filter_map(|round| round.get(&level).copied()).collect();
            let sums = |of: Figure| {
                let sum = |part: usize| runs.iter().map(|run| of.of(run)[part]).sum::<f64>();
                sum(0) / sum(1)
            };
            Some(Line {
                level,
                setting: runs.first()?.identity.setting.clone(),
                throughput: sums(Measure::Throughput.figure()),
                against_a: Against::of(rows, level, rule.measure.figure(), rule),
                cpu_ns: sums(CPU_OF_INSTANCE),
                cpu_against_a: Against::of(rows, level, CPU_OF_INSTANCE, rule),
                device_writes: sums(DEVICE_WRITES),
            })
        };
        let lines: Vec<Line> = (0..rounds.levels).filter_map(line).collect();
        let is_certain = lines.iter().any(|line| {
            line.level == compared && line.against_a.is_some_and(|of| of.real == "yes")
        });
        Some(Levels {
            error: rule.error,
            error_of_each: rule.shared_by(rounds.levels).error,
            measure: rule.measure,
            best: best(&lines, rule.measure),
            compared,
            is_certain,
            lines,
        })
    }

    pub(crate) fn text(&self) -> String {
        let settings =
            self.lines.iter().map(|line| labelled(&line.level.to_string(), &line.setting));
        let mut table = Table::default();
        table.row(["", "tx/s", "to A", "interval", "real", "matters", "CPU", "to A", "writes"]);
        table.row(["", "", "%", "%", "", "", "/tx", "%", "/tx"]);
        for line in &self.lines {
            let [ratio, interval] = Against::cells(line.against_a.as_ref());
            let [_, cpu] = Against::cells(line.cpu_against_a.as_ref());
            let real = line.against_a.map_or("", |of| if of.real == "yes" { "yes" } else { "-" });
            table.row([
                line.level.to_string(),
                figure(line.throughput, "tx/s"),
                ratio,
                interval,
                real.to_owned(),
                line.against_a.map_or("", |of| of.matters).to_owned(),
                figure(line.cpu_ns, "ns"),
                cpu,
                figure(line.device_writes, "/tx"),
            ]);
        }
        let answers = self.answers().into_iter().map(|(label, text)| labelled(&label, &text));
        settings.collect::<String>()
            + "\n"
            + &table.text()
            + &paragraph(&self.columns(), "  ")
            + "\n"
            + &answers.collect::<String>()
    }

    /// What the columns mean.
    fn columns(&self) -> String {
        let of = match self.measure {
            Measure::Throughput => "against A".to_owned(),
            measure => format!("{} against A's", measure.noun()),
        };
        let is_adjusted = |line: &Line| line.against_a.is_some_and(|of| of.is_adjusted);
        let noise = match self.lines.iter().any(is_adjusted) {
            true => "; noise is taken out, so it isn't quite the ratio of the figures",
            false => "",
        };
        format!(
            "to A: {of}, with the interval of each setting{noise}. real: a dash where no \
             difference is seen. CPU: that of the instance a transaction, with its interval \
             against A. writes: those of the device a transaction."
        )
    }

    pub(super) fn best_words(&self) -> String {
        match self.best {
            Some(level) => {
                let [more, less] = self.measure.comparatives();
                let words = match self.measure {
                    Measure::Throughput => more.to_owned(),
                    measure => format!("with a {less} {}", measure.noun()),
                };
                format!("{level} is best for certain: {words} than each of the others.")
            }
            None => "None is best for certain.".to_owned(),
        }
    }

    /// Which is best, and how sure that is.
    pub(super) fn answers(&self) -> Vec<Labelled> {
        let comparisons = self.lines.len().saturating_sub(1) as u64;
        let error = format!(
            "{} is shared by {} with A, {} each (Bonferroni): in {} of experiments all of these \
             intervals hold the truth at once, whenever they stop",
            share(self.error),
            counted(comparisons, "comparison"),
            share(self.error_of_each),
            share(1.0 - self.error),
        );
        vec![("best".to_owned(), self.best_words()), ("error".to_owned(), error)]
    }

    /// The heading of what follows: A and one other.
    pub(super) fn detail(&self) -> String {
        let level = self.compared;
        match self.is_certain {
            true => format!("A against {level}, whose difference is the largest certain one"),
            false => format!("A against {level}, the last: no difference is certain"),
        }
    }
}

/// The level whose interval lies beyond those of all others, on the better side.
fn best(lines: &[Line], measure: Measure) -> Option<Level> {
    let interval = |line: &Line| match line.level {
        Level::A => Some([0.0, 0.0]),
        _ => line.against_a.map(|of| of.ends),
    };
    let all: Vec<(Level, [f64; 2])> =
        lines.iter().map(|line| Some((line.level, interval(line)?))).collect::<Option<_>>()?;
    let is_best = |(level, own): &&(Level, [f64; 2])| {
        all.iter().all(|(other, others)| {
            other == level
                || match measure.is_better_if_higher() {
                    true => own[0] > others[1],
                    false => own[1] < others[0],
                }
        })
    };
    all.iter().find(is_best).map(|(level, _)| *level)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The best of A and of settings whose logarithms have these ends.
    fn best_of<const N: usize>(ends: [[f64; 2]; N], measure: Measure) -> Option<Level> {
        let against = |ends: [f64; 2]| Against {
            ratio: 1.0,
            interval: None,
            ends,
            is_adjusted: false,
            real: "yes",
            matters: "yes",
        };
        let line = |(level, against_a): (usize, Option<Against>)| Line {
            level: Level::of(level),
            setting: String::new(),
            throughput: 1.0,
            against_a,
            cpu_ns: 1.0,
            cpu_against_a: None,
            device_writes: 0.0,
        };
        let all = std::iter::once(None).chain(ends.map(|ends| Some(against(ends))));
        best(&all.enumerate().map(line).collect::<Vec<_>>(), measure)
    }

    #[test]
    fn the_best_lies_beyond_all_others() {
        let measure = Measure::Throughput;
        assert_eq!(best_of([[0.1, 0.2], [0.3, 0.4]], measure), Some(Level::of(2)));
        assert_eq!(best_of([[0.1, 0.35], [0.3, 0.4]], measure), None);
        assert_eq!(best_of([[-0.2, -0.1], [-0.4, -0.3]], measure), Some(Level::A));
        assert_eq!(best_of([[-0.2, -0.1], [-0.4, -0.3]], Measure::Median), Some(Level::of(2)));
    }

    /// Two thousand times as much as A isn't more than what has no end.
    #[test]
    fn a_setting_without_bounds_may_be_the_best() {
        let unbounded = [f64::NEG_INFINITY, f64::INFINITY];
        assert_eq!(best_of([unbounded, [7.5, 7.7]], Measure::Throughput), None);
    }
}
