//! The answer: a table of cells, how far block sizes lie apart, and a trace of each table's scan.
//!
//! Callers: `run`; the binary, which shows it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use experiment::{Commits, RoundKind, Run};
use serde::Serialize;
use waits::{Nanos, WaitEvent, WaitRecord};

use super::asked::{Answered, Spread, asked};
use super::measure::{ARRAY, Calls, TracedScan, query_of};
use super::run::{Outcome, Scans};
use super::setting::{ReadSize, Setting};
use super::trace::{blocks, lines, longest_read, wait_line};
use super::{NAME, text};
use crate::cells::{CellTime, Certainty, Line, Place, Rest, Statement, profile};

/// The most lines of a trace that JSON has.
const TRACE_LINES_MAX: usize = 200;

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    experiment: &'static str,
    /// Rows of each table, and of a fetch.
    pub(super) table_rows: u64,
    pub(super) array: usize,
    /// Of the buffer cache for blocks of each size.
    pub(super) cache_bytes: u64,
    pub(super) cells: Vec<Row>,
    /// How far block sizes lie apart, with automatic reads.
    pub(super) spread: Option<Spread>,
    /// A factor that matters.
    pub(super) matters: f64,
    /// One more scan of each table.
    pub(super) traces: Vec<Traced>,
    #[serde(flatten)]
    pub(super) rest: Rest,
}

/// A cell of the table. Figures but `seconds` and `db_seconds` are means of the rounds.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    /// In bytes.
    pub(super) block_size: u64,
    /// The length of reads that was asked for; none if the instance chose.
    pub(super) read_bytes: Option<u32>,
    /// From the first call to the end of the last: the geometric mean of the rounds, and its 95 %
    /// interval.
    pub(super) seconds: f64,
    pub(super) seconds_low: Option<f64>,
    pub(super) seconds_high: Option<f64>,
    /// Of these, in calls: the geometric mean too, or it could be more than all.
    pub(super) db_seconds: f64,
    pub(super) blocks_read: f64,
    pub(super) consistent_gets: f64,
    pub(super) fetches: f64,
    /// Of the fetches: bytes, reads, and waits for reads, of which one may be for several.
    pub(super) bytes_read: f64,
    pub(super) reads: f64,
    pub(super) read_waits: f64,
    /// Of the fetches: blocks of a read around the cache, or of any read if there is none such.
    pub(super) blocks_a_read: f64,
    pub(super) profile: Vec<Line>,
    /// Whether blocks of the table are read around the cache.
    #[serde(skip)]
    pub(super) is_direct: bool,
    #[serde(skip)]
    pub(super) setting: Setting,
}

/// A scan of which every wait was kept.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Traced {
    pub(super) statement: String,
    /// In bytes.
    pub(super) block_size: u64,
    pub(super) calls: Calls,
    pub(super) waits: Vec<Waited>,
    pub(super) plan: Vec<String>,
    /// The most blocks of a read that was waited for, and its line.
    pub(super) blocks_most: u64,
    pub(super) longest_read: Option<String>,
    /// The first lines.
    pub(super) trace: Vec<String>,
    /// How many lines come behind these.
    pub(super) trace_left_out: u64,
}

/// The waits for an event.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Waited {
    pub(super) event: &'static str,
    pub(super) times: u64,
    pub(super) max_ns: u64,
    pub(super) total_ns: u64,
}

impl Row {
    /// None if the cell at this place has no run.
    fn of(level: usize, setting: Setting, outcome: &Outcome, is_modelled: bool) -> Option<Row> {
        let is_it = |run: &Run| {
            run.identity.kind == RoundKind::Compared && run.identity.level.index() == level
        };
        let cell = || outcome.rows.iter().zip(&outcome.calls).filter(move |(run, _)| is_it(run));
        let runs: Vec<&Run> = cell().map(|(run, _)| run).collect();
        if runs.is_empty() {
            return None;
        }
        let mean = |figure: &dyn Fn(&Calls) -> u64| {
            let sum: f64 = cell().map(|(_, calls)| figure(calls) as f64).sum();
            sum / runs.len() as f64
        };
        let (time, block_size) = (CellTime::of(&runs, is_modelled), setting.block_size.bytes());
        let (blocks, reads) = (mean(&|calls| calls.fetch.disk), mean(&|calls| calls.fetch.reads));
        let direct = mean(&|calls| calls.fetch.direct);
        let in_calls = |(_, calls): (_, &Calls)| calls.total().elapsed_ns.max(1) as f64 / 1e9;
        let logs: Vec<f64> = cell().map(in_calls).map(f64::ln).collect();
        // Beside reads around the cache there are only those of single blocks.
        let long = match direct > 0.0 {
            true => [direct, reads - (blocks - direct)],
            false => [blocks, reads],
        };
        Some(Row {
            block_size: block_size as u64,
            read_bytes: setting.read.bytes(),
            seconds: time.seconds,
            seconds_low: time.low,
            seconds_high: time.high,
            db_seconds: stats::mean(&logs).exp(),
            blocks_read: mean(&|calls| calls.total().disk),
            consistent_gets: mean(&|calls| calls.total().query),
            fetches: mean(&|calls| calls.fetch.count),
            bytes_read: blocks * block_size as f64,
            reads,
            read_waits: mean(&|calls| calls.fetch.read_waits),
            blocks_a_read: long[0] / long[1].max(1.0),
            profile: profile(&runs),
            is_direct: direct > 0.0,
            setting,
        })
    }

