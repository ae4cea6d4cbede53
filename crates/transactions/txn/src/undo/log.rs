//! The undo of one transaction: a stack of undo records (UN2), in the blocks of its segment's ring.
//!
//! ```text
//!   Tail ──begin──▶ UndoLog ──make_room, push …, newest, take_away …──▶ Undo::end ──ended──▶ Tail
//! ```
//!
//! Callers: `transaction` and `take_back`; layers with rows or entries, which push as part of their
//! groups.

use cache::{ExclusiveBlock, Get, Pin};
use change::{Group, credits_for};
use format::changes::undo::payload_of_record;
use format::{
    DbaLe, ItlEntry, RecordOffset, ScnLe, TxnIdLe, U16Le, U32Le, UndoAddressLe, UndoBlock,
    UndoRecord,
};
use ids::{Dba, Scn, TxnId, UndoAddress};
use latch::FrameOrder;
use os::Session;
use stop::Stop;

use super::applied::{AppliedUndo, Stretch};
use super::apply::{
    APPLIED, BEGIN, Begun, LAYER, MARK_APPLIED, POP, PUSH, RecordNumber, SET_CURRENT, record_at,
};
use super::segment::Undo;

/// Bytes of a first record's payload before the layer's: the end of the previous transaction (UN7).
const BEFORE_BYTES: usize = size_of::<ScnLe>();

/// Where the undo of a segment ends while no transaction is active in it. The session that has the
/// tail may begin the next transaction there (UN1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tail {
    pub(crate) segment: u16,
    /// The segment's transaction table.
    pub(crate) table: Dba,
    slots: u16,
    /// Sequence and slot of the last transaction; sequence 0 before the first.
    pub(crate) newest: (u32, u16),
    /// The block that is being filled, if the ring has one yet.
    pub(crate) current: Option<Dba>,
    /// Offset of the first free byte of that block.
    pub(crate) free: u16,
    /// How many records that block has or had: the number of the next one.
    pub(crate) records: u16,
    /// The SCN at which the last transaction ended that left records.
    pub(crate) before: Scn,
    /// The first of the blocks that aren't in the ring yet, and their number (UN15).
    pub(crate) spare: Option<(Dba, u16)>,
    /// How many blocks the ring has.
    pub(crate) blocks: u32,
    /// Whether the last transaction was refused room for its undo (UN11).
    pub(crate) is_short: bool,
    /// Whether the segment is stuck: a block of the ring that is needed to go on can't be read
    /// (UN12).
    pub(crate) is_stuck: bool,
}

/// The undo of an active transaction. Only the transaction has it (UN1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UndoLog {
    /// The transaction.
    pub id: TxnId,
    pub(crate) tail: Tail,
    /// The newest record.
    newest: Option<UndoAddress>,
    /// How many records the transaction has, which is a savepoint.
    pub(crate) records: u32,
    /// Whether the first record was pushed. Until then nothing on disk names the transaction.
    pub(crate) has_begun: bool,
    /// How often the transaction went on to another block, since it began or was found.
    pub(crate) blocks_filled: u32,
    /// Stretches of applied records.
    applied: AppliedUndo,
}

/// An undo record that a rollback is to take back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct UndoChange {
    /// The block that was changed.
    pub address: Dba,
    /// The number of the layer.
    pub layer: u8,
    /// The opcode of the change that takes the change back.
    pub opcode: u8,
    /// The payload of the change that takes the change back.
    pub payload: Vec<u8>,
    /// How many records the transaction had before.
    pub ordinal: u32,
    /// The address of the record.
    pub place: UndoAddress,
    /// Whether it is the transaction's newest record, applied ones included.
    is_last: bool,
}

/// The address of an undo record, with the transaction that the reader expects it to be of (UN6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UndoPointer {
    /// The address of the record.
    pub address: UndoAddress,
    /// The transaction that wrote it.
    pub transaction: TxnId,
}

