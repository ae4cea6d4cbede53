//! The redo byte address: where in the redo a record begins.
//!
//!   log sequence ─▶ which log, counted from the database's first
//!   redo block   ─▶ which block of that log
//!   offset       ─▶ which byte of that block
//!
//! Invariants
//!   * addresses are ordered by sequence, then block, then offset: the order in which redo was
//!     written (the derived order follows the order of the fields)
//!
//! Sources: Oracle's redo dumps, from which the notation `0xSSSSSS.BBBBBBBB.OOOO` (hexadecimal)
//! is taken.

use std::fmt;

/// A place in the redo. A checkpoint at an address says that every change below it is on disk.
///
/// Units and ranges: see the fields. Source: assigned by the redo log when a record gets its
/// place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rba {
    /// Log sequence number: goes up by one at every log switch. Range: all of `u32`.
    pub sequence: u32,
    /// Redo block within the log, in redo blocks from its start. Range: all of `u32`.
    pub block: u32,
    /// Byte within the redo block. Range: below the size of a redo block.
    pub offset: u16,
}

impl Rba {
    /// The beginning of this redo block.
    pub const fn block(sequence: u32, block: u32) -> Rba {
        Rba { sequence, block, offset: 0 }
    }

    /// The sequence and the block in one word, in the same order as addresses. The byte is left
    /// out.
    pub const fn pack_block(self) -> u64 {
        (self.sequence as u64) << 32 | self.block as u64
    }

    /// The beginning of the redo block with this packed address.
    pub const fn unpack_block(packed: u64) -> Rba {
        Rba::block((packed >> 32) as u32, packed as u32)
    }
}

impl fmt::Display for Rba {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:06x}.{:08x}.{:04x}", self.sequence, self.block, self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rba(sequence: u32, block: u32, offset: u16) -> Rba {
        Rba { sequence, block, offset }
    }

    #[test]
    fn an_address_is_written_as_in_a_redo_dump() {
        assert_eq!(rba(0x32, 3, 0x10).to_string(), "0x000032.00000003.0010");
    }

    #[test]
    fn a_later_log_is_later_whatever_the_block_and_offset() {
        assert!(rba(1, u32::MAX, u16::MAX) < rba(2, 0, 0));
        assert!(rba(1, 1, u16::MAX) < rba(1, 2, 0));
        assert!(rba(1, 1, 1) < rba(1, 1, 2));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        /// The ranges are small, so that equal fields are common and each field gets to decide.
        #[test]
        fn addresses_are_ordered_as_the_numbers_side_by_side(
            a in (0..3u32, 0..3u32, 0..3u16),
            b in (0..3u32, 0..3u32, 0..3u16),
        ) {
            let side_by_side = |(sequence, block, offset): (u32, u32, u16)| {
                u128::from(sequence) << 48 | u128::from(block) << 16 | u128::from(offset)
            };
            prop_assert_eq!(
                rba(a.0, a.1, a.2).cmp(&rba(b.0, b.1, b.2)),
                side_by_side(a).cmp(&side_by_side(b))
            );
        }
    }
}
