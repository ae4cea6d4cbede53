//! Ranges of keys, such as all keys that begin with the same columns.
//!
//! ```text
//!   key(a)           ≤ keys of a, whatever follows <   successor(key(a))
//! ```
//!
//! Invariants
//!   * the successor of whole columns exists: no column's first byte is 0xff (VA7)
//!   * bytes that an index appends behind its columns (such as a row address) don't leave the range
//!
//! Callers: index scans.

/// The keys from `lower` (inclusive) to `upper` (exclusive).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyRange {
    /// The lowest key of the range.
    pub lower: Vec<u8>,
    /// The first key above the range; none if the range has no upper end.
    pub upper: Option<Vec<u8>>,
}

/// Replaces `bytes` by the lowest key above all keys that begin with them. Returns false, and
/// leaves `bytes` empty, if there is none because they were empty or all 0xff.
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