impl UndoPointer {
    /// The newest undo record of an ITL entry; none if the entry names no transaction or no record.
    pub(crate) fn of_entry(entry: &ItlEntry) -> Option<UndoPointer> {
        let (address, transaction) = (entry.undo.get()?, entry.transaction.get()?);
        Some(UndoPointer { address, transaction })
    }
}

/// An undo record under its block's latch.
pub(crate) struct RecordView<'a> {
    /// The head of the record.
    pub head: &'a UndoRecord,
    /// The layer's payload.
    pub payload: &'a [u8],
}

/// The blocks that a transaction has pinned to push undo: the block that it fills and, for its
/// first record, its segment's table.
pub struct UndoPins<'a> {
    block: Pin<'a>,
    table: Option<Pin<'a>>,
    session: &'a Session,
}

impl Tail {
    pub(crate) fn new(segment: u16, table: Dba, slots: u16) -> Tail {
        Tail {
            segment,
            table,
            slots,
            newest: (0, slots - 1),
            current: None,
            free: 0,
            records: 0,
            before: Scn::ZERO,
            spare: None,
            blocks: 0,
            is_short: false,
            is_stuck: false,
        }
    }

    /// The last transaction of the segment, if it had one.
    pub(crate) fn last(&self) -> Option<TxnId> {
        let (sequence, slot) = self.newest;
        (sequence > 0).then_some(TxnId { segment: self.segment, slot, sequence })
    }

    /// The tail, if the last transaction that left records ended at this SCN.
    pub(crate) fn after(self, at: Scn) -> Tail {
        Tail { before: at, ..self }
    }

    /// Notes that the segment is stuck, for this reason (UN12).
    pub(crate) fn set_stuck(&mut self, stop: &Stop, session: &Session) {
        if !std::mem::replace(&mut self.is_stuck, true) {
            session.os().notice(&format!(
                "undo segment {} is used only where no other is to be had: {stop}",
                self.segment
            ));
        }
    }

    /// Whether the segment's names are used up: then no transaction begins there any more (UN9).
    pub(crate) fn is_used_up(&self) -> bool {
        self.newest == (u32::MAX, self.slots - 1)
    }

    /// Begins the undo of the next transaction. The segment isn't used up.
    pub(crate) fn begin(self) -> UndoLog {
        assert!(!self.is_used_up(), "undo segment {} has no name left (UN9)", self.segment);
        // The slots are used in turn.
        let (sequence, slot) = self.newest;
        let (sequence, slot) = match slot + 1 == self.slots {
            true => (sequence + 1, 0),
            false => (sequence, slot + 1),
        };
        let id = TxnId { segment: self.segment, slot, sequence };
        let tail = Tail { is_short: false, ..self };
        UndoLog::new(id, tail, false)
    }
}

impl UndoLog {
    fn new(id: TxnId, tail: Tail, has_begun: bool) -> UndoLog {
        let applied = AppliedUndo::default();
        UndoLog { id, tail, newest: None, records: 0, has_begun, blocks_filled: 0, applied }
    }

    /// Bytes of redo that a push with a payload of this length adds to a group's credits.
    pub fn credits(&self, payload: usize) -> usize {
        let push = UndoRecord::BYTES + BEFORE_BYTES + payload;
        match self.has_begun {
            true => credits_for(&[push]),
            false => credits_for(&[push, size_of::<Begun>()]),
        }
    }

    /// The length of the longest payload that fits into a block of this size.
    pub const fn payload_max(block_bytes: usize) -> usize {
        block_bytes - UndoBlock::RECORDS - Self::needs(0)
    }

    /// Bytes that a record with a payload of this length takes in its block, at most.
    pub(crate) const fn needs(payload: usize) -> usize {
        UndoRecord::BYTES + BEFORE_BYTES + RecordOffset::BYTES + payload
    }

    /// Whether a record with a payload of this length fits into the current block, of this size.
    pub(crate) fn has_room(&self, payload: usize, block_bytes: usize) -> bool {
        fits(self.tail.free, self.tail.records, payload, block_bytes)
    }

