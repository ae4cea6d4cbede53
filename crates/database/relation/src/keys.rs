//! Keys of a row in the indexes of its table.
//!
//! Callers: `insert`, `update` and `delete`, which maintain indexes; `entry`.

use access::RowAddress;
use value::{Damaged, Value, key_push};

use crate::IndexColumn;

/// The keys of one row in the indexes of its table.
#[derive(Default)]
pub(crate) struct Keys {
    bytes: Vec<u8>,
    /// In the order of their bytes.
    ends: Vec<KeyEnd>,
}

/// A key among the bytes of [`Keys`]; it begins where the one before ends.
struct KeyEnd {
    index: usize,
    end: usize,
    has_null: bool,
}

/// The key of a row in one index.
#[derive(Clone, Copy)]
pub(crate) struct RowKey<'a> {
    /// The place of the index in the definition.
    pub(crate) index: usize,
    pub(crate) bytes: &'a [u8],
    /// Whether a column of the key is NULL.
    pub(crate) has_null: bool,
}

impl Keys {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Gives the buffer back if it takes more than `most` bytes.
    pub(crate) fn shrink(&mut self, most: usize) {
        if self.bytes.capacity() > most {
            *self = Keys::default();
        }
    }

    /// The number of bytes that the buffer takes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Appends the key of these columns, for the index at this place.
    pub(crate) fn push<'a>(
        &mut self,
        index: usize,
        columns: &[IndexColumn],
        value: impl Fn(usize) -> Result<Value<'a>, Damaged>,
    ) -> Result<(), Damaged> {
        let has_null = push_key(columns, value, &mut self.bytes)?;
        self.ends.push(KeyEnd { index, end: self.bytes.len(), has_null });
        Ok(())
    }

    /// The bytes of the last key.
    pub(crate) fn last(&self) -> Option<&[u8]> {
        let last = self.ends.last()?;
        Some(&self.bytes[self.start_of_last()..last.end])
    }

    /// Removes the last key.
    pub(crate) fn pop(&mut self) {
        self.bytes.truncate(self.start_of_last());
        self.ends.pop();
    }

    fn start_of_last(&self) -> usize {
        let before = self.ends.len().checked_sub(2);
        before.map_or(0, |before| self.ends[before].end)
    }

    /// The key that was appended as the `number`th, from 0.
    pub(crate) fn nth(&self, number: usize) -> RowKey<'_> {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before].end);
        let KeyEnd { index, end, has_null } = self.ends[number];
        RowKey { index, bytes: &self.bytes[start..end], has_null }
    }

    /// Each key, in the order in which they were appended.
    pub(crate) fn iter(&self) -> impl Iterator<Item = RowKey<'_>> {
        let mut start = 0;
        self.ends.iter().map(move |&KeyEnd { index, end, has_null }| {
            let bytes = &self.bytes[start..end];
            start = end;
            RowKey { index, bytes, has_null }
        })
    }
}

/// Appends the key of these columns. Returns whether one of them is NULL.
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

/// A row's address as it follows a key with a NULL in a unique index: so the key is like no other
/// (RL4).
pub(crate) fn address_bytes(row: RowAddress) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..2].copy_from_slice(&row.block.file.get().to_le_bytes());
    bytes[2..6].copy_from_slice(&row.block.block.get().to_le_bytes());
    bytes[6..].copy_from_slice(&row.slot.to_le_bytes());
    bytes
}
