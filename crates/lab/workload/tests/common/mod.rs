//! A small database in the simulator, for tests of loads.

use std::path::Path;

use database::{Creation, Database, Options, Parameters};
use os::Session;
use os::probe::DurableWrite;
use sim::fs::FileSystem;
use sim::{Simulation, World};
use waits::Nanos;
use workload::Drive;

pub(crate) fn options() -> Options {
    let (data_bytes, data_bytes_max, log_file_bytes) = (4 << 20, 64 << 20, 1 << 20);
    let (undo_bytes, undo_bytes_max) = (1 << 20, 64 << 20);
    Options {
        creation: Creation {
            data_bytes,
            data_bytes_max,
            undo_bytes,
            undo_bytes_max,
            log_file_bytes,
            extent_blocks: 8,
            ..Creation::default()
        },
        parameters: Parameters {
            db_cache_size: 2 << 20,
            redo_write: Some(DurableWrite::DirectWriteThrough),
            ..Parameters::default()
        },
        ..Options::default()
    }
}

pub(crate) fn directory() -> &'static Path {
    Path::new("/db")
}

pub(crate) fn machine(seed: u64, content: FileSystem) -> Simulation {
    let mut machine = Simulation::new(seed);
    machine.disks[0].content = content;
    machine
}

pub(crate) fn create(world: &World, session: &Session) -> Database {
    Database::create_in(&world.disk(), directory(), &options(), session).expect("created")
}

pub(crate) fn open(world: &World, session: &Session) -> Database {
    Database::open_in(&world.disk(), directory(), &options(), session).expect("opened")
}

/// Four sessions, whose numbers begin here, for this long.
pub(crate) fn drive(first_session: u32, ms: u64) -> Drive {
    let length = Nanos::from_millis(ms);
    Drive { sessions: 4, first_session, warm_up: Nanos::ZERO, length, rate: None }
}
