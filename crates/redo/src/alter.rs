//! Groups and members that come and go while the redo is open (RD21).
//!
//! Whoever calls has the control file say the same, and in which order is decided there: what is
//! added is listed before it is used, what is dropped is no longer used, then not listed, then
//! removed. One session at a time.
//!
//! Callers: `instance`.

use std::path::Path;
use std::sync::Arc;

use os::Session;
use stop::Stop;

use crate::log_file::OpenGroup;
use crate::{LogGroup, LogView, Redo};

impl Redo {
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
            shared.serve_line(&mut state, session)
        };
        shared.wake_line(lanes, session);
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
            shared.serve_line(&mut state, session)
        };
        shared.wake_line(lanes, session);
    }

    /// Takes one more member into a group. It is invalid until a log begins there.
    pub fn add_member(&self, group: u16, path: &Path, session: &Session) {
        self.shared.state.exclusive(session).groups.add_member(group, path);
    }

    /// A member goes; another good one is left.
    pub fn remove_member(&self, group: u16, path: &Path, session: &Session) {
        self.shared.state.exclusive(session).groups.remove_member(group, path);
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
