//! The keys of a load's rows in one index, until their entries are inserted (RL50).
//!
//! ```text
//!   unique index, keys ascend:  in order ──(many; their rows are written)──▶ entries
//!                                  │ one isn't behind the one before
//!                                  ▼
//!   all others, from then on:    sort ────────────(the load ends)──────────▶ entries
//! ```
//!
//! Invariant: all keys in order come before all that are sorted; in the index they may not.
//!
//! Callers: `load`.

use access::{HeapLoader, NewEntry, RowAddress};
use os::Session;
use sort::Sorter;
use stop::{Halt, Stop};

use crate::load::KeySort;
use crate::scratch::Work;
use crate::sort_key::{ordered_bytes, split_sorted};
use crate::{IndexDefinition, Relation};

/// The most entries of an index that are inserted by one call, and the most bytes of their keys.
const ENTRIES_MAX: usize = 2_048;
const KEY_BYTES_MAX: usize = 256 << 10;

/// The keys of a load's rows in one index.
pub(crate) struct LoadedKeys<'s, 'a> {
    /// Keys that came in order, those of the last row included. Kept where an index may get entries
    /// before the load ends.
    in_order: Option<Entries>,
    sorter: Option<Sorter<'a>>,
    sort: KeySort<'s>,
    /// A key with its row behind it, as it is sorted.
    with_row: Vec<u8>,
}

/// Keys with their rows, in order.
#[derive(Default)]
struct Entries {
    keys: Vec<u8>,
    /// Where each key ends among the bytes, and its row.
    rows: Vec<(usize, RowAddress)>,
}

impl Entries {
    fn push(&mut self, key: &[u8], row: RowAddress) {
        self.keys.extend_from_slice(key);
        self.rows.push((self.keys.len(), row));
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= ENTRIES_MAX || self.keys.len() >= KEY_BYTES_MAX
    }

    fn last(&self) -> Option<&[u8]> {
        let start = self.rows.len().checked_sub(2).map_or(0, |before| self.rows[before].0);
        self.rows.last().map(|&(end, _)| &self.keys[start..end])
    }

    /// Inserts the first ones, as many, into the index at this place, and forgets them.
    fn insert_first(&mut self, count: usize, to: &mut Target<'_, '_>) -> Result<(), Stop> {
        let Some(&(bytes, _)) = self.rows[..count].last() else { return Ok(()) };
        let mut start = 0;
        let entry = |&(end, row): &(usize, RowAddress)| {
            let key = &self.keys[std::mem::replace(&mut start, end)..end];
            NewEntry { key, row }
        };
        let entries: Vec<_> = self.rows[..count].iter().map(entry).collect();
        to.insert(&entries)?;
        self.keys.drain(..bytes);
        self.rows.drain(..count);
        self.rows.iter_mut().for_each(|(end, _)| *end -= bytes);
        Ok(())
    }
}

/// The index that gets the entries.
pub(crate) struct Target<'t, 'a> {
    pub(crate) relation: &'t Relation,
    pub(crate) work: &'t mut Work<'a>,
    /// Its place.
    pub(crate) number: usize,
}

impl Target<'_, '_> {
    fn insert(&mut self, entries: &[NewEntry<'_>]) -> Result<(), Stop> {
        let Target { relation, work, number } = self;
        let inserted = relation.insert_entries(work.transaction, *number, entries, work.session);
        inserted.map_err(|stopped| relation.not_loaded(work, *number, stopped))
    }
}

impl<'s, 'a> LoadedKeys<'s, 'a> {
    /// Of this index.
    pub(crate) fn new(index: &IndexDefinition, sort: KeySort<'s>) -> LoadedKeys<'s, 'a> {
        // In an index that isn't unique keys seldom come in order.
        let in_order = index.unique.then(Entries::default);
        LoadedKeys { in_order, sorter: None, sort, with_row: Vec::new() }
    }

    /// Takes the key of the next row.
    #[inline]
    pub(crate) fn push(
        &mut self,
        key: &[u8],
        row: RowAddress,
        halt: &Halt,
        session: &'a Session,
    ) -> Result<(), Stop> {
        if self.sorter.is_none()
            && let Some(in_order) = &mut self.in_order
            && in_order.last().is_none_or(|last| last < key)
        {
            in_order.push(key, row);
            return Ok(());
        }
        let sorter = match &mut self.sorter {
            Some(sorter) => sorter,
            None => {
                let KeySort { disk, config } = self.sort;
                self.sorter.insert(Sorter::new(disk, config.clone(), halt, session)?)
            }
        };
        self.with_row.clear();
        self.with_row.extend_from_slice(key);
        self.with_row.extend_from_slice(&ordered_bytes(row));
        sorter.push(&self.with_row, &[])
    }

    /// Whether many keys came in order.
    #[inline]
    pub(crate) fn has_many(&self) -> bool {
        self.in_order.as_ref().is_some_and(Entries::is_full)
    }

    /// Inserts the entries of rows that came in order and are written.
    pub(crate) fn insert_written(
        &mut self,
        loader: &HeapLoader,
        to: &mut Target<'_, '_>,
    ) -> Result<(), Stop> {
        let Some(in_order) = &mut self.in_order else { return Ok(()) };
        // The next key is compared with the last one.
        let most = in_order.rows.len().saturating_sub(1);
        let is_missing = |&(_, row): &(usize, RowAddress)| !loader.has_written(row);
        let written = in_order.rows[..most].iter().position(is_missing).unwrap_or(most);
        in_order.insert_first(written, to)
    }

    /// Inserts all entries that are left. The rows of the load are written.
    pub(crate) fn insert_rest(self, to: &mut Target<'_, '_>) -> Result<(), Stop> {
        let mut entries = self.in_order.unwrap_or_default();
        entries.insert_first(entries.rows.len(), to)?;
        let Some(sorter) = self.sorter else { return Ok(()) };
        let mut sorted = sorter.finish()?;
        while let Some((bytes, _)) = sorted.next_row()? {
            let (key, row) = split_sorted(bytes);
            entries.push(key, row);
            if entries.is_full() {
                entries.insert_first(entries.rows.len(), to)?;
            }
        }
        entries.insert_first(entries.rows.len(), to)
    }
}
