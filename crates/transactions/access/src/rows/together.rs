//! Changing several rows of a block by one change: one latch, one group, one undo record (AC13).
//!
//! ```text
//!   rows 3 4 5 6 7 8 of a block, as a view sees them
//!        └──┬──┘ │
//!           │    in pieces, or will be; changed by others since …: the caller changes it alone
//!           one group
//! ```
//!
//! Each step is of one slot, so the order in which they are taken back matters for room only: the
//! room that the group has freed is kept for it as a whole (rule txn/TX8), so the steps that make
//! room come first.
//!
//! Callers: tables, for statements over many rows.

use cache::Pin;
use os::{Cost, Session};
use stop::Stop;
use txn::block;
use txn::{OwnItlEntry, Transaction, View};

use super::Heap;
use super::change::{SlotKind, all_of};
use super::difference::splices;
use super::piece::{ADDRESS_BYTES, ROW};
use crate::RowAddress;
use crate::block_change::{ChangeResult, Decision, Plan, change_block};
use crate::ops::Op;

/// The steps of most blocks full of rows aren't longer.
const PLAN_BYTES: usize = 2 << 10;

/// Makes a row's new bytes of its old ones; false if the row is to be changed alone. It is given
/// the place of the row among those that are to be changed, counted from 0.
type Changer<'a> = dyn FnMut(usize, &[u8], &mut Vec<u8>) -> bool + 'a;

/// Rows that are to be changed together.
#[derive(Clone, Copy)]
struct RowsLeft<'a> {
    rows: &'a [RowAddress],
    /// How many of them are changed, from the first on.
    done: usize,
}

/// The steps that change several rows.
struct Steps {
    forward: Vec<u8>,
    /// The steps back that make room, and the others.
    shrinking: Vec<u8>,
    back: Vec<u8>,
    /// See [`Plan`].
    locks: u16,
    freed: isize,
    /// By how many bytes rows may still grow.
    room: usize,
    /// The most bytes of steps, forward and back.
    most: usize,
    rows: usize,
}

/// The result of one change of several rows.
struct ChangedRows {
    /// How many rows were changed, from the first on.
    count: usize,
    /// How many bytes the steps of the next row need, if there was no room for them.
    needed: Option<usize>,
}

/// Makes the new bytes of the old ones of the row at a place among several, and says whether it may
/// be changed together with others. It only computes, and may be called again.
type Together<'c> = dyn FnMut(usize, &[u8], &mut Vec<u8>) -> bool + 'c;

impl Heap {
    /// Changes rows of one block together, from the first on, and returns how many. The next row
    /// has to be changed alone, which says why it can't be if it can't. `change` is given the place
    /// of the row among `rows`. The view sees the rows, and its statement has changed none of them.
    pub fn update_together(
        &self,
        transaction: &mut Transaction,
        rows: &[RowAddress],
        view: View,
        change: &mut Together<'_>,
        session: &Session,
    ) -> Result<usize, Stop> {
        let (mut done, mut needed) = (0, Op::HEAD_BYTES_MAX);
        while let Some(first) = rows.get(done) {
            let undo_bytes = OwnItlEntry::BACK_BYTES_MAX + needed;
            self.transactions.prepare(transaction, undo_bytes, session)?;
            let pin = self.transactions.changes().cache().pin_or_unwritten(first.block, session)?;
            // The search that found the rows has hit the block for this statement.
            pin.forget_hit(session);
            let left = RowsLeft { rows, done };
            let changed = self.try_together(transaction, &pin, left, view, change, session)?;
            if changed.count > 1 {
                session.charge(Cost::RowChangeMore, changed.count as u64 - 1);
            }
            done += changed.count;
            let Some(bytes) = changed.needed else { break };
            needed = bytes;
        }
        Ok(done)
    }

