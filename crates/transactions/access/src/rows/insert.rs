//! Putting rows, and pieces of rows, into blocks.
//!
//! Callers: `rows`, `change`.

use std::borrow::Cow;

use format::DataSlot;
use ids::Scn;
use os::Session;
use stop::Stop;
use txn::block;
use txn::{OwnItlEntry, Transaction, View};

use super::piece::{ADDRESS_BYTES, NEXT, PIECE, ROW, stored, whole};
use super::{Heap, PCTFREE};
use crate::RowAddress;
use crate::block_change::{ChangeResult, Decision, Plan, StepBytes, change_block};
use crate::free_map::{kept_for_itl, room_of};
use crate::inserter::{HeapInserter, NoRoom};
use crate::ops::Op;

impl Heap {
    /// Inserts a row and returns its address. If the insert is refused, nothing of the row is
    /// there.
    pub fn insert(
        &self,
        transaction: &mut Transaction,
        inserter: &mut HeapInserter,
        row: &[u8],
        session: &Session,
    ) -> Result<RowAddress, Stop> {
        let (flags, bytes) = whole(row);
        if bytes.len() <= self.piece_max {
            return self.put(transaction, inserter, None, ROW | flags, &[&bytes], session);
        }
        let savepoint = transaction.savepoint();
        let inserted = self.put_in_pieces(transaction, inserter, None, ROW, row, session);
        if inserted.is_err() {
            self.transactions.rollback_to(transaction, savepoint, session)?;
        }
        inserted
    }

    /// Puts bytes of a row into as many slots as they need, the last slot first. `flag` is that of
    /// the row's first slot, whose address is returned. `snapshot` is the statement's, if it has
    /// one.
    pub(super) fn put_in_pieces(
        &self,
        transaction: &mut Transaction,
        inserter: &mut HeapInserter,
        snapshot: Option<Scn>,
        flag: u8,
        bytes: &[u8],
        session: &Session,
    ) -> Result<RowAddress, Stop> {
        let (short, last) = whole(bytes);
        if last.len() <= self.piece_max {
            return self.put(transaction, inserter, snapshot, flag | short, &[&last], session);
        }
        let most = self.piece_max - ADDRESS_BYTES;
        let mut pieces = bytes.chunks(most).rev();
        let last = pieces.next().expect("a long row has pieces");
        let (short, last) = whole(last);
        let mut next =
            self.put(transaction, inserter, snapshot, PIECE | short, &[&last], session)?;
        let mut left = pieces.len();
        for piece in pieces {
            left -= 1;
            let flag = if left == 0 { flag } else { PIECE };
            let parts: [&[u8]; 2] = [&stored(next), piece];
            next = self.put(transaction, inserter, snapshot, flag | NEXT, &parts, session)?;
        }
        Ok(next)
    }

    /// Puts bytes, given in parts, into a slot of some block.
    fn put(
        &self,
        transaction: &mut Transaction,
        inserter: &mut HeapInserter,
        snapshot: Option<Scn>,
        flags: u8,
        parts: &[&[u8]],
        session: &Session,
    ) -> Result<RowAddress, Stop> {
        let bytes: Cow<'_, [u8]> = match parts {
            [one] => Cow::Borrowed(one),
            parts => Cow::Owned(parts.concat()),
        };
        let longest = Op::TRIM_BYTES + Op::HEAD_BYTES_MAX + bytes.len();
        let filler = self.filler();
        let needed = self.bytes_needed(bytes.len());
        loop {
            let undo_bytes = OwnItlEntry::BACK_BYTES_MAX + Op::HEAD_BYTES_MAX;
            self.transactions.prepare(transaction, undo_bytes, session)?;
            let pin = filler.block(inserter, needed, session)?;
            let of_statement = || snapshot.map(|scn| transaction.view_at(scn));
            let from = inserter.first_slot(pin.address(), transaction).into();
            let fixed = transaction.fixed_view().or_else(of_statement).map(View::with_all_own);
            let mut no_room = None;
            let mut decide = |block: &[u8], itl: &OwnItlEntry| {
                let wanted = bytes.len() + DataSlot::BYTES + kept_for_rows(block);
                no_room = Some(NoRoom { needed, is_kept: room_of(block) >= wanted });
                let is_current = |view| self.transactions.is_current(block, view, session);
                plan_put(block, fixed.is_none_or(is_current), itl, from, flags, &bytes)
            };
            let is_it = |block: &[u8]| self.is_its(block);
            let target = Heap::target(&pin, longest, snapshot, &is_it);
            match change_block(&self.transactions, transaction, &target, &mut decide, session)? {
                ChangeResult::Done(slot) => {
                    inserter.found_room();
                    let row = RowAddress { block: pin.address(), slot };
                    inserter.has_put(row, transaction);
                    return Ok(row);
                }
                // Another block is tried.
                _ => filler.leave(inserter, &pin, no_room, session)?,
            }
        }
    }

    /// How many bytes a block must have free for a slot with `bytes`: with the share that stays
    /// free, or without it if only an empty block has that much.
    pub(super) fn bytes_needed(&self, bytes: usize) -> usize {
        let kept_free = self.block_size.bytes() * PCTFREE / 100;
        match bytes + DataSlot::BYTES + kept_free {
            with if with <= self.empty_room => with,
            _ => bytes,
        }
    }
}

