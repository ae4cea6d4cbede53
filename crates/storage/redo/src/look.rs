//! What each redo log group of a database that isn't open holds: files are read, and nothing is
//! written.
//!
//! Callers: `instance`, for `forebay logs`.

use std::path::Path;

use os::{Disk, FileOptions, Session};

use crate::end::EndReason;
use crate::log_file::{HeaderBlock, LogOwner, OpenGroup};
use crate::medium::check_length;
use crate::{LogGroup, LogStatus, LogView, RedoConfig};

/// A view of every group, from the headers of its members. `checkpoint_log` is the log in which
/// recovery would begin. A member is shown as invalid if the control file says so, if its header
/// can't be read or is damaged, or if another member of its group holds a newer log.
pub fn look_at_groups(
    disk: &Disk,
    config: &RedoConfig,
    checkpoint_log: u32,
    session: &Session,
) -> Vec<LogView> {
    let owner = config.owner();
    let looked = config.groups.iter().map(|group| {
        let held = group.members.iter().map(|member| {
            let sequence =
                member.good.then(|| sequence_in(disk, group, &member.path, &owner, session));
            (member.path.clone(), sequence.flatten())
        });
        (group, held.collect::<Vec<_>>())
    });
    let looked: Vec<_> = looked.collect();
    let newest = |held: &[(_, Option<u32>)]| held.iter().filter_map(|(_, log)| *log).max();
    // The control file knows of a log even if no member of its group can be read.
    let found = looked.iter().filter_map(|(_, held)| newest(held)).max().unwrap_or(0);
    let current = found.max(config.newest_log);
    let view = |(group, held): (&LogGroup, Vec<(_, Option<u32>)>)| {
        let sequence = newest(&held).unwrap_or(0);
        let status = match sequence {
            0 => LogStatus::Unused,
            log if log == current => LogStatus::Current,
            log if log >= checkpoint_log => LogStatus::Active,
            _ => LogStatus::Inactive,
        };
        let members = held.into_iter().map(|(path, log)| (path, log == Some(sequence))).collect();
        LogView { number: group.number, blocks: group.blocks, sequence, status, members }
    };
    looked.into_iter().map(view).collect()
}

/// The log that a member holds, 0 if none has begun there; `None` if the member is no good.
fn sequence_in(
    disk: &Disk,
    group: &LogGroup,
    path: &Path,
    owner: &LogOwner,
    session: &Session,
) -> Option<u32> {
    let options = FileOptions { direct: false, write_through: false };
    let file = disk.open_read_only(path, options, session).ok()?;
    check_length(&file, group.blocks).ok()?;
    let alone = OpenGroup { number: group.number, blocks: group.blocks, members: Vec::new() };
    match alone.read_header_of(&file, owner, session).ok()? {
        HeaderBlock::Log(header) => Some(header.log_sequence.get()),
        HeaderBlock::Other(EndReason::NeverWritten { .. }) => Some(0),
        HeaderBlock::Other(_) => None,
    }
}
