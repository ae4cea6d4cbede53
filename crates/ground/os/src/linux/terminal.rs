//! What a shell has beside the files of a database: standard input, the environment, texts in
//! files, a pager, an editor.
//!
//! The engine uses none of it. Each call that waits is a wait of the caller's, as everywhere.
//!
//! Callers: the binary's shell.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::{Cause, Error, Waiting};

/// The longest line of standard input, and the longest text of a file, in bytes.
const TEXT_BYTES_MAX: u64 = 1 << 30;
/// How often a read that waits asks whether it is wanted still.
const LOOK_EVERY_MS: libc::c_int = 100;
/// What errors say of standard input.
const READ_INPUT: &str = "read standard input";

/// A variable of the environment; none if it isn't set, or is empty.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Whether a person sits before standard input.
pub fn input_is_terminal() -> bool {
    std::io::stdin().is_terminal()
}

/// Does something that waits for a person, or for a program that reads what is written.
pub fn wait_for_person<T>(waiting: Waiting<'_>, act: impl FnOnce() -> T) -> T {
    waiting.around(|_, _| (act(), false))
}

/// What came of reading a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InputLine {
    /// The line, with its end if it has one.
    Line(String),
    /// There are no more lines.
    End,
    /// The caller wanted no more while there was nothing to read.
    Unwanted,
}

/// Standard input, line by line.
pub struct StandardInput {
    reader: BufReader<File>,
}

impl StandardInput {
    /// Standard input from here on.
    ///
    /// # Errors
    /// The process may open no more files.
    pub fn new() -> Result<StandardInput, Error> {
        let opened = std::io::stdin().as_fd().try_clone_to_owned();
        let opened = opened.map_err(|error| Error::from_io(READ_INPUT, &error))?;
        Ok(StandardInput { reader: BufReader::new(File::from(opened)) })
    }

    /// The next line. While there is nothing to read, `is_wanted` is asked several times a second.
    ///
    /// # Errors
    /// It can't be read, is no UTF-8, or is longer than 1 GiB.
    pub fn read_line(
        &mut self,
        is_wanted: &dyn Fn() -> bool,
        waiting: Waiting<'_>,
    ) -> Result<InputLine, Error> {
        let wrong = |what: &str| Error::new(READ_INPUT, Cause::Invalid, what);
        let mut line = Vec::new();
        loop {
            let comes = !self.reader.buffer().is_empty()
                || waiting.around(|_, _| (wait_for_input(is_wanted), false));
            if !comes {
                return Ok(InputLine::Unwanted);
            }
            let piece = match self.reader.fill_buf() {
                Ok(piece) => piece,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(Error::from_io(READ_INPUT, &error)),
            };
            let end = piece.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
            let taken = end.unwrap_or(piece.len());
            line.extend_from_slice(&piece[..taken]);
            self.reader.consume(taken);
            if end.is_some() || taken == 0 {
                break;
            }
            if line.len() as u64 > TEXT_BYTES_MAX {
                return Err(wrong("a line is longer than 1 GiB"));
            }
        }
        match line.is_empty() {
            true => Ok(InputLine::End),
            false => match String::from_utf8(line) {
                Ok(line) => Ok(InputLine::Line(line)),
                Err(_) => Err(wrong("it is no UTF-8")),
            },
        }
    }
}

/// Waits until standard input can be read without waiting, or has ended; false if it isn't wanted
/// any more.
fn wait_for_input(is_wanted: &dyn Fn() -> bool) -> bool {
    while is_wanted() {
        let mut input = libc::pollfd { fd: libc::STDIN_FILENO, events: libc::POLLIN, revents: 0 };
        // SAFETY: the call reads and fills this one entry, and keeps nothing of it.
        let found = unsafe { libc::poll(&raw mut input, 1, LOOK_EVERY_MS) };
        let is_wrong =
            found < 0 && std::io::Error::last_os_error().kind() != ErrorKind::Interrupted;
        // The read says what is wrong.
        if found > 0 || is_wrong {
            return true;
        }
    }
    false
}

/// The text of a file, of a pipe, or of whatever else can be read.
///
/// # Errors
/// It can't be read, is no UTF-8, or is longer than 1 GiB.
pub fn read_text(path: &Path, waiting: Waiting<'_>) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let read = waiting.around(|_, _| {
        let file = File::open(path);
        (file.and_then(|file| file.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes)), false)
    });
    read.map_err(|error| Error::on("read", path, &error))?;
    let wrong = |what: &str| Error::new(format!("read {}", path.display()), Cause::Invalid, what);
    if bytes.len() as u64 > TEXT_BYTES_MAX {
        return Err(wrong("it is longer than 1 GiB"));
    }
    String::from_utf8(bytes).map_err(|_| wrong("it is no text in UTF-8"))
}

