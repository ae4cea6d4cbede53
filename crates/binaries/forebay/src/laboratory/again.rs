//! `forebay lab report`: the report of an experiment again, from its rows.
//!
//! Callers: `laboratory`.

use std::path::PathBuf;

use clap::Args;

use super::options::Outputs;
use super::{Kind, begin, read_text};
use crate::number::within;
use crate::output::{CommandResult, Failure};

/// Rows of ten thousand runs fit in.
const ROWS: Kind = ("no file of rows", 256 << 20);

pub(super) const HELP: &str = "\
The rows don't say what was asked of them. The rounds that were planned are taken to be those \
that are there, so an interval may be shorter than in the experiment's own report, which had kept \
a part of its error for rounds to come. Whether commits survived a crash, the costs of a modelled \
machine, and notes are in the experiment's own report only.";

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
    /// The difference in throughput, in per cent, that matters.
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0, allow_negative_numbers = true)]
    #[arg(value_parser = within(0.01..=99.99))]
    matters: f64,
}

impl Report {
    pub(super) fn carry_out(self) -> CommandResult {
        let session = begin();
        let text = read_text(&os::linux::disk(), &self.rows, ROWS, &session)?;
        let refuse = |what: &dyn std::fmt::Display| {
            Failure::usage(format!("{}: {what}", self.rows.display()))
        };
        let rows = experiment::parse_rows(&text).map_err(|error| refuse(&error))?;
        let verdict = lab::report_again(&rows, self.matters / 100.0, self.command());
        let verdict = verdict.map_err(|error| refuse(&error))?;
        let text = if self.json { verdict.json() + "\n" } else { verdict.text() };
        let outputs = Outputs::make(None, self.html.as_deref(), &session)?;
        match outputs.write(&verdict, &rows, &session) {
            Ok(()) => Ok(text),
            Err(error) => Err(Failure::from(error).behind(text)),
        }
    }

    /// The command line that makes the same report.
    fn command(&self) -> String {
        format!("forebay lab report '{}' --matters {}", self.rows.display(), self.matters)
    }
}
