//! Undo segments: making them, finding them, and ending transactions in their tables.
//!
//! Callers: `transaction`; `consistent`, for ends.

use cache::{Pin, is_unwritten};
use change::{Changes, credits_for};
use format::{
    BlockHeader, BlockKind, DbaLe, TransactionSlot, TransactionTable, U16Le, U32Le, UndoBlock,
};
use ids::{Dba, Scn, TxnId};
use latch::FrameOrder;
use os::Session;
use redo::RecordPosition;
use space::{Blocks, HandOut, Holds, Space, UNDO_TABLESPACE};
use stop::Stop;

use super::apply::{
    ACTIVE, COMMITTED, END, FORMAT_TABLE, LAYER, ROLLED_BACK, SET_NEXT_SEGMENT, SlotState, slot_at,
};
use super::check::record_link;
use super::log::{Tail, UndoLog};

/// The segment, in the sense of space, from which all undo segments take their blocks.
const NAME: &str = "_undo";

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    /// Its changes stay.
    Committed,
    /// Its changes were taken back.
    RolledBack,
}

/// The undo segments of a database.
#[derive(Clone)]
pub struct Undo {
    pub(crate) space: Space,
    /// What changes its blocks.
    pub(crate) changes: Changes,
    /// The header of the segment that all blocks come from.
    pub(crate) header: Dba,
    /// How many slots each table has.
    pub(crate) slots: u16,
}

/// What a transaction table says of a transaction that has begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TableStatus {
    /// It hasn't ended.
    Active,
    /// It ended at this SCN.
    Ended(Scn),
    /// It has ended, and a later transaction has its slot.
    SlotReused,
}

/// An undo segment as it was found.
pub(crate) enum SegmentState {
    /// No transaction is active in it. The next one begins here.
    Idle(Tail),
    /// A transaction is active in it, and no session has it.
    Dead(UndoLog),
}

impl SegmentState {
    /// The segment, if the last transaction that left records ended at this SCN.
    pub(crate) fn after(self, at: Scn) -> SegmentState {
        match self {
            SegmentState::Idle(tail) => SegmentState::Idle(tail.after(at)),
            SegmentState::Dead(log) => SegmentState::Dead(log.after(at)),
        }
    }
}

/// The head of a transaction table.
struct TableHead {
    /// The table of the next segment.
    next: Option<Dba>,
    /// How many slots it has.
    slots: u16,
}

impl Undo {
    /// Makes undo segments, whose tables have `slots`, or as many as fit in a block.
    pub fn create(space: &Space, segments: u16, slots: u16, session: &Session) -> Result<(), Stop> {
        let header = space.create_within(UNDO_TABLESPACE, NAME, Holds::Undo, session)?.header;
        let room = space.changes().cache().block_size().bytes() - TransactionTable::SLOTS;
        let slots = slots.clamp(1, (room / TransactionSlot::BYTES) as u16);
        let undo = Undo { space: space.clone(), changes: space.changes().clone(), header, slots };
        let mut last = None;
        for number in 0..segments.max(1) {
            last = Some(undo.add_segment(last, number, session)?.table);
        }
        Ok(())
    }

    /// Finds the undo segments of the database, in the order of their numbers. There are none while
    /// the database is being created.
    pub(crate) fn open(
        space: &Space,
        session: &Session,
    ) -> Result<(Undo, Vec<SegmentState>), Stop> {
        let mut undo = Undo {
            space: space.clone(),
            changes: space.changes().clone(),
            header: Dba::new(0, 0),
            slots: 1,
        };
        let mut found = Vec::new();
        let Some(segment) = space.find(NAME, session)? else { return Ok((undo, found)) };
        undo.header = segment.header;
        // The first block that was handed out is the first segment's table.
        let mut at = Dba::new(segment.header.file.get(), segment.header.block.get() + 1);
        while let Some(TableHead { next, slots }) = undo.table_at(at, session)? {
            undo.slots = slots;
            found.push(undo.found(at, session)?);
            let Some(next) = next else { break };
            at = next;
        }
        Ok((undo, found))
    }

    /// Finds the state of the segment with this table, for a session that is its only user.
    pub(crate) fn found(&self, table: Dba, session: &Session) -> Result<SegmentState, Stop> {
        let (mut tail, is_active) = {
            let cache = self.changes.cache();
            let block = cache.pin_shared(table, FrameOrder::TransactionTable, session)?;
            look_at(&block, table)
        };
        match self.place_in_current(&tail, session) {
            Ok((free, records)) => (tail.free, tail.records) = (free, records),
            // No transaction needs records from there to be taken back. The block counts as full
            // (UN17).
            Err(stop) if !is_active && stop.is_of_medium() => {
                tail.free = u16::MAX;
                tail.set_stuck(&stop, session);
            }
            Err(stop) => return Err(stop),
        }
        Ok(if is_active {
            SegmentState::Dead(UndoLog::of_dead(tail))
        } else {
            SegmentState::Idle(tail)
        })
    }

