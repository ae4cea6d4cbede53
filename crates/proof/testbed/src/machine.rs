//! Simulated machines with one disk, and programs that come to their end on them.
//!
//! A program that panics, deadlocks or passes the time limit fails the test with the seed of its
//! simulation, by which it can be run again.
//!
//! Callers: tests of rooms that run in the simulated world.

use std::fmt::Display;

use os::{Cost, Session};
use sim::fs::FileSystem;
use sim::model::CostList;
use sim::{Perturbation, Report, Simulation, World};

/// A machine whose disk holds this content.
pub fn machine(seed: u64, content: FileSystem) -> Simulation {
    let mut simulation = Simulation::new(seed);
    simulation.disks[0].content = content;
    simulation
}

/// A machine whose disk holds this content, with a schedule that finds races.
pub fn racy(seed: u64, content: FileSystem) -> Simulation {
    racing(machine(seed, content))
}

/// Gives a simulation a schedule that finds races.
pub fn racing(simulation: Simulation) -> Simulation {
    Simulation { perturbation: Perturbation::RACES, ..simulation }
}

/// What code costs in a simulation [`with_fixed_costs`], in ns; all else costs nothing.
const FIXED_COSTS: [(Cost, u32); 15] = [
    (Cost::LatchGet, 25),
    (Cost::Relax, 22),
    (Cost::Park, 777),
    (Cost::Wake, 662),
    (Cost::IoSync, 25_318),
    (Cost::IoSubmit, 2_788),
    (Cost::IoReap, 606),
    (Cost::ThreadSpawn, 27_817),
    (Cost::ChecksumKib, 67),
    (Cost::CopyKib, 24),
    (Cost::BufferGet, 360),
    (Cost::RowRead, 177),
    (Cost::RowChange, 496),
    (Cost::RowChangeMore, 88),
    (Cost::Transaction, 10_610),
];

/// Gives a simulation costs that no later measurement changes, for tests whose bounds rest on them:
/// those of the machine of two CPUs of 2026-11-21, where a system call took a quarter of the time
/// in which the built-in disk answers.
pub fn with_fixed_costs(mut simulation: Simulation) -> Simulation {
    let source = "measured 2026-11-21 on a virtual machine with two CPUs".to_owned();
    let mut list = CostList { name: "fixed".to_owned(), source, ..CostList::free() };
    for (cost, ns) in FIXED_COSTS {
        list.costs[cost as usize] = ns;
    }
    simulation.costs = list;
    let machine = &mut simulation.machine;
    machine.switch_cost_ns = 650;
    machine.migration_cost_ns = 10_000;
    machine.wake_idle_ns = 9_300;
    simulation
}

/// The disk as a simulation left it.
///
/// # Panics
///
/// If the machine has no disk of the usual name.
pub fn left<R>(report: &mut Report<R>) -> FileSystem {
    let mut disk = report.disks.remove("disk").expect("the machine has one disk");
    disk.close_all();
    disk
}

/// The result of a simulation that came to its end.
///
/// # Panics
///
/// If it didn't; the message says `what` was run.
#[track_caller]
pub fn ended<R>(report: Report<R>, what: impl Display) -> R {
    match report.result {
        Ok(result) => result,
        Err(failure) => panic!("{what}: {failure}"),
    }
}

/// Runs a program to its end, and gives its result.
///
/// # Panics
///
/// If it comes to no end; the message names the seed.
#[track_caller]
pub fn run<R: Send + 'static>(
    simulation: Simulation,
    program: impl FnOnce(&World, &Session) -> R + Send + 'static,
) -> R {
    let seed = simulation.seed;
    ended(simulation.run(program), format_args!("seed {seed}"))
}

/// Runs a program to its end, and gives its result with the disk as it left it.
///
/// # Panics
///
/// If it comes to no end; the message names the seed.
#[track_caller]
pub fn run_kept<R: Send + 'static>(
    simulation: Simulation,
    program: impl FnOnce(&World, &Session) -> R + Send + 'static,
) -> (R, FileSystem) {
    let seed = simulation.seed;
    let mut report = simulation.run(program);
    let disk = left(&mut report);
    (ended(report, format_args!("seed {seed}")), disk)
}
