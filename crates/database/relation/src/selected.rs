//! Statements over the rows of one selection: UPDATE and DELETE with a condition on one table.
//!
//! Callers: the catalog; the embedded API.

use access::Direction;
use stop::Stop;
use value::RowView;

use crate::driver::{Flow, StatementKind};
use crate::scratch::Work;
use crate::search::{RowSearch, Selection};
use crate::{Done, Relation, RowChange};

/// The number of rows of an index range that are changed together at most.
const BATCH_ROWS_MAX: usize = 256;

impl Relation {
    /// Changes rows as `change` says, and returns how many. If the statement is refused, none is
    /// changed. `filter` and `change` only compute, and may be called again.
    pub fn update_where(
        &self,
        work: &mut Work<'_>,
        selection: Selection<'_>,
        mut filter: Option<&mut dyn FnMut(&RowView<'_>) -> bool>,
        change: &mut dyn FnMut(&RowView<'_>, &mut RowChange<'_>) -> Result<(), Stop>,
    ) -> Result<u64, Stop> {
        let kind = match selection.is_of_one_row() {
            true => StatementKind::UpdateOne,
            false => StatementKind::Update,
        };
        let mut apply = |_: usize, old: &RowView<'_>, new: &mut RowChange<'_>| change(old, new);
        self.statement(kind, work, &mut |statement| {
            let (view, mut count) = (statement.view(), 0);
            let (direction, batch_max) = (Direction::Ascending, BATCH_ROWS_MAX);
            let search = RowSearch { selection, filter: &mut filter, view, direction, batch_max };
            self.visit_rows(statement, search, &mut |statement, rows| {
                count += statement.update_many(0, rows, &mut apply)?;
                Ok(true)
            })?;
            Ok(Flow::Done(count))
        })
    }

    /// Deletes rows, and returns how many. If the statement is refused, none is deleted. `filter`
    /// only computes, and may be called again.
    pub fn delete_where(
        &self,
        work: &mut Work<'_>,
        selection: Selection<'_>,
        mut filter: Option<&mut dyn FnMut(&RowView<'_>) -> bool>,
    ) -> Result<u64, Stop> {
        self.statement(StatementKind::Delete, work, &mut |statement| {
            let (view, mut count) = (statement.view(), 0);
            let (direction, batch_max) = (Direction::Ascending, BATCH_ROWS_MAX);
            let search = RowSearch { selection, filter: &mut filter, view, direction, batch_max };
            self.visit_rows(statement, search, &mut |statement, rows| {
                for row in rows {
                    count += u64::from(statement.delete(0, *row)? == Done::Changed);
                }
                Ok(true)
            })?;
            Ok(Flow::Done(count))
        })
    }
}
