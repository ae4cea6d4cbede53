//! Lines that are no rows: how many are passed over, and where they are kept.
//!
//! Invariants
//!   * the file of rejected lines has those of the last read, as they were; a read without rejected
//!     lines leaves it alone
//!   * a file that somebody has locked isn't put away for it: not another read's, and not one of
//!     the database's own, which are locked while it is open
//!
//! Callers: `reader`.

use std::path::{Path, PathBuf};

use os::{File, FileOperation};
use stop::{SqlState, Stop};

use super::input::PLAIN;
use crate::refuse::refuse;
use crate::schema::VirtualContext;

/// What is done with lines that are no rows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct RejectRule {
    /// How many are passed over; the next one ends the statement. None: a COPY passes over none.
    pub(super) limit: Option<u64>,
    /// Where they are kept, if anywhere.
    pub(super) file: Option<PathBuf>,
}

/// The rejected lines of one read.
#[derive(Default)]
pub(super) struct Rejects {
    count: u64,
    file: Option<Kept>,
}

struct Kept {
    file: File,
    end: u64,
}

impl Rejects {
    /// Takes a line that is no row. What is wrong with it is passed on if it is one too many, or
    /// if that has nothing to do with the line.
    pub(super) fn take(
        &mut self,
        rule: &RejectRule,
        line: &[u8],
        wrong: Stop,
        of: &VirtualContext<'_>,
    ) -> Result<(), Stop> {
        if !is_of_the_line(wrong.state()) || wrong.refusal().is_none() {
            return Err(wrong);
        }
        match rule.limit {
            None => return Err(wrong),
            Some(limit) if self.count >= limit => {
                let say = "REJECT LIMIT says how many lines that are no rows are passed over";
                return Err(wrong.map_refusal(|refusal| refusal.saying(say)));
            }
            Some(_) => {}
        }
        self.count += 1;
        let Some(path) = &rule.file else { return Ok(()) };
        let Kept { file, end } = match &mut self.file {
            Some(kept) => kept,
            none => none.insert(Kept { file: made(path, of)?, end: 0 }),
        };
        let mut bytes = line.to_vec();
        if !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        file.write_at(*end, &bytes, FileOperation::Fill.waiting(of.session))?;
        *end += bytes.len() as u64;
        Ok(())
    }

    /// Ends the read: what was kept is durable.
    pub(super) fn end(&mut self, of: &VirtualContext<'_>) -> Result<(), Stop> {
        match self.file.take() {
            Some(kept) => Ok(kept.file.sync(FileOperation::Sync.waiting(of.session))?),
            None => Ok(()),
        }
    }
}

/// A new file in the place of that of an earlier read.
fn made(path: &Path, of: &VirtualContext<'_>) -> Result<File, Stop> {
    let (disk, session) = (of.disk(), of.session);
    if disk.has_name(path, session)? {
        let earlier = disk.open(path, PLAIN, session)?;
        if !earlier.try_lock()? {
            let message = format!("the reject file {} is in use", path.display());
            let stop = refuse(SqlState::OBJECT_IN_USE, message);
            let hint = "read the external table when nobody else reads it, or name another file";
            return Err(stop.map_refusal(|refusal| refusal.hint(hint)));
        }
        disk.remove(path, session)?;
    }
    Ok(disk.create(path, 0, PLAIN, session)?)
}

/// Whether a refusal says that a line has no right values: class 22, or a NULL too many.
fn is_of_the_line(state: SqlState) -> bool {
    state.as_str().starts_with("22") || state == SqlState::NOT_NULL_VIOLATION
}
