//! What undo segments and tables consist of.
//!
//! Callers: `undo` and `access`, each for its own blocks.
//! Sources: Oracle's undo segment header with its transaction table.

use zerocopy::little_endian::{U16 as U16Le, U32 as U32Le};

use crate::BlockHeader;
use crate::layout::layout;
use crate::number::{DbaLe, ScnLe, TxnIdLe};

layout! {
    /// Head of a transaction table; the slots follow.
    pub struct TransactionTable: 8 {
        /// Number of the undo segment.
        0 => pub segment: U16Le,
        /// How many slots there are.
        2 => pub slots: U16Le,
        /// Zero.
        4 => pub reserved: [u8; 4],
    }
}

impl TransactionTable {
    /// Where it lies in its block.
    pub const START: usize = BlockHeader::BYTES;
    /// Where the slots begin.
    pub const SLOTS: usize = TransactionTable::START + size_of::<TransactionTable>();
}

layout! {
    /// A slot of a transaction table: one transaction, and the undo blocks that the slot has had.
    pub struct TransactionSlot: 32 {
        /// How often the slot has been used.
        0 => pub sequence: U32Le,
        /// 0 never used, 1 active, 2 committed, 3 rolled back.
        4 => pub state: u8,
        /// Zero.
        5 => pub reserved: [u8; 3],
        /// SCN at which the last transaction ended.
        8 => pub ended: ScnLe,
        /// The first undo block of the slot; further ones are linked from it.
        16 => pub first: DbaLe,
        /// The undo block that the active transaction fills.
        24 => pub current: DbaLe,
    }
}

impl TransactionSlot {
    /// How many bytes it has.
    pub const BYTES: usize = size_of::<TransactionSlot>();
}

layout! {
    /// Body of an undo block: a stack of undo records of one transaction.
    pub struct UndoBlock: 40 {
        /// The transaction that the records are of.
        0 => pub transaction: TxnIdLe,
        /// The block with the transaction's older records, if any.
        8 => pub previous: DbaLe,
        /// The block that the slot fills after this one, if it has one.
        16 => pub next: DbaLe,
        /// How many records there are.
        24 => pub records: U16Le,
        /// Offset in the block of the newest record; 0 if there is none.
        26 => pub newest: U16Le,
        /// Offset in the block of the first free byte.
        28 => pub free: U16Le,
        /// Zero.
        30 => pub reserved: [u8; 10],
    }
}

impl UndoBlock {
    /// Where it lies in its block.
    pub const START: usize = BlockHeader::BYTES;
    /// Where the records begin.
    pub const RECORDS: usize = UndoBlock::START + size_of::<UndoBlock>();
}

layout! {
    /// Head of an undo record: the change that takes back one change. Its payload follows.
    pub struct UndoRecord: 16 {
        /// The block that was changed, and that this changes back.
        0 => pub address: DbaLe,
        /// Offset in the undo block of the record before this one; 0 if there is none.
        8 => pub previous: U16Le,
        /// Bytes of the payload.
        10 => pub length: U16Le,
        /// Whose change it is.
        12 => pub layer: u8,
        /// Which change, in the layer's own numbers.
        13 => pub opcode: u8,
        /// Zero.
        14 => pub reserved: [u8; 2],
    }
}

impl UndoRecord {
    /// How many bytes it has.
    pub const BYTES: usize = size_of::<UndoRecord>();
}

layout! {
    /// Head of the body of a heap block; the rows follow, all of one length.
    pub struct HeapBlock: 16 {
        /// Header of the segment that the block belongs to.
        0 => pub segment: DbaLe,
        /// Bytes of a row's columns.
        8 => pub row_bytes: U16Le,
        /// How many rows fit.
        10 => pub capacity: U16Le,
        /// Rows handed out so far: the slots from here on were never used.
        12 => pub rows: U16Le,
        /// Zero.
        14 => pub reserved: [u8; 2],
    }
}

impl HeapBlock {
    /// Where it lies in its block.
    pub const START: usize = BlockHeader::BYTES;
    /// Where the rows begin.
    pub const ROWS: usize = HeapBlock::START + size_of::<HeapBlock>();
}

layout! {
    /// Head of a row; its columns follow.
    pub struct Row: 12 {
        /// The transaction that changed the row last. While it is active it has the row locked.
        0 => pub transaction: TxnIdLe,
        /// 0 empty, 1 a row.
        8 => pub state: u8,
        /// Zero.
        9 => pub reserved: [u8; 3],
    }
}

impl Row {
    /// How many bytes it has.
    pub const BYTES: usize = size_of::<Row>();
}
