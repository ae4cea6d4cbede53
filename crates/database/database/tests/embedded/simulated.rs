//! The same API on a simulated machine, where threads meet in whatever order a seed says.

use std::path::Path;

use database::{Creation, Database, Error, Options, Parameters};
use os::{Session, ThreadHandle, ThreadSpec};
use sim::fs::FileSystem;
use sim::fs::crash::CrashStates;
use sim::{Perturbation, Report, Simulation};
pub(crate) use testbed::join;
use testbed::{ended, left, machine};

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
    Options { creation, parameters, ..Options::default() }
}

/// A disk with a new database on which `body` has worked, and which was shut.
pub(crate) fn made(body: impl FnOnce(&Database, &Session) + Send + 'static) -> FileSystem {
    made_with(options().creation, body)
}

/// Does the same with a database that is created so.
pub(crate) fn made_with(
    creation: Creation,
    body: impl FnOnce(&Database, &Session) + Send + 'static,
) -> FileSystem {
    let report = machine(1, FileSystem::new(1 << 30)).run(move |world, session| {
        let options = Options { creation, ..options() };
        let made = Database::create_in(&world.disk(), directory(), &options, session);
        let database = made.expect("created");
        body(&database, session);
        database.shutdown_by(session).expect("in good order");
    });
    disk_of(report, "the database can't be made").0
}

/// With the smallest cache.
pub(crate) fn smallest() -> Options {
    let mut options = options();
    options.parameters.db_cache_size = 16 * 2048;
    options
}

/// Runs `body` on the database, which is shut afterwards, with a schedule that finds races.
pub(crate) fn racing<T: Send + 'static>(
    seed: u64,
    content: FileSystem,
    body: impl FnOnce(&Database, &Session) -> T + Send + 'static,
) -> T {
    racing_in(options(), seed, content, body)
}

/// As [`racing`], on the database opened with these options.
pub(crate) fn racing_in<T: Send + 'static>(
    options: Options,
    seed: u64,
    content: FileSystem,
    body: impl FnOnce(&Database, &Session) -> T + Send + 'static,
) -> T {
    on_database((options, Perturbation::RACES), seed, content, body)
}

/// As [`racing`], with a schedule that is bent as far as `perturbation` says.
pub(crate) fn racing_as<T: Send + 'static>(
    perturbation: Perturbation,
    seed: u64,
    content: FileSystem,
    body: impl FnOnce(&Database, &Session) -> T + Send + 'static,
) -> T {
    on_database((options(), perturbation), seed, content, body)
}

fn on_database<T: Send + 'static>(
    how: (Options, Perturbation),
    seed: u64,
    content: FileSystem,
    body: impl FnOnce(&Database, &Session) -> T + Send + 'static,
) -> T {
    let body = move |opened: Result<Database, Error>, session: &Session| {
        let database = opened.expect("opened");
        // Sessions that race don't wait for the first read of each segment's header.
        database.instance().space().list(session).expect("read");
        let made = body(&database, session);
        database.shutdown_by(session).expect("in good order");
        made
    };
    opening(how, seed, content, body).1
}

/// Tries to open the database, and has `body` go on with what came of it, with a schedule that
/// finds races. Returns the disk that is left, too.
pub(crate) fn racing_to_open<T: Send + 'static>(
    seed: u64,
    content: FileSystem,
    body: impl FnOnce(Result<Database, Error>, &Session) -> T + Send + 'static,
) -> (FileSystem, T) {
    opening((options(), Perturbation::RACES), seed, content, body)
}

fn opening<T: Send + 'static>(
    (options, perturbation): (Options, Perturbation),
    seed: u64,
    content: FileSystem,
    body: impl FnOnce(Result<Database, Error>, &Session) -> T + Send + 'static,
) -> (FileSystem, T) {
    let simulation = Simulation { perturbation, ..machine(seed, content) };
    let report = simulation.run(move |world, session| {
        body(Database::open_in(&world.disk(), directory(), &options, session), session)
    });
    disk_of(report, seed)
}

fn disk_of<T>(mut report: Report<T>, what: impl std::fmt::Display) -> (FileSystem, T) {
    let disk = left(&mut report);
    (disk, ended(report, what))
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

/// Writes that weren't durable at the cut: file, offset, length.
pub(crate) fn pending(states: &CrashStates, seed: u64) -> Vec<(String, u64, u64)> {
    let text = states.describe_sample(seed);
    let mut found = Vec::new();
    for part in text.split("; ") {
        let Some((name, rest)) = part.split_once(": write of ") else { continue };
        let mut words = rest.split([' ', ':']);
        let length: u64 = words.next().expect("a word").parse().expect("a number");
        assert_eq!(words.next(), Some("at"));
        let offset: u64 = words.next().expect("a word").parse().expect("a number");
        found.push((name.to_string(), offset, length));
    }
    found
}
