//! `forebay logs`: the redo log groups of a database, and changes of them.
//!
//! The database is opened for it, which recovers it if need be, and shut again.
//!
//! Callers: `main`.

use std::fmt::Write;

use clap::Args;
use instance::{LogChange, LogStatus, LogView};
use os::Session;
use stop::{RefusalKind, Stop};
use waits::SessionKind;

use crate::load::Instanced;
use crate::output::{Failure, Outcome};

#[derive(Args)]
pub(crate) struct Logs {
    #[command(flatten)]
    instanced: Instanced,
    /// Makes a change: add_log_group=SIZE:PATH[,PATH...], drop_log_group=NUMBER,
    /// add_log_member=NUMBER:PATH, drop_log_member=PATH or switch_log=next. May be given several
    /// times.
    #[arg(long = "change", value_name = "NAME=VALUE")]
    changes: Vec<String>,
}

/// What there is to print, or what failed.
pub(crate) fn run(logs: &Logs) -> Outcome {
    let os = os::linux::start();
    let session = os.adopt("forebay", SessionKind::Foreground);
    logs.carry_out(&session)
}

impl Logs {
    fn carry_out(&self, session: &Session) -> Outcome {
        let changes = self.changes.iter().map(|text| read(text)).collect::<Result<Vec<_>, _>>();
        let changes = changes.map_err(Failure::usage)?;
        let database = self.instanced.open(&os::linux::disk(), session)?;
        let instance = database.instance();
        os::linux::listen();
        let go_on = || !os::linux::interrupted();
        let changed = changes.iter().try_for_each(|change| match go_on() {
            true => instance.change_logs_while(change, &go_on, session),
            false => Err(Stop::refuse(RefusalKind::WrongState, "stopped before all was changed")),
        });
        let views = instance.log_groups(session);
        let ended = database.shutdown_by(session);
        match changed.and(ended) {
            Ok(()) => Ok(table(&views)),
            // Those before the one that was refused were made.
            Err(stop) => Err(Failure::from(stop).behind(table(&views))),
        }
    }
}

fn read(text: &str) -> Result<LogChange, Stop> {
    let change = text.split_once('=').and_then(|(name, value)| LogChange::read(name.trim(), value));
    change.unwrap_or_else(|| {
        let names = LogChange::NAMES.map(|(name, looks)| format!("{name}={looks}"));
        let message = format!("--change takes {}, not '{text}'", names.join(", "));
        Err(Stop::refuse(RefusalKind::Invalid, message))
    })
}

/// A line for each member.
fn table(views: &[LogView]) -> String {
    let mut text = format!("{:>5} {:>8} {:>10} {:<8}  members\n", "group", "log", "KiB", "status");
    for view in views {
        let status = match view.status {
            LogStatus::Current => "CURRENT",
            LogStatus::Active => "ACTIVE",
            LogStatus::Inactive => "INACTIVE",
            LogStatus::Unused => "UNUSED",
        };
        let members = view.members.iter().map(|(path, good)| {
            let state = if *good { "" } else { " (INVALID)" };
            format!("{}{state}", path.display())
        });
        writeln!(
            text,
            "{:>5} {:>8} {:>10} {status:<8}  {}",
            view.number,
            view.sequence,
            u64::from(view.blocks) * 4,
            members.collect::<Vec<_>>().join(", ")
        )
        .expect("writing to a string can't fail");
    }
    text
}
