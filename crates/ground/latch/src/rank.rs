//! The one list of latches: the data that each kind guards, its rank and its wait event.
//!
//! A thread gets latches in ascending order of rank only, so no cycle of waiting threads can close
//! (rule L1). A new kind gets an entry in this list, not a rank of its own elsewhere.

use std::fmt;

use waits::WaitEvent;

/// A position in the order of latches. Latches are taken in strictly ascending order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LatchRank(u16);

/// The declaration of one kind of latch.
#[derive(Clone, Copy, Debug)]
pub struct LatchInfo {
    /// The name in views and messages.
    pub name: &'static str,
    /// The position among the kinds; also the `number` in p2 of the wait event.
    pub number: u8,
    /// The event of a wait for such a latch.
    pub event: WaitEvent,
    /// The data that it guards.
    pub meaning: &'static str,
}

macro_rules! latch_ranks {
    ($($kind:ident = $number:literal $name:literal $event:ident $meaning:literal;)*) => {
        /// The kind of a latch, from which follow its rank and its wait event.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum LatchKind {
            $(#[doc = concat!("`", $name, "`, rank ", $number, ": ", $meaning)] $kind,)*
        }

        impl LatchKind {
            /// Every kind, in ascending order of rank.
            pub const ALL: &'static [LatchKind] = &[$(LatchKind::$kind,)*];

            /// The declaration of this kind.
            pub const fn info(self) -> &'static LatchInfo {
                const INFO: &[LatchInfo] = &[$(LatchInfo {
                    name: $name,
                    number: $number,
                    event: WaitEvent::$event,
                    meaning: $meaning,
                },)*];
                &INFO[self as usize]
            }
        }
    };
}

latch_ranks! {
    Frame = 10 "buffer frame" BufferBusyWaits
        "the bytes of the block in one frame of the buffer cache";
    Bucket = 20 "cache buffers chains" LatchCacheBuffersChains
        "some hash chains of the buffer cache: which block lives in which frame";
    WorkingSet = 30 "cache buffers lru chain" LatchCacheBuffersLruChain
        "the lists of one working set";
    RedoCopy = 40 "redo copy" LatchRedoCopy
        "one session's copying into the log buffer";
    RedoAllocation = 50 "redo allocation" LatchRedoAllocation
        "the giving out of redo addresses";
    EnqueueHashChains = 60 "enqueue hash chains" LatchEnqueueHashChains
        "which transaction waits for which lock, and the tables whose locks are waited for";
    Innermost = 90 "innermost" LatchFree
        "anything small under which no other latch is taken";
}

/// The order among frames. The sort of block in a frame changes, so the caller of a get states the
/// sort.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum FrameOrder {
    /// A branch block of an index.
    Branch = 1,
    /// A leaf block of an index.
    Leaf = 2,
    /// A block of a table.
    Heap = 3,
    /// A map of free space in a table's segment.
    FreeMap = 4,
    /// An undo block.
    Undo = 5,
    /// The block with the transaction table of an undo segment.
    TransactionTable = 6,
    /// The segment directory.
    Directory = 7,
    /// The header of a segment.
    SegmentHeader = 8,
    /// The map of a file's extents.
    ExtentMap = 9,
}

/// The number of positions that ranks leave inside one kind.
const PLACES_PER_KIND: u16 = 16;
const _: () = assert!((FrameOrder::ExtentMap as u16) < PLACES_PER_KIND);

impl LatchKind {
    /// The name in views and messages.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// The position in the order.
    pub const fn rank(self) -> LatchRank {
        LatchRank(self.info().number as u16 * PLACES_PER_KIND)
    }
}

impl FrameOrder {
    /// The position in the order of all latches.
    pub const fn rank(self) -> LatchRank {
        LatchRank(LatchKind::Frame.rank().0 + self as u16)
    }

    const fn name(self) -> &'static str {
        match self {
            FrameOrder::Branch => "branch",
            FrameOrder::Leaf => "leaf",
            FrameOrder::Heap => "heap",
            FrameOrder::FreeMap => "free-space map",
            FrameOrder::Undo => "undo",
            FrameOrder::TransactionTable => "transaction table",
            FrameOrder::Directory => "segment directory",
            FrameOrder::SegmentHeader => "segment header",
            FrameOrder::ExtentMap => "extent map",
        }
    }

    const ALL: [FrameOrder; 9] = [
        FrameOrder::Branch,
        FrameOrder::Leaf,
        FrameOrder::Heap,
        FrameOrder::FreeMap,
        FrameOrder::Undo,
        FrameOrder::TransactionTable,
        FrameOrder::Directory,
        FrameOrder::SegmentHeader,
        FrameOrder::ExtentMap,
    ];
}

/// The kind's name with its number, and among frames the sort of block: `buffer frame (leaf),
/// rank 10.2`.
impl fmt::Display for LatchRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, place) = (self.0 / PLACES_PER_KIND, self.0 % PLACES_PER_KIND);
        let kind = LatchKind::ALL.iter().find(|kind| u16::from(kind.info().number) == number);
        let kind = kind.expect("a rank is made from a kind");
        match FrameOrder::ALL.iter().find(|order| **order as u16 == place) {
            Some(order) => {
                write!(f, "{} ({}), rank {number}.{place}", kind.name(), order.name())
            }
            None => write!(f, "{}, rank {number}", kind.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list is in the order in which latches are taken, the positions of frames included.
    #[test]
    fn ranks_ascend_down_the_list() {
        let frames = FrameOrder::ALL.iter().map(|order| order.rank());
        let others = LatchKind::ALL[1..].iter().map(|kind| kind.rank());
        let ranks: Vec<LatchRank> = frames.chain(others).collect();
        assert!(ranks.is_sorted_by(|a, b| a < b), "{ranks:?}");
    }

    /// A wait for a latch of one kind can be told from a wait for another kind.
    #[test]
    fn every_kind_has_an_event_of_its_own() {
        for (index, kind) in LatchKind::ALL.iter().enumerate() {
            let same = |other: &&LatchKind| other.info().event == kind.info().event;
            assert_eq!(LatchKind::ALL.iter().filter(same).count(), 1, "{}", kind.name());
            assert_eq!(*kind as usize, index);
        }
    }

    /// A message about a rank names the latch, and for a frame the sort of block.
    #[test]
    fn a_rank_prints_as_the_latch_that_has_it() {
        assert_eq!(LatchKind::Bucket.rank().to_string(), "cache buffers chains, rank 20");
        assert_eq!(FrameOrder::Leaf.rank().to_string(), "buffer frame (leaf), rank 10.2");
    }
}
