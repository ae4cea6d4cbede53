//! A row's bytes: fixed-width columns at constant offsets, then NULL bits, then texts and the like.
//!
//! ```text
//!   head   fixed-width columns      NULL bits    ends          bytes
//!  ┌──────┬──────┬──────┬──────┬───┬────────────┬────┬────┬───┬───────────┬───────────┬────
//!  │ u16  │ col 0│ col 2│ col 3│ … │ 1 a column │ e0 │ e1 │ … │ col 1     │ col 4     │ …
//!  └──────┴──────┴──────┴──────┴───┴────────────┴────┴────┴───┴───────────┴───────────┴────
//!   bits 0-13: how many columns the row has; bits 14-15: bytes of an end, 0: 1, 1: 2, 2: 4
//! ```
//!
//! Columns of fixed width come first, in the order of the table, whichever columns lie between
//! them. So each has one offset, also in rows that were written when the table had fewer columns.
//! The ends of the other columns count from the first of their bytes. All numbers are
//! little-endian.
//!
//! | type | bytes |
//! |---|---|
//! | SMALLINT, INTEGER, BIGINT | 2, 4, 8 |
//! | NUMBER(p,s) | the coefficient at scale s: 1 byte to p = 2, 2 to 4, 4 to 9, 8 to 18, else 16 |
//! | DOUBLE PRECISION, DATE, TIMESTAMP, BOOLEAN | 8, 4 (days), 8 (microseconds), 1 |
//! | NUMBER | zero: none; else scale + 122, and the coefficient in as few bytes as it needs |
//! | VARCHAR, CHAR, TEXT, BYTEA | the bytes of the value; CHAR without its trailing blanks |
//!
//! Invariants (rules VA1 to VA5 in the README)
//!   * a NULL of fixed width keeps its bytes, filled with zeros, so nothing moves when it is set
//!   * one row has one form: the values and the number of columns decide every byte
//!
//! Callers: tables, which keep the bytes in blocks; undo and redo, which compare them.
//! Sources: PostgreSQL's heap tuples and SQLite's records, as the counter-example: both walk over
//! the columns before the one that is wanted.

mod change;
mod misread;
mod stored;
mod view;

pub use change::RowMut;
pub use misread::{Misread, MisreadKind, Misreads};
pub use view::RowView;

use crate::{COLUMNS_MAX, Misfit, MisfitKind, OwnedValue, Type, Value};
use stored::FreeNumber;

/// The bytes of the head.
const HEAD: usize = 2;
/// The bits of the head that hold the number of columns.
const COUNT_BITS: u32 = 14;
const _: () = assert!(COLUMNS_MAX < 1 << COUNT_BITS);

/// The position of a column in its row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ColumnPosition {
    /// The column lies at this offset in the row and has this width.
    Fixed { at: u16, width: u16 },
    /// The column is variable-width number `ordinal`, from 0.
    Variable { ordinal: u16 },
}

#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) kind: Type,
    pub(crate) position: ColumnPosition,
    /// The value that the column has in rows written before the column was added.
    pub(crate) missing: OwnedValue,
    /// Whether the column was dropped; its bytes then mean nothing.
    pub(crate) dropped: bool,
}

/// The layout of the part before the variable-width bytes, for rows with a given number of columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefix {
    /// The end of the fixed-width columns and beginning of the NULL bits.
    pub(crate) fixed_end: u16,
    /// The end of the NULL bits and beginning of the ends.
    pub(crate) nulls_end: u16,
    /// The number of columns that have an end.
    pub(crate) variables: u16,
}

/// The layout of a table's rows: the position of each column.
#[derive(Clone, Debug)]
pub struct RowLayout {
    columns: Vec<Column>,
    /// The prefixes by the number of columns that a row has, from 0 to all.
    prefixes: Vec<Prefix>,
    /// The columns without fixed width.
    variables: Vec<u16>,
}

impl RowLayout {
    /// The layout of a table with columns of these types.
    ///
    /// # Panics When there are more than [`COLUMNS_MAX`].
    pub fn new(types: &[Type]) -> RowLayout {
        let at = HEAD as u16;
        let prefixes = vec![Prefix { fixed_end: at, nulls_end: at, variables: 0 }];
        let mut layout = RowLayout { columns: Vec::new(), prefixes, variables: Vec::new() };
        for kind in types {
            layout.add(*kind, OwnedValue::NULL);
        }
        layout
    }

    /// Adds a column behind the others. Existing rows don't change: in them the column reads as
    /// `missing`, a value of its type (the default at the time when it was added, or NULL).
    ///
    /// # Panics When there are [`COLUMNS_MAX`] already.
    pub fn add(&mut self, kind: Type, missing: OwnedValue) {
        assert!(self.columns.len() < COLUMNS_MAX, "a table has at most {COLUMNS_MAX} columns");
        let last = self.prefixes[self.columns.len()];
        let mut next = last;
        let position = match stored::width(kind) {
            Some(width) => {
                next.fixed_end += width;
                ColumnPosition::Fixed { at: last.fixed_end, width }
            }
            None => {
                next.variables += 1;
                self.variables.push(self.columns.len() as u16);
                ColumnPosition::Variable { ordinal: last.variables }
            }
        };
        self.columns.push(Column { kind, position, missing, dropped: false });
        next.nulls_end = next.fixed_end + self.columns.len().div_ceil(8) as u16;
        self.prefixes.push(next);
    }

