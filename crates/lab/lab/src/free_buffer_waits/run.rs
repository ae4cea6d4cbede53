//! From the request to the table: each cell from the same files, in the order of a lot.
//!
//! Callers: the binary's `lab`.

use database::{Database, Options};
use experiment::{Measured, Origin, Run, Step};
use instance::Parameters;
use std::path::Path;

use os::{Disk, FilesystemIo, Session};
use sim::pace::PacedDisk;
use stop::Stop;
use waits::Nanos;

use super::NAME;
use super::audit::audit;
use super::measure::{Size, creation, load, measure, parameters};
use super::report::Report;
use super::setting::Setting;
use crate::cells::{Place, WORLD_SEED, rounds};
use crate::checks;
use crate::crash::crash;
use crate::form::listed;
use crate::linux::{Chosen, this_machine};
use crate::model::Machine;
use crate::scratch::Scratch;
use crate::{Follower, RunOn};

/// Here no round begins after this time, once there are [`ROUNDS_LEAST`].
const BUDGET: Nanos = Nanos::from_secs(14 * 60);
/// Eight statements need eight rounds.
const ROUNDS_LEAST: usize = 8;
const DIRECTORY: &str = "/db";

/// The request for the experiment.
pub struct Matrix {
    /// How much.
    pub size: Size,
    /// Which cells.
    pub settings: Vec<Setting>,
    /// Where the runs are made.
    pub run_on: RunOn,
    /// Here: the disk is made as slow as this model; none for as it is, and on a model.
    pub paced: Option<String>,
    /// Orders the cells.
    pub seed: u64,
    /// The commit that the program was built from.
    pub commit: String,
    /// The command line that asks for it again.
    pub command: String,
}

/// Measures the table, and hands the follower a row for each run. None if it was told to stop; no
/// database is left behind then.
pub fn run(
    matrix: &Matrix,
    told_to_stop: &dyn Fn() -> bool,
    follower: &mut dyn Follower,
    session: &Session,
) -> Result<Option<Report>, Stop> {
    checks::table(matrix.size.rounds, matrix.settings.len())?;
    let is_modelled = matches!(matrix.run_on, RunOn::Model { .. });
    let rounds = rounds(matrix.settings.len(), matrix.size.rounds, !is_modelled, matrix.seed);
    let Some((mut world, chosen)) = World::prepare(matrix, told_to_stop, session)? else {
        return Ok(None);
    };
    let place = Place {
        machine: world.describe(matrix),
        is_modelled,
        asynchronous_files: world.is_asynchronous(),
        chosen,
        commit: matrix.commit.clone(),
        command: matrix.command.clone(),
    };
    let work = format!("{:?}", Size { rounds: 1, ..matrix.size });
    let origin = place.origin(NAME, &matrix.run_on, matrix.seed, work);
    let (mut rows, began) = (Vec::new(), session.now());
    for (before, round) in rounds.iter().enumerate() {
        if !is_modelled && before >= ROUNDS_LEAST && session.now().since(began) > BUDGET {
            break;
        }
        for step in round {
            follower.tell(&line(matrix, step, round.len()));
            let setting = matrix.settings[step.level.index()];
            let mut parameters = parameters(matrix.size, setting, place.asynchronous_files);
            place.chosen.fix(&mut parameters);
            let cell = world.measure(matrix.size, &parameters, told_to_stop, session)?;
            let Some(measured) = cell else { return Ok(None) };
            let row = row(matrix, &origin, step, &parameters, measured);
            follower.row(&row);
            rows.push(row);
        }
    }
    Ok(Some(Report::of(&rows, matrix, place)))
}

fn line(matrix: &Matrix, step: &Step, cells: usize) -> String {
    format!(
        "round {} of {}, cell {} of {cells}: {}",
        step.round,
        matrix.size.rounds,
        step.place,
        matrix.settings[step.level.index()].short()
    )
}

fn row(
    matrix: &Matrix,
    origin: &Origin,
    step: &Step,
    parameters: &Parameters,
    (measured, intervals): Cell,
) -> Run {
    let size = matrix.size;
    let load = [
        ("load", NAME.to_owned()),
        ("sessions", size.sessions.to_string()),
        ("rows", size.rows.to_string()),
        ("paced", matrix.paced.clone().unwrap_or_else(|| "no".to_owned())),
    ];
    let creation = creation(size);
    let named = listed(&creation, parameters).chain(load);
    let named = named.map(|(name, value)| (name.to_owned(), value)).collect();
    let setting = matrix.settings[step.level.index()].to_string();
    Run::new(origin.identity(step, &setting, named), measured, &intervals)
}

/// The figures of a cell, and its sessions' books.
type Cell = (Measured, Vec<report::SessionInterval>);

/// Where cells are measured, with the loaded database there.
enum World<'s> {
    Here { scratch: Scratch<'s>, disk: Disk, paced: Option<PacedDisk> },
    Modelled { machine: Box<Machine>, base: Box<sim::fs::FileSystem> },
}

