//! Deleting rows and their index entries.
//!
//! Callers: `driver`; `foreign`, for CASCADE; `update`, for old index entries.

use access::{Changed, RowAddress};
use stop::Stop;
use txn::View;

use crate::Relation;
use crate::scratch::{Scratch, Work};

impl Relation {
    /// Deletes a row and its entries, if the row is as the view sees it.
    pub(crate) fn delete_row(
        &self,
        work: &mut Work<'_>,
        row: RowAddress,
        view: Option<View>,
    ) -> Result<Changed, Stop> {
        let old_row = &mut work.scratch.old_row;
        let mut look = |bytes: &[u8]| {
            old_row.clear();
            old_row.extend_from_slice(bytes);
        };
        let heap = self.heap();
        let deleted = heap.delete(work.transaction, row, view, &mut look, work.session)?;
        if deleted == Changed::Yes {
            let Scratch { old_row, old_keys, .. } = &mut *work.scratch;
            old_keys.clear();
            for number in 0..self.indexes().len() {
                self.push_keys(number, old_row, old_keys)?;
            }
            self.delete_keys(work, row)?;
            self.foreign_deleted(work.scratch)?;
        }
        Ok(deleted)
    }

    /// Deletes the index entries of a row's old keys.
    pub(crate) fn delete_keys(&self, work: &mut Work<'_>, row: RowAddress) -> Result<(), Stop> {
        let Scratch { old_keys, key, .. } = &mut *work.scratch;
        for row_key in old_keys.iter() {
            let number = row_key.index;
            let bytes = self.entry_key(row_key, row, key);
            let index = &self.indexes()[number].index;
            if !index.delete(work.transaction, bytes, row, work.session)? {
                return Err(self.index_disagrees(number, "has no entry of a row"));
            }
        }
        Ok(())
    }
}
