//! The house's own tools, run as `cargo xtask VERB`.
//!
//! One file per verb; this one only reads the command line. It compiles without the engine, so that
//! a broken engine can be tidied too; what runs the engine is in `bench`. A rule of the house that
//! can be checked by a machine is checked here, so that it doesn't depend on anybody's memory:
//!
//!   tidy      layers, `unsafe`, cited rules, sizes, banned words, generated documents, refusals
//!   refusals  clippy really refuses what `clippy.toml` says it refuses
//!   docs      writes the generated documents
//!   figures   how large the house is
//!   test      the whole test suite, step by step
//!
//! Callers: people, and `.ci/run`.

#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a build tool lives in the real world only: it reads the tree and starts cargo"
)]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::workspace;

mod docs;
mod figures;
mod house;
mod refusals;
mod rules;
mod rust_text;
mod test;
mod tidy;
mod tree;

/// What a verb says in the end: nothing, or why it failed and what to do.
type Outcome = Result<(), String>;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Forebay's own tools")]
struct CommandLine {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Hold the tree against the rules of the house; changes nothing
    Tidy,
    /// Show that clippy refuses every call and type that clippy.toml forbids
    Refusals,
    /// Write the documents that are generated from code
    Docs,
    /// Say how large the house is, in figures
    Figures {
        /// Another checkout than this one
        #[arg(long)]
        root: Option<PathBuf>,
    },
    /// Run every test suite in order; stops at the first failure
    Test,
}

fn main() -> ExitCode {
    let root = workspace::root();
    let outcome = match CommandLine::parse().verb {
        Verb::Tidy => tidy::run(&root),
        Verb::Refusals => refusals::run(&root),
        Verb::Docs => docs::run(&root),
        Verb::Figures { root: other } => figures::run(&other.unwrap_or_else(|| root.clone())),
        Verb::Test => test::run(&root),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}
