//! The database under a load, and how its instance runs: small enough that everything happens, and
//! another one for each seed.

use std::collections::BTreeMap;
use std::path::Path;

use database::{Database, Options, Value};
use ids::BlockSize;
use instance::{Creation, DataFileSpec, Instance, Parameters, TablespaceSpec};
use os::probe::DurableWrite;
use os::{Disk, FilesystemIo, Session};
use redo::CommitLeader;
use sim::fs::FileSystem;
use sim::{Perturbation, Simulation};
use stop::{Failpoints, Stop};

use crate::client::{KEYS, tables_of};
use crate::found::{Found, Look, inspect};
use crate::sweep::left;
use crate::tables::{Derived, TABLES, USERS, make};
use crate::{Content, Record};

/// Where the database is.
pub(crate) const DIRECTORY: &str = "/db";

/// The database under a load, and how its instance runs.
#[derive(Clone, Debug)]
pub struct Shape {
    /// What is fixed.
    pub creation: Creation,
    /// What isn't.
    pub parameters: Parameters,
}

impl Shape {
    /// As small as everything still happens: buffers are evicted, logs switch, batches fill.
    pub fn tiny(block_size: BlockSize) -> Shape {
        let block = block_size.bytes() as u64;
        let creation = Creation {
            db_block_size: block_size,
            // Full when the tables are made, so that it grows.
            data_bytes: 28 * block,
            data_bytes_max: 1_200 * block,
            data_growth_bytes: 8 * block,
            undo_bytes: 32 * block,
            undo_bytes_max: 400 * block,
            undo_growth_bytes: 8 * block,
            extent_blocks: 4,
            log_file_bytes: u64::from(redo::LOG_BLOCKS_MIN) * 4096,
            log_groups: 3,
            undo_segments: 2,
            undo_slots: 4,
            doublewrite_slots: 64,
            tablespaces: vec![users(block_size)],
            ..Creation::default()
        };
        let parameters = Parameters {
            db_writer_processes: 1,
            db_working_sets: 2,
            db_writer_batch: 4,
            log_buffer: redo::LOG_BUFFER_BYTES_MIN as u64,
            commit_leader: CommitLeader::Session,
            redo_write: Some(DurableWrite::DirectThenSync),
            redo_consistency: true,
            // What a scan around the cache takes is touched whole, which costs more than the rest.
            db_file_multiblock_read_count: 4,
            ..Parameters::default()
        };
        let mut shape = Shape { creation, parameters };
        shape.set_buffers(24, 16);
        shape
    }

    /// The same, in a cache that holds most of the database.
    pub(crate) fn roomy(&self) -> Shape {
        let mut shape = self.clone();
        shape.set_buffers(192, 96);
        shape
    }

    /// So many buffers for the usual block size, and for the other.
    fn set_buffers(&mut self, usual: u64, others: u64) {
        let block_size = self.creation.db_block_size;
        let other = other_size(block_size);
        let bytes = others * other.bytes() as u64;
        let parameters = &mut self.parameters;
        parameters.db_cache_size = usual * block_size.bytes() as u64;
        match other {
            BlockSize::KIB_2 => parameters.db_2k_cache_size = bytes,
            BlockSize::KIB_4 => parameters.db_4k_cache_size = bytes,
            _ => parameters.db_8k_cache_size = bytes,
        }
    }

    /// Tiny, and whatever else the seed decides. The most usual setting comes most often.
    pub fn of(seed: u64) -> Shape {
        // Not in step with the number of sessions, which follows from the seed too.
        let block = [BlockSize::KIB_2, BlockSize::KIB_2, BlockSize::KIB_4, BlockSize::KIB_8];
        let mut shape = Shape::tiny(block[((seed + seed / 4) % 4) as usize]);
        shape.creation.log_members = [1, 2, 1, 1, 2][(seed % 5) as usize];
        let parameters = &mut shape.parameters;
        // Mostly enough for what the load needs, so that seeds are many for as many states.
        parameters.db_cache_size *= [4, 1, 4, 2][(seed / 3 % 4) as usize];
        parameters.db_file_multiblock_read_count = [4, 16, 1][(seed % 3) as usize];
        parameters.db_writer_processes = [1, 2, 1, 3][(seed / 3 % 4) as usize];
        parameters.db_working_sets = parameters.db_writer_processes.max(2);
        parameters.log_writes_in_flight = [1, 2, 1, 4][(seed / 2 % 4) as usize];
        let parts = u64::from(parameters.log_writes_in_flight) + 1;
        parameters.log_buffer = redo::LOG_BUFFER_BYTES_MIN as u64 / 2 * parts;
        parameters.log_checkpoint_interval = [0, 4, 0, 12][(seed / 2 % 4) as usize];
        parameters.log_checkpoint_timeout = [1_800, 1, 1_800][(seed % 3) as usize];
        if seed / 2 % 3 == 2 {
            parameters.commit_leader = CommitLeader::Lgwr;
        }
        parameters.redo_write = Some(match seed / 4 % 8 {
            0..4 => DurableWrite::DirectThenSync,
            4 | 5 => DurableWrite::DirectWriteThrough,
            6 => DurableWrite::BufferedThenSync,
            _ => DurableWrite::BufferedWriteThrough,
        });
        parameters.filesystemio_options = match seed / 5 % 6 {
            0..3 => FilesystemIo::SetAll,
            3 => FilesystemIo::DirectIo,
            4 => FilesystemIo::Asynch,
            _ => FilesystemIo::None,
        };
        shape
    }
}

