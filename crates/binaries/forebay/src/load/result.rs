//! What a load came to: totals, transaction types with percentiles, and where the time went.
//!
//! Callers: `run`.

use std::collections::BTreeMap;

use experiment::{SessionInterval, Snapshot};
use serde_json::json;
use waits::Nanos;
use workload::Latencies;

use super::alter::Altered;
use crate::output::json_page;

/// The percentiles that are shown of each transaction type.
const PERCENTILES: [(&str, f64); 3] = [("p50", 50.0), ("p95", 95.0), ("p99", 99.0)];

pub(super) struct LoadResult {
    altered: Altered,
    /// How long the load was to last.
    wanted: Nanos,
    elapsed: Nanos,
    transactions: u64,
    types: BTreeMap<&'static str, Latencies>,
    sessions: Vec<SessionInterval>,
    processes: Vec<SessionInterval>,
}

impl LoadResult {
    /// `marks` are the background processes' accounts when the time that counts began and ended.
    pub(super) fn new(
        ran: workload::Run,
        marks: &[Snapshot],
        wanted: Nanos,
        altered: Altered,
    ) -> LoadResult {
        let processes = match marks {
            [begin, end] => end.intervals_since(begin),
            _ => Vec::new(),
        };
        LoadResult {
            altered,
            wanted,
            elapsed: ran.elapsed,
            transactions: ran.sessions.iter().map(|session| session.counted).sum(),
            types: ran.types(),
            sessions: ran.sessions.into_iter().map(|session| session.interval).collect(),
            processes,
        }
    }

    /// For a terminal.
    pub(super) fn text(&self) -> String {
        let (transactions, seconds) = (self.transactions, self.elapsed.as_secs_f64());
        let cut = match os::linux::interrupted() {
            true => {
                format!("interrupted after {seconds:.1} of {} s\n", self.wanted.as_secs_f64())
            }
            false => String::new(),
        };
        let worst =
            [("session", &self.sessions), ("process", &self.processes)].map(|(kind, intervals)| {
                format!("largest unaccounted share of a {kind}: {}\n", worst(intervals))
            });
        format!(
            "{}{cut}{:.1} transactions a second: {transactions} in {seconds:.1} s by {} sessions\n\
             \n{}\n{}\n{}",
            self.altered.text(),
            self.throughput(),
            self.sessions.len(),
            self.type_table(),
            profile_table(&self.sessions),
            worst.concat()
        )
    }

    /// Keys are listed in docs/JSON.md.
    pub(super) fn json(&self) -> String {
        let one_type = |(name, latencies): (&&str, &Latencies)| {
            let mut one = json!({
                "type": name,
                "count": latencies.count(),
                "mean_us": micros(latencies.mean()),
                "max_us": micros(latencies.max()),
            });
            for (name, percent) in PERCENTILES {
                one[format!("{name}_us")] = micros(latencies.percentile(percent)).into();
            }
            one
        };
        let time = |(name, ns): &(&str, i64)| json!({ "name": name, "seconds": *ns as f64 / 1e9 });
        json_page(&json!({
            "seconds": self.elapsed.as_secs_f64(),
            "interrupted": os::linux::interrupted(),
            "sessions": self.sessions.len(),
            "transactions": self.transactions,
            "transactions_a_second": self.throughput(),
            "types": self.types.iter().map(one_type).collect::<Vec<_>>(),
            "time": profile(&self.sessions).iter().map(time).collect::<Vec<_>>(),
            "alterations": self.altered.json(),
        }))
    }

    fn throughput(&self) -> f64 {
        match self.elapsed {
            Nanos::ZERO => 0.0,
            elapsed => self.transactions as f64 / elapsed.as_secs_f64(),
        }
    }

    /// A line for each transaction type: how many there were, and how long they took.
    fn type_table(&self) -> String {
        let mut text = format!("{:<16}{:>10}", "transaction", "count");
        for heading in ["mean ms", "p50", "p95", "p99", "max"] {
            text += &format!("{heading:>10}");
        }
        text += "\n";
        let mut all = Latencies::default();
        self.types.values().for_each(|latencies| all.add(latencies));
        for (name, latencies) in self.types.iter().chain([(&"all", &all)]) {
            text += &format!("{name:<16}{:>10}", latencies.count());
            let lengths = PERCENTILES.map(|(_, percent)| latencies.percentile(percent));
            for length in [latencies.mean()].into_iter().chain(lengths).chain([latencies.max()]) {
                text += &format!("{:>10.3}", micros(length) / 1e3);
            }
            text += "\n";
        }
        text
    }
}

fn micros(length: Nanos) -> f64 {
    length.0 as f64 / 1e3
}

/// The session whose account closes worst.
fn worst(intervals: &[SessionInterval]) -> String {
    let share = |interval: &SessionInterval| interval.account.unaccounted_share();
    let worst = intervals.iter().max_by(|a, b| share(a).total_cmp(&share(b)));
    worst.map_or("none".to_owned(), |w| format!("{:.2} %, {}", share(w) * 100.0, w.name))
}

/// Where the sessions' time went, all together, in nanoseconds: all of it first, then each part,
/// the longest first.
fn profile(sessions: &[SessionInterval]) -> Vec<(&'static str, i64)> {
    let mut lines: BTreeMap<&str, i64> = BTreeMap::new();
    let mut elapsed = 0;
    for session in sessions {
        let account = &session.account;
        elapsed += account.elapsed.0 as i64;
        for (name, ns) in [("CPU", account.cpu_ns), ("run queue", account.run_queue_ns)] {
            *lines.entry(name).or_default() += ns;
        }
        *lines.entry("unaccounted").or_default() += account.unaccounted_ns;
        for line in &account.waits {
            *lines.entry(line.event.name()).or_default() += line.total.0 as i64;
        }
    }
    let mut lines: Vec<(&str, i64)> = lines.into_iter().collect();
    lines.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    lines.insert(0, ("elapsed, all sessions", elapsed));
    let stolen: i64 = sessions.iter().map(|session| session.account.stolen.0 as i64).sum();
    lines.push(("of CPU: taken by hypervisor, interrupts", stolen));
    lines
}

fn profile_table(sessions: &[SessionInterval]) -> String {
    let lines = profile(sessions);
    let elapsed = lines.first().map_or(1, |(_, ns)| (*ns).max(1));
    let row = |(name, ns): &(&str, i64)| {
        let share = *ns as f64 / elapsed as f64 * 100.0;
        format!("{name:<42}{:>12.3} s {share:>6.1} %\n", *ns as f64 / 1e9)
    };
    lines.iter().map(row).collect()
}
