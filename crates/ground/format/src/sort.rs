//! The structure of the temporary file of a sort.
//!
//! ```text
//!   a run: blocks one after the other, in the order of their keys
//!  ┌─────────────────────────────────┐ ┌──────────────────────────────
//!  │ BlockHeader │ SortBlock │ record│ │ BlockHeader │ SortBlock │ rec …
//!  │ record │ record │ …        zero │ │
//!  └─────────────────────────────────┘ └──────────────────────────────
//!   record = SortRecord, key, payload
//! ```
//!
//! Blocks have 32 KiB whatever the database's block size. No record crosses blocks. Such a file
//! doesn't outlive the process that made it, so no later version ever reads one.
//!
//! Callers: `sort`, which writes and reads such files; `space`, which removes leftover files.

use ids::BlockSize;
use zerocopy::little_endian::{U16 as U16Le, U32 as U32Le, U64 as U64Le};

use crate::BlockHeader;
use crate::layout::layout;

/// The size of a block of a sort's temporary file.
pub const SORT_BLOCK: BlockSize = BlockSize::KIB_32;

/// The number of bytes of records in a block.
pub const SORT_PAYLOAD_BYTES: usize = SORT_BLOCK.bytes() - SortBlock::START - SortBlock::BYTES;

layout! {
    /// Follows the block header in every block of a sort's temporary file.
    pub struct SortBlock: 24 {
        /// The sort, a random number: it tells a block of an earlier sort, left on the disk, from
        /// ours.
        0 => pub sort: U64Le,
        /// The run to which the block belongs, counted over all runs of the sort.
        8 => pub run: U32Le,
        /// Number of the block in its run, from 0.
        12 => pub number: U32Le,
        /// Bytes of records in this block, from the first after this header.
        16 => pub used: U32Le,
        /// Zero.
        20 => pub reserved: [u8; 4],
    }
}

impl SortBlock {
    /// The offset of the head in its block.
    pub const START: usize = BlockHeader::BYTES;
    /// The number of bytes in the head.
    pub const BYTES: usize = size_of::<SortBlock>();
}

layout! {
    /// Head of a record of a sort. Key and payload follow.
    pub struct SortRecord: 4 {
        /// Bytes of the key.
        0 => pub key_bytes: U16Le,
        /// Bytes of the payload.
        2 => pub payload_bytes: U16Le,
    }
}

impl SortRecord {
    /// The number of bytes in the head.
    pub const BYTES: usize = size_of::<SortRecord>();
}

const _: () = assert!(SORT_PAYLOAD_BYTES <= u16::MAX as usize, "a length fits its field");
