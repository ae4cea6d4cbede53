//! Keys with their rows, in memory until their entries are inserted into an index, those of a leaf
//! together.
//!
//! Callers: `loaded_keys` and `late_keys`.

use access::{NewEntry, RowAddress};
use sort::Sorted;
use stop::Stop;

use crate::Relation;
use crate::insert_keys::NotInserted;
use crate::scratch::Work;
use crate::sort_key::split_sorted;

/// The most entries of an index that are inserted by one call, and the most bytes of their keys.
const ENTRIES_MAX: usize = 2_048;
const KEY_BYTES_MAX: usize = 256 << 10;

/// Keys with their rows.
#[derive(Default)]
pub(crate) struct Entries {
    keys: Vec<u8>,
    /// Where each key ends among the bytes, and its row.
    rows: Vec<(usize, RowAddress)>,
}

impl Entries {
    pub(crate) fn push(&mut self, key: &[u8], row: RowAddress) {
        self.keys.extend_from_slice(key);
        self.rows.push((self.keys.len(), row));
    }

    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.rows.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are as many as are inserted by one call.
    pub(crate) fn is_full(&self) -> bool {
        self.rows.len() >= ENTRIES_MAX || self.keys.len() >= KEY_BYTES_MAX
    }

    /// The key that was pushed last.
    pub(crate) fn last(&self) -> Option<&[u8]> {
        let start = self.rows.len().checked_sub(2).map_or(0, |before| self.rows[before].0);
        self.rows.last().map(|&(end, _)| &self.keys[start..end])
    }

    /// Each entry, in the order in which they were pushed.
    pub(crate) fn iter(&self) -> impl Iterator<Item = NewEntry<'_>> {
        let mut start = 0;
        self.rows.iter().map(move |&(end, row)| {
            let key = &self.keys[std::mem::replace(&mut start, end)..end];
            NewEntry { key, row }
        })
    }

    /// Inserts the first ones, as many, and forgets them. They were pushed in order.
    pub(crate) fn insert_first(
        &mut self,
        count: usize,
        to: &mut Target<'_, '_>,
    ) -> Result<(), Stop> {
        let Some(&(bytes, _)) = self.rows[..count].last() else { return Ok(()) };
        let entries: Vec<_> = self.iter().take(count).collect();
        to.insert(&entries)?;
        self.keys.drain(..bytes);
        self.rows.drain(..count);
        self.rows.iter_mut().for_each(|(end, _)| *end -= bytes);
        Ok(())
    }

    /// Inserts all. They were pushed in any order.
    pub(crate) fn insert_unsorted(&self, to: &mut Target<'_, '_>) -> Result<(), Stop> {
        let mut entries: Vec<_> = self.iter().collect();
        entries.sort_unstable();
        to.insert(&entries)
    }

    /// Inserts the entries of sorted keys, which have the addresses of their rows behind them. None
    /// are left here.
    pub(crate) fn insert_sorted(
        mut self,
        mut sorted: Sorted<'_>,
        to: &mut Target<'_, '_>,
    ) -> Result<(), Stop> {
        while let Some((bytes, _)) = sorted.next_row()? {
            let (key, row) = split_sorted(bytes);
            self.push(key, row);
            if self.is_full() {
                self.insert_first(self.rows.len(), to)?;
            }
        }
        self.insert_first(self.rows.len(), to)
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
        inserted.map_err(|stopped| self.refused(stopped))
    }

    /// The refusal of an entry, with the values of its row.
    #[cold]
    fn refused(&mut self, stopped: NotInserted) -> Stop {
        let Target { relation, work, number } = self;
        let view = match relation.transactions().view(Some(work.transaction), work.session) {
            Ok(view) => view.with_all_own(),
            Err(stop) => return stop,
        };
        let mut copy = |row: &[u8]| row.to_vec();
        // Without its values the message says less; what it refuses stays.
        let row = relation.heap().fetch(view, stopped.row(), &mut copy, work.session);
        relation.not_inserted(*number, stopped, &row.ok().flatten().unwrap_or_default())
    }
}
