//! Ranges of keys: all that begin with the same columns, or with the same text.
//!
//! ```text
//!   key(a)           ≤ keys of a, whatever follows <   successor(key(a))
//! ```
//!
//! Invariants
//!   * the successor of whole columns exists: no column's first byte is 0xff (VA7)
//!   * what an index appends behind its columns (a row's address, say) doesn't leave the range
//!
//! Callers: index scans.

use super::{Direction, NullsPlace, encode_key, invert, push_text};
use crate::Value;

/// The keys from `lower` (with it) to `upper` (without it).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyRange {
    /// The lowest key there can be.
    pub lower: Vec<u8>,
    /// Above all of them; none if nothing is.
    pub upper: Option<Vec<u8>>,
}

impl KeyRange {
    /// Whether a key is in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.lower.as_slice() <= key && self.upper.as_ref().is_none_or(|upper| key < upper)
    }

    fn beginning_with(lower: Vec<u8>) -> KeyRange {
        let mut upper = lower.clone();
        let upper = key_successor(&mut upper).then_some(upper);
        KeyRange { lower, upper }
    }

    /// The keys that begin with these columns and then have a text that begins with `text`.
    pub fn of_text(
        columns: &[(Value<'_>, Direction, NullsPlace)],
        text: &str,
        direction: Direction,
    ) -> KeyRange {
        let mut lower = Vec::new();
        encode_key(columns, &mut lower);
        let start = lower.len();
        push_text(text, &mut lower);
        if direction == Direction::Descending {
            invert(&mut lower[start..]);
        }
        if text.is_empty() {
            return KeyRange::of_texts(lower);
        }
        KeyRange::beginning_with(lower)
    }

    /// Every text behind these columns: NULL begins with nothing.
    fn of_texts(columns: Vec<u8>) -> KeyRange {
        let (mut lower, mut upper) = (columns.clone(), columns);
        // Ascending or descending, a text's first byte lies between these two.
        lower.push(super::NULL_FIRST + 1);
        upper.push(super::NULL_LAST);
        KeyRange { lower, upper: Some(upper) }
    }
}

/// The keys that begin with these columns; all keys, if there are none.
pub fn key_prefix(columns: &[(Value<'_>, Direction, NullsPlace)]) -> KeyRange {
    let mut lower = Vec::new();
    encode_key(columns, &mut lower);
    KeyRange::beginning_with(lower)
}

/// Makes of some bytes the lowest that are above all that begin with them. False, and they are
/// empty, if nothing is: they were all 0xff, or none.
pub fn key_successor(bytes: &mut Vec<u8>) -> bool {
    while let Some(last) = bytes.last_mut() {
        if *last < u8::MAX {
            *last += 1;
            return true;
        }
        bytes.pop();
    }
    false
}
