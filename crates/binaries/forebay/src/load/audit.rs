//! `forebay load audit`: the tables held against themselves, and against acknowledged commits.

use std::path::PathBuf;

use clap::Args;
use database::Database;
use os::{Disk, Session};
use serde_json::json;
use stop::{RefusalKind, Stop};
use workload::order_entry;

use super::acknowledged::read_acknowledged;
use crate::opening::Opening;
use crate::output::{CommandResult, json_page};
use crate::recover;

#[derive(Args)]
pub(crate) struct Audit {
    #[command(flatten)]
    opening: Opening,
    /// What `run --acknowledge` printed, of one load or of several; without it, the books alone
    /// are looked at.
    #[arg(long, value_name = "FILE")]
    acknowledged: Option<PathBuf>,
    /// Of order entry: its twelve consistency conditions are checked too.
    #[arg(long)]
    order_entry: bool,
    /// Prints JSON, for programs; docs/JSON.md lists the keys.
    #[arg(long)]
    json: bool,
}

impl Audit {
    pub(super) fn carry_out(&self, disk: &Disk, session: &Session) -> CommandResult {
        let read = |path| read_acknowledged(disk, path, session);
        let told = self.acknowledged.as_deref().map(read).transpose()?;
        let database = self.opening.open(disk, session)?;
        let opened = database.instance().opened().clone();
        let sessions = told.as_deref().unwrap_or_default();
        let audited = audit(self.order_entry, &database, sessions, session);
        let ended = database.shutdown_by(session);
        let found = audited?;
        ended?;
        let acknowledged = told.as_ref().map(|told| told.iter().map(|(_, told)| told).sum::<u64>());
        if self.json {
            return Ok(json_page(&json!({
                "acknowledged": acknowledged,
                "found": found,
                "recovery": recover::in_json(&opened),
            })));
        }
        let lost = match acknowledged {
            Some(acknowledged) => format!("none of {acknowledged} acknowledged commits is lost"),
            None => "nothing is said of commits, for --acknowledged isn't given".to_string(),
        };
        Ok(format!("{lost}\n{found}\n{}", recover::in_words(&opened)))
    }
}

/// Holds the tables against themselves and what was acknowledged.
fn audit(
    order_entry: bool,
    database: &Database,
    told: &[(u32, u64)],
    session: &Session,
) -> Result<String, Stop> {
    let mut connection = database.connect_with(session);
    let (audit, right) = match order_entry {
        true => (order_entry::audit(&mut connection, told)?, "all twelve conditions hold"),
        false => (workload::audit(&mut connection, told, true)?, "the books balance"),
    };
    let mut faults = audit.unbalanced;
    if audit.lost > 0 {
        let (lost, of) = (audit.lost, audit.acknowledged);
        faults.insert(0, format!("of {of} acknowledged commits {lost} are lost"));
    }
    if !audit.untold.is_empty() {
        faults.extend(audit.untold);
        faults.push(workload::CUT_SHORT.to_string());
    }
    match (faults.is_empty(), told.is_empty()) {
        (false, _) => Err(Stop::refuse(RefusalKind::Corrupt, faults.join("; "))),
        (true, true) => Ok(right.to_string()),
        (true, false) => {
            Ok(format!("{right}, and {} more commits are there", audit.unacknowledged))
        }
    }
}
