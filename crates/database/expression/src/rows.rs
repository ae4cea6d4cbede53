//! A run of rows: cells, and their texts and bytes behind them.
//!
//! ```text
//!   cells   │ 7 │ text 0..3 │ NULL │ 9 │ text 3..8 │ bytes 0..2 │ …      width cells a row
//!   texts   │ abcdefgh…                    bytes   │ 00 ff …
//! ```
//!
//! Invariants
//!   * each row has `width` cells, but for the last one while it is being built
//!   * texts and bytes lie in the order of the rows, so rows at the end are taken back by cutting
//!   * no memory is asked for by a row: the three buffers grow, and are kept by `clear`
//!
//! Callers: row sources, which pass rows on in batches; scans, which build rows value by value.

use value::{Damaged, Value};

use crate::Row;
use crate::row_bytes;

/// The most bytes that `clear` keeps in each buffer.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// A value whose text or bytes, if it has any, lie behind the cells.
#[derive(Clone, Copy, Debug)]
enum Cell {
    /// A value that is neither a text nor bytes.
    Plain(Value<'static>),
    Text {
        start: usize,
        end: usize,
    },
    Bytes {
        start: usize,
        end: usize,
    },
}

const _: () = assert!(size_of::<Cell>() == 24);

/// A run of rows of one width.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    width: usize,
    /// The number of rows; rows without columns have no cells.
    count: usize,
    cells: Vec<Cell>,
    texts: String,
    bytes: Vec<u8>,
}

impl Rows {
    /// No rows yet, of `width` columns.
    pub fn new(width: usize) -> Rows {
        Rows { width, ..Rows::default() }
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The bytes of memory that the rows take, used or not.
    pub fn bytes(&self) -> usize {
        self.cells.capacity() * size_of::<Cell>() + self.texts.capacity() + self.bytes.capacity()
    }

    /// The bytes that the rows use.
    pub fn bytes_used(&self) -> usize {
        self.cells.len() * size_of::<Cell>() + self.texts.len() + self.bytes.len()
    }

    /// Takes all rows out. Memory is kept, up to a bound.
    pub fn clear(&mut self) {
        self.count = 0;
        self.cells.clear();
        self.cells.shrink_to(KEPT_BYTES_MAX / size_of::<Cell>());
        self.texts.clear();
        self.texts.shrink_to(KEPT_BYTES_MAX);
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES_MAX);
    }

    /// Takes all rows out; the next ones have `width` columns.
    pub fn set_width(&mut self, width: usize) {
        self.clear();
        self.width = width;
    }

