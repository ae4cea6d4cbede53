//! The size of the blocks of a file.
//!
//! Invariants
//!   * only the five sizes exist, so a `BlockSize` is always valid
//!   * every size is a whole number of 512-byte sectors
//!
//! Sources: the values that Oracle takes for `db_block_size`.

use std::fmt;

/// The size of a block.
///
/// Unit: bytes. Range: 2, 4, 8, 16 or 32 KiB. Source: `db_block_size`, fixed when the file is
/// created.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockSize(usize);

impl BlockSize {
    /// 2 KiB.
    pub const KIB_2: BlockSize = BlockSize(2 << 10);
    /// 4 KiB.
    pub const KIB_4: BlockSize = BlockSize(4 << 10);
    /// 8 KiB.
    pub const KIB_8: BlockSize = BlockSize(8 << 10);
    /// 16 KiB.
    pub const KIB_16: BlockSize = BlockSize(16 << 10);
    /// 32 KiB.
    pub const KIB_32: BlockSize = BlockSize(32 << 10);

    /// All block sizes, the smallest first.
    pub const ALL: [BlockSize; 5] =
        [Self::KIB_2, Self::KIB_4, Self::KIB_8, Self::KIB_16, Self::KIB_32];

    /// The size of this many bytes, or none if no block has this size.
    pub fn new(bytes: usize) -> Option<BlockSize> {
        Self::ALL.into_iter().find(|size| size.0 == bytes)
    }

    /// The number of bytes in a block of this size.
    pub const fn bytes(self) -> usize {
        self.0
    }
}

impl fmt::Display for BlockSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} KiB", self.0 >> 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_five_sizes_and_no_other() {
        let sizes: Vec<usize> =
            (0..=70_000).filter_map(BlockSize::new).map(BlockSize::bytes).collect();
        assert_eq!(sizes, [2_048, 4_096, 8_192, 16_384, 32_768]);
        assert_eq!(BlockSize::new(usize::MAX), None);
    }

    #[test]
    fn a_size_is_written_in_kib() {
        let written = BlockSize::ALL.map(|size| size.to_string());
        assert_eq!(written, ["2 KiB", "4 KiB", "8 KiB", "16 KiB", "32 KiB"]);
    }
}
