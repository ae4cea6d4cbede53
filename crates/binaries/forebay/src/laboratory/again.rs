//! `forebay lab report` and `lab resume`: what can be done with the rows of an experiment.
//!
//! Callers: `laboratory`.

use std::path::{Path, PathBuf};

use clap::{Args, Parser};
use experiment::{Call, RowReader, Rows, Rule, Whole};
use lab::{Before, PER_CENTS};
use os::{File, FileOperation, Session};
use waits::SessionKind;

use super::options::{How, Place, word};
use super::outputs::{OPTIONS, Outputs};
use super::{COMMIT, Lab, begin, has_own_shape, worth_something};
use crate::number::within;
use crate::output::{CommandResult, Failure};

/// A file is read in pieces of so many bytes.
const PIECE: usize = 1 << 20;
/// A line that is longer is no row: these have some 7 KB.
const LINE_BYTES_MAX: usize = 16 << 20;

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
    /// Another difference in what is compared, in per cent, that matters.
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
    #[arg(value_parser = within(PER_CENTS))]
    matters: Option<f64>,
}

impl Report {
    pub(super) fn carry_out(self) -> CommandResult {
        Outputs::check(None, self.html.as_deref())?;
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
            Ok(()) => worth_something(verdict.commits_lost(), text),
            Err(error) => Err(Failure::from(error).behind(text)),
        }
    }

    /// Refuses the rows of an experiment that doesn't compare settings with a first one.
    fn check_shape(&self, rows: &Rows) -> Result<(), Failure> {
        let name = rows.runs.first().map(|run| run.identity.experiment.as_str());
        let Some(name) = name.filter(|name| has_own_shape(name)) else { return Ok(()) };
        Err(Failure::usage(format!(
            "{}: {name} has a shape of its own, and its report can't be made again",
            self.rows.display()
        )))
    }

    /// The command line that makes the same report.
    fn command(&self) -> String {
        let matters = self.matters.map_or(String::new(), |percent| format!(" --matters {percent}"));
        format!("forebay lab report {}{matters}", word(&self.rows.display().to_string()))
    }
}

/// The rows of a file. Those of a database that was found corrupt are refused (rule LB14).
pub(super) fn read_rows(path: &Path, session: &Session) -> Result<Rows, Failure> {
    let file = os::linux::disk().open_read_only(path, OPTIONS, session)?;
    let rows = read_lines(&file, PIECE, session)?;
    match &rows.corrupt {
        None => Ok(rows),
        Some(how) => Err(Failure::usage(format!(
            "{}: the experiment ended because its database was found corrupt ({how}); what that \
             measured is worth nothing",
            path.display()
        ))),
    }
}

/// Reads rows in pieces of so many bytes: days of short blocks are more text than belongs in
/// memory.
fn read_lines(file: &File, piece: usize, session: &Session) -> Result<Rows, Failure> {
    let refuse = |what: String| Failure::usage(format!("{}: {what}", file.path().display()));
    let is_line_end = |byte: &u8| *byte == b'\n';
    let (mut reader, mut at) = (RowReader::default(), 0);
    // What was read of lines that aren't whole yet.
    let mut text: Vec<u8> = Vec::new();
    let length = file.length()?;
    while at < length {
        let known = text.len();
        let bytes = (length - at).min(piece as u64);
        text.resize(known + bytes as usize, 0);
        file.read_at(at, &mut text[known..], FileOperation::Read.waiting(session))?;
        at += bytes;
        let end = text[known..].iter().rposition(is_line_end).map_or(0, |end| known + end + 1);
        for line in text[..end].split_inclusive(is_line_end) {
            reader.line(line).map_err(|error| refuse(error.to_string()))?;
        }
        text.drain(..end);
        if text.len() > LINE_BYTES_MAX {
            let most = LINE_BYTES_MAX >> 20;
            return Err(refuse(format!("it is no file of rows: a line is over {most} MiB")));
        }
    }
    if !text.is_empty() {
        reader.line(&text).map_err(|error| refuse(error.to_string()))?;
    }
    Ok(reader.end())
}

