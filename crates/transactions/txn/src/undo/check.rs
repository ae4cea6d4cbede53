//! Checks of a single undo block or transaction table. They trust none of the bytes.
//!
//! Callers: `verify`.

use format::{
    BlockHeader, BlockKind, DbaLe, RecordOffset, ScnLe, TransactionSlot, TransactionTable, TxnIdLe,
    UndoAddressLe, UndoBlock, UndoRecord,
};
use ids::{Dba, Scn, TxnId, UndoAddress};

use super::apply::{ACTIVE, COMMITTED, ROLLED_BACK, record_at, slot_at};

/// The content of a transaction table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableContents {
    /// The number of the segment.
    pub segment: u16,
    /// The table of the next segment.
    pub next_segment: Option<Dba>,
    /// The undo block that is being filled.
    pub current: Option<Dba>,
    /// How many blocks the ring has.
    pub blocks: u32,
    /// The first of the blocks that aren't in the ring yet, and their number.
    pub spare: Option<(Dba, u16)>,
    /// The active transaction.
    pub active: Option<TxnId>,
}

/// The content of an undo block's head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UndoBlockContents {
    /// The last transaction that has pushed records here, or has emptied the block.
    pub transaction: Option<TxnId>,
    /// The block with that transaction's older records.
    pub previous: Option<Dba>,
    /// The next block of the ring.
    pub next: Option<Dba>,
    /// That transaction's newest record here.
    pub newest: Option<u16>,
}

/// How an undo record is linked to its transaction's other records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordLink {
    /// The transaction's record before it.
    pub previous: Option<UndoAddress>,
    /// How many records the transaction had before.
    pub ordinal: u32,
}

fn some(address: DbaLe) -> Option<Dba> {
    (address != DbaLe::NONE).then(|| address.get())
}

fn is_kind(block: &[u8], kind: BlockKind) -> Result<(), String> {
    match cache::is_unwritten(block) || BlockHeader::at(block, 0).kind() != kind {
        true => Err(format!("is no {kind} block")),
        false => Ok(()),
    }
}

/// Checks a transaction table, whose block header was checked. The error says what is wrong.
pub fn check_table(block: &[u8]) -> Result<TableContents, String> {
    is_kind(block, BlockKind::TransactionTable)?;
    let head = TransactionTable::at(block, TransactionTable::START);
    let (slots, newest) = (head.slots.get(), head.newest.get());
    if slot_at(slots) > block.len() || newest >= slots || head.reserved != [0; 4] {
        return Err(format!("has {slots} slots, of which {newest} is the newest"));
    }
    let (current, spare, left) = (some(head.current), some(head.spare), head.spare_count.get());
    if current.is_some() != (head.blocks.get() > 0) || spare.is_some() != (left > 0) {
        return Err(format!(
            "has {} blocks in its ring at {}, and {left} that aren't at {}",
            head.blocks,
            head.current.get(),
            head.spare.get()
        ));
    }
    Ok(TableContents {
        segment: head.segment.get(),
        next_segment: some(head.next_segment),
        current,
        blocks: head.blocks.get(),
        spare: spare.map(|first| (first, left)),
        active: check_slots(block)?,
    })
}

/// Checks the slots of a table, which are used in turn, so that their transactions ended in turn.
/// Returns the active one.
fn check_slots(block: &[u8]) -> Result<Option<TxnId>, String> {
    let head = TransactionTable::at(block, TransactionTable::START);
    let (segment, slots, newest) = (head.segment.get(), head.slots.get(), head.newest.get());
    let slot = |number: u16| *TransactionSlot::at(block, slot_at(number));
    let last = slot(newest).sequence.get();
    let (mut ended, mut active) = (Scn::ZERO, None);
    // From the oldest to the newest.
    for number in (newest + 1..slots).chain(0..=newest) {
        let found = slot(number);
        let sequence = found.sequence.get();
        let expected = if number <= newest { last } else { last.saturating_sub(1) };
        let wrong = |what: &str| Err(format!("slot {number} {what}"));
        if sequence != expected {
            return wrong(&format!("was used {sequence} times, not {expected}"));
        }
        let (state, at) = (found.state, found.ended.get());
        let is_sound = match (sequence, state) {
            (0, 0) => at == Scn::ZERO,
            (0, _) => false,
            (_, ACTIVE) => number == newest && at == Scn::ZERO,
            (_, COMMITTED | ROLLED_BACK) => at > ended,
            _ => false,
        };
        if !is_sound || found.reserved != [0; 3] {
            return wrong(&format!(
                "is in state {state} since {at}, and one before it ended at {ended}"
            ));
        }
        ended = ended.max(at);
        if state == ACTIVE {
            active = Some(TxnId { segment, slot: number, sequence });
        }
    }
    Ok(active)
}

/// Checks an undo block, whose block header was checked. The error says what is wrong.
pub fn check_undo_block(block: &[u8]) -> Result<UndoBlockContents, String> {
    is_kind(block, BlockKind::Undo)?;
    let head = UndoBlock::at(block, UndoBlock::START);
    let (records, free) = (head.records.get(), usize::from(head.free.get()));
    let offsets = usize::from(records) * RecordOffset::BYTES;
    let room = UndoBlock::RECORDS..=block.len().saturating_sub(offsets);
    if !room.contains(&free) || head.newest.get() > records || head.reserved != [0; 2] {
        return Err(format!(
            "has {records} records that end at {free}, of which {} is the newest",
            head.newest
        ));
    }
    let mut end = UndoBlock::RECORDS;
    let mut last = None;
    for number in 0..records {
        let Some(at) = record_at(block, number) else { continue };
        if at < end || at + UndoRecord::BYTES > free {
            return Err(format!(
                "record {number} begins at {at}, and the one before ends at {end}"
            ));
        }
        let record = UndoRecord::at(block, at);
        end = at + UndoRecord::BYTES + usize::from(record.length.get());
        let is_first = record.ordinal.get() == 0;
        let before = if is_first { size_of::<ScnLe>() } else { 0 };
        let has_previous = record.previous != UndoAddressLe::NONE;
        let is_sound = end <= free
            && usize::from(record.length.get()) >= before
            && record.transaction != TxnIdLe::NONE
            && is_first != has_previous;
        if !is_sound {
            return Err(format!("record {number} isn't as records are"));
        }
        last = record.transaction.get().map(|id| (number, id));
    }
    let transaction = head.transaction.get();
    let newest = head.newest.get().checked_sub(1);
    let is_its = |number| last.is_some_and(|(last, id)| last == number && Some(id) == transaction);
    if newest.is_some_and(|number| !is_its(number)) {
        return Err(format!("its newest record isn't number {}, of {last:?}", head.newest));
    }
    Ok(UndoBlockContents {
        transaction,
        previous: some(head.previous),
        next: some(head.next),
        newest,
    })
}

/// The links of a record of this transaction, in a block that is in order.
pub fn record_link(block: &[u8], number: u16, id: TxnId) -> Option<RecordLink> {
    let record = UndoRecord::at(block, record_at(block, number)?);
    let seen = RecordLink { previous: record.previous.get(), ordinal: record.ordinal.get() };
    (record.transaction.get() == Some(id)).then_some(seen)
}
