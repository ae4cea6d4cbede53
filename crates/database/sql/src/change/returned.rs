//! Rows that a statement gives back when it has ended: those of RETURNING, and those that it has
//! locked.
//!
//! Invariants
//!   * a statement that begins again has given nothing: its rows are thrown away (rule SQ51)
//!   * once its work is done nothing can fail that would refuse it: its rows are finished before
//!   * memory is asked of the budget; rows that don't fit go through a temporary file
//!
//! Callers: all statements of `change`.

use expression::{Evaluation, Row, Rows};
use stop::Stop;
use value::{RowView, Value};

use crate::bind::Returning;
use crate::run::{Host, KeptCursor, KeptRows};

/// Rows to give back.
pub(super) struct Returned<'r> {
    returning: Option<&'r Returning>,
    host: &'r Host<'r>,
    kept: KeptRows,
    /// The row under way.
    made: Rows,
}

impl<'r> Returned<'r> {
    /// What RETURNING gives, if the statement has it.
    pub(super) fn new(returning: Option<&'r Returning>, host: &'r Host<'r>) -> Returned<'r> {
        let width = returning.map_or(0, |returning| returning.expressions.len());
        Returned { returning, ..Returned::of_rows(width, host) }
    }

    /// Rows of this many columns, as they are.
    pub(super) fn of_rows(width: usize, host: &'r Host<'r>) -> Returned<'r> {
        Returned { returning: None, host, kept: KeptRows::new(width, 1), made: Rows::new(width) }
    }

    /// Whether the statement has RETURNING.
    pub(super) fn is_wanted(&self) -> bool {
        self.returning.is_some()
    }

    /// Throws all rows away: the statement begins, or begins again.
    pub(super) fn restart(&mut self) {
        if self.kept.len() > 0 {
            self.kept.clear(self.host);
        }
    }

    /// Adds what RETURNING gives of a row.
    pub(super) fn give(&mut self, row: &dyn Row, with: &Evaluation<'_>) -> Result<(), Stop> {
        let Some(returning) = self.returning else { return Ok(()) };
        self.made.clear();
        self.made.begin_row();
        for expression in &returning.expressions {
            self.made.push_value(expression.evaluate(row, with)?);
        }
        self.kept.append(&self.made, self.host)
    }

    /// Adds a row of these values.
    pub(super) fn give_row<'v>(
        &mut self,
        values: impl IntoIterator<Item = Value<'v>>,
    ) -> Result<(), Stop> {
        self.made.clear();
        self.made.push(values);
        self.kept.append(&self.made, self.host)
    }

    /// All rows are there. What fails of keeping them fails here, where the statement can still be
    /// taken back.
    pub(super) fn finish(&mut self) -> Result<(), Stop> {
        self.kept.finish(self.host)
    }

    /// The rows, if the statement gives some; it has ended.
    pub(super) fn end(self) -> Option<KeptCursor> {
        let is_wanted = self.is_wanted();
        is_wanted.then(|| KeptCursor::new(self.kept))
    }

    /// The rows; the statement has ended.
    pub(super) fn end_rows(self) -> KeptCursor {
        KeptCursor::new(self.kept)
    }
}

/// All columns of a row of a table.
pub(super) fn all_of<'v>(row: &RowView<'v>) -> Result<Vec<Value<'v>>, Stop> {
    let mut values = Vec::new();
    row.get_all(&mut values)?;
    Ok(values)
}
