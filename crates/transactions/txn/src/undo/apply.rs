//! How undo blocks and transaction tables change (rule change/CH1). `format::changes::undo`
//! declares the changes and their payloads.

use change::{BlockMut, Layer};
pub(crate) use format::changes::undo::{
    BEGIN, Begun, CHANGES, END, FORMAT_TABLE, MARK_APPLIED, POP, PUSH, RESET, RecordNumber, Reset,
    SET_CURRENT, SET_NEXT, SET_NEXT_SEGMENT, SET_SPARE, SlotState, Spare, TAKE_SPARE,
};
use format::{
    BlockHeader, BlockKind, DbaLe, RecordOffset, ScnLe, TransactionSlot, TransactionTable, U16Le,
    U32Le, UndoBlock, UndoRecord,
};
use ids::Dba;
use latch::FrameOrder;

use super::check::{check_table, check_undo_block};

/// The bit of a record's opcode that says that the record is applied (UN8).
pub const APPLIED: u8 = 0x80;

pub(crate) const ACTIVE: u8 = 1;
pub(crate) const COMMITTED: u8 = 2;
pub(crate) const ROLLED_BACK: u8 = 3;

/// The layer of undo blocks and transaction tables.
pub static LAYER: Layer = Layer {
    number: CHANGES.layer,
    name: CHANGES.name,
    changes: &CHANGES,
    order: FrameOrder::Undo,
    apply,
    check,
    moves: None,
    watch: None,
};

fn check(block: &[u8]) -> Result<(), String> {
    match BlockHeader::at(block, 0).kind() {
        BlockKind::TransactionTable => check_table(block).map(drop),
        _ => check_undo_block(block).map(drop),
    }
}

fn apply(block: BlockMut<'_>, opcode: u8, payload: &[u8]) {
    match opcode {
        FORMAT_TABLE => {
            block.bytes.fill(0);
            let header = BlockHeader::new(BlockKind::TransactionTable, block.address);
            *BlockHeader::of_mut(block.bytes) = header;
            *table_mut(block.bytes) = *TransactionTable::whole(payload);
        }
        SET_NEXT_SEGMENT => table_mut(block.bytes).next_segment = *DbaLe::whole(payload),
        SET_CURRENT => table_mut(block.bytes).current = *DbaLe::whole(payload),
        SET_SPARE => {
            let table = table_mut(block.bytes);
            assert!(table.spare_count.get() == 0, "spare undo blocks are forgotten (UN4)");
            let spare = Spare::whole(payload);
            (table.spare, table.spare_count) = (spare.first, spare.count);
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
            let Begun { slot: number, sequence } = *Begun::whole(payload);
            let newest = table_mut(block.bytes).newest.get();
            let state = slot_mut(block.bytes, newest).state;
            assert!(state != ACTIVE, "a segment has two active transactions (UN1)");
            table_mut(block.bytes).newest = number;
            *slot_mut(block.bytes, number.get()) =
                TransactionSlot { sequence, state: ACTIVE, reserved: [0; 3], ended: ScnLe::ZERO };
        }
        END => {
            let SlotState { slot: number, state } = *SlotState::whole(payload);
            let slot = slot_mut(block.bytes, number.get());
            assert!(slot.state == ACTIVE, "a transaction ends that isn't active (UN1)");
            slot.state = state;
            slot.ended = ScnLe::new(block.scn);
        }
        RESET => reset(block, Reset::whole(payload)),
        SET_NEXT => undo_mut(block.bytes).next = *DbaLe::whole(payload),
        PUSH => push(block.bytes, payload),
        POP => pop(block.bytes, block.address),
        MARK_APPLIED => mark_applied(block.bytes, RecordNumber::whole(payload).number.get()),
        other => panic!("the undo layer has no change {other}"),
    }
}

/// Empties the block, for this transaction.
fn reset(block: BlockMut<'_>, to: &Reset) {
    block.bytes.fill(0);
    *BlockHeader::of_mut(block.bytes) = BlockHeader::new(BlockKind::Undo, block.address);
    *undo_mut(block.bytes) = UndoBlock {
        transaction: to.transaction,
        previous: to.previous,
        next: to.next,
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
        // The transaction begins behind the records of the one before.
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
    *RecordOffset::at_mut(block, offset_at) = RecordOffset { at: U16Le::new(at as u16) };
}

/// Pops the newest record. Its number isn't given to another (UN6).
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
    *RecordOffset::at_mut(block, offset_at) = RecordOffset::NONE;
}

fn mark_applied(block: &mut [u8], number: u16) {
    let at = record_at(block, number).expect("what is applied is among the block's records");
    let record = UndoRecord::at_mut(block, at);
    assert!(record.opcode & APPLIED == 0, "a record is applied twice (UN2)");
    record.opcode |= APPLIED;
}

/// Where record `number` begins, if the block has it.
pub(crate) fn record_at(block: &[u8], number: u16) -> Option<usize> {
    let undo = UndoBlock::at(block, UndoBlock::START);
    if number >= undo.records.get() {
        return None;
    }
    let at = offset_at(block, number);
    let offset = usize::from(RecordOffset::at(block, at).at.get());
    (offset != 0).then_some(offset)
}

fn offset_at(block: &[u8], number: u16) -> usize {
    block.len() - RecordOffset::BYTES * (usize::from(number) + 1)
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
