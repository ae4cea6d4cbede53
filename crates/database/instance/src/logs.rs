//! Redo log groups and their members, which come and go while the database is open (IN8).
//!
//! ```text
//!   add   x.forebay-new made, durable ─▶ control file lists x ─▶ renamed x ─▶ in use
//!   drop  no longer used ─▶ no longer listed ─▶ removed
//! ```
//!
//! A crash on the way leaves a file that isn't listed. A file that wasn't added yet is removed by
//! the next opening or attempt. A dropped file keeps its name, and a later addition is refused it.
//!
//! Callers: `create`, `open`; administrators of an instance.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use format::REDO_BLOCK;
use os::{Disk, FileOptions, NameKind, Session};
use redo::{
    GROUPS_MAX, GroupFiles, KeepMembers, LogGroup, LogMember, LogView, LogsSeen, MEMBERS_MAX,
    MemberChange, RedoConfig, check_log_bytes, look_at_groups,
};
use space::{
    ControlContent, ControlCopy, ControlFile, ControlState, Enqueue, LogGroupContent,
    LogMemberContent, NewFiles, new_path, no_control_file, unfinished, unnamed_path,
    within_directory,
};
use stop::{Halt, RefusalKind, Stop};

use crate::create::{check_free, redo_to_read};
use crate::{Creation, Instance};

/// What messages call a file that is made here.
pub(crate) const FILE: &str = "the redo log";

/// A redo log group to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogGroupSpec {
    /// The size of each member.
    pub bytes: u64,
    /// The paths of the members: relative to the database's directory, or absolute.
    pub members: Vec<String>,
}

/// The groups of a new database.
pub(crate) fn first_groups(directory: &Path, creation: &Creation) -> Vec<LogGroupSpec> {
    if !creation.log_files.is_empty() {
        return creation.log_files.clone();
    }
    let (bytes, members) = (creation.log_file_bytes, creation.log_members);
    let member = |group, place: u16| {
        let path = redo::log_path(directory, group);
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // redo01.log, redo01b.log, redo01c.log …
        let letter = (place > 0).then(|| char::from(b'a' + place as u8));
        format!("{name}{}.log", letter.map_or_else(String::new, String::from))
    };
    let members = |group| (0..members).map(|place| member(group, place)).collect();
    let group = |number| LogGroupSpec { bytes, members: members(number) };
    (1..=creation.log_groups.min(GROUPS_MAX)).map(group).collect()
}

/// The groups that the control file of a database in this directory lists.
pub(crate) fn log_groups(directory: &Path, content: &ControlContent) -> Vec<LogGroup> {
    content.log_groups.iter().map(|group| log_group(directory, group)).collect()
}

fn log_group(directory: &Path, group: &LogGroupContent) -> LogGroup {
    let member = |m: &LogMemberContent| LogMember { path: directory.join(&m.path), good: m.good };
    let members = group.members.iter().map(member).collect();
    LogGroup { number: group.number, blocks: group.blocks, members }
}

/// Every redo log group of a database that isn't open, with the log that it holds and the state of
/// its members. Files are read, and nothing is written. Refused while another program has the
/// database open.
pub fn look_at_logs(disk: &Disk, directory: &Path, session: &Session) -> Result<LogsSeen, Stop> {
    let copies = ControlFile::look(disk, directory, false, session)?;
    let content = newer(&copies, disk, directory, "list the logs of", session)?;
    let config = as_named(disk, directory, content, session);
    Ok(look_at_groups(disk, &config, content.checkpoint.sequence, session))
}

/// The groups that this content of a control file lists, each member at the path where it is now.
pub(crate) fn as_named(
    disk: &Disk,
    directory: &Path,
    content: &ControlContent,
    session: &Session,
) -> RedoConfig {
    let mut config = redo_to_read(directory, content);
    for member in config.groups.iter_mut().flat_map(|group| &mut group.members) {
        // A crash has left it without its name; the next opening gives it that.
        if let Ok(Some(unnamed)) = unnamed_path(disk, &member.path, session) {
            member.path = unnamed;
        }
    }
    config
}

