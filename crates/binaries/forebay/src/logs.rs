//! `forebay logs`: the redo log groups of a database, and changes of them.
//!
//! Listing reads the files and writes nothing. Changes are first held against the control file and
//! the names on the disk, which writes nothing either. Then lost groups are cleared, and the
//! database is opened, which recovers it if that is needed, and shut again. Each opening begins a
//! new log (rule redo/RD32), because the end of the last one may be torn: a change that is refused
//! only then has cost a log switch.
//!
//! Callers: `main`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use instance::{
    LogChange, LogStatus, LogView, LogsSeen, check_log_changes, clear_log_group, look_at_logs,
};
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
    /// begins a new log, and shut. Before that, and given first, clear_log_group=NUMBER makes a
    /// group anew whose files are lost and that no recovery needs.
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
        let (changes, directory) = (changes.map_err(Failure::usage)?, &self.opening.directory);
        // Wrong settings are refused, before a look at the database.
        self.opening.parameters()?;
        if !changes.is_empty() {
            check_log_changes(disk, directory, &changes, session)?;
        }
        let (mut made, go_on) = (0, || !os::linux::interrupted());
        let clears = matches!(changes.first(), Some(LogChange::ClearGroup(_)));
        if clears {
            os::linux::listen();
        }
        // While a group is lost the database can't be opened.
        while let Some(LogChange::ClearGroup(number)) = changes.get(made) {
            clear_log_group(disk, directory, *number, &go_on, session)
                .map_err(|stop| Failure::from(stop).saying(&self.made_of(made)))?;
            made += 1;
        }
        let behind_clearing = |failure: Failure| match clears {
            true => failure.saying(&self.made_of(made)),
            false => failure,
        };
        if made == changes.len() {
            let seen = look_at_logs(disk, directory, session);
            return self.listed(&seen.map_err(|stop| behind_clearing(stop.into()))?);
        }
        let database = self.opening.open(disk, session).map_err(behind_clearing)?;
        let instance = database.instance();
        recover::tell_if_recovered(instance.opened());
        if !clears {
            os::linux::listen();
        }
        let changed = changes[made..].iter().try_for_each(|change| match go_on() {
            true => {
                instance.change_logs_while(change, &go_on, session)?;
                made += 1;
                Ok(())
            }
            false => Err(Stop::refuse(RefusalKind::WrongState, "stopped before all was changed")),
        });
        let views = instance.log_groups(session);
        let ended = database.shutdown_by(session);
        let told = self.shown(&LogsSeen { groups: views, faults: Vec::new() });
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

    /// The groups of a database that isn't open. A failure if a member can't be used.
    fn listed(&self, seen: &LogsSeen) -> CommandResult {
        let (shown, count) = (self.shown(seen), seen.faults.len());
        if count == 0 {
            return Ok(shown);
        }
        let made = if self.changes.is_empty() { "" } else { "the changes are made; " };
        let message = format!(
            "{made}{count} of the redo log members can't be used, for the reason beside each; \
             'forebay verify {}' says what to do",
            self.opening.directory.display()
        );
        Err(Failure::new(message).behind(shown))
    }

    fn shown(&self, seen: &LogsSeen) -> String {
        match self.json {
            true => json_page(&self.in_json(seen)),
            false => self.table(seen),
        }
    }

    /// A member's path as `--change` takes it: from the database's directory on if it lies there.
    fn short<'p>(&self, path: &'p Path) -> std::path::Display<'p> {
        path.strip_prefix(&self.opening.directory).unwrap_or(path).display()
    }

    /// A line for each group, and one for each of its further members.
    fn table(&self, seen: &LogsSeen) -> String {
        let mut text =
            format!("{:>5} {:>8} {:>10} {:<8}  members\n", "group", "log", "KiB", "status");
        for view in &seen.groups {
            let status = status(view);
            let kib = u64::from(view.blocks) * 4;
            let begin = format!("{:>5} {:>8} {kib:>10} {status:<8}  ", view.number, view.sequence);
            for (index, (path, good)) in view.members.iter().enumerate() {
                let state = match (good, fault(seen, path)) {
                    (true, _) => String::new(),
                    (false, None) => " (INVALID)".to_string(),
                    (false, Some(why)) => format!(" (INVALID: {why})"),
                };
                let begin = if index == 0 { begin.clone() } else { " ".repeat(begin.len()) };
                writeln!(text, "{begin}{}{state}", self.short(path))
                    .expect("writing to a string can't fail");
            }
        }
        text
    }

    /// Keys are listed in docs/JSON.md.
    fn in_json(&self, seen: &LogsSeen) -> Value {
        let member = |(path, good): &(PathBuf, bool)| {
            let shown = self.short(path).to_string();
            json!({ "path": shown, "valid": good, "fault": fault(seen, path) })
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
        seen.groups.iter().map(group).collect()
    }
}

/// Why this member can't be used, if it was looked at.
fn fault<'s>(seen: &'s LogsSeen, path: &Path) -> Option<&'s str> {
    seen.faults.iter().find(|(member, _)| member == path).map(|(_, why)| why.as_str())
}

fn read(text: &str) -> Result<LogChange, Stop> {
    let change = text.split_once('=').and_then(|(name, value)| LogChange::read(name.trim(), value));
    change.unwrap_or_else(|| {
        let names = LogChange::NAMES.map(|(name, looks)| format!("{name}={looks}"));
        let message = format!("--change takes {}, not '{text}'", names.join(", "));
        Err(Stop::refuse(RefusalKind::Invalid, message))
    })
}

fn status(view: &LogView) -> &'static str {
    match view.status {
        LogStatus::Current => "CURRENT",
        LogStatus::Active => "ACTIVE",
        LogStatus::Inactive => "INACTIVE",
        LogStatus::Unused => "UNUSED",
        LogStatus::Unknown => "UNKNOWN",
    }
}
