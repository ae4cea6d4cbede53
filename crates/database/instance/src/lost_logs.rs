//! A redo log group whose files are lost and that no recovery needs: it is made anew while the
//! database is shut (IN37, IN38).
//!
//! ```text
//!   for each member: x.forebay-temp made, durable ─▶ renamed x
//! ```
//!
//! The control file lists the members already, and isn't written. A member that is made is empty,
//! so its group holds no log. After a crash on the way the next opening finds either no member, as
//! before, or some: the others are invalid.
//!
//! Callers: `mount`, for its message; `verify`; administrators of a shut database.

use std::path::{Path, PathBuf};

use format::RESTORE_ALL;
use os::{Cause, Disk, FileOptions, NameKind, Session};
use redo::{RedoConfig, has_block, look_at_groups};
use space::{
    ControlContent, ControlFile, ControlState, NewFiles, temporary_path, unfinished, unnamed_path,
};
use stop::{RefusalKind, Stop};

use crate::create::DOUBLEWRITE_NAME;
use crate::logs::{NewLogs, as_named, bytes_of, check_room};

/// Makes the files of a lost redo log group anew, of a database that is shut. Refused if recovery
/// could need the group, or if one of its files is there. `go_on` is asked every few MiB; once it
/// says no, the clearing is given up and nothing is left.
pub fn clear_log_group(
    disk: &Disk,
    directory: &Path,
    number: u16,
    go_on: &dyn Fn() -> bool,
    session: &Session,
) -> Result<(), Stop> {
    let control = ControlFile::open(disk, directory, false, session)?;
    let content = control.content();
    if content.state == ControlState::Creating {
        return Err(unfinished(content, disk, directory, "change", session));
    }
    control.check_place(disk, directory, &[DOUBLEWRITE_NAME], session)?;
    let lost = LostGroup::find(disk, directory, content, number, session)?;
    if let Some(link) = lost.links.first() {
        let message = format!(
            "cannot clear redo log group {number}: {} is a symbolic link that leads to no file; \
             remove the link first",
            link.display()
        );
        return Err(Stop::refuse(RefusalKind::WrongState, message));
    }
    let leftovers = lost.members.iter().map(|path| temporary_path(path));
    let freed = bytes_of(disk, leftovers, session);
    let logs = NewLogs { paths: lost.members.clone(), blocks: lost.blocks };
    check_room(disk, &[logs], freed)?;
    let mut new = NewFiles::in_place_of_lost(disk, content.database, "the redo log");
    let make = |path: &Path| redo::create_member(disk, path, lost.blocks, go_on, session);
    let made = lost.members.iter().try_for_each(|path| new.make(path, make, session));
    match made.and_then(|()| new.check_names(session)) {
        Ok(()) => new.give_names(session),
        Err(stop) => {
            new.remove(session);
            Err(stop)
        }
    }
}

/// A group of a shut database whose good members are all gone, and that no recovery needs.
pub struct LostGroup {
    blocks: u32,
    members: Vec<PathBuf>,
    /// Those members whose name is a symbolic link that leads to no file.
    links: Vec<PathBuf>,
}

impl LostGroup {
    /// The group of this number, if it is such a one. The caller has the control file's lock.
    pub fn find(
        disk: &Disk,
        directory: &Path,
        content: &ControlContent,
        number: u16,
        session: &Session,
    ) -> Result<LostGroup, Stop> {
        let Some(group) = content.log_groups.iter().find(|group| group.number == number) else {
            let message = format!("there is no redo log group {number}");
            return Err(Stop::refuse(RefusalKind::NotFound, message));
        };
        let good = group.members.iter().filter(|member| member.good);
        let members: Vec<PathBuf> = good.map(|member| directory.join(&member.path)).collect();
        let wrong = |what: String| {
            let message = format!("cannot clear redo log group {number}: {what}");
            Err(Stop::refuse(RefusalKind::WrongState, message))
        };
        let mut links = Vec::new();
        for path in &members {
            let is_lost = match disk.look_up(path, session)? {
                Some(NameKind::Link) if leads_nowhere(disk, path, session) => {
                    links.push(path.clone());
                    true
                }
                looked => looked.is_none() && unnamed_path(disk, path, session)?.is_none(),
            };
            if !is_lost {
                let path = path.display();
                return wrong(format!(
                    "{path} is there, and a group is cleared only when its files are lost; if \
                     another file has this name, move that away first"
                ));
            }
        }
        let back = format!("put its file back; if it is lost, {RESTORE_ALL}");
        // After a crash the current log may be one of which the control file doesn't know.
        if content.state != ControlState::Shut {
            return wrong(format!(
                "the database wasn't shut in good order, so recovery may need its log; {back}"
            ));
        }
        let (config, at) = (as_named(disk, directory, content, session), content.checkpoint);
        let groups = look_at_groups(disk, &config, at.sequence, session).groups;
        let newest = groups.iter().map(|group| group.sequence).max().unwrap_or(0);
        // The log of the checkpoint, or the one before if that hasn't begun, is in another group.
        // A header alone may have come to light after its log was begun elsewhere.
        let is_there = match at.block {
            0 | 1 => newest == at.sequence || newest + 1 == at.sequence,
            block => newest == at.sequence && has_block(disk, &config, newest, block - 1, session),
        };
        if !is_there || newest < content.newest_log {
            return wrong(format!(
                "opening needs log {}, which may be its log; {back}",
                at.sequence
            ));
        }
        Ok(LostGroup { blocks: group.blocks, members, links })
    }

    /// Whether the name of this member is a symbolic link that leads to no file.
    pub fn is_link(&self, path: &Path) -> bool {
        self.links.iter().any(|link| link == path)
    }
}

fn leads_nowhere(disk: &Disk, path: &Path, session: &Session) -> bool {
    let plain = FileOptions { direct: false, write_through: false };
    let opened = disk.open_read_only(path, plain, session);
    opened.is_err_and(|error| error.cause() == Cause::NotFound)
}

/// Refuses to open a database of which a log group is lost that no recovery needs, with the remedy.
/// `redo` owns the members that could be opened.
pub(crate) fn check_lost(
    disk: &Disk,
    directory: &Path,
    content: &ControlContent,
    redo: &RedoConfig,
    session: &Session,
) -> Result<(), Stop> {
    for group in &redo.groups {
        let is_gone =
            |path| redo.owned.failure(path).is_some_and(|error| error.cause() == Cause::NotFound);
        let mut good = group.members.iter().filter(|member| member.good);
        let number = group.number;
        if good.all(|member| is_gone(&member.path))
            && let Ok(lost) = LostGroup::find(disk, directory, content, number, session)
        {
            let named = |path: &PathBuf| match lost.is_link(path) {
                true => format!("{} (a symbolic link that leads to no file)", path.display()),
                false => path.display().to_string(),
            };
            let paths: Vec<String> = lost.members.iter().map(named).collect();
            let (is, file) = if paths.len() == 1 { ("is", "file") } else { ("are", "files") };
            let links = lost.links.iter().map(|link| format!("remove {} and ", link.display()));
            let message = format!(
                "cannot open the database: redo log group {number} is lost: {paths} {is}n't \
                 there; no recovery needs this group, because the database was shut in good \
                 order: put the {file} back, or {links}make the group anew with 'forebay logs \
                 {directory} --change clear_log_group={number}'",
                paths = paths.join(", "),
                links = links.collect::<String>(),
                directory = directory.display()
            );
            return Err(Stop::refuse(RefusalKind::NotFound, message));
        }
    }
    Ok(())
}
