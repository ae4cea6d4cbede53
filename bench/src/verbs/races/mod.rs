//! The verb `race`: our parts against others', in the same run, in turn.
//!
//! Each race is a file here and a line in [`RACES`]. The harness, the rivals and the arithmetic are
//! in the library; a race says what each side does and what is to be reached.
//!
//! Callers: people. The last line of standard output is JSON for programs; `--save` keeps it, and
//! `xbench performance` makes a page of those that were kept.

use std::io::{stderr, stdin, stdout};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bench::race::{CaseResult, Outcome as RaceOutcome, Plan, Race, Samples};
use clap::Args;

use crate::Outcome;
use crate::verbs::performance;

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
mod profile;
mod recover;
mod scan;
mod sql_explain;
mod sql_tpcb;
mod sql_unprepared;
#[cfg(feature = "sqlite")]
mod tpcb;
mod update;
mod waits;
mod web_returns;

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
    /// Race another build of ours instead of the rival: the path of its bench
    #[arg(long, value_name = "BENCH")]
    against: Option<PathBuf>,
    /// Keep the result in docs/races, for `xbench performance`
    #[arg(long, conflicts_with_all = ["against", "only"])]
    save: bool,
    /// Run ours whenever a line on standard input asks: what --against starts
    #[arg(long, hide = true, conflicts_with = "against")]
    serve: bool,
}

/// Against another build a loss of three hundredths is too much.
const GOAL_AGAINST_A_BUILD: f64 = 0.97;

/// Who races ours.
pub(crate) enum Opponent {
    /// The rival of the race.
    Rival,
    /// Another build: its bench, and what it is told.
    Build(PathBuf, Vec<String>),
    /// Nobody here: we are the other build, and run when we are asked.
    Asks,
}

/// How one race is run, after its arguments were checked.
pub(crate) struct Setup {
    pub(crate) plan: Plan,
    pub(crate) directory: PathBuf,
    pub(crate) only: Option<String>,
    pub(crate) opponent: Opponent,
}

impl Setup {
    /// Whether the race's rival runs.
    pub(crate) fn has_rival(&self) -> bool {
        matches!(self.opponent, Opponent::Rival)
    }
}

struct Entry {
    name: &'static str,
    about: &'static str,
    run: fn(&Setup) -> Run,
}

/// What came out of a race; nothing where we were the other build.
pub(crate) type Run = bench::Result<Option<RaceOutcome>>;

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
        about: "a cached block read, against the fastest concurrent hash map",
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
        about: "redo done again, against fio's reads of the same redo and blocks",
        run: recover::run,
    },
    Entry {
        name: "scan",
        about: "full scans around the cache, against fio's sequential reads",
        run: scan::run,
    },
    Entry {
        name: "sql-explain",
        about: "EXPLAIN ANALYZE, against the same statement without it",
        run: sql_explain::run,
    },
    #[cfg(feature = "sqlite")]
    Entry {
        name: "sql-lookup",
        about: "rows by their keys by prepared SQL, against SQLite's prepared statements",
        run: lookup::run_sql,
    },
    Entry {
        name: "sql-tpcb",
        about: "TPC-B's transaction by prepared SQL, against the embedded API",
        run: sql_tpcb::run,
    },
    Entry {
        name: "sql-unprepared",
        about: "a SELECT of one row by its text, against a budget over a prepared one",
        run: sql_unprepared::run,
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
    Entry {
        name: "web-returns",
        about: "seven million rows loaded, added up, joined and grouped, against PostgreSQL",
        run: web_returns::run,
    },
];

pub(crate) fn run(root: &Path, args: RaceArgs) -> Outcome {
    let Some(name) = args.name else {
        for race in RACES {
            println!("{:14} {}", race.name, race.about);
        }
        if cfg!(not(feature = "sqlite")) {
            println!("against SQLite (compiled for it): cargo xbench-sqlite race");
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
    let opponent = match args.against {
        Some(program) => {
            let (seconds, folder) = (args.seconds.to_string(), directory.display().to_string());
            let told = ["race", race.name, "--serve", "--seconds", &seconds, "--dir", &folder];
            Opponent::Build(program, told.map(str::to_owned).into())
        }
        None if args.serve => Opponent::Asks,
        None => Opponent::Rival,
    };
    let setup = Setup {
        plan: Plan {
            pairs: args.pairs,
            seed: args.seed,
            length: Duration::from_secs_f64(args.seconds),
        },
        directory,
        only: args.only,
        opponent,
    };
    // Whether goals were met is in the lines printed; only a race that can't be run is a failure.
    let outcome = (race.run)(&setup).map_err(|error| format!("race {name}: {error}"))?;
    match outcome.filter(|_| args.save) {
        Some(outcome) => performance::save(root, &outcome.line()),
        None => Ok(()),
    }
}

/// Runs a race with the workloads that were asked for.
pub(crate) fn run_race(race: Race<'_>, setup: &Setup) -> Run {
    run_and_derive(race, setup, &|_| Ok(Vec::new()))
}

/// As `run_race`, with more cases, made from the runs of all workloads.
pub(crate) fn run_and_derive(
    mut race: Race<'_>,
    setup: &Setup,
    derive: &dyn Fn(&[Samples]) -> bench::Result<Vec<CaseResult>>,
) -> Run {
    if let Some(only) = &setup.only {
        race.workloads.retain(|workload| workload.name.contains(only.as_str()));
        if race.workloads.is_empty() {
            return Err(format!("no workload's name contains '{only}'").into());
        }
    }
    let (out, progress) = (&mut stdout().lock(), &mut stderr());
    match &setup.opponent {
        Opponent::Rival => race.run_and_derive(setup.plan, derive, out, progress).map(Some),
        Opponent::Build(program, arguments) => {
            let goal = GOAL_AGAINST_A_BUILD;
            race.run_against(program, arguments, goal, setup.plan, out, progress).map(Some)
        }
        Opponent::Asks => race.serve(&mut stdin().lock(), out).map(|()| None),
    }
}

/// An error of the engine as an error of a race.
pub(crate) fn told(error: impl std::fmt::Display) -> bench::Error {
    error.to_string().into()
}
