//! The lean binary: databases under load, experiments on the engine, and a look at the machine.
//!
//! `forebay lab run EXPERIMENT` runs a built-in experiment and says what came of it.
//!
//! `forebay load` makes a database, puts it under load, and audits it after a crash.
//!
//! `forebay logs DIR` lists the redo log groups of a database, and changes them.
//!
//! `forebay recover DIR` opens a database, which recovers it if that is needed, and shuts it.
//!
//! `forebay moved DIR` says that a database with files elsewhere was moved there, and isn't a copy.
//!
//! `forebay sql DIR` is a shell: it runs statements of SQL, of a person or of scripts.
//!
//! `forebay parameters` lists what can be chosen, or says everything of one parameter.
//!
//! `forebay verify DIR` checks a database that is shut, block by block and as a whole, and prints a
//! line for everything that is wrong.
//!
//! `forebay probe DIR` says what this machine and the file system at DIR offer to a database: the
//! clock, asynchronous and direct I/O, and the fastest way to make a write durable. It writes 4 MiB
//! there, into a file that has no name and is gone when the program ends, however it ends.
//!
//! `forebay man DIR` and `forebay completions SHELL` write the manual's pages and a shell's
//! completions, from the same definitions as the help.
//!
//! Exit status: 0 when it is done, 1 when it failed, `verify` found something or an experiment lost
//! commits, 2 when the command line is wrong, 130 when a signal ended it early. A failure is one
//! line on standard error (on a terminal, lines) that says what failed, why, and what to do. What
//! was found out before it failed is printed all the same.

#![forbid(unsafe_code)]

mod documents;
mod laboratory;
mod load;
mod logs;
mod number;
mod opening;
mod output;
mod probe;
mod progress;
mod recover;
mod settings;
mod shell;
mod verification;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use stop::did_you_mean;
use waits::SessionKind;

use crate::output::{CommandResult, Failure};

const EXIT_STATUS: &str = "Exit status: 0 when it is done, 1 when it failed or verify found \
    something, 2 when the command line is wrong, 130 when a signal ended it early.";

/// An OLTP database in which every microsecond has a name.
#[derive(Parser)]
#[command(name = "forebay", version, max_term_width = 80, after_help = EXIT_STATUS)]
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
        /// Prints JSON, for programs; docs/JSON.md lists the keys.
        #[arg(long)]
        json: bool,
    },
    /// Makes a database, works on it, and audits it after a crash.
    #[command(subcommand)]
    Load(load::Load),
    /// Runs experiments: two settings, one load, a verdict.
    #[command(subcommand)]
    Lab(laboratory::Lab),
    /// Lists the redo log groups of a database, and changes them.
    Logs(logs::Logs),
    /// Opens a database, which recovers it if that is needed, and shuts it.
    Recover(recover::Recover),
    /// Says of a database with files outside of DIR that it was moved there, and isn't a copy.
    Moved {
        /// Where the database is now.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Runs statements of SQL: a shell for people at a terminal, and for scripts.
    Sql(shell::Sql),
    /// Checks a database that is shut: every block, space, undo, tables and indexes.
    Verify(verification::Verify),
    /// Lists the parameters: what each decides, its default, and what it takes.
    Parameters(settings::ParametersCommand),
    /// Writes the manual's pages, forebay.1 and one for each command, into DIR.
    Man {
        /// A directory; pages that it has are replaced.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Prints the completions for a shell.
    Completions {
        /// The shell that reads them.
        #[arg(value_name = "SHELL", value_enum)]
        shell: clap_complete::Shell,
    },
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return answer(&error),
    };
    output::end(match arguments.command {
        Command::Parameters(command) => command.carry_out(),
        Command::Recover(recover) => recover.carry_out(),
        Command::Sql(sql) => sql.carry_out(),
        Command::Man { directory } => documents::write_manual(Arguments::command(), &directory),
        Command::Completions { shell } => Ok(documents::completions(Arguments::command(), shell)),
        Command::Probe { directory, json } => probe::run(&directory, json),
        Command::Load(command) => load::run(command),
        Command::Verify(verify) => verification::run(&verify),
        Command::Logs(logs) => logs::run(&logs),
        Command::Moved { directory } => moved(&directory),
        Command::Lab(command) => laboratory::run(command),
    })
}

/// Says that the files outside of this directory belong to the database in it.
fn moved(directory: &Path) -> CommandResult {
    let os = os::linux::start();
    let session = os.adopt("forebay", SessionKind::Foreground);
    instance::say_moved(&os::linux::disk(), directory, &session)?;
    Ok(format!("the database is in {} from now on\n", directory.display()))
}

/// Answers a command line that asks for help or the version, also by saying nothing, or is wrong.
fn answer(error: &clap::Error) -> ExitCode {
    let is_question = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    output::end(match error.use_stderr() && !is_question {
        true => Err(Failure::usage(format!("cannot read the command line: {}", one_line(error)))),
        false => Ok(error.to_string()),
    })
}

/// What is wrong with the command line, without clap's further paragraphs.
fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = paragraph.split_whitespace().collect();
    let said = words.join(" ");
    let said = said.strip_prefix("error: ").unwrap_or(&said);
    let (command, name) = named_command();
    format!("{said}; see '{name} --help'{}", suggestion(error, &command))
}

/// The command or option that may have been meant instead of one that doesn't exist.
fn suggestion(error: &clap::Error, command: &clap::Command) -> String {
    let word = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word),
        _ => None,
    };
    if let Some(word) = word(ContextKind::InvalidSubcommand) {
        return did_you_mean(word, command.get_subcommands().map(clap::Command::get_name));
    }
    match word(ContextKind::InvalidArg).filter(|_| error.kind() == ErrorKind::UnknownArgument) {
        Some(word) => {
            let options = command.get_arguments().filter_map(clap::Arg::get_long);
            let options: Vec<String> = options.map(|long| format!("--{long}")).collect();
            did_you_mean(word, options.iter().map(String::as_str))
        }
        None => String::new(),
    }
}

/// The last subcommand that the command line names, and its name behind the program's.
fn named_command() -> (clap::Command, String) {
    let (mut command, mut name) = (Arguments::command(), "forebay".to_string());
    for word in std::env::args_os().skip(1) {
        let Some(subcommand) = command.find_subcommand(&word).cloned() else { break };
        name = format!("{name} {}", subcommand.get_name());
        command = subcommand;
    }
    (command, name)
}
