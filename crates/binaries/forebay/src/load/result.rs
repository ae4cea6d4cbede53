//! What a load came to: totals, transaction types with percentiles, and where the time went.
//!
//! Callers: `run`.

use std::collections::BTreeMap;

use report::number::{grouped, share};
use report::{SessionGroup, SessionInterval, Snapshot, Table, TimeLine};
use serde_json::json;
use waits::{Nanos, SessionKind};
use workload::Latencies;

use super::alter::Altered;
use crate::output::json_page;

/// The percentiles that are shown of each transaction type.
const PERCENTILES: [(&str, f64); 3] = [("p50", 50.0), ("p95", 95.0), ("p99", 99.0)];

pub(super) struct LoadResult {
    altered: Altered,
    /// How long the load was to last.
    wanted: Nanos,
    /// Whether a signal, or a closed output, ended it before.
    is_cut_short: bool,
    elapsed: Nanos,
    transactions: u64,
    types: BTreeMap<&'static str, Latencies>,
    sessions: SessionGroup,
    processes: SessionGroup,
}

impl LoadResult {
    /// `marks` are the background processes' accounts when the time that counts began and ended.
    pub(super) fn new(
        ran: workload::Run,
        marks: &[Snapshot],
        wanted: Nanos,
        is_cut_short: bool,
        altered: Altered,
    ) -> LoadResult {
        let processes = match marks {
            [begin, end] => end.intervals_since(begin),
            _ => Vec::new(),
        };
        let types = ran.types();
        let transactions = ran.counted();
        let sessions: Vec<SessionInterval> =
            ran.sessions.into_iter().map(|session| session.interval).collect();
        LoadResult {
            altered,
            wanted,
            is_cut_short,
            elapsed: ran.elapsed,
            transactions,
            types,
            sessions: SessionGroup::of_kind(SessionKind::Foreground, &sessions),
            processes: SessionGroup::of_kind(SessionKind::Background, &processes),
        }
    }

    /// For a terminal.
    pub(super) fn text(&self) -> String {
        let seconds = self.elapsed.as_secs_f64();
        let cut = match self.is_cut_short {
            true => {
                format!("interrupted after {seconds:.1} of {} s\n", self.wanted.as_secs_f64())
            }
            false => String::new(),
        };
        format!(
            "{}{cut}{:.1} transactions a second: {} in {seconds:.1} s by {} sessions\n\n\
             {}\n{}\n\
             largest unaccounted share of a session: {}\n\
             largest unaccounted share of a process: {}\n",
            self.altered.text(),
            self.throughput(),
            grouped(self.transactions),
            self.sessions.count,
            self.type_table(),
            self.profile_text(),
            self.sessions.worst_text(),
            self.processes.worst_text(),
        )
    }

    /// The time profile, with a column for each transaction's share where 80 columns hold it.
    fn profile_text(&self) -> String {
        let profile = &self.sessions.profile;
        let text = profile.text(self.transactions);
        match text.lines().all(|line| line.chars().count() <= report::COLUMNS) {
            true => text,
            false => profile.text(0),
        }
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
        let profile = &self.sessions.profile;
        let part = |line: &TimeLine<'_>| {
            json!({
                "name": line.name,
                "class": line.class,
                "seconds": seconds(line.ns),
                "waits": line.waits,
            })
        };
        json_page(&json!({
            "seconds": self.elapsed.as_secs_f64(),
            "interrupted": self.is_cut_short,
            "sessions": self.sessions.count,
            "transactions": self.transactions,
            "transactions_a_second": self.throughput(),
            "types": self.types.iter().map(one_type).collect::<Vec<_>>(),
            "session_seconds": profile.elapsed_ns as f64 / 1e9,
            "stolen_seconds": profile.stolen_ns as f64 / 1e9,
            "time": profile.lines().iter().map(part).collect::<Vec<_>>(),
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
        let mut table = Table::default();
        let percentiles = PERCENTILES.map(|(name, _)| name);
        let headings = ["transaction", "count", "share", "mean ms"].into_iter();
        table.row(headings.chain(percentiles).chain(["max"]));
        let mut all = Latencies::default();
        self.types.values().for_each(|latencies| all.add(latencies));
        for (name, latencies) in self.types.iter().chain([(&"all", &all)]) {
            let of_all = latencies.count() as f64 / all.count().max(1) as f64;
            let lengths = PERCENTILES.map(|(_, percent)| latencies.percentile(percent));
            let lengths = [latencies.mean()].into_iter().chain(lengths).chain([latencies.max()]);
            let lengths = lengths.map(|length| format!("{:.3}", micros(length) / 1e3));
            let begin = [name.to_string(), grouped(latencies.count()), share(of_all)];
            table.row(begin.into_iter().chain(lengths));
        }
        table.text()
    }
}

fn micros(length: Nanos) -> f64 {
    length.0 as f64 / 1e3
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}
