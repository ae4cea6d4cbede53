//! Folders on a real disk.
//!
//! Callers: tests that run on Linux itself.

#![expect(clippy::disallowed_methods, reason = "a test's folder is no file of the engine")]

use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A folder of one test, which is gone when the test ends.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder `name` in `parent`, empty. Tests have the build's own folder for that,
    /// `env!("CARGO_TARGET_TMPDIR")`, on a disk with direct I/O.
    ///
    /// # Panics
    ///
    /// If it can't be made.
    pub fn new(parent: &str, name: &str) -> Folder {
        let folder = Folder::absent(parent, name);
        std::fs::create_dir_all(&folder.0).expect("the parent is writable");
        folder
    }

    /// The same folder, but it isn't there yet.
    pub fn absent(parent: &str, name: &str) -> Folder {
        let path = Path::new(parent).join(name);
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
