//! A small database on a simulated disk, and sessions on it.

use std::path::Path;
use std::sync::Arc;

use access::{HeapInserter, RowAddress};
use ids::BlockSize;
use instance::{Creation, Instance, Parameters, Transaction};
use os::probe::DurableWrite;
use os::{Session, ThreadHandle, ThreadSpec};
use sim::fs::FileSystem;
use sim::{Perturbation, Report, Simulation, World};
use stop::Stop;
use waits::{Nanos, WaitEvent};

use crate::rows::{Row, Rows};

pub(crate) const DIRECTORY: &str = "/db";
pub(crate) const TABLE: &str = "t";
pub(crate) const CAPACITY: u64 = 1 << 30;

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
    Path::new(DIRECTORY)
}

/// As small as everything still happens.
pub(crate) fn creation() -> Creation {
    Creation {
        db_block_size: BlockSize::KIB_2,
        data_bytes: 400 * 2048,
        undo_bytes: 32 * 2048,
        undo_bytes_max: 400 * 2048,
        undo_growth_bytes: 8 * 2048,
        extent_blocks: 4,
        log_file_bytes: u64::from(redo::LOG_BLOCKS_MIN) * 4096,
        log_groups: 3,
        undo_segments: 2,
        undo_slots: 8,
        doublewrite_slots: 16,
        ..Creation::default()
    }
}

pub(crate) fn parameters() -> Parameters {
    Parameters {
        db_cache_size: 32 * 2048,
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

/// A disk with a database on which `body` has worked.
pub(crate) fn database_with(
    creation: Creation,
    parameters: Parameters,
    body: impl FnOnce(&Instance, &Session) + Send + 'static,
) -> FileSystem {
    let mut report = machine(1, FileSystem::new(CAPACITY)).run(move |world, session| {
        let disk = world.disk();
        Instance::create(&disk, directory(), &creation, &parameters, session).expect("created");
        let instance = Instance::open(&disk, directory(), &parameters, session).expect("opened");
        body(&instance, session);
        instance.shutdown(session).expect("shut in good order");
    });
    let disk = left(&mut report);
    ended(report, "the database can't be made");
    disk
}

/// A disk with a database, and in it table `t` with so many rows; row `n` has the number 0.
pub(crate) fn database(rows: u64) -> FileSystem {
    database_with(creation(), parameters(), move |instance, session| {
        let table = Rows::create(instance, TABLE, session).expect("made");
        fill(instance, &table, rows, session);
    })
}

pub(crate) fn fill(instance: &Instance, table: &Rows, rows: u64, session: &Session) {
    let (mut transaction, mut inserter) = (Transaction::new(), HeapInserter::default());
    for _ in 0..rows {
        table.insert(&mut transaction, &mut inserter, |_| {}, session).expect("inserted");
    }
    instance.commit(transaction, session).expect("committed");
}

/// An open instance that sessions share.
pub(crate) fn open(world: &World, session: &Session) -> Arc<Instance> {
    open_as(&parameters(), world, session)
}

pub(crate) fn open_as(parameters: &Parameters, world: &World, session: &Session) -> Arc<Instance> {
    let opened = Instance::open(&world.disk(), directory(), parameters, session);
    Arc::new(opened.unwrap_or_else(|stop| panic!("it doesn't open: {stop}")))
}

/// Shuts an instance that nobody else uses any more.
pub(crate) fn shut(instance: Arc<Instance>, session: &Session) {
    instance.shutdown(session).expect("shut in good order");
}

pub(crate) fn abort(instance: Arc<Instance>, session: &Session) {
    instance.abort(session);
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

/// The addresses of all rows, in order.
pub(crate) fn rows(table: &Rows, session: &Session) -> Vec<RowAddress> {
    let mut rows = Vec::new();
    table.scan(|address, _| rows.push(address), session).expect("scanned");
    rows
}

pub(crate) fn add(
    table: &Rows,
    transaction: &mut Transaction,
    row: RowAddress,
    amount: i64,
    session: &Session,
) -> Result<(), Stop> {
    let change = |row: &mut Row| row.number += amount;
    table.update(transaction, row, change, session).map(|found| assert!(found, "the row is there"))
}

pub(crate) fn number(table: &Rows, row: RowAddress, session: &Session) -> i64 {
    let found = table.fetch(None, row, |row| row.number, session).expect("read");
    found.expect("the row is there")
}

pub(crate) fn pause(length: Nanos, session: &Session) {
    session.pause(length, session.waiting(WaitEvent::PlSqlLockTimer));
}

/// Everything agrees with itself, and nobody is active.
pub(crate) fn check(instance: &Instance, session: &Session) {
    instance.wait_for_dead(session);
    instance.space().check(session).expect("space agrees");
    instance.transactions().undo().check(session).expect("undo agrees");
    let active = instance.transactions().active().all(session);
    assert!(active.is_empty(), "{active:?} are active");
}

/// What a file of the disk holds.
pub(crate) fn bytes_of(disk: &mut FileSystem, path: &str) -> Vec<u8> {
    let file = disk.open(path).expect("there");
    let mut bytes = vec![0; disk.len(file).expect("there") as usize];
    disk.read(file, 0, &mut bytes).expect("read");
    disk.close(file).expect("closed");
    bytes
}

/// Has a file that is there hold this, durably.
pub(crate) fn put(disk: &mut FileSystem, path: &str, bytes: &[u8]) {
    let file = disk.open(path).expect("there");
    disk.set_len(file, 0).expect("cut");
    disk.write(file, 0, bytes, false).expect("written");
    disk.sync(file).expect("synced");
    disk.close(file).expect("closed");
}
