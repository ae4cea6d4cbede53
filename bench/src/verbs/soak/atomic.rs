//! `soak atomic`: every statement of SQL is atomic, at every place and not at every sixth: refused
//! by each row, by each operation of the disk, and cancelled at each of 200 moments.
//!
//! The test `sql_atomic` of `proof` does the same with a stride.

use std::path::Path;

use clap::Args;
use xtask::workspace;

use crate::Outcome;

#[derive(Args)]
pub(crate) struct Options {
    /// One place in so many is tried; 1 is every place
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    stride: u64,
}

pub(super) fn run(root: &Path, options: &Options) -> Outcome {
    let ran = workspace::cargo()
        .args(["test", "--profile", "proof", "--package", "proof", "--test", "sql_atomic"])
        .args(["--", "--nocapture"])
        .env("FOREBAY_ATOMIC_STRIDE", options.stride.to_string())
        .current_dir(root)
        .status()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    match ran.success() {
        true => Ok(()),
        false => Err("soak: a place was found; what the test printed says which".into()),
    }
}
