//! The open groups for readers: which log lies where, and each block from a member that has it.
//!
//! A block is written once in its log's life (RD2), and alike to all members: so a whole block of
//! the log is the block, in whichever member it lies. A member may lack some: what was in flight at
//! a crash, or what has rotted. Reading takes each block from the first member that has it (RD20).
//!
//! Callers: the reader, `read_ahead`, `rewrite_tail`.

use std::cmp::Ordering;
use std::path::PathBuf;

use format::{BlockKind, LogHeader, REDO_BLOCK, RedoBlock};
use ids::Scn;
use os::{Cost, Disk, Error, File, IoBuf, Session};
use stop::{RefusalKind, Stop};

use crate::log_file::{BLOCK_KIB, HeaderBlock, LogOwner, OpenGroup, corrupt};
use crate::medium::Medium;
use crate::{EndReason, RedoConfig};

/// An open group and the log that it holds.
#[derive(Debug)]
struct GroupLog {
    group: OpenGroup,
    /// The header, if the group holds a log of this owner.
    header: Option<LogHeader>,
    /// What lies in its place, if not.
    instead: Option<EndReason>,
}

/// The open groups of a database.
#[derive(Debug)]
pub(crate) struct LogFiles {
    pub(crate) medium: Medium,
    groups: Vec<GroupLog>,
}

impl LogFiles {
    pub(crate) fn open(
        disk: &Disk,
        config: &RedoConfig,
        session: &Session,
    ) -> Result<LogFiles, Stop> {
        let medium = Medium::new(disk, config);
        let mut groups = Vec::with_capacity(config.groups.len());
        for group in &config.groups {
            let group = OpenGroup::open(&medium, group, session)?;
            let mut held = GroupLog { group, header: None, instead: None };
            held.read_header(&medium, session)?;
            groups.push(held);
        }
        let mut logs = LogFiles { medium, groups };
        logs.resolve_duplicates(session)?;
        Ok(logs)
    }

    /// Drops the second of two groups with one log. A header whose write failed may come to light
    /// later, when its log was begun elsewhere. It has no block then, because it was never
    /// believed.
    fn resolve_duplicates(&mut self, session: &Session) -> Result<(), Stop> {
        for at in 1..self.groups.len() {
            let Some(sequence) = self.groups[at].sequence() else { continue };
            let before = self.groups[..at].iter().position(|h| h.sequence() == Some(sequence));
            let Some(before) = before else { continue };
            let empty =
                match self.groups[at].group.has_block(&self.medium.owner, sequence, 1, session)? {
                    true => before,
                    false => at,
                };
            self.groups[empty].header = None;
        }
        Ok(())
    }

    /// The groups whose header the device can't read.
    pub(crate) fn unreadable(&self) -> impl Iterator<Item = &OpenGroup> {
        let is_it = |held: &&GroupLog| matches!(held.instead, Some(EndReason::Unreadable { .. }));
        self.groups.iter().filter(is_it).map(|held| &held.group)
    }

    pub(crate) fn groups(&self) -> impl Iterator<Item = &OpenGroup> {
        self.groups.iter().map(|held| &held.group)
    }

    /// The blocks of the largest log.
    pub(crate) fn blocks_max(&self) -> u32 {
        self.groups().map(|group| group.blocks).max().unwrap_or(0)
    }

    /// The highest sequence of a log of this database; 0 if there is none.
    pub(crate) fn newest(&self) -> u32 {
        self.groups.iter().filter_map(GroupLog::sequence).max().unwrap_or(0)
    }

    /// The header of this log, if it has begun.
    pub(crate) fn header(&self, sequence: u32) -> Option<&LogHeader> {
        self.held(sequence)?.header.as_ref()
    }

    /// The group that holds this log, if one does.
    pub(crate) fn holding(&self, sequence: u32) -> Option<&OpenGroup> {
        self.held(sequence).map(|held| &held.group)
    }

    /// The group that holds this log, which was found.
    pub(crate) fn of(&self, sequence: u32) -> &OpenGroup {
        self.holding(sequence).expect("a log that is read was found")
    }

