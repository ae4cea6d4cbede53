//! Looking at all members before redo is read: which of those that are called good are (RD19).
//!
//! | found                                                           | then                  |
//! |-----------------------------------------------------------------|-----------------------|
//! | not there, cut off                                              | invalid               |
//! | its header can't be read, another's can                         | invalid               |
//! | no header of the group can be read                              | left to the reader    |
//! | of another database, incarnation or group (RD24)                | invalid               |
//! | its header is older than another's, whose log has redo          | invalid: it was away  |
//! | older header than a sibling's, whose log has no redo            | good: cut off between |
//! | no good member would be left                                    | refused               |
//!
//! A group with one member isn't looked at here: the opening of its file finds what is wrong.
//!
//! Callers: `instance`, which writes invalid members down before it goes on; `verify`.

use std::path::{Path, PathBuf};

use os::{Disk, File, FileOptions, Session};
use stop::Stop;

use crate::log_file::{HeaderBlock, LogOwner, Member, OpenGroup, corrupt, if_lost};
use crate::medium::{Medium, check_length};
use crate::{EndReason, LogGroup, RedoConfig};

/// What a member holds.
enum MemberContent {
    /// The log that it holds; 0 if none.
    Log(File, u32),
    /// A file that is something else.
    Foreign(EndReason),
    /// A file whose header the device can't read.
    Unreadable(Stop),
    Bad(Stop),
}

/// Looks at every member that is called good, in groups with more than one. Marks those that aren't
/// as invalid in `config`, and returns their paths.
pub fn examine(
    disk: &Disk,
    config: &mut RedoConfig,
    session: &Session,
) -> Result<Vec<PathBuf>, Stop> {
    config.check()?;
    let medium = Medium::new(disk, config);
    let mut lost = Vec::new();
    for group in config.groups.iter().filter(|group| group.members.len() > 1) {
        examine_group(&medium, group, &mut lost, session)?;
    }
    config.mark_invalid(&lost);
    Ok(lost)
}

/// Looks at the header of one member, and writes nothing. Returns a reason if the header says
/// nothing about what the member holds, because it is torn or can't be read: then the member holds
/// no log (RD28). An error if the member is no good.
pub fn look_at_member(
    disk: &Disk,
    options: FileOptions,
    owner: &LogOwner,
    group: &LogGroup,
    path: &Path,
    session: &Session,
) -> Result<Option<EndReason>, String> {
    match read_member(disk, options, owner, group, path, session)? {
        HeaderBlock::Log(_) | HeaderBlock::Other(EndReason::NeverWritten { .. }) => Ok(None),
        HeaderBlock::Other(reason) => Ok(Some(reason)),
    }
}

/// The header of one member, or what lies in its place if that says nothing of an owner. An error
/// if the member is no good.
pub(crate) fn read_member(
    disk: &Disk,
    options: FileOptions,
    owner: &LogOwner,
    group: &LogGroup,
    path: &Path,
    session: &Session,
) -> Result<HeaderBlock, String> {
    let say = |stop: Stop| stop.to_string();
    let file = disk.open_read_only(path, options, session).map_err(|e| say(e.advise("").into()))?;
    check_length(&file, group.blocks).map_err(say)?;
    let (number, blocks) = (group.number, group.blocks);
    let alone = OpenGroup { number, blocks, members: Vec::new() };
    let found = alone.read_header_of(&file, owner, session).map_err(say)?;
    if let HeaderBlock::Other(reason) = found
        && let Some(what) = owner.describe_foreign(reason)
    {
        return Err(format!("it {what}"));
    }
    Ok(found)
}

