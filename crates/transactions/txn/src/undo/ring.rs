//! The ring of a segment's undo blocks: going on to the next block, or to a new one (UN4).
//!
//! ```text
//!      ┌──▶ A ──▶ B ──▶ C (current) ──▶ D ──┐      D is expired: it is emptied and filled
//!      └────────────────────────────────────┘      D is still needed: C ──▶ new ──▶ D
//! ```
//!
//! Callers: `transaction`, before each push.

use cache::Pin;
use change::credits_for;
use format::{BlockHeader, BlockKind, DbaLe, TxnIdLe, U16Le, UndoBlock};
use ids::{Dba, Scn, TxnId, UndoAddress};
use latch::FrameOrder;
use os::Session;
use space::{Blocks, HandOut};
use stop::{RefusalKind, Stop};
use waits::Statistic;

use crate::Transactions;

use super::apply::{LAYER, RESET, Reset, SET_CURRENT, SET_NEXT, SET_SPARE, Spare, TAKE_SPARE};
use super::log::{UndoLog, UndoPointer, before, fits};
use super::segment::Undo;

/// How many neighbouring blocks a segment gets at a time: a share of those that it has, so that the
/// blocks of a long ring are read and written many at once (UN15).
const BLOCKS_AT_ONCE: std::ops::RangeInclusive<u32> = 8..=64;
/// A segment gets one block for this many that it has.
const BLOCKS_SHARE: u32 = 8;
/// A block of a ring that isn't in the cache is read with its neighbours behind it, at most as many
/// as this (UN20).
const READ_AHEAD: u32 = 16;

/// A transaction that has ended, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransactionEnd {
    /// The transaction.
    pub transaction: TxnId,
    /// The SCN at which it ended, or by which it had ended.
    pub ended: Scn,
}

/// The block behind the current one.
struct NextBlock {
    address: Dba,
    /// The last transaction that pushed records there, or emptied the block.
    last: Option<TxnId>,
    /// The newest record there; none if all records there were taken away.
    newest: Option<UndoPointer>,
    /// The ends of transactions that have records there and are followed there by another one.
    ends: Vec<TransactionEnd>,
    /// The block with the older records of `last`, and how many records the block has or had.
    came_from: DbaLe,
    records: u16,
    /// The block behind this one.
    next: DbaLe,
}

impl Undo {
    /// Makes sure that a record with a payload of this length fits into the current block, if need
    /// be by going on to another one. Waits; called without latches.
    pub(crate) fn make_room(
        &self,
        log: &mut UndoLog,
        payload: usize,
        transactions: &Transactions,
        session: &Session,
    ) -> Result<(), Stop> {
        let bytes = self.changes.cache().block_size().bytes();
        if log.tail.current.is_some() && log.has_room(payload, bytes) {
            return Ok(());
        }
        // Undo room is made to the end, whatever becomes of the call (TX48).
        let _held = session.hold_off();
        let most = UndoLog::payload_max(bytes);
        assert!(payload <= most, "undo of {payload} bytes fits no block of {bytes}");
        let made = self.go_on_for(log, payload, bytes, transactions, session);
        let is_refused = |stop: &Stop| stop.refusal() == Some(RefusalKind::NoSpace);
        log.tail.is_short |= made.as_ref().is_err_and(is_refused);
        made
    }

    /// Goes on to a block with room for the payload; blocks have `bytes`.
    fn go_on_for(
        &self,
        log: &mut UndoLog,
        payload: usize,
        bytes: usize,
        transactions: &Transactions,
        session: &Session,
    ) -> Result<(), Stop> {
        let Some(current) = log.tail.current else {
            return self.insert(log, None, session);
        };
        let next = match self.look_at_next(current, session) {
            Err(stop) if stop.is_of_medium() => return self.pass_over(log, current, stop, session),
            next => next?,
        };
        log.tail.is_stuck = false;
        let Some(next) = next else {
            return self.insert(log, Some(current), session);
        };
        if self.is_left(&next, log, payload, bytes) {
            return self.enter_again(log, &next, session);
        }
        // The transaction itself has left this block when it was rolled back to a savepoint. The
        // block isn't emptied for it: numbers of its records would be used again, and a reader that
        // looks for a record that is gone would find another (UN6).
        if next.last == Some(log.id) {
            return self.insert(log, Some(current), session);
        }
        let Some(newest) = next.newest else {
            return self.reuse(log, &next, &[], transactions, session);
        };
        let by = match transactions.ended_by(newest, session) {
            Err(stop) if stop.is_of_medium() => return self.pass_over(log, current, stop, session),
            by => by?,
        };
        if transactions.is_needed(by, session) {
            match self.insert(log, Some(current), session) {
                // The tablespace is full: undo that only snapshots may need goes (UN14).
                Err(stop) if stop.refusal() == Some(RefusalKind::NoSpace) => {
                    transactions.make_visible(by, session)?;
                }
                inserted => return inserted,
            }
        }
        let last = TransactionEnd { transaction: newest.transaction, ended: by };
        let taken: Vec<TransactionEnd> = next.ends.iter().copied().chain([last]).collect();
        self.reuse(log, &next, &taken, transactions, session)
    }

