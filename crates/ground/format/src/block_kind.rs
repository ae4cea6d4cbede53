//! What a block can be: the second thing to know of a block, after that it is whole.
//!
//! Invariants (F8)
//!   * kind 0 is not in the list: an unwritten block is not a block
//!   * a number is never given to another kind, even when its kind is gone
//!
//! Callers: `block_header`; the document lists the kinds from here.

use std::fmt;

/// Declares the kinds; the sentences are the doc comments.
macro_rules! block_kinds {
    ($($(#[doc = $about:literal])+ $kind:ident = $number:literal, $name:literal;)+) => {
        /// What a block is, and so who understands its body.
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

            /// What users call this kind.
            pub fn name(self) -> &'static str {
                match self {
                    $(BlockKind::$kind => $name,)+
                }
            }
        }
    };
}

block_kinds! {
    /// A body without meaning: made to be written and read back, by tests, races and probes of
    /// disks, and never part of a database.
    Scratch = 1, "scratch";
    /// One copy of the control file: what the database is, and where recovery begins.
    Control = 2, "control file";
    /// The first block of an online redo log: which log it is.
    LogHeader = 3, "log header";
    /// A block of redo records.
    Redo = 4, "redo";
    /// The first block of a data file: which file it is.
    FileHeader = 5, "file header";
    /// Which extents of a data file are in use.
    ExtentMap = 6, "extent map";
    /// The names of the segments.
    Directory = 7, "segment directory";
    /// The first block of a segment: its extents, and what it holds.
    SegmentHeader = 8, "segment header";
    /// The transaction table of an undo segment.
    TransactionTable = 9, "transaction table";
    /// Undo records of one transaction after the other.
    Undo = 10, "undo";
    /// Rows of a table.
    Heap = 11, "heap";
    /// Entries of an index.
    Leaf = 12, "index leaf";
    /// Where an index's leaves, or branches a level below, begin.
    Branch = 13, "index branch";
    /// Records of a sort, in a temporary file.
    Sort = 14, "sort";
    /// How much room blocks of a table have, about.
    FreeMap = 15, "free-space map";
    /// A block of a segment that nothing is in: the segment's list of such names it.
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
