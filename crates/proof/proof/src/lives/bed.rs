//! The machine of lives: rounds, and how each ends.
//!
//! Callers: `Lives`.

use std::path::Path;

use database::Error;
use os::{Session, ThreadSpec};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use sim::{Failure, Outside, Perturbation, World};
use std::collections::BTreeSet;
use waits::{Nanos, WaitEvent};

use super::Lives;
use super::actor::{Actor, Handles, run as work};
use super::administer::look_at_all;
use super::files;
use super::known::Known;
use super::life::{LifeNo, State};
use super::names::{PLACES, SHARED};
use super::tally::LivesTally;
use crate::Violation;
use crate::shape::machine;
use crate::sweep::left;

/// A round takes some minutes of virtual time, for openings wait for each other. One that takes
/// longer than this never ends.
const TIME_LIMIT_NS: u64 = 3_600_000_000_000;

/// A step takes so long, about.
const STEP_NS: u64 = 60_000_000;

/// What fits on a disk that is never full.
const ROOMY: u64 = 1 << 30;
/// Room that is left at most on one that may become full.
const SCARCE: u64 = 3 << 20;

/// How a round ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    /// The power goes after so many ns, or when everything is done.
    Cut(u64),
    /// All instances are dropped, as if their processes were killed.
    Abort,
    /// All are shut, looked at and verified.
    Quiet,
}

pub(super) fn run(lives: &Lives) -> Result<LivesTally, Violation> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(lives.seed ^ 0x006c_6976_6573);
    let mut disk = FileSystem::new(ROOMY);
    let known = Outside::new(Known::default());
    for round in 0..lives.rounds {
        let mut any = |below: u64| random.random_range(0..below);
        let longest = u64::from(lives.steps) * STEP_NS;
        let ending = match any(8) {
            _ if round + 1 == lives.rounds => Ending::Quiet,
            0..4 => Ending::Cut(any(longest)),
            4 | 5 => Ending::Abort,
            _ => Ending::Quiet,
        };
        let (used, _) = disk.space();
        let capacity = if any(3) == 0 { used + any(SCARCE) } else { ROOMY };
        disk.set_capacity(capacity);
        let perturbation = [Perturbation::NONE, Perturbation::RACES][any(2) as usize];
        let (actors, seed) = (1 + any(4), any(1 << 32));
        known.with(|known| known.begin(lives.steps));
        let one = Round { known: known.clone(), ending, actors, seed };
        disk = one.run(disk, perturbation).map_err(|Violation(what)| {
            let full = if capacity == ROOMY { "" } else { ", on a disk that may be full" };
            Violation(format!("{what}\nround {round}, {actors} actors, {ending:?}{full}"))
        })?;
    }
    Ok(known.with(|known| known.tally))
}

#[derive(Clone)]
struct Round {
    known: Outside<Known>,
    ending: Ending,
    actors: u64,
    seed: u64,
}

impl Round {
    fn run(&self, disk: FileSystem, perturbation: Perturbation) -> Result<FileSystem, Violation> {
        let inside = self.clone();
        let mut machine = machine(self.seed, disk, perturbation);
        machine.time_limit_ns = TIME_LIMIT_NS;
        let report = machine.run(move |world, session| inside.inside(world, session));
        if let Some(breach) = self.known.with(|known| known.breach.take()) {
            return Err(Violation(breach));
        }
        let is_cut = matches!(self.ending, Ending::Cut(_));
        match &report.result {
            Ok(Ok(())) => {}
            Err(Failure::PowerLost) if is_cut => {}
            Ok(Err(stop)) => return Err(Violation(format!("it stopped: {stop}"))),
            Err(failure) => return Err(Violation(format!("in the machine: {failure}"))),
        }
        let disk = left(report);
        Ok(if is_cut { CrashStates::of(&disk).sample(self.seed) } else { disk })
    }

