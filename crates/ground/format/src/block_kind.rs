//! The kinds of blocks. The kind is checked second, after the checksum.
//!
//! Invariants (F8)
//!   * kind 0 is not in the list, so an unwritten block is not a block
//!   * a number is never given to another kind, even when its kind is no longer used
//!
//! Callers: `block_header`; the document lists the kinds from here.

use std::fmt;

/// Declares the kinds; the sentences are the doc comments.
macro_rules! block_kinds {
    ($($(#[doc = $about:literal])+ $kind:ident = $number:literal, $name:literal;)+) => {
        /// The kind of a block, which decides the layer that understands its body.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum BlockKind {
            $($(#[doc = $about])+ $kind = $number,)+
        }

        $(const _: () = assert!($number != 0, "kind 0 is never valid");)+

        impl BlockKind {
            /// All kinds, with the sentence about each.
            pub(crate) const ALL: &[(BlockKind, &str)] =
                &[$((BlockKind::$kind, concat!($($about),+))),+];

            /// The name of the kind in messages.
            pub fn name(self) -> &'static str {
                match self {
                    $(BlockKind::$kind => $name,)+
                }
            }
        }
    };
}

block_kinds! {
    /// A body without meaning: tests, races and probes of disks write and read it; it is never part
    /// of a database.
    Scratch = 1, "scratch";
    /// One copy of the control file: the list of the database's files, and the address where
    /// recovery begins.
    Control = 2, "control file";
    /// The first block of an online redo log, which identifies the log.
    LogHeader = 3, "log header";
    /// A block of redo records.
    Redo = 4, "redo";
    /// The first block of a data file, which identifies the file.
    FileHeader = 5, "file header";
    /// The extents of a data file that are in use.
    ExtentMap = 6, "extent map";
    /// The names of the segments.
    Directory = 7, "segment directory";
    /// The first block of a segment: its extents, and its content type.
    SegmentHeader = 8, "segment header";
    /// The transaction table of an undo segment.
    TransactionTable = 9, "transaction table";
    /// Undo records, of one transaction after the other.
    Undo = 10, "undo";
    /// Rows of a table.
    Heap = 11, "heap";
    /// Entries of an index.
    Leaf = 12, "index leaf";
    /// The separators between the leaves of an index, or between the branches of the level below.
    Branch = 13, "index branch";
    /// Records of a sort, in a temporary file.
    Sort = 14, "sort";
    /// The approximate free space of a table's blocks.
    FreeMap = 15, "free-space map";
    /// A block of a segment without content: it is in the segment's list of free blocks.
    Free = 16, "free";
}

impl BlockKind {
    /// The kind with this number, or none.
    pub fn new(number: u8) -> Option<BlockKind> {
        Self::ALL.iter().map(|(kind, _)| *kind).find(|kind| kind.number() == number)
    }

    /// The number that stands for this kind on disk.
    pub fn number(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for BlockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_comes_back_from_its_number_and_0_is_none() {
        for (kind, _) in BlockKind::ALL {
            assert_eq!(BlockKind::new(kind.number()), Some(*kind));
        }
        assert_eq!(BlockKind::new(0), None);
        let known = (0..=u8::MAX).filter_map(BlockKind::new).count();
        assert_eq!(known, BlockKind::ALL.len());
    }
}