    /// Marks the column as dropped. It keeps its position and its type.
    ///
    /// # Panics When there is no such column.
    pub fn set_dropped(&mut self, column: usize) {
        self.columns[column].dropped = true;
    }

    /// Whether a column was dropped.
    pub fn is_dropped(&self, column: usize) -> bool {
        self.columns.get(column).is_some_and(|column| column.dropped)
    }

    /// The number of columns of the table.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// The type of a column.
    pub fn kind(&self, column: usize) -> Type {
        self.columns[column].kind
    }

    /// Whether a column has a fixed width, so that it can be changed in place.
    pub fn is_fixed(&self, column: usize) -> bool {
        matches!(self.columns[column].position, ColumnPosition::Fixed { .. })
    }

    /// Appends a row of these values, which [`Type::fit`] returned, to `out`. There may be fewer
    /// values than columns; the row then looks like one that is older than the other columns.
    ///
    /// Refuses a row whose texts have 4 GiB together.
    ///
    /// # Panics When a value isn't what its column holds, or there are too many of them.
    pub fn encode(&self, values: &[Value<'_>], out: &mut Vec<u8>) -> Result<(), Misfit> {
        let prefix = self.prefixes[values.len()];
        let variables = &self.variables[..prefix.variables.into()];
        let length = |column: &u16| {
            let column = usize::from(*column);
            stored::variable_length(self.columns[column].kind, values[column])
        };
        let bytes: usize = variables.iter().map(length).sum();
        let (code, width) = end_width(bytes)?;
        let ends = usize::from(prefix.nulls_end);
        let start = out.len();
        out.reserve(ends + variables.len() * width + bytes);
        out.resize(start + ends + variables.len() * width, 0);

        let row = &mut out[start..];
        let head = values.len() as u16 | code << COUNT_BITS;
        row[..HEAD].copy_from_slice(&head.to_le_bytes());
        for (i, (column, value)) in self.columns.iter().zip(values).enumerate() {
            match column.position {
                _ if value.is_null() => set_bit(row, prefix.fixed_end.into(), i),
                ColumnPosition::Fixed { at, width } => {
                    let at = usize::from(at);
                    stored::write_fixed(column.kind, *value, &mut row[at..at + usize::from(width)]);
                }
                ColumnPosition::Variable { .. } => {}
            }
        }
        let data = out.len();
        for (i, column) in variables.iter().enumerate() {
            match values[usize::from(*column)] {
                Value::Text(text) => out.extend_from_slice(text.as_bytes()),
                Value::Bytes(bytes) => out.extend_from_slice(bytes),
                Value::Number(number) => out.extend_from_slice(FreeNumber::of(number).bytes()),
                _ => {}
            }
            let end = ((out.len() - data) as u32).to_le_bytes();
            let at = start + ends + i * width;
            out[at..at + width].copy_from_slice(&end[..width]);
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn column(&self, column: usize) -> Option<&Column> {
        self.columns.get(column)
    }

    #[inline]
    pub(crate) fn prefix(&self, columns: usize) -> Option<Prefix> {
        self.prefixes.get(columns).copied()
    }
}

impl Type {
    /// Whether each value that both types hold has the same bytes in rows of either, and the same
    /// keys. A column may get such a type without its rows being rewritten (rule VA13).
    pub fn is_stored_like(self, other: Type) -> bool {
        match (self, other) {
            (Type::Number(Some(one)), Type::Number(Some(two))) => {
                one.scale() == two.scale() && stored::width(self) == stored::width(other)
            }
            _ => self == other || (self.is_text() && self.shares_keys_with(other)),
        }
    }

    /// Whether the type holds every value of the other one, which is stored like it. May say no
    /// where it does.
    pub fn holds_all_of(self, other: Type) -> bool {
        match (self, other) {
            (Type::Number(Some(one)), Type::Number(Some(two))) => {
                one.precision() >= two.precision()
            }
            (Type::Varchar(one), Type::Varchar(two)) | (Type::Char(one), Type::Char(two)) => {
                one.get() >= two.get()
            }
            (Type::Text, Type::Varchar(_)) => true,
            _ => self == other,
        }
    }
}

/// The width of the ends for this many bytes: the code in the head, and the width in bytes.
fn end_width(bytes: usize) -> Result<(u16, usize), Misfit> {
    match u32::try_from(bytes) {
        Ok(0..=0xff) => Ok((0, 1)),
        Ok(0x100..=0xffff) => Ok((1, 2)),
        Ok(_) => Ok((2, 4)),
        Err(_) => {
            let say = format!(
                "a row can't hold {bytes} bytes of texts and binary values: shorten them to {} in \
                 all",
                u32::MAX
            );
            Err(Misfit::new(MisfitKind::Length, say))
        }
    }
}

fn set_bit(row: &mut [u8], nulls: usize, column: usize) {
    row[nulls + column / 8] |= 1 << (column % 8);
}
