//! The verb `calibrate`: measures what operations cost in CPU on the machine at hand, for the
//! simulator to charge (rule S9).
//!
//! ```text
//!   clock ── windows on a thread's CPU clock
//!     │
//!   computing  sleeping  threads  migration  disk  engine   a value for each figure, each round
//!     └──────────┴──────────┴────────┴────────┴──────┘
//!                       rounds                              medians and quartiles
//!                         │
//!                       report                              a table, and a cost file
//! ```
//!
//! The operations are the engine's: sessions, words, latches, files and rings of the Linux port.
//! A machine that is busy with other things shows it in the quartiles.
//!
//! Callers: people, when they have a machine to model; the tests, in miniature.

use std::fs;
use std::path::{Path, PathBuf};

use bench::Scratch;
use sim::model::{CostList, MachineParameters};

use crate::Outcome;
use figure::Figure;
use rounds::Measured;

mod clock;
mod computing;
mod disk;
mod engine;
mod figure;
mod migration;
mod report;
mod rounds;
mod sleeping;
mod threads;

/// What can be said on the command line.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Where to make a file to read from, on the disk that counts; it is removed afterwards
    #[arg(long, default_value = "target/calibrate")]
    dir: PathBuf,
    /// Write what was measured to this file, for the simulator to read
    #[arg(long)]
    write: Option<PathBuf>,
    /// What the file calls itself
    #[arg(long, default_value = "measured")]
    name: String,
    /// How often everything is measured
    #[arg(long, default_value_t = 31, value_parser = clap::value_parser!(u32).range(15..=1_000))]
    rounds: u32,
}

/// Measures, prints a table, and writes the cost file if one is asked for.
pub(crate) fn run(root: &Path, arguments: &Arguments) -> Outcome {
    if cfg!(debug_assertions) && arguments.write.is_some() {
        return Err("a debug build costs more than the engine does; run it as `cargo xbench \
                    calibrate`, which builds for release"
            .to_string());
    }
    let machine = bench::machine::line();
    println!("{machine}");
    let (measured, disk) = measure(arguments.rounds, &root.join(&arguments.dir))?;
    println!("CPUs: {}; disk: {disk}; ring: {}", measured.cpus, measured.ring);
    println!("{} rounds\n", measured.rounds);
    let costs = CostList::builtin("default").map_err(|error| error.to_string())?;
    let two_core = MachineParameters::builtin("two-core").map_err(|error| error.to_string())?;
    print!("{}", report::table(&measured, &costs, &two_core));
    let Some(path) = &arguments.write else { return Ok(()) };
    let source = report::source(&measured, &machine, &disk);
    let list = measured.cost_list(&arguments.name, source);
    fs::write(path, report::file(&measured, &list))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("\nwrote {}", path.display());
    Ok(())
}

/// This machine as the simulator is to pretend it: its CPUs and what code costs on them.
pub(crate) fn model(rounds: u32, dir: &Path) -> Result<(MachineParameters, CostList), String> {
    let (measured, disk) = measure(rounds, dir)?;
    let source = report::source(&measured, &bench::machine::line(), &disk);
    let mut machine = MachineParameters::builtin("two-core").map_err(|error| error.to_string())?;
    let median = |figure| measured.of(figure).map(|spread| spread.median.round() as u32);
    machine.name = "this machine".into();
    machine.source = source.clone();
    machine.cpus = u16::try_from(measured.cpus).map_err(|error| error.to_string())?;
    // Linux: 0.75 ms x (1 + log2 of the CPUs, which count up to 8).
    machine.time_slice_us = 750 * (1 + machine.cpus.min(8).ilog2());
    machine.switch_cost_ns = median(Figure::Switch).unwrap_or(0);
    machine.migration_cost_ns = median(Figure::Migration).unwrap_or(0);
    machine.wake_idle_ns = median(Figure::WakeIdle).unwrap_or(0);
    Ok((machine, measured.cost_list("this machine", source)))
}

/// Measures with a scratch folder in `dir`, which is made if it isn't there. Nothing of it is
/// left, whatever happens. Also says which file system it was.
fn measure(rounds: u32, dir: &Path) -> Result<(Measured, String), String> {
    let parent = Parent::at(dir)?;
    let scratch = Scratch::create(dir).map_err(|error| error.to_string())?;
    let measured = rounds::measure(rounds, scratch.path())?;
    let file_system = bench::machine::file_system(dir);
    drop(scratch);
    drop(parent);
    Ok((measured, file_system))
}

