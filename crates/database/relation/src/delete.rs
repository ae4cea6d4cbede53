//! Deleting rows, and their keys.
//!
//! Callers: whoever executes statements.

use access::{Changed, RowAddress};
use stop::Stop;
use txn::View;

use crate::Relation;
use crate::scratch::{Scratch, Work};
use crate::statement::Act;

/// What a delete does with its rows.
pub(crate) struct Deleting;

impl Act for Deleting {
    fn one(
        &mut self,
        relation: &Relation,
        work: &mut Work<'_>,
        target: (RowAddress, Option<View>),
    ) -> Result<Changed, Stop> {
        relation.delete_row(work, target)
    }
}

impl Relation {
    /// Deletes a row. Waits while another transaction has it. If `view` is given, only a row that
    /// is as the view sees it is deleted. If it is refused nothing of it is done.
    pub fn delete(
        &self,
        work: &mut Work<'_>,
        target: (RowAddress, Option<View>),
    ) -> Result<Changed, Stop> {
        self.change_statement(work, |work| self.delete_row(work, target))
    }

    pub(crate) fn delete_row(
        &self,
        work: &mut Work<'_>,
        target: (RowAddress, Option<View>),
    ) -> Result<Changed, Stop> {
        let old_row = &mut work.scratch.old_row;
        let mut look = |row: &[u8]| {
            old_row.clear();
            old_row.extend_from_slice(row);
        };
        let heap = self.heap();
        let deleted = heap.delete(work.transaction, target.0, target.1, &mut look, work.session)?;
        if deleted == Changed::Yes {
            let Scratch { old_row, old_keys, .. } = &mut *work.scratch;
            old_keys.clear();
            for number in 0..self.indexes().len() {
                self.push_keys(number, (old_row, old_keys))?;
            }
            self.delete_keys(work, target.0)?;
            self.foreign_deleted(work.scratch)?;
        }
        Ok(deleted)
    }

    /// Takes the old keys of a row out of their indexes.
    pub(crate) fn delete_keys(&self, work: &mut Work<'_>, row: RowAddress) -> Result<(), Stop> {
        let Scratch { old_keys, key, .. } = &mut *work.scratch;
        for (number, bytes, has_null) in old_keys.iter() {
            let bytes = self.entry_key((number, bytes, has_null), row, key);
            let index = &self.indexes()[number].index;
            if !index.delete(work.transaction, bytes, row, work.session)? {
                return Err(self.index_disagrees(number, "has no entry of a row"));
            }
        }
        Ok(())
    }
}
