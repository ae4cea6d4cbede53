//! Opening and locking the files of logs, in the way in which redo is written.
//!
//! Invariants
//!   * only a file of the configured length is opened
//!
//! Callers: the writer, the reader, `examine`, `alter`.

use std::path::Path;

use format::REDO_BLOCK;
use os::{Cause, Disk, Error, File, FileOperation, FileOptions, IoBuf, OwnedFiles, Session};
use stop::{Failpoint, RefusalKind, Stop};

use crate::config::RedoConfig;
use crate::log_file::{LogOwner, corrupt, file_bytes};

/// How logs are opened and written.
#[derive(Clone)]
pub(crate) struct Medium {
    pub(crate) disk: Disk,
    pub(crate) owner: LogOwner,
    pub(crate) needs_sync: bool,
    pub(crate) options: FileOptions,
    /// Members that were opened and locked before.
    owned: OwnedFiles,
}

impl Medium {
    pub(crate) fn new(disk: &Disk, config: &RedoConfig) -> Medium {
        let mut options = config.durable_write.file_options();
        if config.failpoints.has(Failpoint::SkipLogSync) {
            options.write_through = false;
        }
        Medium {
            disk: disk.clone(),
            owner: config.owner(),
            needs_sync: config.durable_write.needs_sync()
                && !config.failpoints.has(Failpoint::SkipLogSync),
            options,
            owned: config.owned.clone(),
        }
    }

    /// Opens a member whose file has to have `blocks` blocks. A member that is open and locked
    /// already isn't opened again (RD22).
    pub(crate) fn open(&self, path: &Path, blocks: u32, session: &Session) -> Result<File, Stop> {
        let file = match (self.owned.find(path), self.owned.failure(path)) {
            (Some(file), _) => file.clone(),
            // The file may exist by now, but it isn't locked.
            (None, Some(error)) => return Err(error.clone().into()),
            (None, None) => self.open_anew(path, session)?,
        };
        check_length(&file, blocks)?;
        Ok(file)
    }

    /// Opens a file in the way in which redo is written.
    fn open_anew(&self, path: &Path, session: &Session) -> Result<File, Error> {
        let opened = self.disk.open(path, self.options, session);
        opened.map_err(|error| match error.cause() {
            Cause::DirectIoUnsupported => error.advise(
                "set redo_write to a buffered way, or put the redo log on another file system",
            ),
            _ => error,
        })
    }

    /// Refuses a new file that can't be written in the way in which redo is.
    pub(crate) fn try_new(&self, path: &Path, session: &Session) -> Result<(), Stop> {
        let zeros = IoBuf::zeroed(REDO_BLOCK.bytes());
        let file = self.open_anew(path, session)?;
        Ok(file.write_at(0, &zeros, FileOperation::Fill.waiting(session))?)
    }

    /// Opens a member and locks it for `owned`. A member that can't be opened is noted there.
    pub(crate) fn lock(
        &self,
        path: &Path,
        owned: &mut OwnedFiles,
        session: &Session,
    ) -> Result<(), Stop> {
        match self.open_anew(path, session) {
            Ok(file) => {
                let what = "open the database";
                owned.lock(&file, session).map_err(|error| error.while_doing(what))?;
            }
            Err(error) => owned.note_failure(path, error),
        }
        Ok(())
    }

    /// Opens and locks an invalid member, without waiting for the lock.
    pub(crate) fn try_open(
        &self,
        path: &Path,
        blocks: u32,
        session: &Session,
    ) -> Result<File, Stop> {
        let file = self.open_anew(path, session)?;
        if !file.try_lock()? {
            let message = format!("another program has {} open", path.display());
            return Err(Stop::refuse(RefusalKind::WrongState, message));
        }
        check_length(&file, blocks)?;
        Ok(file)
    }

    /// Forgets the members that were opened before: from now on each is opened anew.
    pub(crate) fn let_go(&mut self) {
        self.owned = OwnedFiles::default();
    }
}

/// Refuses a file whose length isn't that of a redo log of `blocks` blocks.
pub(crate) fn check_length(file: &File, blocks: u32) -> Result<(), Stop> {
    let (found, expected) = (file.length()?, file_bytes(blocks));
    if found != expected {
        return Err(corrupt(format!(
            "{} has {found} bytes, and a redo log of {blocks} blocks has {expected}: put the right \
             file back",
            file.path().display(),
        )));
    }
    Ok(())
}

impl std::fmt::Debug for Medium {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Medium({:?}, {:?})", self.owner, self.options)
    }
}
