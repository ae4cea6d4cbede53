//! The crash sweep: cut the power at each operation of a load, open every file system that can be
//! left (or a draw from them), hold it against the journal; and cut again while it is being opened.
//!
//! A crash state is counted by the hash of its surviving image, once.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use instance::Instance;
use os::Session;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use sim::{Failure, Perturbation, Report, Simulation, World};
use stop::Stop;

use crate::load::{DIRECTORY, prepare};
use crate::{Journal, Load, Shape, Violation, check};

/// What was swept.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Power cuts, nested ones included.
    pub cuts: u64,
    /// Openings, of which each ended with the oracle or with another cut.
    pub openings: u64,
    /// Hashes of the images that were left.
    pub images: BTreeSet<u64>,
    /// The deepest nesting of crashes.
    pub depth: u32,
}

impl Tally {
    /// Distinct crash states.
    pub fn distinct(&self) -> usize {
        self.images.len()
    }

    /// Takes in what another sweep has seen.
    pub fn add(&mut self, other: Tally) {
        self.cuts += other.cuts;
        self.openings += other.openings;
        self.images.extend(other.images);
        self.depth = self.depth.max(other.depth);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { cuts, openings, depth, .. } = self;
        let distinct = self.distinct();
        write!(
            f,
            "{distinct} distinct crash states from {cuts} power cuts, {openings} openings, crashes \
             nested up to {depth} deep"
        )
    }
}

/// One load, crashed everywhere.
#[derive(Clone)]
pub struct Sweep {
    /// The database.
    pub shape: Shape,
    /// What runs when the power goes.
    pub load: Load,
    /// The schedule's disturbance.
    pub perturbation: Perturbation,
    /// Where a crash has no more states than this, all are opened; else so many are drawn.
    pub states_per_cut: u64,
    /// How often recovery is cut, of every state, on each level of nesting.
    pub cuts_in_recovery: u32,
    /// Crashes nested so deep: 1 is the load's only.
    pub depth_max: u32,
    /// Every so many operations the power is cut; 1 is everywhere.
    pub stride: u64,
}

/// A disk with the database in it.
pub fn create(shape: &Shape) -> FileSystem {
    let inside = shape.clone();
    let report = machine(1, FileSystem::new(1 << 30), Perturbation::NONE)
        .run(move |world, session| prepare(&inside, &world.disk(), session));
    match &report.result {
        Ok(Ok(())) => left(report),
        Ok(Err(stop)) => panic!("the database can't be made: {stop}"),
        Err(failure) => panic!("the database can't be made: {failure}"),
    }
}

fn machine(seed: u64, content: FileSystem, perturbation: Perturbation) -> Simulation {
    let mut simulation = Simulation::new(seed);
    simulation.disks[0].content = content;
    simulation.perturbation = perturbation;
    simulation
}

/// The disk as the simulation left it.
fn left<R>(mut report: Report<R>) -> FileSystem {
    let mut disk = report.disks.remove("disk").expect("the machine has one disk");
    disk.close_all();
    disk
}

impl Sweep {
    /// A small load of a few transactions, crashed at each operation.
    pub fn small(seed: u64) -> Sweep {
        Sweep {
            shape: Shape::tiny(),
            load: Load { seed, sessions: 1, transactions: 6, changes_max: 3 },
            perturbation: Perturbation::NONE,
            states_per_cut: 16,
            cuts_in_recovery: 1,
            depth_max: 3,
            stride: 1,
        }
    }

    /// Several sessions under a disturbed schedule, crashed here and there.
    pub fn large(seed: u64) -> Sweep {
        Sweep {
            load: Load { seed, sessions: 3, transactions: 20, changes_max: 4 },
            perturbation: Perturbation::RACES,
            states_per_cut: 6,
            stride: 7,
            ..Sweep::small(seed)
        }
    }

    /// Cuts the power at each operation of the load, from the database on `base`.
    pub fn run(&self, base: &FileSystem) -> Result<Tally, Violation> {
        let mut tally = Tally::default();
        // From its seed, so that sweeps of neighbouring seeds don't cut at the same places.
        let mut cut = 1 + self.load.seed % self.stride;
        loop {
            let (disk, journal, lost) = self.run_load(base, cut)?;
            if !lost {
                // The load came to its end before: what it left must open too.
                self.open_state(&disk, &journal, 0, &mut tally).map_err(|violation| {
                    Violation(format!("{self}, without a crash: {violation}"))
                })?;
                return Ok(tally);
            }
            tally.cuts += 1;
            self.open_states(&disk, &journal, 1, cut, &mut tally)
                .map_err(|violation| Violation(format!("{self}, cut {cut}: {violation}")))?;
            cut += self.stride;
        }
    }

