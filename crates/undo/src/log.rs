//! The undo of one transaction: a stack of changes that take changes back (UN2).
//!
//! Callers: `txn` (rolling back), layers with rows (pushing, as part of their groups).

use cache::{ExclusiveBlock, Pin};
use change::{Group, credits_for};
use format::{DbaLe, TxnIdLe, U16Le, UndoBlock, UndoRecord};
use ids::{Dba, TxnId};
use latch::FrameOrder;
use os::Session;
use space::HandOut;
use stop::Stop;

use crate::apply::{LAYER, POP, PUSH, RESET, SET_CURRENT, SET_NEXT};
use crate::segment::{Segment, Undo};

/// Where a transaction's undo stands. Only the transaction has it (UN1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UndoLog {
    /// The transaction.
    pub id: TxnId,
    pub(crate) current: Dba,
    /// Offset of the first free byte in the current block.
    pub(crate) free: u16,
    /// Offset of the newest record there, 0 if there is none.
    pub(crate) newest: u16,
}

/// A change that takes another back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UndoChange {
    /// The block.
    pub address: Dba,
    /// The layer's number.
    pub layer: u8,
    /// Which change.
    pub opcode: u8,
    /// Its payload.
    pub payload: Vec<u8>,
}

impl UndoLog {
    /// Bytes of redo payload that a push of so many bytes takes.
    pub const fn push_bytes(payload: usize) -> usize {
        UndoRecord::BYTES + payload
    }

    /// The longest payload that fits into a block of so many bytes.
    pub const fn payload_max(block_bytes: usize) -> usize {
        block_bytes - UndoBlock::RECORDS - UndoRecord::BYTES
    }

    /// The block to which the next record goes; pin it before [`push`](UndoLog::push).
    pub fn current(&self) -> Dba {
        self.current
    }

    /// Adds to the group a push of the change that takes back what the group does. `block` is
    /// [`current`](UndoLog::current), in which [`Undo::make_room`] has made room.
    pub fn push<'a>(
        &mut self,
        group: &mut Group<'a>,
        block: ExclusiveBlock<'a>,
        (address, layer, opcode): (Dba, u8, u8),
        payload: &[&[u8]],
    ) {
        assert_eq!(block.address(), self.current, "undo goes to the current block");
        let length: usize = payload.iter().map(|part| part.len()).sum();
        let record = UndoRecord {
            address: DbaLe::new(address),
            previous: U16Le::new(self.newest),
            length: U16Le::new(length as u16),
            layer,
            opcode,
            reserved: [0; 2],
        };
        let end = usize::from(self.free) + UndoRecord::BYTES + length;
        assert!(end <= block.len(), "room for undo is made before it is pushed");
        let mut parts: [&[u8]; 5] = [&[]; 5];
        parts[0] = record.bytes();
        parts[1..=payload.len()].copy_from_slice(payload);
        group.change(block, &LAYER, PUSH, &parts[..=payload.len()]);
        self.newest = self.free;
        self.free = end as u16;
    }
}

impl Undo {
    /// Makes sure that a record with a payload of so many bytes fits into the current block, if
    /// need be by going on to the slot's next one. Waits; called without latches.
    pub fn make_room(
        &self,
        log: &mut UndoLog,
        payload: usize,
        session: &Session,
    ) -> Result<(), Stop> {
        let changes = self.space.changes();
        let pin = changes.cache().pin(log.current, session)?;
        let (bytes, next) = {
            let block = pin.shared(FrameOrder::Undo, session);
            (block.len(), UndoBlock::at(&block, UndoBlock::START).next)
        };
        if usize::from(log.free) + UndoRecord::BYTES + payload <= bytes {
            return Ok(());
        }
        assert!(payload <= UndoLog::payload_max(bytes), "undo of {payload} bytes fits no block");
        let next = match next == DbaLe::NONE {
            true => self.give_next(log, &pin, session)?,
            false => next.get(),
        };
        let Segment { table, .. } = self.segments[usize::from(log.id.segment)];
        let table = changes.cache().pin(table, session)?;
        let undo = changes.cache().pin(next, session)?;
        let mut group = changes.begin(credits_for(&[16, 10]), session)?;
        let block = undo.exclusive(FrameOrder::Undo, session);
        let (of, previous) = (TxnIdLe::new(log.id), DbaLe::new(log.current));
        group.change(block, &LAYER, RESET, &[of.bytes(), previous.bytes()]);
        let block = table.exclusive(FrameOrder::TransactionTable, session);
        let (slot, to) = (log.id.slot.to_le_bytes(), DbaLe::new(next));
        group.change(block, &LAYER, SET_CURRENT, &[&slot, to.bytes()]);
        group.commit(session);
        *log = UndoLog { current: next, free: UndoBlock::RECORDS as u16, newest: 0, ..*log };
        Ok(())
    }

