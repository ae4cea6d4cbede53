//! The answer: a table of times, what is said of pairs of cells, and where a session's time went.
//!
//! Callers: `run`; the binary, which shows it.

use experiment::{Commits, Run};
use serde::Serialize;

use super::asked::{MATTERS, asked};
use super::run::Matrix;
use super::setting::Setting;
use super::{NAME, text};
use crate::cells::{Asked, CellTime, Certainty, Line, Place, Rest, Statement, compared, profile};

/// The answer.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    experiment: &'static str,
    pub(super) sessions: u32,
    pub(super) blocks: u64,
    pub(super) buffers: u64,
    pub(super) cells: Vec<Row>,
    #[serde(flatten)]
    pub(super) rest: Rest,
}

/// A cell of the table.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) filesystemio_options: &'static str,
    pub(super) db_writer_processes: u32,
    pub(super) dbwr_io_slaves: u32,
    /// Until the last session had ended: the geometric mean of the rounds, and its 95 % interval.
    pub(super) seconds: f64,
    pub(super) seconds_low: Option<f64>,
    pub(super) seconds_high: Option<f64>,
    /// The mean session's.
    pub(super) profile: Vec<Line>,
    #[serde(skip)]
    pub(super) name: String,
}

impl Row {
    /// None if the cell has no run.
    fn of(setting: &Setting, runs: &[&Run], is_modelled: bool) -> Option<Row> {
        if runs.is_empty() {
            return None;
        }
        let time = CellTime::of(runs, is_modelled);
        Some(Row {
            filesystemio_options: setting.io.name(),
            db_writer_processes: setting.writers,
            dbwr_io_slaves: setting.slaves,
            seconds: time.seconds,
            seconds_low: time.low,
            seconds_high: time.high,
            profile: profile(runs),
            name: setting.to_string(),
        })
    }

    pub(super) fn share(&self, timesource: &str) -> f64 {
        let line = self.profile.iter().find(|line| line.timesource == timesource);
        line.map_or(0.0, |line| line.percentage)
    }
}

impl Report {
    /// Of the rows of whole rounds.
    pub(super) fn of(rows: &[Run], matrix: &Matrix, place: Place) -> Report {
        let (size, settings) = (matrix.size, &matrix.settings[..]);
        let asked = asked(settings);
        let certainty = Certainty::of_rows(asked.len(), MATTERS, rows, place.is_modelled);
        let statement = |asked: &Asked| Statement::of(asked, rows, certainty);
        let cells = settings.iter().enumerate().filter_map(|(level, setting)| {
            let runs: Vec<&Run> = compared(rows, level).collect();
            Row::of(setting, &runs, place.is_modelled)
        });
        let cells = cells.collect();
        let statements = asked.iter().filter_map(statement).collect();
        Report {
            experiment: NAME,
            sessions: size.sessions,
            blocks: size.blocks(),
            buffers: size.cache / ids::BlockSize::KIB_8.bytes() as u64,
            cells,
            rest: Rest::of(rows, asked.len(), statements, commits(rows), place),
        }
    }

    /// How many times as fast more writers are than one under these `filesystemio_options`, without
    /// slaves; none if one of the cells isn't there.
    pub fn more_writers(&self, io: &str) -> Option<f64> {
        let alone = self.seconds(io, 1, 0)?;
        let most = self.cells.iter().map(|row| row.db_writer_processes).max()?;
        Some(alone / self.seconds(io, most, 0)?)
    }

    /// Seconds of a cell.
    pub fn seconds(&self, io: &str, writers: u32, slaves: u32) -> Option<f64> {
        self.row(io, writers, slaves).map(|row| row.seconds)
    }

    /// The largest share of a single session's time without a name, by size, in per cent.
    pub fn unaccounted_most(&self) -> f64 {
        self.rest.unaccounted.as_ref().map_or(0.0, |most| 100.0 * most.share)
    }

    /// The acknowledged commits, and those that were there after each crash.
    pub fn commits(&self) -> Commits {
        self.rest.commits
    }

    pub(super) fn row(&self, io: &str, writers: u32, slaves: u32) -> Option<&Row> {
        self.cells.iter().find(|row| {
            let processes = (row.db_writer_processes, row.dbwr_io_slaves);
            row.filesystemio_options == io && processes == (writers, slaves)
        })
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

fn commits(rows: &[Run]) -> Commits {
    let all = || rows.iter().filter_map(|run| run.commits);
    Commits {
        acknowledged: all().map(|commits| commits.acknowledged).sum(),
        found: all().map(|commits| commits.found).sum(),
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