fn examine_group(
    medium: &Medium,
    group: &LogGroup,
    lost: &mut Vec<PathBuf>,
    session: &Session,
) -> Result<(), Stop> {
    let (number, blocks) = (group.number, group.blocks);
    let alone = OpenGroup { number, blocks, members: Vec::new() };
    let good = group.members.iter().filter(|member| member.good);
    let found: Vec<(&PathBuf, MemberContent)> =
        good.map(|member| (&member.path, look(medium, &alone, &member.path, session))).collect();
    let newest = found.iter().filter_map(|(_, found)| match found {
        MemberContent::Log(file, sequence) => Some((*sequence, file)),
        _ => None,
    });
    let newest = newest.max_by_key(|(sequence, _)| *sequence);
    let is_older = |(_, found): &(&PathBuf, MemberContent)| match (found, newest) {
        (MemberContent::Log(_, sequence), Some((newest, _))) => *sequence < newest,
        _ => false,
    };
    let has_redo = match newest {
        Some((sequence, file)) if found.iter().any(is_older) => {
            let member = Member::new(file.path(), Some(file.clone()));
            let newer = OpenGroup { members: vec![member], ..alone };
            // If that block can't be read there may be redo, and the others lack it.
            newer.has_block(&medium.owner, sequence, 1, session).unwrap_or(true)
        }
        _ => false,
    };
    let sequence = newest.map_or(0, |(sequence, _)| sequence);
    let mut faults = Vec::new();
    let (mut foreign, mut unreadable) = (Vec::new(), Vec::new());
    for (path, found) in &found {
        match found {
            MemberContent::Log(_, other) if has_redo && *other < sequence => {
                let what = format!(
                    "{} doesn't have the header of log {sequence}, though that log has redo",
                    path.display()
                );
                faults.push((*path, corrupt(what)));
            }
            MemberContent::Log(..) => {}
            MemberContent::Foreign(reason) => foreign.push((*path, *reason)),
            MemberContent::Unreadable(stop) => unreadable.push((*path, stop.clone())),
            MemberContent::Bad(stop) => faults.push((*path, stop.clone())),
        }
    }
    let none_is_left = foreign.len() + faults.len() + unreadable.len() == found.len();
    faults.extend(judge_foreign(&medium.owner, foreign, none_is_left)?);
    if !none_is_left {
        faults.extend(unreadable);
    }
    if faults.len() == found.len() {
        return Err(if_lost(faults.swap_remove(0).1, group));
    }
    for (path, stop) in faults {
        session.os().notice(&format!(
            "the member {} of redo log group {number} is invalid from now on, and the others go \
             on: {stop}",
            path.display()
        ));
        lost.push(path.clone());
    }
    Ok(())
}

/// Judges foreign files: they are invalid if a member is left. If none is, nothing is opened
/// (RD24).
fn judge_foreign<'p>(
    owner: &LogOwner,
    foreign: Vec<(&'p PathBuf, EndReason)>,
    none_is_left: bool,
) -> Result<Vec<(&'p PathBuf, Stop)>, Stop> {
    if none_is_left {
        let refusal = foreign.iter().find_map(|(path, reason)| owner.refusal(path, *reason));
        return refusal.map_or(Ok(Vec::new()), Err);
    }
    let fault = |(path, reason): (&'p PathBuf, EndReason)| {
        let what = owner.describe_foreign(reason).unwrap_or_else(|| reason.to_string());
        (path, corrupt(format!("{} {what}", path.display())))
    };
    Ok(foreign.into_iter().map(fault).collect())
}

fn look(medium: &Medium, group: &OpenGroup, path: &Path, session: &Session) -> MemberContent {
    let file = match medium.open(path, group.blocks, session) {
        Ok(file) => file,
        Err(stop) => return MemberContent::Bad(stop),
    };
    match group.read_header_of(&file, &medium.owner, session) {
        Ok(HeaderBlock::Log(header)) => MemberContent::Log(file, header.log_sequence.get()),
        Ok(HeaderBlock::Other(reason @ EndReason::Unreadable { .. })) => {
            MemberContent::Unreadable(corrupt(format!("{}: {reason}", path.display())))
        }
        Ok(HeaderBlock::Other(reason)) if reason.is_foreign() => MemberContent::Foreign(reason),
        Ok(HeaderBlock::Other(_)) => MemberContent::Log(file, 0),
        Err(stop) => MemberContent::Bad(stop),
    }
}
