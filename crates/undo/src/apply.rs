//! How blocks of this crate change (rule change/CH1).
//!
//! | block             | change         | payload                            |
//! |-------------------|----------------|------------------------------------|
//! | transaction table | `FORMAT_TABLE` | segment, slots                     |
//! | transaction table | `SET_FIRST`    | slot, undo block                   |
//! | transaction table | `BEGIN`        | slot, sequence                     |
//! | transaction table | `SET_CURRENT`  | slot, undo block                   |
//! | transaction table | `END`          | slot, state                        |
//! | undo block        | `RESET`        | transaction, previous block        |
//! | undo block        | `SET_NEXT`     | undo block                         |
//! | undo block        | `PUSH`         | the record                         |
//! | undo block        | `POP`          | nothing                            |

use change::{BlockMut, Layer};
use format::{
    BlockHeader, BlockKind, DbaLe, ScnLe, TransactionSlot, TransactionTable, TxnIdLe, U16Le, U32Le,
    UndoBlock, UndoRecord,
};
use latch::FrameOrder;

pub(crate) const FORMAT_TABLE: u8 = 1;
pub(crate) const SET_FIRST: u8 = 2;
pub(crate) const BEGIN: u8 = 3;
pub(crate) const SET_CURRENT: u8 = 4;
pub(crate) const END: u8 = 5;
pub(crate) const RESET: u8 = 6;
pub(crate) const SET_NEXT: u8 = 7;
pub(crate) const PUSH: u8 = 8;
pub(crate) const POP: u8 = 9;

pub(crate) const ACTIVE: u8 = 1;
pub(crate) const COMMITTED: u8 = 2;
pub(crate) const ROLLED_BACK: u8 = 3;

/// Undo.
pub static LAYER: Layer = Layer { number: 2, name: "undo", order: FrameOrder::Undo, apply };

fn apply(block: BlockMut<'_>, opcode: u8, payload: &[u8]) {
    match opcode {
        FORMAT_TABLE => {
            block.bytes.fill(0);
            let header = BlockHeader::new(BlockKind::TransactionTable, block.address);
            *BlockHeader::of_mut(block.bytes) = header;
            let end = TransactionTable::START + payload.len();
            block.bytes[TransactionTable::START..end].copy_from_slice(payload);
        }
        SET_FIRST => slot_mut(block.bytes, payload).first = *DbaLe::at(payload, 2),
        SET_CURRENT => slot_mut(block.bytes, payload).current = *DbaLe::at(payload, 2),
        BEGIN => {
            let slot = slot_mut(block.bytes, payload);
            assert!(slot.state != ACTIVE, "a slot is given to two transactions (UN1)");
            slot.sequence =
                U32Le::from_bytes(payload[2..6].try_into().expect("a sequence has four bytes"));
            slot.state = ACTIVE;
            slot.current = slot.first;
        }
        END => {
            let slot = slot_mut(block.bytes, payload);
            assert!(slot.state == ACTIVE, "a transaction ends that isn't active (UN1)");
            slot.state = payload[2];
            slot.ended = ScnLe::new(block.scn);
        }
        RESET => reset(block, payload),
        SET_NEXT => undo_mut(block.bytes).next = *DbaLe::at(payload, 0),
        PUSH => push(block.bytes, payload),
        POP => pop(block.bytes),
        other => panic!("the undo layer has no change {other}"),
    }
}

/// Begins a new stack in this block, for another transaction; the link to the next block stays.
fn reset(block: BlockMut<'_>, payload: &[u8]) {
    let is_new = BlockHeader::at(block.bytes, 0) == BlockHeader::at(&[0; BlockHeader::BYTES], 0);
    let next = if is_new { DbaLe::NONE } else { undo_mut(block.bytes).next };
    if is_new {
        *BlockHeader::of_mut(block.bytes) = BlockHeader::new(BlockKind::Undo, block.address);
    }
    *undo_mut(block.bytes) = UndoBlock {
        transaction: *TxnIdLe::at(payload, 0),
        previous: *DbaLe::at(payload, 8),
        next,
        records: U16Le::ZERO,
        newest: U16Le::ZERO,
        free: U16Le::new(UndoBlock::RECORDS as u16),
        reserved: [0; 10],
    };
}

fn push(block: &mut [u8], record: &[u8]) {
    let undo = undo_mut(block);
    let at = undo.free;
    assert!(UndoRecord::at(record, 0).previous == undo.newest, "a record isn't on top (UN2)");
    undo.newest = at;
    undo.records = U16Le::new(undo.records.get() + 1);
    undo.free = U16Le::new(at.get() + record.len() as u16);
    let at = usize::from(at.get());
    block[at..at + record.len()].copy_from_slice(record);
}

fn pop(block: &mut [u8]) {
    let newest = undo_mut(block).newest;
    assert!(newest.get() != 0, "there is no record to take away (UN2)");
    let previous = UndoRecord::at(block, usize::from(newest.get())).previous;
    let undo = undo_mut(block);
    undo.free = newest;
    undo.newest = previous;
    undo.records = U16Le::new(undo.records.get() - 1);
}

fn undo_mut(block: &mut [u8]) -> &mut UndoBlock {
    UndoBlock::at_mut(block, UndoBlock::START)
}

fn slot_mut<'a>(table: &'a mut [u8], payload: &[u8]) -> &'a mut TransactionSlot {
    let slot = u16::from_le_bytes([payload[0], payload[1]]);
    let slots = TransactionTable::at(table, TransactionTable::START).slots.get();
    assert!(slot < slots, "slot {slot} of a transaction table of {slots}");
    TransactionSlot::at_mut(table, slot_at(slot))
}

/// Where a slot lies in its table's block.
pub(crate) fn slot_at(slot: u16) -> usize {
    TransactionTable::SLOTS + usize::from(slot) * TransactionSlot::BYTES
}
