//! Places in the order of an index's entries, and how keys, rows and blocks are stored in it.
//!
//! ```text
//!   leaf entry:    key │ row (8)                fence:    key │ row, if the place has one
//!   branch entry:  block (6) │ key │ row, if the place has one
//! ```
//!
//! An entry is a key and a row; entries are in order by both. A [`Position`] lies between entries:
//! at the first one with this key, or at this key and row. Separators and fences are positions, and
//! as short as they can be.
//!
//! Callers: this module's files.

use std::cmp::Ordering;

use format::U16Le;
use format::changes::index::{StoredBlock, StoredRow};
use ids::Dba;

use crate::RowAddress;

/// Bytes of a row's address.
pub(super) const ROW_BYTES: usize = size_of::<StoredRow>();
/// Bytes of a block's address.
pub(super) const BLOCK_BYTES: usize = size_of::<StoredBlock>();

/// A place in the order of entries. Without a row it is before all entries of the key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Position<'a> {
    pub(super) key: &'a [u8],
    pub(super) row: Option<RowAddress>,
}

/// A position that keeps its key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct OwnPosition {
    pub(super) key: Vec<u8>,
    pub(super) row: Option<RowAddress>,
}

impl<'a> Position<'a> {
    /// Before every entry.
    pub(super) const FIRST: Position<'static> = Position { key: &[], row: None };

    pub(super) fn to_own(self) -> OwnPosition {
        OwnPosition { key: self.key.to_vec(), row: self.row }
    }

    /// The shortest place behind `left` and not behind `right`, which are entries in order.
    pub(super) fn between(left: Position<'_>, right: Position<'a>) -> Position<'a> {
        let same = left.key.iter().zip(right.key).take_while(|(a, b)| a == b).count();
        match same < right.key.len() {
            true => Position { key: &right.key[..same + 1], row: None },
            // The keys are equal.
            false => right,
        }
    }

    /// Where the entry is looked for: in a unique index by its key alone, for the key's one entry
    /// may have another row (BT7).
    pub(super) fn looked_for(self, is_unique: bool) -> Position<'a> {
        if is_unique { Position { row: None, ..self } } else { self }
    }

    /// Reads what a fence has, or a branch entry behind its block.
    #[inline]
    pub(super) fn read(bytes: &'a [u8], with_row: bool) -> Position<'a> {
        match with_row {
            false => Position { key: bytes, row: None },
            true => Position::of_entry(bytes),
        }
    }

    /// Of a leaf entry.
    #[inline]
    pub(super) fn of_entry(bytes: &'a [u8]) -> Position<'a> {
        let (key, row) = bytes.split_at(bytes.len() - ROW_BYTES);
        Position { key, row: Some(row_from(row)) }
    }

    /// Its order to a stored place. Rows are looked at only if keys are equal.
    #[inline]
    pub(super) fn cmp_stored(&self, bytes: &[u8], with_row: bool) -> Ordering {
        let row_bytes = if with_row { ROW_BYTES } else { 0 };
        let (key, row) = bytes.split_at(bytes.len() - row_bytes);
        cmp_keys(self.key, key).then_with(|| self.row.cmp(&with_row.then(|| row_from(row))))
    }

    /// How far on in the order of keys it is, as a number: that of its first eight bytes.
    #[inline]
    pub(super) fn number(&self) -> u64 {
        first_eight(self.key)
    }

    /// As stored: the key, and the row's bytes, if there are any.
    pub(super) fn parts(self) -> (&'a [u8], [u8; ROW_BYTES], usize) {
        match self.row {
            Some(row) => (self.key, row_bytes(row), ROW_BYTES),
            None => (self.key, [0; ROW_BYTES], 0),
        }
    }

    /// Bytes that it takes as it is stored.
    pub(super) fn stored_bytes(self) -> usize {
        self.key.len() + if self.row.is_some() { ROW_BYTES } else { 0 }
    }
}

impl OwnPosition {
    pub(super) fn get(&self) -> Position<'_> {
        Position { key: &self.key, row: self.row }
    }
}