/// What the newer copy of the control file says. Messages say that the caller wants to do `what`
/// with the database.
pub(crate) fn newer<'c>(
    copies: &'c [ControlCopy; 2],
    disk: &Disk,
    directory: &Path,
    what: &str,
    session: &Session,
) -> Result<&'c ControlContent, Stop> {
    let said = copies.iter().filter_map(|copy| copy.said.as_ref().ok());
    let Some((_, content)) = said.max_by_key(|(version, _)| *version) else {
        let faults: Vec<_> = copies.iter().filter_map(|copy| copy.said.clone().err()).collect();
        return Err(no_control_file(what, &faults));
    };
    match content.state {
        ControlState::Creating => Err(unfinished(content, disk, directory, what, session)),
        _ => Ok(content),
    }
}

/// The hook by which the redo has the control file say which members are good (IN24).
pub(crate) fn keep_members(
    control: &Arc<Enqueue<ControlFile>>,
    directory: &Path,
    halt: &Halt,
) -> KeepMembers {
    let (control, halt) = (Arc::clone(control), halt.clone());
    let directory = directory.to_path_buf();
    Box::new(move |number, changes: &[MemberChange], session: &Session| {
        let say = |content: &mut ControlContent| {
            // A group that was dropped meanwhile may have left its file names to another group.
            let mut groups = content.log_groups.iter_mut();
            let Some(group) = groups.find(|group| group.number == number) else {
                return Ok(());
            };
            for good in [true, false] {
                let these = changes.iter().filter(|change| change.good == good);
                let paths: Vec<_> = these.map(|change| change.path.clone()).collect();
                group.set_members(&directory, &paths, good);
            }
            Ok(())
        };
        control.hold(0, session).describe(&halt, say, session)
    })
}

impl LogGroupSpec {
    /// Adds the group to a control file's content, under the lowest free number.
    pub(crate) fn add_to(&self, content: &mut ControlContent) -> Result<LogGroupContent, Stop> {
        let used = |number: &u16| content.log_groups.iter().any(|group| group.number == *number);
        let Some(number) = (1..=GROUPS_MAX).find(|number| !used(number)) else {
            let message = format!("a database has at most {GROUPS_MAX} redo log groups");
            return Err(Stop::refuse(RefusalKind::NoSpace, message));
        };
        check_log_bytes(self.bytes)?;
        let member = |path: &String| LogMemberContent { path: path.clone(), good: true };
        let members = self.members.iter().map(member).collect();
        let blocks = u32::try_from(self.bytes / 4096).unwrap_or(u32::MAX);
        let group = LogGroupContent { number, blocks, members };
        log_group(Path::new(""), &group).check()?;
        let at = content.log_groups.partition_point(|other| other.number < number);
        content.log_groups.insert(at, group.clone());
        Ok(group)
    }
}

impl Instance {
    /// Every redo log group with the log that it holds and the state of its members.
    pub fn log_groups(&self, session: &Session) -> Vec<LogView> {
        self.redo().groups(session)
    }

    /// Makes a group, takes it into use, and returns its number. Paths are as in
    /// [`LogGroupSpec`].
    pub fn add_log_group(&self, spec: &LogGroupSpec, session: &Session) -> Result<u16, Stop> {
        self.add_log_group_while(spec, &|| true, session)
    }

