//! The machine of a model check: rounds of sessions, and how each ends.
//!
//! Callers: `ModelCheck`.

use std::path::Path;

use database::{Connection, Database, Error, ErrorKind, Options};
use instance::Instance;
use os::{FileOptions, Session, ThreadSpec};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use sim::{Failure, Outside, Perturbation, World};
use waits::{Nanos, Statistic, WaitEvent};

use super::ModelCheck;
use super::aged::age;
use super::cancel::cancel;
use super::client::{Client, run as work};
use super::judge::Judge;
use super::known::{EXTRA, Extra, Known};
use super::plan::Plan;
use super::resized::resize;
use super::schema::{Schema, TABLES};
use super::tally::ModelTally;
use super::ticket;
use crate::Violation;
use crate::defining::Defining;
use crate::shape::{DIRECTORY, machine, machine_for};
use crate::sweep::left;

/// Virtual time of an operation, before any was seen.
const PACE_NS: u64 = 50_000;

/// A round takes a few seconds of virtual time, or a minute where pauses are long. One that takes
/// longer than this never ends.
const TIME_LIMIT_NS: u64 = 600_000_000_000;

/// A power cut waits so long for commits to return, each time it looks.
const LOOK_AGAIN: Nanos = Nanos::from_micros(20);

/// Of databases that were shut one in so many is verified.
const VERIFIED_ONE_IN: u64 = 4;

/// How a round ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    /// The power goes after so many ns, or when everything is done.
    Cut(u64),
    /// The database is dropped, as if the process were killed.
    Abort,
    /// In good order.
    Shut,
}

pub(super) fn run(check: &ModelCheck) -> Result<ModelTally, Violation> {
    let mut plan = Plan::with_specials(check.seed, check.failpoints);
    (plan.cancels, plan.by) = (check.cancels, check.by);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(check.seed);
    let mut disk = base(&mut plan, check.seed)?;
    let known = Outside::new(Known::default());
    let (mut pace, mut dead) = (PACE_NS, false);
    for round in 0..check.rounds {
        let operations = check.operations / u64::from(check.rounds);
        let at = random.random_range(0..=operations * pace * 9 / 8);
        let ending = match random.random_range(0..8) {
            _ if round + 1 == check.rounds || plan.nowait => Ending::Shut,
            0..5 => Ending::Cut(at),
            5 | 6 => Ending::Abort,
            _ => Ending::Shut,
        };
        let seed = random.random_range(0..1 << 32);
        let begun = known.with(|known| {
            known.operations = operations;
            known.closing = false;
            known.committing = 0;
            known.changing.clear();
            known.sessions = plan.sessions;
            known.tally.operations
        });
        let bed = Round { plan: &plan, known: &known, ending, seed };
        let told = |what: String| Violation(format!("{what}\nround {round}, {ending:?}"));
        let (next, elapsed) = bed.run(disk).map_err(|Violation(what)| told(what))?;
        bed.judge(dead).map_err(told)?;
        let done = known.with(|known| known.tally.operations) - begun;
        pace = (elapsed / done.max(1)).max(1);
        // Who was interrupted before may still not be rolled back when the next round ends.
        dead = match ending {
            Ending::Cut(_) => true,
            Ending::Abort => dead,
            Ending::Shut => false,
        };
        disk = next;
    }
    Ok(known.with(|known| known.tally))
}

fn options(plan: &Plan) -> Options {
    Options {
        creation: plan.creation.clone(),
        parameters: plan.parameters.clone(),
        ..Options::default()
    }
}