impl<'s> World<'s> {
    /// None if it was told to stop; a model isn't.
    fn prepare(
        matrix: &Matrix,
        told_to_stop: &dyn Fn() -> bool,
        session: &'s Session,
    ) -> Result<Option<(World<'s>, Chosen)>, Stop> {
        let size = matrix.size;
        match &matrix.run_on {
            RunOn::ThisMachine(parent) => {
                let disk = os::linux::disk();
                let paced = matrix.paced.as_deref().map(|model| pace(&disk, model, session));
                // A wrong name is refused before anything is made.
                let paced = paced.transpose()?;
                let scratch = Scratch::make(&disk, parent, true, session)?;
                if !make(&disk, &scratch.base(), size, told_to_stop, session)? {
                    return Ok(None);
                }
                let slow = paced.as_ref().map_or_else(|| disk.clone(), PacedDisk::disk);
                let chosen = choose(&slow, &scratch.base(), size, session)?;
                Ok(Some((World::Here { scratch, disk, paced }, chosen)))
            }
            RunOn::Model { machine, disk } => {
                if let Some(paced) = &matrix.paced {
                    return Err(checks::invalid(format!(
                        "cannot slow a modelled disk down to {paced}: choose the model's disk, or \
                         run on this machine"
                    )));
                }
                let machine = Box::new(Machine::named(machine, disk)?);
                let body = move |world: &sim::World, session: &Session| {
                    make(&world.disk(), Path::new(DIRECTORY), size, &|| false, session)
                };
                // On a disk that is quick: loading isn't what is measured.
                let quick = machine.with_disk(Machine::named("two-core", "nvme")?.disk);
                let (_, base) = quick.run(WORLD_SEED, None, body)?;
                let body = move |world: &sim::World, session: &Session| {
                    choose(&world.disk(), Path::new(DIRECTORY), size, session)
                };
                let (chosen, _) = machine.run(WORLD_SEED, Some(base.clone()), body)?;
                Ok(Some((World::Modelled { machine, base: Box::new(base) }, chosen)))
            }
        }
    }

    fn is_asynchronous(&self) -> bool {
        match self {
            World::Here { .. } => true,
            World::Modelled { machine, .. } => machine.machine.asynchronous_files,
        }
    }

    fn describe(&self, matrix: &Matrix) -> String {
        match (self, &matrix.run_on) {
            (World::Modelled { machine, .. }, RunOn::Model { machine: name, disk }) => {
                let alone = match machine.machine.buffered_writes_alone {
                    true => " One buffered write at a time gets into a file.",
                    false => "",
                };
                machine.describe(name, disk) + alone
            }
            (_, place) => {
                let parent = match place {
                    RunOn::ThisMachine(parent) => parent.as_path(),
                    RunOn::Model { .. } => Path::new("."),
                };
                let pace = match &matrix.paced {
                    Some(model) => format!(", made as slow as the modelled disk {model}"),
                    None => String::new(),
                };
                this_machine(parent) + &pace
            }
        }
    }

    fn measure(
        &mut self,
        size: Size,
        parameters: &Parameters,
        told_to_stop: &dyn Fn() -> bool,
        session: &Session,
    ) -> Result<Option<Cell>, Stop> {
        let options = Options { parameters: parameters.clone(), ..Options::default() };
        match self {
            World::Here { scratch, disk, paced } => {
                if !scratch.restore(told_to_stop)? {
                    return Ok(None);
                }
                let slow = paced.as_ref().map_or_else(|| disk.clone(), PacedDisk::disk);
                cell([&slow, disk], &scratch.run(), &options, size, told_to_stop, session)
            }
            World::Modelled { machine, base } => {
                if told_to_stop() {
                    return Ok(None);
                }
                let body = move |world: &sim::World, session: &Session| {
                    let (disk, directory) = (world.disk(), Path::new(DIRECTORY));
                    cell([&disk, &disk], directory, &options, size, &|| false, session)
                };
                Ok(machine.run(WORLD_SEED, Some(sim::fs::FileSystem::clone(base)), body)?.0)
            }
        }
    }
}

fn pace(disk: &Disk, model: &str, session: &Session) -> Result<PacedDisk, Stop> {
    let model = sim::model::DiskParameters::builtin(model)
        .map_err(|error| checks::invalid(format!("cannot slow the disk down: {error}")))?;
    Ok(PacedDisk::new(disk, &model, session.os().clock().clone(), 1))
}

/// The loaded database. False if it was told to stop.
fn make(
    disk: &Disk,
    directory: &Path,
    size: Size,
    told_to_stop: &dyn Fn() -> bool,
    session: &Session,
) -> Result<bool, Stop> {
    let parameters = parameters(size, LOADING, true);
    let options = Options { creation: creation(size), parameters, ..Options::default() };
    let database = Database::create_in(disk, directory, &options, session)?;
    let loaded = load(&database, size, told_to_stop, session);
    if !matches!(loaded, Ok(true)) {
        return crash(database, session).and(loaded);
    }
    database.shutdown_by(session)?;
    Ok(true)
}

const LOADING: Setting = Setting { io: FilesystemIo::SetAll, writers: 1, slaves: 0 };

/// What an opening chooses by a probe, on the disk that cells have (LB61).
fn choose(disk: &Disk, directory: &Path, size: Size, session: &Session) -> Result<Chosen, Stop> {
    Chosen::by_opening(disk, directory, parameters(size, LOADING, true), session)
}

/// Measures on the first of the disks; looks for the commits on the second, the same one made not
/// slow.
fn cell(
    [slow, plain]: [&Disk; 2],
    directory: &Path,
    options: &Options,
    size: Size,
    told_to_stop: &dyn Fn() -> bool,
    session: &Session,
) -> Result<Option<Cell>, Stop> {
    let database = Database::open_in(slow, directory, options, session)?;
    let measured = measure(&database, size, told_to_stop, session);
    let halted = crash(database, session);
    let measured = measured?;
    halted?;
    let Some(measured) = measured else { return Ok(None) };
    let commits = audit(plain, directory, options, size, session)?;
    let figures = Measured {
        elapsed: measured.elapsed,
        transactions: size.sessions.into(),
        latency: None,
        commits: Some(commits),
    };
    Ok(Some((figures, measured.intervals)))
}