    /// As [`Instance::add_log_group`]; once `go_on` says no, the group is given up and nothing is
    /// left.
    pub(crate) fn add_log_group_while(
        &self,
        spec: &LogGroupSpec,
        go_on: &dyn Fn() -> bool,
        session: &Session,
    ) -> Result<u16, Stop> {
        let _one = self.settings.hold(0, session);
        self.halt().check(session)?;
        let members = spec.members.iter().map(|path| self.within_directory(path)).collect();
        let spec = LogGroupSpec { bytes: spec.bytes, members };
        let mut planned = self.checkpointer.control.hold(0, session).content().clone();
        let group = spec.add_to(&mut planned)?;
        self.check_planned(&planned)?;
        let made = self.make_logs(planned.database, &spec.members, group.blocks, go_on, session)?;
        let made = self.list(made, |content| spec.add_to(content).map(|_| ()), session)?;
        let group = log_group(&self.place.1, &group);
        let named = made.give_names(session);
        self.must(named.and_then(|()| self.redo().add_group(&group, session)), session)?;
        Ok(group.number)
    }

    /// Adds a member to a group. It is invalid until the group's next log begins, which it has
    /// whole. The path is as in [`LogGroupSpec`].
    pub fn add_log_member(&self, number: u16, path: &str, session: &Session) -> Result<(), Stop> {
        self.add_log_member_while(number, path, &|| true, session)
    }

    /// As [`Instance::add_log_member`]; once `go_on` says no, it is given up and nothing is left.
    pub(crate) fn add_log_member_while(
        &self,
        number: u16,
        path: &str,
        go_on: &dyn Fn() -> bool,
        session: &Session,
    ) -> Result<(), Stop> {
        let _one = self.settings.hold(0, session);
        self.halt().check(session)?;
        let path = self.within_directory(path);
        let mut planned = self.checkpointer.control.hold(0, session).content().clone();
        let blocks = add_member(&mut planned, number, &path)?;
        self.check_planned(&planned)?;
        let files = [path.clone()];
        let made = self.make_logs(planned.database, &files, blocks, go_on, session)?;
        let add = |content: &mut ControlContent| add_member(content, number, &path).map(|_| ());
        let made = self.list(made, add, session)?;
        self.must(made.give_names(session), session)?;
        self.redo().add_member(number, &self.place.1.join(path), session);
        Ok(())
    }

    /// Drops a group and removes its files. Refused if the group is current, if recovery would need
    /// its log, or if fewer than two groups would be left.
    pub fn drop_log_group(&self, number: u16, session: &Session) -> Result<(), Stop> {
        let _one = self.settings.hold(0, session);
        self.halt().check(session)?;
        self.redo().retire_group(number, session)?;
        let files = self.redo().group_files(number, session);
        let dropped = self.describe_logs(
            |content| {
                let members = std::mem::take(&mut find(content, number)?.members);
                content.log_groups.retain(|group| group.number != number);
                Ok(members)
            },
            session,
        );
        // After a halt the control file may not list the group any more: no log begins there again.
        if !dropped.as_ref().is_err_and(|stop| stop.refusal().is_none()) {
            self.redo().end_retirement(number, dropped.is_ok(), session);
        }
        for member in dropped? {
            self.remove_log(files.as_ref(), &self.place.1.join(member.path), session);
        }
        Ok(())
    }

    /// Drops a member and removes its file. Refused if its group has no other good member. The path
    /// is relative to the database's directory, as in the control file, or as views show it.
    pub fn drop_log_member(&self, path: &str, session: &Session) -> Result<(), Stop> {
        let _one = self.settings.hold(0, session);
        self.halt().check(session)?;
        let (disk, directory) = &self.place;
        let (number, file) = self.describe_logs(
            |content| drop_member(content, disk, directory, Path::new(path)),
            session,
        )?;
        let files = self.redo().group_files(number, session);
        self.redo().remove_member(number, &file, session);
        self.remove_log(files.as_ref(), &file, session);
        Ok(())
    }

    /// The path relative to the database's directory, if it is absolute and lies in there.
    fn within_directory(&self, path: &str) -> String {
        let (disk, directory) = &self.place;
        within_directory(disk, directory, path)
    }

    fn describe_logs<T>(
        &self,
        change: impl FnOnce(&mut ControlContent) -> Result<T, Stop>,
        session: &Session,
    ) -> Result<T, Stop> {
        self.checkpointer.control.hold(0, session).describe(self.halt(), change, session)
    }

