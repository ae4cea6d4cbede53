//! The log groups, under redo allocation: which log each holds, and which group is next.
//!
//! ```text
//!   unused ─▶ current ─▶ active: a log that recovery needs ─▶ inactive: free ─▶ current …
//! ```
//!
//! The next log begins in the free group with the oldest log. A group that holds no log goes first,
//! one whose header can't be read last (RD21).
//!
//! Invariants
//!   * a group holds one log, and a log lies in one group
//!   * `free_room` is the sum of B - R over the free groups (RD4)
//!
//! Plain data, no I/O. Callers: `state`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stop::{RefusalKind, Stop};

use crate::config::{GROUPS_MAX, MEMBERS_MAX, RECORD_BLOCKS_MAX, check_drop};
use crate::log_file::{Member, OpenGroup};
use crate::members::Changes;

/// The status of a group's log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogStatus {
    /// Redo is written to this log.
    Current,
    /// Recovery would need this log.
    Active,
    /// The log may be written over.
    Inactive,
    /// The group holds no log yet.
    Unused,
    /// No member of the group can be used, so the log that it holds isn't known. A group of an open
    /// database never has this status.
    Unknown,
}

/// A group as views show it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogView {
    /// The group's number.
    pub number: u16,
    /// Redo blocks of each member.
    pub blocks: u32,
    /// The log that the group holds; 0 if it holds none, or if that isn't known.
    pub sequence: u32,
    /// The status of that log.
    pub status: LogStatus,
    /// The members, and whether each is good.
    pub members: Vec<(PathBuf, bool)>,
}

/// A group and the log that it holds.
pub(crate) struct Entry {
    pub(crate) group: Arc<OpenGroup>,
    /// The log that it holds; 0 if it holds none.
    pub(crate) sequence: u32,
    /// Its header can't be read. A log begins there only if no other group is free.
    pub(crate) is_unreadable: bool,
    /// It is to be dropped, so no log begins there.
    leaves: bool,
}

impl Entry {
    pub(crate) fn new(group: Arc<OpenGroup>, sequence: u32, is_unreadable: bool) -> Entry {
        Entry { group, sequence, is_unreadable, leaves: false }
    }
}

pub(crate) struct Groups {
    /// In the order of their numbers.
    entries: Vec<Entry>,
    /// Logs from this one on are needed.
    checkpoint: u32,
    /// The current log, the number of its group, and its blocks.
    sequence: u32,
    current: u16,
    blocks: u32,
    free: u32,
    free_room: u64,
}

impl Groups {
    /// The groups with the logs that they hold. The current log is one of them.
    pub(crate) fn new(entries: Vec<Entry>, sequence: u32, checkpoint: u32) -> Groups {
        let current = entries.iter().find(|entry| entry.sequence == sequence);
        let group = &current.expect("the current log lies in a group").group;
        let (current, blocks) = (group.number, group.blocks);
        let mut groups =
            Groups { entries, checkpoint, sequence, current, blocks, free: 0, free_room: 0 };
        groups.count();
        groups
    }

    /// The current log.
    pub(crate) fn sequence(&self) -> u32 {
        self.sequence
    }

    /// The number of the current log's group.
    pub(crate) fn current(&self) -> u16 {
        self.current
    }

    /// The blocks of the current log.
    pub(crate) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// The number of free groups.
    pub(crate) fn free(&self) -> u32 {
        self.free
    }

    /// Room for records in the free groups: the sum of B - R.
    pub(crate) fn free_room(&self) -> u64 {
        self.free_room
    }

    /// The blocks of the largest log.
    pub(crate) fn blocks_max(&self) -> u32 {
        let blocks = self.entries.iter().map(|entry| entry.group.blocks);
        blocks.max().expect("there are two groups at least")
    }

    pub(crate) fn of_number(&self, number: u16) -> &Arc<OpenGroup> {
        let entry = self.entries.iter().find(|entry| entry.group.number == number);
        &entry.expect("a group with a log stays").group
    }

