//! The checksum of a block: CRC32C (Castagnoli) over all its bytes, with its own four bytes taken
//! as zero.
//!
//! It detects every change of up to 32 neighbouring bits, and any other damage with a probability
//! of 1 - 2^-32. The processor computes it where it has the instruction.
//!
//! Callers: `block`.

use std::mem::offset_of;

use crc_fast::{CrcAlgorithm, Digest};

use crate::BlockHeader;

const AT: usize = offset_of!(BlockHeader, checksum);
const ZERO: [u8; 4] = [0; 4];

/// The checksum that this block should carry, computed around the stored one without a copy.
pub(crate) fn of_block(block: &[u8]) -> u32 {
    let mut checksum = Digest::new(CrcAlgorithm::Crc32Iscsi);
    checksum.update(&block[..AT]);
    checksum.update(&ZERO);
    checksum.update(&block[AT + ZERO.len()..]);
    checksum.finalize() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, bit by bit.
    fn crc32c_by_definition(bytes: &[u8]) -> u32 {
        let mut remainder = !0_u32;
        for byte in bytes {
            remainder ^= u32::from(*byte);
            for _ in 0..8 {
                let carry = if remainder & 1 == 1 { 0x82f6_3b78 } else { 0 };
                remainder = (remainder >> 1) ^ carry;
            }
        }
        !remainder
    }

    #[test]
    fn the_checksum_is_the_crc32c_of_the_block_with_the_field_as_zero() {
        // The check value from the catalogue of CRCs.
        assert_eq!(crc32c_by_definition(b"123456789"), 0xe306_9283);

        let block: Vec<u8> = (0..2_048_u32).map(|at| (at % 251) as u8).collect();
        let mut zeroed = block.clone();
        zeroed[AT..AT + 4].fill(0);
        assert_ne!(block, zeroed);
        assert_eq!(of_block(&block), crc32c_by_definition(&zeroed));
    }
}
