//! The positions of the pieces of files on a modelled disk.

use std::collections::BTreeMap;

/// Files are laid out in pieces of this size, in the order in which they are first touched.
const EXTENT_BYTES: u64 = 64 << 20;

/// Gives every piece of every file a position of its own. Files are told apart by a number.
#[derive(Debug)]
pub(crate) struct Layout {
    capacity_bytes: u64,
    extents: BTreeMap<(u64, u64), u64>,
}

impl Layout {
    pub(crate) fn new(capacity_bytes: u64) -> Layout {
        Layout { capacity_bytes, extents: BTreeMap::new() }
    }

    /// The disk address of `length` bytes at `offset` of `file`. A request that reaches into the
    /// next piece is taken as contiguous; beyond the disk's end it starts over. A request larger
    /// than the disk begins at its start.
    pub(crate) fn address(&mut self, file: u64, offset: u64, length: u64) -> u64 {
        let next = self.extents.len() as u64;
        let extent = *self.extents.entry((file, offset / EXTENT_BYTES)).or_insert(next);
        let last = self.capacity_bytes.saturating_sub(length);
        (extent * EXTENT_BYTES % self.capacity_bytes + offset % EXTENT_BYTES).min(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Neighbours in a file are neighbours on the disk; two files don't overlap.
    #[test]
    fn files_are_contiguous_and_apart() {
        let mut layout = Layout::new(1 << 40);
        let first = layout.address(1, 0, 8192);
        assert_eq!(layout.address(1, 8192, 8192), first + 8192);
        assert!(layout.address(2, 0, 8192) >= first + EXTENT_BYTES);
        assert_eq!(layout.address(1, 0, 8192), first);
    }
}
