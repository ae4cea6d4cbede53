//! Inserting the index entries of a batch of rows, index by index, each index's in the order of its
//! keys (RL47, RL49).
//!
//! ```text
//!   rows of the array:  r1 r2 r3 …      index by index:  keys in order, a leaf's together
//!                                       ✗ refused:       all taken back, then row by row, so that
//!                                                        the refusal names the first row
//! ```
//!
//! Callers: `insert`; `load`.

use access::{Inserted, NewEntry, RowAddress};
use os::Session;
use stop::Stop;
use txn::{LockWait, Transaction};

use crate::Relation;
use crate::keys::{Keys, RowKey, address_bytes};
use crate::scratch::{Scratch, Work};

/// The most entries that are inserted alone before it is tried again to insert several together.
/// After each try for nothing there are twice as many.
const ALONE_MAX: usize = 32;

/// Why an entry of several isn't inserted.
pub(crate) enum NotInserted {
    /// The index has its key, with this other row.
    Duplicate { row: RowAddress, other: RowAddress },
    /// The insert was stopped.
    Stopped { row: RowAddress, stop: Stop },
}

impl NotInserted {
    /// The row of the entry.
    pub(crate) fn row(&self) -> RowAddress {
        match self {
            NotInserted::Duplicate { row, .. } | NotInserted::Stopped { row, .. } => *row,
        }
    }
}

impl Relation {
    /// Inserts the index entries of the rows of a batch, which lie at these addresses.
    pub(crate) fn insert_batch_keys(
        &self,
        work: &mut Work<'_>,
        placed: &[RowAddress],
    ) -> Result<(), Stop> {
        let savepoint = work.transaction.savepoint();
        // RL49: a key that is held is waited for in the order of the array.
        let lock_wait = work.transaction.lock_wait();
        work.transaction.set_lock_wait(LockWait::NoWait);
        let done = self.insert_in_key_order(work, placed);
        work.transaction.set_lock_wait(lock_wait);
        let Err(Stop::Refused(_)) = done else { return done };
        // In the order of keys another row may have been refused than in the order of the array.
        let (transactions, session) = (self.transactions(), work.session);
        transactions.rollback_to(work.transaction, savepoint, session)?;
        for (number, address) in placed.iter().enumerate() {
            work.scratch.swap_with_batch(number);
            let inserted = self.insert_keys(work, *address, None);
            work.scratch.swap_with_batch(number);
            inserted?;
        }
        // A transaction that was in the way has ended meanwhile.
        Ok(())
    }

    fn insert_in_key_order(&self, work: &mut Work<'_>, placed: &[RowAddress]) -> Result<(), Stop> {
        let Scratch { batch, key: buffer, .. } = &mut *work.scratch;
        let batch = &batch[..placed.len()];
        let (transaction, session) = (&mut *work.transaction, work.session);
        for (number, open) in self.indexes().iter().enumerate() {
            let is_alone = |(_, keys): &(Vec<u8>, Keys)| !keys.nth(number).has_null;
            // A younger index can't tell whether the view sees a key (RL26).
            if open.index.is_unique()
                && let Some(view) = transaction.fixed_view()
                && batch.iter().any(is_alone)
            {
                self.check_index_view(open, view)?;
            }
            let mut entries = self.entries_of(number, batch, placed, buffer);
            entries.sort_unstable();
            let inserted = self.insert_entries(transaction, number, &entries, session);
            inserted.map_err(|stopped| {
                let place = placed.iter().position(|address| *address == stopped.row());
                let place = place.expect("each entry is of a row of the batch");
                self.not_inserted(number, stopped, &batch[place].0)
            })?;
        }
        Ok(())
    }

    /// Inserts entries in ascending order into the index at this place, those of a leaf together.
    pub(crate) fn insert_entries(
        &self,
        transaction: &mut Transaction,
        number: usize,
        entries: &[NewEntry<'_>],
        session: &Session,
    ) -> Result<(), NotInserted> {
        let index = &self.indexes()[number].index;
        let (mut left, mut alone, mut alone_next) = (entries, 0, 1);
        while let Some(NewEntry { row, .. }) = left.first() {
            let stopped = |stop| NotInserted::Stopped { row: *row, stop };
            if alone == 0 {
                let done = index.insert_together(transaction, left, session).map_err(stopped)?;
                alone_next = if done > 0 { 1 } else { ALONE_MAX.min(2 * alone_next) };
                (left, alone) = (&left[done..], alone_next);
            }
            let Some((first, others)) = left.split_first() else { break };
            alone -= 1;
            let row = first.row;
            match index.insert(transaction, first.key, row, session) {
                Ok(Inserted::Done) => left = others,
                Ok(Inserted::Duplicate(other)) => {
                    return Err(NotInserted::Duplicate { row, other });
                }
                Err(stop) => return Err(NotInserted::Stopped { row, stop }),
            }
        }
        Ok(())
    }

    /// The refusal of an entry of this row.
    #[cold]
    pub(crate) fn not_inserted(&self, number: usize, stopped: NotInserted, row: &[u8]) -> Stop {
        match stopped {
            NotInserted::Duplicate { row: own, other } => self.is_there(number, other == own, row),
            NotInserted::Stopped { stop, .. } => self.not_locked(stop, number, row),
        }
    }

    /// The entries of rows in the index at this place. The buffer gets the keys that a row's
    /// address follows (RL4).
    fn entries_of<'a>(
        &self,
        number: usize,
        batch: &'a [(Vec<u8>, Keys)],
        placed: &[RowAddress],
        buffer: &'a mut Vec<u8>,
    ) -> Vec<NewEntry<'a>> {
        let is_unique = self.index(number).is_unique();
        let keys = batch.iter().map(|(_, keys)| keys.nth(number)).zip(placed);
        buffer.clear();
        for (key, row) in keys.clone().filter(|(key, _)| key.has_null && is_unique) {
            buffer.extend_from_slice(key.bytes);
            buffer.extend_from_slice(&address_bytes(*row));
        }
        let mut with_row = &buffer[..];
        let entry = |(key, row): (RowKey<'a>, &RowAddress)| {
            let mut bytes = key.bytes;
            if key.has_null && is_unique {
                (bytes, with_row) = with_row.split_at(bytes.len() + address_bytes(*row).len());
            }
            NewEntry { key: bytes, row: *row }
        };
        keys.map(entry).collect()
    }
}
