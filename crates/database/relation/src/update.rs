//! Changing rows, and the keys that change with them.
//!
//! Callers: whoever executes statements.

use access::{Changed, RowAddress};
use stop::Stop;
use txn::View;
use value::{Misreads, RowView, Value};

use crate::change::Assignments;
use crate::keys::Keys;
use crate::scratch::{Scratch, Work};
use crate::statement::RowOperation;
use crate::{Relation, RowChange};

/// Says what becomes of a row. It only computes, and may be called again.
pub(crate) type Changer<'a> = dyn FnMut(&RowView<'_>, &mut RowChange<'_>) -> Result<(), Stop> + 'a;

/// What an update does with its rows.
pub(crate) struct UpdateRows<'a, 'c> {
    change: &'a mut Changer<'c>,
    /// It has set what an index or a foreign key has: then each row's come right after it.
    sets_keys: bool,
}

impl<'a, 'c> UpdateRows<'a, 'c> {
    pub(crate) fn by(change: &'a mut Changer<'c>) -> UpdateRows<'a, 'c> {
        UpdateRows { change, sets_keys: false }
    }
}

impl RowOperation for UpdateRows<'_, '_> {
    fn apply_one(
        &mut self,
        relation: &Relation,
        work: &mut Work<'_>,
        row: RowAddress,
        view: Option<View>,
    ) -> Result<Changed, Stop> {
        relation.update_row(work, row, view, self.change)
    }

    /// Rows that this statement meets for the first time, for it meets each once (RL13).
    fn apply_together(
        &mut self,
        relation: &Relation,
        work: &mut Work<'_>,
        rows: &[RowAddress],
        view: View,
    ) -> Result<usize, Stop> {
        if self.sets_keys {
            return Ok(0);
        }
        let (set, mut made) = (&mut work.scratch.set, Ok(()));
        let mut apply = |old: &[u8], new: &mut Vec<u8>| {
            made = relation.make_new(old, new, set, self.change);
            self.sets_keys |= relation.has_key_set(set);
            made.is_ok() && !self.sets_keys
        };
        let heap = relation.heap();
        let done =
            heap.update_together(work.transaction, (rows, view), &mut apply, work.session)?;
        made.map(|()| done)
    }
}

impl Relation {
    /// Whether a column is set that an index or a foreign key has. What others refer to is in an
    /// index.
    fn has_key_set(&self, set: &Assignments) -> bool {
        let mut keys = self.definition().foreign_keys.iter().flat_map(|key| &key.columns);
        self.indexes().iter().any(|index| index.has_any(|column| set.has(column)))
            || keys.any(|column| set.has(*column))
    }

    pub(crate) fn update_row(
        &self,
        work: &mut Work<'_>,
        row: RowAddress,
        view: Option<View>,
        change: &mut Changer<'_>,
    ) -> Result<Changed, Stop> {
        let Scratch { inserters, old_row, new_row, set, .. } = &mut *work.scratch;
        let mut made = Ok(());
        let mut apply = |old: &[u8], new: &mut Vec<u8>| {
            made = self.make_new(old, new, set, change);
            match &made {
                Ok(()) => {
                    copy(new, new_row);
                    copy(old, old_row);
                }
                Err(_) => copy(old, new),
            }
        };
        let inserter = inserters.of(self.definition().segment);
        let heap = self.heap();
        let target = (row, view);
        let changed = heap.update(work.transaction, inserter, target, &mut apply, work.session)?;
        made?;
        if changed == Changed::Yes {
            self.change_keys(work, row)?;
            self.foreign_updated(work.scratch)?;
        }
        Ok(changed)
    }

    /// The new bytes of a row.
    fn make_new(
        &self,
        old: &[u8],
        new: &mut Vec<u8>,
        set: &mut Assignments,
        change: &mut Changer<'_>,
    ) -> Result<(), Stop> {
        let mut row_change = RowChange::of(self, set, old);
        let misreads = Misreads::default();
        let old = self.row_for(old, &misreads)?;
        let changed = change(&old, &mut row_change);
        self.check_misreads(&misreads)?;
        changed?;
        row_change.apply(&old, new)?;
        if self.definition().checks.is_empty() {
            return Ok(());
        }
        let new = self.row(new)?;
        // What was just encoded can be read.
        self.check_conditions(&|column| new.get(column).unwrap_or(Value::Null))
    }

    /// Makes the indexes agree with the row, which has changed from the old bytes to the new ones.
    fn change_keys(&self, work: &mut Work<'_>, row: RowAddress) -> Result<(), Stop> {
        let Scratch { old_row, new_row, old_keys, new_keys, set, .. } = &mut *work.scratch;
        old_keys.clear();
        new_keys.clear();
        for (number, index) in self.indexes().iter().enumerate() {
            if !index.has_any(|column| set.has(column)) {
                continue;
            }
            self.push_keys(number, old_row, old_keys)?;
            self.push_keys(number, new_row, new_keys)?;
            if old_keys.last() == new_keys.last() {
                old_keys.pop();
                new_keys.pop();
            }
        }
        self.delete_keys(work, row)?;
        self.insert_keys(work, row)
    }

    /// Appends the key of a row in the index of this number.
    pub(crate) fn push_keys(&self, number: usize, row: &[u8], keys: &mut Keys) -> Result<(), Stop> {
        let row = self.row(row)?;
        let columns = &self.indexes()[number].columns;
        let pushed = keys.push(number, columns, |column| row.get(column));
        pushed.map_err(|damaged| self.damaged(&damaged))
    }
}

fn copy(from: &[u8], to: &mut Vec<u8>) {
    to.clear();
    to.extend_from_slice(from);
}