    /// The length of the longest payload that fits into the current block, of this size.
    pub fn room(&self, block_bytes: usize) -> usize {
        let offsets = usize::from(self.tail.records) * RecordOffset::BYTES;
        block_bytes.saturating_sub(usize::from(self.tail.free) + UndoLog::needs(0) + offsets)
    }

    /// The undo of a dead transaction.
    pub(crate) fn of_dead(tail: Tail) -> UndoLog {
        let id = tail.last().expect("it is active, so it has a name");
        UndoLog::new(id, tail, true)
    }

    /// The undo, if the previous transaction that left records ended at this SCN.
    pub(crate) fn after(self, at: Scn) -> UndoLog {
        UndoLog { tail: self.tail.after(at), ..self }
    }

    /// Whether the transaction has as many records as it can have (UN9).
    pub(crate) fn is_full(&self) -> bool {
        self.records == UndoLog::RECORDS_MAX
    }

    /// The number of records of a transaction, at most. In views, the number above means "all".
    const RECORDS_MAX: u32 = u32::MAX - 1;

    /// Whether the transaction has records, applied or not.
    pub(crate) fn has_records(&self) -> bool {
        self.records > 0
    }

    /// The address of the next record, after [`Undo::make_room`] has made room for it.
    pub fn next_address(&self) -> UndoAddress {
        UndoAddress { block: self.current(), record: self.tail.records }
    }

    fn current(&self) -> Dba {
        self.tail.current.expect("there is a block once room was made")
    }

    /// The tail at which the segment's next transaction begins. `at` is the end of this
    /// transaction, if it has left records: it has committed, or some are applied.
    pub(crate) fn ended(self, at: Option<Scn>) -> Tail {
        let mut tail = self.tail;
        if self.has_begun {
            tail.newest = (self.id.sequence, self.id.slot);
        }
        tail.before = at.unwrap_or(tail.before);
        tail
    }

    /// Adds to a group the push of an undo record: the change with this layer, opcode and payload
    /// takes back, in the block with this address, what the group does there.
    pub fn push<'a>(
        &mut self,
        group: &mut Group<'a>,
        pins: &'a UndoPins<'a>,
        address: Dba,
        layer: u8,
        opcode: u8,
        payload: &[&[u8]],
    ) {
        let block = pins.block.exclusive(FrameOrder::Undo, pins.session);
        assert_eq!(block.address(), self.current(), "undo goes to the current block");
        let before = ScnLe::new(self.tail.before);
        let before: &[u8] = if self.has_records() { &[] } else { before.bytes() };
        let length = before.len() + payload.iter().map(|part| part.len()).sum::<usize>();
        let record = UndoRecord {
            address: DbaLe::new(address),
            previous: self.newest.map_or(UndoAddressLe::NONE, UndoAddressLe::new),
            transaction: TxnIdLe::new(self.id),
            ordinal: U32Le::new(self.records),
            length: U16Le::new(length as u16),
            layer,
            opcode,
        };
        let mut parts: [&[u8]; 8] = [&[]; 8];
        (parts[0], parts[1]) = (record.bytes(), before);
        parts[2..2 + payload.len()].copy_from_slice(payload);
        self.newest = Some(self.next_address());
        assert!(!self.is_full(), "a transaction has a record more than it can have (UN9)");
        self.records += 1;
        self.tail.records += 1;
        self.tail.free += (UndoRecord::BYTES + length) as u16;
        group.change(block, &LAYER, PUSH, &parts[..2 + payload.len()]);
        if !self.has_begun {
            let table = pins.table.as_ref().expect("pinned for the first record");
            let table = table.exclusive(FrameOrder::TransactionTable, pins.session);
            let (slot, sequence) = (U16Le::new(self.id.slot), U32Le::new(self.id.sequence));
            group.change(table, &LAYER, BEGIN, &[Begun { slot, sequence }.bytes()]);
            self.has_begun = true;
        }
    }
}

impl Undo {
    /// Pins the blocks that a push needs. Called with room made, and without latches.
    pub fn pins<'a>(&'a self, log: &UndoLog, session: &'a Session) -> Result<UndoPins<'a>, Stop> {
        let cache = self.changes.cache();
        let block = cache.pin(log.current(), session)?;
        let table = (!log.has_begun).then(|| cache.pin(log.tail.table, session)).transpose()?;
        Ok(UndoPins { block, table, session })
    }

