//! Groups: rows that differ in some columns, numbered in the order in which they came.
//!
//! ```text
//!   slots   │ hash, group 7 │ – │ hash, group 2 │ hash, group 5 │ …    three of four are used
//!   group 7 = chunk 0, place 7: the columns that tell it from the others
//! ```
//!
//! Invariants
//!   * no two groups are equal, where NULL equals NULL (rule RS8)
//!   * a group's number is its chunk's times 1,024, and its place in the chunk; none is left out
//!   * a slot has 32 bits of its group's hash, so the slots grow without the groups being read
//!
//! Callers: DISTINCT, GROUP BY, set operations, aggregates of distinct values.

use expression::{RowOf, Rows};

use crate::BATCH_ROWS_MAX;
use crate::hash::group_equal;
use crate::memory::value_bytes;

/// In place of a group's number: there is none.
const NONE: u32 = u32::MAX;

const CHUNK_BITS: u32 = BATCH_ROWS_MAX.trailing_zeros();

/// The bytes of a chunk's first allocations, however short its first row is.
const FIRST_BYTES: u64 = 256;

/// The fewest slots.
const SLOTS_MIN: usize = 16;

#[derive(Clone, Copy)]
struct Slot {
    hash: u32,
    group: u32,
}

const EMPTY: Slot = Slot { hash: 0, group: NONE };

/// Different rows.
pub(crate) struct Groups {
    width: usize,
    chunks: Vec<Rows>,
    slots: Vec<Slot>,
    count: u32,
    /// The bytes of all chunks but the last.
    full_bytes: u64,
}

impl Groups {
    /// No groups yet; each is told from the others by `width` columns.
    pub(crate) fn new(width: usize) -> Groups {
        Groups { width, chunks: Vec::new(), slots: Vec::new(), count: 0, full_bytes: 0 }
    }

    /// How many groups there are. They are numbered from 0.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// The bytes that the groups take.
    pub(crate) fn bytes(&self) -> u64 {
        let last = self.chunks.last().map_or(0, Rows::bytes);
        self.full_bytes + (last + self.slots.len() * size_of::<Slot>()) as u64
    }

    /// The bytes that they take at most with one more group, which `columns` of `row` are.
    pub(crate) fn bytes_with(&self, row: RowOf<'_>, columns: &[usize]) -> u64 {
        let bytes = columns.iter().map(|column| value_bytes(row.get(*column))).sum::<u64>();
        // A buffer that grows has twice its length, and while it is copied three times.
        let last = self.chunks.last().map_or(0, Rows::bytes_used) as u64;
        let growing = if self.must_grow() { 3 * self.slots.len().max(SLOTS_MIN) } else { 0 };
        self.bytes() + FIRST_BYTES + 2 * bytes + last + (growing * size_of::<Slot>()) as u64
    }

    /// The group that `columns` of `row` are equal to, if there is one.
    #[inline]
    pub(crate) fn find(&self, row: RowOf<'_>, columns: &[usize], hash: u64) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.group == NONE {
                return None;
            }
            if slot.hash == hash as u32 && group_equal(row, columns, self.group(slot.group)) {
                return Some(slot.group);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a group that isn't there yet, and returns its number.
    pub(crate) fn add(&mut self, row: RowOf<'_>, columns: &[usize], hash: u64) -> u32 {
        if self.must_grow() {
            self.grow();
        }
        let group = self.count;
        self.count += 1;
        if self.chunks.last().is_none_or(|last| last.len() == BATCH_ROWS_MAX) {
            self.full_bytes += self.chunks.last().map_or(0, Rows::bytes) as u64;
            self.chunks.push(Rows::new(self.width));
        }
        let last = self.chunks.last_mut().expect("it was just made, or has room");
        last.push(columns.iter().map(|column| row.get(*column)));
        self.put(Slot { hash: hash as u32, group });
        group
    }

    /// Whether there is a number for one more group.
    pub(crate) fn has_numbers(&self) -> bool {
        self.count < NONE
    }

    /// The columns of a group.
    #[inline]
    pub(crate) fn group(&self, group: u32) -> RowOf<'_> {
        self.chunks[(group >> CHUNK_BITS) as usize].row(group as usize & (BATCH_ROWS_MAX - 1))
    }

    /// Takes all groups out, and gives the memory back.
    pub(crate) fn clear(&mut self) {
        *self = Groups::new(self.width);
    }

    fn must_grow(&self) -> bool {
        self.count as usize + 1 > self.slots.len() / 4 * 3
    }

    fn grow(&mut self) {
        let twice = (self.slots.len() * 2).max(SLOTS_MIN);
        let before = std::mem::replace(&mut self.slots, vec![EMPTY; twice]);
        for slot in before.into_iter().filter(|slot| slot.group != NONE) {
            self.put(slot);
        }
    }

    fn put(&mut self, slot: Slot) {
        let mask = self.slots.len() - 1;
        let mut at = slot.hash as usize & mask;
        while self.slots[at].group != NONE {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }
}

#[cfg(test)]
mod tests {
    use value::Value;

    use super::*;
    use crate::hash::group_hash;

    /// Each different row is one group, whichever kinds its numbers have, and however few hashes
    /// there are; the memory that was foretold is enough.
    #[test]
    fn equal_rows_are_one_group() {
        for hashes in [u64::MAX, 3, 0] {
            let mut rows = Rows::new(2);
            for number in 0..3_000 {
                let key = match number % 4 {
                    0 => Value::Int(number / 8),
                    1 => Value::Double((number / 8) as f64),
                    2 => Value::Number((number / 8).into()),
                    _ => Value::Null,
                };
                rows.push([Value::Text("beside"), key]);
            }
            let mut groups = Groups::new(1);
            let mut found = Vec::new();
            for row in rows.iter().take(if hashes == 0 { 400 } else { 3_000 }) {
                let hash = group_hash(row, &[1]) & hashes;
                let group = groups.find(row, &[1], hash).unwrap_or_else(|| {
                    let foretold = groups.bytes_with(row, &[1]);
                    let group = groups.add(row, &[1], hash);
                    assert!(groups.bytes() <= foretold, "{} of {foretold}", groups.bytes());
                    group
                });
                assert_eq!(groups.group(group).get(0), row.get(1));
                found.push(group);
            }
            let count = groups.count();
            assert_eq!(count as usize, found.len() / 8 + 1, "the numbers, and NULL");
            assert!(found.iter().all(|group| *group < count));
            groups.clear();
            assert_eq!((groups.count(), groups.bytes()), (0, 0));
        }
    }

    #[test]
    fn rows_without_columns_are_one_group() {
        let mut rows = Rows::new(1);
        rows.push([Value::Int(1)]);
        let mut groups = Groups::new(0);
        assert_eq!(groups.find(rows.row(0), &[], 5), None);
        let group = groups.add(rows.row(0), &[], 5);
        assert_eq!(groups.find(rows.row(0), &[], 5), Some(group));
    }
}