    /// Appends a row of these values.
    ///
    /// # Panics When there aren't exactly `width` values.
    pub fn push<'v>(&mut self, values: impl IntoIterator<Item = Value<'v>>) {
        self.begin_row();
        for value in values {
            self.push_value(value);
        }
        self.assert_whole();
    }

    /// Appends a row.
    ///
    /// # Panics When it hasn't `width` columns.
    pub fn push_row(&mut self, row: &dyn Row) {
        self.begin_row();
        row.append_to(self);
        self.assert_whole();
    }

    /// Appends the row of the columns of `left` and then of `right`.
    ///
    /// # Panics When they haven't `width` columns together.
    pub fn push_joined(&mut self, left: &dyn Row, right: &dyn Row) {
        self.begin_row();
        left.append_to(self);
        right.append_to(self);
        self.assert_whole();
    }

    /// Begins a row; `width` calls of [`Rows::push_value`] follow, or [`Rows::drop_row`]. It counts
    /// as a row from now on.
    #[inline]
    pub fn begin_row(&mut self) {
        self.assert_whole();
        self.count += 1;
    }

    /// Appends the next value of the row that was begun.
    #[inline]
    pub fn push_value(&mut self, value: Value<'_>) {
        let cell = match value {
            Value::Text(text) => self.text_cell(text),
            Value::Bytes(bytes) => self.bytes_cell(bytes),
            Value::Null => Cell::Plain(Value::Null),
            Value::Int(int) => Cell::Plain(Value::Int(int)),
            Value::Number(number) => Cell::Plain(Value::Number(number)),
            Value::Double(double) => Cell::Plain(Value::Double(double)),
            Value::Boolean(is) => Cell::Plain(Value::Boolean(is)),
            Value::Date(day) => Cell::Plain(Value::Date(day)),
            Value::Timestamp(moment) => Cell::Plain(Value::Timestamp(moment)),
            Value::Interval(span) => Cell::Plain(Value::Interval(span)),
        };
        self.cells.push(cell);
    }

    /// Appends the cells of a row of another run to the row that was begun.
    fn append_cells(&mut self, of: &Rows, row: usize) {
        let begin = row * of.width;
        self.cells.reserve(of.width);
        for cell in &of.cells[begin..begin + of.width] {
            let copied = match *cell {
                Cell::Plain(_) => *cell,
                Cell::Text { start, end } => self.text_cell(&of.texts[start..end]),
                Cell::Bytes { start, end } => self.bytes_cell(&of.bytes[start..end]),
            };
            self.cells.push(copied);
        }
    }

    /// The cell of a text, which is put behind the others.
    fn text_cell(&mut self, text: &str) -> Cell {
        let start = self.texts.len();
        self.texts.push_str(text);
        Cell::Text { start, end: self.texts.len() }
    }

    /// The cell of bytes, which are put behind the others.
    fn bytes_cell(&mut self, bytes: &[u8]) -> Cell {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        Cell::Bytes { start, end: self.bytes.len() }
    }

    /// Takes the last row back, also one that was only begun.
    ///
    /// # Panics When there is no row.
    pub fn drop_row(&mut self) {
        let last = self.count.checked_sub(1).expect("a row was begun");
        self.truncate(last);
    }

    /// Keeps the first `rows` rows.
    pub fn truncate(&mut self, rows: usize) {
        if rows >= self.count {
            return;
        }
        let kept = rows * self.width;
        let (mut text_end, mut bytes_end) = (None, None);
        for cell in &self.cells[kept..] {
            match cell {
                Cell::Text { start, .. } => text_end = text_end.or(Some(*start)),
                Cell::Bytes { start, .. } => bytes_end = bytes_end.or(Some(*start)),
                Cell::Plain(_) => {}
            }
            if text_end.is_some() && bytes_end.is_some() {
                break;
            }
        }
        self.texts.truncate(text_end.unwrap_or(self.texts.len()));
        self.bytes.truncate(bytes_end.unwrap_or(self.bytes.len()));
        self.cells.truncate(kept);
        self.count = rows;
    }

    /// The value of one column of one row, both from 0.
    ///
    /// # Panics When there is no such row or column.
    #[inline]
    pub fn get(&self, row: usize, column: usize) -> Value<'_> {
        assert!(column < self.width, "rows of {} columns have no column {column}", self.width);
        match self.cells[row * self.width + column] {
            Cell::Plain(value) => value,
            Cell::Text { start, end } => Value::Text(&self.texts[start..end]),
            Cell::Bytes { start, end } => Value::Bytes(&self.bytes[start..end]),
        }
    }

    /// One row.
    ///
    /// # Panics When there is no such row.
    pub fn row(&self, row: usize) -> RowOf<'_> {
        assert!(row < self.count, "{} rows have no row {row}", self.count);
        RowOf { rows: self, row }
    }

    /// All rows, in their order.
    pub fn iter(&self) -> impl Iterator<Item = RowOf<'_>> {
        (0..self.count).map(|row| RowOf { rows: self, row })
    }

    /// Appends the bytes of a row to `out`. They say where they end ([`Rows::row_length`]).
    ///
    /// # Panics When there is no such row.
    pub fn write_row(&self, row: usize, out: &mut Vec<u8>) {
        let of = self.row(row);
        row_bytes::write((0..self.width).map(|column| of.get(column)), out);
    }

    /// Appends the row that [`Rows::write_row`] of rows of the same width wrote. `bytes` is exactly
    /// that row.
    pub fn read_row(&mut self, bytes: &[u8]) -> Result<(), Damaged> {
        let before = self.count;
        self.begin_row();
        let read = row_bytes::read(bytes, self.width, &mut |value| self.push_value(value));
        if read.is_err() {
            self.truncate(before);
        }
        read
    }

    /// The length of the row at the beginning of `bytes`; none if they end before the row does.
    pub fn row_length(bytes: &[u8]) -> Option<usize> {
        row_bytes::length(bytes)
    }

    fn assert_whole(&self) {
        let expected = self.count * self.width;
        assert_eq!(self.cells.len(), expected, "a row has exactly {} values", self.width);
    }
}

/// One row of a run.
#[derive(Clone, Copy, Debug)]
pub struct RowOf<'a> {
    rows: &'a Rows,
    row: usize,
}

