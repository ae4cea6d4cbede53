//! The house's own tools, run as `cargo xtask VERB`.
//!
//! One file per verb; this one only reads the command line. A rule of the house that can be
//! checked by a machine is checked here, so that it doesn't depend on anybody's memory:
//!
//!   tidy      layers, `unsafe`, cited rules, sizes, banned words, generated documents, refusals
//!   refusals  clippy really refuses what `clippy.toml` says it refuses
//!   docs      writes the generated documents
//!   test      the whole test suite, step by step
//!   race      our parts against others', in the same run
//!   determinism  the same seed gives the same event log, in every process, build and load
//!   kill      the real binary, killed under load, again and again
//!   soak      the crash sweep on all cores, until so many crash states were seen
//!   calibrate  what operations cost in CPU on this machine, for the simulator
//!   validity   the same load here and on a model of this machine, side by side
//!
//! Callers: people, and `.ci/run`.

#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a build tool lives in the real world only: it reads the tree and starts cargo"
)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod calibrate;
mod determinism;
mod docs;
mod house;
mod kill;
mod race;
mod refusals;
mod rust_text;
mod soak;
mod test;
mod tidy;
mod tree;
mod validity;

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
    /// Run every test suite in order; stops at the first failure
    Test,
    /// Run our parts against others', in turn; without a name, list the races
    Race(race::RaceArgs),
    /// Show that a seed gives the same event log in every process, build and load
    Determinism {
        /// How many seeds
        #[arg(long, default_value_t = 64)]
        seeds: u64,
    },
    /// Kill the real binary under load, again and again, and audit what is left
    Kill(kill::Arguments),
    /// Do for hours what the test suite does in minutes
    #[command(subcommand)]
    Soak(soak::Soak),
    /// Measure what operations cost in CPU here, for the simulator
    Calibrate(calibrate::Arguments),
    /// Run one load here and on a model of this machine, and say how well they agree
    Validity(validity::Arguments),
}

fn main() -> ExitCode {
    let root = tree::root();
    let outcome = match CommandLine::parse().verb {
        Verb::Tidy => tidy::run(&root),
        Verb::Refusals => refusals::run(&root),
        Verb::Docs => docs::run(&root),
        Verb::Test => test::run(&root),
        Verb::Race(args) => race::run(&root, args),
        Verb::Determinism { seeds } => determinism::run(&root, seeds),
        Verb::Kill(arguments) => kill::run(&root, &arguments),
        Verb::Soak(what) => soak::run(&root, &what),
        Verb::Calibrate(arguments) => calibrate::run(&root, &arguments),
        Verb::Validity(arguments) => validity::run(&root, &arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}
