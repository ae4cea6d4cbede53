//! Changes of the redo log groups, as users write them.
//!
//! | name | value |
//! |---|---|
//! | `add_log_group` | size and members: `64m:redo04.log,/disk2/redo04b.log` |
//! | `drop_log_group` | its number |
//! | `add_log_member` | number of the group and member: `3:/disk2/redo03b.log` |
//! | `drop_log_member` | the member |
//! | `switch_log` | `next`; while the current log is empty it stays |
//! | `clear_log_group` | the number of a group that is lost; while the database is shut |
//!
//! Callers: the binary.

use std::path::Path;

use os::{Disk, Session};
use space::{ControlContent, ControlFile, NewFiles, leftovers, new_path, within_directory};
use stop::{RefusalKind, Stop};

use crate::logs::{FILE, NewLogs, add_member, bytes_of, check_room, drop_member, find, newer};
use crate::parameters::parse_size;
use crate::{Instance, LogGroupSpec, LogStatus};

/// A change of the redo log groups.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LogChange {
    /// Adds a group.
    AddGroup(LogGroupSpec),
    /// Drops the group of this number.
    DropGroup(u16),
    /// Adds a member to the group of this number.
    AddMember(u16, String),
    /// Drops this member.
    DropMember(String),
    /// Closes the current log and begins the next.
    Switch,
    /// Makes the lost group of this number anew, while the database is shut
    /// ([`clear_log_group`](crate::clear_log_group)).
    ClearGroup(u16),
}

impl LogChange {
    /// The names of the changes, each with the form of its value.
    pub const NAMES: [(&'static str, &'static str); 6] = [
        ("add_log_group", "SIZE:PATH[,PATH...]"),
        ("drop_log_group", "NUMBER"),
        ("add_log_member", "NUMBER:PATH"),
        ("drop_log_member", "PATH"),
        ("switch_log", "next"),
        ("clear_log_group", "NUMBER"),
    ];

    /// Reads a change as a user writes it. `None` if no change has this name.
    pub fn read(name: &str, value: &str) -> Option<Result<LogChange, Stop>> {
        let is_it = |(known, _): &&(&str, &str)| known.eq_ignore_ascii_case(name);
        let (name, looks) = LogChange::NAMES.iter().find(is_it)?;
        let change = read_value(name, value.trim());
        Some(change.ok_or_else(|| {
            let message = format!("{name} takes {looks}, not '{value}'");
            Stop::refuse(RefusalKind::Invalid, message)
        }))
    }
}

impl LogGroupSpec {
    /// Reads a group as a user writes it: `64m:redo04.log,/disk2/redo04b.log`.
    pub fn read(text: &str) -> Option<LogGroupSpec> {
        let (bytes, members) = text.split_once(':')?;
        let members: Vec<String> = members.split(',').map(|path| path.trim().into()).collect();
        let bytes = parse_size(bytes)?;
        members.iter().all(|path| !path.is_empty()).then_some(LogGroupSpec { bytes, members })
    }
}

fn read_value(name: &str, value: &str) -> Option<LogChange> {
    let is_given = !value.is_empty();
    Some(match name {
        "add_log_group" => LogChange::AddGroup(LogGroupSpec::read(value)?),
        "drop_log_group" => LogChange::DropGroup(value.parse().ok()?),
        "add_log_member" => {
            let (group, path) = value.split_once(':')?;
            let path = path.trim();
            let group = group.trim().parse().ok()?;
            return (!path.is_empty()).then(|| LogChange::AddMember(group, path.into()));
        }
        "drop_log_member" if is_given => LogChange::DropMember(value.into()),
        "switch_log" if value == "next" => LogChange::Switch,
        "clear_log_group" => LogChange::ClearGroup(value.parse().ok()?),
        _ => return None,
    })
}