/// A file that texts are written into, one after the other.
pub struct TextFile {
    file: File,
    path: PathBuf,
}

impl TextFile {
    /// A new file, or one that was there and is emptied.
    ///
    /// # Errors
    /// It can't be made or opened.
    pub fn create(path: &Path, waiting: Waiting<'_>) -> Result<TextFile, Error> {
        let made = waiting.around(|_, _| (File::create(path), false));
        let file = made.map_err(|error| Error::on("create", path, &error))?;
        Ok(TextFile { file, path: path.to_path_buf() })
    }

    /// Writes a text behind those that are there.
    ///
    /// # Errors
    /// It can't be written.
    pub fn append(&mut self, text: &str, waiting: Waiting<'_>) -> Result<(), Error> {
        let written = waiting.around(|_, _| (self.file.write_all(text.as_bytes()), false));
        written.map_err(|error| Error::on("write", &self.path, &error))
    }
}

/// The command that shows long texts: `$PAGER`, or else `less` if the machine and the terminal have
/// what it needs.
pub fn pager() -> Option<OsString> {
    variable("PAGER").or_else(|| {
        let is_able = variable("TERM").is_some_and(|term| term != "dumb");
        let folders = variable("PATH").filter(|_| is_able)?;
        let is_there = std::env::split_paths(&folders).any(|folder| folder.join("less").is_file());
        is_there.then(|| "less".into())
    })
}

/// A program that reads text: a pager, or what a person has chosen.
pub struct Pager {
    child: Child,
    input: Option<ChildStdin>,
}

impl Pager {
    /// Starts this command of the shell (`less -S`). `less` leaves on the screen what it has shown,
    /// unless `$LESS` says otherwise.
    ///
    /// # Errors
    /// It can't be started.
    pub fn start(command: &OsStr) -> Result<Pager, Error> {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(command).stdin(Stdio::piped());
        if variable("LESS").is_none() {
            shell.env("LESS", "FRSX");
        }
        let mut child = shell.spawn().map_err(|error| Error::from_io("start the pager", &error))?;
        let input = child.stdin.take();
        Ok(Pager { child, input })
    }

    /// Gives it more text; false if it has been left, and wants no more.
    pub fn write(&mut self, text: &str, waiting: Waiting<'_>) -> bool {
        let Some(input) = &mut self.input else { return false };
        let written = waiting.around(|_, _| (input.write_all(text.as_bytes()), false));
        if written.is_err() {
            self.input = None;
        }
        self.input.is_some()
    }

    /// Waits until the person leaves it.
    pub fn end(mut self, waiting: Waiting<'_>) {
        self.input = None;
        // How it ends is between it and the person.
        let _ = waiting.around(|_, _| (self.child.wait(), false));
    }
}

/// Has a person change a text in their editor, and returns what it is then. The editor is
/// `$VISUAL`, `$EDITOR`, or else `vi`.
///
/// # Errors
/// There is no place for the text, the editor can't be started, or it fails.
pub fn edit(text: &str, waiting: Waiting<'_>) -> Result<String, Error> {
    let path = std::env::temp_dir().join(format!("forebay-{}.sql", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let made = options.open(&path);
    let mut file = made.map_err(|error| Error::on("create", &path, &error))?;
    let written = file.write_all(text.as_bytes());
    drop(file);
    let edited = match written {
        Ok(()) => edit_file(&path, waiting),
        Err(error) => Err(Error::on("write", &path, &error)),
    };
    // Nobody needs it any more; where it can't be removed, it harms nobody.
    let _ = std::fs::remove_file(&path);
    edited
}

fn edit_file(path: &Path, waiting: Waiting<'_>) -> Result<String, Error> {
    let chosen = variable("VISUAL").or_else(|| variable("EDITOR"));
    let mut command = chosen.unwrap_or_else(|| "vi".into());
    command.push(" \"$0\"");
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).arg(path);
    match waiting.around(|_, _| (shell.status(), false)) {
        Ok(status) if status.success() => read_text(path, waiting),
        Ok(status) => {
            let detail = format!("the editor ended with {status}");
            Err(Error::new("edit the statement", Cause::Other, detail))
        }
        Err(error) => Err(Error::from_io("start the editor", &error)),
    }
}
