//! A small database on a simulated disk with an index, and sessions on it.

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use access::{Checked, Direction, Index, RowAddress};
use ids::{BlockSize, Dba};
use instance::{Creation, Instance, Parameters, Transaction};
use os::probe::DurableWrite;
use os::{Session, ThreadHandle, ThreadSpec};
use sim::fs::FileSystem;
use sim::{Perturbation, Report, Simulation, World};
use txn::View;

pub(crate) const INDEX: &str = "i";

/// An entry.
pub(crate) type Entry = (Vec<u8>, RowAddress);

/// A stream of numbers from a seed (splitmix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

pub(crate) fn directory() -> &'static Path {
    Path::new("/db")
}

pub(crate) fn creation(size: BlockSize) -> Creation {
    Creation {
        db_block_size: size,
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

pub(crate) fn parameters() -> Parameters {
    Parameters {
        db_cache_size: 96 * 2048,
        db_working_sets: 2,
        db_writer_batch: 4,
        log_buffer: redo::LOG_BUFFER_BYTES_MIN as u64,
        redo_write: Some(DurableWrite::DirectThenSync),
        redo_consistency: true,
        ..Parameters::default()
    }
}

pub(crate) fn machine(seed: u64, content: FileSystem) -> Simulation {
    let mut simulation = Simulation::new(seed);
    simulation.disks[0].content = content;
    simulation
}

/// The same with a schedule that finds races.
pub(crate) fn racy(seed: u64, content: FileSystem) -> Simulation {
    Simulation { perturbation: Perturbation::RACES, ..machine(seed, content) }
}

/// The disk as a simulation left it.
pub(crate) fn left<R>(report: &mut Report<R>) -> FileSystem {
    let mut disk = report.disks.remove("disk").expect("the machine has one disk");
    disk.close_all();
    disk
}

/// The result of a simulation that came to its end.
pub(crate) fn ended<R>(report: Report<R>, what: impl std::fmt::Display) -> R {
    report.result.unwrap_or_else(|failure| panic!("{what}: {failure}"))
}

/// A disk with a database of this block size and an empty index.
pub(crate) fn database(size: BlockSize, unique: bool) -> FileSystem {
    let mut report = machine(1, FileSystem::new(1 << 30)).run(move |world, session| {
        let (disk, parameters) = (world.disk(), sized(size));
        let creation = creation(size);
        Instance::create(&disk, directory(), &creation, &parameters, session).expect("created");
        let instance = Instance::open(&disk, directory(), &parameters, session).expect("opened");
        make(INDEX, unique, &instance, session);
        instance.shutdown(session).expect("shut in good order");
    });
    let disk = left(&mut report);
    ended(report, "the database can't be made");
    disk
}

pub(crate) fn sized(size: BlockSize) -> Parameters {
    Parameters { db_cache_size: 96 * size.bytes() as u64, ..parameters() }
}

pub(crate) fn make(name: &str, unique: bool, instance: &Instance, session: &Session) -> Index {
    let (space, transactions) = (instance.space(), instance.transactions());
    let system = space.tablespaces(session)[0].name.clone();
    Index::create(&system, name, unique, space, transactions, session).expect("made")
}

/// An open instance that sessions share.
pub(crate) fn open(world: &World, session: &Session) -> Arc<Instance> {
    open_as(&parameters(), world, session)
}

pub(crate) fn open_as(parameters: &Parameters, world: &World, session: &Session) -> Arc<Instance> {
    let opened = Instance::open(&world.disk(), directory(), parameters, session);
    Arc::new(opened.unwrap_or_else(|stop| panic!("it doesn't open: {stop}")))
}

pub(crate) fn index(instance: &Instance, session: &Session) -> Index {
    Index::open(INDEX, instance.space(), instance.transactions(), session).expect("there")
}

/// Shuts an instance that nobody else uses any more.
pub(crate) fn shut(instance: Arc<Instance>, session: &Session) {
    instance.shutdown(session).expect("shut in good order");
}

/// A session in a thread of its own.
pub(crate) fn start(
    name: &str,
    instance: &Arc<Instance>,
    session: &Session,
    body: impl FnOnce(&Instance, &Session) + Send + 'static,
) -> ThreadHandle {
    let instance = Arc::clone(instance);
    let body = move |session: &Session| body(&instance, session);
    session.spawn(ThreadSpec::foreground(name), body).expect("started")
}

pub(crate) fn join(threads: Vec<ThreadHandle>, session: &Session) {
    for thread in threads {
        assert!(thread.join(session).is_ok(), "{} panicked", thread.name());
    }
}

pub(crate) fn row(number: u64) -> RowAddress {
    RowAddress { block: Dba::new(1, (number / 10) as u32), slot: (number % 10) as u16 }
}

/// Everything between two keys, as a cursor gives it.
pub(crate) fn between(
    index: &Index,
    range: (Bound<&[u8]>, Bound<&[u8]>),
    direction: Direction,
    view: View,
    session: &Session,
) -> Vec<Entry> {
    let mut cursor = index.cursor(range, direction, view);
    let mut entries = Vec::new();
    while let Some((key, row)) = cursor.next(session).expect("read") {
        entries.push((key.to_vec(), row));
    }
    entries
}

/// Everything, up, and the same down.
pub(crate) fn all(index: &Index, view: View, session: &Session) -> Vec<Entry> {
    let everything = (Bound::Unbounded, Bound::Unbounded);
    let up = between(index, everything, Direction::Ascending, view, session);
    let mut down = between(index, everything, Direction::Descending, view, session);
    down.reverse();
    assert_eq!(up, down, "the same both ways");
    up
}

/// Everything, as the transaction sees it.
pub(crate) fn seen(
    instance: &Instance,
    index: &Index,
    transaction: Option<&Transaction>,
    session: &Session,
) -> Vec<Entry> {
    let transactions = instance.transactions();
    let snapshot = transactions.snapshot(transaction, session).expect("a snapshot");
    all(index, transactions.view_of(&snapshot, transaction), session)
}

/// The index is in order, and has these entries.
pub(crate) fn check(index: &Index, expected: &[Entry], session: &Session) -> Checked {
    let mut found = Vec::new();
    let mut visit = |key: &[u8], row| found.push((key.to_vec(), row));
    let checked = index.check(&mut visit, session).expect("the index is in order");
    assert_eq!(found, expected);
    checked
}

/// Space and undo agree with themselves.
pub(crate) fn check_instance(instance: &Instance, session: &Session) {
    instance.space().check(session).expect("space agrees");
    instance.transactions().undo().check(session).expect("undo agrees");
}
