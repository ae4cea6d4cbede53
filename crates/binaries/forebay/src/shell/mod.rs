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
//! | `open_database` | the real one; `describe`, `definitions`: its dictionary; `profile`: times |
//! | `console` | what is asked of the world; `terminal` is the real one |
//! | `collect` | lines to statements and commands |
//! | `command` | commands with a backslash |
//! | `session`, `lines` | runs statements and commands, one after the other |
//! | `perform`, `copy` | what commands do; COPY with the shell at its other end |
//! | `display`, `render`, `aligned`, `expanded`, `machine`, `width` | rows as text |
//! | `failure` | a failure with its place under the statement |
//! | `complete` | what the Tab key offers |
//! | `watcher` | Ctrl-C and progress while a statement runs |
//!
//! A script stops at its first failure, with exit status 1, unless `--keep-going`. A person is told
//! of a failure, and the shell goes on.
//!
//! Callers: `main`.

mod aligned;
mod backend;
mod collect;
mod command;
mod complete;
mod console;
mod copy;
mod definitions;
mod describe;
mod display;
mod expanded;
mod failure;
mod lines;
mod machine;
mod open_database;
mod perform;
mod profile;
mod render;
mod session;
mod terminal;
#[cfg(test)]
mod tests;
mod watcher;
mod width;

use std::path::PathBuf;

use clap::Args;
use database::Database;
use os::{Disk, Session as OsSession};
use waits::SessionKind;

use self::backend::Backend;
use self::console::Console;
use self::display::{Display, Expanded, Format};
use self::open_database::OpenDatabase;
use self::session::{Origin, Session};
use self::terminal::Terminal;
use crate::opening::Opening;
use crate::output::{CommandResult, Failure, start_world, tell};
use crate::recover::tell_if_recovered;

/// The command line of `forebay sql`.
#[derive(Args)]
pub(crate) struct Sql {
    #[command(flatten)]
    opening: Opening,
    /// Makes the database first, if DIR is empty or isn't there.
    #[arg(long)]
    create: bool,
    /// Runs these statements and ends; may be given several times.
    #[arg(short = 'c', long = "command", value_name = "SQL", allow_hyphen_values = true)]
    commands: Vec<String>,
    /// Runs a file's statements and ends, behind those of -c; may be given several times. - is
    /// standard input.
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
}

impl Sql {
    /// Opens the database, runs the shell on it, and shuts it.
    pub(crate) fn carry_out(self) -> CommandResult {
        let os = start_world("");
        let session = os.adopt("forebay", SessionKind::Foreground);
        let database = self.open(&os::linux::disk(), &session)?;
        let status = self.work(&database, &session);
        match (status, database.shutdown_by(&session)) {
            (status, Ok(())) => status,
            (Ok(_), Err(stop)) => Err(stop.into()),
            (Err(failure), Err(stop)) => {
                // A statement has told of a halt already.
                if stop.refusal().is_some() {
                    tell(&format!("forebay: {stop}"));
                }
                Err(failure)
            }
        }
    }

    /// Opens the database. Where there is none it is made, if that is wanted.
    fn open(&self, disk: &Disk, session: &OsSession) -> Result<Database, Failure> {
        if self.opening.has_nothing(disk, session)? {
            if self.create {
                return self.opening.create(disk, session);
            }
            let directory = self.opening.directory.display();
            let message = format!("there is no database in {directory}; --create makes one");
            return Err(Failure::new(message));
        }
        let database = self.opening.open(disk, session)?;
        tell_if_recovered(database.instance().opened());
        Ok(database)
    }

    fn work(self, database: &Database, session: &OsSession) -> CommandResult {
        let mut terminal = Terminal::start(session);
        let mut backend = OpenDatabase::connect(database, session);
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
            () if os::linux::terminal::input_is_terminal() => {
                session.greet();
                session.talk();
            }
            () => {
                session.run_input();
            }
        }
        session.end()
    }
}