    /// Makes the next log the current one, in the group that has been free for longest.
    pub(crate) fn begin_next(&mut self) {
        let sequence = self.sequence.checked_add(1).expect("4 billion logs were written");
        let free = (0..self.entries.len()).filter(|at| self.is_free(&self.entries[*at]));
        let order = |entry: &Entry| (entry.is_unreadable, entry.sequence);
        let next = free.min_by_key(|at| order(&self.entries[*at]));
        let entry = &mut self.entries[next.expect("no redo log is free (rule RD4)")];
        (entry.sequence, entry.is_unreadable) = (sequence, false);
        (self.sequence, self.current) = (sequence, entry.group.number);
        self.blocks = entry.group.blocks;
        self.count();
    }

    /// Frees the logs below this one.
    pub(crate) fn advance(&mut self, checkpoint: u32) {
        if checkpoint > self.checkpoint {
            self.checkpoint = checkpoint;
            self.count();
        }
    }

    fn is_free(&self, entry: &Entry) -> bool {
        entry.sequence < self.checkpoint && entry.sequence < self.sequence && !entry.leaves
    }

    fn count(&mut self) {
        let free = self.entries.iter().filter(|entry| self.is_free(entry));
        let rooms = free.map(|entry| room(entry.group.blocks));
        (self.free, self.free_room) = rooms.fold((0, 0), |(n, sum), room| (n + 1, sum + room));
    }

