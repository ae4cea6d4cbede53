//! The database under a load, and how its instance runs: small enough that everything happens, and
//! another one for each seed.

use std::collections::BTreeMap;
use std::path::Path;

use ids::BlockSize;
use instance::{Creation, DataFileSpec, Instance, Parameters, TablespaceSpec};
use os::probe::DurableWrite;
use os::{Disk, FilesystemIo, Session};
use redo::CommitLeader;
use sim::fs::FileSystem;
use sim::{Perturbation, Simulation};
use space::Column;
use stop::Stop;

use crate::sweep::left;

/// Where the database is.
pub(crate) const DIRECTORY: &str = "/db";

/// A table that loads change.
pub(crate) struct TableShape {
    pub(crate) name: &'static str,
    pub(crate) tablespace: &'static str,
    /// Bytes of a row's filler.
    pub(crate) filler: u16,
}

/// The tables. Rows of the second are so long that a transaction's undo doesn't fit into one block;
/// the third lies in blocks of another size, in two files.
pub(crate) const TABLES: [TableShape; 3] = [
    TableShape { name: "narrow", tablespace: SYSTEM, filler: 90 },
    TableShape { name: "wide", tablespace: SYSTEM, filler: 500 },
    TableShape { name: "other", tablespace: USERS, filler: 200 },
];

/// The tablespace that each database has.
const SYSTEM: &str = "system";
/// The one of another block size.
pub(crate) const USERS: &str = "users";

/// The data files; none of them may depend on the schedule of an opening.
pub(crate) const DATA_FILES: [&str; 4] =
    ["/db/data01.dbf", "/db/undo01.dbf", "/db/users01.dbf", "/db/users02.dbf"];

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
            // Almost full when the tables are made, so that it grows.
            data_bytes: 28 * block,
            data_bytes_max: 160 * block,
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
        let mut parameters = Parameters {
            db_cache_size: 24 * block,
            db_writer_processes: 1,
            db_working_sets: 2,
            db_writer_batch: 4,
            log_buffer: redo::LOG_BUFFER_BYTES_MIN as u64,
            commit_leader: CommitLeader::Session,
            redo_write: Some(DurableWrite::DirectThenSync),
            redo_consistency: true,
            ..Parameters::default()
        };
        let other = other_size(block_size);
        let buffers = 16 * other.bytes() as u64;
        match other {
            BlockSize::KIB_2 => parameters.db_2k_cache_size = buffers,
            BlockSize::KIB_4 => parameters.db_4k_cache_size = buffers,
            _ => parameters.db_8k_cache_size = buffers,
        }
        Shape { creation, parameters }
    }

    /// Tiny, and whatever else the seed decides. The most usual setting comes most often.
    pub fn of(seed: u64) -> Shape {
        // Not in step with the number of sessions, which follows from the seed too.
        let block = [BlockSize::KIB_2, BlockSize::KIB_2, BlockSize::KIB_4, BlockSize::KIB_8];
        let mut shape = Shape::tiny(block[((seed + seed / 4) % 4) as usize]);
        shape.creation.log_members = [1, 2, 1, 1, 2][(seed % 5) as usize];
        let parameters = &mut shape.parameters;
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

/// A disk for each block size and number of log members, with a database in it: loads begin from
/// it.
#[derive(Default)]
pub struct Bases(BTreeMap<(u64, usize, u16), FileSystem>);

impl Bases {
    /// The disk for a shape. Another `number` gives databases of another identity, none of whose
    /// images is one of these.
    pub fn of(&mut self, shape: &Shape, number: u64) -> &FileSystem {
        let Creation { db_block_size, log_members, .. } = shape.creation;
        let key = (number, db_block_size.bytes(), log_members);
        self.0.entry(key).or_insert_with(|| create(shape, number))
    }
}

pub(crate) fn machine(seed: u64, content: FileSystem, perturbation: Perturbation) -> Simulation {
    let mut simulation = Simulation::new(seed);
    simulation.disks[0].content = content;
    simulation.perturbation = perturbation;
    simulation
}

fn create(shape: &Shape, number: u64) -> FileSystem {
    let mut sound = shape.clone();
    sound.parameters.sabotage = instance::Sabotage::NONE;
    let report = machine(number, FileSystem::new(1 << 30), Perturbation::NONE)
        .run(move |world, session| prepare(&sound, &world.disk(), session));
    match &report.result {
        Ok(Ok(())) => left(report),
        Ok(Err(stop)) => panic!("the database can't be made: {stop}"),
        Err(failure) => panic!("the database can't be made: {failure}"),
    }
}

fn prepare(shape: &Shape, disk: &Disk, session: &Session) -> Result<(), Stop> {
    let directory = Path::new(DIRECTORY);
    Instance::create(disk, directory, &shape.creation, &shape.parameters, session)?;
    let instance = Instance::open(disk, directory, &shape.parameters, session)?;
    for table in TABLES {
        let columns = [Column::Number, Column::Number, Column::Bytes(table.filler)];
        instance.create_table_within(table.tablespace, (table.name, &columns), session)?;
    }
    instance.shutdown(session)
}
