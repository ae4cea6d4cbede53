//! What the report of each table has beside its cells.
//!
//! Callers: the reports of tables, and their texts.

use experiment::{Commits, Run};
use serde::Serialize;

use super::place::Place;
use super::profile::Unaccounted;
use super::statements::{ERROR, Equals, Statement, rounds_least};

/// A part of a report: its keys in JSON are keys of the report.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Rest {
    pub(crate) modelled: bool,
    pub(crate) rounds: u32,
    /// The declared error of all statements together.
    pub(crate) error: f64,
    pub(crate) statements: Vec<Statement>,
    /// With fewer rounds no statement is certain.
    pub(crate) rounds_least: u32,
    pub(crate) equals: Option<Equals>,
    pub(crate) commits: Commits,
    pub(crate) commits_lost: u64,
    pub(crate) unaccounted: Option<Unaccounted>,
    pub(crate) asynchronous_files: bool,
    pub(crate) redo_write: &'static str,
    pub(crate) log_writes_in_flight: u32,
    #[serde(skip)]
    pub(crate) chosen: String,
    pub(crate) machine: String,
    pub(crate) commit: String,
    pub(crate) command: String,
}

impl Rest {
    /// Of the rows of whole rounds, and the statements on them, of which `asked` were asked for.
    pub(crate) fn of(
        rows: &[Run],
        asked: usize,
        statements: Vec<Statement>,
        commits: Commits,
        place: Place,
    ) -> Rest {
        Rest {
            modelled: place.is_modelled,
            rounds: rows.iter().map(|run| run.identity.round).max().unwrap_or(0),
            error: ERROR,
            statements,
            rounds_least: rounds_least(asked),
            equals: Equals::of(rows),
            commits,
            commits_lost: commits.lost(),
            unaccounted: Unaccounted::of(rows),
            asynchronous_files: place.asynchronous_files,
            redo_write: place.chosen.redo_write.name(),
            log_writes_in_flight: place.chosen.log_writes_in_flight,
            chosen: place.chosen.words(),
            machine: place.machine,
            commit: place.commit,
            command: place.command,
        }
    }
}
