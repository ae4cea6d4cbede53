//! What a load came to: totals, percentiles by transaction type, and where the time went.
//!
//! Callers: `forebay load run`.

use hdrhistogram::Histogram;
use report::number::{counted, decimal, grouped, rate};
use report::{ProcessUsage, SessionGroup, SessionInterval, Table, paragraph};
use serde::Serialize;
use waits::{Nanos, SessionKind};

use crate::Run;
use crate::transaction_times::TransactionTimes;

/// The summary of a load; its fields are the JSON's.
#[derive(Clone, Debug, Serialize)]
pub struct LoadSummary {
    sessions: usize,
    seconds: f64,
    commits: u64,
    commits_per_s: f64,
    /// Times by transaction type, and of all in the last line if there are several. Transactions
    /// that only read, or were rolled back as planned, count too.
    transactions: Vec<TypeLine>,
    foreground: SessionGroup,
    background: SessionGroup,
    processes: Vec<ProcessUsage>,
}

/// The transactions of one type.
#[derive(Clone, Debug, Serialize)]
struct TypeLine {
    name: String,
    count: u64,
    per_s: f64,
    p50_us: u64,
    p95_us: u64,
    p99_us: u64,
    max_us: u64,
}

impl TypeLine {
    fn of(name: &str, times: &Histogram<u32>, seconds: f64) -> TypeLine {
        TypeLine {
            name: name.to_owned(),
            count: times.len(),
            per_s: if seconds > 0.0 { times.len() as f64 / seconds } else { 0.0 },
            p50_us: times.value_at_quantile(0.5),
            p95_us: times.value_at_quantile(0.95),
            p99_us: times.value_at_quantile(0.99),
            max_us: times.max(),
        }
    }
}

impl LoadSummary {
    pub(crate) fn of(run: &Run, processes: &[SessionInterval]) -> LoadSummary {
        let seconds = run.elapsed.as_secs_f64();
        let mut times = TransactionTimes::default();
        let mut all = TransactionTimes::default();
        for session in &run.sessions {
            times.add(&session.times);
        }
        for (_, of_type) in times.types() {
            all.add_as("all", of_type);
        }
        let lines = if times.types().len() > 1 { all.types() } else { &[] };
        let lines = times.types().iter().chain(lines);
        let sessions: Vec<SessionInterval> =
            run.sessions.iter().map(|session| session.interval.clone()).collect();
        LoadSummary {
            sessions: sessions.len(),
            seconds,
            commits: run.counted(),
            commits_per_s: run.throughput(),
            transactions: lines.map(|(name, of)| TypeLine::of(name, of, seconds)).collect(),
            foreground: SessionGroup::of_kind(SessionKind::Foreground, &sessions),
            background: SessionGroup::of_kind(SessionKind::Background, processes),
            processes: processes.iter().map(ProcessUsage::from).collect(),
        }
    }

    /// For people: 80 columns of plain text, with a line end at the end.
    pub fn text(&self) -> String {
        let sessions = counted(self.sessions as u64, "session");
        let (seconds, commits) = (decimal(self.seconds, 1), grouped(self.commits));
        let rate = decimal(self.commits_per_s, 1);
        let worst = format!(
            "Largest unaccounted share: of a session {}; of a process {}.",
            self.foreground.worst_text(),
            self.background.worst_text()
        );
        format!(
            "{sessions} for {seconds} s: {commits} commits, {rate} transactions a second\n\n\
             Transactions\n{}\nWhere the time of all sessions went\n{}{}",
            self.types_text(),
            self.foreground.profile.text(self.commits),
            paragraph(&worst, "  ")
        )
    }

    fn types_text(&self) -> String {
        let mut table = Table::default();
        table.row(["", "count", "per s", "median", "95 %", "99 %", "longest"]);
        for line in &self.transactions {
            let times = [line.p50_us, line.p95_us, line.p99_us, line.max_us];
            let figures = [grouped(line.count), rate(line.per_s)];
            let times = times.map(|us| Nanos::from_micros(us).to_string());
            table.row(std::iter::once(line.name.clone()).chain(figures).chain(times));
        }
        table.text()
    }

    /// For programs: one line, figures unrounded, without a line end.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers always serialize")
    }
}
