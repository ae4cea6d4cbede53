//! A folder of one test, and the program as started there.

use std::io::BufRead;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::SystemTime;

/// A folder of its own, gone when the test ends.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }

    /// One with a small database.
    pub(crate) fn with_database(name: &str) -> Folder {
        Folder::filled(name, &["--megabytes", "1"])
    }

    /// One with a database made by `load create` and these options.
    pub(crate) fn filled(name: &str, filling: &[&str]) -> Folder {
        let folder = Folder::new(name);
        folder.create(filling);
        folder
    }

    /// Makes the database `db`.
    pub(crate) fn create(&self, filling: &[&str]) {
        let create = ["load", "create", "db", "--set", "log_file_bytes=1m"];
        self.said(&[&create, filling].concat());
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
        command.args(arguments).current_dir(&self.0);
        command
    }

    pub(crate) fn forebay(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program starts")
    }

    /// The same for what takes moments, or never ends where something is wrong: after minutes it is
    /// stopped, with a status of 124. No machine is so slow that it matters.
    pub(crate) fn briefly(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.args(["300", env!("CARGO_BIN_EXE_forebay")]).args(arguments).current_dir(&self.0);
        command
    }

    /// What it says, where it succeeds.
    pub(crate) fn said(&self, arguments: &[&str]) -> String {
        said(&self.forebay(arguments))
    }

    /// The one line that it refuses with.
    pub(crate) fn refused(&self, arguments: &[&str]) -> String {
        refused(&self.forebay(arguments))
    }

    /// The one line about a wrong command line.
    pub(crate) fn misused(&self, arguments: &[&str]) -> String {
        let output = self.forebay(arguments);
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
        said
    }

    /// Path, content and time of last change of every file in a directory of the folder.
    pub(crate) fn contents(&self, directory: &str) -> Vec<(PathBuf, Vec<u8>, SystemTime)> {
        let entries = std::fs::read_dir(self.0.join(directory)).expect("it is there");
        let file = |entry: std::io::Result<std::fs::DirEntry>| {
            let path = entry.expect("it is there").path();
            let changed = std::fs::metadata(&path).and_then(|of| of.modified());
            let content = std::fs::read(&path).expect("it can be read");
            (path, content, changed.expect("files have times"))
        };
        let mut files: Vec<_> = entries.map(file).collect();
        files.sort();
        files
    }

    /// What lies in the folder.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("it is there");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("it is there").file_name().to_string_lossy().into_owned()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Reads lines up to one with this in it; what was read.
///
/// # Panics
/// When it ends without.
pub(crate) fn heard(from: &mut impl BufRead, sought: &str) -> String {
    let mut all = String::new();
    while all.lines().next_back().is_none_or(|line| !line.contains(sought)) {
        let read = from.read_line(&mut all).expect("it is text");
        assert!(read > 0, "it never said \"{sought}\": {all}");
    }
    all
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What it says, where it succeeded.
pub(crate) fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// The one line that it refused with. A member of a log may become good again as the database
/// opens, and that is said too.
pub(crate) fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    let error: Vec<&str> = said.lines().filter(|line| !line.starts_with("notice: ")).collect();
    assert_eq!(error.len(), 1, "one line: {said}");
    error[0].to_string()
}

/// Ctrl-C.
pub(crate) fn interrupt(process: u32) {
    let sent = Command::new("kill").args(["-INT", &process.to_string()]).status();
    assert!(sent.expect("kill runs").success());
}
