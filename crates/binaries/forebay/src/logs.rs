//! `forebay logs`: the redo log groups of a database, and changes of them.
//!
//! Listing reads the files and writes nothing. Changes are first held against the control file and
//! the names on the disk, which writes nothing either. Then the database is opened, which recovers
//! it if that is needed, and shut again. Each opening begins a new log (rule redo/RD32), because
//! the end of the last one may be torn: a change that is refused only then has cost a log switch.
//!
//! Callers: `main`.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use instance::{LogChange, LogStatus, LogView, check_log_changes, look_at_logs};
use os::{Disk, Session};
use serde_json::{Value, json};
use stop::{RefusalKind, Stop};
use waits::SessionKind;

use crate::opening::Opening;
use crate::output::{CommandResult, Failure, json_page};
use crate::recover;

#[derive(Args)]
pub(crate) struct Logs {
    #[command(flatten)]
    opening: Opening,
    /// Makes a change: add_log_group=SIZE:PATH[,PATH...], drop_log_group=NUMBER,
    /// add_log_member=NUMBER:PATH, drop_log_member=PATH or switch_log=next. A relative PATH is
    /// one from DIR on. May be given several times. For changes the database is opened, which
    /// begins a new log, and shut.
    #[arg(long = "change", value_name = "NAME=VALUE")]
    changes: Vec<String>,
    /// Prints JSON, for programs; docs/JSON.md lists the keys.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(logs: &Logs) -> CommandResult {
    let os = os::linux::start();
    let session = os.adopt("forebay", SessionKind::Foreground);
    logs.carry_out(&os::linux::disk(), &session)
}

impl Logs {
    fn carry_out(&self, disk: &Disk, session: &Session) -> CommandResult {
        let changes = self.changes.iter().map(|text| read(text)).collect::<Result<Vec<_>, _>>();
        let changes = changes.map_err(Failure::usage)?;
        if changes.is_empty() {
            // Wrong settings are refused, though nothing depends on them.
            self.opening.parameters()?;
            return Ok(self.shown(&look_at_logs(disk, &self.opening.directory, session)?));
        }
        // Wrong settings are refused, before a look at the database.
        self.opening.parameters()?;
        check_log_changes(disk, &self.opening.directory, &changes, session)?;
        let database = self.opening.open(disk, session)?;
        let instance = database.instance();
        recover::tell_if_recovered(instance.opened());
        os::linux::listen();
        let go_on = || !os::linux::interrupted();
        let mut made = 0;
        let changed = changes.iter().try_for_each(|change| match go_on() {
            true => {
                instance.change_logs_while(change, &go_on, session)?;
                made += 1;
                Ok(())
            }
            false => Err(Stop::refuse(RefusalKind::WrongState, "stopped before all was changed")),
        });
        let views = instance.log_groups(session);
        let ended = database.shutdown_by(session);
        let told = self.shown(&views);
        match changed.and(ended) {
            Ok(()) => Ok(told),
            Err(stop) => Err(Failure::from(stop).saying(&self.made_of(made)).behind(told)),
        }
    }

    /// Which changes were made, the first `made`, and which weren't.
    fn made_of(&self, made: usize) -> String {
        let (made, others) = self.changes.split_at(made);
        let list = |changes: &[String]| match changes {
            [] => "none".to_string(),
            _ => changes.join(", "),
        };
        format!("changes made: {}; not made: {}", list(made), list(others))
    }

    /// The groups, with members' paths as `--change` takes them: from the database's directory on
    /// if they lie there.
    fn shown(&self, views: &[LogView]) -> String {
        let mut views = views.to_vec();
        for (path, _) in views.iter_mut().flat_map(|view| &mut view.members) {
            if let Ok(inside) = path.strip_prefix(&self.opening.directory) {
                *path = inside.to_path_buf();
            }
        }
        if self.json { json_page(&in_json(&views)) } else { table(&views) }
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

/// A line for each group, and one for each of its further members.
fn table(views: &[LogView]) -> String {
    let mut text = format!("{:>5} {:>8} {:>10} {:<8}  members\n", "group", "log", "KiB", "status");
    for view in views {
        let status = status(view);
        let kib = u64::from(view.blocks) * 4;
        let begin = format!("{:>5} {:>8} {kib:>10} {status:<8}  ", view.number, view.sequence);
        for (index, (path, good)) in view.members.iter().enumerate() {
            let state = if *good { "" } else { " (INVALID)" };
            let begin = if index == 0 { begin.clone() } else { " ".repeat(begin.len()) };
            writeln!(text, "{begin}{}{state}", path.display())
                .expect("writing to a string can't fail");
        }
    }
    text
}

fn status(view: &LogView) -> &'static str {
    match view.status {
        LogStatus::Current => "CURRENT",
        LogStatus::Active => "ACTIVE",
        LogStatus::Inactive => "INACTIVE",
        LogStatus::Unused => "UNUSED",
    }
}

/// Keys are listed in docs/JSON.md.
fn in_json(views: &[LogView]) -> Value {
    let member = |(path, good): &(PathBuf, bool)| {
        let path = path.display().to_string();
        json!({ "path": path, "valid": good })
    };
    let group = |view: &LogView| {
        json!({
            "group": view.number,
            "log": view.sequence,
            "bytes": u64::from(view.blocks) * 4096,
            "status": status(view),
            "members": view.members.iter().map(member).collect::<Vec<_>>(),
        })
    };
    views.iter().map(group).collect()
}
