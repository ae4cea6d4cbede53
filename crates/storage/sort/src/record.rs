//! A row as it lies in a chunk and in a block: lengths, key, payload.
//!
//! Callers: `chunk`, `run_reader`, `run_writer`, `merge`, `sorted`.

use format::{SORT_BLOCK, SortRecord};
use os::Session;
use waits::Nanos;

/// The cost of one comparison in the simulator. Random keys of 16 bytes took 215 ns of CPU a row,
/// in 24 comparisons; copies and checksums are charged apart (docs/log/sort.md).
const COMPARISON: Nanos = Nanos(8);

/// Bytes of the record of this key and payload.
pub(crate) fn length_of(key: &[u8], payload: &[u8]) -> usize {
    SortRecord::BYTES + key.len() + payload.len()
}

/// Writes a record at the start of `room`, which is long enough.
pub(crate) fn put(room: &mut [u8], key: &[u8], payload: &[u8]) {
    let head = SortRecord::at_mut(room, 0);
    head.key_bytes.set(key.len() as u16);
    head.payload_bytes.set(payload.len() as u16);
    let body = &mut room[SortRecord::BYTES..];
    body[..key.len()].copy_from_slice(key);
    body[key.len()..][..payload.len()].copy_from_slice(payload);
}

/// The length of the record that begins here, if all of it lies in `bytes`.
pub(crate) fn whole(bytes: &[u8]) -> Option<usize> {
    if bytes.len() < SortRecord::BYTES {
        return None;
    }
    let head = SortRecord::at(bytes, 0);
    let body = usize::from(head.key_bytes.get()) + usize::from(head.payload_bytes.get());
    Some(SortRecord::BYTES + body).filter(|length| *length <= bytes.len())
}

/// The key of the record that begins here.
#[inline]
pub(crate) fn key(bytes: &[u8]) -> &[u8] {
    let key_bytes = usize::from(SortRecord::at(bytes, 0).key_bytes.get());
    &bytes[SortRecord::BYTES..][..key_bytes]
}

/// The key and the payload of the record that is all of `bytes`.
pub(crate) fn split(bytes: &[u8]) -> (&[u8], &[u8]) {
    let key_bytes = usize::from(SortRecord::at(bytes, 0).key_bytes.get());
    bytes[SortRecord::BYTES..].split_at(key_bytes)
}

/// The first bytes of a key as a number. Of two keys with different numbers, the key with the lower
/// one comes first. A shorter key is padded with zeros, so equal numbers say nothing.
#[inline]
pub(crate) fn prefix(key: &[u8]) -> u64 {
    let first = match key.first_chunk() {
        Some(first) => *first,
        None => {
            let mut first = [0; 8];
            first[..key.len()].copy_from_slice(key);
            first
        }
    };
    u64::from_le_bytes(first).swap_bytes()
}

/// How often a row is compared when it is put in its place among this number of rows or sources.
pub(crate) fn levels(among: usize) -> u64 {
    u64::from(usize::BITS - among.leading_zeros())
}

/// Charges this number of comparisons.
pub(crate) fn charge(comparisons: u64, session: &Session) {
    session.charge_nanos(Nanos(COMPARISON.0 * comparisons));
}

/// The size of a block in KiB, for charging.
pub(crate) const BLOCK_KIB: u64 = SORT_BLOCK.bytes() as u64 >> 10;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        /// Prefixes never contradict the keys.
        #[test]
        fn prefixes_are_in_the_order_of_their_keys(
            a in prop::collection::vec(0..3_u8, 0..12),
            b in prop::collection::vec(0..3_u8, 0..12),
        ) {
            if prefix(&a) != prefix(&b) {
                prop_assert_eq!(prefix(&a).cmp(&prefix(&b)), a.cmp(&b));
            }
        }
    }

    #[test]
    fn a_record_is_whole_or_not_there() {
        let mut room = [0; 16];
        put(&mut room, b"key", b"");
        assert_eq!(whole(&room), Some(7));
        assert_eq!(whole(&room[..7]), Some(7));
        assert_eq!((whole(&room[..6]), whole(&room[..3]), whole(&[])), (None, None, None));
        assert_eq!(split(&room[..7]), (b"key".as_slice(), b"".as_slice()));
    }
}