    /// Takes over changes of a group's members.
    pub(crate) fn change(&mut self, number: u16, changes: &Changes) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.group.number == number) {
            entry.group = Arc::new(entry.group.with(changes));
        }
    }

    /// The number of groups.
    pub(crate) fn count_all(&self) -> usize {
        self.entries.len()
    }

    /// Names the first invariant of this file that doesn't hold.
    pub(crate) fn check(&self) -> Result<(), String> {
        let current = self.entries.iter().find(|entry| entry.sequence == self.sequence);
        let current = current.map(|entry| (entry.group.number, entry.group.blocks));
        if current != Some((self.current, self.blocks)) {
            let (log, group) = (self.sequence, self.current);
            return Err(format!("log {log} lies in {current:?}, and group {group} is the current"));
        }
        for (at, entry) in self.entries.iter().enumerate() {
            let mut later = self.entries[at + 1..].iter();
            let sequence = entry.sequence;
            if sequence > self.sequence {
                return Err(format!("log {sequence} comes after the current {}", self.sequence));
            }
            if sequence >= self.checkpoint && later.any(|other| other.sequence == sequence) {
                return Err(format!("log {sequence} lies in two groups"));
            }
        }
        if !self.entries.is_sorted_by(|a, b| a.group.number < b.group.number) {
            return Err("groups aren't in the order of their numbers".to_string());
        }
        let free = self.entries.iter().filter(|entry| self.is_free(entry));
        let rooms: Vec<_> = free.map(|entry| room(entry.group.blocks)).collect();
        let found = (rooms.len() as u32, rooms.iter().sum::<u64>());
        match found == (self.free, self.free_room) {
            true => Ok(()),
            false => Err(format!(
                "{} free groups have room for {}, and it says {} and {} (RD4)",
                found.0, found.1, self.free, self.free_room
            )),
        }
    }

    /// Breaks one of the invariants of this file.
    #[cfg(test)]
    pub(crate) fn spoil(&mut self, invariant: u32) {
        match invariant {
            0 => self.free_room += 1,
            1 => self.current += 1,
            _ => self.entries.iter_mut().for_each(|entry| entry.sequence = self.sequence),
        }
    }

    // Adding and dropping groups and members

    /// Adds a group that holds no log.
    pub(crate) fn add(&mut self, group: Arc<OpenGroup>) {
        assert!(self.entries.len() < usize::from(GROUPS_MAX), "checked with the control file");
        let at = self.entries.partition_point(|entry| entry.group.number < group.number);
        self.entries.insert(at, Entry::new(group, 0, false));
        self.count();
    }

    /// Lets no log begin in this group from now on. `promised` blocks have to fit into the other
    /// groups, and recovery could need logs from `needed` on. Refused while the group is needed
    /// (RD43).
    pub(crate) fn retire(&mut self, number: u16, promised: u64, needed: u32) -> Result<(), Stop> {
        let wrong = |what: String| {
            let message = format!("cannot drop redo log group {number}: {what}");
            Err(Stop::refuse(RefusalKind::WrongState, message))
        };
        let Some(at) = self.entries.iter().position(|entry| entry.group.number == number) else {
            let message = format!("there is no redo log group {number}");
            return Err(Stop::refuse(RefusalKind::NotFound, message));
        };
        let entry = &self.entries[at];
        if entry.sequence == self.sequence {
            return wrong(
                "it is the current one; switch to the next log first (switch_log=next), or, if it \
                 is empty, open the database anew (forebay recover DIR)"
                    .into(),
            );
        }
        if !self.is_free(entry) || (entry.sequence > 0 && entry.sequence >= needed) {
            let log = entry.sequence;
            return wrong(format!("recovery needs its log {log}; {CHECKPOINT}"));
        }
        check_drop(number, self.entries.iter().filter(|entry| !entry.leaves).count())?;
        if self.free_room - room(entry.group.blocks) < promised {
            return wrong(format!("sessions at work need its room; {CHECKPOINT}"));
        }
        self.entries[at].leaves = true;
        self.count();
        Ok(())
    }

    /// The group with this number.
    pub(crate) fn find(&self, number: u16) -> Option<Arc<OpenGroup>> {
        let entry = self.entries.iter().find(|entry| entry.group.number == number);
        entry.map(|entry| Arc::clone(&entry.group))
    }

    /// Ends the retirement of a group: it is dropped, or stays in use.
    pub(crate) fn end_retirement(&mut self, number: u16, drops: bool) {
        if drops {
            self.entries.retain(|entry| entry.group.number != number);
        }
        self.entries.iter_mut().for_each(|entry| entry.leaves = false);
        self.count();
    }

    /// Adds a member, which is invalid until a log begins in its group.
    pub(crate) fn add_member(&mut self, number: u16, path: &Path) {
        self.edit(number, |members| {
            assert!(members.len() < MEMBERS_MAX, "checked with the control file");
            members.push(Member::new(path, None));
        });
    }

    /// Removes a member that isn't the only good one.
    pub(crate) fn remove_member(&mut self, number: u16, path: &Path) {
        self.edit(number, |members| members.retain(|member| member.path != path));
    }

    fn edit(&mut self, number: u16, edit: impl FnOnce(&mut Vec<Member>)) {
        let entry = self.entries.iter_mut().find(|entry| entry.group.number == number);
        let entry = entry.expect("one session at a time changes groups");
        let mut group = OpenGroup::clone(&entry.group);
        edit(&mut group.members);
        entry.group = Arc::new(group);
    }

    /// Every group as views show it.
    pub(crate) fn views(&self) -> Vec<LogView> {
        let status = |entry: &Entry| match entry.sequence {
            0 => LogStatus::Unused,
            sequence if sequence == self.sequence => LogStatus::Current,
            sequence if sequence >= self.checkpoint => LogStatus::Active,
            _ => LogStatus::Inactive,
        };
        let view = |entry: &Entry| LogView {
            number: entry.group.number,
            blocks: entry.group.blocks,
            sequence: entry.sequence,
            status: status(entry),
            members: entry
                .group
                .members
                .iter()
                .map(|member| (member.path.clone(), member.file.is_some()))
                .collect(),
        };
        self.entries.iter().map(view).collect()
    }
}

/// What helps where a checkpoint would. A shutdown makes one.
const CHECKPOINT: &str = "try again when the checkpoint has passed its log, or when the database \
    is shut (forebay logs DIR --change drop_log_group=NUMBER)";

/// B - R (RD4).
fn room(blocks: u32) -> u64 {
    u64::from(blocks - RECORD_BLOCKS_MAX)
}
