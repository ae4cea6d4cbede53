//! `forebay verify`: the check of a database that is shut.
//!
//! Nothing is written there, and nothing recovered: a database that needs that is told so. Findings
//! go to standard output, a line each, as they come; of one kind in one object the first ten.
//! Behind them stands what was looked at, and how many more findings there are.
//!
//! Callers: `main`.

use std::path::PathBuf;

use clap::Args;
use instance::Parameters;
use os::Session;
use serde_json::{Value, json};
use verify::{Finding, Report, TOLD_MAX, Task};
use waits::SessionKind;

use crate::output::{CommandResult, Failure, json_page, print};
use crate::progress::Progress;
use crate::settings::Settings;

#[derive(Args)]
pub(crate) struct Verify {
    /// The database.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Prints JSON, for programs; docs/JSON.md lists the keys.
    #[arg(long)]
    json: bool,
    /// Shows every finding; without it ten of one kind in one table, index or file.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    settings: Settings,
}

/// Prints findings as they come. A failure if something was found, or couldn't be checked.
pub(crate) fn run(verify: &Verify) -> CommandResult {
    let os = os::linux::start();
    let session = os.adopt("forebay", SessionKind::Foreground);
    os::linux::listen();
    let (mut findings, mut failed) = (Vec::new(), None);
    let checked = verify.check(
        &mut |finding| match verify.json {
            true => findings.push(in_json(finding)),
            false => failed = failed.take().or(print(&format!("{finding}\n")).err()),
        },
        &session,
    );
    let report = checked?;
    let last = match verify.json {
        true => print(&json_page(&all_in_json(&report, findings))),
        false => print(&(report.to_string() + more_text(&report))),
    };
    match failed.or(last.err()) {
        Some(failure) => Err(failure),
        None if report.is_clean() => Ok(String::new()),
        None => Err(Failure::found()),
    }
}

impl Verify {
    fn check(&self, tell: &mut dyn FnMut(&Finding), session: &Session) -> Result<Report, Failure> {
        let mut parameters = Parameters::default();
        self.settings.apply(None, &mut parameters)?;
        let options = parameters.filesystemio_options.file_options();
        let mut progress = Progress::new();
        let go_on = &mut |now: verify::Progress| {
            let line = || format!("{} of {} blocks, {} findings", now.blocks, now.of, now.findings);
            progress.show(line, session);
            !os::linux::interrupted()
        };
        // Which index is of which table, the dictionary says.
        let mut task =
            Task { pairs: &[], told_max: if self.all { u64::MAX } else { TOLD_MAX }, tell, go_on };
        let report =
            verify::closed(&os::linux::disk(), &self.directory, options, &mut task, session);
        progress.end();
        Ok(report?)
    }
}

/// How the findings that weren't shown are had.
fn more_text(report: &Report) -> &'static str {
    if report.untold.is_empty() { "" } else { "--all shows all of them\n" }
}

fn in_json(finding: &Finding) -> Value {
    json!({
        "kind": finding.kind.name(),
        "object": finding.object,
        "file": finding.file,
        "file_number": finding.block.map(|block| block.file.get()),
        "block": finding.block.map(|block| block.block.get()),
        "what": finding.what,
        "advice": finding.advice,
    })
}

fn all_in_json(report: &Report, findings: Vec<Value>) -> Value {
    let counts: serde_json::Map<String, Value> =
        report.findings.iter().map(|(kind, count)| (kind.name().into(), (*count).into())).collect();
    json!({
        "clean": report.is_clean(),
        "files": report.files,
        "blocks": report.blocks,
        "blocks_unwritten": report.blocks_unwritten,
        "segments": report.segments,
        "rows": report.rows,
        "index_entries": report.entries,
        "indexes_compared": report.compared,
        "unsettled": report.unsettled,
        "skipped": report.skipped,
        "counts": counts,
        "untold": report.untold.values().sum::<u64>(),
        "findings": findings,
    })
}