    /// Puts a new block behind the current one, because the next block can't be read, which would
    /// tell whether its undo is needed (UN12). If there is no room, the refusal says why that block
    /// can't be read.
    fn pass_over(
        &self,
        log: &mut UndoLog,
        current: Dba,
        stop: Stop,
        session: &Session,
    ) -> Result<(), Stop> {
        log.tail.set_stuck(&stop, session);
        match self.insert(log, Some(current), session) {
            Err(refused) if refused.refusal() == Some(RefusalKind::NoSpace) => Err(stop),
            inserted => inserted,
        }
    }

    /// Whether the transaction has left this block by a rollback to a savepoint, and the payload
    /// fits there.
    fn is_left(&self, next: &NextBlock, log: &UndoLog, payload: usize, bytes: usize) -> bool {
        next.newest.is_none()
            && next.last == Some(log.id)
            && next.came_from == came_from(log)
            && fits(UndoBlock::RECORDS as u16, next.records, payload, bytes)
    }

    /// Goes on to a block that is as the transaction has left it.
    fn enter_again(
        &self,
        log: &mut UndoLog,
        next: &NextBlock,
        session: &Session,
    ) -> Result<(), Stop> {
        let changes = &self.changes;
        let table = changes.cache().pin(log.tail.table, session)?;
        let mut group = changes.begin(credits_for(&[size_of::<DbaLe>()]), session)?;
        let table = table.exclusive(FrameOrder::TransactionTable, session);
        group.change(table, &LAYER, SET_CURRENT, &[DbaLe::new(next.address).bytes()]);
        group.commit(session);
        go_on(log, next.address, session);
        log.tail.records = next.records;
        Ok(())
    }

    /// The block behind this one; none if the ring has only one.
    fn look_at_next(&self, current: Dba, session: &Session) -> Result<Option<NextBlock>, Stop> {
        let cache = self.changes.cache();
        let next = {
            let block = cache.pin_shared(current, FrameOrder::Undo, session)?;
            UndoBlock::at(&block, UndoBlock::START).next.get()
        };
        if next == current {
            return Ok(None);
        }
        // What is in the way of this, the get below meets too.
        drop(self.read_ahead(current, next, session));
        let block = cache.pin_shared(next, FrameOrder::Undo, session)?;
        let undo = UndoBlock::at(&block, UndoBlock::START);
        Ok(Some(NextBlock {
            address: next,
            last: undo.transaction.get(),
            newest: newest_record(&block, next),
            ends: ends_within(&block),
            came_from: undo.previous,
            records: undo.records.get(),
            next: undo.next,
        }))
    }

    /// Brings the next block into the cache with its neighbours, if the ring has come to it from
    /// the block before it: then they are likely to be the ring's next ones.
    fn read_ahead(&self, current: Dba, next: Dba, session: &Session) -> Result<(), Stop> {
        let cache = self.changes.cache();
        let follows = next.file == current.file && next.block.get() == current.block.get() + 1;
        if !follows || cache.holds(&[next], session) {
            return Ok(());
        }
        // All of these are undo segments' blocks: no other one is read.
        let behind = |run: &Blocks| {
            let from = next.block.get().checked_sub(run.first.block.get())?;
            (run.first.file == next.file && from < run.count).then(|| run.count - from)
        };
        if let Some(count) = self.space.blocks(self.header, session)?.iter().find_map(behind) {
            let mut reader = cache.multiblock_reader(session).only_written();
            reader.read_run(next, count.min(READ_AHEAD))?;
        }
        Ok(())
    }

