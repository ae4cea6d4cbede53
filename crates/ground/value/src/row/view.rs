//! Reads a row in place.
//!
//! Invariants
//!   * values borrow from the row's bytes; nothing is copied
//!   * any bytes can be read: bytes that no row has are `Damaged`, not a panic
//!   * any question can be asked of a row that notes misreads (rule VA10); any other row panics on
//!     a question without an answer
//!
//! Callers: scans and gets; `verify`.

use super::misread::{Misread, MisreadKind, Misreads};
use super::{COUNT_BITS, Column, ColumnPosition, HEAD, Prefix, RowLayout, stored};
use crate::{Damaged, Value};

/// A row to be read.
#[derive(Clone, Copy, Debug)]
pub struct RowView<'a> {
    layout: &'a RowLayout,
    bytes: &'a [u8],
    /// The number of columns in the row; the table may have more.
    count: usize,
    prefix: Prefix,
    /// The width of an end, in bytes.
    end_width: usize,
    /// The offset at which the bytes of texts and the like begin.
    data: usize,
    /// The notes of questions without an answer; none if they panic.
    misreads: Option<&'a Misreads>,
}

impl<'a> RowView<'a> {
    /// Opens `bytes`, which must be exactly one row.
    #[inline]
    pub fn new(layout: &'a RowLayout, bytes: &'a [u8]) -> Result<RowView<'a>, Damaged> {
        let Some(&[low, high]) = bytes.first_chunk::<HEAD>() else {
            return Err(Damaged::row("it is shorter than its head"));
        };
        let head = u16::from_le_bytes([low, high]);
        let count = usize::from(head & ((1 << COUNT_BITS) - 1));
        let prefix =
            layout.prefix(count).ok_or(Damaged::row("it has more columns than its table"))?;
        let code = head >> COUNT_BITS;
        if code > 2 {
            return Err(Damaged::row("its head is of no known form"));
        }
        let end_width = 1 << code;
        let data = usize::from(prefix.nulls_end) + usize::from(prefix.variables) * end_width;
        if bytes.len() < data {
            return Err(Damaged::row("it is shorter than its columns"));
        }
        Ok(RowView { layout, bytes, count, prefix, end_width, data, misreads: None })
    }

    /// The same row, which notes questions that it can't answer and answers NULL to them. A caller
    /// that gives it to a user's closure refuses the statement if there is a note.
    #[inline]
    #[must_use]
    pub fn noting(self, misreads: &'a Misreads) -> RowView<'a> {
        RowView { misreads: Some(misreads), ..self }
    }

    /// The number of columns that the table had when the row was written.
    pub fn columns_written(&self) -> usize {
        self.count
    }

    /// The row's bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The value in the column with index `column`.
    ///
    /// # Panics When the table has no such column, and misreads aren't noted.
    #[inline]
    pub fn get(&self, column: usize) -> Result<Value<'a>, Damaged> {
        match self.asked_for(column) {
            Some(of) => self.value_of(of, column),
            None => Ok(Value::Null),
        }
    }

    #[inline]
    fn value_of(&self, of: &'a Column, column: usize) -> Result<Value<'a>, Damaged> {
        if column >= self.count {
            return Ok(of.missing.get());
        }
        if self.is_null_here(column) {
            return Ok(Value::Null);
        }
        let read = match of.position {
            ColumnPosition::Fixed { at, width } => {
                stored::read_fixed(of.kind, self.fixed(at, width))
            }
            ColumnPosition::Variable { ordinal } => {
                self.variable(ordinal).and_then(|bytes| stored::read_variable(of.kind, bytes))
            }
        };
        read.map_err(|what| Damaged::column(column, what))
    }

    /// The number in a column of SMALLINT, INTEGER or BIGINT; none if it is NULL.
    ///
    /// # Panics When the column has another type, or the table has no such column, and misreads
    /// aren't noted.
    #[inline]
    pub fn get_i64(&self, column: usize) -> Option<i64> {
        let of = self.asked_for(column)?;
        if !of.kind.is_integer() {
            self.misread(column, MisreadKind::NotInteger(of.kind));
            return None;
        }
        match of.position {
            ColumnPosition::Fixed { at, width } if column < self.count => {
                let int = stored::read_int(self.fixed(at, width));
                (!self.is_null_here(column)).then_some(int)
            }
            _ => match of.missing.get() {
                Value::Int(int) => Some(int),
                _ => None,
            },
        }
    }

    /// The text in a column of VARCHAR, CHAR or TEXT; none if it is NULL.
    ///
    /// # Panics When the column has another type, or the table has no such column, and misreads
    /// aren't noted.
    #[inline]
    pub fn get_text(&self, column: usize) -> Result<Option<&'a str>, Damaged> {
        let Some(of) = self.asked_for(column) else { return Ok(None) };
        if !of.kind.is_text() {
            self.misread(column, MisreadKind::NotText(of.kind));
            return Ok(None);
        }
        match self.value_of(of, column)? {
            Value::Text(text) => Ok(Some(text)),
            _ => Ok(None),
        }
    }

    /// Whether a column is NULL.
    ///
    /// # Panics
    /// When the table has no such column, and misreads aren't noted.
    #[inline]
    pub fn is_null(&self, column: usize) -> bool {
        let Some(of) = self.asked_for(column) else { return true };
        if column < self.count { self.is_null_here(column) } else { of.missing.get().is_null() }
    }

    /// Replaces the contents of `values` by all columns of the table.
    pub fn get_all(&self, values: &mut Vec<Value<'a>>) -> Result<(), Damaged> {
        values.clear();
        for (column, of) in self.layout.columns.iter().enumerate() {
            values.push(self.value_of(of, column)?);
        }
        Ok(())
    }

    /// Checks that every byte is as [`RowLayout::encode`] writes it.
    pub fn check(&self) -> Result<(), Damaged> {
        let mut values = Vec::with_capacity(self.count);
        for (column, of) in self.layout.columns[..self.count].iter().enumerate() {
            values.push(self.value_of(of, column)?);
        }
        let mut again = Vec::with_capacity(self.bytes.len());
        self.layout.encode(&values, &mut again).map_err(|_| Damaged::row("it is too long"))?;
        match again == self.bytes {
            true => Ok(()),
            false => Err(Damaged::row("its bytes aren't those of its values")),
        }
    }

    /// The column; none, and a note, if it can't be asked for.
    #[inline]
    fn asked_for(&self, column: usize) -> Option<&'a Column> {
        match self.layout.column(column) {
            Some(of) if !of.dropped || self.misreads.is_none() => Some(of),
            Some(_) => self.misread(column, MisreadKind::Dropped),
            None => self.misread(column, MisreadKind::NoColumn),
        }
    }

    #[cold]
    fn misread(&self, column: usize, why: MisreadKind) -> Option<&'a Column> {
        match self.misreads {
            Some(misreads) => misreads.note(Misread { column, why }),
            None => panic!("column {column} can't be read so: {why:?}"),
        }
        None
    }

    #[inline]
    fn is_null_here(&self, column: usize) -> bool {
        let at = usize::from(self.prefix.fixed_end) + column / 8;
        self.bytes[at] >> (column % 8) & 1 == 1
    }

    #[inline]
    fn fixed(&self, at: u16, width: u16) -> &'a [u8] {
        let at = usize::from(at);
        &self.bytes[at..at + usize::from(width)]
    }

    #[inline]
    fn variable(&self, ordinal: u16) -> Result<&'a [u8], &'static str> {
        let ordinal = usize::from(ordinal);
        let begin = if ordinal == 0 { 0 } else { self.end(ordinal - 1) };
        let end = self.end(ordinal);
        // `new` has checked that the ends lie within the row.
        self.bytes[self.data..].get(begin..end).ok_or("its end lies outside the row")
    }

    #[inline]
    fn end(&self, ordinal: usize) -> usize {
        let at = usize::from(self.prefix.nulls_end) + ordinal * self.end_width;
        match self.bytes[at..at + self.end_width] {
            [a] => a.into(),
            [a, b] => u16::from_le_bytes([a, b]).into(),
            [a, b, c, d] => u32::from_le_bytes([a, b, c, d]) as usize,
            _ => 0,
        }
    }

    pub(super) fn nulls(&self) -> usize {
        self.prefix.fixed_end.into()
    }
}
