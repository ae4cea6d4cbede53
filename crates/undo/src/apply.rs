//! How blocks of this crate change (rule change/CH1).
//!
//! | block             | change         | payload                                       |
//! |-------------------|----------------|-----------------------------------------------|
//! | transaction table | `FORMAT_TABLE` | its head                                      |
//! | transaction table | `SET_NEXT_SEGMENT` | transaction table                         |
//! | transaction table | `BEGIN`        | slot, sequence                                |
//! | transaction table | `SET_CURRENT`  | undo block                                    |
//! | transaction table | `SET_SPARE`    | first block, how many                         |
//! | transaction table | `TAKE_SPARE`   | nothing: the first spare block is the current |
//! | transaction table | `END`          | slot, state                                   |
//! | undo block        | `RESET`        | transaction, previous block, next block       |
//! | undo block        | `SET_NEXT`     | undo block                                    |
//! | undo block        | `PUSH`         | the record                                    |
//! | undo block        | `POP`          | nothing                                       |
//! | undo block        | `CROSS_OUT`    | number of a record                            |

use change::{BlockMut, Layer};
use format::{
    BlockHeader, BlockKind, DbaLe, ScnLe, TransactionSlot, TransactionTable, TxnIdLe, U16Le, U32Le,
    UndoBlock, UndoRecord,
};
use ids::Dba;
use latch::FrameOrder;

pub(crate) const FORMAT_TABLE: u8 = 1;
pub(crate) const SET_NEXT_SEGMENT: u8 = 2;
pub(crate) const BEGIN: u8 = 3;
pub(crate) const SET_CURRENT: u8 = 4;
pub(crate) const END: u8 = 5;
pub(crate) const RESET: u8 = 6;
pub(crate) const SET_NEXT: u8 = 7;
pub(crate) const PUSH: u8 = 8;
pub(crate) const POP: u8 = 9;
pub(crate) const SET_SPARE: u8 = 10;
pub(crate) const TAKE_SPARE: u8 = 11;
pub(crate) const CROSS_OUT: u8 = 12;

/// Bit of a record's opcode: the change was taken back already (UN8).
pub const CROSSED_OUT: u8 = 0x80;

pub(crate) const ACTIVE: u8 = 1;
pub(crate) const COMMITTED: u8 = 2;
pub(crate) const ROLLED_BACK: u8 = 3;

/// Bytes of the payloads of these changes.
pub(crate) const BEGIN_BYTES: usize = 6;
pub(crate) const SET_CURRENT_BYTES: usize = 8;
pub(crate) const SET_SPARE_BYTES: usize = 10;
pub(crate) const END_BYTES: usize = 3;
pub(crate) const RESET_BYTES: usize = 24;
pub(crate) const SET_NEXT_BYTES: usize = 8;
pub(crate) const CROSS_OUT_BYTES: usize = 2;

/// Undo.
pub static LAYER: Layer =
    Layer { number: 2, name: "undo", order: FrameOrder::Undo, apply, moves: None, watch: None };

fn apply(block: BlockMut<'_>, opcode: u8, payload: &[u8]) {
    match opcode {
        FORMAT_TABLE => {
            block.bytes.fill(0);
            let header = BlockHeader::new(BlockKind::TransactionTable, block.address);
            *BlockHeader::of_mut(block.bytes) = header;
            let end = TransactionTable::START + payload.len();
            block.bytes[TransactionTable::START..end].copy_from_slice(payload);
        }
        SET_NEXT_SEGMENT => table_mut(block.bytes).next_segment = *DbaLe::at(payload, 0),
        SET_CURRENT => table_mut(block.bytes).current = *DbaLe::at(payload, 0),
        SET_SPARE => {
            let table = table_mut(block.bytes);
            assert!(table.spare_count.get() == 0, "spare undo blocks are forgotten (UN4)");
            table.spare = *DbaLe::at(payload, 0);
            table.spare_count = U16Le::from_bytes([payload[8], payload[9]]);
        }
        TAKE_SPARE => {
            let table = table_mut(block.bytes);
            let (spare, left) = (table.spare.get(), table.spare_count.get() - 1);
            table.current = table.spare;
            let next = Dba::new(spare.file.get(), spare.block.get() + 1);
            table.spare = if left > 0 { DbaLe::new(next) } else { DbaLe::NONE };
            table.spare_count = U16Le::new(left);
            table.blocks = U32Le::new(table.blocks.get() + 1);
        }
        BEGIN => {
            let number = u16::from_le_bytes([payload[0], payload[1]]);
            let newest = table_mut(block.bytes).newest.get();
            let state = slot_mut(block.bytes, newest).state;
            assert!(state != ACTIVE, "a segment has two active transactions (UN1)");
            table_mut(block.bytes).newest = U16Le::new(number);
            let sequence = payload[2..6].try_into().expect("a sequence has four bytes");
            *slot_mut(block.bytes, number) = TransactionSlot {
                sequence: U32Le::from_bytes(sequence),
                state: ACTIVE,
                reserved: [0; 3],
                ended: ScnLe::ZERO,
            };
        }
        END => {
            let number = u16::from_le_bytes([payload[0], payload[1]]);
            let slot = slot_mut(block.bytes, number);
            assert!(slot.state == ACTIVE, "a transaction ends that isn't active (UN1)");
            slot.state = payload[2];
            slot.ended = ScnLe::new(block.scn);
        }
        RESET => reset(block, payload),
        SET_NEXT => undo_mut(block.bytes).next = *DbaLe::at(payload, 0),
        PUSH => push(block.bytes, payload),
        POP => pop(block.bytes, block.address),
        CROSS_OUT => cross_out(block.bytes, u16::from_le_bytes([payload[0], payload[1]])),
        other => panic!("the undo layer has no change {other}"),
    }
}

