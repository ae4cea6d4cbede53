//! Keys of a row in the indexes of its table.
//!
//! Callers: `insert`, `update`, `delete`, which keep indexes as rows are; `read`, which looks.

use access::RowAddress;
use value::{Damaged, Value, key_push};

use crate::IndexColumn;

/// Keys of one row, one after the other.
#[derive(Default)]
pub(crate) struct Keys {
    bytes: Vec<u8>,
    /// For each key the number of its index, where it ends, and whether a column of it is NULL.
    keys: Vec<(usize, usize, bool)>,
}

impl Keys {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.keys.clear();
    }

    /// Gives the buffer back if it takes more than so many bytes.
    pub(crate) fn give_back(&mut self, most: usize) {
        if self.bytes.capacity() > most {
            *self = Keys::default();
        }
    }

    /// How many bytes the buffer takes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Appends the key of these columns, for the index of this number.
    pub(crate) fn push<'a>(
        &mut self,
        (number, columns): (usize, &[IndexColumn]),
        value: impl Fn(usize) -> Result<Value<'a>, Damaged>,
    ) -> Result<(), Damaged> {
        let has_null = push_key(columns, value, &mut self.bytes)?;
        self.keys.push((number, self.bytes.len(), has_null));
        Ok(())
    }

    /// The bytes of the last key.
    pub(crate) fn last(&self) -> Option<&[u8]> {
        let (.., end, _) = self.keys.last()?;
        Some(&self.bytes[self.start_of_last()..*end])
    }

    /// Takes the last key away.
    pub(crate) fn pop(&mut self) {
        self.bytes.truncate(self.start_of_last());
        self.keys.pop();
    }

    fn start_of_last(&self) -> usize {
        let before = self.keys.len().checked_sub(2);
        before.map_or(0, |before| self.keys[before].1)
    }

    /// Of each key the number of its index, its bytes, and whether a column of it is NULL.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &[u8], bool)> {
        let mut start = 0;
        self.keys.iter().map(move |(number, end, has_null)| {
            let key = &self.bytes[start..*end];
            start = *end;
            (*number, key, *has_null)
        })
    }
}

/// Appends the key of these columns; whether one of them is NULL.
#[inline]
pub(crate) fn push_key<'a>(
    columns: &[IndexColumn],
    value: impl Fn(usize) -> Result<Value<'a>, Damaged>,
    out: &mut Vec<u8>,
) -> Result<bool, Damaged> {
    let mut has_null = false;
    for of in columns {
        let value = value(of.column)?;
        has_null |= value.is_null();
        key_push(value, of.direction, of.nulls, out);
    }
    Ok(has_null)
}

/// What follows a key in a unique index if a column of it is NULL: so it is like no other (RL4).
pub(crate) fn address_bytes(row: RowAddress) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..2].copy_from_slice(&row.block.file.get().to_le_bytes());
    bytes[2..6].copy_from_slice(&row.block.block.get().to_le_bytes());
    bytes[6..].copy_from_slice(&row.slot.to_le_bytes());
    bytes
}
