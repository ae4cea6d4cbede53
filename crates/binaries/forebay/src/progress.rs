//! How far something is, on standard error.
//!
//! Callers: `laboratory`, `verification`.

use std::io::{IsTerminal, Write};

/// A line that writes over itself on a terminal, and lines elsewhere.
pub(crate) struct Progress {
    is_terminal: bool,
    length: usize,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress { is_terminal: std::io::stderr().is_terminal(), length: 0 }
    }

    /// Whether anybody sees it at once.
    pub(crate) fn is_watched(&self) -> bool {
        self.is_terminal
    }

    pub(crate) fn tell(&mut self, line: &str) {
        let mut out = std::io::stderr().lock();
        // Whoever doesn't read it misses it.
        let _ = match self.is_terminal {
            true => write!(out, "\r{line:<width$}", width = self.length),
            false => writeln!(out, "{line}"),
        };
        let _ = out.flush();
        self.length = line.len();
    }

    pub(crate) fn end(&mut self) {
        if self.is_terminal && self.length > 0 {
            // As above.
            let _ = write!(std::io::stderr(), "\r{:<width$}\r", "", width = self.length);
        }
    }
}
