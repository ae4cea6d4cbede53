//! Where the time of a transaction goes, side by side, and where the difference comes from.
//!
//! ```text
//!                     A        B     B - A
//!   free buffer     700.0    300.0   -400.0     an event: by the wall, CPU inside included
//!   CPU             250.0    260.0    +10.0     outside waits
//!   run queue        45.0     35.0    -10.0     outside waits
//!   unaccounted       5.0      5.0      0.0
//!                   -----    -----   ------
//!   elapsed       1,000.0    600.0   -400.0     without idle waits
//! ```
//!
//! Foreground and background are told apart: *log file parallel write* of the redo writer lies
//! inside the *log file sync* of the session that waits for it, and a table that mixed them would
//! count it twice. For sessions that never idle, throughput is their number over this elapsed time:
//! that is what makes the table explain the headline.
//!
//! Callers: `verdict`.

use std::collections::BTreeMap;

use report::number::{apportion, counted, decimal, fixed, share, signed};
use report::{SessionGroup, Table, TimeLine, TimeProfile, UNACCOUNTED, paragraph};
use serde::Serialize;
use waits::Nanos;

use crate::{Level, Run};

/// Events under this share of elapsed time on both sides share a line in the text; JSON has all.
const SHARE_SHOWN: f64 = 0.001;

/// The time of one kind of sessions, per transaction.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TimeTable {
    #[serde(skip)]
    title: &'static str,
    pub(super) sessions_a: f64,
    pub(super) sessions_b: f64,
    /// Elapsed without idle waits, ns per transaction.
    pub(super) elapsed_ns_a: f64,
    pub(super) elapsed_ns_b: f64,
    /// Its parts, the longest first, unaccounted last.
    lines: Vec<Line>,
    /// Left out (rule V5).
    pub(super) idle: Vec<IdleLine>,
}

/// One part of the time, per transaction.
#[derive(Clone, Debug, Serialize)]
struct Line {
    name: String,
    /// Of an event.
    class: Option<String>,
    a: Part,
    b: Part,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Part {
    ns: f64,
    waits: f64,
    of_which_cpu_ns: f64,
    of_which_run_queue_ns: f64,
}

/// An idle event: its share of the sessions' elapsed time.
#[derive(Clone, Debug, Serialize)]
pub(super) struct IdleLine {
    name: String,
    share_a: f64,
    share_b: f64,
}

/// One side's sums over its runs (rule V3).
struct SideSum {
    profile: TimeProfile,
    transactions: f64,
    sessions: f64,
}

impl SideSum {
    fn of(runs: &[&Run], sessions: fn(&Run) -> &SessionGroup) -> SideSum {
        let mut profile = TimeProfile::default();
        for run in runs {
            profile.add(&sessions(run).profile);
        }
        let count: f64 = runs.iter().map(|run| f64::from(sessions(run).count)).sum();
        SideSum {
            profile,
            transactions: runs.iter().map(|run| run.transactions as f64).sum(),
            sessions: count / runs.len() as f64,
        }
    }

    /// All parts by name, with the class of events. Idle events apart.
    fn parts(&self) -> BTreeMap<(String, Option<String>), Part> {
        // A side may have ended none.
        let per = |figure: f64| figure / self.transactions.max(1.0);
        let lines = self.profile.lines().into_iter().filter(|line| !line.is_idle());
        let part = |line: TimeLine<'_>| {
            let part = Part {
                ns: per(line.ns as f64),
                waits: per(line.waits as f64),
                of_which_cpu_ns: per(line.of_which_cpu_ns as f64),
                of_which_run_queue_ns: per(line.of_which_run_queue_ns as f64),
            };
            ((line.name.to_owned(), line.class.map(str::to_owned)), part)
        };
        lines.map(part).collect()
    }

    fn idle_share(&self, name: &str) -> f64 {
        let found = self.profile.events.iter().find(|event| event.event == name);
        found.map_or(0.0, |event| event.total_ns as f64 / self.profile.elapsed_ns as f64)
    }
}

impl TimeTable {
    /// Of the sessions that `sessions` takes from a row.
    pub(crate) fn of(
        title: &'static str,
        sides: &[Vec<&Run>; 2],
        sessions: fn(&Run) -> &SessionGroup,
    ) -> TimeTable {
        let [a, b] = [0, 1].map(|side| SideSum::of(&sides[side], sessions));
        let (parts_a, mut parts_b) = (a.parts(), b.parts());
        let mut lines = Vec::new();
        for ((name, class), part) in parts_a {
            let other = parts_b.remove(&(name.clone(), class.clone())).unwrap_or_default();
            lines.push(Line { name, class, a: part, b: other });
        }
        for ((name, class), part) in parts_b {
            lines.push(Line { name, class, a: Part::default(), b: part });
        }
        let rank = |line: &Line| (line.name == UNACCOUNTED, -line.a.ns.max(line.b.ns));
        lines.sort_by(|x, y| {
            let (x, y) = (rank(x), rank(y));
            x.0.cmp(&y.0).then(x.1.total_cmp(&y.1))
        });
        let per = |side: &SideSum| side.profile.busy_ns() as f64 / side.transactions.max(1.0);
        TimeTable {
            title,
            sessions_a: a.sessions,
            sessions_b: b.sessions,
            elapsed_ns_a: per(&a),
            elapsed_ns_b: per(&b),
            lines,
            idle: idle_lines(&a, &b),
        }
    }

