//! A small database on a simulated disk, and sessions on it.

use std::sync::Arc;

use access::{HeapInserter, RowAddress};
use instance::{Creation, Instance, Parameters, Transaction};
use os::Session;
use sim::fs::FileSystem;
use sim::{Simulation, World};
use stop::Stop;
pub(crate) use testbed::bed::{self, directory, open as open_as, shut, start};
pub(crate) use testbed::{
    Dice, ended, join, left, machine, pause, racy, run, run_kept, with_fixed_costs,
};

use crate::rows::{Row, Rows};

pub(crate) const TABLE: &str = "t";
pub(crate) const CAPACITY: u64 = 1 << 30;

/// As small as everything still happens.
pub(crate) fn creation() -> Creation {
    Creation {
        data_bytes: 400 * 2048,
        undo_bytes: 32 * 2048,
        undo_bytes_max: 400 * 2048,
        undo_growth_bytes: 8 * 2048,
        log_file_bytes: u64::from(redo::LOG_BLOCKS_MIN) * 4096,
        ..bed::creation()
    }
}

pub(crate) fn parameters() -> Parameters {
    bed::parameters(32)
}

/// A disk with a database on which `body` has worked.
pub(crate) fn database_with(
    creation: Creation,
    parameters: Parameters,
    body: impl FnOnce(&Instance, &Session) + Send + 'static,
) -> FileSystem {
    bed::create(creation, parameters, |instance, session| body(instance, session)).1
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

/// Works with the database of a machine, and shuts it.
pub(crate) fn with_instance<R: Send + 'static>(
    simulation: Simulation,
    body: impl FnOnce(&Arc<Instance>, &Session) -> R + Send + 'static,
) -> (R, FileSystem) {
    bed::with_instance(simulation, parameters(), body)
}

pub(crate) fn abort(instance: Arc<Instance>, session: &Session) {
    instance.abort(session);
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

/// Everything agrees with itself, and nobody is active.
pub(crate) fn check(instance: &Instance, session: &Session) {
    instance.wait_for_dead(session);
    bed::check(instance, session);
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
