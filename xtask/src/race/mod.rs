//! The verb `race`: our parts against others', in the same run, in turn.
//!
//! Each race is a file here and a line in [`RACES`]. The harness, the rivals and the arithmetic are
//! in crate `rivals`; a race says what each side does and what is to be reached.
//!
//! Callers: people. The last line of standard output is JSON for programs.

use std::io::{stderr, stdout};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use rivals::race::Plan;

use crate::Outcome;

mod commit;
mod dbwr;
mod embedded;
mod get;
#[cfg(feature = "sqlite")]
mod insert;
mod io;
mod load;
#[cfg(feature = "sqlite")]
mod lookup;
mod recover;
mod scan;
#[cfg(feature = "sqlite")]
mod tpcb;
mod update;
mod waits;

/// What can be said of how a race is run.
#[derive(Args)]
pub(crate) struct RaceArgs {
    /// Which race; without it, the list
    name: Option<String>,
    /// Pairs of runs: even, 10 or more
    #[arg(long, default_value_t = 10)]
    pairs: u32,
    /// Seconds that each run is measured
    #[arg(long, default_value_t = 1.5)]
    seconds: f64,
    /// Scratch files go here: name a folder on the disk to be raced on
    #[arg(long, default_value = "target/race")]
    dir: PathBuf,
    /// Where every random choice starts
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only workloads whose name contains this
    #[arg(long)]
    only: Option<String>,
}

/// How one race is run, after its arguments were checked.
pub(crate) struct Setup {
    pub(crate) plan: Plan,
    pub(crate) length: Duration,
    pub(crate) directory: PathBuf,
    pub(crate) only: Option<String>,
}

struct Entry {
    name: &'static str,
    about: &'static str,
    run: fn(&Setup) -> rivals::Result<rivals::race::Outcome>,
}

const RACES: &[Entry] = &[
    Entry {
        name: "commit",
        about: "durable commits against fio's durable writes: latency, group commit",
        run: commit::run,
    },
    Entry {
        name: "dbwr",
        about: "dirty buffers to disk by database writers, against fio's random writes",
        run: dbwr::run,
    },
    Entry {
        name: "get",
        about: "a cached block read, against a hash map under a shared lock",
        run: get::run,
    },
    #[cfg(feature = "sqlite")]
    Entry {
        name: "insert",
        about: "rows inserted one by one and by arrays, against SQLite and PostgreSQL's COPY",
        run: insert::run,
    },
    Entry {
        name: "io",
        about: "files through `os` against fio: IOPS, bandwidth, CPU per I/O",
        run: io::run,
    },
    #[cfg(feature = "sqlite")]
    Entry {
        name: "lookup",
        about: "rows by their keys, against SQLite's prepared statements",
        run: lookup::run,
    },
    Entry {
        name: "recover",
        about: "redo done again: bytes a second, and blocks against fio's random reads",
        run: recover::run,
    },
    Entry {
        name: "scan",
        about: "full scans around the cache, against fio's sequential reads",
        run: scan::run,
    },
    #[cfg(feature = "sqlite")]
    Entry {
        name: "tpcb",
        about: "TPC-B's transaction in this process, against SQLite: one session and many",
        run: tpcb::run,
    },
    Entry {
        name: "update",
        about: "15 sessions that each update a table of a million rows, against PostgreSQL",
        run: update::run,
    },
    Entry {
        name: "waits",
        about: "what a timed wait's bookkeeping costs, against its budget",
        run: waits::run,
    },
];

pub(crate) fn run(root: &Path, args: RaceArgs) -> Outcome {
    let Some(name) = args.name else {
        for race in RACES {
            println!("{:8} {}", race.name, race.about);
        }
        if cfg!(not(feature = "sqlite")) {
            println!("against SQLite (compiled for it): cargo xtask-sqlite race");
        }
        return Ok(());
    };
    let race = RACES.iter().find(|race| race.name == name).ok_or_else(|| {
        let names: Vec<&str> = RACES.iter().map(|race| race.name).collect();
        format!("race: there is no race '{name}'; there are {}", names.join(", "))
    })?;
    if !(0.05..=600.0).contains(&args.seconds) {
        return Err(format!("race: --seconds is 0.05 to 600, not {}", args.seconds));
    }
    let directory = root.join(&args.dir);
    std::fs::create_dir_all(&directory)
        .map_err(|error| format!("race: cannot make {}: {error}", directory.display()))?;
    let setup = Setup {
        plan: Plan { pairs: args.pairs, seed: args.seed },
        length: Duration::from_secs_f64(args.seconds),
        directory,
        only: args.only,
    };
    // Whether goals were met is in the lines printed; only a race that can't be run is a failure.
    (race.run)(&setup).map(|_| ()).map_err(|error| format!("race {name}: {error}"))
}

/// Runs a race with the workloads that were asked for.
pub(crate) fn run_race(
    mut race: rivals::race::Race<'_>,
    setup: &Setup,
) -> rivals::Result<rivals::race::Outcome> {
    if let Some(only) = &setup.only {
        race.workloads.retain(|workload| workload.name.contains(only.as_str()));
        if race.workloads.is_empty() {
            return Err(format!("no workload's name contains '{only}'").into());
        }
    }
    race.run(setup.plan, &mut stdout().lock(), &mut stderr())
}

/// An error of the engine as an error of a race.
pub(crate) fn told(error: impl std::fmt::Display) -> rivals::Error {
    error.to_string().into()
}