    fn check_planned(&self, planned: &ControlContent) -> Result<(), Stop> {
        let (disk, directory) = &self.place;
        planned.check()?;
        planned.check_places(disk, directory)
    }

    /// Makes files under names of unused files. If that fails, none is left. A halt, and the end of
    /// the session's call, end it before the files are whole.
    fn make_logs(
        &self,
        database: u64,
        paths: &[String],
        blocks: u32,
        go_on: &dyn Fn() -> bool,
        session: &Session,
    ) -> Result<NewFiles<'_>, Stop> {
        let (disk, directory) = &self.place;
        self.check_directory(session)?;
        let paths: Vec<PathBuf> = paths.iter().map(|path| directory.join(path)).collect();
        let freed = bytes_of(disk, paths.iter().map(|path| new_path(path)), session);
        check_room(disk, &[NewLogs { paths: paths.clone(), blocks }], freed)?;
        let mut new = NewFiles::new(disk, database, FILE);
        let go_on = || go_on() && !self.halt().is_raised(session) && session.call_end().is_none();
        let make = |path: &Path| redo::create_member(disk, path, blocks, &go_on, session);
        let made = paths.iter().try_for_each(|path| new.make(path, make, session));
        // A log is listed only if redo can be written to it.
        let tried = made.and_then(|()| {
            new.paths().try_for_each(|path| self.redo().try_new_member(path, session))
        });
        if let Err(stop) = tried.and_then(|()| new.check_names(session)) {
            new.remove(session);
            self.halt().check_call(session)?;
            return Err(stop);
        }
        Ok(new)
    }

    /// Refused if another directory, or none, has the name by which this database was opened: a
    /// file that is made by that name now wouldn't be found by the next opening.
    pub fn check_directory(&self, session: &Session) -> Result<(), Stop> {
        let (disk, directory) = &self.place;
        let control = self.checkpointer.control.hold(0, session);
        control.check_directory(disk, directory, session)
    }

    /// Lists files that were made. If that is refused, they are removed.
    fn list<'a>(
        &self,
        made: NewFiles<'a>,
        add: impl FnOnce(&mut ControlContent) -> Result<(), Stop>,
        session: &Session,
    ) -> Result<NewFiles<'a>, Stop> {
        match self.describe_logs(add, session) {
            Ok(()) => Ok(made),
            Err(stop) => {
                // After a halt the control file may list them, so they stay.
                if stop.refusal().is_some() {
                    made.remove(session);
                }
                Err(stop)
            }
        }
    }

    /// Halts on an error: a file that is listed is the database's, and the next opening mends it
    /// (IN22).
    fn must(&self, done: Result<(), Stop>, session: &Session) -> Result<(), Stop> {
        done.map_err(|stop| {
            let cause = format!("a redo log that was made can't be used: {stop}");
            self.halt().raise(cause, session)
        })
    }

    /// Removes the file of a member that isn't listed any more (rule redo/RD25).
    fn remove_log(&self, files: Option<&GroupFiles>, path: &Path, session: &Session) {
        let Some(files) = files else { return };
        if let Err(stop) = self.redo().remove_dropped(files, path, session) {
            session.os().notice(&format!("a redo log that was dropped is left: {stop}"));
        }
    }
}

/// Adds a member, invalid, to a group of a control file's content, and returns the group's blocks.
pub(crate) fn add_member(
    content: &mut ControlContent,
    number: u16,
    path: &str,
) -> Result<u32, Stop> {
    let group = find(content, number)?;
    if group.members.len() >= MEMBERS_MAX {
        let message = format!("a redo log group has at most {MEMBERS_MAX} members");
        return Err(Stop::refuse(RefusalKind::NoSpace, message));
    }
    group.members.push(LogMemberContent { path: path.to_string(), good: false });
    Ok(group.blocks)
}

