//! What runs the engine for its developers, as `cargo xbench VERB`.
//!
//! One module of `verbs` for each; this file only reads the command line.
//!
//!   race         our parts against others', in the same run
//!   performance  docs/PERFORMANCE.md, from the races that were saved
//!   determinism  the same seed gives the same event log, in every process, build and load
//!   kill         the real binary, killed under load, again and again
//!   soak         for hours what the test suite does in minutes
//!   calibrate    what operations cost in CPU on this machine, for the simulator
//!   validity     the same load here and on a model of this machine, side by side
//!   neighbour    makes this machine noisy: takes CPU and disk at random
//!   decides      how often the lab sees a planted difference, and how often it errs
//!   newcomer     from a clone to the lab's first verdict, by the clock
//!
//! Callers: people, and `cargo xtask test` for some of them, in a short form.

#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it measures and kills programs from outside: processes, the wall clock, files"
)]

mod verbs;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use verbs::{
    calibrate, decides, determinism, kill, neighbour, newcomer, performance, races, soak, validity,
};
use xtask::workspace;

/// What a verb says in the end: nothing, or why it failed and what to do.
type Outcome = Result<(), String>;

#[derive(Parser)]
#[command(name = "cargo xbench", about = "Races, endurance and calibration of Forebay")]
struct CommandLine {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run our parts against others', in turn; without a name, list the races
    Race(races::RaceArgs),
    /// Write docs/PERFORMANCE.md from the races that were saved
    Performance(performance::Arguments),
    /// Show that a seed gives the same event log in every process, build and load
    Determinism(determinism::Arguments),
    /// Kill the real binary under load, again and again, and audit what is left
    Kill(kill::Arguments),
    /// Do for hours what the test suite does in minutes
    #[command(subcommand)]
    Soak(soak::Soak),
    /// Measure what operations cost in CPU here, for the simulator
    Calibrate(calibrate::Arguments),
    /// Run one load here and on a model of this machine, and say how well they agree
    Validity(validity::Arguments),
    /// Make this machine noisy: take CPU and disk at random
    Neighbour(neighbour::Arguments),
    /// Count how often the lab sees a planted difference, and how often it errs
    Decides(decides::Arguments),
    /// Clone, build and run the lab's first experiment, by the clock
    Newcomer(newcomer::Arguments),
}

fn main() -> ExitCode {
    let root = workspace::root();
    let outcome = match CommandLine::parse().verb {
        Verb::Race(args) => races::run(&root, args),
        Verb::Performance(arguments) => performance::run(&root, &arguments),
        Verb::Determinism(arguments) => determinism::run(&root, &arguments),
        Verb::Kill(arguments) => kill::run(&root, &arguments),
        Verb::Soak(what) => soak::run(&root, &what),
        Verb::Calibrate(arguments) => calibrate::run(&root, &arguments),
        Verb::Validity(arguments) => validity::run(&root, &arguments),
        Verb::Neighbour(arguments) => neighbour::run(&root, &arguments),
        Verb::Decides(arguments) => decides::run(&root, &arguments),
        Verb::Newcomer(arguments) => newcomer::run(&root, &arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("bench: {why}");
            ExitCode::FAILURE
        }
    }
}