/// The folder around the scratch folder. If it was made for that, it goes when this is dropped.
struct Parent {
    made: Option<PathBuf>,
}

impl Parent {
    fn at(dir: &Path) -> Result<Parent, String> {
        let made = !dir.exists();
        fs::create_dir_all(dir).map_err(|error| {
            format!("cannot make the folder {}: {error}; name another by --dir", dir.display())
        })?;
        Ok(Parent { made: made.then(|| dir.to_path_buf()) })
    }
}

impl Drop for Parent {
    fn drop(&mut self) {
        if let Some(dir) = &self.made {
            // Another run may be in it: then it isn't empty, and stays.
            let _ = fs::remove_dir(dir);
        }
    }
}

#[cfg(test)]
mod tests {
    use os::Cost;

    use super::*;

    /// In the build's folder: the temporary one may lie in memory, without direct I/O.
    fn folder(name: &str) -> PathBuf {
        xtask::workspace::root().join("target").join(format!("{name}-{}", std::process::id()))
    }

    /// What one loop takes beyond others. Tests are built with some crates optimised and some not,
    /// and there a lookup by SQL takes less than the rows that it reads do by calls.
    const DIFFERENCES: [Cost; 2] = [Cost::RowChangeMore, Cost::Statement];

    /// A cost that has no likely value, or one outside its quartiles.
    fn unlikely(measured: &Measured) -> Option<String> {
        let is_likely = |cost: Cost| {
            let spread = measured.of(Figure::Cost(cost)).expect("each cost is measured");
            let ns = spread.median;
            let least = if DIFFERENCES.contains(&cost) { -1e5 } else { 1.0 };
            (least..1e6).contains(&ns) && spread.low <= ns && ns <= spread.high
        };
        let cost = Cost::ALL.iter().find(|&&cost| !is_likely(cost))?;
        let ns = measured.of(Figure::Cost(*cost)).map(|spread| spread.median);
        Some(format!("{}: {ns:?} ns", cost.info().name))
    }

    /// A build that measures too much writes no file, and says how one that does is run.
    #[cfg(debug_assertions)]
    #[test]
    fn a_debug_build_says_how_it_is_to_be_run() {
        let write = Some(folder("calibrate-debug.toml"));
        let name = "measured".to_string();
        let arguments = Arguments { dir: folder("calibrate-debug"), write, name, rounds: 15 };
        let refused = run(&xtask::workspace::root(), &arguments).expect_err("a debug build");
        assert!(refused.contains("`cargo xbench calibrate`"), "{refused}");
    }

    /// The whole verb in miniature: each figure has a likely value, the table fits, what is written
    /// can be read, and nothing is left on the disk.
    #[test]
    fn a_short_run_measures_every_cost_and_writes_what_the_simulator_reads() {
        let dir = folder("calibrate-short");
        // Beside a load a cost that is a difference can come out below zero: then once more.
        let (measured, disk) = (1..=5)
            .find_map(|round| {
                let (measured, disk) = measure(3, &dir).expect("this machine can be measured");
                assert!(!dir.exists(), "{} is left", dir.display());
                (round == 5 || unlikely(&measured).is_none()).then_some((measured, disk))
            })
            .expect("the fifth round is taken as it is");
        assert_eq!(unlikely(&measured), None);
        assert!(measured.of(Figure::Switch).is_some());
        assert_eq!(measured.of(Figure::Migration).is_some(), measured.cpus > 1);

        let list = measured.cost_list("short", report::source(&measured, "a machine", &disk));
        assert_eq!(CostList::parse(&report::file(&measured, &list)), Ok(list.clone()));
        let machine = MachineParameters::builtin("two-core").expect("a built-in machine");
        let table = report::table(&measured, &list, &machine);
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
        for figure in Figure::all() {
            assert!(table.contains(figure.name()), "{table}");
        }
    }

    #[test]
    fn a_run_that_fails_leaves_nothing() {
        let dir = folder("calibrate-failed");
        let failed = (|| {
            let _parent = Parent::at(&dir)?;
            let scratch = Scratch::create(&dir).map_err(|error| error.to_string())?;
            fs::write(scratch.path().join("blocks"), "in the way").map_err(|e| e.to_string())?;
            rounds::measure(1, scratch.path()).map(|_| ())
        })();
        let why = failed.expect_err("the file that it wants to make is there");
        assert!(why.contains("blocks"), "{why}");
        assert!(!dir.exists(), "{} is left", dir.display());
    }
}
