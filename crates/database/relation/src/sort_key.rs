//! How the entries of an index are sorted: a key with the address of its row behind it, so that
//! entries of equal keys come in the order of their rows.
//!
//! Callers: the catalog, which builds indexes; `load`.

use access::RowAddress;
use ids::Dba;

/// The bytes of an address behind a key.
const ADDRESS_BYTES: usize = 8;

/// An address as bytes whose order is that of addresses.
#[expect(clippy::big_endian_bytes, reason = "bytes in order have the highest first")]
pub fn ordered_bytes(row: RowAddress) -> [u8; ADDRESS_BYTES] {
    let mut bytes = [0; ADDRESS_BYTES];
    bytes[..2].copy_from_slice(&row.block.file.get().to_be_bytes());
    bytes[2..6].copy_from_slice(&row.block.block.get().to_be_bytes());
    bytes[6..].copy_from_slice(&row.slot.to_be_bytes());
    bytes
}

/// Splits bytes that were sorted into a key and the address behind it.
#[expect(clippy::big_endian_bytes, reason = "bytes in order have the highest first")]
pub fn split_sorted(bytes: &[u8]) -> (&[u8], RowAddress) {
    let (key, address) = bytes.split_last_chunk().expect("each key has an address behind it");
    let [f, g, a, b, c, d, s, t]: [u8; ADDRESS_BYTES] = *address;
    let block = Dba::new(u16::from_be_bytes([f, g]), u32::from_be_bytes([a, b, c, d]));
    (key, RowAddress { block, slot: u16::from_be_bytes([s, t]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_in_the_order_of_their_bytes() {
        let row = |file, block, slot| RowAddress { block: Dba::new(file, block), slot };
        let rising =
            [row(1, 2, 300), row(1, 300, 2), row(1, 70_000, 0), row(2, 0, 0), row(300, 1, 1)];
        for pair in rising.windows(2) {
            assert!(ordered_bytes(pair[0]) < ordered_bytes(pair[1]));
        }
        for row in rising {
            let bytes = [&b"key"[..], &ordered_bytes(row)].concat();
            assert_eq!(split_sorted(&bytes), (&b"key"[..], row));
        }
    }
}
