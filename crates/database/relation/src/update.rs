//! Updating rows, and the index entries that change with them.
//!
//! Callers: `driver`; `foreign`, for SET NULL.

use access::{Changed, RowAddress};
use stop::Stop;
use txn::View;
use value::{Misreads, RowView, Value};

use crate::change::Assignments;
use crate::keys::Keys;
use crate::late_keys::LateKeys;
use crate::scratch::{Scratch, Work};
use crate::{Relation, RowChange};

/// Says what an update does to a row. It only computes, and may be called again.
pub(crate) type Changer<'a> = dyn FnMut(&RowView<'_>, &mut RowChange<'_>) -> Result<(), Stop> + 'a;

/// Says what an update does to the row at a place among several, counted from 0. It only computes,
/// and may be called again.
pub(crate) type RowsChanger<'a> =
    dyn FnMut(usize, &RowView<'_>, &mut RowChange<'_>) -> Result<(), Stop> + 'a;

impl Relation {
    /// Updates these rows of one block together, from the first on, and returns how many: up to the
    /// first that isn't as the view sees it, or sets a column of a key; none if a CHECK is an
    /// expression (RL80). The statement meets each row once, so it has changed none of them yet
    /// (RL13).
    pub(crate) fn update_together(
        &self,
        work: &mut Work<'_>,
        rows: &[RowAddress],
        view: View,
        change: &mut RowsChanger<'_>,
        sets_keys: &mut bool,
    ) -> Result<usize, Stop> {
        if !self.definition().expressions.is_empty() {
            return Ok(0);
        }
        let (set, mut made) = (&mut work.scratch.assignments, Ok(()));
        let mut apply = |place: usize, old: &[u8], new: &mut Vec<u8>| {
            let mut of_row = |old: &RowView<'_>, new: &mut RowChange<'_>| change(place, old, new);
            made = self.make_new(old, new, set, &mut of_row);
            *sets_keys |= self.has_key_set(set);
            made.is_ok() && !*sets_keys
        };
        let heap = self.heap();
        let done = heap.update_together(work.transaction, rows, view, &mut apply, work.session)?;
        made.map(|()| done)
    }

    /// Whether a column of an index or a foreign key is set. The columns that others refer to are
    /// those of an index.
    fn has_key_set(&self, set: &Assignments) -> bool {
        let mut keys = self.definition().foreign_keys.iter().flat_map(|key| &key.columns);
        self.indexes().iter().any(|index| index.has_any(|column| set.has(column)))
            || keys.any(|column| set.has(*column))
    }

    /// Updates a row and its entries, if the row is as the view sees it. Of its new entries those
    /// of late keys are left to the statement's end, if it has them.
    pub(crate) fn update_row<'a>(
        &self,
        work: &mut Work<'a>,
        row: RowAddress,
        view: Option<View>,
        change: &mut Changer<'_>,
        late: Option<&mut LateKeys<'a>>,
    ) -> Result<Changed, Stop> {
        let Scratch { inserters, old_row, new_row, assignments, .. } = &mut *work.scratch;
        let mut made = Ok(());
        let mut apply = |old: &[u8], new: &mut Vec<u8>| {
            made = self.make_new(old, new, assignments, change);
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
        let changed =
            heap.update(work.transaction, inserter, row, view, &mut apply, work.session)?;
        made?;
        if changed == Changed::Yes {
            self.check_changed(&work.scratch.new_row)?;
            self.change_keys(work, row, late)?;
            self.foreign_updated(work.scratch)?;
        }
        Ok(changed)
    }

    /// Appends the new bytes of a row, after its checks (RL5).
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
        // A row that was just encoded can be read.
        self.check_conditions(&|column| new.get(column).unwrap_or(Value::Null))
    }

    /// Refuses a row that was just changed if a CHECK that is an expression is false for it. The
    /// change is taken back with the statement (RL80).
    fn check_changed(&self, row: &[u8]) -> Result<(), Stop> {
        if self.definition().expressions.is_empty() {
            return Ok(());
        }
        let row = self.row(row)?;
        // A row that was just encoded can be read.
        let value = |column| row.get(column).unwrap_or(Value::Null);
        let values: Vec<Value<'_>> = (0..self.layout().columns()).map(value).collect();
        self.check_expressions(&values)
    }

    /// Replaces the index entries of a row whose keys differ between the old bytes and the new
    /// ones.
    fn change_keys<'a>(
        &self,
        work: &mut Work<'a>,
        row: RowAddress,
        late: Option<&mut LateKeys<'a>>,
    ) -> Result<(), Stop> {
        let Scratch { old_row, new_row, old_keys, new_keys, assignments, .. } = &mut *work.scratch;
        old_keys.clear();
        new_keys.clear();
        for (number, index) in self.indexes().iter().enumerate() {
            if !index.has_any(|column| assignments.has(column)) {
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
        self.insert_keys(work, row, late)
    }

    /// Appends the key of a row in the index at this place.
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
