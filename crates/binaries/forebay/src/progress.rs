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
// The cursor goes back to the front of a line. A `^C` that is typed is shown there, and wiped with
// the line: behind its end it would begin another one, and that would be wiped. One that stands
// there before the line is written over.
const BAR: &str = "\r{bar:12} {wide_msg}\r";
const LINE: &str = "\r{wide_msg}\r";

/// A line that is replaced on a terminal, and lines elsewhere.
pub(crate) struct Progress {
    bar: ProgressBar,
    shown: Option<Timestamp>,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress::on(ProgressDrawTarget::stderr_with_hz(PER_SECOND))
    }

    fn on(target: ProgressDrawTarget) -> Progress {
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

#[cfg(test)]
#[expect(clippy::disallowed_types, reason = "a terminal for threads outside of any simulator")]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use indicatif::TermLike;

    use super::*;

    const COLUMNS: usize = 20;
    const BLANK: [char; COLUMNS] = [' '; COLUMNS];

    /// What a terminal shows. A character behind the end of a line begins the next one.
    #[derive(Debug)]
    struct Screen {
        rows: Vec<[char; COLUMNS]>,
        row: usize,
        column: usize,
    }

    impl Screen {
        fn write(&mut self, text: &str) {
            for character in text.chars() {
                if character == '\r' {
                    self.column = 0;
                    continue;
                }
                if self.column == COLUMNS {
                    self.go_to(self.row + 1);
                    self.column = 0;
                }
                self.rows[self.row][self.column] = character;
                self.column += 1;
            }
        }

        fn go_to(&mut self, row: usize) {
            self.row = row;
            self.rows.resize(self.rows.len().max(row + 1), BLANK);
        }
    }

    #[derive(Clone, Debug)]
    struct Terminal(Arc<Mutex<Screen>>);

    impl Terminal {
        fn new() -> Terminal {
            Terminal(Arc::new(Mutex::new(Screen { rows: vec![BLANK], row: 0, column: 0 })))
        }

        fn with<T>(&self, act: impl FnOnce(&mut Screen) -> T) -> T {
            act(&mut self.0.lock().expect("nobody panics with it"))
        }

        fn does(&self, act: impl FnOnce(&mut Screen)) -> io::Result<()> {
            self.with(act);
            Ok(())
        }

        fn lines(&self) -> Vec<String> {
            let line = |row: &[char; COLUMNS]| row.iter().collect::<String>().trim_end().to_owned();
            self.with(|screen| screen.rows.iter().map(line).collect())
        }
    }

    impl TermLike for Terminal {
        fn width(&self) -> u16 {
            COLUMNS as u16
        }

        fn move_cursor_up(&self, n: usize) -> io::Result<()> {
            self.does(|screen| screen.go_to(screen.row.saturating_sub(n)))
        }

        fn move_cursor_down(&self, n: usize) -> io::Result<()> {
            self.does(|screen| screen.go_to(screen.row + n))
        }

        fn move_cursor_right(&self, n: usize) -> io::Result<()> {
            self.does(|screen| screen.column = (screen.column + n).min(COLUMNS - 1))
        }

        fn move_cursor_left(&self, n: usize) -> io::Result<()> {
            self.does(|screen| screen.column = screen.column.saturating_sub(n))
        }

        fn write_line(&self, text: &str) -> io::Result<()> {
            self.does(|screen| {
                screen.write(text);
                screen.go_to(screen.row + 1);
                screen.column = 0;
            })
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            self.does(|screen| screen.write(text))
        }

        fn clear_line(&self) -> io::Result<()> {
            self.does(|screen| (screen.rows[screen.row], screen.column) = (BLANK, 0))
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A terminal shows `^C` where its cursor is: before the line is drawn, or while it stands.
    #[test]
    fn a_line_is_wiped_with_the_ctrl_c_that_a_terminal_shows_in_it() {
        let typed = "^C^C";
        for with_bar in [false, true] {
            let terminal = Terminal::new();
            let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
            let mut progress = Progress::on(target);
            terminal.with(|screen| screen.write(typed));
            let text = "7 s: more than a line of it";
            for _ in 0..3 {
                match with_bar {
                    true => progress.show_share(text, 0.4),
                    false => progress.tell(text),
                }
                let lines = terminal.lines();
                assert_eq!(lines.len(), 1, "{lines:?}");
                assert!(lines[0].contains("7 s:") && !lines[0].contains('^'), "{lines:?}");
                terminal.with(|screen| screen.write(typed));
            }
            progress.end();
            assert_eq!(terminal.lines(), [""]);
        }
    }
}
