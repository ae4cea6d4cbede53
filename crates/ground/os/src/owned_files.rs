//! The files that one opening of a database has locked (rule O10).
//!
//! Invariants
//!   * each is locked, and no two are one file
//!
//! Callers: whoever opens all files of a database.

use std::path::{Path, PathBuf};

use crate::{Cause, Error, File, Session};

/// Files that are locked for one owner, open.
#[derive(Clone, Debug, Default)]
pub struct OwnedFiles {
    files: Vec<File>,
    /// Names of files that couldn't be opened to be locked, and why.
    failed: Vec<(PathBuf, Error)>,
}

impl OwnedFiles {
    /// Locks one more, before anything of it is read. Refused if another program has it, or if it
    /// is one of these under another name.
    pub fn lock(&mut self, file: &File, session: &Session) -> Result<(), Error> {
        for other in &self.files {
            if file.is_same_file(other)? {
                let (name, other) = (file.path().display(), other.path().display());
                let detail = format!("{other} and it are one file under two names");
                return Err(Error::new(format!("use {name}"), Cause::SameFile, detail));
            }
        }
        file.lock(session)?;
        self.files.push(file.clone());
        Ok(())
    }

    /// The one that was opened by this name, if there is one.
    pub fn find(&self, path: &Path) -> Option<&File> {
        self.files.iter().find(|file| file.path() == path)
    }

    /// This one couldn't be opened, so it isn't locked: nobody is to use it.
    pub fn note_failure(&mut self, path: &Path, error: Error) {
        self.failed.push((path.to_path_buf(), error));
    }

    /// Why the file of this name isn't one of these, if it couldn't be opened.
    pub fn failure(&self, path: &Path) -> Option<&Error> {
        self.failed.iter().find(|(name, _)| name == path).map(|(_, error)| error)
    }

    /// Lets the one of this name go. It is unlocked when nobody else has it open.
    pub fn forget(&mut self, path: &Path) {
        self.failed.retain(|(name, _)| name != path);
        self.files.retain(|file| file.path() != path);
    }
}