    fn held(&self, sequence: u32) -> Option<&GroupLog> {
        self.groups.iter().find(|held| held.sequence() == Some(sequence))
    }

    /// What each group holds, as text for a message.
    pub(crate) fn contents(&self) -> String {
        let content = |held: &GroupLog| {
            let group = format!("group {} ({})", held.group.number, held.group.paths());
            match (held.sequence(), held.instead) {
                (Some(sequence), _) => format!("{group} holds log {sequence}"),
                (None, Some(reason)) => format!("{group} holds no log, because {reason}"),
                (None, None) => format!("{group} holds no log"),
            }
        };
        self.groups.iter().map(content).collect::<Vec<_>>().join(", ")
    }

    /// A log with its files, as text for a message.
    pub(crate) fn named(&self, sequence: u32) -> String {
        match self.holding(sequence) {
            Some(group) => format!("log {sequence} ({})", group.paths()),
            None => format!("log {sequence}"),
        }
    }

    /// The refusal because a log is missing. It may be one whose header the device can't read.
    pub(crate) fn missing(&self, message: String) -> Stop {
        let Some(group) = self.unreadable().next() else { return corrupt(message) };
        let advice = "can't be read: look at the kernel's log and at the device, and try again";
        let header = group.first().path().display();
        Stop::refuse(RefusalKind::Io, format!("{message}; the header of {header} {advice}"))
    }

    /// Makes everything that was written to this log durable, in the members that can be synced
    /// (RD9). The others aren't read any more; an error if there are only such. If only those had
    /// its header, the log hasn't begun.
    pub(crate) fn sync(
        &mut self,
        sequence: u32,
        lost: &mut Vec<PathBuf>,
        session: &Session,
    ) -> Result<(), Stop> {
        let held = self.groups.iter_mut().find(|held| held.sequence() == Some(sequence));
        let Some(held) = held else { return Ok(()) };
        let group = &mut held.group;
        let mut failed = Vec::new();
        for file in group.files() {
            if let Err(error) = file.sync(group.reading(0, 0, session)) {
                failed.push(error);
                lost.push(file.path().to_path_buf());
            }
        }
        if failed.is_empty() {
            return Ok(());
        }
        if failed.len() as u64 == group.copies() {
            return Err(failed.swap_remove(0).into());
        }
        for error in failed {
            session.os().notice(&format!("another member is read: {error}"));
        }
        let gone = |path: &PathBuf| lost.contains(path);
        for member in group.members.iter_mut().filter(|member| gone(&member.path)) {
            member.file = None;
        }
        held.read_header(&self.medium, session)
    }

    /// Takes those of these blocks that aren't whole from other members, and says so. Behind the
    /// end of the redo all members lack them. A member that can't be read in one piece is read
    /// block by block.
    pub(crate) fn complete(&self, sequence: u32, first: u32, bytes: &mut [u8], session: &Session) {
        let (group, owner) = (self.of(sequence), &self.medium.owner);
        if group.copies() < 2 {
            return;
        }
        let size = REDO_BLOCK.bytes();
        let lacks = |bytes: &[u8]| -> Vec<usize> {
            let blocks = bytes.chunks_exact(size).zip(first..).enumerate();
            let lacking = blocks
                .filter(|(_, (block, no))| !group.is_whole(owner, block, sequence, *no, session));
            lacking.map(|(at, _)| at).collect()
        };
        let mut lacking = lacks(bytes);
        // Also from the first member: the bytes are another's if the first couldn't be read.
        for file in group.files() {
            if lacking.is_empty() {
                break;
            }
            let mut other = IoBuf::zeroed(bytes.len());
            if let Err(error) = group.read(file, first, &mut other, session) {
                session.os().notice(&format!("a member is read block by block: {error}"));
                other.fill(0);
                for at in &lacking {
                    let block = &mut other[at * size..(at + 1) * size];
                    if group.read(file, first + *at as u32, block, session).is_err() {
                        block.fill(0);
                    }
                }
            }
            let there = |at: &usize| {
                let block = &other[at * size..(at + 1) * size];
                group.is_whole(owner, block, sequence, first + *at as u32, session)
            };
            let (found, still): (Vec<_>, Vec<_>) = lacking.into_iter().partition(there);
            for at in &found {
                let range = at * size..(at + 1) * size;
                bytes[range.clone()].copy_from_slice(&other[range]);
            }
            notify_taken(group, file, sequence, first, &found, session);
            lacking = still;
        }
    }
}

