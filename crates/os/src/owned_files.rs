//! The files that one opening of a database has locked (rule O10).
//!
//! Invariants
//!   * each is locked, and no two are one file
//!
//! Callers: whoever opens all files of a database.

use std::path::Path;

use crate::{Cause, Error, File, Session};

/// Files that are locked for one owner, open.
#[derive(Clone, Debug, Default)]
pub struct OwnedFiles {
    files: Vec<File>,
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

    /// Lets the one of this name go. It is unlocked when nobody else has it open.
    pub fn forget(&mut self, path: &Path) {
        self.files.retain(|file| file.path() != path);
    }
}
