//! Groups and members that are added and dropped while redo is open (RD42, RD43).
//!
//! The caller has the control file say the same, and decides the order: what is added is listed
//! before it is used; what is dropped is no longer used, then not listed, then removed. One session
//! at a time alters groups.
//!
//! Callers: `instance`.

use std::path::Path;
use std::sync::Arc;

use os::{Cause, File, Session};
use stop::{RefusalKind, Stop};

use crate::log_file::{HeaderBlock, OpenGroup};
use crate::medium::check_length;
use crate::{EndReason, LogGroup, LogView, Redo};

/// The files of a group, which stay open and locked as long as this lives.
pub struct GroupFiles(Arc<OpenGroup>);

impl Redo {
    /// Refuses a new file, which isn't a member yet, if it can't be written in the way in which
    /// redo is.
    pub fn try_new_member(&self, path: &Path, session: &Session) -> Result<(), Stop> {
        self.shared.medium.try_new(path, session)
    }

    /// Takes a new group into use, whose files exist, and hands out its room.
    pub fn add_group(&self, group: &LogGroup, session: &Session) -> Result<(), Stop> {
        let shared = &self.shared;
        let group = Arc::new(OpenGroup::open(&shared.medium, group, session)?);
        for file in group.files() {
            file.lock(session)?;
        }
        shared.make_room(|state| state.groups.add(group), session);
        Ok(())
    }

    /// Lets no log begin in this group from now on. Refused if it is the current one, if recovery
    /// could need its log, if fewer than two groups would be left, or if the credits need its room.
    pub fn retire_group(&self, number: u16, session: &Session) -> Result<(), Stop> {
        self.shared.state.exclusive(session).retire(number)
    }

    /// Drops a retired group, or takes it back into use.
    pub fn end_retirement(&self, number: u16, drops: bool, session: &Session) {
        self.shared.make_room(|state| state.groups.end_retirement(number, drops), session);
    }

    /// Adds a member to a group. It is invalid until a log begins there.
    pub fn add_member(&self, group: u16, path: &Path, session: &Session) {
        self.shared.state.exclusive(session).groups.add_member(group, path);
    }

    /// Removes a member of a group that has another good one.
    pub fn remove_member(&self, group: u16, path: &Path, session: &Session) {
        self.shared.state.exclusive(session).groups.remove_member(group, path);
    }

    /// The files of a group, before the group or one of its members is dropped.
    pub fn group_files(&self, number: u16, session: &Session) -> Option<GroupFiles> {
        self.shared.state.exclusive(session).groups.find(number).map(GroupFiles)
    }

    /// Removes the file of a dropped member, if it is that member's file (RD25). Any other file is
    /// left, and that is the error: a member that was lost leaves a name that another program may
    /// take.
    pub fn remove_dropped(
        &self,
        GroupFiles(group): &GroupFiles,
        path: &Path,
        session: &Session,
    ) -> Result<(), Stop> {
        let disk = &self.shared.medium.disk;
        let member = group.members.iter().find(|member| member.path == path);
        let file = match member.and_then(|member| member.file.clone()) {
            Some(file) => Some(file),
            None => self.find_dropped(group, path, session)?,
        };
        let Some(file) = file else { return Ok(()) };
        if !disk.has_its_name(&file, session)? {
            return Err(other_file(path));
        }
        Ok(disk.remove(path, session)?)
    }

    /// The file of an invalid member, locked; `None` if it is gone.
    fn find_dropped(
        &self,
        group: &OpenGroup,
        path: &Path,
        session: &Session,
    ) -> Result<Option<File>, Stop> {
        let medium = &self.shared.medium;
        let file = match medium.disk.open(path, medium.options, session) {
            Err(error) if error.cause() == Cause::NotFound => return Ok(None),
            file => file?,
        };
        let is_it = file.try_lock()?
            && check_length(&file, group.blocks).is_ok()
            && matches!(
                group.read_header_of(&file, &medium.owner, session)?,
                HeaderBlock::Log(_) | HeaderBlock::Other(EndReason::NeverWritten { .. })
            );
        if is_it { Ok(Some(file)) } else { Err(other_file(path)) }
    }

    /// Every group with its log and its members.
    pub fn groups(&self, session: &Session) -> Vec<LogView> {
        self.shared.state.exclusive(session).groups.views()
    }

    /// The blocks of the largest log.
    pub fn log_blocks_max(&self, session: &Session) -> u32 {
        self.shared.state.exclusive(session).groups.blocks_max()
    }
}

/// The refusal to remove a file that isn't known to be the member's.
fn other_file(path: &Path) -> Stop {
    let message = format!(
        "{} isn't removed, because it isn't the log that was dropped, or another program has it \
         open; remove it yourself if nobody needs it",
        path.display()
    );
    Stop::refuse(RefusalKind::WrongState, message)
}
