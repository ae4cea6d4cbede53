//! What is decided before redo is opened: sizes, places, ways; and what is refused.
//!
//! Invariants (of a configuration that was checked)
//!   * the largest record fits into one part of the log buffer (RD3)
//!   * a log holds the largest record twice, so that one free log admits any record (RD4)
//!   * every group has a good member
//!
//! Callers: `Redo::open`, `Reader::open`, `create`.

use std::path::{Path, PathBuf};

use format::{REDO_BLOCK, REDO_PAYLOAD_BYTES};
use ids::{Rba, Scn};
use os::probe::DurableWrite;
use os::{Disk, OwnedFiles, Session};
use stop::{Failpoints, RefusalKind, Stop};

use crate::flights::WRITES_IN_FLIGHT_MAX;
use crate::log_file::{LogOwner, log_path};
use crate::medium::Medium;

/// The largest record, its head included: three blocks of the largest size.
pub const RECORD_BYTES_MAX: usize = 96 << 10;

/// How many redo blocks the largest record can need.
pub const RECORD_BLOCKS_MAX: u32 = blocks_of(RECORD_BYTES_MAX);

/// The least blocks that a log can have, its header included.
pub const LOG_BLOCKS_MIN: u32 = 2 * RECORD_BLOCKS_MAX + 1;

/// The smallest log buffer.
pub const LOG_BUFFER_BYTES_MIN: usize = 2 * RECORD_BLOCKS_MAX as usize * REDO_BLOCK.bytes();

/// The most log groups.
pub const GROUPS_MAX: u16 = 255;

/// The most members of a group.
pub const MEMBERS_MAX: usize = os::COPIES_MAX;

/// The redo blocks that a record of so many bytes needs if it begins in a new one.
pub(crate) const fn blocks_of(record_bytes: usize) -> u32 {
    record_bytes.div_ceil(REDO_PAYLOAD_BYTES) as u32
}

/// Who writes redo that a session waits for. The parameter `commit_leader`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommitLeader {
    /// A session that finds nobody writing writes for itself and all before it.
    Session,
    /// The log writer alone.
    Lgwr,
}

/// What a commit has to wait for. The parameter `commit_wait`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommitWait {
    /// It returns when it is durable.
    Wait,
    /// It returns at once: a crash soon after takes it back, and what was read of it.
    Nowait,
}

/// When the redo of a commit is written. The parameter `commit_logging`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommitLogging {
    /// As soon as nobody else writes.
    Immediate,
    /// With whatever is written next: for another's commit, or as the log writer's rules have it.
    Batch,
}

/// How a transaction is committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommitMode {
    /// What the commit waits for.
    pub wait: CommitWait,
    /// When its redo is written.
    pub logging: CommitLogging,
}

impl CommitMode {
    /// Durable when it returns, and soon.
    pub const DURABLE: CommitMode =
        CommitMode { wait: CommitWait::Wait, logging: CommitLogging::Immediate };

    /// Every way there is.
    pub const ALL: [CommitMode; 4] = [
        CommitMode::DURABLE,
        CommitMode { wait: CommitWait::Wait, logging: CommitLogging::Batch },
        CommitMode { wait: CommitWait::Nowait, logging: CommitLogging::Immediate },
        CommitMode { wait: CommitWait::Nowait, logging: CommitLogging::Batch },
    ];
}

/// A file that holds a whole copy of its group's log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogMember {
    /// Where it is.
    pub path: PathBuf,
    /// Whether it has all redo of its group: what isn't good is neither read nor written.
    pub good: bool,
}

/// A group: files with the same redo.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogGroup {
    /// Its number, from 1.
    pub number: u16,
    /// Redo blocks of each member, its header included; at least [`LOG_BLOCKS_MIN`].
    pub blocks: u32,
    /// From 1 to [`MEMBERS_MAX`], at least one of them good.
    pub members: Vec<LogMember>,
}

impl LogGroup {
    /// Groups 1 to `groups` of so many blocks, with one member each, under their usual names.
    pub fn usual(directory: &Path, groups: u16, blocks: u32) -> Vec<LogGroup> {
        let member = |number| LogMember { path: log_path(directory, number), good: true };
        let group = |number| LogGroup { number, blocks, members: vec![member(number)] };
        (1..=groups).map(group).collect()
    }

    /// Refuses what can't be a group.
    pub fn check(&self) -> Result<(), Stop> {
        check_blocks(self.blocks)?;
        let (number, members) = (self.number, self.members.len());
        if !(1..=MEMBERS_MAX).contains(&members) {
            let message =
                format!("redo log group {number} has 1 to {MEMBERS_MAX} members, not {members}");
            return Err(Stop::refuse(RefusalKind::Invalid, message));
        }
        if !(1..=GROUPS_MAX).contains(&number) || !self.members.iter().any(|member| member.good) {
            let message = format!("redo log group {number} can't be: no member of it is good");
            return Err(Stop::refuse(RefusalKind::Corrupt, message));
        }
        Ok(())
    }
}

