//! `forebay sql DIR`: a shell, for people at a terminal and for scripts.
//!
//! ```text
//!   a person ── terminal ──┐                            ┌─▶ backend: a database, in this process
//!   -c, -f, stdin, \i ─────┴▶ collect ─▶ session ───────┤
//!                             statements, commands      └─▶ render, failure ─▶ console: pager, \o
//! ```
//!
//! | module | what it has |
//! |---|---|
//! | `backend` | [`backend::Backend`]: what is asked of a database |
//! | `console` | what is asked of the world; `terminal` is the real one |
//! | `collect` | lines to statements and commands |
//! | `command` | commands with a backslash |
//! | `session` | runs statements and commands, one after the other |
//! | `display`, `render`, `aligned`, `expanded`, `machine`, `width` | rows as text |
//! | `failure` | a failure with its place under the statement |
//! | `complete` | what the Tab key offers |
//! | `watcher` | Ctrl-C and progress while a statement runs |
//!
//! A script stops at its first failure, with exit status 1, unless `--keep-going`. A person is told
//! of a failure, and the shell goes on.
//!
//! Callers: `main`, once there is a database that speaks SQL.

mod aligned;
mod backend;
mod collect;
mod command;
mod complete;
mod console;
mod display;
mod expanded;
mod failure;
mod machine;
mod render;
mod session;
mod terminal;
#[cfg(test)]
mod tests;
mod watcher;
mod width;

use std::path::{Path, PathBuf};

use clap::Args;

use self::backend::Backend;
use self::console::Console;
use self::display::{Display, Expanded, Format};
use self::session::{Origin, Session};
use self::terminal::Terminal;
use crate::output::{CommandResult, Failure};
use crate::settings::Settings;

/// The command line of `forebay sql`.
#[derive(Args)]
pub(crate) struct Sql {
    /// The database's directory.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Runs these statements and ends; may be given several times.
    #[arg(short = 'c', long = "command", value_name = "SQL")]
    commands: Vec<String>,
    /// Runs a file's statements and ends, behind those of -c; may be given several times.
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The form of rows.
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "aligned")]
    format: Format,
    /// Leaves out the names of columns and the number of rows.
    #[arg(long)]
    no_header: bool,
    /// Goes on behind a statement of a script that failed.
    #[arg(long)]
    keep_going: bool,
    #[command(flatten)]
    settings: Settings,
}

impl Sql {
    /// Opens the database by `open`, and runs the shell on it.
    pub(crate) fn carry_out<B: Backend>(
        self,
        open: impl FnOnce(&Path, &Settings, &os::Os) -> Result<B, Failure>,
    ) -> CommandResult {
        let mut terminal = Terminal::start();
        let mut backend = open(&self.directory, &self.settings, terminal.os())?;
        let status = self.run(&mut backend, &mut terminal);
        terminal.end();
        status
    }

    /// Runs what is asked for, on this database and in this world.
    fn run(self, backend: &mut dyn Backend, console: &mut dyn Console) -> CommandResult {
        let display = Display {
            format: self.format,
            no_header: self.no_header,
            expanded: Expanded::Auto,
            ..Display::default()
        };
        let mut session = Session::new(backend, console, display, self.keep_going);
        let is_script = !self.commands.is_empty() || !self.files.is_empty();
        for command in &self.commands {
            if !session.run_text(command, &Origin::Command) {
                return session.end();
            }
        }
        for file in &self.files {
            if !session.run_file(file) {
                return session.end();
            }
        }
        match () {
            () if is_script => {}
            () if os::linux::terminal::input_is_terminal() => session.talk(),
            () => session.run_input(),
        }
        session.end()
    }
}

/// Whether a line is a command of the shell.
fn is_command(line: &str) -> bool {
    line.trim_start().starts_with('\\')
}