    /// The newest record that isn't applied, of those that aren't among the first `keep`; none if
    /// there is none. Steps back over empty blocks, and reads applied records once (UN16).
    pub(crate) fn newest(
        &self,
        log: &mut UndoLog,
        keep: u32,
        session: &Session,
    ) -> Result<Option<UndoChange>, Stop> {
        let Some(last) = self.last(log, session)? else { return Ok(None) };
        let (mut at, mut records) = (Some(last), 0);
        let found = loop {
            let Some(place) = at else { break None };
            if let Some(known) = log.applied.take(place) {
                (at, records) = (known.below, records + known.records);
                continue;
            }
            let cache = self.changes.cache();
            let block = cache.pin_shared(place.block, FrameOrder::Undo, session)?;
            let record = view(&block, place.record, log.id).expect("an active transaction has it");
            let ordinal = record.head.ordinal.get();
            if ordinal < keep {
                break None;
            }
            if record.head.opcode & APPLIED == 0 {
                break Some(UndoChange {
                    address: record.head.address.get(),
                    layer: record.head.layer,
                    opcode: record.head.opcode,
                    payload: record.payload.to_vec(),
                    ordinal,
                    place,
                    is_last: place == last,
                });
            }
            (at, records) = (record.head.previous.get(), records + 1);
        };
        log.applied.remember(Stretch { newest: last, below: at, records });
        Ok(found)
    }

    /// The address of the transaction's newest record, applied or not; none if it has no record.
    fn last(&self, log: &mut UndoLog, session: &Session) -> Result<Option<UndoAddress>, Stop> {
        loop {
            let Some(current) = log.tail.current else { return Ok(None) };
            let previous = {
                let cache = self.changes.cache();
                let block = cache.pin_shared(current, FrameOrder::Undo, session)?;
                let undo = *UndoBlock::at(&block, UndoBlock::START);
                (log.tail.records, log.tail.free) = (undo.records.get(), undo.free.get());
                let record = undo.newest.get().wrapping_sub(1);
                if let Some(found) = view(&block, record, log.id) {
                    let address = UndoAddress { block: current, record };
                    (log.newest, log.records) = (Some(address), found.head.ordinal.get() + 1);
                    return Ok(log.newest);
                }
                let came_from = undo.previous;
                if undo.transaction.get() != Some(log.id) || came_from == DbaLe::NONE {
                    (log.newest, log.records) = (None, 0);
                    return Ok(None);
                }
                came_from.get()
            };
            self.step_back(log, previous, session)?;
        }
    }

    fn step_back(&self, log: &mut UndoLog, to: Dba, session: &Session) -> Result<(), Stop> {
        let changes = &self.changes;
        let pin = changes.cache().pin(log.tail.table, session)?;
        let mut group = changes.begin(credits_for(&[size_of::<DbaLe>()]), session)?;
        let block = pin.exclusive(FrameOrder::TransactionTable, session);
        group.change(block, &LAYER, SET_CURRENT, &[DbaLe::new(to).bytes()]);
        group.commit(session);
        log.tail.current = Some(to);
        Ok(())
    }

    /// Bytes of the payload that takes away a record.
    pub(crate) const TAKE_AWAY_BYTES: usize = size_of::<RecordNumber>();

