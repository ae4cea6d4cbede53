//! Loading many rows by one statement: rows go into new blocks as they come, and their index
//! entries are inserted in order, those that don't come in order at the end, sorted (RL50 to RL54).
//!
//! ```text
//!   lock the table SRX ─▶ each row: types, NOT NULL, CHECK ─▶ into a new block (access/AC38)
//!                                                 └─ its keys ─▶ in order, or a sort, by index
//!   the end:  the last block ─▶ index by index, entries in order ─▶ foreign keys
//! ```
//!
//! Callers: the embedded API.

use access::HeapLoader;
use os::Disk;
use sort::SortConfig;
use stop::Stop;
use txn::TableMode;
use value::Value;

use crate::Relation;
use crate::kept_entries::Target;
use crate::loaded_keys::LoadedKeys;
use crate::scratch::{Scratch, Work};

/// How a load sorts the keys of its rows; each index of the table has a sort of its own.
#[derive(Clone, Copy)]
pub struct KeySort<'a> {
    /// The disk of the temporary files.
    pub disk: &'a Disk,
    /// The memory of a sort, and the directory.
    pub config: &'a SortConfig,
}

/// A load under way: takes the rows of one statement.
pub struct Load<'w, 'a> {
    relation: &'w Relation,
    work: &'w mut Work<'a>,
    loader: HeapLoader,
    /// The keys of each index.
    keys: Vec<LoadedKeys<'w, 'a>>,
    /// The number of columns for which rows have values (RL16).
    known: usize,
    count: u64,
    /// Why the load is refused.
    failed: Option<Stop>,
}

impl Relation {
    /// Loads the rows that `fill` pushes by one statement, and returns how many. If it is refused,
    /// none is there. Each has values for the first `known` columns (RL16).
    pub fn load(
        &self,
        work: &mut Work<'_>,
        known: usize,
        sort: KeySort<'_>,
        fill: impl FnOnce(&mut Load<'_, '_>) -> Result<(), Stop>,
    ) -> Result<u64, Stop> {
        self.change_statement_in(TableMode::ShareRowExclusive, work, |work| {
            let indexes = self.definition().indexes.iter();
            let keys = indexes.map(|index| LoadedKeys::new(index, sort)).collect();
            let (loader, count, failed) = (HeapLoader::default(), 0, None);
            let mut load = Load { relation: self, work, loader, keys, known, count, failed };
            fill(&mut load)?;
            load.finish()
        })
    }
}

impl Load<'_, '_> {
    /// Takes the next row. If it is refused, the load is, whatever follows.
    pub fn push(&mut self, values: &[Value<'_>]) -> Result<(), Stop> {
        if let Some(stop) = &self.failed {
            return Err(stop.clone());
        }
        let pushed = self.try_push(values);
        self.failed = pushed.as_ref().err().cloned();
        pushed
    }

    fn try_push(&mut self, values: &[Value<'_>]) -> Result<(), Stop> {
        let Load { relation, work, loader, keys, .. } = self;
        let session = work.session;
        relation.make_one(work.scratch, self.known, values)?;
        let Scratch { inserters, new_row, new_keys, key, .. } = &mut *work.scratch;
        let heap = relation.heap();
        let row = match heap.load(work.transaction, loader, new_row, session)? {
            Some(row) => row,
            None => {
                let inserter = inserters.of(relation.definition().segment);
                heap.insert(work.transaction, inserter, new_row, session)?
            }
        };
        let mut have_many = false;
        for row_key in new_keys.iter() {
            let (open, keys) = (&relation.indexes()[row_key.index], &mut keys[row_key.index]);
            relation.check_key_view(work.transaction, row_key)?;
            let bytes = relation.entry_key(row_key, row, key);
            open.index.check_key(bytes)?;
            keys.push(bytes, row, relation.transactions().changes().halt(), session)?;
            have_many |= keys.has_many();
        }
        // The keys are looked for when all entries are there: before, a session that deletes the
        // other row may not find this one (RL6). So pending keys aren't worked off early.
        relation.foreign_inserted(work.scratch)?;
        self.count += 1;
        if have_many { self.insert_written() } else { Ok(()) }
    }

    /// Inserts entries of rows that are written, of the indexes that have many in order.
    #[cold]
    fn insert_written(&mut self) -> Result<(), Stop> {
        let Load { relation, work, loader, keys, .. } = self;
        for (number, keys) in keys.iter_mut().enumerate().filter(|(_, keys)| keys.has_many()) {
            keys.insert_written(loader, &mut Target { relation, work, number })?;
        }
        Ok(())
    }

    /// Writes the last block, and inserts the entries that are left. Returns the number of rows.
    fn finish(self) -> Result<u64, Stop> {
        let Load { relation, work, mut loader, keys, count, failed, .. } = self;
        if let Some(stop) = failed {
            return Err(stop);
        }
        relation.heap().load_end(work.transaction, &mut loader, work.session)?;
        for (number, keys) in keys.into_iter().enumerate() {
            keys.insert_rest(&mut Target { relation, work, number })?;
        }
        Ok(count)
    }
}
