//! How far a command is, on standard error.
//!
//! Callers: `laboratory`, `load`, `verification`.

use std::io::{IsTerminal, Write};

use os::Session;
use waits::{Nanos, Timestamp};

/// A line that is overwritten as often as this changes fast enough for an eye.
const SHOW_EVERY: Nanos = Nanos::from_millis(200);

/// A line that writes over itself on a terminal, and lines elsewhere.
pub(crate) struct Progress {
    is_terminal: bool,
    length: usize,
    shown: Option<Timestamp>,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress { is_terminal: std::io::stderr().is_terminal(), length: 0, shown: None }
    }

    /// Shows `line` on a terminal, a few times a second however often this is called. Elsewhere
    /// nothing is written.
    pub(crate) fn show(&mut self, line: impl FnOnce() -> String, session: &Session) {
        let now = session.now();
        let is_due = self.shown.is_none_or(|shown| now.since(shown) >= SHOW_EVERY);
        if self.is_terminal && is_due {
            self.shown = Some(now);
            self.tell(&line());
        }
    }

    /// Shows `line` at once, also where that isn't a terminal.
    pub(crate) fn tell(&mut self, line: &str) {
        let mut out = std::io::stderr().lock();
        // A reader that doesn't take it misses it.
        let _ = match self.is_terminal {
            true => write!(out, "\r{line:<width$}", width = self.length),
            false => writeln!(out, "{line}"),
        };
        let _ = out.flush();
        self.length = line.len();
    }

    /// Wipes the line from the terminal.
    pub(crate) fn end(&mut self) {
        if self.is_terminal && self.length > 0 {
            // As above.
            let _ = write!(std::io::stderr(), "\r{:<width$}\r", "", width = self.length);
        }
    }
}
