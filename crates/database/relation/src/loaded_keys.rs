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

use access::{HeapLoader, RowAddress};
use os::Session;
use sort::Sorter;
use stop::{Halt, Stop};

use crate::IndexDefinition;
use crate::kept_entries::{Entries, Target};
use crate::load::KeySort;
use crate::sort_key::ordered_bytes;

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
        let most = in_order.len().saturating_sub(1);
        let entries = in_order.iter().take(most);
        let written = entries.take_while(|entry| loader.has_written(entry.row)).count();
        in_order.insert_first(written, to)
    }

    /// Inserts all entries that are left. The rows of the load are written.
    pub(crate) fn insert_rest(self, to: &mut Target<'_, '_>) -> Result<(), Stop> {
        let mut entries = self.in_order.unwrap_or_default();
        entries.insert_first(entries.len(), to)?;
        match self.sorter {
            Some(sorter) => entries.insert_sorted(sorter.finish()?, to),
            None => Ok(()),
        }
    }
}
