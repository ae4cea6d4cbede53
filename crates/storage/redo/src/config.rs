//! The configuration of redo: sizes, files, how they are written; and the checks of it.
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
pub(crate) const RECORD_BLOCKS_MAX: u32 = blocks_of(RECORD_BYTES_MAX);

/// The smallest log in blocks, its header included.
pub const LOG_BLOCKS_MIN: u32 = 2 * RECORD_BLOCKS_MAX + 1;

/// The smallest log buffer.
pub const LOG_BUFFER_BYTES_MIN: usize = 2 * RECORD_BLOCKS_MAX as usize * REDO_BLOCK.bytes();

/// The smallest log buffer with so many writes in flight: they and the part that fills hold the
/// largest record each.
pub const fn log_buffer_least(writes_in_flight: u32) -> usize {
    LOG_BUFFER_BYTES_MIN / 2 * (writes_in_flight as usize + 1)
}

/// The largest number of log groups.
pub const GROUPS_MAX: u16 = 255;

/// The largest number of members of a group.
pub const MEMBERS_MAX: usize = os::COPIES_MAX;

/// How many redo blocks a record of this length needs if it begins a block.
pub(crate) const fn blocks_of(record_bytes: usize) -> u32 {
    record_bytes.div_ceil(REDO_PAYLOAD_BYTES) as u32
}

/// Which side writes redo that a session waits for: the parameter `commit_leader`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommitLeader {
    /// A session that finds fewer writes in flight than allowed writes its own redo and all before
    /// it.
    Session,
    /// Only the log writer writes.
    Lgwr,
}

/// Whether a commit waits: the parameter `commit_wait`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommitWait {
    /// The commit returns when its redo is durable.
    Wait,
    /// The commit returns at once. A crash soon afterwards loses it, and whatever others read of
    /// it.
    Nowait,
}

/// When the redo of a commit is written: the parameter `commit_logging`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommitLogging {
    /// As soon as a write can begin.
    Immediate,
    /// With the next write that another commit or the log writer begins.
    Batch,
}

/// How a transaction commits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommitMode {
    /// Whether the commit waits.
    pub wait: CommitWait,
    /// When its redo is written.
    pub logging: CommitLogging,
}

impl CommitMode {
    /// The commit waits, and its redo is written as soon as possible.
    pub const DURABLE: CommitMode =
        CommitMode { wait: CommitWait::Wait, logging: CommitLogging::Immediate };

    /// All four modes.
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
    /// Where the file is.
    pub path: PathBuf,
    /// Whether the member has all redo of its group. A member that isn't good is neither read nor
    /// written.
    pub good: bool,
}

/// A log group: files with the same redo.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogGroup {
    /// The group's number, from 1.
    pub number: u16,
    /// Redo blocks of each member, its header included; at least [`LOG_BLOCKS_MIN`].
    pub blocks: u32,
    /// The members: 1 to [`MEMBERS_MAX`], at least one of them good.
    pub members: Vec<LogMember>,
}

impl LogGroup {
    /// Groups 1 to `groups` with logs of `blocks` blocks, one member each, under the usual names.
    pub fn usual(directory: &Path, groups: u16, blocks: u32) -> Vec<LogGroup> {
        let member = |number| LogMember { path: log_path(directory, number), good: true };
        let group = |number| LogGroup { number, blocks, members: vec![member(number)] };
        (1..=groups).map(group).collect()
    }

    /// Refuses a group with the wrong number of members, or without a good one.
    pub fn check(&self) -> Result<(), Stop> {
        check_log_bytes(u64::from(self.blocks) * REDO_BLOCK.bytes() as u64)?;
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

/// The configuration of redo.
#[derive(Clone, Debug)]
pub struct RedoConfig {
    /// Identity of the database: redo of another database isn't used.
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
    /// The largest number of batches in flight: 1 to 8. The log buffer has one part more.
    pub writes_in_flight: u32,
    /// Which side writes at the opening.
    pub commit_leader: CommitLeader,
    /// Members that are open and locked already. Every user of this configuration uses them.
    pub owned: OwnedFiles,
    /// What a test breaks on purpose.
    pub failpoints: Failpoints,
}

impl RedoConfig {
    /// Refuses values that can't work, with the value and its limit.
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
        let (found, least) = (self.log_buffer_bytes, log_buffer_least(flights));
        if found < least {
            let message = format!(
                "log_buffer is {found} bytes, and must be at least {least}: each of its {parts} \
                 parts holds the largest record"
            );
            return Err(Stop::refuse(RefusalKind::Invalid, message));
        }
        Ok(())
    }

    /// The owner of the logs.
    pub fn owner(&self) -> LogOwner {
        LogOwner { database: self.database, incarnation: self.incarnation }
    }

    /// Redo blocks of one part of the log buffer: the largest batch.
    pub(crate) fn part_blocks(&self) -> u32 {
        let part = self.log_buffer_bytes / (self.writes_in_flight as usize + 1);
        u32::try_from(part / REDO_BLOCK.bytes()).unwrap_or(u32::MAX)
    }

    /// Redo blocks of the whole log buffer.
    pub(crate) fn buffer_blocks(&self) -> u32 {
        u32::try_from(self.log_buffer_bytes / REDO_BLOCK.bytes()).unwrap_or(u32::MAX)
    }

    /// Opens and locks every good member before one of them is read (RD22). A member that can't be
    /// opened is left for [`examine`](crate::examine) to find.
    pub fn lock_members(&mut self, disk: &Disk, session: &Session) -> Result<(), Stop> {
        let medium = Medium::new(disk, self);
        let members = self.groups.iter().flat_map(|group| &group.members);
        for member in members.filter(|member| member.good) {
            medium.lock(&member.path, &mut self.owned, session)?;
        }
        Ok(())
    }

    /// Marks the members with these paths as invalid.
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

/// Refuses to drop a group of only so many.
pub fn check_drop(number: u16, groups: usize) -> Result<(), Stop> {
    if groups > 2 {
        return Ok(());
    }
    let message = format!(
        "cannot drop redo log group {number}: there must be two; add another one first \
         (add_log_group=SIZE:PATH)"
    );
    Err(Stop::refuse(RefusalKind::WrongState, message))
}

/// Refuses a log of fewer bytes than the smallest has.
pub fn check_log_bytes(bytes: u64) -> Result<(), Stop> {
    let least = u64::from(LOG_BLOCKS_MIN) * REDO_BLOCK.bytes() as u64;
    if bytes >= least {
        return Ok(());
    }
    let message = format!(
        "a redo log of {bytes} bytes is too small: it has at least {least} ({}k), to hold the \
         largest record twice; choose a larger size, as 64m",
        least >> 10
    );
    Err(Stop::refuse(RefusalKind::Invalid, message))
}

/// Where redo goes on when it is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogStart {
    /// The log to begin: one that was never begun before. The first is 1.
    pub sequence: u32,
    /// SCN of the next record.
    pub next_scn: Scn,
    /// Every change below this address is on disk, and the control file says so. Logs from this one
    /// on are needed, and aren't written over.
    pub checkpoint: Rba,
    /// Where the log before ended: its first block without redo; 0 if that isn't known.
    pub previous_end: u32,
}
