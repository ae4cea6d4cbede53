//! Positions in the order of an index's entries, and how keys, rows and blocks are stored in it.
//!
//! ```text
//!   leaf entry:    key │ row (8)                fence:    key │ row, if the position has one
//!   branch entry:  block (6) │ key │ row, if the position has one
//! ```
//!
//! An entry is a key and a row; entries are in order by both. A [`Position`] lies between entries:
//! before the first entry with its key, or before the entry with its key and row. Separators and
//! fences are positions, as short as they can be.
//!
//! Callers: this module's files.

use std::cmp::Ordering;

use format::U16Le;
use format::changes::index::{StoredBlock, StoredRow};
use ids::Dba;

use crate::RowAddress;

/// How many bytes a row's address has.
pub(super) const ROW_BYTES: usize = size_of::<StoredRow>();
/// How many bytes a block's address has.
pub(super) const BLOCK_BYTES: usize = size_of::<StoredBlock>();

/// A position in the order of entries. Without a row it is before all entries of the key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Position<'a> {
    pub(super) key: &'a [u8],
    pub(super) row: Option<RowAddress>,
}

/// A position that owns its key.
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

    /// The shortest position behind `left` and not behind `right`, which are entries in order.
    pub(super) fn between(left: Position<'_>, right: Position<'a>) -> Position<'a> {
        let same = left.key.iter().zip(right.key).take_while(|(a, b)| a == b).count();
        match same < right.key.len() {
            true => Position { key: &right.key[..same + 1], row: None },
            // The keys are equal.
            false => right,
        }
    }

    /// The position at which the entry is looked for: in a unique index that of its key alone, for
    /// the key's one entry may have another row (BT7).
    pub(super) fn looked_for(self, is_unique: bool) -> Position<'a> {
        if is_unique { Position { row: None, ..self } } else { self }
    }

    /// Reads a fence, or a branch entry without its block.
    #[inline]
    pub(super) fn read(bytes: &'a [u8], with_row: bool) -> Position<'a> {
        match with_row {
            false => Position { key: bytes, row: None },
            true => Position::of_entry(bytes),
        }
    }

    /// Reads a leaf entry.
    #[inline]
    pub(super) fn of_entry(bytes: &'a [u8]) -> Position<'a> {
        let (key, row) = bytes.split_at(bytes.len() - ROW_BYTES);
        Position { key, row: Some(row_from(row)) }
    }

    /// Compares it with a stored position. Rows are compared only if the keys are equal.
    #[inline]
    pub(super) fn cmp_stored(&self, bytes: &[u8], with_row: bool) -> Ordering {
        let row_bytes = if with_row { ROW_BYTES } else { 0 };
        let (key, row) = bytes.split_at(bytes.len() - row_bytes);
        cmp_keys(self.key, key).then_with(|| self.row.cmp(&with_row.then(|| row_from(row))))
    }

    /// A number with the order of keys: the key's first eight bytes.
    #[inline]
    pub(super) fn number(&self) -> u64 {
        first_eight(self.key)
    }

    /// Whether its number says all: no position with the same number is before it.
    pub(super) fn is_number(&self) -> bool {
        // The number doesn't tell zeros at the end of a key from none.
        self.key.len() <= 8 && self.key.last() != Some(&0) && self.row.is_none()
    }

    /// The position as it is stored.
    pub(super) fn parts(self) -> Parts<'a> {
        Parts { key: self.key, row: self.row.map(row_bytes) }
    }

    /// How many bytes it takes as it is stored.
    pub(super) fn stored_bytes(self) -> usize {
        self.key.len() + if self.row.is_some() { ROW_BYTES } else { 0 }
    }
}

impl OwnPosition {
    pub(super) fn get(&self) -> Position<'_> {
        Position { key: &self.key, row: self.row }
    }
}

/// The parts of a stored position.
pub(super) struct Parts<'a> {
    pub(super) key: &'a [u8],
    row: Option<[u8; ROW_BYTES]>,
}

impl Parts<'_> {
    /// The bytes of the row; empty if the position has none.
    pub(super) fn row(&self) -> &[u8] {
        self.row.as_ref().map_or(&[], |row| &row[..])
    }
}

/// What a descent looks for: the block that covers a position, or what is right before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Probe<'a> {
    /// The block that covers the position.
    At(Position<'a>),
    /// The block that covers what is right before the position.
    Before(Position<'a>),
    /// The last block.
    Last,
}

impl Probe<'_> {
    /// A number with the order of keys.
    #[inline]
    pub(super) fn number(&self) -> u64 {
        match self {
            Probe::At(at) | Probe::Before(at) => at.number(),
            Probe::Last => u64::MAX,
        }
    }

    /// Whether a block that begins at this position is behind what is looked for.
    #[inline]
    pub(super) fn is_left_of(&self, low: Position<'_>) -> bool {
        match self {
            Probe::At(at) => low.cmp(at) == Ordering::Greater,
            Probe::Before(at) => low.cmp(at) != Ordering::Less,
            Probe::Last => false,
        }
    }

    /// As `is_left_of`, for a stored position.
    #[inline]
    pub(super) fn is_left_of_stored(&self, bytes: &[u8], with_row: bool) -> bool {
        match self {
            Probe::At(at) => at.cmp_stored(bytes, with_row).is_lt(),
            Probe::Before(at) => at.cmp_stored(bytes, with_row).is_le(),
            Probe::Last => false,
        }
    }
}

/// Compares two keys. Most differ in their first eight bytes, or have no more: these are compared
/// without a call.
#[inline]
fn cmp_keys(a: &[u8], b: &[u8]) -> Ordering {
    match first_eight(a).cmp(&first_eight(b)) {
        // One is the other, or that with zeros behind it.
        Ordering::Equal if a.len().max(b.len()) <= 8 => a.len().cmp(&b.len()),
        Ordering::Equal => a.cmp(b),
        unequal => unequal,
    }
}

/// The first eight bytes of a key as a number with the order of keys.
pub(super) fn number_of(key: &[u8]) -> u64 {
    first_eight(key)
}

/// The first eight bytes as a number with the same order; a shorter key is padded with zeros.
#[inline]
fn first_eight(key: &[u8]) -> u64 {
    let four = |at: usize| {
        let bytes = [key[at], key[at + 1], key[at + 2], key[at + 3]];
        u64::from(u32::from_le_bytes(bytes).swap_bytes())
    };
    match (key.first_chunk::<8>(), key.len()) {
        (Some(eight), _) => u64::from_le_bytes(*eight).swap_bytes(),
        // The two halves may overlap.
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

/// The row from its stored form.
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
