//! Groups and members that come and go while the redo is open (RD21).
//!
//! Whoever calls has the control file say the same, and in which order is decided there: what is
//! added is listed before it is used, what is dropped is no longer used, then not listed, then
//! removed. One session at a time.
//!
//! Callers: `instance`.

use std::path::Path;
use std::sync::Arc;

use os::{Cause, File, Session};
use stop::{RefusalKind, Stop};

use crate::log_file::{HeaderBlock, OpenGroup};
use crate::medium::check_length;
use crate::{EndReason, LogGroup, LogView, Redo};

/// The files of a group of which some are to go, open and locked as long as this is there.
pub struct GroupFiles(Arc<OpenGroup>);

impl Redo {
    /// Refuses a file that was made to be a member, and isn't one yet, unless it can be written in
    /// the way that redo is.
    pub fn try_new_member(&self, path: &Path, session: &Session) -> Result<(), Stop> {
        self.shared.medium.try_new(path, session)
    }

    /// Takes one more group into use, whose files are there. Whoever waits for room gets it.
    pub fn add_group(&self, group: &LogGroup, session: &Session) -> Result<(), Stop> {
        let shared = &self.shared;
        let group = Arc::new(OpenGroup::open(&shared.medium, group, session)?);
        for file in group.files() {
            file.lock(session)?;
        }
        let lanes = {
            let mut state = shared.state.exclusive(session);
            state.groups.add(group);
            shared.serve_queue(&mut state, session)
        };
        shared.wake_queue(lanes, session);
        Ok(())
    }

    /// No log begins in this group from now on. Refused if it is the current one, if recovery
    /// could need its log, if fewer than two would be left, or if its room was promised.
    pub fn retire_group(&self, number: u16, session: &Session) -> Result<(), Stop> {
        self.shared.state.exclusive(session).retire(number)
    }

    /// A group that was retired is dropped, or stays in use after all.
    pub fn end_retirement(&self, number: u16, drops: bool, session: &Session) {
        let shared = &self.shared;
        let lanes = {
            let mut state = shared.state.exclusive(session);
            state.groups.end_retirement(number, drops);
            shared.serve_queue(&mut state, session)
        };
        shared.wake_queue(lanes, session);
    }

    /// Takes one more member into a group. It is invalid until a log begins there.
    pub fn add_member(&self, group: u16, path: &Path, session: &Session) {
        self.shared.state.exclusive(session).groups.add_member(group, path);
    }

    /// A member goes; another good one is left.
    pub fn remove_member(&self, group: u16, path: &Path, session: &Session) {
        self.shared.state.exclusive(session).groups.remove_member(group, path);
    }

    /// The files of a group, before it or one of its members is dropped.
    pub fn group_files(&self, number: u16, session: &Session) -> Option<GroupFiles> {
        self.shared.state.exclusive(session).groups.find(number).map(GroupFiles)
    }

    /// Removes the file of a member that was dropped, if it is that (RD25). What else lies in its
    /// place is left, and that is the error: a member that was lost leaves a name that anybody may
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

    /// The file of a member that wasn't in use, locked; none if it has gone.
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

    /// Every group, which log it holds, and how its members are.
    pub fn groups(&self, session: &Session) -> Vec<LogView> {
        self.shared.state.exclusive(session).groups.views()
    }

    /// The blocks of the largest log.
    pub fn log_blocks_max(&self, session: &Session) -> u32 {
        self.shared.state.exclusive(session).groups.blocks_max()
    }
}

/// The refusal to remove what isn't known to be a member.
fn other_file(path: &Path) -> Stop {
    let message = format!(
        "{} isn't removed, for it isn't the log that was dropped, or another program has it open; \
         remove it yourself if nobody needs it",
        path.display()
    );
    Stop::refuse(RefusalKind::WrongState, message)
}
