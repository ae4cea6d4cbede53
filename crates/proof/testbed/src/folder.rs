//! Folders on a real disk.
//!
//! Callers: tests that run on Linux itself.

#![expect(clippy::disallowed_methods, reason = "a test's folder is no file of the engine")]

use std::path::PathBuf;

/// A folder of one test, at this path, which is gone when the test ends.
#[derive(Debug)]
pub struct Folder(pub PathBuf);

impl Folder {
    /// An empty folder of this name.
    ///
    /// # Panics
    ///
    /// If it can't be made.
    pub fn new(name: &str) -> Folder {
        let folder = Folder::absent(name);
        std::fs::create_dir_all(&folder.0).expect("the build's folder is writable");
        folder
    }

    /// A folder of this name that isn't there yet. It lies in the folder `tmp` of the build, which
    /// is on a disk with direct I/O.
    ///
    /// # Panics
    ///
    /// If the test runs outside the folders of a build.
    pub fn absent(name: &str) -> Folder {
        let program = std::env::current_exe().expect("a test has a program");
        let build = program.ancestors().nth(3).expect("it lies in `PROFILE/deps` of the build");
        let path = build.join("tmp").join(name);
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
