//! Undo segments: making them, and beginning and ending transactions in their tables.
//!
//! Callers: `txn`.

use cache::is_unwritten;
use change::credits_for;
use format::{
    BlockHeader, BlockKind, DbaLe, TransactionSlot, TransactionTable, TxnIdLe, U16Le, UndoBlock,
};
use ids::{Dba, TxnId};
use latch::FrameOrder;
use os::Session;
use redo::Placed;
use space::{HandOut, Holds, Space};
use stop::Stop;

use crate::apply::{
    ACTIVE, BEGIN, COMMITTED, END, FORMAT_TABLE, LAYER, RESET, ROLLED_BACK, SET_FIRST, slot_at,
};
use crate::log::UndoLog;

/// Names of undo segments begin so.
const PREFIX: &str = "_undo";

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Its changes stay.
    Committed,
    /// Its changes were taken back.
    RolledBack,
}

/// One undo segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) header: Dba,
    pub(crate) table: Dba,
}

/// All undo segments, in the order of their numbers.
#[derive(Clone)]
pub struct Undo {
    pub(crate) space: Space,
    pub(crate) segments: Vec<Segment>,
    slots: u16,
}

impl Undo {
    /// Makes so many undo segments, each with a table of `slots`, or as many as fit in a block.
    pub fn create(space: &Space, segments: u16, slots: u16, session: &Session) -> Result<(), Stop> {
        for number in 0..segments {
            let segment = space.create(&format!("{PREFIX}{number}"), Holds::Undo, &[], session)?;
            let table = space.hand_out(segment.header, 1, session)?.first;
            let changes = space.changes();
            let pin = changes.cache().pin_new(table, session)?;
            let mut group =
                changes.begin(credits_for(&[size_of::<TransactionTable>()]), session)?;
            let block = pin.exclusive(FrameOrder::TransactionTable, session);
            let room = (block.len() - TransactionTable::SLOTS) / TransactionSlot::BYTES;
            let head = TransactionTable {
                segment: U16Le::new(number),
                slots: U16Le::new(slots.min(room as u16)),
                reserved: [0; 4],
            };
            group.change(block, &LAYER, FORMAT_TABLE, &[head.bytes()]);
            group.commit(session);
        }
        Ok(())
    }

    /// The undo segments of the database.
    pub fn open(space: &Space, session: &Session) -> Result<Undo, Stop> {
        let mut found = Vec::new();
        for segment in space.list(session)? {
            if segment.holds == Holds::Undo {
                // The table is the block behind the header: the first that was handed out.
                let first = Dba::new(segment.header.file.get(), segment.header.block.get() + 1);
                let pin = space.changes().cache().pin(first, session)?;
                let block = pin.shared(FrameOrder::TransactionTable, session);
                let kind = BlockHeader::at(&block, 0);
                if is_unwritten(&block) || kind.kind() != BlockKind::TransactionTable {
                    continue;
                }
                let table = TransactionTable::at(&block, TransactionTable::START);
                let segment = Segment { header: segment.header, table: first };
                found.push((table.segment.get(), table.slots.get(), segment));
            }
        }
        found.sort_by_key(|(number, ..)| *number);
        let slots = found.iter().map(|(_, slots, _)| *slots).min().unwrap_or(0);
        let segments = found.into_iter().map(|(.., segment)| segment).collect();
        Ok(Undo { space: space.clone(), segments, slots })
    }

    /// How many segments there are.
    pub fn segments(&self) -> u16 {
        self.segments.len() as u16
    }

    /// How many slots each has.
    pub fn slots(&self) -> u16 {
        self.slots
    }

    /// Begins a transaction in a slot that no other has (UN1).
    pub fn begin(&self, segment: u16, slot: u16, session: &Session) -> Result<UndoLog, Stop> {
        let Segment { table, .. } = self.segments[usize::from(segment)];
        let changes = self.space.changes();
        let pin = changes.cache().pin(table, session)?;
        let stored = {
            let block = pin.shared(FrameOrder::TransactionTable, session);
            *TransactionSlot::at(&block, slot_at(slot))
        };
        let first = match stored.first == DbaLe::NONE {
            true => self.give_first(segment, slot, session)?,
            false => stored.first.get(),
        };
        let id = TxnId { segment, slot, sequence: stored.sequence.get() + 1 };
        let undo = changes.cache().pin(first, session)?;
        let mut group = changes.begin(credits_for(&[16, 6]), session)?;
        let block = undo.exclusive(FrameOrder::Undo, session);
        let of = TxnIdLe::new(id);
        group.change(block, &LAYER, RESET, &[of.bytes(), DbaLe::NONE.bytes()]);
        let block = pin.exclusive(FrameOrder::TransactionTable, session);
        let sequence = id.sequence.to_le_bytes();
        group.change(block, &LAYER, BEGIN, &[&slot.to_le_bytes(), &sequence]);
        group.commit(session);
        Ok(UndoLog { id, current: first, free: UndoBlock::RECORDS as u16, newest: 0 })
    }