/// Plans how bytes get into a block, and into which slot: the first free one from slot `from` on,
/// or any other if there is no room for a new slot. They don't go into a block that isn't
/// `current` as of the snapshot of the statement, or of a transaction with one snapshot: that still
/// sees the former content of the block, beside its own row (AC8).
fn plan_put<'p>(
    block: &[u8],
    current: bool,
    itl: &OwnItlEntry,
    from: usize,
    flags: u8,
    bytes: &'p [u8],
) -> Decision<'p, u16> {
    if !current {
        return Decision::Nothing(ChangeResult::Full);
    }
    let directory = block::directory(block);
    let is_free = |slot: &DataSlot| is_free(slot, itl);
    let first_free = |from: usize| {
        let behind = directory.get(from..).unwrap_or_default().iter().position(is_free);
        behind.map_or(directory.len(), |at| from + at)
    };
    let kept_free = if block::used(block) == 0 { 0 } else { kept_free(block) };
    let (room, for_directory) = (itl.room(block), itl.directory_room(block));
    // Whether there is room once the directory is trimmed by `trimmed` bytes.
    let has_room = |slot, slots, trimmed: usize| {
        let grown = if slot == slots { DataSlot::BYTES } else { 0 };
        room + trimmed >= bytes.len() + grown + kept_free && for_directory + trimmed >= grown
    };
    let put = |slot: usize, before: StepBytes<'p>| {
        let slot = slot as u16;
        let put = Op::Put { slot, flags, lock: itl.lock(), bytes };
        let freed = -(bytes.len() as isize);
        let mut plan = Plan { forward: before.with_last(put), locks: 1, freed, ..Plan::NONE };
        plan.back.push(Op::Drop { slot });
        Decision::Change(plan, slot)
    };
    let slot = first_free(from);
    if has_room(slot, directory.len(), 0) {
        return put(slot, StepBytes::NONE);
    }
    let slot = if from == 0 { slot } else { first_free(0) };
    if has_room(slot, directory.len(), 0) {
        return put(slot, StepBytes::NONE);
    }
    let staying = directory.iter().rposition(|slot| !is_free(slot)).map_or(0, |last| last + 1);
    let slot = slot.min(staying);
    if !has_room(slot, staying, (directory.len() - staying) * DataSlot::BYTES) {
        return Decision::Nothing(ChangeResult::Full);
    }
    let mut trim = StepBytes::NONE;
    trim.push(Op::Trim { slots: staying as u16 });
    put(slot, trim)
}

/// How many bytes stay free for rows that grow when a row is put into a block: none if it is the
/// only row.
fn kept_for_rows(block: &[u8]) -> usize {
    if block::used(block) == 0 { 0 } else { block.len() * PCTFREE / 100 }
}

/// How many bytes stay free when a row is put into a block that has others.
pub(super) fn kept_free(block: &[u8]) -> usize {
    block.len() * PCTFREE / 100 + kept_for_itl(block)
}

/// Whether a slot is free, or will be once the change has noted which transactions have ended.
pub(super) fn is_free(slot: &DataSlot, itl: &OwnItlEntry) -> bool {
    let is_deleted = slot.flags & DataSlot::DELETED != 0;
    *slot == DataSlot::FREE || is_deleted && itl.cleans(slot.lock)
}
