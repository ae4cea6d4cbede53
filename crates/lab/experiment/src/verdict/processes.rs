//! What each process of the instance used on either side, like `ps`: the mean of a run.
//!
//! Callers: `verdict`.

use report::number::{apportion, fixed};
use report::{ProcessUsage, Table, paragraph};
use serde::Serialize;

use crate::{Level, Run};

/// The processes of either side.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Processes {
    /// By name; one that a side doesn't have is missing there.
    pub(super) processes: Vec<Line>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Line {
    pub(super) process: String,
    pub(super) a: Option<Usage>,
    pub(super) b: Option<Usage>,
}

/// The mean of a run.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Usage {
    cpu_s: f64,
    run_queue_s: f64,
    reads: f64,
    read_mb: f64,
    writes: f64,
    write_mb: f64,
}

/// A column of the table: its two headings, what it shows, and its decimals.
pub(super) type Column = (&'static str, fn(&Usage) -> f64, u32);

pub(super) const COLUMNS: [Column; 4] = [
    ("CPU s", |usage| usage.cpu_s, 2),
    ("queue s", |usage| usage.run_queue_s, 2),
    ("writes", |usage| usage.writes, 0),
    ("MB", |usage| usage.write_mb, 1),
];

impl Processes {
    pub(crate) fn of([a, b]: &[Vec<&Run>; 2]) -> Processes {
        let mut names: Vec<&str> = Vec::new();
        for run in a.iter().chain(b) {
            names.extend(run.processes.iter().map(|process| process.name.as_str()));
        }
        names.sort_by_key(|name| by_number(name));
        names.dedup();
        let line = |name: &&str| Line {
            process: (*name).to_owned(),
            a: Usage::mean(a, name),
            b: Usage::mean(b, name),
        };
        Processes { processes: names.iter().map(line).collect() }
    }

    pub(crate) fn text(&self, b: Level) -> String {
        let b = b.to_string();
        let mut text = "Processes of the instance, mean of a run\n".to_owned();
        if self.processes.is_empty() {
            return text + &paragraph("The rows name none.", "  ");
        }
        let mut columns = Vec::new();
        for (heading, of, decimals) in COLUMNS {
            for (side, usages) in
                [("A", self.usages(|line| line.a)), (b.as_str(), self.usages(|line| line.b))]
            {
                columns.push(column_text(heading, side, &usages, of, decimals));
            }
        }
        let names = ["", "process"].into_iter();
        let names = names.chain(self.processes.iter().map(|line| line.process.as_str()));
        let mut table = Table::default();
        let rows = self.processes.len() + 2;
        for (row, name) in names.chain(["all"]).enumerate() {
            if row == rows {
                table.rule(columns.len());
            }
            let cells = columns.iter().map(|column| column[row].clone());
            table.row(std::iter::once(name.to_owned()).chain(cells));
        }
        text += &table.text();
        text + &paragraph(
            "queue s: ready to run, but without a CPU (run-queue delay). MB: written.",
            "  ",
        )
    }

    pub(super) fn usages(&self, side: fn(&Line) -> Option<Usage>) -> Vec<Option<Usage>> {
        self.processes.iter().map(side).collect()
    }
}

/// Orders `fb_dbw2` before `fb_dbw10`.
fn by_number(name: &str) -> (&str, u64) {
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    (stem, name[stem.len()..].parse().unwrap_or(0))
}

impl Usage {
    /// Of the processes of that name in these runs; a run that hasn't got it counts as zero.
    fn mean(runs: &[&Run], name: &str) -> Option<Usage> {
        let all = runs.iter().flat_map(|run| &run.processes);
        let found: Vec<&ProcessUsage> = all.filter(|process| process.name == name).collect();
        if found.is_empty() {
            return None;
        }
        let mean = |of: &dyn Fn(&ProcessUsage) -> f64| {
            found.iter().map(|process| of(process)).sum::<f64>() / runs.len() as f64
        };
        Some(Usage {
            cpu_s: mean(&|process| process.cpu_ns as f64 / 1e9),
            run_queue_s: mean(&|process| process.run_queue_ns as f64 / 1e9),
            reads: mean(&|process| process.reads as f64),
            read_mb: mean(&|process| process.read_bytes as f64 / 1e6),
            writes: mean(&|process| process.writes as f64),
            write_mb: mean(&|process| process.write_bytes as f64 / 1e6),
        })
    }
}

/// Headings, a cell a process, and the sum of what is printed (rule V2).
pub(super) fn column_text(
    heading: &str,
    side: &str,
    usages: &[Option<Usage>],
    of: fn(&Usage) -> f64,
    decimals: u32,
) -> Vec<String> {
    let scale = 10_f64.powi(decimals as i32);
    let parts: Vec<f64> =
        usages.iter().map(|usage| usage.as_ref().map_or(0.0, |usage| of(usage) * scale)).collect();
    let units = apportion(&parts);
    let mut cells = vec![heading.to_owned(), side.to_owned()];
    for (usage, units) in usages.iter().zip(&units) {
        cells.push(usage.map_or_else(|| "-".to_owned(), |_| fixed(*units, decimals)));
    }
    cells.push(fixed(units.iter().sum(), decimals));
    cells
}
