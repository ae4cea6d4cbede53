//! How far a command is, on standard error: a line that is replaced on a terminal, lines elsewhere.
//!
//! Callers: `laboratory`, `load`, `shell`, `verification`.

use std::io::Write;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use os::Session;
use waits::{Nanos, Timestamp};

/// A line that is replaced as often as this changes fast enough for an eye.
const SHOW_EVERY: Nanos = Nanos::from_millis(200);
const PER_SECOND: u8 = 5;
/// The steps of a bar.
const STEPS: u64 = 1_000;
const BAR: &str = "{bar:12} {wide_msg}";
const LINE: &str = "{wide_msg}";

/// A line that is replaced on a terminal, and lines elsewhere.
pub(crate) struct Progress {
    bar: ProgressBar,
    shown: Option<Timestamp>,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        let target = ProgressDrawTarget::stderr_with_hz(PER_SECOND);
        let bar = ProgressBar::with_draw_target(Some(STEPS), target);
        bar.set_style(style(LINE));
        Progress { bar, shown: None }
    }

    /// Shows `line` on a terminal, a few times a second however often this is called. Elsewhere
    /// nothing is written.
    pub(crate) fn show(&mut self, line: impl FnOnce() -> String, session: &Session) {
        let now = session.now();
        let is_due = self.shown.is_none_or(|shown| now.since(shown) >= SHOW_EVERY);
        if !self.bar.is_hidden() && is_due {
            self.shown = Some(now);
            self.bar.set_style(style(LINE));
            self.bar.set_message(line());
        }
    }

    /// Shows `line` on a terminal, behind a bar that is filled to this share. Elsewhere nothing is
    /// written.
    pub(crate) fn show_share(&mut self, line: &str, share: f64) {
        self.bar.set_style(style(BAR));
        self.bar.set_message(line.to_owned());
        self.bar.set_position((share.clamp(0.0, 1.0) * STEPS as f64) as u64);
    }

    /// Shows `line` at once, also where that isn't a terminal.
    pub(crate) fn tell(&mut self, line: &str) {
        match self.bar.is_hidden() {
            // A reader that doesn't take it misses it.
            true => drop(writeln!(std::io::stderr().lock(), "{line}")),
            false => self.bar.set_message(line.to_owned()),
        }
    }

    /// Wipes the line from the terminal.
    pub(crate) fn end(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("it is a template").progress_chars("=> ")
}
