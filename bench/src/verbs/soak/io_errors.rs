//! `soak io-errors`: the I/O-error sweep at every place, not at every 53rd. Each operation of the
//! disk in a small life fails in turn, by each fault, once and for good; each sweep says in the end
//! how many places there were.
//!
//! The test `io_errors` of `proof` does the same with a stride.

use std::path::Path;

use clap::Args;
use xtask::workspace;

use crate::Outcome;

#[derive(Args)]
pub(crate) struct Options {
    /// One place in so many fails; 1 is every place
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    stride: u64,
}

pub(super) fn run(root: &Path, options: &Options) -> Outcome {
    let ran = workspace::cargo()
        .args(["test", "--profile", "proof", "--package", "proof", "--test", "io_errors"])
        .args(["--", "--nocapture"])
        .env("FOREBAY_IO_ERRORS_STRIDE", options.stride.to_string())
        .current_dir(root)
        .status()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    match ran.success() {
        true => Ok(()),
        false => Err("soak: a place was found; what the test printed says which".into()),
    }
}
