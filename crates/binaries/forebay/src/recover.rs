//! `forebay recover`: opens a database, which recovers it if that is needed, and shuts it.
//!
//! Callers: `main`; `load` and `logs` for the words on a recovery.

use clap::Args;
use instance::{Opened, Recovered};
use os::Session;
use report::paragraph;
use serde_json::{Value, json};
use waits::SessionKind;

use crate::opening::Opening;
use crate::output::{CommandResult, json_page, tell};

#[derive(Args)]
pub(crate) struct Recover {
    #[command(flatten)]
    opening: Opening,
    /// Prints JSON, for programs; docs/JSON.md lists the keys.
    #[arg(long)]
    json: bool,
}

impl Recover {
    /// Returns when every transaction that was active at the crash has been rolled back.
    pub(crate) fn carry_out(&self) -> CommandResult {
        let os = os::linux::start();
        let session: Session = os.adopt("forebay", SessionKind::Foreground);
        let database = self.opening.open(&os::linux::disk(), &session)?;
        let opened = database.instance().opened().clone();
        database.shutdown_by(&session)?;
        Ok(match self.json {
            true => json_page(&in_json(&opened)),
            false => format!("{}the database was shut in good order\n", in_words(&opened)),
        })
    }
}

/// What opening had to recover, for a terminal.
pub(crate) fn in_words(opened: &Opened) -> String {
    if !has_recovered(opened) {
        return "nothing was to be recovered\n".to_string();
    }
    let recovered = &opened.recovered;
    format!(
        "recovery read {} redo records in {:.2} s ({:.2} s were estimated)\n\
         recovery rolled {} transactions back\n{}",
        recovered.records,
        recovered.elapsed.as_secs_f64(),
        opened.estimated_recovery.as_secs_f64(),
        opened.rolled_back,
        paragraph(&recovered.end.to_string(), "")
    )
}

/// Says on standard error that opening has recovered the database, if it has.
pub(crate) fn tell_if_recovered(opened: &Opened) {
    if has_recovered(opened) {
        let Recovered { records, elapsed, .. } = &opened.recovered;
        tell(&format!(
            "notice: the database was recovered: {records} redo records were read in {:.2} s, and \
             {} transactions rolled back",
            elapsed.as_secs_f64(),
            opened.rolled_back
        ));
    }
}

fn has_recovered(opened: &Opened) -> bool {
    opened.recovered.records > 0 || opened.rolled_back > 0
}

/// What opening had to recover; docs/JSON.md lists the keys.
pub(crate) fn in_json(opened: &Opened) -> Value {
    let recovered = &opened.recovered;
    json!({
        "redo_records": recovered.records,
        "redo_bytes": recovered.bytes,
        "blocks_read": recovered.brought,
        "seconds": recovered.elapsed.as_secs_f64(),
        "seconds_estimated": opened.estimated_recovery.as_secs_f64(),
        "rolled_back": opened.rolled_back,
        "end": recovered.end.to_string(),
    })
}