/// Says that blocks were taken from a member because another one lacks them.
fn notify_taken(
    group: &OpenGroup,
    file: &File,
    sequence: u32,
    first: u32,
    found: &[usize],
    session: &Session,
) {
    let Some(at) = found.first() else { return };
    session.os().notice(&format!(
        "{} blocks of log {sequence}, from block {} on, are read from {}, because another member \
         of group {} lacks them",
        found.len(),
        first + *at as u32,
        file.path().display(),
        group.number,
    ));
}

impl GroupLog {
    /// Reads which log the good members hold.
    fn read_header(&mut self, medium: &Medium, session: &Session) -> Result<(), Stop> {
        (self.header, self.instead) = match self.group.read_header(&medium.owner, session)? {
            HeaderBlock::Log(header) => (Some(header), None),
            HeaderBlock::Other(reason) => (None, Some(reason)),
        };
        Ok(())
    }

    fn sequence(&self) -> Option<u32> {
        self.header.as_ref().map(|header| header.log_sequence.get())
    }
}

/// A block of redo.
pub(crate) struct ReadBlock {
    /// Its stamp: the SCN through which redo was durable when it was taken to be written (RD8).
    pub(crate) durable: Scn,
    pub(crate) head: RedoBlock,
}

impl OpenGroup {
    /// The paths of the good members, as text for a message.
    fn paths(&self) -> String {
        self.files().map(|file| file.path().display().to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Whether a good member of this group has this block of this log.
    pub(crate) fn has_block(
        &self,
        owner: &LogOwner,
        sequence: u32,
        number: u32,
        session: &Session,
    ) -> Result<bool, Error> {
        let (mut is_readable, mut failed) = (false, None);
        for file in self.files() {
            let mut block = IoBuf::zeroed(REDO_BLOCK.bytes());
            match self.read(file, number, &mut block, session) {
                Ok(()) if self.is_whole(owner, &block, sequence, number, session) => {
                    return Ok(true);
                }
                Ok(()) => is_readable = true,
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) if !is_readable => Err(error),
            _ => Ok(false),
        }
    }

    /// Whether this is a block of this log, as it was sealed.
    fn is_whole(
        &self,
        owner: &LogOwner,
        bytes: &[u8],
        sequence: u32,
        number: u32,
        session: &Session,
    ) -> bool {
        if number > 0 {
            return self.check_redo(owner, bytes, sequence, number, session).is_ok();
        }
        session.charge(Cost::ChecksumKib, BLOCK_KIB);
        let Ok(found) = format::check(bytes, self.address(0)) else { return false };
        let header = LogHeader::at(bytes, LogHeader::START);
        found.kind() == BlockKind::LogHeader
            && owner.check_owner(header, self.address(0)).is_ok()
            && header.log_sequence.get() == sequence
    }

    /// Checks that this is a block of redo of this log, as it was sealed.
    pub(crate) fn check_redo(
        &self,
        owner: &LogOwner,
        bytes: &[u8],
        sequence: u32,
        number: u32,
        session: &Session,
    ) -> Result<ReadBlock, EndReason> {
        session.charge(Cost::ChecksumKib, BLOCK_KIB);
        let address = self.address(number);
        let header = format::check(bytes, address)?;
        if header.kind() != BlockKind::Redo {
            return Err(EndReason::OtherKind { address, found: header.kind() });
        }
        let head = *RedoBlock::at(bytes, RedoBlock::START);
        if head.database.get() != owner.database {
            return Err(EndReason::OtherDatabase { address, found: head.database.get() });
        }
        let found = head.log_sequence.get();
        match found.cmp(&sequence) {
            Ordering::Less => Err(EndReason::EarlierLife { address, found }),
            Ordering::Greater => Err(EndReason::LaterLife { address, found }),
            Ordering::Equal => Ok(ReadBlock { durable: header.changed(), head }),
        }
    }
}