/// Empties the block, for this transaction.
fn reset(block: BlockMut<'_>, payload: &[u8]) {
    block.bytes.fill(0);
    *BlockHeader::of_mut(block.bytes) = BlockHeader::new(BlockKind::Undo, block.address);
    *undo_mut(block.bytes) = UndoBlock {
        transaction: *TxnIdLe::at(payload, 0),
        previous: *DbaLe::at(payload, 8),
        next: *DbaLe::at(payload, 16),
        records: U16Le::ZERO,
        free: U16Le::new(UndoBlock::RECORDS as u16),
        newest: U16Le::ZERO,
        reserved: [0; 2],
    };
}

fn push(block: &mut [u8], record: &[u8]) {
    let transaction = UndoRecord::at(record, 0).transaction;
    let undo = undo_mut(block);
    if undo.transaction != transaction {
        // It begins behind the records of the one before.
        undo.transaction = transaction;
        undo.previous = DbaLe::NONE;
        undo.newest = U16Le::ZERO;
    }
    let (number, at) = (undo.records.get(), usize::from(undo.free.get()));
    undo.records = U16Le::new(number + 1);
    undo.newest = undo.records;
    undo.free = U16Le::new((at + record.len()) as u16);
    let offset_at = offset_at(block, number);
    assert!(at + record.len() <= offset_at, "room for undo is made before it is pushed");
    block[at..at + record.len()].copy_from_slice(record);
    block[offset_at..offset_at + 2].copy_from_slice(&(at as u16).to_le_bytes());
}

/// The number of a record that is taken away isn't given to another (UN6).
fn pop(block: &mut [u8], address: Dba) {
    let newest = undo_mut(block).newest.get();
    assert!(newest > 0, "there is no record to take away (UN2)");
    let at = record_at(block, newest - 1).expect("it is among the block's records");
    let previous = UndoRecord::at(block, at).previous.get();
    let here = previous.filter(|previous| previous.block == address);
    let undo = undo_mut(block);
    undo.free = U16Le::new(at as u16);
    undo.newest = U16Le::new(here.map_or(0, |previous| previous.record + 1));
    let offset_at = offset_at(block, newest - 1);
    block[offset_at..offset_at + 2].fill(0);
}

fn cross_out(block: &mut [u8], number: u16) {
    let at = record_at(block, number).expect("what is crossed out is among the block's records");
    let record = UndoRecord::at_mut(block, at);
    assert!(record.opcode & CROSSED_OUT == 0, "a record is crossed out twice (UN2)");
    record.opcode |= CROSSED_OUT;
}

/// Where record `number` begins, if the block has it.
pub(crate) fn record_at(block: &[u8], number: u16) -> Option<usize> {
    let undo = UndoBlock::at(block, UndoBlock::START);
    if number >= undo.records.get() {
        return None;
    }
    let at = offset_at(block, number);
    let offset = usize::from(u16::from_le_bytes([block[at], block[at + 1]]));
    (offset != 0).then_some(offset)
}

fn offset_at(block: &[u8], number: u16) -> usize {
    block.len() - UndoBlock::OFFSET_BYTES * (usize::from(number) + 1)
}

fn undo_mut(block: &mut [u8]) -> &mut UndoBlock {
    UndoBlock::at_mut(block, UndoBlock::START)
}

fn table_mut(block: &mut [u8]) -> &mut TransactionTable {
    TransactionTable::at_mut(block, TransactionTable::START)
}

fn slot_mut(table: &mut [u8], number: u16) -> &mut TransactionSlot {
    let slots = table_mut(table).slots.get();
    assert!(number < slots, "slot {number} of a transaction table of {slots}");
    TransactionSlot::at_mut(table, slot_at(number))
}

/// Where a slot lies in its table's block.
pub(crate) fn slot_at(slot: u16) -> usize {
    TransactionTable::SLOTS + usize::from(slot) * TransactionSlot::BYTES
}
