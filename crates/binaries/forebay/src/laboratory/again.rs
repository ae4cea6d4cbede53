//! `forebay lab report` and `lab resume`: what can be done with the rows of an experiment.
//!
//! Callers: `laboratory`.

use std::path::{Path, PathBuf};

use clap::{Args, Parser};
use experiment::{Rows, Whole};
use lab::{Before, free_buffer_waits};
use waits::SessionKind;

use super::outputs::Outputs;
use super::{COMMIT, Kind, Lab, begin, read_text};
use crate::number::within;
use crate::output::{CommandResult, Failure};

/// The rows of some hours of short blocks fit in.
const ROWS: Kind = ("no file of rows", 1 << 30);

/// The report of an experiment again.
#[derive(Args)]
pub(crate) struct Report {
    /// The file that `forebay lab run --rows` or `forebay lab compare --rows` wrote.
    #[arg(value_name = "ROWS")]
    rows: PathBuf,
    /// Writes it as a page, one HTML file with charts, to this file too.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Prints it as JSON, for programs.
    #[arg(long)]
    json: bool,
    /// Another difference in throughput, in per cent, that matters.
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
    #[arg(value_parser = within(0.01..=99.99))]
    matters: Option<f64>,
}

impl Report {
    pub(super) fn carry_out(self) -> CommandResult {
        let session = begin();
        let rows = read_rows(&self.rows, &session)?;
        self.check_shape(&rows)?;
        let threshold = self.matters.map(|percent| percent / 100.0);
        let verdict = lab::report_again(&rows, threshold, self.command());
        let verdict =
            verdict.map_err(|error| Failure::usage(format!("{}: {error}", self.rows.display())))?;
        let text = if self.json { verdict.json() + "\n" } else { verdict.text() };
        let outputs = Outputs::make(None, self.html.as_deref(), &session)?;
        match outputs.end(&verdict, &rows.runs) {
            Ok(()) => Ok(text),
            Err(error) => Err(Failure::from(error).behind(text)),
        }
    }

    /// Refuses the rows of an experiment that doesn't compare settings with a first one.
    fn check_shape(&self, rows: &Rows) -> Result<(), Failure> {
        let name = rows.runs.first().map(|run| run.identity.experiment.as_str());
        if name != Some(free_buffer_waits::NAME) {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "{}: {} has a shape of its own, and its report can't be made again",
            self.rows.display(),
            free_buffer_waits::NAME
        )))
    }

    /// The command line that makes the same report.
    fn command(&self) -> String {
        let matters = self.matters.map_or(String::new(), |percent| format!(" --matters {percent}"));
        format!("forebay lab report '{}'{matters}", self.rows.display())
    }
}

/// The rows of a file. Those of a database that was found corrupt are refused (rule LB2).
pub(super) fn read_rows(path: &Path, session: &os::Session) -> Result<Rows, Failure> {
    let text = read_text(&os::linux::disk(), path, ROWS, session)?;
    let refuse = |what: String| Failure::usage(format!("{}: {what}", path.display()));
    let rows = experiment::parse_rows(&text).map_err(|error| refuse(error.to_string()))?;
    match &rows.corrupt {
        None => Ok(rows),
        Some(how) => Err(refuse(format!(
            "the experiment ended because its database was found corrupt ({how}); what that \
             measured is worth nothing"
        ))),
    }
}

/// Going on with an experiment that was stopped.
#[derive(Args)]
pub(crate) struct Resume {
    /// The file that `forebay lab run --rows` or `forebay lab compare --rows` wrote.
    #[arg(value_name = "ROWS")]
    rows: PathBuf,
    /// Writes a page, one HTML file with charts, to this file too.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Resume {
    /// Reads what was asked, checks that it can be gone on with, and goes on.
    pub(super) fn carry_out(self) -> CommandResult {
        let session = os::linux::start().adopt("forebay", SessionKind::Foreground);
        let read = read_rows(&self.rows, &session)?;
        drop(session);
        let refuse = |what: String| Err(Failure::usage(format!("{}: {what}", self.rows.display())));
        let Some(asked) = read.asked else {
            return refuse("it doesn't say what was asked, so it can't be gone on with".to_owned());
        };
        let call = asked.call;
        if call.commit != COMMIT {
            return refuse(format!(
                "its rows are of commit {}, and this program of {COMMIT}: figures of two programs \
                 can't be put together",
                call.commit
            ));
        }
        if call.arguments.is_empty() {
            return refuse("its command line isn't text, so it can't be gone on with".to_owned());
        }
        let words = ["forebay".to_owned()].into_iter().chain(call.arguments);
        let again = match crate::Arguments::try_parse_from(words) {
            Ok(arguments) => arguments.command,
            Err(error) => return refuse(format!("this program can't read its command: {error}")),
        };
        let whole = read.whole;
        let before = Before { rule: Some(asked.rule), runs: read.runs, audits: read.audits };
        let done = Done { before, rows: self.rows, html: self.html, whole };
        match again {
            crate::Command::Lab(Lab::Run(run)) => run.carry_out(Some(done)),
            crate::Command::Lab(Lab::Compare(compare)) => compare.carry_out(Some(done)),
            _ => Err(Failure::usage("this is no experiment that can be gone on with".to_owned())),
        }
    }
}

/// What is there of an experiment that goes on.
pub(super) struct Done {
    pub(super) before: Before,
    pub(super) rows: PathBuf,
    pub(super) html: Option<PathBuf>,
    pub(super) whole: Whole,
}