    /// The head of the transaction table in this block; none if the block isn't one.
    fn table_at(&self, at: Dba, session: &Session) -> Result<Option<TableHead>, Stop> {
        let cache = self.changes.cache();
        let block = cache.pin_shared(at, FrameOrder::TransactionTable, session)?;
        if is_unwritten(&block) || BlockHeader::at(&block, 0).kind() != BlockKind::TransactionTable
        {
            return Ok(None);
        }
        let head = TransactionTable::at(&block, TransactionTable::START);
        let next = (head.next_segment != DbaLe::NONE).then(|| head.next_segment.get());
        Ok(Some(TableHead { next, slots: head.slots.get() }))
    }

    /// The tablespaces that the segments are in.
    pub(crate) fn space(&self) -> &Space {
        &self.space
    }

    /// Makes another segment, linked behind the one with the table `last`. Only one session at a
    /// time does this.
    pub(crate) fn add_segment(
        &self,
        last: Option<Dba>,
        number: u16,
        session: &Session,
    ) -> Result<Tail, Stop> {
        let changes = &self.changes;
        let cache = changes.cache();
        let header_pin = cache.pin(self.header, session)?;
        let last = last.map(|last| cache.pin(last, session)).transpose()?;
        let head = TransactionTable {
            segment: U16Le::new(number),
            slots: U16Le::new(self.slots),
            newest: U16Le::ZERO,
            spare_count: U16Le::ZERO,
            next_segment: DbaLe::NONE,
            current: DbaLe::NONE,
            blocks: U32Le::ZERO,
            reserved: [0; 4],
            spare: DbaLe::NONE,
        };
        for turn in 0.. {
            let table = self.peek_next(&header_pin, session)?;
            // The block is read, though it is to be formatted: until the header is latched, another
            // session may take the block, write it and release its buffer.
            let pin = cache.pin_to_format(table, session)?;
            let payloads =
                [size_of::<TransactionTable>(), size_of::<DbaLe>(), HandOut::PAYLOAD_BYTES];
            let mut group = changes.begin(credits_for(&payloads), session)?;
            let last = last.as_ref().map(|l| l.exclusive(FrameOrder::TransactionTable, session));
            // The second latch of one order is taken only if it is free.
            let Some(block) = pin.try_exclusive(FrameOrder::TransactionTable, session) else {
                session.relax(turn);
                continue;
            };
            let next = self.space.next(&header_pin, 1, session);
            let Some(next) = next.filter(|next| next.blocks.first == table) else { continue };
            group.format(block, &LAYER, FORMAT_TABLE, &[head.bytes()]);
            if let Some(last) = last {
                group.change(last, &LAYER, SET_NEXT_SEGMENT, &[DbaLe::new(table).bytes()]);
            }
            next.add_to(&mut group);
            group.commit(session);
            return Ok(Tail::new(number, table, self.slots));
        }
        unreachable!("the loop ends by returning")
    }

    /// The block that would be handed out next; makes sure that there is one. The caller asks again
    /// under the header's latch whether it is still the next.
    fn peek_next(&self, header: &Pin<'_>, session: &Session) -> Result<Dba, Stop> {
        loop {
            self.space.ensure_room(self.header, session)?;
            // The hand-out is dropped at once, so nothing is handed out.
            if let Some(next) = self.space.next(header, 1, session) {
                return Ok(next.blocks.first);
            }
        }
    }

    /// Ends a transaction that has begun. The SCN of the record is the transaction's end.
    pub(crate) fn end(
        &self,
        log: &UndoLog,
        ended: Ended,
        session: &Session,
    ) -> Result<RecordPosition, Stop> {
        let changes = &self.changes;
        let pin = changes.cache().pin(log.tail.table, session)?;
        let mut group = changes.begin(credits_for(&[size_of::<SlotState>()]), session)?;
        let block = pin.exclusive(FrameOrder::TransactionTable, session);
        let state = match ended {
            Ended::Committed => COMMITTED,
            Ended::RolledBack => ROLLED_BACK,
        };
        let ended = SlotState { slot: U16Le::new(log.id.slot), state };
        group.change(block, &LAYER, END, &[ended.bytes()]);
        Ok(group.commit(session))
    }

