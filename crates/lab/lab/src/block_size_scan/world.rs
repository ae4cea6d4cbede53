//! Where cells are measured: this machine, or a model of one, with the loaded tables there.
//!
//! ```text
//!   make: file ─ load ─ crash ─ open, audit, shut ─▶ base ─ with_instance: open, body, shut
//! ```
//!
//! Callers: `run`.

use std::path::{Path, PathBuf};

use database::{Database, Options};
use experiment::Commits;
use os::{Disk, Session};
use stop::Stop;

use super::audit::audit;
use super::load::{Size, creation, load, parameters, write_file};
use super::run::Scans;
use crate::cells::WORLD_SEED;
use crate::crash::crash;
use crate::linux::{Chosen, this_machine};
use crate::model::Machine;
use crate::scratch::Scratch;
use crate::{Follower, RunOn};

const DIRECTORY: &str = "/db";
const FILE_DIRECTORY: &str = "/files";
const FILE: &str = "web_returns.dat";

/// Where cells are measured, with the loaded database there.
pub(super) enum World<'s> {
    Here { scratch: Scratch<'s>, disk: Disk },
    Modelled { machine: Box<Machine>, base: Box<sim::fs::FileSystem> },
}

/// What the loading of the tables has come to.
pub(super) struct Loaded {
    pub(super) commits: Commits,
    pub(super) chosen: Chosen,
}

impl<'s> World<'s> {
    /// None if it was told to stop; a model isn't.
    pub(super) fn prepare(
        scans: &Scans,
        follower: &mut dyn Follower,
        told_to_stop: &dyn Fn() -> bool,
        session: &'s Session,
    ) -> Result<Option<(World<'s>, Loaded)>, Stop> {
        let size = scans.size;
        match &scans.run_on {
            RunOn::ThisMachine(parent) => {
                let disk = os::linux::disk();
                let scratch = Scratch::make(&disk, parent, true, session)?;
                let base = scratch.base();
                let file = disk.place_of(&scratch.run().join(FILE));
                let tell = &mut |line: &str| follower.tell(line);
                let Some(commits) = make(&disk, [&base, &file], size, tell, told_to_stop, session)?
                else {
                    return Ok(None);
                };
                let chosen = choose(&disk, &base, size, session)?;
                Ok(Some((World::Here { scratch, disk }, Loaded { commits, chosen })))
            }
            RunOn::Model { machine, disk } => {
                let machine = Box::new(Machine::named(machine, disk)?);
                follower.tell("loading on the model");
                let (commits, base) = make_modelled(&machine, size)?;
                let body = move |world: &sim::World, session: &Session| {
                    choose(&world.disk(), Path::new(DIRECTORY), size, session)
                };
                let (chosen, _) = machine.run(WORLD_SEED, Some(base.clone()), body)?;
                let world = World::Modelled { machine, base: Box::new(base) };
                Ok(Some((world, Loaded { commits, chosen })))
            }
        }
    }

    pub(super) fn is_modelled(&self) -> bool {
        matches!(self, World::Modelled { .. })
    }

    pub(super) fn is_asynchronous(&self) -> bool {
        match self {
            World::Here { .. } => true,
            World::Modelled { machine, .. } => machine.machine.asynchronous_files,
        }
    }

    pub(super) fn describe(&self, scans: &Scans) -> String {
        match (self, &scans.run_on) {
            (World::Modelled { machine, .. }, RunOn::Model { machine: name, disk }) => {
                machine.describe(name, disk)
            }
            (_, RunOn::ThisMachine(parent)) => this_machine(parent),
            (World::Here { .. }, RunOn::Model { .. }) => {
                unreachable!("a model's world is modelled")
            }
        }
    }

    /// Opens an instance on the loaded tables, does `body` with it, and shuts it. None if it was
    /// told to stop.
    pub(super) fn with_instance<R: Send + 'static>(
        &self,
        options: Options,
        body: impl FnOnce(&Database, &dyn Fn() -> bool, &Session) -> Result<Option<R>, Stop>
        + Send
        + 'static,
        told_to_stop: &dyn Fn() -> bool,
        session: &Session,
    ) -> Result<Option<R>, Stop> {
        if told_to_stop() {
            return Ok(None);
        }
        match self {
            World::Here { scratch, disk } => {
                let body = |database: &Database| body(database, told_to_stop, session);
                opened(disk, &scratch.base(), &options, body, session)
            }
            World::Modelled { machine, base } => {
                let inside = move |world: &sim::World, session: &Session| {
                    let (disk, directory) = (world.disk(), Path::new(DIRECTORY));
                    let body = |database: &Database| body(database, &|| false, session);
                    opened(&disk, directory, &options, body, session)
                };
                let content = sim::fs::FileSystem::clone(base);
                Ok(machine.run(WORLD_SEED, Some(content), inside)?.0)
            }
        }
    }
}

/// Does `body` with an instance, which is then shut in good order, or ended as by a crash if that
/// failed or was stopped.
fn opened<R>(
    disk: &Disk,
    directory: &Path,
    options: &Options,
    body: impl FnOnce(&Database) -> Result<Option<R>, Stop>,
    session: &Session,
) -> Result<Option<R>, Stop> {
    let database = Database::open_in(disk, directory, options, session)?;
    match body(&database) {
        Ok(Some(done)) => database.shutdown_by(session).map(|()| Some(done)),
        Ok(None) => crash(database, session).map(|()| None),
        Err(stop) => crash(database, session).and(Err(stop)),
    }
}

/// The loaded tables, which a crash was survived with; on a disk that is quick, for loading isn't
/// what is measured.
fn make_modelled(machine: &Machine, size: Size) -> Result<(Commits, sim::fs::FileSystem), Stop> {
    let quick = machine.with_disk(Machine::named("two-core", "nvme")?.disk);
    let body = move |world: &sim::World, session: &Session| {
        let disk = world.disk();
        let (base, files) = (PathBuf::from(DIRECTORY), Path::new(FILE_DIRECTORY));
        disk.create_dir(files, session)?;
        make(&disk, [&base, &files.join(FILE)], size, &mut |_: &str| {}, &|| false, session)
    };
    let (commits, disk) = quick.run(WORLD_SEED, None, body)?;
    Ok((commits.expect("nobody tells a model to stop"), disk))
}

/// Writes the file and loads it into a database in `base`, which then crashes and is audited. None
/// if it was told to stop.
fn make(
    disk: &Disk,
    [base, file]: [&PathBuf; 2],
    size: Size,
    tell: &mut dyn FnMut(&str),
    told_to_stop: &dyn Fn() -> bool,
    session: &Session,
) -> Result<Option<Commits>, Stop> {
    tell("writing the flat file");
    if !write_file(disk, file, size.rows, told_to_stop, session)? {
        return Ok(None);
    }
    let parameters = parameters(size, true);
    let options = Options { creation: creation(size), parameters, ..Options::default() };
    let database = Database::create_in(disk, base, &options, session)?;
    let loaded = load(&mut database.connect_with(session), file, size.rows, tell, told_to_stop);
    // As a crash: what was acknowledged is to be there all the same.
    crash(database, session).and(loaded).and_then(|is_loaded| match is_loaded {
        false => Ok(None),
        true => opened(
            disk,
            base,
            &options,
            |database| audit(&mut database.connect_with(session)).map(Some),
            session,
        ),
    })
}

/// What an opening chooses by a probe, on the disk that cells have (LB61).
fn choose(disk: &Disk, directory: &Path, size: Size, session: &Session) -> Result<Chosen, Stop> {
    Chosen::by_opening(disk, directory, parameters(size, true), session)
}