    /// Empties the next block and goes on to it. The undo of the `taken` transactions goes.
    fn reuse(
        &self,
        log: &mut UndoLog,
        next: &NextBlock,
        taken: &[TransactionEnd],
        transactions: &Transactions,
        session: &Session,
    ) -> Result<(), Stop> {
        let changes = &self.changes;
        let pin = changes.cache().pin(next.address, session)?;
        let table = changes.cache().pin(log.tail.table, session)?;
        let mut group =
            changes.begin(credits_for(&[size_of::<Reset>(), size_of::<DbaLe>()]), session)?;
        if !taken.is_empty() {
            // Before any reader can miss the undo.
            transactions.note_overwritten(taken, session);
        }
        let block = pin.exclusive(FrameOrder::Undo, session);
        let transaction = TxnIdLe::new(log.id);
        let reset = Reset { transaction, previous: came_from(log), next: next.next };
        group.change(block, &LAYER, RESET, &[reset.bytes()]);
        let table = table.exclusive(FrameOrder::TransactionTable, session);
        group.change(table, &LAYER, SET_CURRENT, &[DbaLe::new(next.address).bytes()]);
        group.commit(session);
        go_on(log, next.address, session);
        Ok(())
    }

    /// Puts a new block behind the current one and goes on to it.
    fn insert(
        &self,
        log: &mut UndoLog,
        current: Option<Dba>,
        session: &Session,
    ) -> Result<(), Stop> {
        let (new, left) = match log.tail.spare {
            Some(spare) => spare,
            None => self.give_spare(log, session)?,
        };
        log.tail.spare = Some((new, left));
        let changes = &self.changes;
        let cache = changes.cache();
        let table = cache.pin(log.tail.table, session)?;
        let current = current.map(|current| cache.pin(current, session)).transpose()?;
        // No other session takes the block, because it is the segment's.
        let pin = cache.pin_new(new, session)?;
        for turn in 0.. {
            if self.try_insert(log, [&table, &pin], current.as_ref(), session)? {
                break;
            }
            session.relax(turn);
        }
        let next = Dba::new(new.file.get(), new.block.get() + 1);
        log.tail.spare = (left > 1).then_some((next, left - 1));
        log.tail.blocks += 1;
        go_on(log, new, session);
        Ok(())
    }

    /// Hands out blocks to a segment that has no spare ones left. Returns the first one, and how
    /// many they are.
    fn give_spare(&self, log: &UndoLog, session: &Session) -> Result<(Dba, u16), Stop> {
        let changes = &self.changes;
        let header = changes.cache().pin(self.header, session)?;
        let table = changes.cache().pin(log.tail.table, session)?;
        let (least, most) = (*BLOCKS_AT_ONCE.start(), *BLOCKS_AT_ONCE.end());
        let wanted = (log.tail.blocks / BLOCKS_SHARE).clamp(least, most);
        loop {
            self.space.ensure_room(self.header, session)?;
            let credits = credits_for(&[size_of::<Spare>(), HandOut::PAYLOAD_BYTES]);
            let mut group = changes.begin(credits, session)?;
            let table = table.exclusive(FrameOrder::TransactionTable, session);
            let Some(next) = self.space.next(&header, wanted, session) else { continue };
            let Blocks { first, count } = next.blocks;
            let count = count as u16;
            let spare = Spare { first: DbaLe::new(first), count: U16Le::new(count) };
            group.change(table, &LAYER, SET_SPARE, &[spare.bytes()]);
            next.add_to(&mut group);
            group.commit(session);
            return Ok((first, count));
        }
    }