    fn inside(&self, world: &World, session: &Session) -> Result<(), Error> {
        self.settle(world, session)?;
        self.start_cut(world, session)?;
        let handles = Handles::default();
        let mut threads = Vec::new();
        for number in 0..self.actors {
            let (known, handles, world) = (self.known.clone(), handles.clone(), world.clone());
            let seed = self.seed.wrapping_mul(1_000).wrapping_add(number);
            let body = move |session: &Session| {
                let mut actor = Actor::new(&known, &handles, &world, session, seed);
                work(&mut actor);
            };
            threads.push(session.spawn(ThreadSpec::foreground(format!("actor{number}")), body)?);
        }
        for thread in threads {
            assert!(thread.join(session).is_ok(), "{} panicked", thread.name());
        }
        self.end(&handles, world, session)
    }

    /// Before anybody opens anything: what was acknowledged is listed and lies there. What is no
    /// database's is removed.
    fn settle(&self, world: &World, session: &Session) -> Result<(), Error> {
        let disk = world.disk();
        if disk.list(Path::new(SHARED), session).is_err() {
            disk.create_dir(Path::new(SHARED), session)?;
        }
        let there: Vec<LifeNo> = self.known.with(|known| {
            let all = known.lives.iter().enumerate();
            all.filter(|(_, life)| life.is_there).map(|(number, _)| number).collect()
        });
        let (mut lived, mut all) = (BTreeSet::new(), BTreeSet::new());
        for life in there {
            let directory = self.known.with(|known| known.lives[life].directory());
            lived.insert(directory);
            match files::look(&disk, directory, session) {
                Ok(listed) => self.known.with(|known| known.looked(life, listed)),
                Err(wrong) => self.known.with(|known| known.is_gone(life, &wrong)),
            }
            let files = self.known.with(|known| known.lives[life].files());
            if let Some(file) = files::missing(&disk, &files, session)? {
                self.known.with(|known| known.is_gone(life, &format!("{file} isn't there")));
            }
            all.extend(files);
        }
        files::clean(&disk, &lived, &all, session)?;
        for directory in PLACES.into_iter().filter(|one| !lived.contains(one)) {
            // One that is empty is as good as none.
            if self.seed.is_multiple_of(2) {
                let _ = disk.remove(Path::new(directory), session);
            }
        }
        Ok(())
    }

    fn start_cut(&self, world: &World, session: &Session) -> Result<(), Error> {
        let Ending::Cut(after) = self.ending else { return Ok(()) };
        let (known, world) = (self.known.clone(), world.clone());
        let cuts = move |session: &Session| {
            session.pause(Nanos(after), session.waiting(WaitEvent::PlSqlLockTimer));
            cut(&known, &world);
        };
        session.spawn(ThreadSpec::foreground("ending"), cuts)?;
        Ok(())
    }

    fn end(&self, handles: &Handles, world: &World, session: &Session) -> Result<(), Error> {
        match self.ending {
            Ending::Cut(_) => cut(&self.known, world),
            Ending::Abort => {
                self.known.with(|known| known.tally.aborts += 1);
                drop(handles.take());
            }
            Ending::Quiet => {
                self.known.with(|known| known.tally.quiet += 1);
                let mut actor = Actor::new(&self.known, handles, world, session, self.seed);
                look_at_all(&mut actor);
                let there = |known: &mut Known| -> Vec<BTreeSet<String>> {
                    let sound = known.lives.iter();
                    let sound = sound.filter(|one| one.is_there && one.state == State::Sound);
                    sound.map(super::life::Life::files).collect()
                };
                for files in self.known.with(there) {
                    if let Some(file) = files::missing(&world.disk(), &files, session)? {
                        self.known.with(|known| known.finds(format!("{file} isn't there")));
                    }
                }
            }
        }
        Ok(())
    }
}

fn cut(known: &Outside<Known>, world: &World) {
    known.with(|known| known.tally.cuts += 1);
    world.cut_power();
}
