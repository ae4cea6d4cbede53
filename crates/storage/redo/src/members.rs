//! Writing to a group, and what becomes of its members then (RD18, RD19).
//!
//! ```text
//!          write fails; the control file says so, then the batch is acknowledged
//!   good ──────────────────────────────────────────────────────────────────▶ invalid
//!     ▲                                                                        │
//!     └── the group's next log begins: header written, the control file says so┘
//! ```
//!
//! Invariants
//!   * what `write` has returned from is durable in every good member but those that it names
//!   * a group has a good member, or the instance halts
//!
//! Callers: the writer, `Redo::open`, `secure`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use format::REDO_BLOCK;
use ids::BlockNo;
use os::{Error, File, Session, Waiting};
use stop::Stop;

use crate::log_file::{Beginning, HeaderBlock, Member, OpenGroup, corrupt};
use crate::medium::Medium;

/// A member that was written and isn't good any more, and why.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) path: PathBuf,
    pub(crate) error: Error,
}

/// What is to be written down of a member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberChange {
    /// Which.
    pub path: PathBuf,
    /// Whether it is good from now on.
    pub good: bool,
}

/// Writes down durably which members of a group are good from now on. It refuses to leave a group
/// without a good member; of members that it doesn't know it says nothing.
pub type KeepMembers =
    Box<dyn Fn(u16, &[MemberChange], &Session) -> Result<(), Stop> + Send + Sync>;

/// Members that became good or invalid: their files, open, or none.
pub(crate) type Changes = Vec<(PathBuf, Option<File>)>;

impl OpenGroup {
    /// Writes whole blocks of its log to all good members at once, durably. Says which failed; an
    /// error if all did.
    pub(crate) fn write(
        &self,
        medium: &Medium,
        first_block: u32,
        bytes: &[u8],
        waiting: Waiting<'_>,
    ) -> Result<Vec<Failed>, Error> {
        if self.members.len() == 1 {
            return self.write_in_turn(medium, first_block, bytes, waiting);
        }
        let offset = BlockNo::new(first_block).byte_offset(REDO_BLOCK);
        let files: Vec<&File> = self.files().collect();
        let written = medium.disk.write_copies(&files, offset, bytes, waiting);
        let durable = files.iter().zip(written).map(|(file, result)| match result {
            Ok(()) if medium.needs_sync => file.sync(waiting),
            result => result,
        });
        self.failed(durable)
    }

    /// The same in one good member after the other. For what they have already: a power cut may
    /// leave what was being written unreadable, and then another member has it (RD17).
    pub(crate) fn write_in_turn(
        &self,
        medium: &Medium,
        first_block: u32,
        bytes: &[u8],
        waiting: Waiting<'_>,
    ) -> Result<Vec<Failed>, Error> {
        let offset = BlockNo::new(first_block).byte_offset(REDO_BLOCK);
        self.failed(self.files().map(|file| match file.write_at(offset, bytes, waiting) {
            Ok(()) if medium.needs_sync => file.sync(waiting),
            result => result,
        }))
    }

    /// The good members whose result isn't one; an error if there is no other.
    fn failed(
        &self,
        results: impl Iterator<Item = Result<(), Error>>,
    ) -> Result<Vec<Failed>, Error> {
        let mut failed = Vec::new();
        for (file, result) in self.files().zip(results) {
            if let Err(error) = result {
                failed.push(Failed { path: file.path().to_path_buf(), error });
            }
        }
        if failed.len() < self.files().count() {
            return Ok(failed);
        }
        Err(failed.swap_remove(0).error)
    }

    /// The same group after these changes.
    pub(crate) fn with(&self, changes: &Changes) -> OpenGroup {
        let mut changed = self.clone();
        for (path, file) in changes {
            let member = changed.members.iter_mut().find(|member| member.path == *path);
            if let Some(member) = member {
                *member = Member::new(path, file.clone());
            }
        }
        changed
    }

    /// Opens an invalid member whose file can be written over: it is there, and it isn't something
    /// else. One whose header can't be read is: that may mend it.
    fn reopen(&self, medium: &Medium, path: &Path, session: &Session) -> Result<File, Stop> {
        let file = medium.try_open(path, self.blocks, session)?;
        match self.read_header_of(&file, &medium.owner, session)? {
            HeaderBlock::Other(reason) if reason.is_foreign() => {
                let what = medium.owner.describe_foreign(reason);
                let what = what.unwrap_or_else(|| format!("has {reason}"));
                Err(corrupt(format!("{} {what}", path.display())))
            }
            _ => Ok(file),
        }
    }

    /// Makes an invalid member good, with the header of the log that begins, durably.
    fn revive(
        &self,
        medium: &Medium,
        path: &Path,
        header: &[u8],
        waiting: Waiting<'_>,
    ) -> Result<File, Stop> {
        let file = self.reopen(medium, path, waiting.session())?;
        file.write_at(0, header, waiting)?;
        if medium.needs_sync {
            file.sync(waiting)?;
        }
        Ok(file)
    }
}

/// Begins a log in a group, durably (RD6). Members that were invalid are tried again: with the
/// header they have all of the log. The group as it is then, and what has changed.
pub(crate) fn begin(
    medium: &Medium,
    keep: &KeepMembers,
    group: &Arc<OpenGroup>,
    sequence: u32,
    beginning: Beginning,
    waiting: Waiting<'_>,
) -> Result<(Arc<OpenGroup>, Changes), Stop> {
    let session = waiting.session();
    let header = group.header(medium, sequence, beginning, session);
    let failed = group.write(medium, 0, &header, waiting)?;
    let mut changes = Changes::new();
    for member in group.members.iter().filter(|member| member.file.is_none()) {
        match group.revive(medium, &member.path, &header, waiting) {
            Ok(file) => changes.push((member.path.clone(), Some(file))),
            // Said once, and not at each switch.
            Err(stop) if !member.is_told.raise(session) => session.os().notice(&format!(
                "the member {} of redo log group {} stays invalid until it can be used: {stop}",
                member.path.display(),
                group.number
            )),
            Err(_) => {}
        }
    }
    record_changes(keep, group, failed, changes, session)
}

/// Has it written down that members failed or became good, before anybody relies on it.
pub(crate) fn record_changes(
    keep: &KeepMembers,
    group: &Arc<OpenGroup>,
    failed: Vec<Failed>,
    mut changes: Changes,
    session: &Session,
) -> Result<(Arc<OpenGroup>, Changes), Stop> {
    if failed.is_empty() && changes.is_empty() {
        return Ok((Arc::clone(group), changes));
    }
    changes.extend(failed.iter().map(|failed| (failed.path.clone(), None)));
    let told: Vec<_> = changes
        .iter()
        .map(|(path, file)| MemberChange { path: path.clone(), good: file.is_some() })
        .collect();
    if let Err(stop) = keep(group.number, &told, session) {
        // Without a good member it is the device that people want to know of.
        let device = failed.into_iter().next().filter(|_| stop.refusal().is_some());
        return Err(device.map_or(stop, |failed| failed.error.into()));
    }
    for Failed { path, error } in &failed {
        session.os().notice(&format!(
            "the member {} of redo log group {} is invalid from now on, and the others go on: \
             {error}",
            path.display(),
            group.number
        ));
    }
    for change in told.iter().filter(|change| change.good) {
        session.os().notice(&format!(
            "the member {} of redo log group {} is good again",
            change.path.display(),
            group.number
        ));
    }
    Ok((Arc::new(group.with(&changes)), changes))
}
