//! The verb `soak`: what the test suite does in minutes, for hours.
//!
//! * `crash`: the crash sweep on all cores until so many distinct crash states were opened.
//! * `model`: random sessions against the reference model until they have done so many operations.
//! * `memory`: a database of ten times its cache, against what its parameters allow.
//! * `flaky`: the test suite beside a load, some times: does a test depend on a quiet machine?
//! * `io-errors`: the I/O-error sweep at every place.
//! * `atomic`: statements of SQL refused, failing and cancelled at every place.
//! * `honesty`: the lab on equals, over and over: how often does it find a difference?
//! * `sqllogictest`: SQLite's corpus of statements and answers, from a folder.
//! * `differential`: statements of a generator on Forebay and on SQLite or PostgreSQL.
//! * `metamorphic`: such statements on Forebay in several ways, which have to agree.
//! * `fuzz`: statements that nobody would write; none may take the instance down.
//!
//! Ctrl-C ends the children too: they are of the same process group.
//!
//! Callers: people, and a machine with a night to spare.

mod atomic;
mod crash;
mod flaky;
mod fuzz;
mod honesty;
mod io_errors;
mod memory;
mod model;
mod progress;
mod statements;

use std::path::Path;

use clap::Subcommand;

use crate::Outcome;

#[derive(Subcommand)]
pub(crate) enum Soak {
    /// Crash the engine everywhere until so many distinct crash states were opened
    Crash(crash::Options),
    /// Hold random sessions against the reference model until they have done so many operations
    Model(model::Options),
    /// Run the test suite beside a load, some times, and say in which rounds it failed
    Flaky(flaky::Options),
    /// Have the lab compare a setting with itself, and count how often it finds a difference
    Honesty(honesty::Options),
    /// Have each operation of the disk fail in a small life, and hold what is left against what
    /// was told
    IoErrors(io_errors::Options),
    /// Have each kind of statement refused by each row and each operation of the disk, and
    /// cancelled at each of 200 moments
    Atomic(atomic::Options),
    /// Work on a database of many times its cache, and hold its memory against its parameters
    Memory(memory::Options),
    /// Run SQLite's corpus of sqllogictest, and say how many per cent of its records pass
    Sqllogictest(statements::Sqllogictest),
    /// Run statements on Forebay and on a rival, and compare every answer
    Differential(statements::Differential),
    /// Run statements on Forebay in several ways whose answers have to agree
    Metamorphic(statements::Metamorphic),
    /// Run statements that nobody would write, and see that none takes the instance down
    Fuzz(fuzz::Options),
}

pub(crate) fn run(root: &Path, soak: &Soak) -> Outcome {
    match soak {
        Soak::Crash(options) => crash::run(root, options),
        Soak::Model(options) => model::run(root, options),
        Soak::Flaky(options) => flaky::run(root, options),
        Soak::Honesty(options) => honesty::run(root, options),
        Soak::IoErrors(options) => io_errors::run(root, options),
        Soak::Atomic(options) => atomic::run(root, options),
        Soak::Memory(options) => memory::run(root, options),
        Soak::Sqllogictest(options) => statements::sqllogictest(root, options),
        Soak::Differential(options) => statements::differential(root, options),
        Soak::Metamorphic(options) => statements::metamorphic(root, options),
        Soak::Fuzz(options) => fuzz::run(root, options),
    }
}