    /// Adds to the group the taking away of the newest record that isn't applied; `block` is the
    /// block with it. The record is popped. If `others_look` for it, or applied records lie behind
    /// it, it is marked as applied instead (UN8).
    pub(crate) fn take_away<'a>(
        &self,
        group: &mut Group<'a>,
        block: ExclusiveBlock<'a>,
        change: &UndoChange,
        others_look: bool,
    ) {
        match change.is_last && !others_look {
            true => group.change(block, &LAYER, POP, &[]),
            false => {
                let record = RecordNumber { number: U16Le::new(change.place.record) };
                group.change(block, &LAYER, MARK_APPLIED, &[record.bytes()]);
            }
        }
    }

    /// Calls `look` on an undo record under its block's latch, for a read; so `look` only computes.
    /// None if the record isn't there, or is another transaction's by now.
    pub(crate) fn with_record<T>(
        &self,
        undo: UndoPointer,
        look: impl FnOnce(RecordView<'_>) -> T,
        session: &Session,
    ) -> Result<Option<T>, Stop> {
        let cache = self.changes.cache();
        let (get, order) = (Get::Consistent, FrameOrder::Undo);
        let block = cache.pin_shared_for(get, undo.address.block, order, session)?;
        Ok(view(&block, undo.address.record, undo.transaction).map(look))
    }

    /// As [`with_record`](Self::with_record), for a caller that has the latch of the block that the
    /// record is about. Also none if the record's block isn't in the cache.
    pub(crate) fn with_cached_record<T>(
        &self,
        undo: UndoPointer,
        look: impl FnOnce(RecordView<'_>) -> T,
        session: &Session,
    ) -> Option<T> {
        let pin = self.changes.cache().pin_at_hand(undo.address.block, session)?;
        let block = pin.shared(FrameOrder::Undo, session);
        view(&block, undo.address.record, undo.transaction).map(look)
    }
}

/// Whether a record with a payload of this length fits into a block of this size whose first free
/// byte is at `free`, and which has or had `records` records.
pub(crate) fn fits(free: u16, records: u16, payload: usize, block_bytes: usize) -> bool {
    let offsets = usize::from(records) * RecordOffset::BYTES;
    usize::from(free) + UndoLog::needs(payload) + offsets <= block_bytes
}

/// A record, if it is there and is this transaction's.
pub(crate) fn view(block: &[u8], number: u16, transaction: TxnId) -> Option<RecordView<'_>> {
    if format::BlockHeader::at(block, 0).kind() != format::BlockKind::Undo {
        return None;
    }
    let at = record_at(block, number)?;
    let head = UndoRecord::at(block, at);
    let start = at + UndoRecord::BYTES;
    let bytes = block.get(start..start + usize::from(head.length.get()))?;
    let (_, payload) = payload_of_record(head, bytes).ok()?;
    (head.transaction.get() == Some(transaction)).then_some(RecordView { head, payload })
}

/// The transaction of a record and, if it is that one's first record, the end of the previous
/// transaction.
pub(crate) fn before(block: &[u8], number: u16) -> Option<(TxnId, Option<Scn>)> {
    let at = record_at(block, number)?;
    let head = UndoRecord::at(block, at);
    let (before, _) = payload_of_record(head, &block[at + UndoRecord::BYTES..]).ok()?;
    Some((head.transaction.get()?, before.map(|before| before.get())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(newest: (u32, u16)) -> Tail {
        Tail { newest, ..Tail::new(3, Dba::new(1, 9), 4) }
    }

    #[test]
    fn the_last_name_of_a_segment_is_given_out_once_and_none_after_it() {
        let log = tail((u32::MAX, 1)).begin();
        assert_eq!((log.id.sequence, log.id.slot), (u32::MAX, 2));
        let last = UndoLog { has_begun: true, ..log }.ended(None).begin();
        assert_eq!((last.id.sequence, last.id.slot), (u32::MAX, 3));
        let ended = UndoLog { has_begun: true, ..last }.ended(None);
        assert!(ended.is_used_up(), "the next name would be the first one again");
        assert!(std::panic::catch_unwind(|| ended.begin()).is_err());
        assert!(!tail((u32::MAX - 1, 3)).is_used_up());
        assert!(!tail((0, 3)).is_used_up(), "a new segment");
    }

    #[test]
    fn a_transaction_is_full_one_record_before_the_number_that_means_all() {
        let log = tail((0, 3)).begin();
        assert!(!UndoLog { records: u32::MAX - 2, ..log }.is_full());
        assert!(UndoLog { records: u32::MAX - 1, ..log }.is_full());
    }
}