    /// Links the new block into the ring. Returns false if the new block's latch is held, by a
    /// writer that was told of the block too early.
    fn try_insert(
        &self,
        log: &UndoLog,
        [table, new]: [&Pin<'_>; 2],
        current: Option<&Pin<'_>>,
        session: &Session,
    ) -> Result<bool, Stop> {
        let credits = credits_for(&[size_of::<Reset>(), size_of::<DbaLe>(), 0]);
        let mut group = self.changes.begin(credits, session)?;
        let link = DbaLe::new(new.address());
        let current = current.map(|current| current.exclusive(FrameOrder::Undo, session));
        let next = match &current {
            Some(current) => UndoBlock::at(current, UndoBlock::START).next,
            None => link,
        };
        // The second latch of one order is taken only if it is free.
        let Some(block) = new.try_exclusive(FrameOrder::Undo, session) else { return Ok(false) };
        let table = table.exclusive(FrameOrder::TransactionTable, session);
        let transaction = TxnIdLe::new(log.id);
        let reset = Reset { transaction, previous: came_from(log), next };
        group.format(block, &LAYER, RESET, &[reset.bytes()]);
        if let Some(current) = current {
            group.change(current, &LAYER, SET_NEXT, &[link.bytes()]);
        }
        group.change(table, &LAYER, TAKE_SPARE, &[]);
        group.commit(session);
        Ok(true)
    }

    /// The end of the transaction of an undo record, which has ended and isn't its segment's
    /// newest: the first record of the next transaction that has records says it (UN7).
    pub(crate) fn ended_by_undo(
        &self,
        undo: UndoPointer,
        session: &Session,
    ) -> Result<EndInUndo, Stop> {
        let UndoPointer { address, transaction: id } = undo;
        let cache = self.changes.cache();
        let first = (address.block, address.record);
        let mut at = first;
        let said = loop {
            let block = cache.pin_shared(at.0, FrameOrder::Undo, session)?;
            let is_undo = BlockHeader::at(&block, 0).kind() == BlockKind::Undo;
            if !is_undo || at == first && !has_record(&block, address.record, id) {
                return Ok(EndInUndo::Gone);
            }
            if let Some(said) = says(&block, at.1, id) {
                break said;
            }
            let next = UndoBlock::at(&block, UndoBlock::START).next.get();
            if next == address.block {
                break EndInUndo::Last;
            }
            at = (next, 0);
        };
        if at == first {
            return Ok(said);
        }
        // A ring is overwritten in order. So if the record is still there, the blocks that were
        // read behind it weren't overwritten meanwhile (UN13).
        let block = cache.pin_shared(address.block, FrameOrder::Undo, session)?;
        Ok(if has_record(&block, address.record, id) { said } else { EndInUndo::Gone })
    }
}

/// Whether an undo block has a record of this transaction, with this number or a later one. The
/// record with this number may have been taken back.
fn has_record(block: &[u8], number: u16, id: TxnId) -> bool {
    if BlockHeader::at(block, 0).kind() != BlockKind::Undo {
        return false;
    }
    let records = UndoBlock::at(block, UndoBlock::START).records.get();
    let mut whose = (number..records).filter_map(|number| before(block, number));
    whose.next().is_some_and(|(other, _)| other == id)
}

/// The newest record of the undo block with this address that wasn't taken away.
fn newest_record(block: &[u8], address: Dba) -> Option<UndoPointer> {
    let records = UndoBlock::at(block, UndoBlock::START).records.get();
    (0..records).rev().find_map(|record| {
        let (transaction, _) = before(block, record)?;
        Some(UndoPointer { address: UndoAddress { block: address, record }, transaction })
    })
}

/// The transactions of an undo block that are followed there by another one, in order. The first
/// record of the next one says when each ended.
fn ends_within(block: &[u8]) -> Vec<TransactionEnd> {
    let records = UndoBlock::at(block, UndoBlock::START).records.get();
    let there: Vec<_> = (0..records).filter_map(|number| before(block, number)).collect();
    let follows = |pair: &[(TxnId, Option<Scn>)]| match pair {
        [(id, _), (other, Some(ended))] if id != other => {
            Some(TransactionEnd { transaction: *id, ended: *ended })
        }
        _ => None,
    };
    there.windows(2).filter_map(follows).collect()
}

/// What a block says of the end of this transaction, from this record on: the first record of
/// another transaction says it. None if the block has no such record.
fn says(block: &[u8], number: u16, id: TxnId) -> Option<EndInUndo> {
    let records = UndoBlock::at(block, UndoBlock::START).records.get();
    // Records that were taken away say nothing.
    let mut there = (number..records).filter_map(|number| before(block, number));
    there.find(|(other, _)| *other != id).map(|(other, ended)| match ended {
        Some(ended) if other.order() > id.order() => EndInUndo::Ended(ended),
        // The ring's oldest transaction: it follows the newest one.
        _ => EndInUndo::Last,
    })
}

/// What undo says of the end of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EndInUndo {
    /// It ended at this SCN.
    Ended(Scn),
    /// It is the last transaction of its segment that left undo.
    Last,
    /// Nothing, because its undo was overwritten or taken back.
    Gone,
}

/// The block with the transaction's older records, as the next block names it; none if there are no
/// records.
fn came_from(log: &UndoLog) -> DbaLe {
    match (log.has_records(), log.tail.current) {
        (true, Some(current)) => DbaLe::new(current),
        _ => DbaLe::NONE,
    }
}

fn go_on(log: &mut UndoLog, to: Dba, session: &Session) {
    session.count(Statistic::UndoBlocksFilled, 1);
    log.blocks_filled += 1;
    log.tail.current = Some(to);
    log.tail.records = 0;
    log.tail.free = UndoBlock::RECORDS as u16;
}
