//! What a shell has beside files: standard input, the environment, a pager.
//!
//! The engine uses none of it. Each call that waits is a wait of the caller's, as everywhere.
//!
//! Callers: the binary's shell.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, IsTerminal, Read, Stdin, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::{Cause, Error, Waiting};

/// The longest line of standard input, in bytes.
const LINE_BYTES_MAX: u64 = 1 << 30;

/// A variable of the environment; none if it isn't set, or is empty.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Whether a person sits before standard input.
pub fn input_is_terminal() -> bool {
    std::io::stdin().is_terminal()
}

/// Does something that waits for a person: reads a line by other means than [`StandardInput`].
pub fn wait_for_person<T>(waiting: Waiting<'_>, read: impl FnOnce() -> T) -> T {
    waiting.around(|_, _| (read(), false))
}

/// Standard input, line by line.
pub struct StandardInput {
    reader: BufReader<Stdin>,
}

impl StandardInput {
    /// Standard input from here on.
    #[expect(clippy::new_without_default, reason = "there is one standard input")]
    pub fn new() -> StandardInput {
        StandardInput { reader: BufReader::new(std::io::stdin()) }
    }

    /// The next line with its end; none behind the last one.
    ///
    /// # Errors
    /// It can't be read, is no UTF-8, or is longer than 1 GiB.
    pub fn read_line(&mut self, waiting: Waiting<'_>) -> Result<Option<String>, Error> {
        let mut line = Vec::new();
        let read = waiting.around(|_, _| {
            let mut limited = self.reader.by_ref().take(LINE_BYTES_MAX);
            (limited.read_until(b'\n', &mut line), false)
        });
        let wrong = |what: &str| Error::new("read standard input", Cause::Invalid, what);
        match read {
            Ok(0) => Ok(None),
            Ok(length) if length as u64 == LINE_BYTES_MAX && !line.ends_with(b"\n") => {
                Err(wrong("a line is longer than 1 GiB"))
            }
            Ok(_) => String::from_utf8(line).map(Some).map_err(|_| wrong("it is no UTF-8")),
            Err(error) => Err(Error::from_io("read standard input", &error)),
        }
    }
}

/// A program that shows text page by page.
pub struct Pager {
    child: Child,
    input: Option<ChildStdin>,
}

impl Pager {
    /// Starts this command of the shell (`less -S`).
    ///
    /// # Errors
    /// It can't be started.
    pub fn start(command: &std::ffi::OsStr) -> Result<Pager, Error> {
        let started = Command::new("/bin/sh").arg("-c").arg(command).stdin(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| Error::from_io("start the pager", &error))?;
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
