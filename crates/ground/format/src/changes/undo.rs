//! Changes of undo segments: transaction tables and undo blocks.
//!
//! Callers: `undo`.

use zerocopy::little_endian::{U16 as U16Le, U32 as U32Le};

use super::{Part, PayloadFault, changes, split};
use crate::layout::layout;
use crate::{DbaLe, ScnLe, TransactionTable, TxnIdLe, UndoRecord};

changes! {
    /// Undo.
    layer 2 = "undo";
    /// A new transaction table: its head.
    FORMAT_TABLE = 1, "transaction table": [TransactionTable::PART];
    /// The transaction table of the next undo segment.
    SET_NEXT_SEGMENT = 2, "transaction table": [DbaLe::PART];
    /// A transaction begins in a slot.
    BEGIN = 3, "transaction table": [Begun::PART];
    /// The undo block that is filled from now on.
    SET_CURRENT = 4, "transaction table": [DbaLe::PART];
    /// The transaction of a slot has ended, at the SCN of the record.
    END = 5, "transaction table": [SlotState::PART];
    /// The block is emptied for a transaction.
    RESET = 6, "undo": [Reset::PART];
    /// The block of the ring after this one.
    SET_NEXT = 7, "undo": [DbaLe::PART];
    /// An undo record is added.
    PUSH = 8, "undo": [RECORD];
    /// The newest record is removed.
    POP = 9, "undo": [];
    /// Blocks that were handed out to the segment and are not in its ring yet.
    SET_SPARE = 10, "transaction table": [Spare::PART];
    /// The first spare block becomes the one that is filled.
    TAKE_SPARE = 11, "transaction table": [];
    /// A record is applied: its change was taken back.
    MARK_APPLIED = 12, "undo": [RecordNumber::PART];
}

layout! {
    /// The beginning of a transaction.
    pub struct Begun: 6 {
        /// Its slot in the transaction table.
        0 => pub slot: U16Le,
        /// Number of times the slot has been used.
        2 => pub sequence: U32Le,
    }
}

layout! {
    /// A slot of a transaction table and its new state.
    pub struct SlotState: 3 {
        /// The slot.
        0 => pub slot: U16Le,
        /// The state, as in `TransactionSlot`.
        2 => pub state: u8,
    }
}

layout! {
    /// The head of an undo block when it is emptied.
    pub struct Reset: 24 {
        /// The transaction that gets the block.
        0 => pub transaction: TxnIdLe,
        /// The block with that transaction's older records, or none.
        8 => pub previous: DbaLe,
        /// The block of the ring after this one.
        16 => pub next: DbaLe,
    }
}

layout! {
    /// Neighbouring blocks that were handed out to an undo segment.
    pub struct Spare: 10 {
        /// The first block.
        0 => pub first: DbaLe,
        /// Number of blocks.
        8 => pub count: U16Le,
    }
}

layout! {
    /// A record of an undo block.
    pub struct RecordNumber: 2 {
        /// Its number in the block, from 0.
        0 => pub number: U16Le,
    }
}

/// A whole undo record: its head, and the payload of the length that the head gives.
const RECORD: Part = Part { name: "`UndoRecord` with its payload", skip: skip_record };

fn skip_record(rest: &[u8]) -> Result<&[u8], PayloadFault> {
    let (head, rest) = UndoRecord::read(rest)?;
    let (payload, rest) = split(rest, head.length.get().into(), "the payload of an undo record")?;
    payload_of_record(head, payload).map(|_| rest)
}

/// The parts of the bytes behind the head of an undo record: in a transaction's first record the
/// SCN at which the segment's previous transaction ended, and the payload for the layer.
pub fn payload_of_record<'a>(
    head: &UndoRecord,
    bytes: &'a [u8],
) -> Result<(Option<ScnLe>, &'a [u8]), PayloadFault> {
    match head.ordinal.get() {
        0 => ScnLe::read(bytes).map(|(before, payload)| (Some(*before), payload)),
        _ => Ok((None, bytes)),
    }
}
