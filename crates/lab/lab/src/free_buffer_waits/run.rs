//! From the request to the table: each cell from the same files, in the order of a lot.
//!
//! Callers: the binary's `lab`.

use database::{Database, Options};
use std::path::Path;

use os::{Disk, FilesystemIo, Session};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::pace::PacedDisk;
use stop::Stop;

use super::measure::{Cell, Size, creation, load, measure, parameters};
use super::report::Report;
use super::setting::Setting;
use crate::RunOn;
use crate::checks;
use crate::crash::crash;
use crate::model::Machine;
use crate::scratch::Scratch;

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

/// Measures the table. None if it was told to stop; nothing is left behind then.
pub fn run(
    matrix: &Matrix,
    told_to_stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&str),
    session: &Session,
) -> Result<Option<Report>, Stop> {
    checks::rounds(matrix.size.rounds)?;
    let order = order(matrix);
    let (all, mut done) = (order.len(), 0);
    let mut cells: Vec<Vec<Cell>> = vec![Vec::new(); matrix.settings.len()];
    let mut world = World::prepare(matrix, session)?;
    for at in order {
        done += 1;
        let setting = matrix.settings[at];
        let Setting { io, writers, slaves } = setting;
        tell(&format!("cell {done} of {all}: {io}, {writers} writers, {slaves} I/O slaves"));
        match world.measure(matrix.size, setting, told_to_stop, session)? {
            Some(cell) => cells[at].push(cell),
            None => return Ok(None),
        }
    }
    Ok(Some(Report::of(&cells, matrix, world.describe(matrix), world.is_asynchronous())))
}

/// The cells of all rounds, each round in a random order.
fn order(matrix: &Matrix) -> Vec<usize> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(matrix.seed);
    let round = |_| {
        let mut cells: Vec<usize> = (0..matrix.settings.len()).collect();
        cells.shuffle(&mut random);
        cells
    };
    (0..matrix.size.rounds).flat_map(round).collect()
}

/// Where cells are measured, with the loaded database there.
enum World<'s> {
    Here { scratch: Scratch<'s>, disk: Disk, paced: Option<PacedDisk> },
    Modelled { machine: Box<Machine>, base: Box<sim::fs::FileSystem> },
}

impl<'s> World<'s> {
    fn prepare(matrix: &Matrix, session: &'s Session) -> Result<World<'s>, Stop> {
        let size = matrix.size;
        match &matrix.run_on {
            RunOn::ThisMachine(parent) => {
                let disk = os::linux::disk();
                let paced = matrix.paced.as_deref().map(|model| pace(&disk, model, session));
                // A wrong name is refused before anything is made.
                let paced = paced.transpose()?;
                let scratch = Scratch::make(&disk, parent, true, session)?;
                make(&disk, &scratch.base(), size, session)?;
                Ok(World::Here { scratch, disk, paced })
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
                    make(&world.disk(), Path::new(DIRECTORY), size, session)
                };
                // On a disk that is quick: loading isn't what is measured.
                let quick = machine.with_disk(Machine::named("two-core", "nvme")?.disk);
                let ((), base) = quick.run(1, None, body)?;
                Ok(World::Modelled { machine, base: Box::new(base) })
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
                let line = os::linux::machine::line();
                let system = os::linux::machine::file_system(parent);
                let pace = match &matrix.paced {
                    Some(model) => format!(", made as slow as the modelled disk {model}"),
                    None => String::new(),
                };
                format!("{line}; {system}{pace}")
            }
        }
    }

    fn measure(
        &mut self,
        size: Size,
        setting: Setting,
        told_to_stop: &dyn Fn() -> bool,
        session: &Session,
    ) -> Result<Option<Cell>, Stop> {
        let parameters = parameters(size, setting, self.is_asynchronous());
        let options = Options { parameters, ..Options::default() };
        match self {
            World::Here { scratch, disk, paced } => {
                if !scratch.restore(told_to_stop)? {
                    return Ok(None);
                }
                let disk = paced.as_ref().map_or_else(|| disk.clone(), PacedDisk::disk);
                let run = scratch.run();
                cell(&disk, &run, &options, size, told_to_stop, session)
            }
            World::Modelled { machine, base } => {
                if told_to_stop() {
                    return Ok(None);
                }
                let body = move |world: &sim::World, session: &Session| {
                    let (disk, directory) = (world.disk(), Path::new(DIRECTORY));
                    cell(&disk, directory, &options, size, &|| false, session)
                };
                Ok(machine.run(1, Some(sim::fs::FileSystem::clone(base)), body)?.0)
            }
        }
    }
}

fn pace(disk: &Disk, model: &str, session: &Session) -> Result<PacedDisk, Stop> {
    let model = sim::model::DiskParameters::builtin(model)
        .map_err(|error| checks::invalid(format!("cannot slow the disk down: {error}")))?;
    Ok(PacedDisk::new(disk, &model, session.os().clock().clone(), 1))
}

/// The loaded database.
fn make(disk: &Disk, directory: &Path, size: Size, session: &Session) -> Result<(), Stop> {
    let loading = Setting { io: FilesystemIo::SetAll, writers: 1, slaves: 0 };
    let parameters = parameters(size, loading, true);
    let options = Options { creation: creation(size), parameters, ..Options::default() };
    let database = Database::create_in(disk, directory, &options, session)?;
    match load(&database, size, session) {
        Ok(()) => database.shutdown_by(session),
        Err(stop) => crash(database, session).and(Err(stop)),
    }
}

fn cell(
    disk: &Disk,
    directory: &Path,
    options: &Options,
    size: Size,
    told_to_stop: &dyn Fn() -> bool,
    session: &Session,
) -> Result<Option<Cell>, Stop> {
    let database = Database::open_in(disk, directory, options, session)?;
    let measured = measure(&database, size, told_to_stop, session);
    let halted = crash(database, session);
    let measured = measured?;
    halted?;
    Ok(measured)
}