    /// Seconds of this part of the mean scan.
    pub(super) fn part(&self, timesource: &str) -> f64 {
        let line = self.profile.iter().find(|line| line.timesource == timesource);
        line.map_or(0.0, |line| line.seconds)
    }
}

impl Traced {
    fn of(scan: &TracedScan) -> Traced {
        let mut lines = lines(scan);
        let left_out = lines.len().saturating_sub(TRACE_LINES_MAX) as u64;
        lines.truncate(TRACE_LINES_MAX);
        let longest = longest_read(&scan.waits.waits);
        Traced {
            statement: query_of(scan.block_size),
            block_size: scan.block_size.bytes() as u64,
            calls: scan.scan.calls,
            waits: Waited::of(&scan.waits.waits),
            plan: scan.plan.clone(),
            blocks_most: longest.map_or(0, blocks),
            longest_read: longest.map(|wait| wait_line(wait, scan.scan.began)),
            trace: lines,
            trace_left_out: left_out + scan.waits.left_out,
        }
    }
}

impl Waited {
    /// By events, the longest in all first.
    fn of(waits: &[WaitRecord]) -> Vec<Waited> {
        let mut events: BTreeMap<WaitEvent, Waited> = BTreeMap::new();
        for WaitRecord { event, elapsed: Nanos(ns), .. } in waits {
            let none = Waited { event: event.info().name, times: 0, max_ns: 0, total_ns: 0 };
            let waited = events.entry(*event).or_insert(none);
            waited.times += 1;
            waited.max_ns = waited.max_ns.max(*ns);
            waited.total_ns += ns;
        }
        let mut all: Vec<Waited> = events.into_values().collect();
        all.sort_by_key(|waited| Reverse(waited.total_ns));
        all
    }
}

impl Report {
    /// Of the rows of whole rounds.
    pub(super) fn of(outcome: &Outcome, scans: &Scans, place: Place) -> Report {
        let (settings, rows) = (&scans.settings[..], &outcome.rows[..]);
        let asked = asked(settings);
        let certainty = Certainty::of_rows(asked.len(), scans.matters, rows, place.is_modelled);
        let statements: Vec<(usize, Statement)> = (0..asked.len())
            .filter_map(|at| Some((at, Statement::of(&asked[at], rows, certainty)?)))
            .collect();
        let answered: Vec<Answered<'_>> = statements
            .iter()
            .map(|(at, statement)| Answered { asked: &asked[*at], statement })
            .collect();
        let spread = Spread::of(&answered, settings, certainty);
        let cells = settings.iter().enumerate();
        let cell = |(level, setting): (usize, &Setting)| {
            Row::of(level, *setting, outcome, place.is_modelled)
        };
        let cells = cells.filter_map(cell).collect();
        let statements = statements.into_iter().map(|(_, statement)| statement).collect();
        Report {
            experiment: NAME,
            table_rows: scans.size.rows,
            array: ARRAY,
            cache_bytes: scans.size.cache,
            cells,
            spread,
            matters: scans.matters,
            traces: outcome.traces.iter().map(Traced::of).collect(),
            rest: Rest::of(rows, asked.len(), statements, outcome.commits, place),
        }
    }

    /// The mean number of blocks that one read of the fetches brings in a cell; none if the cell
    /// isn't there.
    pub fn blocks_a_read(&self, setting: Setting) -> Option<f64> {
        self.cell(setting).map(|row| row.blocks_a_read)
    }

    /// Seconds of a cell.
    pub fn seconds(&self, setting: Setting) -> Option<f64> {
        self.cell(setting).map(|row| row.seconds)
    }

    /// The loads that were acknowledged, and those that were there after the crash.
    pub fn commits(&self) -> Commits {
        self.rest.commits
    }

    fn cell(&self, setting: Setting) -> Option<&Row> {
        self.cells.iter().find(|row| row.setting == setting)
    }

    /// The cells with automatic reads.
    pub(super) fn automatic(&self) -> impl Iterator<Item = &Row> {
        self.cells.iter().filter(|row| row.setting.read == ReadSize::Automatic)
    }

    /// For people: 80 columns of plain text, with a line end at the end.
    pub fn text(&self) -> String {
        text::text(self)
    }

    /// For programs: one line, all figures unrounded, without a line end.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers always serialize")
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
