//! Putting several rows into a block by one change: one latch, one group, one undo record (AC13).
//!
//! Callers: tables, for statements that insert many rows.

use format::DataSlot;
use os::{Cost, Session};
use stop::Stop;
use txn::block;
use txn::{OwnItlEntry, Transaction, View};

use super::insert::is_free;
use super::insert::kept_free;
use super::piece::{ROW, whole};
use super::{Heap, HeapInserter};
use crate::RowAddress;
use crate::block_change::{ChangeResult, Decision, Plan, change_block};
use crate::ops::Op;

/// The undo block must have room for the undo of this many rows; otherwise the next one is taken.
const ROWS_MIN: usize = 8;

impl Heap {
    /// Inserts rows, those for one block by one change, and appends their addresses to `placed`. If
    /// the insert is refused, the caller rolls back to a savepoint.
    pub fn insert_together(
        &self,
        transaction: &mut Transaction,
        inserter: &mut HeapInserter,
        mut rows: &[&[u8]],
        placed: &mut Vec<RowAddress>,
        session: &Session,
    ) -> Result<(), Stop> {
        while let Some((first, others)) = rows.split_first() {
            rows = match self.fill_block(transaction, inserter, rows, placed, session)? {
                // The row is long, or the block has no room, or its ITL has none.
                0 => {
                    placed.push(self.insert(transaction, inserter, first, session)?);
                    others
                }
                count => &rows[count..],
            };
        }
        Ok(())
    }

    /// Puts rows into the block that is being filled, from the first row on. Returns how many.
    fn fill_block(
        &self,
        transaction: &mut Transaction,
        inserter: &mut HeapInserter,
        rows: &[&[u8]],
        placed: &mut Vec<RowAddress>,
        session: &Session,
    ) -> Result<usize, Stop> {
        let first = rows[0].len();
        if first > self.piece_max {
            return Ok(0);
        }
        let undo_bytes = OwnItlEntry::BACK_BYTES_MAX + ROWS_MIN * Op::HEAD_BYTES_MAX;
        self.transactions.prepare(transaction, undo_bytes, session)?;
        let undo_block = self.transactions.changes().cache().block_size().bytes();
        let most_back = transaction.undo().room(undo_block) - OwnItlEntry::BACK_BYTES_MAX;
        let pin = self.filler().block(inserter, self.bytes_needed(first), session)?;
        let fixed = transaction.fixed_view().map(View::with_all_own);
        let mut decide = |block: &[u8], itl: &OwnItlEntry| {
            if fixed.is_some_and(|view| !self.transactions.is_current(block, view, session)) {
                return Decision::Nothing(ChangeResult::Full);
            }
            let (plan, slots) = self.plan_many(block, rows, itl, most_back);
            match slots.is_empty() {
                true => Decision::Nothing(ChangeResult::Full),
                false => Decision::Change(plan, slots),
            }
        };
        let is_it = |block: &[u8]| self.is_its(block);
        let target = Heap::target(&pin, self.block_size.bytes(), None, &is_it);
        match change_block(&self.transactions, transaction, &target, &mut decide, session)? {
            ChangeResult::Done(slots) => {
                inserter.found_room();
                session.charge(Cost::RowChangeMore, slots.len() as u64 - 1);
                let block = pin.address();
                placed.extend(slots.iter().map(|slot| RowAddress { block, slot: *slot }));
                Ok(slots.len())
            }
            _ => Ok(0),
        }
    }

    /// Plans the insert of as many rows as the block has room for. Returns the plan and the slots.
    fn plan_many(
        &self,
        block: &[u8],
        rows: &[&[u8]],
        itl: &OwnItlEntry,
        most_back: usize,
    ) -> (Plan<'static>, Vec<u16>) {
        let directory = block::directory(block);
        let free = (0..).zip(directory).filter(|(_, slot)| is_free(slot, itl));
        let behind = directory.len() as u16..;
        let mut slots = free.map(|(number, _)| number).chain(behind);
        let (mut room, mut for_directory) = (itl.room(block), itl.directory_room(block));
        let (mut plan, mut taken) = (Plan::NONE, Vec::new());
        for row in rows {
            let (flags, bytes) = whole(row);
            let slot = slots.next().expect("there are always slots behind the directory");
            let is_new = usize::from(slot) >= directory.len();
            let grown = if is_new { DataSlot::BYTES } else { 0 };
            let takes = bytes.len() + grown;
            let is_empty = taken.is_empty() && block::used(block) == 0;
            let kept_free = if is_empty { 0 } else { kept_free(block) };
            let is_full =
                bytes.len() > self.piece_max || room < takes + kept_free || for_directory < grown;
            if is_full || plan.back.len() + Op::HEAD_BYTES_MAX > most_back {
                break;
            }
            let put = Op::Put { slot, flags: ROW | flags, lock: itl.lock(), bytes: &bytes };
            plan.forward.push(put);
            plan.back.push(Op::Drop { slot });
            room -= takes;
            for_directory -= grown;
            plan.freed -= bytes.len() as isize;
            plan.locks += 1;
            taken.push(slot);
        }
        (plan, taken)
    }
}
