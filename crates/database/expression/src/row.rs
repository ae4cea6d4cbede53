//! One row: what an expression reads its columns from.
//!
//! Callers: row sources, which give [`crate::RowOf`] and [`Joined`]; SQL, which gives rows of
//! constants.

use value::{OwnedValue, Value};

use crate::Rows;

/// One row.
pub trait Row {
    /// The value in the column with index `column`.
    ///
    /// # Panics When there is no such column.
    fn value(&self, column: usize) -> Value<'_>;

    /// The number of columns.
    fn width(&self) -> usize;

    /// Appends its values to the row that was begun in `into`.
    fn append_to(&self, into: &mut Rows) {
        for column in 0..self.width() {
            into.push_value(self.value(column));
        }
    }
}

impl Row for Vec<Value<'_>> {
    fn value(&self, column: usize) -> Value<'_> {
        self[column]
    }

    fn width(&self) -> usize {
        self.len()
    }
}

impl Row for &[Value<'_>] {
    fn value(&self, column: usize) -> Value<'_> {
        self[column]
    }

    fn width(&self) -> usize {
        self.len()
    }
}

impl<const N: usize> Row for [Value<'_>; N] {
    fn value(&self, column: usize) -> Value<'_> {
        self[column]
    }

    fn width(&self) -> usize {
        N
    }
}

impl Row for Vec<OwnedValue> {
    fn value(&self, column: usize) -> Value<'_> {
        self[column].get()
    }

    fn width(&self) -> usize {
        self.len()
    }
}

impl Row for &[OwnedValue] {
    fn value(&self, column: usize) -> Value<'_> {
        self[column].get()
    }

    fn width(&self) -> usize {
        self.len()
    }
}

/// Two rows side by side: the columns of `right` follow those of `left`.
#[derive(Clone, Copy)]
pub struct Joined<'a> {
    left: &'a dyn Row,
    right: &'a dyn Row,
    /// The width of the left row, which decides whose column is meant.
    left_width: usize,
}

impl<'a> Joined<'a> {
    /// The two rows as one.
    pub fn new(left: &'a dyn Row, right: &'a dyn Row) -> Joined<'a> {
        Joined { left, right, left_width: left.width() }
    }
}

impl Row for Joined<'_> {
    fn value(&self, column: usize) -> Value<'_> {
        match column.checked_sub(self.left_width) {
            None => self.left.value(column),
            Some(column) => self.right.value(column),
        }
    }

    fn width(&self) -> usize {
        self.left_width + self.right.width()
    }

    fn append_to(&self, into: &mut Rows) {
        self.left.append_to(into);
        self.right.append_to(into);
    }
}

/// A row of NULLs: the other side of a row that an outer join found no partner for.
#[derive(Clone, Copy, Debug)]
pub struct Nulls(pub usize);

impl Row for Nulls {
    fn value(&self, column: usize) -> Value<'_> {
        assert!(column < self.0, "a row of {} columns has no column {column}", self.0);
        Value::Null
    }

    fn width(&self) -> usize {
        self.0
    }
}

/// A row without columns: what constants are evaluated against.
#[derive(Clone, Copy, Debug)]
pub struct NoRow;

impl Row for NoRow {
    fn value(&self, column: usize) -> Value<'_> {
        panic!("column {column} was asked for where there is no row")
    }

    fn width(&self) -> usize {
        0
    }
}