/// What is looked for: the block that covers the place at, or right before, a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Probe<'a> {
    At(Position<'a>),
    Before(Position<'a>),
    /// Behind every entry.
    Last,
}

impl Probe<'_> {
    /// How far on in the order of keys it is, as a number.
    #[inline]
    pub(super) fn number(&self) -> u64 {
        match self {
            Probe::At(at) | Probe::Before(at) => at.number(),
            Probe::Last => u64::MAX,
        }
    }

    /// Whether what begins at this place is behind what is looked for.
    #[inline]
    pub(super) fn is_left_of(&self, place: Position<'_>) -> bool {
        match self {
            Probe::At(at) => place.cmp(at) == Ordering::Greater,
            Probe::Before(at) => place.cmp(at) != Ordering::Less,
            Probe::Last => false,
        }
    }

    /// The same of a stored place.
    #[inline]
    pub(super) fn is_left_of_stored(&self, bytes: &[u8], with_row: bool) -> bool {
        match self {
            Probe::At(at) => at.cmp_stored(bytes, with_row).is_lt(),
            Probe::Before(at) => at.cmp_stored(bytes, with_row).is_le(),
            Probe::Last => false,
        }
    }
}

/// The order of two keys: most differ in their first eight bytes, which is seen without a call.
#[inline]
fn cmp_keys(a: &[u8], b: &[u8]) -> Ordering {
    match first_eight(a).cmp(&first_eight(b)) {
        Ordering::Equal => a.cmp(b),
        unequal => unequal,
    }
}

/// The first eight bytes as a number with the same order; zeros follow a key that is shorter.
#[inline]
fn first_eight(key: &[u8]) -> u64 {
    let four = |at: usize| {
        let bytes = [key[at], key[at + 1], key[at + 2], key[at + 3]];
        u64::from(u32::from_le_bytes(bytes).swap_bytes())
    };
    match (key.first_chunk::<8>(), key.len()) {
        (Some(eight), _) => u64::from_le_bytes(*eight).swap_bytes(),
        // Two halves that may have bytes in common.
        (None, length @ 4..) => four(0) << 32 | four(length - 4) << (64 - 8 * length),
        (None, _) => (0..).zip(key).map(|(at, byte)| u64::from(*byte) << (56 - 8 * at)).sum(),
    }
}

pub(super) fn row_bytes(row: RowAddress) -> [u8; ROW_BYTES] {
    let stored = stored_row(row);
    stored.bytes().try_into().expect("a row has as many bytes as its layout")
}

#[inline]
pub(super) fn row_from(bytes: &[u8]) -> RowAddress {
    row_of(*StoredRow::at(bytes, 0))
}

pub(super) fn block_bytes(block: Dba) -> [u8; BLOCK_BYTES] {
    let stored = StoredBlock::new(block);
    stored.bytes().try_into().expect("a block has as many bytes as its layout")
}

#[inline]
pub(super) fn block_from(bytes: &[u8]) -> Dba {
    StoredBlock::at(bytes, 0).get()
}

/// A row as it is stored.
pub(super) fn stored_row(row: RowAddress) -> StoredRow {
    StoredRow { block: StoredBlock::new(row.block), slot: U16Le::new(row.slot) }
}

/// The row that is stored.
#[inline]
pub(super) fn row_of(stored: StoredRow) -> RowAddress {
    RowAddress { block: stored.block.get(), slot: stored.slot.get() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry() -> impl Strategy<Value = (Vec<u8>, RowAddress)> {
        let row = (0..3_u16, 0..3_u32, 0..3_u16);
        let row = row.prop_map(|(f, b, slot)| RowAddress { block: Dba::new(f, b), slot });
        (proptest::collection::vec(0..3_u8, 0..5), row)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn a_separator_lies_between_its_entries(a in entry(), b in entry()) {
            prop_assume!(a != b);
            let (left, right) = if a < b { (&a, &b) } else { (&b, &a) };
            let left = Position { key: &left.0, row: Some(left.1) };
            let right = Position { key: &right.0, row: Some(right.1) };
            let between = Position::between(left, right);
            prop_assert!(left < between && between <= right);
        }

        #[test]
        fn keys_are_in_the_order_of_their_bytes(
            a in proptest::collection::vec(0..3_u8, 0..11),
            b in proptest::collection::vec(0..3_u8, 0..11),
        ) {
            prop_assert_eq!(cmp_keys(&a, &b), a.cmp(&b));
        }

        #[test]
        fn rows_come_back_from_their_bytes(file: u16, block: u32, slot: u16) {
            let row = RowAddress { block: Dba::new(file, block), slot };
            prop_assert_eq!(row_from(&row_bytes(row)), row);
        }
    }
}
