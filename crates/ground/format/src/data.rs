//! The common structure of table blocks and index leaves.
//!
//! ```text
//!   header │ DataHead │ ItlEntry … │ slots … ──▶   free   ◀── … rows or entries
//! ```
//!
//! Callers: `txn`, which reads and maintains the ITL; `access`, for the rest.
//! Sources: Oracle's data block: header, interested transaction list, row directory, rows.

use zerocopy::FromBytes;
use zerocopy::little_endian::{U16 as U16Le, U32 as U32Le};

use crate::BlockHeader;
use crate::layout::layout;
use crate::number::{DbaLe, ScnLe, TxnIdLe, UndoAddressLe};

layout! {
    /// Head of the body of a block that transactions change.
    pub struct DataHead: 24 {
        /// Number of the object that the block belongs to.
        0 => pub object: U32Le,
        /// Number of ITL entries.
        4 => pub itl_count: u8,
        /// In an index: 0 in a leaf, and one more in each level above.
        5 => pub level: u8,
        /// Number of slots in the directory.
        6 => pub slots: U16Le,
        /// Offset in the block of the lowest row; of the block's end if there is none.
        8 => pub rows: U16Le,
        /// Free bytes: between the directory and the lowest row, and among rows.
        10 => pub free: U16Le,
        /// In a table: the number of its byte in its map of free space. In an index: 1 if the index
        /// is unique; and 2, in a leaf, if entries were purged at some time since its list of
        /// interested transactions was empty.
        12 => pub own: U16Le,
        /// Zero.
        14 => pub reserved: [u8; 2],
        /// In an index: the block to the right. In a table: its map of free space, if it has one.
        16 => pub next: DbaLe,
    }
}

impl DataHead {
    /// The offset of the head in its block.
    pub const START: usize = BlockHeader::BYTES;
    /// The offset of the ITL in its block.
    pub const LIST: usize = DataHead::START + size_of::<DataHead>();
}

layout! {
    /// A transaction that has changed or locked something in a block.
    pub struct ItlEntry: 30 {
        /// The transaction; none if the entry was never used.
        0 => pub transaction: TxnIdLe,
        /// Its newest undo record for this block.
        8 => pub undo: UndoAddressLe,
        /// An SCN by which it had ended, once its end was noted here; else 0.
        16 => pub ended: ScnLe,
        /// While it is active: bytes that it has freed, and that are kept for it.
        24 => pub freed: U16Le,
        /// Slots that it has locked; 0 once its end was noted.
        26 => pub locks: U16Le,
        /// 1 if `ended` may be later than the real end.
        28 => pub inexact: u8,
        /// Zero.
        29 => pub reserved: [u8; 1],
    }
}

impl ItlEntry {
    /// The number of bytes in an entry.
    pub const BYTES: usize = size_of::<ItlEntry>();

    /// An entry that was never used.
    pub const NONE: ItlEntry = ItlEntry {
        transaction: TxnIdLe::NONE,
        undo: UndoAddressLe::NONE,
        ended: ScnLe::ZERO,
        freed: U16Le::ZERO,
        locks: U16Le::ZERO,
        inexact: 0,
        reserved: [0; 1],
    };
}

layout! {
    /// A slot of a data block's directory: a row, or an entry of an index.
    pub struct DataSlot: 6 {
        /// Offset in the block of its bytes; 0 if it has none.
        0 => pub at: U16Le,
        /// Number of bytes.
        2 => pub length: U16Le,
        /// 0 if it is free; else flags of the block's owner.
        4 => pub flags: u8,
        /// Number of the ITL entry, from 1, whose transaction has it locked; 0 is none.
        5 => pub lock: u8,
    }
}

impl DataSlot {
    /// The number of bytes in a slot.
    pub const BYTES: usize = size_of::<DataSlot>();
    /// A slot without content.
    pub const FREE: DataSlot = DataSlot { at: U16Le::ZERO, length: U16Le::ZERO, flags: 0, lock: 0 };
    /// The first `count` slots in `bytes`.
    ///
    /// # Panics When there are fewer bytes.
    #[inline]
    pub fn many(bytes: &[u8], count: usize) -> &[DataSlot] {
        let (found, _) = <[DataSlot]>::ref_from_prefix_with_elems(bytes, count)
            .expect("a directory lies inside its block");
        found
    }

    /// The flag, common to all owners, of a deleted entry. Its slot is free once the deletion is
    /// committed.
    pub const DELETED: u8 = 0x80;
}

layout! {
    /// Address of the next piece of a table row, at the beginning of the bytes of its slot.
    pub struct PieceAddress: 8 {
        /// Block within the file.
        0 => pub block: U32Le,
        /// File number.
        4 => pub file: U16Le,
        /// Slot in the block.
        6 => pub slot: U16Le,
    }
}

layout! {
    /// Head of a map of free space. The first map is block 1 of a table's segment, behind the
    /// segment header in block 0. Each further map lies behind the blocks of the map before it. A
    /// byte for each block that follows fills the rest.
    pub struct FreeMap: 16 {
        /// Number of the object that the block belongs to.
        0 => pub object: U32Le,
        /// Number in the segment of the first block that has a byte.
        4 => pub first: U32Le,
        /// Zero.
        8 => pub reserved: [u8; 8],
    }
}

impl FreeMap {
    /// The offset of the head in its block.
    pub const START: usize = BlockHeader::BYTES;
    /// The offset of the bytes. A byte is 0 if inserters have no use for a block, else the free
    /// part of the block in units of 1/128; 128 if the block was handed out and perhaps never
    /// formatted.
    pub const ENTRIES: usize = FreeMap::START + size_of::<FreeMap>();
}