/// The block size of the second tablespace, in a database of this one.
fn other_size(block_size: BlockSize) -> BlockSize {
    match block_size {
        BlockSize::KIB_2 => BlockSize::KIB_4,
        BlockSize::KIB_4 => BlockSize::KIB_8,
        _ => BlockSize::KIB_2,
    }
}

/// Two files that are almost full from the start.
fn users(block_size: BlockSize) -> TablespaceSpec {
    let block_size = other_size(block_size);
    let block = block_size.bytes() as u64;
    let file = |path: &str| DataFileSpec {
        path: path.to_string(),
        bytes: 16 * block,
        bytes_max: 60 * block,
        growth_bytes: 4 * block,
    };
    let files = vec![file("users01.dbf"), file("users02.dbf")];
    TablespaceSpec { name: USERS.to_string(), block_size, extent_blocks: 4, files }
}

/// A disk with a database in it, and what is in that.
pub(crate) struct Base {
    pub(crate) disk: FileSystem,
    pub(crate) record: Record,
}

/// A base for each block size and number of log members: loads begin from it.
#[derive(Default)]
pub struct Bases(BTreeMap<(u64, usize, u16), Base>);

impl Bases {
    /// The base for a shape. Another `number` gives databases of another identity, none of whose
    /// images is one of these.
    pub(crate) fn of(&mut self, shape: &Shape, number: u64) -> &Base {
        let Creation { db_block_size, log_members, .. } = shape.creation;
        let key = (number, db_block_size.bytes(), log_members);
        self.0.entry(key).or_insert_with(|| create(shape, number))
    }
}

/// How much of the structures in memory, and of blocks, every proof checks while they change: in
/// debug builds all of it at every change, in release builds a little.
const CHECK_EFFORT: u32 = if cfg!(debug_assertions) { u32::MAX } else { 2 };

/// The machine of a proof: one disk with this content, and the engine checks itself as it runs.
pub fn machine(seed: u64, content: FileSystem, perturbation: Perturbation) -> Simulation {
    machine_for(Failpoints::NONE, seed, content, perturbation)
}

/// The same for an engine that may be broken on purpose. Then it doesn't check itself: the proof
/// is to notice, and not an assertion of the engine before it (PF12).
pub fn machine_for(
    failpoints: Failpoints,
    seed: u64,
    content: FileSystem,
    perturbation: Perturbation,
) -> Simulation {
    let mut simulation = Simulation::new(seed);
    simulation.disks[0].content = content;
    simulation.perturbation = perturbation;
    let is_sound = failpoints == Failpoints::NONE;
    simulation.check_effort = Some(if is_sound { CHECK_EFFORT } else { 0 });
    simulation
}

fn create(shape: &Shape, number: u64) -> Base {
    let mut sound = shape.clone();
    sound.parameters.failpoints = Failpoints::NONE;
    let report = machine(number, FileSystem::new(1 << 30), Perturbation::NONE)
        .run(move |world, session| prepare(&sound, &world.disk(), session));
    let found = match &report.result {
        Ok(Ok(found)) => found.clone(),
        Ok(Err(stop)) => panic!("the database can't be made: {stop}"),
        Err(failure) => panic!("the database can't be made: {failure}"),
    };
    Base { record: Record::made(&found.rows, &found.defined), disk: left(report) }
}

impl Shape {
    pub(crate) fn options(&self) -> Options {
        Options {
            creation: self.creation.clone(),
            parameters: self.parameters.clone(),
            ..Options::default()
        }
    }
}

fn prepare(shape: &Shape, disk: &Disk, session: &Session) -> Result<Found, Stop> {
    let directory = Path::new(DIRECTORY);
    Instance::create(disk, directory, &shape.creation, &shape.parameters, session)?;
    let database = Database::open_in(disk, directory, &shape.options(), session)?;
    let mut connection = database.connect_with(session);
    make(&mut connection)?;
    fill(&mut connection)?;
    drop(connection);
    let found = inspect(&database, Look::Close, session);
    let found = found.unwrap_or_else(|violation| panic!("the database isn't sound: {violation}"));
    database.shutdown_by(session)?;
    Ok(found)
}

/// Every second key of each table that has keys of its own, by the first transaction.
fn fill(connection: &mut database::Connection<'_>) -> Result<(), Stop> {
    let (tables, mark) = tables_of(connection)?;
    let mut version = 0;
    let mut tx = connection.begin();
    for ((number, shape), table) in TABLES.iter().enumerate().zip(&tables) {
        for id in (1..=KEYS).step_by(2).filter(|_| !shape.is_identity) {
            version += 1;
            let parent = shape.refers.and_then(|_| (id > 5).then_some(1));
            let content = Content { version, writer: 0, parent };
            let derived = Derived::of(number, content);
            tx.insert(table, &derived.values(id, content))?;
        }
    }
    tx.insert(&mark, &[Value::Int(0), Value::Null])?;
    tx.commit()
}
