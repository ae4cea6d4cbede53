//! The structure of undo segments.
//!
//! ```text
//!   transaction table   head, slots: the segment's last transactions, in a ring
//!   undo block          head, records … ──▶      ◀── … offsets of the records, from the end
//! ```
//!
//! Callers: `undo`.
//! Sources: Oracle's undo segment header with its transaction table, and its undo blocks.

use zerocopy::little_endian::{U16 as U16Le, U32 as U32Le};

use crate::BlockHeader;
use crate::layout::layout;
use crate::number::{DbaLe, ScnLe, TxnIdLe, UndoAddressLe};

layout! {
    /// Head of a transaction table; the slots follow.
    pub struct TransactionTable: 40 {
        /// Number of the undo segment.
        0 => pub segment: U16Le,
        /// Number of slots.
        2 => pub slots: U16Le,
        /// The slot of the newest transaction.
        4 => pub newest: U16Le,
        /// Number of blocks that were handed out to the segment but aren't in its ring yet.
        6 => pub spare_count: U16Le,
        /// The transaction table of the next undo segment, if there is one.
        8 => pub next_segment: DbaLe,
        /// The undo block that is being filled; none before the first transaction.
        16 => pub current: DbaLe,
        /// Number of undo blocks in the ring.
        24 => pub blocks: U32Le,
        /// Zero.
        28 => pub reserved: [u8; 4],
        /// The first of the blocks that aren't in the ring yet; the others follow it.
        32 => pub spare: DbaLe,
    }
}

impl TransactionTable {
    /// The offset of the head in its block.
    pub const START: usize = BlockHeader::BYTES;
    /// The offset of the slots.
    pub const SLOTS: usize = TransactionTable::START + size_of::<TransactionTable>();
}

layout! {
    /// A slot of a transaction table: one transaction.
    pub struct TransactionSlot: 16 {
        /// Number of times the slot has been used.
        0 => pub sequence: U32Le,
        /// 0 never used, 1 active, 2 committed, 3 rolled back.
        4 => pub state: u8,
        /// Zero.
        5 => pub reserved: [u8; 3],
        /// SCN at which the transaction ended; 0 while it is active.
        8 => pub ended: ScnLe,
    }
}

impl TransactionSlot {
    /// The number of bytes in a slot.
    pub const BYTES: usize = size_of::<TransactionSlot>();
}

layout! {
    /// Body of an undo block: records of one transaction after the other.
    pub struct UndoBlock: 32 {
        /// The transaction that got this block last.
        0 => pub transaction: TxnIdLe,
        /// The block with that transaction's older records; none if it began in this one.
        8 => pub previous: DbaLe,
        /// The block of the ring after this one.
        16 => pub next: DbaLe,
        /// Number of records since the block was emptied. The offset of a record that was removed
        /// is 0.
        24 => pub records: U16Le,
        /// Offset in the block of the first free byte.
        26 => pub free: U16Le,
        /// Number of the newest record of that transaction here, from 1; 0 if it has none.
        28 => pub newest: U16Le,
        /// Zero.
        30 => pub reserved: [u8; 2],
    }
}

impl UndoBlock {
    /// The offset of the head in its block.
    pub const START: usize = BlockHeader::BYTES;
    /// The offset of the records.
    pub const RECORDS: usize = UndoBlock::START + size_of::<UndoBlock>();
}

layout! {
    /// Offset of a record in its undo block. That of record 0 is at the end of the block, that of
    /// the next record before it, and so on.
    pub struct RecordOffset: 2 {
        /// Offset in the block; 0 if the record was removed.
        0 => pub at: U16Le,
    }
}

impl RecordOffset {
    /// The number of bytes in an offset.
    pub const BYTES: usize = size_of::<RecordOffset>();
    /// The offset of a record that was removed.
    pub const NONE: RecordOffset = RecordOffset { at: U16Le::ZERO };
}

layout! {
    /// Head of an undo record: the change that takes back one change. Its payload follows. The
    /// payload of a transaction's first record begins with the SCN at which the segment's previous
    /// transaction ended.
    pub struct UndoRecord: 32 {
        /// The block that was changed.
        0 => pub address: DbaLe,
        /// The transaction's previous record; none in its first.
        8 => pub previous: UndoAddressLe,
        /// The transaction.
        16 => pub transaction: TxnIdLe,
        /// Number of the transaction's records before this one.
        24 => pub ordinal: U32Le,
        /// Bytes of the payload.
        28 => pub length: U16Le,
        /// Layer that owns the change.
        30 => pub layer: u8,
        /// Number of the change within the layer; the highest bit says that the record is applied.
        31 => pub opcode: u8,
    }
}

impl UndoRecord {
    /// The number of bytes in the head.
    pub const BYTES: usize = size_of::<UndoRecord>();
}