/// Refuses changes of the redo logs of a database that isn't open, if the control file or the names
/// on the disk tell that one of them can't be made (IN36). Nothing is written.
pub fn check_log_changes(
    disk: &Disk,
    directory: &Path,
    changes: &[LogChange],
    session: &Session,
) -> Result<(), Stop> {
    let copies = ControlFile::look(disk, directory, false, session)?;
    let content = newer(&copies, disk, directory, "change the logs of", session)?;
    let going = leftovers(disk, directory, content, session)?;
    let (mut planned, mut additions) = (content.clone(), Vec::new());
    // What is dropped leaves its room and its names to the changes behind it.
    let mut has_dropped = false;
    for (at, change) in changes.iter().enumerate() {
        if let LogChange::ClearGroup(number) = change
            && changes[..at].iter().any(|one| !matches!(one, LogChange::ClearGroup(_)))
        {
            return Err(late_clearing(*number, "the changes before this one open the database"));
        }
        // An invalid member may be good by then.
        let members = planned.log_groups.iter_mut().flat_map(|group| &mut group.members);
        members.for_each(|member| member.good = true);
        let Some(logs) = plan(change, &mut planned, disk, directory)? else {
            has_dropped |= matches!(change, LogChange::DropGroup(_) | LogChange::DropMember(_));
            continue;
        };
        planned.check()?;
        planned.check_places(disk, directory)?;
        if !has_dropped {
            let new = NewFiles::new(disk, planned.database, FILE);
            logs.paths.iter().try_for_each(|path| new.check_name(path, session))?;
            additions.push(logs);
            let paths = additions.iter().flat_map(|logs| &logs.paths);
            let own = paths.map(|path| new_path(path));
            let freed = bytes_of(disk, going.iter().cloned().chain(own), session);
            check_room(disk, &additions, freed)?;
        }
    }
    Ok(())
}

/// Makes the change in the content of a control file. Returns the logs that it would make.
fn plan(
    change: &LogChange,
    planned: &mut ControlContent,
    disk: &Disk,
    directory: &Path,
) -> Result<Option<NewLogs>, Stop> {
    let within = |path: &String| within_directory(disk, directory, path);
    match change {
        LogChange::AddGroup(LogGroupSpec { bytes, members }) => {
            let members = members.iter().map(within).collect();
            let spec = LogGroupSpec { bytes: *bytes, members };
            let blocks = spec.add_to(planned)?.blocks;
            let paths = spec.members.iter().map(|path| directory.join(path)).collect();
            return Ok(Some(NewLogs { paths, blocks }));
        }
        LogChange::AddMember(number, path) => {
            let path = within(path);
            let blocks = add_member(planned, *number, &path)?;
            return Ok(Some(NewLogs { paths: vec![directory.join(path)], blocks }));
        }
        LogChange::DropGroup(number) => {
            find(planned, *number)?;
            redo::check_drop(*number, planned.log_groups.len())?;
            planned.log_groups.retain(|group| group.number != *number);
        }
        LogChange::DropMember(path) => {
            drop_member(planned, disk, directory, Path::new(path))?;
        }
        LogChange::ClearGroup(number) => _ = find(planned, *number)?,
        LogChange::Switch => {}
    }
    Ok(None)
}

/// The refusal of a clearing of an open database.
fn late_clearing(number: u16, why: &str) -> Stop {
    let message = format!(
        "cannot clear redo log group {number}: {why}; give this change first ('forebay logs DIR \
         --change clear_log_group={number}'), or drop the group and add another (drop_log_group, \
         add_log_group)"
    );
    Stop::refuse(RefusalKind::WrongState, message)
}

impl Instance {
    /// Makes a change of the redo log groups, while the database is open.
    pub fn change_logs(&self, change: &LogChange, session: &Session) -> Result<(), Stop> {
        self.change_logs_while(change, &|| true, session)
    }

    /// As [`Instance::change_logs`]. `go_on` is asked every few MiB of a file that is made; once it
    /// says no, the change is given up and nothing is left of the file.
    pub fn change_logs_while(
        &self,
        change: &LogChange,
        go_on: &dyn Fn() -> bool,
        session: &Session,
    ) -> Result<(), Stop> {
        match change {
            LogChange::AddGroup(spec) => self.add_log_group_while(spec, go_on, session).map(|_| ()),
            LogChange::DropGroup(number) => self.drop_log_group(*number, session),
            LogChange::AddMember(number, path) => {
                self.add_log_member_while(*number, path, go_on, session)
            }
            LogChange::DropMember(path) => self.drop_log_member(path, session),
            LogChange::Switch => self.switch_log(session),
            LogChange::ClearGroup(number) => Err(late_clearing(*number, "the database is open")),
        }
    }

    /// Switches logs. An empty current log stays, and a notice says so: else the caller would
    /// believe that the next log has begun.
    fn switch_log(&self, session: &Session) -> Result<(), Stop> {
        let current = || {
            let views = self.log_groups(session);
            let view = views.into_iter().find(|view| view.status == LogStatus::Current);
            view.map(|view| (view.sequence, view.number))
        };
        let before = current();
        self.redo().switch(session)?;
        if let Some((log, group)) = before.filter(|before| current() == Some(*before)) {
            session.os().notice(&format!(
                "the redo log isn't switched: log {log}, the current one, in group {group}, is \
                 empty; change something first, or open the database anew, for instance with \
                 'forebay recover DIR', which begins the next log"
            ));
        }
        Ok(())
    }
}
