//! Small databases in the folder `/db` of a simulated disk, and instances on them.
//!
//! Callers: tests of `relation`, `instance`, `catalog` and `verify`.

use std::path::Path;
use std::sync::Arc;

use ids::BlockSize;
use instance::{Creation, Instance, Parameters};
use os::probe::DurableWrite;
use os::{Session, ThreadHandle, ThreadSpec};
use sim::fs::FileSystem;
use sim::{Simulation, World};

/// Where the database is.
pub fn directory() -> &'static Path {
    Path::new("/db")
}

/// Sizes so small that everything happens.
pub fn creation() -> Creation {
    Creation {
        db_block_size: BlockSize::KIB_2,
        data_bytes: 4_000 * 2048,
        extent_blocks: 4,
        log_file_bytes: 2 * u64::from(redo::LOG_BLOCKS_MIN) * 4096,
        log_groups: 3,
        undo_segments: 2,
        undo_slots: 8,
        doublewrite_slots: 16,
        ..Creation::default()
    }
}

/// A cache of so many blocks of 2 KiB, and everything else small too.
pub fn parameters(cache_blocks: u64) -> Parameters {
    Parameters {
        db_cache_size: cache_blocks * 2048,
        db_working_sets: 2,
        db_writer_batch: 4,
        log_buffer: redo::LOG_BUFFER_BYTES_MIN as u64,
        redo_write: Some(DurableWrite::DirectThenSync),
        redo_consistency: true,
        ..Parameters::default()
    }
}

/// A disk with a new database on which `body` has worked, and which was shut; and its result.
///
/// # Panics
///
/// If the database can't be made, opened or shut.
#[track_caller]
pub fn create<R: Send + 'static>(
    creation: Creation,
    parameters: Parameters,
    body: impl FnOnce(&Arc<Instance>, &Session) -> R + Send + 'static,
) -> (R, FileSystem) {
    crate::run_kept(crate::machine(1, FileSystem::new(1 << 30)), move |world, session| {
        let disk = world.disk();
        Instance::create(&disk, directory(), &creation, &parameters, session).expect("created");
        with(&parameters, world, body, session)
    })
}

/// Opens the database of the machine's disk, works with it, and shuts it in good order. Gives what
/// `body` gives, with the disk as it was left.
///
/// # Panics
///
/// If the database can't be opened or shut; the message names the seed.
#[track_caller]
pub fn with_instance<R: Send + 'static>(
    simulation: Simulation,
    parameters: Parameters,
    body: impl FnOnce(&Arc<Instance>, &Session) -> R + Send + 'static,
) -> (R, FileSystem) {
    crate::run_kept(simulation, move |world, session| with(&parameters, world, body, session))
}

fn with<R>(
    parameters: &Parameters,
    world: &World,
    body: impl FnOnce(&Arc<Instance>, &Session) -> R,
    session: &Session,
) -> R {
    let instance = open(parameters, world, session);
    let result = body(&instance, session);
    shut(instance, session);
    result
}

/// An open instance that sessions share.
///
/// # Panics
///
/// If it doesn't open.
#[track_caller]
pub fn open(parameters: &Parameters, world: &World, session: &Session) -> Arc<Instance> {
    match Instance::open(&world.disk(), directory(), parameters, session) {
        Ok(instance) => Arc::new(instance),
        Err(stop) => panic!("it doesn't open: {stop}"),
    }
}

/// Shuts an instance that no other session uses any more.
///
/// # Panics
///
/// If it doesn't shut in good order.
#[track_caller]
pub fn shut(instance: Arc<Instance>, session: &Session) {
    instance.shutdown(session).expect("shut in good order");
}

/// Starts a session in a thread of its own.
///
/// # Panics
///
/// If the machine starts no more threads.
pub fn start(
    name: &str,
    instance: &Arc<Instance>,
    session: &Session,
    body: impl FnOnce(&Instance, &Session) + Send + 'static,
) -> ThreadHandle {
    let instance = Arc::clone(instance);
    let body = move |session: &Session| body(&instance, session);
    session.spawn(ThreadSpec::foreground(name), body).expect("started")
}

/// Fails unless space and undo agree with themselves.
///
/// # Panics
///
/// If they don't.
#[track_caller]
pub fn check(instance: &Instance, session: &Session) {
    instance.space().check(session).expect("space agrees");
    instance.transactions().undo().check(session).expect("undo agrees");
}