/// Takes a member off a control file's content; returns its group's number and its file.
pub(crate) fn drop_member(
    content: &mut ControlContent,
    disk: &Disk,
    directory: &Path,
    path: &Path,
) -> Result<(u16, PathBuf), Stop> {
    let file = member_at(content, disk, directory, path);
    let is_it = |member: &LogMemberContent| directory.join(&member.path) == file;
    let mut groups = content.log_groups.iter_mut();
    let Some(group) = groups.find(|group| group.members.iter().any(is_it)) else {
        let message = format!("{} is no member of a redo log group", file.display());
        return Err(Stop::refuse(RefusalKind::NotFound, message));
    };
    group.members.retain(|member| !is_it(member));
    if group.members.iter().any(|member| member.good) {
        return Ok((group.number, file));
    }
    let message = format!(
        "cannot drop {}: redo log group {number} has no other good member; add one \
         (add_log_member={number}:PATH) and switch logs until it is good (switch_log=next), or \
         drop the group (drop_log_group={number})",
        file.display(),
        number = group.number
    );
    Err(Stop::refuse(RefusalKind::WrongState, message))
}

/// The path of the member that a user means: a path in the database's directory, else any spelling
/// of the member's path.
fn member_at(content: &ControlContent, disk: &Disk, directory: &Path, path: &Path) -> PathBuf {
    let members = content.log_groups.iter().flat_map(|group| &group.members);
    let members: Vec<PathBuf> = members.map(|member| directory.join(&member.path)).collect();
    let inside = directory.join(path);
    let is_at = |place: &Path| {
        let place = disk.place_of(place);
        members.iter().find(|member| disk.place_of(member) == place).cloned()
    };
    is_at(&inside).or_else(|| is_at(path)).unwrap_or(inside)
}

/// Redo logs that are to be made.
pub(crate) struct NewLogs {
    pub(crate) paths: Vec<PathBuf>,
    /// The blocks of each.
    pub(crate) blocks: u32,
}

/// The bytes of those of these files that are there.
pub(crate) fn bytes_of(
    disk: &Disk,
    paths: impl IntoIterator<Item = PathBuf>,
    session: &Session,
) -> u64 {
    let plain = FileOptions { direct: false, write_through: false };
    let length = |path: PathBuf| match disk.look_up(&path, session) {
        Ok(Some(NameKind::File)) => disk.open_read_only(&path, plain, session)?.length(),
        looked => looked.map(|_| 0),
    };
    let places: BTreeSet<PathBuf> = paths.into_iter().map(|path| disk.place_of(&path)).collect();
    places.into_iter().filter_map(|path| length(path).ok()).sum()
}

/// Refuses logs for which a file system hasn't the room, before they fill it. It gets `freed` bytes
/// of leftovers back before that.
pub(crate) fn check_room(disk: &Disk, logs: &[NewLogs], freed: u64) -> Result<(), Stop> {
    let mut needed: BTreeMap<PathBuf, u64> = BTreeMap::new();
    for NewLogs { paths, blocks } in logs {
        for path in paths {
            let place = disk.place_of(path);
            let parent = place.parent().unwrap_or(Path::new("/")).to_path_buf();
            *needed.entry(parent).or_default() += u64::from(*blocks) * REDO_BLOCK.bytes() as u64;
        }
    }
    for (parent, needed) in needed {
        let what = || format!("make redo logs in {}", parent.display());
        let free = disk.free_bytes(&parent).map_err(|error| error.while_doing(what()))?;
        let free = free.saturating_add(freed);
        check_free(&parent, needed, free, "make redo logs", "a smaller size")?;
    }
    Ok(())
}

/// The group with this number in a control file's content.
pub(crate) fn find(
    content: &mut ControlContent,
    number: u16,
) -> Result<&mut LogGroupContent, Stop> {
    let group = content.log_groups.iter_mut().find(|group| group.number == number);
    group.ok_or_else(|| {
        let message = format!("there is no redo log group {number}");
        Stop::refuse(RefusalKind::NotFound, message)
    })
}