    fn try_together(
        &self,
        transaction: &mut Transaction,
        pin: &Pin<'_>,
        left: RowsLeft<'_>,
        view: View,
        change: &mut Changer<'_>,
        session: &Session,
    ) -> Result<ChangedRows, Stop> {
        let undo_block = self.transactions.changes().cache().block_size().bytes();
        let most = transaction.undo().room(undo_block) - OwnItlEntry::BACK_BYTES_MAX;
        // The statement sees all earlier changes of its transaction, and has changed nothing here.
        let seen = View { own: Some(all_of(transaction, view)), ..view };
        let mut needed = None;
        let mut decide = |block: &[u8], itl: &OwnItlEntry| {
            if !self.transactions.is_current(block, seen, session) {
                return Decision::Nothing(ChangeResult::Done(0));
            }
            let mut steps = Steps::new(itl.room(block), most);
            needed = self.gather_steps(&mut steps, block, left, itl, change);
            match steps.rows {
                0 => Decision::Nothing(ChangeResult::Done(0)),
                count => Decision::Change(steps.into_plan(), count),
            }
        };
        let is_it = |block: &[u8]| self.is_its(block);
        let target = Heap::target(pin, most, Some(view.scn), &is_it);
        let tried = change_block(&self.transactions, transaction, &target, &mut decide, session)?;
        Ok(match tried {
            ChangeResult::Done(count) => ChangedRows { count, needed },
            // The change of the next row alone waits, or says why the row can't be changed.
            _ => ChangedRows { count: 0, needed: None },
        })
    }

    /// Gathers the steps of the rows, up to a row that can't be changed with them. If there is no
    /// room for the steps of that row, returns how many bytes they have.
    fn gather_steps(
        &self,
        steps: &mut Steps,
        block: &[u8],
        left: RowsLeft<'_>,
        itl: &OwnItlEntry,
        change: &mut Changer<'_>,
    ) -> Option<usize> {
        let mut new = Vec::new();
        for (place, row) in left.rows.iter().enumerate().skip(left.done) {
            let slot = self.slot_with(block, row.slot, SlotKind::Row)?;
            if slot.flags != ROW || itl.holder(block, slot.lock).is_some() {
                return None;
            }
            let old = block::bytes_of(block, slot);
            new.clear();
            if !change(place, old, &mut new)
                || !(ADDRESS_BYTES..=self.piece_max).contains(&new.len())
            {
                return None;
            }
            let before = itl.lock_before(slot.lock);
            let (forward, back) = splices(row.slot, itl.lock(), before, old, &new);
            let freed = old.len() as isize - new.len() as isize;
            if freed < 0 && freed.unsigned_abs() > steps.room {
                return None;
            }
            let bytes = steps.add(forward, back, freed);
            if bytes.is_some() {
                return bytes;
            }
            steps.locks += u16::from(!itl.owns(slot.lock));
        }
        None
    }
}

impl Steps {
    fn new(room: usize, most: usize) -> Steps {
        let with_room = || Vec::with_capacity(PLAN_BYTES);
        let (forward, shrinking, back) = (with_room(), Vec::new(), with_room());
        Steps { forward, shrinking, back, locks: 0, freed: 0, room, most, rows: 0 }
    }

    /// Adds the steps of a row. If there is no room for them, returns how many bytes they have.
    fn add(&mut self, forward: Op<'_>, back: Op<'_>, freed: isize) -> Option<usize> {
        let back_to = if freed < 0 { &mut self.shrinking } else { &mut self.back };
        let starts = (self.forward.len(), back_to.len());
        forward.write(&mut self.forward);
        back.write(back_to);
        let bytes = (self.forward.len() - starts.0).max(back_to.len() - starts.1);
        let back_bytes = self.back.len() + self.shrinking.len();
        if self.forward.len().max(back_bytes) > self.most {
            let back_to = if freed < 0 { &mut self.shrinking } else { &mut self.back };
            back_to.truncate(starts.1);
            self.forward.truncate(starts.0);
            return Some(bytes);
        }
        if freed < 0 {
            self.room -= freed.unsigned_abs();
        }
        self.freed += freed;
        self.rows += 1;
        None
    }

    fn into_plan(mut self) -> Plan<'static> {
        self.shrinking.append(&mut self.back);
        let Steps { forward, shrinking, locks, freed, .. } = self;
        Plan { forward: forward.into(), back: shrinking.into(), locks, freed }
    }
}
