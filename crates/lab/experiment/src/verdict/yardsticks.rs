//! The yardsticks: throughput, latency, cost of a transaction, and work that must be equal.
//!
//! Each has its ratio with an interval, and its own answer. "No slower, and 31 % more CPU" is a
//! verdict. Counts are hardly touched by what happens beside a run, so the cost of a transaction is
//! often certain where its speed isn't.
//!
//! Callers: `verdict`.

use report::number::{change, decimal};
use report::{Table, paragraph};
use serde::Serialize;
use stats::sequential::Direction;
use waits::Statistic;

use crate::decision::{Decision, Figure, Rule, decide};
use crate::{Level, Run};

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
    /// What a figure is divided by to be shown in the unit.
    per_unit: f64,
    of: Figure,
}

const fn yardstick(
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    per_unit: f64,
    of: Figure,
) -> Yardstick {
    Yardstick { name, kind, unit, per_unit, of }
}

const ALL: [Yardstick; 13] = [
    yardstick("throughput", Kind::Throughput, "tx/s", 1.0, Run::throughput_parts),
    yardstick("latency, median", Kind::Latency, "us", 1.0, |run| latency(run, |of| of.p50_us)),
    yardstick("latency, 99 %", Kind::Latency, "us", 1.0, |run| latency(run, |of| of.p99_us)),
    yardstick("latency, 99.9 %", Kind::Latency, "us", 1.0, |run| latency(run, |of| of.p999_us)),
    yardstick("CPU of sessions", Kind::Cost, "us/tx", 1e3, |run| {
        [run.foreground.profile.cpu_in_all_ns() as f64, run.transactions as f64]
    }),
    yardstick("CPU of the instance", Kind::Cost, "us/tx", 1e3, |run| {
        [run.background.profile.cpu_in_all_ns() as f64, run.transactions as f64]
    }),
    yardstick("device writes", Kind::Cost, "/tx", 1.0, |run| {
        counted(run, Statistic::PhysicalWriteRequests)
    }),
    yardstick("bytes written", Kind::Cost, "kB/tx", 1e3, |run| {
        counted(run, Statistic::PhysicalWriteBytes)
    }),
    yardstick("device reads", Kind::Cost, "/tx", 1.0, |run| {
        counted(run, Statistic::PhysicalReadRequests)
    }),
    yardstick("syncs", Kind::Cost, "/tx", 1.0, |run| counted(run, Statistic::FileSyncRequests)),
    yardstick("redo writes", Kind::Cost, "/tx", 1.0, |run| counted(run, Statistic::RedoWrites)),
    yardstick("redo", Kind::Work, "bytes/tx", 1.0, |run| counted(run, Statistic::RedoSize)),
    yardstick("block changes", Kind::Work, "/tx", 1.0, |run| counted(run, Statistic::BlockChanges)),
];

/// Of a run; levels are compared by the means of their runs.
fn latency(run: &Run, of: fn(&crate::Latency) -> f64) -> [f64; 2] {
    [run.latency.as_ref().map_or(f64::NAN, of), 1.0]
}

fn counted(run: &Run, statistic: Statistic) -> [f64; 2] {
    [run.statistic(statistic) as f64, run.transactions as f64]
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
    pub(super) interval: [f64; 2],
    /// `higher`, `lower` or `not seen`.
    pub(super) difference: &'static str,
}

/// Work that differs by more isn't the same.
const UNEQUAL: f64 = 0.01;

impl Yardsticks {
    pub(crate) fn of(rows: &[Run], rule: &Rule) -> Yardsticks {
        let lines: Vec<Line> = ALL.iter().filter_map(|of| Line::of(of, rows, rule)).collect();
        let differs = |line: &&Line| {
            let [low, high] = line.interval;
            line.kind == Kind::Work && (low > 1.0 + UNEQUAL || high < 1.0 / (1.0 + UNEQUAL))
        };
        let unequal = lines.iter().filter(differs).map(|line| line.name).collect();
        Yardsticks { lines, unequal }
    }

    /// A sentence for each kind of work that the sides didn't do equally.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        self.unequal.iter().map(|name| {
            format!("The sides didn't do the same work: they differ in {name} a transaction.")
        })
    }

    pub(crate) fn text(&self) -> String {
        let text = "Yardsticks\n".to_owned();
        if self.lines.is_empty() {
            return text + &paragraph("There are too few rounds.", "  ");
        }
        let mut table = Table::default();
        table.row(["", "A", "B", "unit", "B / A", "interval", ""]);
        for line in &self.lines {
            let [low, high] = line.interval.map(change);
            let word = match line.difference {
                "not seen" => "",
                word => word,
            };
            table.row([
                line.name,
                &figure(line.a),
                &figure(line.b),
                line.unit,
                &change(line.ratio),
                &format!("{low} to {high}"),
                word,
            ]);
        }
        text + &table.text()
    }
}

/// Three or four figures.
pub(super) fn figure(value: f64) -> String {
    decimal(
        value,
        if value >= 1_000.0 {
            0
        } else if value >= 10.0 {
            1
        } else {
            3
        },
    )
}

impl Line {
    /// None if a run hasn't the figure, or a side has nothing of it.
    fn of(of: &Yardstick, rows: &[Run], rule: &Rule) -> Option<Line> {
        let Decision { figures, ratio, interval, answer, .. } =
            decide(rows, Level::B, of.of, rule)?;
        let [a, b] = figures.map(|figure| figure / of.per_unit);
        Some(Line {
            name: of.name,
            kind: of.kind,
            unit: of.unit,
            a,
            b,
            ratio,
            interval: [interval.low, interval.high],
            difference: match answer.direction {
                Direction::Up => "higher",
                Direction::Down => "lower",
                Direction::Open => "not seen",
            },
        })
    }
}
