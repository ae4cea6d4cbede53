//! The machine of a model check: rounds of sessions, and how each ends.
//!
//! Callers: `ModelCheck`.

use std::path::Path;
use std::sync::Arc;

use instance::Instance;
use os::{Session, ThreadSpec};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use sim::{Failure, Outside, Perturbation, World};
use space::Holds;
use stop::Stop;
use waits::{Nanos, Statistic, WaitEvent};

use super::ModelCheck;
use super::client::{Client, heap_name, heaps};
use super::known::Known;
use super::plan::Plan;
use super::survivors::look;
use super::tally::ModelTally;
use crate::Violation;
use crate::shape::{DIRECTORY, machine};
use crate::sweep::left;

/// Virtual time of an operation, before any was seen.
const PACE_NS: u64 = 50_000;

/// How a round ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    /// The power goes after so many ns, or when everything is done.
    Cut(u64),
    /// The instance halts.
    Abort(u64),
    /// In good order.
    Shut,
}

pub(super) fn run(check: &ModelCheck) -> Result<ModelTally, Violation> {
    let plan = Plan::of(check.seed, check.sabotage);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(check.seed);
    let mut disk = base(&plan, check.seed)?;
    let known = Outside::new(Known::new(plan.heaps));
    let mut pace = PACE_NS;
    for round in 0..check.rounds {
        let operations = check.operations / u64::from(check.rounds);
        let at = random.random_range(0..=operations * pace * 9 / 8);
        let ending = match random.random_range(0..8) {
            _ if round + 1 == check.rounds => Ending::Shut,
            0..5 => Ending::Cut(at),
            5 | 6 => Ending::Abort(at),
            _ => Ending::Shut,
        };
        let seed = random.random_range(0..1 << 32);
        known.with(|known| known.operations = operations);
        let begun = known.with(|known| known.tally.operations);
        let (next, elapsed) = Round { plan: &plan, known: &known, ending, seed }
            .run(disk)
            .map_err(|Violation(what)| Violation(format!("{what}\nround {round}, {ending:?}")))?;
        let done = known.with(|known| known.tally.operations) - begun;
        pace = (elapsed / done.max(1)).max(1);
        disk = next;
    }
    Ok(known.with(|known| known.tally))
}

/// A disk with empty heaps.
pub(crate) fn base(plan: &Plan, seed: u64) -> Result<FileSystem, Violation> {
    let (plan, empty) = (plan.clone(), FileSystem::new(1 << 30));
    let report = machine(seed, empty, Perturbation::NONE).run(move |world, session| {
        let (disk, directory) = (world.disk(), Path::new(DIRECTORY));
        Instance::create(&disk, directory, &plan.creation, &plan.parameters, session)?;
        let instance = Instance::open(&disk, directory, &plan.parameters, session)?;
        for table in 0..plan.heaps {
            instance.space().create(&heap_name(table), Holds::Table, &[], session)?;
        }
        instance.shutdown(session)
    });
    match &report.result {
        Ok(Ok(())) => Ok(left(report)),
        Ok(Err(stop)) => Err(Violation(format!("the database can't be made: {stop}"))),
        Err(failure) => Err(Violation(format!("the database can't be made: {failure}"))),
    }
}

struct Round<'a> {
    plan: &'a Plan,
    known: &'a Outside<Known>,
    ending: Ending,
    seed: u64,
}

impl Round<'_> {
    /// From one disk to the next, and how long it took.
    fn run(&self, disk: FileSystem) -> Result<(FileSystem, u64), Violation> {
        let inside = Inside {
            plan: self.plan.clone(),
            known: self.known.clone(),
            ending: self.ending,
            seed: self.seed,
        };
        let machine = machine(self.seed, disk, self.plan.perturbation);
        let report = machine.run(move |world, session| inside.run(world, session));
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
        let elapsed = report.elapsed_ns;
        let disk = left(report);
        match is_cut {
            true => Ok((CrashStates::of(&disk).sample(self.seed), elapsed)),
            false => Ok((disk, elapsed)),
        }
    }
}

/// A round as the machine runs it.
#[derive(Clone)]
struct Inside {
    plan: Plan,
    known: Outside<Known>,
    ending: Ending,
    seed: u64,
}

