//! `soak memory`: a database of many times its cache is filled, changed, read, indexed, killed and
//! recovered by several sessions; the most that its process ever had is held against what its
//! parameters allow (rule database/DB7).
//!
//! The test `memory` of `proof` does the same in a short form.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use xtask::workspace;

use crate::Outcome;

#[derive(Args)]
pub(crate) struct Options {
    /// The buffer cache, in MiB
    #[arg(long, default_value_t = 256)]
    cache: u64,
    /// The table has so many times as many bytes
    #[arg(long, default_value_t = 10)]
    times: u64,
    /// How many sessions work
    #[arg(long, default_value_t = 8)]
    sessions: u32,
    /// Where the database is made; it takes some three times as much space as the table
    #[arg(long, default_value = "target")]
    dir: PathBuf,
}

pub(super) fn run(root: &Path, options: &Options) -> Outcome {
    let built = workspace::cargo()
        .args(["build", "--profile", "proof", "--package", "proof", "--example", "memory"])
        .current_dir(root)
        .status()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !built.success() {
        return Err("soak: the load doesn't build".into());
    }
    let program = workspace::target_directory(root)?.join("proof/examples/memory");
    let ran = Command::new(program)
        .arg(root.join(&options.dir))
        .args([options.cache, options.times, options.sessions.into()].map(|it| it.to_string()))
        .status()
        .map_err(|error| format!("cannot start the load: {error}"))?;
    match ran.success() {
        true => Ok(()),
        false => Err("soak: the database took more memory than its parameters allow, or the load \
                      failed; what it printed says which"
            .into()),
    }
}
