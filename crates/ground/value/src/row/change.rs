//! Changes a row in place, as far as nothing moves.
//!
//! Invariants
//!   * only the column's own bytes and its NULL bit change (VA3)
//!
//! Callers: updates of columns of fixed width. All other updates encode the row again.

use super::{ColumnPosition, RowLayout, RowView, set_bit, stored};
use crate::{Damaged, Value};

/// A row that can be changed in place.
#[derive(Debug)]
pub struct RowMut<'a> {
    layout: &'a RowLayout,
    bytes: &'a mut [u8],
    count: usize,
    nulls: usize,
}

impl<'a> RowMut<'a> {
    /// Opens `bytes`, which must be exactly one row.
    pub fn new(layout: &'a RowLayout, bytes: &'a mut [u8]) -> Result<RowMut<'a>, Damaged> {
        let view = RowView::new(layout, bytes)?;
        let (count, nulls) = (view.columns_written(), view.nulls());
        Ok(RowMut { layout, bytes, count, nulls })
    }

    /// Puts a value that [`crate::Type::fit`] returned, also NULL, into the column with index
    /// `column`. Returns false, and changes nothing, if the change can't be done in place because
    /// the column has no fixed width or was added after the row was written.
    ///
    /// # Panics When the column can't hold the value, or the table has no such column.
    #[must_use = "false: encode the row again"]
    pub fn set(&mut self, column: usize, value: Value<'_>) -> bool {
        let of = &self.layout.columns[column];
        let ColumnPosition::Fixed { at, width } = of.position else {
            return false;
        };
        if column >= self.count {
            return false;
        }
        let at = usize::from(at);
        let bytes = &mut self.bytes[at..at + usize::from(width)];
        if value.is_null() {
            bytes.fill(0);
            set_bit(self.bytes, self.nulls, column);
        } else {
            stored::write_fixed(of.kind, value, bytes);
            self.bytes[self.nulls + column / 8] &= !(1 << (column % 8));
        }
        true
    }
}
