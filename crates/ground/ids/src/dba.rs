//! The data block address: which block of the whole database.
//!
//! Packed into 64 bits, so that it fits one word of memory:
//!
//! ```text
//!      63        48 47        32 31                     0
//!     ┌────────────┬────────────┬────────────────────────┐
//!     │    zero    │    file    │         block          │
//!     └────────────┴────────────┴────────────────────────┘
//! ```
//!
//! Invariants
//!   * addresses and their packed forms have the same order: by file, then by block
//!   * a word whose upper 16 bits are not zero is not an address
//!
//! Sources: Oracle's DBA, wider than its 32 bits so that no file number is relative. The notation
//! `file/block` is that of the block dumps.

use std::fmt;

use crate::{BlockNo, FileNo};

/// A block of the database: its file, and its position in the file.
///
/// Units and ranges: those of [`FileNo`] and [`BlockNo`]. Source: where the block lies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Dba {
    /// The file.
    pub file: FileNo,
    /// The block within the file.
    pub block: BlockNo,
}

impl Dba {
    /// The block with this number in the file with that number.
    pub const fn new(file: u16, block: u32) -> Dba {
        Dba { file: FileNo::new(file), block: BlockNo::new(block) }
    }

    /// This address in one word.
    pub const fn pack(self) -> u64 {
        (self.file.get() as u64) << 32 | self.block.get() as u64
    }

    /// The address in this word, or none if the word holds something else.
    pub const fn unpack(packed: u64) -> Option<Dba> {
        if packed >> 48 != 0 {
            return None;
        }
        Some(Dba::new((packed >> 32) as u16, packed as u32))
    }
}

impl fmt::Display for Dba {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.file, self.block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_address_is_written_file_then_block() {
        assert_eq!(Dba::new(3, 17).to_string(), "3/17");
    }

    #[test]
    fn the_packed_form_is_as_drawn() {
        assert_eq!(Dba::new(0x1234, 0x89ab_cdef).pack(), 0x0000_1234_89ab_cdef);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn packing_loses_nothing(file in any::<u16>(), block in any::<u32>()) {
            let address = Dba::new(file, block);
            prop_assert_eq!(Dba::unpack(address.pack()), Some(address));
        }

        #[test]
        fn a_word_is_an_address_exactly_if_its_upper_16_bits_are_zero(
            low in 0..1u64 << 48,
            high in 1..=u64::from(u16::MAX),
        ) {
            prop_assert_eq!(Dba::unpack(low).map(Dba::pack), Some(low));
            prop_assert_eq!(Dba::unpack(high << 48 | low), None);
        }

        /// The ranges are partly small, so that equal files are common.
        #[test]
        fn packing_keeps_the_order(
            a in (prop_oneof![0..3u16, any::<u16>()], prop_oneof![0..3u32, any::<u32>()]),
            b in (prop_oneof![0..3u16, any::<u16>()], prop_oneof![0..3u32, any::<u32>()]),
        ) {
            let by_parts = a.cmp(&b);
            let (a, b) = (Dba::new(a.0, a.1), Dba::new(b.0, b.1));
            prop_assert_eq!(a.cmp(&b), by_parts);
            prop_assert_eq!(a.pack().cmp(&b.pack()), by_parts);
        }
    }
}
