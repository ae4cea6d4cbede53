//! Putting rows, and pieces of rows, into blocks.
//!
//! Callers: `rows`, `change`.

use format::DataSlot;
use ids::Scn;
use os::Session;
use stop::Stop;
use txn::block;
use txn::{OwnItlEntry, Transaction, View};

use super::piece::{ADDRESS_BYTES, NEXT, PIECE, ROW, stored, whole};
use super::{Heap, PCTFREE};
use crate::RowAddress;
use crate::free_map::room_of;
use crate::heap::{Outcome, Plan, Wish, change_block};
use crate::inserter::{Filler, HeapInserter, NoRoom};
use crate::ops::Op;

impl Heap {
    /// Inserts a row, and says where it is. If it is refused nothing of it is there.
    pub fn insert(
        &self,
        transaction: &mut Transaction,
        inserter: &mut HeapInserter,
        row: &[u8],
        session: &Session,
    ) -> Result<RowAddress, Stop> {
        let (flags, bytes) = whole(row);
        if bytes.len() <= self.piece_max {
            let to = (inserter, None);
            return self.put(transaction, to, (ROW | flags, &[&bytes]), session);
        }
        let savepoint = transaction.savepoint();
        let inserted = self.put_in_pieces(transaction, (inserter, None), (ROW, row), session);
        if inserted.is_err() {
            self.transactions.rollback_to(transaction, savepoint, session)?;
        }
        inserted
    }

    /// Puts bytes of a row into as many slots as they need, the last first. `flag` is that of the
    /// first of them, whose address it says. The statement has this snapshot, if it has one.
    pub(super) fn put_in_pieces(
        &self,
        transaction: &mut Transaction,
        (inserter, snapshot): (&mut HeapInserter, Option<Scn>),
        (flag, bytes): (u8, &[u8]),
        session: &Session,
    ) -> Result<RowAddress, Stop> {
        let (short, last) = whole(bytes);
        if last.len() <= self.piece_max {
            return self.put(transaction, (inserter, snapshot), (flag | short, &[&last]), session);
        }
        let most = self.piece_max - ADDRESS_BYTES;
        let mut pieces = bytes.chunks(most).rev();
        let last = pieces.next().expect("a long row has pieces");
        let (short, last) = whole(last);
        let mut next =
            self.put(transaction, (inserter, snapshot), (PIECE | short, &[&last]), session)?;
        let mut left = pieces.len();
        for piece in pieces {
            left -= 1;
            let flag = if left == 0 { flag } else { PIECE };
            let what: (u8, &[&[u8]]) = (flag | NEXT, &[&stored(next), piece]);
            next = self.put(transaction, (inserter, snapshot), what, session)?;
        }
        Ok(next)
    }

    /// Puts this into a slot of some block.
    fn put(
        &self,
        transaction: &mut Transaction,
        (inserter, snapshot): (&mut HeapInserter, Option<Scn>),
        (flags, parts): (u8, &[&[u8]]),
        session: &Session,
    ) -> Result<RowAddress, Stop> {
        let bytes = parts.concat();
        let longest = Op::TRIM_BYTES + Op::HEAD_BYTES_MAX + bytes.len();
        let Heap { header, object, .. } = *self;
        let filler = Filler { space: &self.space, header, object };
        let needed = self.bytes_needed(bytes.len());
        loop {
            let undo_bytes = OwnItlEntry::BACK_BYTES_MAX + Op::HEAD_BYTES_MAX;
            self.transactions.prepare(transaction, undo_bytes, session)?;
            let pin = filler.block(inserter, needed, session)?;
            let of_statement = || snapshot.map(|scn| transaction.view_at(scn));
            let fixed = transaction.fixed_view().or_else(of_statement).map(View::with_all_own);
            let mut no_room = None;
            let mut wish = |block: &[u8], itl: &OwnItlEntry| {
                let wanted = bytes.len() + DataSlot::BYTES + kept_free(block);
                no_room = Some(NoRoom { needed, is_kept: room_of(block) >= wanted });
                let is_current = |view| self.transactions.is_current(block, view, session);
                put_plan((block, fixed.is_none_or(is_current)), itl, (flags, &bytes))
            };
            let is_it = |block: &[u8]| self.is_its(block);
            let target = Heap::target(&pin, (longest, snapshot), &is_it);
            match change_block(&self.transactions, transaction, &target, &mut wish, session)? {
                Outcome::Done(slot) => {
                    inserter.found_room();
                    return Ok(RowAddress { block: pin.address(), slot });
                }
                // There are other blocks.
                _ => filler.leave(inserter, &pin, no_room, session)?,
            }
        }
    }

    /// Free bytes that a block needs for a slot of so many, with those that stay free; without, if
    /// only an empty one has them.
    pub(super) fn bytes_needed(&self, bytes: usize) -> usize {
        let kept_free = self.block_bytes * PCTFREE / 100;
        match bytes + DataSlot::BYTES + kept_free {
            with if with <= self.empty_room => with,
            _ => bytes,
        }
    }
}

/// How bytes get into a block, and where. Not into one that isn't `current`, as of the snapshot of
/// the statement, or of the transaction if it has but one: either may see what was there then,
/// beside its own row (AC8).
fn put_plan(
    (block, current): (&[u8], bool),
    itl: &OwnItlEntry,
    (flags, bytes): (u8, &[u8]),
) -> Wish<u16> {
    if !current {
        return Wish::Nothing(Outcome::Full);
    }
    let directory = block::directory(block);
    let is_free = |slot: &DataSlot| is_free(slot, itl);
    let slot = directory.iter().position(is_free).unwrap_or(directory.len());
    let kept_free = kept_free(block);
    let (room, for_directory) = (itl.room(block), itl.directory_room(block));
    // With so many bytes of the directory given up before.
    let has_room = |slot, slots, trimmed: usize| {
        let grown = if slot == slots { DataSlot::BYTES } else { 0 };
        room + trimmed >= bytes.len() + grown + kept_free && for_directory + trimmed >= grown
    };
    let put = |slot: usize| {
        let slot = slot as u16;
        let put = Op::Put { slot, flags, lock: itl.lock(), bytes };
        let freed = -(bytes.len() as isize);
        (Plan { locks: 1, ..Plan::of(put, Op::Drop { slot }, freed) }, slot)
    };
    if has_room(slot, directory.len(), 0) {
        let (plan, slot) = put(slot);
        return Wish::Change(plan, slot);
    }
    let staying = directory.iter().rposition(|slot| !is_free(slot)).map_or(0, |last| last + 1);
    let slot = slot.min(staying);
    if !has_room(slot, staying, (directory.len() - staying) * DataSlot::BYTES) {
        return Wish::Nothing(Outcome::Full);
    }
    let (mut plan, slot) = put(slot);
    let mut trim = Vec::with_capacity(Op::TRIM_BYTES + plan.forward.len());
    Op::Trim { slots: staying as u16 }.write(&mut trim);
    trim.append(&mut plan.forward);
    Wish::Change(Plan { forward: trim, ..plan }, slot)
}

/// Bytes that stay free when a row is put into a block: none where it is the only one.
pub(super) fn kept_free(block: &[u8]) -> usize {
    if block::used(block) == 0 { 0 } else { block.len() * PCTFREE / 100 }
}

/// Whether a slot is free, or will be, when the ends that the ITL entry notes are.
pub(super) fn is_free(slot: &DataSlot, itl: &OwnItlEntry) -> bool {
    let is_deleted = slot.flags & DataSlot::DELETED != 0;
    *slot == DataSlot::FREE || is_deleted && itl.cleans(slot.lock)
}