/// How redo is kept.
#[derive(Clone, Debug)]
pub struct RedoConfig {
    /// Identity of the database: redo of another one is none of ours.
    pub database: u64,
    /// The database's incarnation, and the SCN at which it began.
    pub incarnation: (u32, Scn),
    /// The newest log that is known to have begun (RD27); 0 if none is.
    pub newest_log: u32,
    /// The log groups, from 2 to [`GROUPS_MAX`], in the order of their numbers.
    pub groups: Vec<LogGroup>,
    /// The parameter `log_buffer`, in bytes; at least [`LOG_BUFFER_BYTES_MIN`].
    pub log_buffer_bytes: usize,
    /// How a write is made durable.
    pub durable_write: DurableWrite,
    /// So many batches are written at once, at most: 1 to 8. The log buffer has one part more.
    pub writes_in_flight: u32,
    /// Who writes at first.
    pub commit_leader: CommitLeader,
    /// Members that are open and locked, for all who open members by this configuration.
    pub owned: OwnedFiles,
    /// What is broken on purpose.
    pub failpoints: Failpoints,
}

impl RedoConfig {
    /// Refuses what can't work, naming the value and its limit.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        check_groups(self.groups.len())?;
        self.groups.iter().try_for_each(LogGroup::check)?;
        let (flights, most) = (self.writes_in_flight, WRITES_IN_FLIGHT_MAX);
        if !(1..=most).contains(&flights) {
            let message =
                format!("1 to {most} redo writes can be in flight at once, not {flights}");
            return Err(Stop::refuse(RefusalKind::Invalid, message));
        }
        let parts = flights as usize + 1;
        let (found, least) = (self.log_buffer_bytes, LOG_BUFFER_BYTES_MIN / 2 * parts);
        if found < least {
            let message = format!(
                "log_buffer is {found} bytes, and must be at least {least}: each of its {parts} \
                 parts holds the largest record"
            );
            return Err(Stop::refuse(RefusalKind::Invalid, message));
        }
        Ok(())
    }

    /// Whose redo it is.
    pub fn owner(&self) -> LogOwner {
        LogOwner { database: self.database, incarnation: self.incarnation }
    }

    /// Redo blocks of one part of the log buffer: one batch, at most.
    pub(crate) fn part_blocks(&self) -> u32 {
        let part = self.log_buffer_bytes / (self.writes_in_flight as usize + 1);
        u32::try_from(part / REDO_BLOCK.bytes()).unwrap_or(u32::MAX)
    }

    /// Redo blocks of the whole of it.
    pub(crate) fn buffer_blocks(&self) -> u32 {
        u32::try_from(self.log_buffer_bytes / REDO_BLOCK.bytes()).unwrap_or(u32::MAX)
    }

    /// Opens and locks every good member, before anything of them is read (RD22). One that can't be
    /// opened is left for [`examine`](crate::examine) to find.
    pub fn lock_members(&mut self, disk: &Disk, session: &Session) -> Result<(), Stop> {
        let medium = Medium::new(disk, self);
        let members = self.groups.iter().flat_map(|group| &group.members);
        for member in members.filter(|member| member.good) {
            medium.lock(&member.path, &mut self.owned, session)?;
        }
        Ok(())
    }

    /// The members of these paths are no good any more.
    pub fn mark_invalid(&mut self, paths: &[PathBuf]) {
        paths.iter().for_each(|path| self.owned.forget(path));
        let members = self.groups.iter_mut().flat_map(|group| &mut group.members);
        for member in members.filter(|member| paths.contains(&member.path)) {
            member.good = false;
        }
    }
}

pub(crate) fn check_groups(groups: usize) -> Result<(), Stop> {
    if (2..=usize::from(GROUPS_MAX)).contains(&groups) {
        return Ok(());
    }
    let message = format!("there are 2 to {GROUPS_MAX} redo log groups, not {groups}");
    Err(Stop::refuse(RefusalKind::Invalid, message))
}

pub(crate) fn check_blocks(blocks: u32) -> Result<(), Stop> {
    if blocks >= LOG_BLOCKS_MIN {
        return Ok(());
    }
    let message = format!(
        "a redo log of {} bytes is too small: it has at least {}, to hold the largest record twice",
        u64::from(blocks) * REDO_BLOCK.bytes() as u64,
        u64::from(LOG_BLOCKS_MIN) * REDO_BLOCK.bytes() as u64
    );
    Err(Stop::refuse(RefusalKind::Invalid, message))
}

/// Where redo goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogStart {
    /// The log to begin: one that wasn't begun before. The first is 1.
    pub sequence: u32,
    /// SCN of the next record.
    pub next_scn: Scn,
    /// Every change below is on disk, and the control file says so. Logs from this one on are
    /// needed and not written over.
    pub checkpoint: Rba,
    /// Where the log before ended: its first block without redo; 0 if nobody knows.
    pub previous_end: u32,
}
