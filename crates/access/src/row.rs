//! Columns in a row's bytes.
//!
//! Callers: `table`, and whoever fills and reads rows.

use std::fmt;

use ids::Dba;
use space::Column;

/// Where a row lies. It never moves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RowAddress {
    /// Its block.
    pub block: Dba,
    /// Its slot in the block.
    pub slot: u16,
}

impl fmt::Display for RowAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.block, self.slot)
    }
}

/// Where each column lies in a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RowShape {
    columns: Vec<(usize, Column)>,
    bytes: usize,
}

impl RowShape {
    /// Columns one after the other.
    pub(crate) fn new(columns: &[Column]) -> RowShape {
        let mut bytes = 0;
        let place = |column: &Column| {
            let at = bytes;
            bytes += column.width();
            (at, *column)
        };
        let columns = columns.iter().map(place).collect();
        RowShape { columns, bytes }
    }

    /// Bytes of a row's columns.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// A row to read.
#[derive(Clone, Copy)]
pub struct RowView<'a> {
    pub(crate) shape: &'a RowShape,
    pub(crate) bytes: &'a [u8],
}

impl<'a> RowView<'a> {
    /// Column `number` (from 0), a number.
    ///
    /// # Panics
    /// When it isn't one.
    pub fn number(&self, number: usize) -> i64 {
        let (at, column) = self.shape.columns[number];
        assert_eq!(column, Column::Number, "column {number}");
        i64::from_le_bytes(self.bytes[at..at + 8].try_into().expect("a number has eight bytes"))
    }

    /// The bytes of column `number` (from 0).
    pub fn column(&self, number: usize) -> &'a [u8] {
        let (at, column) = self.shape.columns[number];
        &self.bytes[at..at + column.width()]
    }

    /// All columns' bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// A row to fill or to change.
pub struct RowMut<'a> {
    pub(crate) shape: &'a RowShape,
    pub(crate) bytes: &'a mut [u8],
}

impl RowMut<'_> {
    /// The row as it is now.
    pub fn view(&self) -> RowView<'_> {
        RowView { shape: self.shape, bytes: self.bytes }
    }

    /// Sets column `number`, a number.
    ///
    /// # Panics
    /// When it isn't one.
    pub fn set_number(&mut self, number: usize, value: i64) {
        let (at, column) = self.shape.columns[number];
        assert_eq!(column, Column::Number, "column {number}");
        self.bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    /// Sets column `number` to these bytes, and what is left of it to zero.
    ///
    /// # Panics
    /// When there are more of them than the column has.
    pub fn set_bytes(&mut self, number: usize, value: &[u8]) {
        let (at, column) = self.shape.columns[number];
        let place = &mut self.bytes[at..at + column.width()];
        place[..value.len()].copy_from_slice(value);
        place[value.len()..].fill(0);
    }
}
