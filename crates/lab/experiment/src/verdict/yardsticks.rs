//! The yardsticks: throughput, latency, cost of a transaction, and work that must be equal.
//!
//! Each has its ratio with an interval, and its own answer. "No slower, and 31 % more CPU" is a
//! verdict. Counts are hardly touched by what happens beside a run, so the cost of a transaction is
//! often certain where its speed isn't.
//!
//! Callers: `verdict`.

use report::number::{alike, change, decimal};
use report::{Table, paragraph};
use serde::Serialize;
use stats::sequential::Direction;
use waits::{Nanos, Statistic};

use crate::decision::{Decision, Figure, Rule, decide, others};
use crate::{Level, Measure, Run};

/// What a yardstick measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Throughput,
    Latency,
    Cost,
    Work,
}

/// A figure that is compared.
struct Yardstick {
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    of: Figure,
}

const fn yardstick(
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    of: fn(&Run) -> [f64; 2],
) -> Yardstick {
    Yardstick { name, kind, unit, of: Figure::counted(of) }
}

const fn measured(measure: Measure, kind: Kind, unit: &'static str) -> Yardstick {
    Yardstick { name: measure.name(), kind, unit, of: measure.figure() }
}

/// The unit of times.
pub(super) const NS: &str = "ns";
/// The unit of times of a transaction.
const NS_PER_TX: &str = "ns/tx";

/// CPU of the instance's processes, and transactions.
pub(super) const CPU_OF_INSTANCE: Figure =
    Figure::counted(|run| [run.background.profile.cpu_in_all_ns() as f64, run.transactions as f64]);
/// Writes that the device was asked for, and transactions.
pub(super) const DEVICE_WRITES: Figure =
    Figure::counted(|run| counted(run, Statistic::PhysicalWriteRequests));

const ALL: [Yardstick; 14] = [
    measured(Measure::Throughput, Kind::Throughput, "tx/s"),
    measured(Measure::Median, Kind::Latency, NS),
    measured(Measure::Percentile99, Kind::Latency, NS),
    measured(Measure::Percentile999, Kind::Latency, NS),
    yardstick("CPU of sessions", Kind::Cost, NS_PER_TX, |run| {
        [run.foreground.profile.cpu_in_all_ns() as f64, run.transactions as f64]
    }),
    yardstick("CPU of the instance", Kind::Cost, NS_PER_TX, CPU_OF_INSTANCE.parts),
    yardstick("device writes", Kind::Cost, "/tx", DEVICE_WRITES.parts),
    yardstick("bytes written", Kind::Cost, "bytes/tx", |run| {
        counted(run, Statistic::PhysicalWriteBytes)
    }),
    yardstick("device reads", Kind::Cost, "/tx", |run| {
        counted(run, Statistic::PhysicalReadRequests)
    }),
    yardstick("syncs", Kind::Cost, "/tx", |run| counted(run, Statistic::FileSyncRequests)),
    yardstick("context switches", Kind::Cost, "/tx", switches),
    yardstick("redo writes", Kind::Cost, "/tx", |run| counted(run, Statistic::RedoWrites)),
    yardstick("redo", Kind::Work, "bytes/tx", |run| counted(run, Statistic::RedoSize)),
    yardstick("block changes", Kind::Work, "/tx", |run| counted(run, Statistic::BlockChanges)),
];

fn counted(run: &Run, statistic: Statistic) -> [f64; 2] {
    [run.statistic(statistic) as f64, run.transactions as f64]
}

/// Of the process, and transactions of the interval in which it was watched.
fn switches(run: &Run) -> [f64; 2] {
    let transactions = run.block.as_ref().map_or(run.transactions, |block| block.transactions);
    let switches = run.surroundings.as_ref().map_or(f64::NAN, |of| of.switches as f64);
    [switches, transactions as f64]
}

/// All that were measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Yardsticks {
    pub(super) lines: Vec<Line>,
    /// Work differs by more than this share: the sides didn't do the same.
    unequal: Vec<&'static str>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Line {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) unit: &'static str,
    /// By sums over all runs of a side.
    pub(super) a: f64,
    pub(super) b: f64,
    pub(super) ratio: f64,
    /// None if the rounds are too few to bound it.
    pub(super) interval: Option<[f64; 2]>,
    /// Whether the ratio isn't that of the figures.
    #[serde(skip)]
    is_adjusted: bool,
    /// `higher`, `lower` or `not seen`.
    pub(super) difference: &'static str,
}

/// What a table says of intervals that it shows as "-" (V37).
pub(super) const UNBOUNDED: &str = "-: the rounds are too few to bound this figure.";

/// Work that differs by more isn't the same.
const UNEQUAL: f64 = 0.01;

impl Yardsticks {
    pub(crate) fn of(rows: &[Run], level: Level, rule: &Rule) -> Yardsticks {
        let lines: Vec<Line> =
            ALL.iter().filter_map(|of| Line::of(of, rows, level, rule)).collect();
        let unequal = lines.iter().filter(|line| line.is_unequal()).map(|line| line.name).collect();
        Yardsticks { lines, unequal }
    }

