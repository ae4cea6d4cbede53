//! Loading many rows by one statement: rows go into new blocks as they come, and their index
//! entries are inserted at the end, sorted (RL50 to RL53).
//!
//! ```text
//!   lock the table SRX ─▶ each row: types, NOT NULL, CHECK ─▶ into a new block (access/AC38)
//!                                                 └─ its keys ─▶ a sort for each index
//!   the end:  the last block ─▶ index by index, entries in order ─▶ foreign keys
//! ```
//!
//! Callers: the embedded API.

use access::{HeapLoader, NewEntry, RowAddress};
use os::Disk;
use sort::{SortConfig, Sorted, Sorter};
use stop::Stop;
use txn::TableMode;
use value::Value;

use crate::Relation;
use crate::insert_keys::NotInserted;
use crate::keys::address_bytes;
use crate::scratch::{Scratch, Work};
use crate::sort_key::{ordered_bytes, split_sorted};

/// The most entries of an index that are inserted by one call, and the most bytes of their keys.
const ENTRIES_MAX: usize = 4_096;
const KEY_BYTES_MAX: usize = 256 << 10;

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
    /// The keys of each index, with the addresses of their rows behind them.
    sorters: Vec<Sorter<'a>>,
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
            let (session, halt) = (work.session, self.transactions().changes().halt());
            let sorter = |_: &_| Sorter::new(sort.disk, sort.config.clone(), halt, session);
            let sorters = self.indexes().iter().map(sorter).collect::<Result<_, _>>()?;
            let loader = HeapLoader::default();
            let (count, failed) = (0, None);
            let mut load = Load { relation: self, work, loader, sorters, known, count, failed };
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
        let Load { relation, work, loader, sorters, .. } = self;
        let session = work.session;
        let mut fitted = work.scratch.take_values();
        let made = relation.make_row(work.scratch, self.known, values, &mut fitted);
        work.scratch.give_values(fitted);
        made?;
        let Scratch { inserters, new_row, new_keys, key, .. } = &mut *work.scratch;
        let heap = relation.heap();
        let row = match heap.load(work.transaction, loader, new_row, session)? {
            Some(row) => row,
            None => {
                let inserter = inserters.of(relation.definition().segment);
                heap.insert(work.transaction, inserter, new_row, session)?
            }
        };
        for row_key in new_keys.iter() {
            let open = &relation.indexes()[row_key.index];
            let is_unique = open.index.is_unique();
            if is_unique
                && !row_key.has_null
                && let Some(view) = work.transaction.fixed_view()
            {
                relation.check_index_view(open, view)?;
            }
            key.clear();
            key.extend_from_slice(row_key.bytes);
            if is_unique && row_key.has_null {
                key.extend_from_slice(&address_bytes(row));
            }
            open.index.check_key(key)?;
            key.extend_from_slice(&ordered_bytes(row));
            sorters[row_key.index].push(key, &[])?;
        }
        // The keys are looked for when the entries are there: before, a session that deletes the
        // other row wouldn't find this one (RL6). So pending keys aren't worked off early.
        relation.foreign_inserted(work.scratch)?;
        self.count += 1;
        Ok(())
    }

    /// Writes the last block, and inserts the index entries. Returns the number of rows.
    fn finish(self) -> Result<u64, Stop> {
        let Load { relation, work, mut loader, sorters, count, failed, .. } = self;
        if let Some(stop) = failed {
            return Err(stop);
        }
        relation.heap().load_end(work.transaction, &mut loader, work.session)?;
        for (number, sorter) in sorters.into_iter().enumerate() {
            relation.insert_sorted(work, number, &mut sorter.finish()?)?;
        }
        Ok(count)
    }
}

impl Relation {
    /// Inserts the entries of an index in their order.
    fn insert_sorted(
        &self,
        work: &mut Work<'_>,
        number: usize,
        sorted: &mut Sorted<'_>,
    ) -> Result<(), Stop> {
        let (mut keys, mut rows) = (Vec::new(), Vec::new());
        loop {
            keys.clear();
            rows.clear();
            while rows.len() < ENTRIES_MAX
                && keys.len() < KEY_BYTES_MAX
                && let Some((bytes, _)) = sorted.next_row()?
            {
                let (key, row) = split_sorted(bytes);
                keys.extend_from_slice(key);
                rows.push((keys.len(), row));
            }
            if rows.is_empty() {
                return Ok(());
            }
            let mut start = 0;
            let entry = |&(end, row): &(usize, RowAddress)| {
                let key = &keys[std::mem::replace(&mut start, end)..end];
                NewEntry { key, row }
            };
            let entries: Vec<_> = rows.iter().map(entry).collect();
            let inserted = self.insert_entries(work.transaction, number, &entries, work.session);
            inserted.map_err(|stopped| self.not_loaded(work, number, stopped))?;
        }
    }

    /// The refusal of an entry, with the values of its row.
    #[cold]
    fn not_loaded(&self, work: &mut Work<'_>, number: usize, stopped: NotInserted) -> Stop {
        let view = match self.transactions().view(Some(work.transaction), work.session) {
            Ok(view) => view.with_all_own(),
            Err(stop) => return stop,
        };
        let mut copy = |row: &[u8]| row.to_vec();
        // Without its values the message says less; what it refuses stays.
        let row = self.heap().fetch(view, stopped.row(), &mut copy, work.session);
        self.not_inserted(number, stopped, &row.ok().flatten().unwrap_or_default())
    }
}
