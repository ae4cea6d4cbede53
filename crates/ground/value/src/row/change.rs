//! Changing a row in place, as far as nothing moves.
//!
//! Invariants
//!   * only the column's own bytes and its NULL bit change (VA3)
//!
//! Callers: updates of columns of fixed width; all others encode the row again.

use super::{Place, RowLayout, RowView, set_bit, stored};
use crate::{Damaged, Value};

/// A row to change.
#[derive(Debug)]
pub struct RowMut<'a> {
    layout: &'a RowLayout,
    bytes: &'a mut [u8],
    count: usize,
    nulls: usize,
}

impl<'a> RowMut<'a> {
    /// Of exactly the bytes of a row.
    pub fn new(layout: &'a RowLayout, bytes: &'a mut [u8]) -> Result<RowMut<'a>, Damaged> {
        let view = RowView::new(layout, bytes)?;
        let (count, nulls) = (view.columns_written(), view.nulls());
        Ok(RowMut { layout, bytes, count, nulls })
    }

    /// Puts a value that [`crate::Type::fit`] returned, NULL too, into column `column`, from 0.
    /// False, and nothing is changed, if it can't be done in place: the column has no fixed width,
    /// or was added after the row was written.
    ///
    /// # Panics
    /// When the column can't hold the value, or the table has no such column.
    #[must_use = "false: encode the row again"]
    pub fn set(&mut self, column: usize, value: Value<'_>) -> bool {
        let of = &self.layout.columns[column];
        let Place::Fixed { at, width } = of.place else {
            return false;
        };
        if column >= self.count {
            return false;
        }
        let at = usize::from(at);
        let place = &mut self.bytes[at..at + usize::from(width)];
        if value.is_null() {
            place.fill(0);
            set_bit(self.bytes, self.nulls, column);
        } else {
            stored::write_fixed(of.kind, value, place);
            self.bytes[self.nulls + column / 8] &= !(1 << (column % 8));
        }
        true
    }

    /// [`RowMut::set`] for a column of SMALLINT, INTEGER or BIGINT.
    ///
    /// # Panics
    /// As `set`.
    #[must_use = "false: encode the row again"]
    #[inline]
    pub fn set_i64(&mut self, column: usize, value: i64) -> bool {
        self.set(column, Value::Int(value))
    }
}
