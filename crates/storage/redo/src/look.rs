//! What each redo log group of a database that isn't open holds: files are read, and nothing is
//! written.
//!
//! Callers: `instance`, for `forebay logs`.

use std::path::{Path, PathBuf};

use os::{Disk, FileOptions, Session};

use crate::end::EndReason;
use crate::examine::read_member;
use crate::log_file::{HeaderBlock, LogOwner, Member, OpenGroup};
use crate::{LogGroup, LogMember, LogStatus, LogView, RedoConfig};

/// How a file is opened only to look at it.
const PLAIN: FileOptions = FileOptions { direct: false, write_through: false };

/// The groups of a database that isn't open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogsSeen {
    /// A view of every group.
    pub groups: Vec<LogView>,
    /// The members that the control file calls good and that can't be used, with the reason.
    pub faults: Vec<(PathBuf, String)>,
}

/// Every group, from the headers of its members. `checkpoint_log` is the log in which recovery
/// would begin. A member is shown as invalid if the control file says so, if its header can't be
/// read or is damaged, or if another member of its group holds a newer log.
pub fn look_at_groups(
    disk: &Disk,
    config: &RedoConfig,
    checkpoint_log: u32,
    session: &Session,
) -> LogsSeen {
    let (owner, mut faults) = (config.owner(), Vec::new());
    let mut looked = Vec::with_capacity(config.groups.len());
    for group in &config.groups {
        let held = group.members.iter().map(|member| {
            let sequence = match member.good {
                true => sequence_in(disk, group, &member.path, &owner, session),
                false => return (member.path.clone(), None),
            };
            if let Err(why) = &sequence {
                faults.push((member.path.clone(), why.clone()));
            }
            (member.path.clone(), sequence.ok())
        });
        looked.push((group, held.collect::<Vec<_>>()));
    }
    let newest = |held: &[(_, Option<u32>)]| held.iter().filter_map(|(_, log)| *log).max();
    // The control file knows of a log even if no member of its group can be read.
    let found = looked.iter().filter_map(|(_, held)| newest(held)).max().unwrap_or(0);
    let current = found.max(config.newest_log);
    let view = |(group, held): (&LogGroup, Vec<(_, Option<u32>)>)| {
        let sequence = newest(&held);
        let status = match sequence {
            None => LogStatus::Unknown,
            Some(0) => LogStatus::Unused,
            Some(log) if log == current => LogStatus::Current,
            Some(log) if log >= checkpoint_log => LogStatus::Active,
            Some(_) => LogStatus::Inactive,
        };
        let is_good = |log: Option<u32>| log.is_some() && log == sequence;
        let members = held.into_iter().map(|(path, log)| (path, is_good(log))).collect();
        let (number, blocks) = (group.number, group.blocks);
        LogView { number, blocks, sequence: sequence.unwrap_or(0), status, members }
    };
    LogsSeen { groups: looked.into_iter().map(view).collect(), faults }
}

/// Whether a good member of some group has this block of this log.
pub fn has_block(
    disk: &Disk,
    config: &RedoConfig,
    sequence: u32,
    block: u32,
    session: &Session,
) -> bool {
    config.groups.iter().any(|group| {
        let good = group.members.iter().filter(|member| member.good);
        let opened = good.filter_map(|LogMember { path, .. }| {
            let file = disk.open_read_only(path, PLAIN, session).ok()?;
            Some(Member::new(path, Some(file)))
        });
        let (number, blocks) = (group.number, group.blocks);
        let group = OpenGroup { number, blocks, members: opened.collect() };
        group.has_block(&config.owner(), sequence, block, session).unwrap_or(false)
    })
}

/// The log that a member holds, 0 if none has begun there; or why the member can't be used.
fn sequence_in(
    disk: &Disk,
    group: &LogGroup,
    path: &Path,
    owner: &LogOwner,
    session: &Session,
) -> Result<u32, String> {
    match read_member(disk, PLAIN, owner, group, path, session)? {
        HeaderBlock::Log(header) => Ok(header.log_sequence.get()),
        HeaderBlock::Other(EndReason::NeverWritten { .. }) => Ok(0),
        HeaderBlock::Other(reason) => Err(format!("its header is no good: {reason}")),
    }
}
