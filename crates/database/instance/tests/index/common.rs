//! A small database on a simulated disk with an index, and sessions on it.

use std::ops::Bound;
use std::sync::Arc;

use access::{Checked, Direction, Index, Inserted, NewEntry, RowAddress};
use ids::{BlockSize, Dba};
use instance::{Creation, Instance, Parameters, Transaction};
use os::Session;
use sim::fs::FileSystem;
use sim::{Simulation, World};
use stop::Stop;
pub(crate) use testbed::bed::{
    self, check as check_instance, directory, open as open_as, shut, start,
};
pub(crate) use testbed::{Dice, ended, join, left, machine, racy, run, run_kept};
use txn::View;

pub(crate) const INDEX: &str = "i";

/// An entry.
pub(crate) type Entry = (Vec<u8>, RowAddress);

pub(crate) fn creation(size: BlockSize) -> Creation {
    Creation { db_block_size: size, ..bed::creation() }
}

pub(crate) fn parameters() -> Parameters {
    bed::parameters(96)
}

/// A disk with a database of this block size and an empty index.
pub(crate) fn database(size: BlockSize, unique: bool) -> FileSystem {
    let make = move |instance: &Arc<Instance>, session: &Session| {
        make(INDEX, unique, instance, session);
    };
    bed::create(creation(size), sized(size), make).1
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

/// Works with the database of a machine, and shuts it.
pub(crate) fn with_instance<R: Send + 'static>(
    simulation: Simulation,
    body: impl FnOnce(&Arc<Instance>, &Session) -> R + Send + 'static,
) -> (R, FileSystem) {
    bed::with_instance(simulation, parameters(), body)
}

pub(crate) fn index(instance: &Instance, session: &Session) -> Index {
    Index::open(INDEX, instance.space(), instance.transactions(), session).expect("there")
}

pub(crate) fn row(number: u64) -> RowAddress {
    RowAddress { block: Dba::new(1, (number / 10) as u32), slot: (number % 10) as u16 }
}

/// Inserts entries in their order, those of a leaf together. Returns the first one that is a
/// duplicate, with the row that is there; entries before it are inserted.
pub(crate) fn insert_array(
    index: &Index,
    transaction: &mut Transaction,
    entries: &mut [Entry],
    session: &Session,
) -> Result<Option<(Entry, RowAddress)>, Stop> {
    entries.sort();
    let new: Vec<_> = entries.iter().map(|(key, row)| NewEntry { key, row: *row }).collect();
    let mut left = &new[..];
    loop {
        left = &left[index.insert_together(transaction, left, session)?..];
        let Some((alone, others)) = left.split_first() else { return Ok(None) };
        match index.insert(transaction, alone.key, alone.row, session)? {
            Inserted::Done => left = others,
            Inserted::Duplicate(there) => {
                return Ok(Some(((alone.key.to_vec(), alone.row), there)));
            }
        }
    }
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