    /// Hands out the first undo block of a slot, and links it to the slot (UN4).
    fn give_first(&self, segment: u16, slot: u16, session: &Session) -> Result<Dba, Stop> {
        let Segment { header, table } = self.segments[usize::from(segment)];
        let changes = self.space.changes();
        let table = changes.cache().pin(table, session)?;
        let header_pin = changes.cache().pin(header, session)?;
        loop {
            self.space.ensure_room(header, session)?;
            let credits = credits_for(&[10, HandOut::PAYLOAD_BYTES]);
            let mut group = changes.begin(credits, session)?;
            let block = table.exclusive(FrameOrder::TransactionTable, session);
            let Some(next) = self.space.next(&header_pin, 1, session) else { continue };
            let first = next.blocks.first;
            let link = DbaLe::new(first);
            group.change(block, &LAYER, SET_FIRST, &[&slot.to_le_bytes(), link.bytes()]);
            next.add_to(&mut group);
            group.commit(session);
            return Ok(first);
        }
    }

    /// Ends a transaction. The record's SCN is when.
    pub fn end(&self, log: &UndoLog, ended: Ended, session: &Session) -> Result<Placed, Stop> {
        let changes = self.space.changes();
        let table = self.segments[usize::from(log.id.segment)].table;
        let pin = changes.cache().pin(table, session)?;
        let mut group = changes.begin(credits_for(&[3]), session)?;
        let block = pin.exclusive(FrameOrder::TransactionTable, session);
        let state = match ended {
            Ended::Committed => COMMITTED,
            Ended::RolledBack => ROLLED_BACK,
        };
        group.change(block, &LAYER, END, &[&log.id.slot.to_le_bytes(), &[state]]);
        Ok(group.commit(session))
    }

    /// Transactions that are active according to the tables: after a crash, the dead ones.
    pub fn active(&self, session: &Session) -> Result<Vec<UndoLog>, Stop> {
        let mut active = Vec::new();
        for (number, segment) in (0..).zip(&self.segments) {
            let pin = self.space.changes().cache().pin(segment.table, session)?;
            let block = pin.shared(FrameOrder::TransactionTable, session);
            for slot in 0..self.slots {
                let stored = TransactionSlot::at(&block, slot_at(slot));
                if stored.state == ACTIVE {
                    let sequence = stored.sequence.get();
                    let id = TxnId { segment: number, slot, sequence };
                    active.push((id, stored.current.get()));
                }
            }
        }
        active.into_iter().map(|(id, current)| self.open_log(id, current, session)).collect()
    }

    fn open_log(&self, id: TxnId, current: Dba, session: &Session) -> Result<UndoLog, Stop> {
        let pin = self.space.changes().cache().pin(current, session)?;
        let block = pin.shared(FrameOrder::Undo, session);
        let undo = UndoBlock::at(&block, UndoBlock::START);
        assert!(undo.transaction.get() == Some(id), "undo of another transaction (UN1)");
        Ok(UndoLog { id, current, free: undo.free.get(), newest: undo.newest.get() })
    }

    /// Every undo block of every slot, for checks: linked once, and handed out by its segment.
    pub fn check(&self, session: &Session) -> Result<(), String> {
        let say = |stop: Stop| stop.to_string();
        for segment in &self.segments {
            let mut linked = vec![segment.header, segment.table];
            let pin = self.space.changes().cache().pin(segment.table, session).map_err(say)?;
            let block = pin.shared(FrameOrder::TransactionTable, session);
            let slots: Vec<DbaLe> =
                (0..self.slots).map(|s| TransactionSlot::at(&block, slot_at(s)).first).collect();
            drop(block);
            for first in slots {
                let mut at = first;
                while at != DbaLe::NONE {
                    linked.push(at.get());
                    let pin = self.space.changes().cache().pin(at.get(), session).map_err(say)?;
                    let block = pin.shared(FrameOrder::Undo, session);
                    let next = UndoBlock::at(&block, UndoBlock::START).next;
                    at = if is_unwritten(&block) { DbaLe::NONE } else { next };
                }
            }
            linked.sort();
            let runs = self.space.blocks(segment.header, session).map_err(say)?;
            let mut handed_out: Vec<Dba> = runs
                .iter()
                .flat_map(|run| (0..run.count).map(|n| (run.first, n)))
                .map(|(first, n)| Dba::new(first.file.get(), first.block.get() + n))
                .collect();
            handed_out.sort();
            if linked != handed_out {
                return Err(format!(
                    "undo segment at {}: blocks {linked:?} are linked, {handed_out:?} handed out",
                    segment.header
                ));
            }
        }
        Ok(())
    }
}
