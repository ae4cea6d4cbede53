//! The same API on a simulated machine, where threads meet in whatever order a seed says.

use std::path::Path;

use database::{Creation, Database, Options, Parameters};
use os::{Session, ThreadHandle, ThreadSpec};
use sim::fs::FileSystem;
use sim::{Perturbation, Report, Simulation, World};

fn directory() -> &'static Path {
    Path::new("/db")
}

/// As small as everything still happens.
pub(crate) fn options() -> Options {
    let creation = Creation {
        db_block_size: ids::BlockSize::KIB_2,
        data_bytes: 4_000 * 2048,
        extent_blocks: 4,
        log_file_bytes: 1 << 20,
        undo_segments: 2,
        undo_slots: 8,
        doublewrite_slots: 16,
        ..Creation::default()
    };
    let parameters = Parameters {
        db_cache_size: 192 * 2048,
        db_working_sets: 2,
        db_writer_batch: 4,
        ..Parameters::default()
    };
    Options { creation, parameters }
}

fn machine(seed: u64, content: FileSystem) -> Simulation {
    let mut simulation = Simulation::new(seed);
    simulation.disks[0].content = content;
    simulation
}

/// A disk with a database on which `body` has worked.
pub(crate) fn made(body: impl FnOnce(&Database, &Session) + Send + 'static) -> FileSystem {
    made_with(options().creation, body)
}

/// Does the same with a database that is created so.
pub(crate) fn made_with(
    creation: Creation,
    body: impl FnOnce(&Database, &Session) + Send + 'static,
) -> FileSystem {
    let mut report = machine(1, FileSystem::new(1 << 30)).run(move |world, session| {
        let (disk, options) = (world.disk(), Options { creation, ..options() });
        let (creation, parameters) = (&options.creation, &options.parameters);
        instance::Instance::create(&disk, directory(), creation, parameters, session)
            .expect("created");
        work(world, session, body);
    });
    let mut disk = report.disks.remove("disk").expect("the machine has one disk");
    disk.close_all();
    ended(report, "the database can't be made");
    disk
}

/// With the smallest cache.
pub(crate) fn smallest() -> Options {
    let mut options = options();
    options.parameters.db_cache_size = 16 * 2048;
    options
}

/// Runs `body` on the database, opened like this, with a schedule that finds races.
pub(crate) fn racing_in<T: Send + 'static>(
    options: Options,
    seed: u64,
    content: FileSystem,
    body: impl FnOnce(&Database, &Session) -> T + Send + 'static,
) -> T {
    let simulation = Simulation { perturbation: Perturbation::RACES, ..machine(seed, content) };
    ended(simulation.run(move |world, session| work_in(&options, world, session, body)), seed)
}

/// Runs `body` on the database with a schedule that finds races.
pub(crate) fn racing<T: Send + 'static>(
    seed: u64,
    content: FileSystem,
    body: impl FnOnce(&Database, &Session) -> T + Send + 'static,
) -> T {
    racing_as(Perturbation::RACES, seed, content, body)
}

/// Does the same with a schedule that is bent as far as `perturbation` says.
pub(crate) fn racing_as<T: Send + 'static>(
    perturbation: Perturbation,
    seed: u64,
    content: FileSystem,
    body: impl FnOnce(&Database, &Session) -> T + Send + 'static,
) -> T {
    let simulation = Simulation { perturbation, ..machine(seed, content) };
    ended(simulation.run(move |world, session| work(world, session, body)), seed)
}

fn work<T>(world: &World, session: &Session, body: impl FnOnce(&Database, &Session) -> T) -> T {
    work_in(&options(), world, session, body)
}

fn work_in<T>(
    options: &Options,
    world: &World,
    session: &Session,
    body: impl FnOnce(&Database, &Session) -> T,
) -> T {
    let opened = Database::open_in((&world.disk(), directory()), options, session);
    let database = opened.expect("opened");
    let made = body(&database, session);
    database.shutdown_by(session).expect("in good order");
    made
}

fn ended<R>(report: Report<R>, what: impl std::fmt::Display) -> R {
    report.result.unwrap_or_else(|failure| panic!("{what}: {failure}"))
}

/// One session in a thread of its own.
pub(crate) fn start(
    name: &str,
    (database, session): (&Database, &Session),
    body: impl FnOnce(&Database, &Session) + Send + 'static,
) -> ThreadHandle {
    let database = database.clone();
    let body = move |session: &Session| body(&database, session);
    session.spawn(ThreadSpec::foreground(name), body).expect("started")
}

pub(crate) fn join(threads: Vec<ThreadHandle>, session: &Session) {
    for thread in threads {
        assert!(thread.join(session).is_ok(), "{} panicked", thread.name());
    }
}