impl Inside {
    fn run(self, world: &World, session: &Session) -> Result<(), Stop> {
        let directory = Path::new(DIRECTORY);
        let instance = Instance::open(&world.disk(), directory, &self.plan.parameters, session)?;
        let instance = Arc::new(instance);
        self.known.with(|known| {
            let opened = instance.opened();
            known.tally.recoveries += u64::from(opened.recovered.records > 0);
            known.tally.dead += opened.rolled_back;
        });
        let heaps = heaps(&self.plan, &instance, session)?;
        look((&self.plan, &heaps), &self.known, &instance, session)?;
        if self.known.with(|known| known.breach.is_some()) {
            world.cut_power();
        }
        drop(heaps);
        self.start_ending(&instance, world, session)?;
        let mut threads = Vec::new();
        for number in 0..self.plan.sessions {
            let (inside, instance, world) = (self.clone(), Arc::clone(&instance), world.clone());
            let spec = ThreadSpec::foreground(format!("session{number}"));
            let body = move |session: &Session| inside.session(number, &instance, &world, session);
            threads.push(session.spawn(spec, body)?);
        }
        for thread in threads {
            assert!(thread.join(session).is_ok(), "{} panicked", thread.name());
        }
        let instance = Arc::into_inner(instance).expect("the sessions have ended");
        self.end(instance, world, session)
    }

    fn session(&self, number: u32, instance: &Instance, world: &World, session: &Session) {
        let seed = self.seed.wrapping_mul(1_000).wrapping_add(number.into());
        let client =
            Client::new((number, seed), (instance, &self.plan), &self.known, world, session);
        match client.and_then(|mut client| client.run()) {
            Ok(()) => {}
            Err(Stop::Halted(_)) if matches!(self.ending, Ending::Abort(_)) => {}
            Err(stop) => {
                self.known.with(|known| known.finds(format!("a session was stopped: {stop}")));
                world.cut_power();
            }
        }
    }

    /// Whoever ends the round while sessions work.
    fn start_ending(
        &self,
        instance: &Instance,
        world: &World,
        session: &Session,
    ) -> Result<(), Stop> {
        let (known, world, ending) = (self.known.clone(), world.clone(), self.ending);
        let halt = instance.halt().clone();
        let (Ending::Cut(after) | Ending::Abort(after)) = ending else { return Ok(()) };
        let ends = move |session: &Session| {
            let waiting = session.waiting(WaitEvent::PlSqlLockTimer);
            session.pause(Nanos(after), waiting);
            if matches!(ending, Ending::Cut(_)) {
                cut(&known, &world);
            } else {
                halt.raise("the round ends", session);
            }
        };
        session.spawn(ThreadSpec::foreground("ending"), ends)?;
        Ok(())
    }

    fn end(&self, instance: Instance, world: &World, session: &Session) -> Result<(), Stop> {
        match self.ending {
            Ending::Cut(_) => cut(&self.known, world),
            Ending::Abort(_) => {
                instance.abort(session);
                note(&self.known, world);
                self.known.with(|known| known.tally.aborts += 1);
            }
            Ending::Shut => {
                instance.wait_for_dead(session);
                let active = instance.transactions().active();
                while !active.all(session).is_empty() {
                    let waiting = session.waiting(WaitEvent::PlSqlLockTimer);
                    session.pause(Nanos::from_millis(100), waiting);
                }
                let checked = instance.space().check(session);
                let checked = checked.and_then(|_| instance.transactions().undo().check(session));
                if let Err(wrong) = checked {
                    self.known.with(|known| known.finds(wrong));
                }
                instance.shutdown(session)?;
                note(&self.known, world);
                self.known.with(|known| known.tally.shutdowns += 1);
            }
        }
        Ok(())
    }
}

fn cut(known: &Outside<Known>, world: &World) {
    note(known, world);
    known.with(|known| known.tally.cuts += 1);
    world.cut_power();
}

/// What the machine has counted.
fn note(known: &Outside<Known>, world: &World) {
    let totals = world.os().totals();
    known.with(|known| {
        known.tally.cr_records += totals.statistic(Statistic::CrUndoRecordsApplied);
        let rows = totals.event(WaitEvent::EnqTxRowLock).count;
        known.tally.waits += rows + totals.event(WaitEvent::EnqTxAllocateItl).count;
    });
}