    pub(crate) fn text(&self, b: Level) -> String {
        let scale = Scale::of(self.elapsed_ns_a.max(self.elapsed_ns_b));
        let mut text = format!(
            "{}, {} per transaction (sessions: A {}, {b} {})\n",
            self.title,
            scale.name,
            sessions(self.sessions_a),
            sessions(self.sessions_b)
        );
        let rows = self.rows(scale);
        let mut table = Table::default();
        let name = b.to_string();
        let (less, wait) = (format!("{b} - A"), format!("wait {b}"));
        table.row(["", "A", &name, &less, "wait A", &wait]);
        for row in &rows {
            let [a, b] = [row.a, row.b].map(|units| fixed(units, scale.decimals));
            let difference = signed(row.b - row.a, scale.decimals);
            table.row([&row.name, &a, &b, &difference, &row.mean_a, &row.mean_b]);
        }
        let sum = |of: fn(&Row) -> i64| rows.iter().map(of).sum::<i64>();
        let sums = [sum(|row| row.a), sum(|row| row.b)];
        table.rule(3);
        let cells = sums.map(|sum| fixed(sum, scale.decimals));
        let difference = signed(sums[1] - sums[0], scale.decimals);
        let label = if self.idle.is_empty() { "elapsed" } else { "elapsed without idle" };
        table.row([label, &cells[0], &cells[1], &difference, "", ""]);
        text += &table.text();
        text + &paragraph(&self.note(b), "  ")
    }

    /// The lines as printed: the shortest events share one, and all are rounded together (V2).
    pub(super) fn rows(&self, scale: Scale) -> Vec<Row> {
        let is_short = |line: &&Line| {
            line.class.is_some()
                && line.a.ns < SHARE_SHOWN * self.elapsed_ns_a
                && line.b.ns < SHARE_SHOWN * self.elapsed_ns_b
        };
        let mut shown: Vec<Line> = Vec::new();
        let hidden: Vec<&Line> = self.lines.iter().filter(is_short).collect();
        for line in &self.lines {
            if line.name == UNACCOUNTED && !hidden.is_empty() {
                shown.push(merged(&hidden));
            }
            if !is_short(&line) {
                shown.push(line.clone());
            }
        }
        let units = |of: fn(&Line) -> f64| {
            apportion(&shown.iter().map(|line| of(line) / scale.unit_ns).collect::<Vec<f64>>())
        };
        let (a, b) = (units(|line| line.a.ns), units(|line| line.b.ns));
        let row = |(line, (a, b)): (&Line, (i64, i64))| Row {
            name: line.name.clone(),
            a,
            b,
            mean_a: line.a.mean(),
            mean_b: line.b.mean(),
        };
        shown.iter().zip(a.into_iter().zip(b)).map(row).collect()
    }

    /// What is noteworthy beneath the table, in sentences.
    pub(super) fn note(&self, b: Level) -> String {
        let mut note = format!(
            "Wait A, wait {b}: the mean length of a wait. CPU and run queue in a wait count as the \
             wait here; yardsticks and processes have all of both."
        );
        if !self.idle.is_empty() {
            let of = |line: &IdleLine| {
                format!(
                    "{} (A {}, {b} {} of the time)",
                    line.name,
                    share(line.share_a),
                    share(line.share_b)
                )
            };
            let idle: Vec<String> = self.idle.iter().map(of).collect();
            note += &format!(" Idle, and left out: {}.", idle.join(", "));
        }
        note
    }
}

/// A line as printed, in units of its scale.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) a: i64,
    pub(super) b: i64,
    pub(super) mean_a: String,
    pub(super) mean_b: String,
}

impl Part {
    /// The mean length of a wait, if there was one.
    fn mean(&self) -> String {
        if self.waits > 0.0 {
            Nanos((self.ns / self.waits).round() as u64).to_string()
        } else {
            String::new()
        }
    }

    fn add(&mut self, other: &Part) {
        self.ns += other.ns;
        self.waits += other.waits;
        self.of_which_cpu_ns += other.of_which_cpu_ns;
        self.of_which_run_queue_ns += other.of_which_run_queue_ns;
    }
}

fn merged(lines: &[&Line]) -> Line {
    let (mut a, mut b) = (Part::default(), Part::default());
    for line in lines {
        a.add(&line.a);
        b.add(&line.b);
    }
    let name = counted(lines.len() as u64, "other event");
    Line { name, class: Some(String::new()), a, b }
}

fn idle_lines(a: &SideSum, b: &SideSum) -> Vec<IdleLine> {
    let mut names: Vec<&str> = Vec::new();
    for event in a.profile.events.iter().chain(&b.profile.events).filter(|event| event.is_idle()) {
        names.push(&event.event);
    }
    names.sort_unstable();
    names.dedup();
    let line = |name: &&str| IdleLine {
        name: (*name).to_owned(),
        share_a: a.idle_share(name),
        share_b: b.idle_share(name),
    };
    names.iter().map(line).collect()
}

/// A mean number of sessions: whole, unless runs differ.
pub(super) fn sessions(mean: f64) -> String {
    decimal(mean, u32::from(mean.fract() != 0.0))
}

/// In what a table's times are told.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    pub(super) name: &'static str,
    /// ns in a unit of the last decimal.
    pub(super) unit_ns: f64,
    pub(super) decimals: u32,
}

impl Scale {
    /// The one in which a table's largest figure keeps to six characters, so that with the longest
    /// event name its lines keep to 80.
    pub(super) fn of(largest_ns: f64) -> Scale {
        let scale = |name, unit_ns, decimals| Scale { name, unit_ns, decimals };
        match largest_ns {
            ns if ns < 9.999e5 => scale("us", 1e2, 1),
            ns if ns < 9.999e7 => scale("us", 1e3, 0),
            ns if ns < 9.999e8 => scale("ms", 1e5, 1),
            ns if ns < 9.999e10 => scale("ms", 1e6, 0),
            _ => scale("s", 1e8, 1),
        }
    }
}
