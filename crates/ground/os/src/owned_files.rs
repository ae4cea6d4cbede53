//! The files that one opening of a database has locked (rule O10).
//!
//! Invariants
//!   * each is locked, and no two are one file
//!
//! Callers: code that opens all files of a database.

use std::path::{Path, PathBuf};

use crate::{Cause, Error, File, Session};

/// The open files that are locked for one owner.
#[derive(Clone, Debug, Default)]
pub struct OwnedFiles {
    files: Vec<OwnedFile>,
    /// The paths of files that couldn't be opened to be locked, with the errors.
    failed: Vec<(PathBuf, Error)>,
}

#[derive(Clone, Debug)]
struct OwnedFile {
    file: File,
    /// Device and number. Asked once: each file that comes is compared with all before it.
    identity: (u64, u64),
}

impl OwnedFiles {
    /// Locks one more file, before it is read. It is refused if another program has the lock, or if
    /// the file is already here under another name.
    pub fn lock(&mut self, file: &File, session: &Session) -> Result<(), Error> {
        let identity = file.identity()?;
        if let Some(other) = self.files.iter().find(|other| other.identity == identity) {
            let (name, other) = (file.path().display(), other.file.path().display());
            let detail = format!("{other} and it are one file under two names");
            return Err(Error::new(format!("use {name}"), Cause::SameFile, detail));
        }
        file.lock(session)?;
        self.files.push(OwnedFile { file: file.clone(), identity });
        Ok(())
    }

    /// The file that was opened by this path, if any.
    pub fn find(&self, path: &Path) -> Option<&File> {
        self.files.iter().map(|owned| &owned.file).find(|file| file.path() == path)
    }

    /// Notes that this file couldn't be opened, so that it isn't locked and must not be used.
    pub fn note_failure(&mut self, path: &Path, error: Error) {
        self.failed.push((path.to_path_buf(), error));
    }

    /// The error if the file of this path couldn't be opened.
    pub fn failure(&self, path: &Path) -> Option<&Error> {
        self.failed.iter().find(|(name, _)| name == path).map(|(_, error)| error)
    }

    /// Removes the file of this path. It is unlocked when its last handle is closed.
    pub fn forget(&mut self, path: &Path) {
        self.failed.retain(|(name, _)| name != path);
        self.files.retain(|owned| owned.file.path() != path);
    }
}