    /// How many undo records the transaction of a segment has, as the blocks in the cache tell;
    /// none if they don't. Waits for latches only.
    pub(crate) fn records_seen(&self, id: TxnId, table: Dba, session: &Session) -> Option<u32> {
        let cache = self.changes.cache();
        let some = |address: DbaLe| (address != DbaLe::NONE).then(|| address.get());
        let mut next = {
            let pin = cache.pin_cached(table, session)?;
            let block = pin.shared(FrameOrder::TransactionTable, session);
            some(TransactionTable::at(&block, TransactionTable::START).current)
        };
        // A block that the transaction has just entered has no record of it yet.
        for _ in 0..2 {
            let Some(address) = next else { return Some(0) };
            let pin = cache.pin_cached(address, session)?;
            let block = pin.shared(FrameOrder::Undo, session);
            let head = UndoBlock::at(&block, UndoBlock::START);
            if head.transaction.get() != Some(id) {
                return Some(0);
            }
            if let Some(newest) = head.newest.get().checked_sub(1) {
                return record_link(&block, newest, id).map(|link| link.ordinal + 1);
            }
            next = some(head.previous);
        }
        None
    }

    /// What the segment's table says of a transaction. Waits for the table's latch, and so for a
    /// commit record that is being made (TX41).
    pub(crate) fn ended_by_table(
        &self,
        id: TxnId,
        table: Dba,
        session: &Session,
    ) -> Result<TableStatus, Stop> {
        let cache = self.changes.cache();
        let block = cache.pin_shared(table, FrameOrder::TransactionTable, session)?;
        let slot = TransactionSlot::at(&block, slot_at(id.slot));
        Ok(match slot.sequence.get() == id.sequence {
            true if slot.state == ACTIVE => TableStatus::Active,
            true => TableStatus::Ended(slot.ended.get()),
            false => TableStatus::SlotReused,
        })
    }

    /// The offset of the first free byte of the tail's current block, and how many records that
    /// block has or had.
    fn place_in_current(&self, tail: &Tail, session: &Session) -> Result<(u16, u16), Stop> {
        let Some(current) = tail.current else { return Ok((0, 0)) };
        let cache = self.changes.cache();
        let block = cache.pin_shared(current, FrameOrder::Undo, session)?;
        let undo = UndoBlock::at(&block, UndoBlock::START);
        Ok((undo.free.get(), undo.records.get()))
    }

    /// Checks that the undo blocks of each segment are one ring, and that exactly the blocks that
    /// are linked were handed out.
    pub fn check(&self, session: &Session) -> Result<(), String> {
        let say = |stop: Stop| stop.to_string();
        let cache = self.changes.cache();
        let mut linked = vec![self.header];
        let mut at = DbaLe::new(Dba::new(self.header.file.get(), self.header.block.get() + 1));
        while at != DbaLe::NONE {
            linked.push(at.get());
            let (next, current, blocks) = {
                let order = FrameOrder::TransactionTable;
                let block = cache.pin_shared(at.get(), order, session).map_err(say)?;
                let head = TransactionTable::at(&block, TransactionTable::START);
                let spare = |n| {
                    let first = head.spare.get();
                    Dba::new(first.file.get(), first.block.get() + u32::from(n))
                };
                linked.extend((0..head.spare_count.get()).map(spare));
                (head.next_segment, head.current, head.blocks.get())
            };
            let mut undo = current;
            for _ in 0..blocks {
                linked.push(undo.get());
                let order = FrameOrder::Undo;
                let block = cache.pin_shared(undo.get(), order, session).map_err(say)?;
                undo = UndoBlock::at(&block, UndoBlock::START).next;
            }
            if undo != current {
                return Err(format!("the undo blocks of {} are no ring of {blocks}", at.get()));
            }
            at = next;
        }
        linked.sort();
        let runs = self.space.blocks(self.header, session).map_err(say)?;
        let mut handed_out: Vec<Dba> = runs.into_iter().flat_map(Blocks::addresses).collect();
        handed_out.sort();
        match linked == handed_out {
            true => Ok(()),
            false => Err(format!(
                "undo: blocks {linked:?} are linked, and {handed_out:?} were handed out"
            )),
        }
    }
}

/// Reads a transaction table: the segment's tail without its place in the current block, and
/// whether the newest transaction is active.
fn look_at(block: &[u8], table: Dba) -> (Tail, bool) {
    let head = TransactionTable::at(block, TransactionTable::START);
    assert!(
        BlockHeader::at(block, 0).kind() == BlockKind::TransactionTable,
        "block {table} is linked as a transaction table"
    );
    let slot = |number: u16| TransactionSlot::at(block, slot_at(number));
    let newest = slot(head.newest.get());
    let committed = (0..head.slots.get()).map(slot).filter(|slot| slot.state == COMMITTED);
    let before = committed.map(|slot| slot.ended.get()).max().unwrap_or(Scn::ZERO);
    let some = |address: DbaLe| (address != DbaLe::NONE).then(|| address.get());
    let mut tail = Tail::new(head.segment.get(), table, head.slots.get());
    if newest.sequence.get() > 0 {
        tail.newest = (newest.sequence.get(), head.newest.get());
    }
    (tail.current, tail.blocks) = (some(head.current), head.blocks.get());
    tail.before = before;
    tail.spare = some(head.spare).map(|first| (first, head.spare_count.get()));
    (tail, newest.state == ACTIVE)
}
