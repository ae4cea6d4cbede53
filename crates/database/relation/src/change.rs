//! New values for columns of a row that is updated.
//!
//! A value is fitted to its column when it is set, so the refusal comes where the value is given.
//! If all columns that are set have a fixed width, they are changed in place; otherwise the row is
//! encoded again.
//!
//! Callers: `update`; the closures of its callers.

use std::ops::Range;

use stop::Stop;
use value::{RowMut, RowView, Value};

use crate::scratch::{emptied, shrink};
use crate::{Default, Relation};

/// The columns that an update sets, and their new values.
#[derive(std::default::Default)]
pub(crate) struct Assignments {
    columns: Vec<(usize, AssignedValue)>,
    /// The bytes of texts and byte strings, one after the other.
    bytes: Vec<u8>,
    /// A buffer for the values of a whole row.
    values: Vec<Value<'static>>,
}

/// A value whose bytes, if it has any, lie in `Assignments::bytes`.
#[derive(Clone)]
enum AssignedValue {
    /// A value that is neither a text nor a byte string.
    Plain(Value<'static>),
    Text(Range<usize>),
    Bytes(Range<usize>),
}

impl Assignments {
    fn clear(&mut self) {
        self.columns.clear();
        self.bytes.clear();
    }

    fn put(&mut self, column: usize, value: Value<'_>) {
        let held = match value {
            Value::Text(text) => AssignedValue::Text(self.keep(text.as_bytes())),
            Value::Bytes(bytes) => AssignedValue::Bytes(self.keep(bytes)),
            Value::Null => AssignedValue::Plain(Value::Null),
            Value::Int(int) => AssignedValue::Plain(Value::Int(int)),
            Value::Number(number) => AssignedValue::Plain(Value::Number(number)),
            Value::Double(double) => AssignedValue::Plain(Value::Double(double)),
            Value::Boolean(is) => AssignedValue::Plain(Value::Boolean(is)),
            Value::Date(day) => AssignedValue::Plain(Value::Date(day)),
            Value::Timestamp(moment) => AssignedValue::Plain(Value::Timestamp(moment)),
            Value::Interval(span) => AssignedValue::Plain(Value::Interval(span)),
        };
        self.columns.push((column, held));
    }

    fn keep(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    /// Forgets all assignments, and gives the buffer back if it takes more than `most` bytes.
    pub(crate) fn shrink(&mut self, most: usize) {
        self.clear();
        shrink(&mut self.bytes, most);
    }

    /// The number of bytes that the buffer takes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Whether a column is set.
    pub(crate) fn has(&self, column: usize) -> bool {
        self.columns.iter().any(|(set, _)| *set == column)
    }
}

fn value_of<'a>(held: &AssignedValue, bytes: &'a [u8]) -> Value<'a> {
    match held {
        AssignedValue::Plain(value) => *value,
        AssignedValue::Text(range) => {
            let text = std::str::from_utf8(&bytes[range.clone()]);
            Value::Text(text.expect("these bytes came from a text"))
        }
        AssignedValue::Bytes(range) => Value::Bytes(&bytes[range.clone()]),
    }
}

/// What an update does to one row: new values for some of its columns.
pub struct RowChange<'a> {
    relation: &'a Relation,
    set: &'a mut Assignments,
    /// The row as it was.
    old: &'a [u8],
}

impl<'a> RowChange<'a> {
    /// A change that sets no column yet, of this row.
    pub(crate) fn of(
        relation: &'a Relation,
        set: &'a mut Assignments,
        old: &'a [u8],
    ) -> RowChange<'a> {
        set.clear();
        RowChange { relation, set, old }
    }

    /// Sets a column, counted from 0; of several values for one column the last one counts. Refused
    /// if the value doesn't fit, or is NULL in a NOT NULL column; if there is no such column, or it
    /// was dropped; and if the column is GENERATED ALWAYS and the value isn't the one it has
    /// (RL18).
    pub fn set(&mut self, column: usize, value: Value<'_>) -> Result<(), Stop> {
        self.relation.check_column(column)?;
        let default = &self.relation.definition().columns[column].default;
        if matches!(default, Default::Identity { always: true, .. }) {
            let fitted = self.relation.fit(column, value)?;
            let has = self.relation.row(self.old)?.get(column);
            if has.map_err(|damaged| self.relation.damaged(&damaged))? != fitted {
                return Err(self.relation.always_generated(column));
            }
        }
        self.put(column, value)
    }

    /// Sets a column as [`RowChange::set`] does, also one that is GENERATED ALWAYS. A caller gives
    /// such a column the next value of its sequence, and nothing else.
    pub fn set_generated(&mut self, column: usize, value: Value<'_>) -> Result<(), Stop> {
        self.relation.check_column(column)?;
        self.put(column, value)
    }

    fn put(&mut self, column: usize, value: Value<'_>) -> Result<(), Stop> {
        let fitted = self.relation.fit(column, value)?;
        self.set.put(column, fitted);
        Ok(())
    }

    /// Whether any column was set.
    pub fn is_empty(&self) -> bool {
        self.set.columns.is_empty()
    }

    /// Appends the row with its new values to `new`.
    pub(crate) fn apply(&mut self, old: &RowView<'_>, new: &mut Vec<u8>) -> Result<(), Stop> {
        let start = new.len();
        if self.apply_in_place(old, new)? {
            return Ok(());
        }
        new.truncate(start);
        let mut values = emptied(std::mem::take(&mut self.set.values));
        let encoded = self.encode(old, &mut values, new);
        self.set.values = emptied(values);
        encoded
    }

    /// Changes the columns in place. Returns false if one can't be changed so.
    fn apply_in_place(&self, old: &RowView<'_>, new: &mut Vec<u8>) -> Result<bool, Stop> {
        let layout = self.relation.layout();
        let mut columns = self.set.columns.iter();
        let is_there = |column: usize| layout.is_fixed(column) && column < old.columns_written();
        if !columns.all(|(column, _)| is_there(*column)) {
            return Ok(false);
        }
        let start = new.len();
        new.extend_from_slice(old.bytes());
        let row = RowMut::new(layout, &mut new[start..]);
        let mut row = row.map_err(|damaged| self.relation.damaged(&damaged))?;
        let mut columns = self.set.columns.iter();
        Ok(columns.all(|(column, held)| row.set(*column, value_of(held, &self.set.bytes))))
    }

    fn encode<'v>(
        &'v self,
        old: &RowView<'v>,
        values: &mut Vec<Value<'v>>,
        new: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        old.get_all(values).map_err(|damaged| self.relation.damaged(&damaged))?;
        for (column, held) in &self.set.columns {
            values[*column] = value_of(held, &self.set.bytes);
        }
        let encoded = self.relation.layout().encode(values, new);
        encoded.map_err(|misfit| self.relation.misfit(&misfit))
    }
}