    /// Runs the load until the power goes at the operation `cut`, or to its end.
    fn run_load(
        &self,
        base: &FileSystem,
        cut: u64,
    ) -> Result<(FileSystem, Journal, bool), Violation> {
        let journal = Journal::default();
        let mut content = base.clone();
        content.lose_power_at(content.crash_points() + cut);
        let (load, parameters) = (self.load, self.shape.parameters.clone());
        let told = journal.clone();
        let report = machine(load.seed, content, self.perturbation).run(move |world, session| {
            let disk = world.disk();
            let instance = Instance::open(&disk, Path::new(DIRECTORY), &parameters, session)?;
            let instance = Arc::new(instance);
            load.run(&instance, &told, session)?;
            let instance = Arc::into_inner(instance).expect("the load's sessions have ended");
            instance.shutdown(session)
        });
        let lost = match &report.result {
            Ok(Ok(())) => false,
            Err(Failure::PowerLost) => true,
            Ok(Err(stop)) => return Err(Violation(format!("{self}: the load stopped: {stop}"))),
            Err(failure) => return Err(Violation(format!("{self}, cut {cut}: {failure}"))),
        };
        Ok((left(report), journal, lost))
    }

    fn open_states(
        &self,
        disk: &FileSystem,
        journal: &Journal,
        depth: u32,
        seed: u64,
        tally: &mut Tally,
    ) -> Result<(), Violation> {
        tally.depth = tally.depth.max(depth);
        let states = CrashStates::of(disk);
        if let Some(all) = states.exhaustive(self.states_per_cut) {
            for state in all {
                self.open_state(&state.fs, journal, depth, tally).map_err(|violation| {
                    Violation(format!("{violation}\n{}", states.describe(state.number)))
                })?;
            }
            return Ok(());
        }
        for number in 0..self.states_per_cut {
            let draw = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(number);
            let state = states.sample(draw);
            self.open_state(&state, journal, depth, tally).map_err(|violation| {
                Violation(format!("{violation}\n{}", states.describe_sample(draw)))
            })?;
        }
        Ok(())
    }

    /// Opens one crash state and asks the oracle; then cuts the power while it is opened.
    fn open_state(
        &self,
        state: &FileSystem,
        journal: &Journal,
        depth: u32,
        tally: &mut Tally,
    ) -> Result<(), Violation> {
        let hash = state.image_hash().0;
        if !tally.images.insert(hash) && depth > 1 {
            return Ok(());
        }
        tally.openings += 1;
        let (after, lost) = self.open(state, journal, None, hash)?;
        assert!(!lost, "no power cut was planned");
        if depth == 0 || depth >= self.depth_max {
            return Ok(());
        }
        let operations = after.crash_points() - state.crash_points();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(hash);
        for _ in 0..self.cuts_in_recovery {
            let cut = random.random_range(1..=operations);
            tally.openings += 1;
            let (after, lost) = self.open(state, journal, Some(cut), hash)?;
            if lost {
                tally.cuts += 1;
                self.open_states(&after, journal, depth + 1, hash ^ cut, tally).map_err(
                    |violation| Violation(format!("{violation}\nafter cut {cut} in recovery")),
                )?;
            }
        }
        Ok(())
    }

    /// Opens, asks the oracle and shuts; or loses power meanwhile.
    fn open(
        &self,
        state: &FileSystem,
        journal: &Journal,
        cut: Option<u64>,
        seed: u64,
    ) -> Result<(FileSystem, bool), Violation> {
        let mut content = state.clone();
        // Without a cut, one that was planned for the load and never came is taken back.
        let cut = cut.map_or(u64::MAX, |cut| content.crash_points() + cut);
        content.lose_power_at(cut);
        let (parameters, journal) = (self.shape.parameters.clone(), journal.clone());
        let body = move |world: &World, session: &Session| {
            let (disk, directory) = (world.disk(), Path::new(DIRECTORY));
            let say = |stop: Stop| Violation(format!("it doesn't open: {stop}"));
            let opened = Instance::open(&disk, directory, &parameters, session);
            let instance = opened.map_err(say)?;
            let checked = check(&journal, &instance, session);
            instance.shutdown(session).map_err(say)?;
            checked
        };
        let report = machine(seed, content, self.perturbation).run(body);
        match &report.result {
            Ok(Ok(())) => Ok((left(report), false)),
            Ok(Err(violation)) => Err(violation.clone()),
            Err(Failure::PowerLost) => Ok((left(report), true)),
            Err(failure) => Err(Violation(format!("while it was opened: {failure}"))),
        }
    }
}

impl fmt::Display for Sweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {} with {} sessions", self.load.seed, self.load.sessions)
    }
}