impl<'a> RowOf<'a> {
    /// The value in the column with index `column`, which borrows from the run.
    ///
    /// # Panics When there is no such column.
    #[inline]
    pub fn get(self, column: usize) -> Value<'a> {
        self.rows.get(self.row, column)
    }
}

impl Row for RowOf<'_> {
    #[inline]
    fn value(&self, column: usize) -> Value<'_> {
        self.get(column)
    }

    fn width(&self) -> usize {
        self.rows.width
    }

    /// Cells are copied as they are: no value is looked at.
    fn append_to(&self, into: &mut Rows) {
        into.append_cells(self.rows, self.row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(rows: &Rows, row: usize) -> Vec<Value<'_>> {
        (0..rows.width()).map(|column| rows.get(row, column)).collect()
    }

    #[test]
    fn rows_give_back_what_was_pushed_and_are_taken_back_from_the_end() {
        let mut rows = Rows::new(3);
        let first = [Value::Int(1), Value::Text("añb"), Value::Null];
        let second = [Value::Bytes(&[0, 255]), Value::Text(""), Value::Boolean(true)];
        rows.push(first);
        rows.push_row(&second);
        assert_eq!((values(&rows, 0), values(&rows, 1)), (first.to_vec(), second.to_vec()));
        rows.begin_row();
        rows.push_value(Value::Text("half a row"));
        rows.drop_row();
        assert_eq!((rows.len(), rows.bytes_used()), (2, 6 * 24 + 4 + 2));
        rows.truncate(1);
        assert_eq!((rows.len(), rows.bytes_used()), (1, 3 * 24 + 4));
        rows.push(second);
        assert_eq!(values(&rows, 1), second.to_vec());
        rows.clear();
        assert!(rows.is_empty() && rows.bytes_used() == 0);
    }

    /// A row of a run is copied cell by cell, and is the one that its values make.
    #[test]
    fn rows_of_a_run_are_copied_into_another() {
        let mut rows = Rows::new(3);
        rows.push([Value::Text("añb"), Value::Int(7), Value::Bytes(&[0, 255])]);
        rows.push([Value::Null, Value::Text(""), Value::Bytes(&[])]);
        rows.push([Value::Text("c"), Value::Double(0.5), Value::Bytes(&[9])]);
        let (mut copied, mut made) = (Rows::new(6), Rows::new(6));
        copied.push_joined(&rows.row(2), &rows.row(0));
        copied.push_row(&crate::Joined::new(&rows.row(0), &rows.row(1)));
        for (one, other) in [(2, 0), (0, 1)] {
            made.push(values(&rows, one).into_iter().chain(values(&rows, other)));
        }
        for row in 0..2 {
            assert_eq!(values(&copied, row), values(&made, row));
        }
        assert_eq!(copied.bytes_used(), made.bytes_used());
        copied.truncate(1);
        copied.push_row(&made.row(1));
        assert_eq!(values(&copied, 1), values(&made, 1));
    }

    #[test]
    #[should_panic(expected = "exactly 2 values")]
    fn a_row_of_another_width_is_no_row() {
        let mut rows = Rows::new(1);
        rows.push([Value::Int(1)]);
        Rows::new(2).push_row(&rows.row(0));
    }

    #[test]
    fn rows_without_columns_are_counted() {
        let mut rows = Rows::new(0);
        rows.push([]);
        rows.begin_row();
        assert_eq!((rows.len(), rows.iter().count()), (2, 2));
        let mut bytes = Vec::new();
        rows.write_row(1, &mut bytes);
        assert_eq!((rows.read_row(&bytes), rows.len()), (Ok(()), 3));
        rows.drop_row();
        assert_eq!(rows.len(), 2);
    }

    #[test]
    fn joined_rows_lie_side_by_side() {
        let mut rows = Rows::new(3);
        let (left, right) = ([Value::Int(1)], [Value::Text("b"), Value::Null]);
        rows.push_joined(&left, &right);
        let joined = crate::Joined::new(&left, &right);
        assert_eq!(joined.width(), 3);
        for column in 0..3 {
            assert_eq!(rows.get(0, column), joined.value(column));
        }
    }

    #[test]
    #[should_panic(expected = "exactly 2 values")]
    fn a_row_that_is_too_short_is_no_row() {
        Rows::new(2).push([Value::Int(1)]);
    }
}
