//! Writing to a group, and what becomes of its members (RD18, RD44).
//!
//! ```text
//!          write fails; the control file says so, then the batch is acknowledged
//!   good ──────────────────────────────────────────────────────────────────▶ invalid
//!     ▲                                                                        │
//!     └── the group's next log begins: header written, the control file says so┘
//! ```
//!
//! Invariants
//!   * when `write` returns, the bytes are durable in every good member but those that it names
//!   * a group has a good member, or the instance halts
//!
//! Callers: the writer, `Redo::open`, `rewrite_tail`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use format::REDO_BLOCK;
use ids::BlockNo;
use os::{Error, File, Session, Waiting};
use stop::Stop;

use crate::log_file::{Beginning, HeaderBlock, Member, OpenGroup, corrupt};
use crate::medium::Medium;

/// A good member whose write or sync failed, and why.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) path: PathBuf,
    pub(crate) error: Error,
}

/// A change of a member that has to be written down.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberChange {
    /// The member.
    pub path: PathBuf,
    /// Whether the member is good from now on.
    pub good: bool,
}

/// Writes down durably which members of a group are good from now on. It refuses to leave a group
/// without a good member, and ignores members that it doesn't know.
pub type KeepMembers =
    Box<dyn Fn(u16, &[MemberChange], &Session) -> Result<(), Stop> + Send + Sync>;

/// Members that became good, with their open files, or invalid, with `None`.
pub(crate) type Changes = Vec<(PathBuf, Option<File>)>;

impl OpenGroup {
    /// Writes whole blocks of the log to all good members at once, durably. Returns the members
    /// that failed; an error if all did.
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

    /// Writes whole blocks in one good member after the other. For blocks that the members have
    /// already: a power cut may leave the block that is being written unreadable, and then another
    /// member has it (RD17).
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

    /// The good members whose result is an error; an error if all are.
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

    /// A copy of the group with these changes.
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

    /// Opens an invalid member whose file may be written over (RD45). A file whose header can't be
    /// read may be: that may mend it.
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

    /// Makes an invalid member good, by writing the header of the log that begins, durably.
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

/// Begins a log in a group, durably (RD6). Invalid members are tried again: with the header they
/// have all of the log. Returns the group as it is then, and what changed.
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
            // The reason is said once, not at each switch.
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

/// Has the failed and the good members written down before anybody relies on them.
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
        // If no good member is left, people want to know the device's error.
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
