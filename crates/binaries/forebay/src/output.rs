//! What a command prints, and its exit status.
//!
//! ```text
//!   Ok(text)                      standard output, status 0
//!   Err(Failure { text, message })  the text to standard output, the message to standard error
//! ```
//!
//! What can't be written to standard output is a failure too, unless its reader has gone away. That
//! ends `load run --acknowledge`, though, with a failure: its commits must be told.
//! Nothing depends on standard error: what can't be written there is lost. A message there is one
//! line, which is broken into shorter ones for a person at a terminal.
//!
//! Callers: `main`, and each command for its result.

use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

use report::{COLUMNS, paragraph};
use serde_json::Value;
use stop::Stop;

/// What a command prints, or why it failed.
pub(crate) type CommandResult = Result<String, Failure>;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    status: u8,
    /// What the command found out before it failed.
    text: String,
    /// What standard error is told; `None` if the text says all.
    message: Option<String>,
}

const FAILED: u8 = 1;
const USAGE: u8 = 2;
/// The status that a shell gives for a command that SIGINT has ended.
const INTERRUPTED: u8 = 130;

impl Failure {
    /// The command couldn't be carried out.
    pub(crate) fn new(message: impl Display) -> Failure {
        Failure { status: FAILED, text: String::new(), message: Some(message.to_string()) }
    }

    /// The command line was wrong.
    pub(crate) fn usage(message: impl Display) -> Failure {
        Failure { status: USAGE, ..Failure::new(message) }
    }

    /// A signal ended the command before it had an answer.
    pub(crate) fn stopped(message: impl Display) -> Failure {
        Failure { status: INTERRUPTED, ..Failure::new(message) }
    }

    /// A signal ended the command early; the text says how far it came.
    pub(crate) fn cut_short(text: String) -> Failure {
        Failure { status: INTERRUPTED, text, message: None }
    }

    /// The command was carried out, and found something wrong, which was printed.
    pub(crate) fn found() -> Failure {
        Failure { status: FAILED, text: String::new(), message: None }
    }

    /// This failure, whose message says `more` too.
    pub(crate) fn saying(self, more: &str) -> Failure {
        let message = self.message.map(|message| format!("{message}; {more}"));
        Failure { message, ..self }
    }

    /// This failure, after a text that the command prints all the same.
    pub(crate) fn behind(self, text: String) -> Failure {
        Failure { text, ..self }
    }
}

impl From<Stop> for Failure {
    /// A command that a signal has asked to end is refused somewhere on its way.
    fn from(stop: Stop) -> Failure {
        match os::linux::interrupted() {
            true => Failure::stopped(stop),
            false => Failure::new(stop),
        }
    }
}

impl From<os::Error> for Failure {
    fn from(error: os::Error) -> Failure {
        Failure::new(error)
    }
}

/// Prints a command's result, and returns its exit status.
pub(crate) fn end(result: CommandResult) -> ExitCode {
    let failure = match result {
        Ok(text) => match print(&text) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(failure) => failure,
        },
        Err(failure) => {
            if let Err(unprinted) = print(&failure.text) {
                complain(&unprinted);
            }
            failure
        }
    };
    complain(&failure);
    ExitCode::from(failure.status)
}

fn complain(failure: &Failure) {
    if let Some(message) = &failure.message {
        tell(&format!("forebay: {message}"));
    }
}

/// Writes to standard output. A reader that has gone away wants no more: that is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_to_reader(text)?;
    Ok(())
}

/// Writes to standard output; false if its reader has gone away, and wants no more.
pub(crate) fn print_to_reader(text: &str) -> Result<bool, os::Error> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(os::Error::from_io("write to standard output", &error)),
    }
}

/// The real world. Its notices go to standard error, each behind `before`, but for those of
/// databases that the command aborts itself: they are no news.
pub(crate) fn start_world(before: &'static str) -> os::Os {
    os::linux::start_with(Arc::new(move |line: &str| {
        if !line.contains("it was aborted") {
            tell(&format!("{before}notice: {line}"));
        }
    }))
}

/// Writes lines to standard error. For a person at a terminal those that are too long are broken.
pub(crate) fn tell(lines: &str) {
    write_error(&match std::io::stderr().is_terminal() {
        true => fitting(lines),
        false => format!("{lines}\n"),
    });
}

/// Writes a text to standard error as it is.
pub(crate) fn write_error(text: &str) {
    // There is no other place to say it.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// The lines, broken where they are too long for a screen.
pub(crate) fn fitting(lines: &str) -> String {
    let fit = |line: &str| match line.len() {
        ..=COLUMNS => format!("{line}\n"),
        _ => paragraph(line, ""),
    };
    lines.lines().map(fit).collect()
}

/// A page of JSON, for programs.
pub(crate) fn json_page(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).expect("numbers and texts can be written");
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else a terminal breaks it within a word.
    #[test]
    fn a_line_that_is_too_long_for_a_screen_is_broken_at_blanks() {
        let words = "what can't be had, why, and what to do instead ".repeat(4);
        let notice = format!("\nnotice: {}", words.trim_end());
        let broken = fitting(&notice);
        assert!(broken.lines().count() >= 4 && broken.ends_with("instead\n"), "{broken}");
        assert!(broken.lines().all(|line| line.len() <= COLUMNS), "{broken}");
        assert_eq!(broken.trim_end().replace('\n', " "), notice.replace('\n', " "));
        let bar = format!("   4.436        218  {}", "#".repeat(59));
        assert_eq!(fitting(&format!("{bar}\n{bar}")), format!("{bar}\n{bar}\n"));
    }
}
