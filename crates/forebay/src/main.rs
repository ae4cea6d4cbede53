//! The lean binary: experiments on the engine, and a look at the machine.
//!
//! `forebay lab run EXPERIMENT` runs a built-in experiment and says what came of it.
//!
//! `forebay load` makes a database, puts it under load, and audits it after a crash.
//!
//! `forebay logs DIR` lists the redo log groups of a database, and changes them.
//!
//! `forebay parameters` lists what can be chosen.
//!
//! `forebay verify DIR` checks a database that is shut, block by block and as a whole, and prints a
//! line for everything that is wrong.
//!
//! `forebay probe DIR` says what this machine and the file system at DIR offer to a database: the
//! clock, asynchronous and direct I/O, and the fastest way to make a write durable. It writes 4 MiB
//! there, into a file that has no name and is gone when the program ends, however it ends.
//!
//! Exit status: 0 when it is done, 1 when it failed or `verify` found something, 2 when the command
//! line is wrong. A failure is one line on standard error that says what failed, why, and what to
//! do.

#![forbid(unsafe_code)]

mod alter;
mod laboratory;
mod load;
mod logs;
mod order_entry;
mod probe;
mod progress;
mod settings;
mod verification;

use std::fmt::Display;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

const FAILED: u8 = 1;
const USAGE: u8 = 2;
/// What a shell gives for a command that SIGINT has ended.
const INTERRUPTED: u8 = 130;

/// An OLTP database in which every microsecond has a name.
#[derive(Parser)]
#[command(name = "forebay", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Says what this machine and the file system at DIR offer to a database.
    Probe {
        /// A directory on the file system where redo is to live.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// Prints JSON, for programs.
        #[arg(long)]
        json: bool,
    },
    /// Makes a database, works on it, and audits it after a crash.
    #[command(subcommand)]
    Load(load::Load),
    /// Runs experiments: two settings, one load, a verdict.
    #[command(subcommand)]
    Lab(laboratory::Lab),
    /// Lists the redo log groups of a database, after changes of them.
    Logs(logs::Logs),
    /// Checks a database that is shut: every block, space, undo, tables and indexes.
    Verify(verification::Verify),
    /// Lists the parameters: what each decides, its default, and what it takes.
    Parameters,
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            return print(&error.to_string());
        }
        Err(error) if error.use_stderr() => {
            return fail(USAGE, format!("cannot read the command line: {}", one_line(&error)));
        }
        // Help or the version was asked for, also by saying nothing.
        Err(error) => return print(&error.to_string()),
    };
    let (directory, json) = match arguments.command {
        Command::Parameters => return print(&settings::list()),
        Command::Probe { directory, json } => (directory, json),
        Command::Load(command) => {
            return match load::run(command) {
                Ok(text) if os::linux::interrupted() => {
                    print(&text);
                    ExitCode::from(INTERRUPTED)
                }
                Ok(text) => print(&text),
                Err(error) => fail(FAILED, error),
            };
        }
        Command::Verify(verify) => {
            return match verification::run(&verify) {
                Ok(true) => ExitCode::SUCCESS,
                Ok(false) => ExitCode::from(FAILED),
                Err(error) => fail(FAILED, error),
            };
        }
        Command::Logs(logs) => {
            return match logs::run(&logs) {
                Ok(text) => print(&text),
                Err(error) => fail(FAILED, error),
            };
        }
        Command::Lab(command) => {
            return match laboratory::run(command) {
                Ok(text) => print(&text),
                Err((status, error)) => fail(status, error),
            };
        }
    };
    match probe::run(&directory) {
        Ok(found) if json => {
            let text = serde_json::to_string_pretty(&found).expect("plain numbers and texts");
            print(&format!("{text}\n"))
        }
        Ok(found) => print(&format!("{found}\n")),
        Err(error) => fail(FAILED, error),
    }
}

fn fail(status: u8, error: impl Display) -> ExitCode {
    eprintln!("forebay: {error}");
    ExitCode::from(status)
}

/// What was wrong with the command line, without clap's further paragraphs.
fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = paragraph.split_whitespace().collect();
    let said = words.join(" ");
    let said = said.strip_prefix("error: ").unwrap_or(&said);
    format!("{said}; see 'forebay --help'")
}

/// To standard output; a reader that has gone away wants no more, and that is no failure.
fn print(text: &str) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            let error = os::Error::from_io("write to standard output", &error);
            fail(FAILED, error)
        }
        _ => ExitCode::SUCCESS,
    }
}
