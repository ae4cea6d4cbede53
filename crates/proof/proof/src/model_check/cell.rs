//! Values and rows as the model keeps them.
//!
//! Callers: every part of the model check.

use std::fmt;
use std::sync::Arc;

use database::{Row as RowView, Value};

/// A value of a column.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cell {
    Null,
    Int(i64),
    Text(Arc<str>),
}

/// A row: a value for each column that its table has, or gets later.
pub(super) type Row = Arc<[Cell]>;

/// More characters of a text aren't shown.
const SHOWN_MAX: usize = 12;

impl Cell {
    pub(super) fn text(text: &str) -> Cell {
        Cell::Text(Arc::from(text))
    }

    pub(super) fn value(&self) -> Value<'_> {
        match self {
            Cell::Null => Value::Null,
            Cell::Int(int) => Value::Int(*int),
            Cell::Text(text) => Value::Text(text),
        }
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self, Cell::Null)
    }

    /// The number in it.
    pub(super) fn int(&self) -> Option<i64> {
        match self {
            Cell::Int(int) => Some(*int),
            Cell::Null | Cell::Text(_) => None,
        }
    }

    /// The value without blanks at its end, which don't count in a CHAR.
    pub(super) fn trimmed(&self) -> Cell {
        match self {
            Cell::Text(text) if text.ends_with(' ') => Cell::text(text.trim_end_matches(' ')),
            other => other.clone(),
        }
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Null => f.write_str("-"),
            Cell::Int(int) => write!(f, "{int}"),
            Cell::Text(text) if text.len() > SHOWN_MAX => {
                write!(f, "{}*{}", &text[..1], text.len())
            }
            Cell::Text(text) => write!(f, "{text:?}"),
        }
    }
}

/// What the engine shows of a row, filled up with what later columns have in it.
pub(super) fn read(row: &RowView<'_>, later: &[Cell]) -> Result<Row, String> {
    let mut values = Vec::new();
    row.get_all(&mut values).map_err(|damaged| format!("a row is damaged: {damaged}"))?;
    of_values(&values, later)
}

/// The row that these values are, filled up likewise.
pub(super) fn of_values(values: &[Value<'_>], later: &[Cell]) -> Result<Row, String> {
    let mut cells = Vec::with_capacity(values.len() + later.len());
    for value in values {
        cells.push(match *value {
            Value::Null => Cell::Null,
            Value::Int(int) => Cell::Int(int),
            Value::Text(text) => Cell::text(text),
            other => return Err(format!("a row has {other:?}, of a type that no column has")),
        });
    }
    let known = cells.len().saturating_sub(super::schema::COLUMNS).min(later.len());
    cells.extend_from_slice(&later[known..]);
    Ok(cells.into())
}
