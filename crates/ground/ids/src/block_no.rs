//! The number of a block within its file.
//!
//! Sources: Oracle's `block#`, as in `v$bh` and in the parameters of wait events, in decimal.

use std::fmt;

use crate::BlockSize;

/// A block within one file, counted from the file's first, which is 0.
///
/// Unit: blocks of the file's block size. Range: all of `u32`, so a file of 8 KiB blocks ends
/// at 32 TiB. Source: position in the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockNo(u32);

impl BlockNo {
    /// The block with this number.
    pub const fn new(number: u32) -> BlockNo {
        BlockNo(number)
    }

    /// The number, for storing and showing; not for arithmetic.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The offset of this block in a file of blocks of this size, in bytes from the file's start.
    pub const fn byte_offset(self, size: BlockSize) -> u64 {
        // Widening, so nothing is lost: at most (2^32 - 1) * 2^15.
        self.0 as u64 * size.bytes() as u64
    }
}

impl fmt::Display for BlockNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_lie_side_by_side_from_the_start_of_the_file() {
        for size in BlockSize::ALL {
            assert_eq!(BlockNo::new(0).byte_offset(size), 0);
            let end_of_8 = BlockNo::new(8).byte_offset(size) + size.bytes() as u64;
            assert_eq!(BlockNo::new(9).byte_offset(size), end_of_8);
        }
    }

    #[test]
    fn the_last_block_of_the_largest_file_has_an_offset() {
        let offset = BlockNo::new(u32::MAX).byte_offset(BlockSize::KIB_32);
        assert_eq!(offset, (1 << 47) - (1 << 15));
    }

    #[test]
    fn a_block_is_written_as_its_decimal_number() {
        assert_eq!(BlockNo::new(17).to_string(), "17");
    }
}
