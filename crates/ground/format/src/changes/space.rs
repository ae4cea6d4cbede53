//! Changes of control blocks of space: segment headers, extent maps, the segment directory.
//!
//! Callers: `space`.

use zerocopy::little_endian::U32 as U32Le;

use super::changes;
use crate::layout::layout;
use crate::{DbaLe, DirectoryEntry, Extent, FreeBlock, SegmentHeader};

changes! {
    /// Control of space.
    layer 1 = "space";
    /// A new header: its body and its first extent.
    FORMAT = 1, "segment header": [SegmentHeader::PART, Extent::PART];
    /// The segment gets this extent.
    ADD_EXTENT = 2, "segment header": [Extent::PART];
    /// The next blocks below the end of the extents are handed out.
    HAND_OUT = 3, "segment header": [Count::PART];
    /// Free extents are in use.
    TAKE = 4, "extent map": [ExtentRun::PART];
    /// A slot of the directory gets this entry.
    ENTER = 5, "segment directory": [EntrySlot::PART, DirectoryEntry::PART];
    /// The file has grown, to this number of extents.
    GROW = 6, "extent map": [Count::PART];
    /// A new block of the directory.
    FORMAT_DIRECTORY = 7, "segment directory": [];
    /// An entry has another state.
    SET_STATE = 8, "segment directory": [EntrySlotState::PART];
    /// An entry goes.
    LEAVE = 9, "segment directory": [EntrySlot::PART];
    /// The segment is being dropped.
    BEGIN_DROP = 10, "segment header": [];
    /// The segment loses its last extents: this number of them.
    LOSE_EXTENTS = 11, "segment header": [Count::PART];
    /// Extents are free again.
    GIVE_BACK = 12, "extent map": [ExtentRun::MANY];
    /// The block becomes free: its body.
    FREE = 13, "any": [FreeBlock::PART];
    /// The first free block of the segment, or none.
    SET_FREE = 14, "segment header": [DbaLe::PART];
}

layout! {
    /// A number of items.
    pub struct Count: 4 {
        /// The number.
        0 => pub count: U32Le,
    }
}

layout! {
    /// Neighbouring extents of a data file.
    pub struct ExtentRun: 8 {
        /// Number of the first extent in its file.
        0 => pub first: U32Le,
        /// Number of extents.
        4 => pub count: U32Le,
    }
}

layout! {
    /// A slot for an entry in a block of the segment directory.
    pub struct EntrySlot: 4 {
        /// Its number in the block, from 0.
        0 => pub number: U32Le,
    }
}

layout! {
    /// A slot of the segment directory and the new state of its entry.
    pub struct EntrySlotState: 5 {
        /// Number of the slot in the block, from 0.
        0 => pub number: U32Le,
        /// The state, as in `DirectoryEntry`.
        4 => pub state: u8,
    }
}