/// Going on with an experiment that was stopped.
#[derive(Args)]
pub(crate) struct Resume {
    /// The file that `forebay lab run --rows` or `forebay lab compare --rows` wrote.
    #[arg(value_name = "ROWS")]
    rows: PathBuf,
    /// Writes a page, one HTML file with charts, to this file too. The page that the experiment
    /// wrote when it was stopped is written over.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Prints the report as JSON, for programs.
    #[arg(long)]
    json: bool,
    /// Another difference in what is compared, in per cent, that matters this time; the file of
    /// rows keeps its own.
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
    #[arg(value_parser = within(PER_CENTS))]
    matters: Option<f64>,
}

impl Resume {
    /// Reads what was asked, checks that it can be resumed, and goes on.
    pub(super) fn carry_out(self) -> CommandResult {
        let session = os::linux::start().adopt("forebay", SessionKind::Foreground);
        let read = read_rows(&self.rows, &session)?;
        drop(session);
        let refuse = |what: String| Err(Failure::usage(format!("{}: {what}", self.rows.display())));
        let Some(asked) = read.asked else {
            return refuse("it doesn't say what was asked, so it can't be resumed".to_owned());
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
            return refuse("its command line isn't text, so it can't be resumed".to_owned());
        }
        let words = ["forebay".to_owned()].into_iter().chain(call.arguments.iter().cloned());
        let again = match crate::Arguments::try_parse_from(words) {
            Ok(arguments) => arguments.command,
            Err(error) => return refuse(format!("this program can't read its command: {error}")),
        };
        let Rows { runs, notes, audits, whole, .. } = read;
        // Looks and their bars are the same whatever matters (EX20), so it may be another one.
        let threshold = self.matters.map_or(asked.rule.threshold, |percent| percent / 100.0);
        let rule = Some(Rule { threshold, ..asked.rule });
        let before = Before { rule, runs, notes, audits };
        let threshold = self.matters.map(|_| asked.rule.threshold);
        let done = Done { before, threshold, call, rows: self.rows, html: self.html, whole };
        let change = |place: &mut Place, how: &mut How| {
            place.json |= self.json;
            how.matters = self.matters.or(how.matters);
        };
        match again {
            crate::Command::Lab(Lab::Run(mut run)) => {
                change(&mut run.place, &mut run.how);
                run.carry_out(Some(done))
            }
            crate::Command::Lab(Lab::Compare(mut compare)) => {
                change(&mut compare.place, &mut compare.how);
                compare.carry_out(Some(done))
            }
            _ => Err(Failure::usage("this is no experiment that can be resumed".to_owned())),
        }
    }
}

/// What is there of an experiment that goes on.
pub(super) struct Done {
    pub(super) before: Before,
    /// What mattered when it was asked for, if something else does this time.
    pub(super) threshold: Option<f64>,
    /// Who asked for it.
    pub(super) call: Call,
    pub(super) rows: PathBuf,
    pub(super) html: Option<PathBuf>,
    pub(super) whole: Whole,
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes behind the program's back")]
mod tests {
    use experiment::{Audit, Commits, corrupt_line, parse_rows};

    use super::*;

    /// Wherever pieces end, also inside a letter.
    #[test]
    fn rows_are_the_same_in_whatever_pieces_they_are_read() {
        let path = std::env::temp_dir().join(format!("forebay-pieces-{}", std::process::id()));
        let audit = |instance_ns| {
            let commits = Commits { acknowledged: 9, found: 9 };
            Audit { instance_ns: Some(instance_ns), commits }.to_json_line() + "\n"
        };
        let lines: String = (0..9).map(audit).collect();
        let whole = lines + "\n" + &corrupt_line("é is off") + "\n";
        let session = os::linux::start().adopt("test", SessionKind::Foreground);
        for text in [whole.clone() + "{\"aud", whole, String::new()] {
            std::fs::write(&path, &text).expect("written");
            let disk = os::linux::disk();
            let file = disk.open_read_only(&path, OPTIONS, &session).expect("there");
            for piece in [1, 7, 64, PIECE] {
                let read = read_lines(&file, piece, &session).expect("rows");
                assert_eq!(read, parse_rows(&text).expect("rows"), "{piece} {text}");
            }
        }
        std::fs::remove_file(&path).expect("removed");
    }
}