    /// Hands out a block and links it behind the current one, in one group (UN4).
    fn give_next(&self, log: &UndoLog, pin: &Pin<'_>, session: &Session) -> Result<Dba, Stop> {
        let Segment { header, .. } = self.segments[usize::from(log.id.segment)];
        let changes = self.space.changes();
        let header_pin = changes.cache().pin(header, session)?;
        loop {
            self.space.ensure_room(header, session)?;
            let credits = credits_for(&[8, HandOut::PAYLOAD_BYTES]);
            let mut group = changes.begin(credits, session)?;
            let block = pin.exclusive(FrameOrder::Undo, session);
            let Some(found) = self.space.next(&header_pin, 1, session) else { continue };
            let next = found.blocks.first;
            group.change(block, &LAYER, SET_NEXT, &[DbaLe::new(next).bytes()]);
            found.add_to(&mut group);
            group.commit(session);
            return Ok(next);
        }
    }

    /// The newest change still to be taken back; none when the transaction is back at its
    /// beginning. Steps back over blocks that are empty.
    pub fn newest(&self, log: &mut UndoLog, session: &Session) -> Result<Option<UndoChange>, Stop> {
        let changes = self.space.changes();
        loop {
            let pin = changes.cache().pin(log.current, session)?;
            let block = pin.shared(FrameOrder::Undo, session);
            let undo = *UndoBlock::at(&block, UndoBlock::START);
            assert_eq!(undo.transaction.get(), Some(log.id), "undo of another transaction (UN1)");
            log.newest = undo.newest.get();
            log.free = undo.free.get();
            if log.newest != 0 {
                let at = usize::from(log.newest);
                let record = UndoRecord::at(&block, at);
                let start = at + UndoRecord::BYTES;
                return Ok(Some(UndoChange {
                    address: record.address.get(),
                    layer: record.layer,
                    opcode: record.opcode,
                    payload: block[start..start + usize::from(record.length.get())].to_vec(),
                }));
            }
            drop(block);
            if undo.previous == DbaLe::NONE {
                return Ok(None);
            }
            self.step_back(log, undo.previous.get(), session)?;
        }
    }

    fn step_back(&self, log: &mut UndoLog, to: Dba, session: &Session) -> Result<(), Stop> {
        let changes = self.space.changes();
        let Segment { table, .. } = self.segments[usize::from(log.id.segment)];
        let pin = changes.cache().pin(table, session)?;
        let mut group = changes.begin(credits_for(&[10]), session)?;
        let block = pin.exclusive(FrameOrder::TransactionTable, session);
        let (slot, to_block) = (log.id.slot.to_le_bytes(), DbaLe::new(to));
        group.change(block, &LAYER, SET_CURRENT, &[&slot, to_block.bytes()]);
        group.commit(session);
        log.current = to;
        Ok(())
    }

    /// Adds to the group the taking away of the newest record; `block` is the current one.
    pub fn pop<'a>(&self, group: &mut Group<'a>, block: ExclusiveBlock<'a>) {
        group.change(block, &LAYER, POP, &[]);
    }
}
