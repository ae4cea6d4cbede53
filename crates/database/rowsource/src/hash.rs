//! The hash of a row's columns, and the equality that goes with it.
//!
//! ```text
//!   63 ────────────── 32 31 ────────────── 0
//!    which partition,      which bucket of a
//!    level after level     table in memory
//! ```
//!
//! Invariants
//!   * equal columns have equal hashes, whatever their kinds (rule RS8)
//!   * the same rows have the same hashes in every run
//!
//! Callers: `table`, `groups`, `partitions`, joins, groups.
//! Sources: wyhash, for folding a product of 128 bits.

use std::cmp::Ordering;
use std::hash::Hasher;

use expression::RowOf;
use value::Value;

use crate::JoinKey;

/// Numbers with as many ones as zeros, and no pattern.
const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
const SECOND: u64 = 0xd6e8_feb8_6659_fd93;

/// Hashes the values of one row.
struct RowHasher(u64);

impl RowHasher {
    fn new() -> RowHasher {
        RowHasher(FIRST)
    }

    #[inline]
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(SECOND);
        self.0 = (product as u64) ^ ((product >> 64) as u64) ^ FIRST.rotate_left(32);
    }
}

impl Hasher for RowHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.mix(u64::from_le_bytes(word.try_into().expect("eight bytes")));
        }
        let rest = words.remainder();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        // With the length, so that zeros at the end count.
        self.mix(u64::from_le_bytes(last) ^ ((bytes.len() as u64) << 56));
    }

    #[inline]
    fn write_u8(&mut self, byte: u8) {
        self.mix(u64::from(byte));
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }

    #[inline]
    fn write_i64(&mut self, word: i64) {
        self.mix(word as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        let product = u128::from(self.0) * u128::from(FIRST);
        (product as u64) ^ ((product >> 64) as u64)
    }
}

/// A column by which rows of one input are joined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyColumn {
    pub(crate) column: usize,
    /// Whether trailing blanks don't count.
    pub(crate) as_char: bool,
}

impl KeyColumn {
    /// The key columns of the left and of the right input.
    pub(crate) fn of_both(keys: &[JoinKey]) -> [Vec<KeyColumn>; 2] {
        let of = |column: fn(&JoinKey) -> usize| {
            let key = |key: &JoinKey| KeyColumn { column: column(key), as_char: key.as_char };
            keys.iter().map(key).collect()
        };
        [of(|key| key.left), of(|key| key.right)]
    }

    /// The value of the column, as it is compared.
    #[inline]
    pub(crate) fn of<'r>(&self, row: RowOf<'r>) -> Value<'r> {
        match row.get(self.column) {
            Value::Text(text) if self.as_char => Value::Text(text.trim_end_matches(' ')),
            value => value,
        }
    }
}

/// The hash of a row's keys in a join; none if one is NULL, which equals nothing.
#[inline]
pub(crate) fn join_hash(row: RowOf<'_>, keys: &[KeyColumn]) -> Option<u64> {
    let mut hasher = RowHasher::new();
    for key in keys {
        let value = key.of(row);
        if value.is_null() {
            return None;
        }
        value.hash_into(&mut hasher);
    }
    Some(hasher.finish())
}

/// Whether the keys of two rows are equal in a join. Neither row has a NULL among them.
#[inline]
pub(crate) fn join_equal(
    one: RowOf<'_>,
    keys: &[KeyColumn],
    other: RowOf<'_>,
    other_keys: &[KeyColumn],
) -> bool {
    keys.iter().zip(other_keys).all(|(key, other_key)| {
        let order = key.of(one).compare(other_key.of(other));
        order == Some(Ordering::Equal)
    })
}

/// The hash of these columns of a row in a group, where NULL equals NULL.
#[inline]
pub(crate) fn group_hash(row: RowOf<'_>, columns: &[usize]) -> u64 {
    let mut hasher = RowHasher::new();
    for column in columns {
        row.get(*column).hash_into(&mut hasher);
    }
    hasher.finish()
}

/// Whether a row's columns are equal to those of a group, which are a whole row. NULL equals NULL.
#[inline]
pub(crate) fn group_equal(row: RowOf<'_>, columns: &[usize], group: RowOf<'_>) -> bool {
    // The equality of `Value` is that of SQL, but for NULLs (rule value/VA9).
    columns.iter().enumerate().all(|(place, column)| row.get(*column) == group.get(place))
}

#[cfg(test)]
mod tests {
    use expression::Rows;

    use super::*;

    fn keys(as_char: bool) -> Vec<KeyColumn> {
        vec![KeyColumn { column: 0, as_char }]
    }

    /// The hashes of many neighbouring numbers fall evenly into buckets by their low bits, and into
    /// partitions by their high ones.
    #[test]
    fn neighbours_spread() {
        let mut rows = Rows::new(1);
        for number in 0..4_096 {
            rows.push([Value::Int(number)]);
        }
        let (mut low, mut high) = ([0; 64], [0; 64]);
        for row in rows.iter() {
            let hash = group_hash(row, &[0]);
            low[(hash & 63) as usize] += 1;
            high[(hash >> 58) as usize] += 1;
        }
        for count in low.into_iter().chain(high) {
            assert!((24..=120).contains(&count), "{low:?} {high:?}");
        }
    }

    #[test]
    fn equal_keys_have_one_hash_and_a_null_has_none_in_a_join() {
        let mut rows = Rows::new(1);
        let values = [
            Value::Int(1),
            Value::Number(1.into()),
            Value::Double(1.0),
            Value::Text("a"),
            Value::Text("a  "),
            Value::Null,
            Value::Double(0.0),
            Value::Double(-0.0),
        ];
        for value in values {
            rows.push([value]);
        }
        let hash = |row: usize, as_char| join_hash(rows.row(row), &keys(as_char));
        assert_eq!((hash(0, false), hash(0, false)), (hash(1, false), hash(2, false)));
        assert_eq!((hash(3, true), hash(6, false)), (hash(4, true), hash(7, false)));
        assert_ne!(hash(3, false), hash(4, false));
        assert_eq!(hash(5, false), None);
        let equal = |a: usize, b: usize, as_char| {
            join_equal(rows.row(a), &keys(as_char), rows.row(b), &keys(as_char))
        };
        assert!(equal(0, 2, false) && equal(3, 4, true) && equal(6, 7, false));
        assert!(!equal(3, 4, false) && !equal(5, 5, false) && !equal(0, 3, false));
        assert!(group_equal(rows.row(5), &[0], rows.row(5)), "a group of NULLs is one");
    }

    #[test]
    fn texts_differ_by_their_ends_and_lengths() {
        let mut rows = Rows::new(2);
        let pairs = [["a", "b"], ["ab", ""], ["", "ab"], ["a\0", "b"], ["a", "\0b"]];
        for pair in pairs.into_iter().chain([["12345678", ""], ["1234567", "8"]]) {
            rows.push(pair.map(Value::Text));
        }
        let mut hashes: Vec<u64> = rows.iter().map(|row| group_hash(row, &[0, 1])).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), rows.len());
    }
}
