//! The structure of an online redo log.
//!
//! ```text
//!   block 0        block 1                     block 2
//!  ┌────────────┐ ┌──────────────────────────┐ ┌──────────────────────────┐
//!  │ LogHeader  │ │ RedoBlock │ record │ rec…│ │ RedoBlock │ …ord │       │ …
//!  └────────────┘ └──────────────────────────┘ └──────────────────────────┘
//!                  record = RedoRecord, then for each vector: ChangeVector, payload
//! ```
//!
//! Blocks have 4 KiB whatever the database's block size. Each block is written once per life of its
//! log, so no acknowledged block is overwritten. A block of an earlier life is recognized by its
//! log sequence number. A record may cross blocks but never crosses logs.
//!
//! Callers: `redo`, which writes and reads logs.
//! Sources: Oracle's redo log (groups, sequence numbers, change vectors); PostgreSQL's
//! 039_end_of_wal, for the shapes of a stale or forged tail.

use ids::BlockSize;
use zerocopy::little_endian::{U16 as U16Le, U32 as U32Le, U64 as U64Le};

use crate::BlockHeader;
use crate::layout::layout;
use crate::number::{DbaLe, ScnLe};

/// The size of a block of an online redo log.
pub const REDO_BLOCK: BlockSize = BlockSize::KIB_4;

/// The number of bytes of records in a redo block.
pub const REDO_PAYLOAD_BYTES: usize = REDO_BLOCK.bytes() - RedoBlock::START - RedoBlock::BYTES;

layout! {
    /// Body of the first block of an online redo log, which identifies the log.
    pub struct LogHeader: 128 {
        /// Identity of the database.
        0 => pub database: U64Le,
        /// Log sequence number: one more than that of the log before it.
        8 => pub log_sequence: U32Le,
        /// Blocks of this file, this one included.
        12 => pub blocks: U32Le,
        /// SCN of the first record in it.
        16 => pub first_scn: ScnLe,
        /// Block behind the end of the previous log: its first block without redo. 0 if it isn't
        /// known.
        24 => pub previous_end: U32Le,
        /// Number of the group that the file belongs to, from 1.
        28 => pub group: U16Le,
        /// Number of the instance whose redo this is: 1.
        30 => pub thread: U16Le,
        /// The incarnation of the database, as the control file says it.
        32 => pub incarnation: U32Le,
        /// Zero.
        36 => pub reserved: [u8; 4],
        /// SCN at which the incarnation began.
        40 => pub incarnation_scn: ScnLe,
        /// When the log began: microseconds since 1970-01-01 00:00 UTC.
        48 => pub began_us: U64Le,
        /// SCN of the first record of the next log; 0 in an online log, where it isn't known yet.
        56 => pub next_scn: ScnLe,
        /// Time when the next log began; 0 in an online log.
        64 => pub next_began_us: U64Le,
        /// Zero.
        72 => pub reserved2: [u8; 56],
    }
}

impl LogHeader {
    /// The offset of the body in its block.
    pub const START: usize = BlockHeader::BYTES;
}

layout! {
    /// Follows the block header in every block of redo.
    pub struct RedoBlock: 16 {
        /// Identity of the database: a block of another database is no redo of this one.
        0 => pub database: U64Le,
        /// Log sequence number of the log that the block was written for.
        8 => pub log_sequence: U32Le,
        /// Bytes of records in this block, from the first after this header.
        12 => pub used: U16Le,
        /// Offset in them of the first record that begins here; equal to `used` if none does.
        14 => pub first_record: U16Le,
    }
}

impl RedoBlock {
    /// The offset of the head in its block.
    pub const START: usize = BlockHeader::BYTES;
    /// The number of bytes in the head.
    pub const BYTES: usize = size_of::<RedoBlock>();
}

layout! {
    /// Head of a redo record: changes that are applied together or not at all.
    pub struct RedoRecord: 16 {
        /// Bytes of the whole record, this head included.
        0 => pub length: U32Le,
        /// Number of change vectors that follow.
        4 => pub vectors: U16Le,
        /// Zero.
        6 => pub reserved: [u8; 2],
        /// SCN of the changes: one more than that of the previous record.
        8 => pub scn: ScnLe,
    }
}

impl RedoRecord {
    /// The number of bytes in the head.
    pub const BYTES: usize = size_of::<RedoRecord>();
}

layout! {
    /// Head of a change vector: one change of one block. The payload follows.
    pub struct ChangeVector: 32 {
        /// The block.
        0 => pub address: DbaLe,
        /// SCN of the block before the change.
        8 => pub before_scn: ScnLe,
        /// With it, the version of the block before the change.
        16 => pub before_sequence: U32Le,
        /// CRC32C of the block's body after the change, where `redo_consistency` is on, else 0.
        20 => pub image: U32Le,
        /// Layer that owns the change.
        24 => pub layer: u8,
        /// Number of the change within the layer.
        25 => pub opcode: u8,
        /// Bytes of the payload.
        26 => pub length: U16Le,
        /// Size of the block in units of 2 KiB.
        28 => pub block_units: u8,
        /// 1 when the block is formatted anew, so that its former content doesn't matter; else 0.
        29 => pub anew: u8,
        /// Zero.
        30 => pub reserved: [u8; 2],
    }
}

impl ChangeVector {
    /// The number of bytes in the head.
    pub const BYTES: usize = size_of::<ChangeVector>();
}