/// A disk with empty tables. The plan's schema becomes what could be made.
fn base(plan: &mut Plan, seed: u64) -> Result<FileSystem, Violation> {
    let (inside, made) = (plan.clone(), Outside::<Option<Schema>>::default());
    let into = made.clone();
    let empty = FileSystem::new(1 << 30);
    let report = machine(seed, empty, Perturbation::NONE).run(move |world, session| {
        let (disk, directory) = (world.disk(), Path::new(DIRECTORY));
        Instance::create(&disk, directory, &inside.creation, &inside.parameters, session)?;
        let database = Database::open_in(&disk, directory, &options(&inside), session)?;
        let mut connection = database.connect_with(session);
        let mut schema = inside.schema.clone();
        schema.make(&mut Defining::new(inside.by, &mut connection))?;
        drop(connection);
        into.with(|into| *into = Some(schema));
        database.shutdown_by(session)
    });
    match &report.result {
        Ok(Ok(())) => {}
        Ok(Err(stop)) => return Err(Violation(format!("the database can't be made: {stop}"))),
        Err(failure) => return Err(Violation(format!("the database can't be made: {failure}"))),
    }
    plan.schema = made.take().expect("the tables were made");
    let mut disk = left(report);
    if let Some(left) = plan.names_left {
        age(&mut disk, DIRECTORY, plan.creation.db_block_size, left)?;
    }
    Ok(disk)
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
        let failpoints = self.plan.parameters.failpoints;
        let mut machine = machine_for(failpoints, self.seed, disk, self.plan.perturbation);
        machine.time_limit_ns = TIME_LIMIT_NS;
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

    /// Whether what sessions were told can have been.
    fn judge(&self, dead: bool) -> Result<(), String> {
        self.known.with(|known| {
            let log = std::mem::take(&mut known.log);
            let definitions = std::mem::take(&mut known.definitions);
            known.before = definitions.clone();
            let (history, tally) = (&mut known.history, &mut known.tally);
            let extras = known.extras.clone();
            Judge { plan: self.plan, dead, history, tally }.round(log, definitions, extras)
        })
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
    fn run(self, world: &World, session: &Session) -> Result<(), Error> {
        let database =
            Database::open_in(&world.disk(), Path::new(DIRECTORY), &options(&self.plan), session)?;
        let opened = database.instance().opened().rolled_back;
        self.known.with(|known| known.tally.dead += opened);
        let mut connection = database.connect_with(session);
        let (extras, tickets) = (extras(&connection)?, ticket::read(&mut connection)?);
        drop(connection);
        let wrong = self.known.with(|known| {
            let wrong = known.tickets.begin(&tickets);
            known.begin(extras).or(wrong)
        });
        if let Some(wrong) = wrong {
            self.known.with(|known| known.finds(wrong));
            return Ok(());
        }
        self.start_cut(world, session)?;
        let mut threads = Vec::new();
        for number in 0..self.plan.sessions {
            let (inside, database, world) = (self.clone(), database.clone(), world.clone());
            let spec = ThreadSpec::foreground(format!("session{number}"));
            let body = move |session: &Session| inside.session(number, &database, &world, session);
            threads.push(session.spawn(spec, body)?);
        }
        if self.plan.shrinks {
            let (inside, database) = (self.clone(), database.clone());
            let body = move |session: &Session| {
                resize(&inside.plan, &inside.known, &database, inside.seed, session);
            };
            threads.push(session.spawn(ThreadSpec::foreground("administrator"), body)?);
        }
        for thread in threads {
            assert!(thread.join(session).is_ok(), "{} panicked", thread.name());
        }
        self.end(database, world, session)
    }

    fn session(&self, number: u32, database: &Database, world: &World, session: &Session) {
        let seed = self.seed.wrapping_mul(1_000).wrapping_add(number.into());
        let mut connection = database.connect_with(session);
        let canceller = self.plan.cancels.then(|| {
            let (known, handle) = (self.known.clone(), connection.cancel_handle());
            let body = move |session: &Session| cancel(&known, &handle, seed, session);
            session.spawn(ThreadSpec::foreground("canceller"), body).expect("a thread")
        });
        let client = Client::new(&self.plan, &self.known, world, session, seed, &connection);
        if let Err(stop) = client.and_then(|mut client| work(&mut client, &mut connection)) {
            self.known.with(|known| known.finds(format!("a session was stopped: {stop}")));
            world.cut_power();
        }
        if let Some(canceller) = canceller {
            assert!(canceller.join(session).is_ok(), "{} panicked", canceller.name());
        }
        self.known.with(|known| known.sessions -= 1);
    }

    /// A thread that cuts the power while sessions work, when no commit is under way: so it is
    /// known of each transaction whether it was committed.
    fn start_cut(&self, world: &World, session: &Session) -> Result<(), Error> {
        let Ending::Cut(after) = self.ending else { return Ok(()) };
        let (known, world) = (self.known.clone(), world.clone());
        let cuts = move |session: &Session| {
            session.pause(Nanos(after), session.waiting(WaitEvent::PlSqlLockTimer));
            known.with(|known| known.closing = true);
            while known.with(|known| known.committing) > 0 {
                session.pause(LOOK_AGAIN, session.waiting(WaitEvent::PlSqlLockTimer));
            }
            cut(&known, &world);
        };
        session.spawn(ThreadSpec::foreground("ending"), cuts)?;
        Ok(())
    }

    fn end(&self, database: Database, world: &World, session: &Session) -> Result<(), Error> {
        match self.ending {
            Ending::Cut(_) => cut(&self.known, world),
            Ending::Abort => {
                note(&self.known, world);
                self.known.with(|known| known.tally.aborts += 1);
                drop(database);
            }
            Ending::Shut => {
                note(&self.known, world);
                let instance = database.instance();
                let checked = instance.space().check(session);
                let checked = checked.and_then(|_| instance.transactions().undo().check(session));
                if let Err(wrong) = checked {
                    self.known.with(|known| known.finds(wrong));
                }
                self.known.with(|known| known.tally.shutdowns += 1);
                self.shut(database, world, session)?;
            }
        }
        Ok(())
    }

    /// SMON may still roll back what a crash has interrupted.
    fn shut(&self, database: Database, world: &World, session: &Session) -> Result<(), Error> {
        database.instance().wait_for_dead(session);
        match database.shutdown_by(session) {
            Err(stop) if stop.refusal() == Some(ErrorKind::WrongState) => {
                self.known.with(|known| known.finds(format!("it can't be shut: {stop}")));
                Ok(())
            }
            done => {
                done?;
                if self.seed.is_multiple_of(VERIFIED_ONE_IN) {
                    self.verify(world, session);
                }
                Ok(())
            }
        }
    }

    /// Every block of the database, which is shut, and how they hang together.
    fn verify(&self, world: &World, session: &Session) {
        let mut findings = Vec::new();
        let tell = &mut |finding: &verify::Finding| findings.push(finding.to_string());
        let mut task =
            verify::Task { pairs: &[], told_max: verify::TOLD_MAX, tell, go_on: &mut |_| true };
        let options = FileOptions { direct: false, write_through: false };
        let wrong = match verify::closed(
            &world.disk(),
            Path::new(DIRECTORY),
            options,
            &mut task,
            session,
        ) {
            Ok(report) if report.is_clean() => None,
            Ok(report) => Some(format!("{}\n{report}", findings.join("\n"))),
            Err(stop) => Some(stop.to_string()),
        };
        self.known.with(|known| {
            known.tally.verified += 1;
            if let Some(wrong) = wrong {
                known.finds(format!("shut, it isn't in order: {wrong}"));
            }
        });
    }
}

/// Indexes that are there, with which tables weren't made.
fn extras(connection: &Connection<'_>) -> Result<Vec<Extra>, Error> {
    let mut all = Vec::new();
    for (table, name) in TABLES.iter().enumerate() {
        let found = connection.table(name)?;
        let indexes = found.definition().indexes.iter();
        all.extend(indexes.filter(|index| index.name.contains(EXTRA)).map(|index| Extra {
            table,
            name: index.name.clone(),
            columns: index.columns.iter().map(|of| of.column).collect(),
            unique: index.unique,
        }));
    }
    Ok(all)
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