    /// The kinds of work of which `level` certainly didn't do as much as A.
    fn unequal(rows: &[Run], level: Level, rule: &Rule) -> Vec<&'static str> {
        let work = ALL.iter().filter(|of| of.kind == Kind::Work);
        let lines = work.filter_map(|of| Line::of(of, rows, level, rule));
        lines.filter(Line::is_unequal).map(|line| line.name).collect()
    }

    /// A sentence for each kind of work that the sides didn't do equally.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        self.unequal.iter().map(|name| unequal_warning("The sides", name))
    }

    /// The same of all other settings, where there are more than two.
    pub(crate) fn warnings_of_others(rows: &[Run], compared: Level, rule: &Rule) -> Vec<String> {
        let warnings = |level: Level| {
            let unequal = Yardsticks::unequal(rows, level, rule).into_iter();
            unequal.map(move |name| unequal_warning(&format!("A and {level}"), name))
        };
        others(rows).filter(|level| *level != compared).flat_map(warnings).collect()
    }

    pub(crate) fn text(&self, b: Level) -> String {
        let text = "Yardsticks\n".to_owned();
        if self.lines.is_empty() {
            return text + &paragraph("There are too few rounds.", "  ");
        }
        let mut table = Table::default();
        table.row(["", "A", &b.to_string(), "", &format!("{b} / A"), "interval", ""]);
        for line in &self.lines {
            let word = match line.difference {
                "higher" => "up",
                "lower" => "down",
                _ => "",
            };
            let [of_a, of_b] = figures([line.a, line.b], line.unit);
            table.row([
                line.name,
                &of_a,
                &of_b,
                shown_unit(line.unit),
                &change(line.ratio),
                &line.interval_text(),
                word,
            ]);
        }
        let unbounded = self.lines.iter().any(Line::is_unbounded).then_some(UNBOUNDED);
        let notes = self.adjusted(b).into_iter().chain(unbounded.map(str::to_owned));
        text + &table.text() + &notes.map(|note| paragraph(&note, "  ")).collect::<String>()
    }

    /// What a table says of ratios that aren't those of its figures.
    pub(super) fn adjusted(&self, b: Level) -> Option<String> {
        let note = format!(
            "{b} / A: noise is taken out as above, so it isn't quite the ratio of the two figures."
        );
        self.lines.iter().any(|line| line.is_adjusted).then_some(note)
    }
}

/// What stands behind a figure: a time has its own unit.
pub(super) fn shown_unit(unit: &'static str) -> &'static str {
    match unit {
        NS => "",
        NS_PER_TX => "/tx",
        unit => unit,
    }
}

/// Three or four figures; times in the unit that suits them.
pub(super) fn figure(value: f64, unit: &str) -> String {
    match is_time(unit) {
        true => Nanos(value.round() as u64).to_string(),
        false => decimal(value, decimals(value)),
    }
}

/// The same of two figures beside each other: what isn't a time has as many decimals in both.
pub(super) fn figures(values: [f64; 2], unit: &str) -> [String; 2] {
    match is_time(unit) {
        true => values.map(|value| figure(value, unit)),
        false => alike(values, decimals),
    }
}

fn is_time(unit: &str) -> bool {
    [NS, NS_PER_TX].contains(&unit)
}

fn decimals(value: f64) -> u32 {
    if value >= 1_000.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        3
    }
}

fn unequal_warning(sides: &str, name: &str) -> String {
    format!("{sides} didn't do the same work: they differ in {name} a transaction.")
}

impl Line {
    /// Whether its interval says nothing. Tables show "-" in its place.
    pub(super) fn is_unbounded(&self) -> bool {
        self.interval.is_none()
    }

    /// The interval as a change, with one sign of per cent.
    pub(super) fn interval_text(&self) -> String {
        let Some(interval) = self.interval else { return "-".to_owned() };
        let [low, high] = interval.map(change);
        format!("{} to {high}", low.trim_end_matches(" %"))
    }

    fn is_unequal(&self) -> bool {
        let is_apart = |[low, high]: [f64; 2]| low > 1.0 + UNEQUAL || high < 1.0 / (1.0 + UNEQUAL);
        self.kind == Kind::Work && self.interval.is_some_and(is_apart)
    }

    /// None if a run hasn't the figure, or a side has nothing of it.
    fn of(of: &Yardstick, rows: &[Run], level: Level, rule: &Rule) -> Option<Line> {
        let decision = decide(rows, level, of.of, rule)?;
        let Decision { figures: [a, b], ratio, answer, .. } = decision;
        Some(Line {
            name: of.name,
            kind: of.kind,
            unit: of.unit,
            a,
            b,
            ratio,
            interval: decision.bounds().map(|of| [of.low, of.high]),
            is_adjusted: decision.is_adjusted(),
            difference: match answer.direction {
                Direction::Up => "higher",
                Direction::Down => "lower",
                Direction::Open => "not seen",
            },
        })
    }
}
