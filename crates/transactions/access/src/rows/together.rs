//! Changing several rows of a block by one change: one latch, one group, one undo record.
//!
//! ```text
//!   rows 3 4 5 6 7 8 of a block, as a view sees them
//!        └──┬──┘ │
//!           │    in pieces, or will be; changed by others since …: whoever calls does it alone
//!           one group
//! ```
//!
//! Each step is of one slot, so in what order they are taken back matters for room only: what the
//! group has freed is kept for it as a whole (rule txn/TX8), so first goes what makes room.
//!
//! Callers: tables, for statements over many rows.

use cache::Pin;
use os::{Cost, Session};
use stop::Stop;
use txn::block;
use txn::{OwnItlEntry, Transaction, View};

use super::Heap;
use super::change::{Wanted, all_of};
use super::difference::splices;
use super::piece::{ADDRESS_BYTES, ROW};
use crate::RowAddress;
use crate::heap::{Outcome, Plan, Wish, change_block};
use crate::ops::Op;

/// Makes a row's new bytes of its old ones; false if the row is to be done alone.
type Changer<'a> = dyn FnMut(&[u8], &mut Vec<u8>) -> bool + 'a;

/// Steps of rows.
struct Steps {
    plan: Plan,
    /// Those back that make room.
    shrinking: Vec<u8>,
    /// Bytes by which rows may still grow.
    room: usize,
    /// Bytes that there may be, forward, and back.
    most: usize,
    rows: usize,
}

/// What came of a try.
struct Tried {
    /// So many rows were changed, from the first on.
    rows: usize,
    /// The next one's steps need so many bytes, which weren't there.
    needed: Option<usize>,
}

impl Heap {
    /// Changes rows of one block, as many as can be done together, from the first on; how many. The
    /// next is to be changed alone, or says why it can't be. `change` makes the new bytes of the
    /// old ones and says whether the row may be changed so; it only computes, and may be called
    /// again. The view sees the rows, and its statement has changed none of them.
    pub fn update_together(
        &self,
        transaction: &mut Transaction,
        (rows, view): (&[RowAddress], View),
        change: &mut dyn FnMut(&[u8], &mut Vec<u8>) -> bool,
        session: &Session,
    ) -> Result<usize, Stop> {
        let (mut done, mut needed) = (0, Op::HEAD_BYTES_MAX);
        while let Some(first) = rows.get(done) {
            let undo_bytes = OwnItlEntry::BACK_BYTES_MAX + needed;
            self.transactions.prepare(transaction, undo_bytes, session)?;
            let pin = self.transactions.changes().cache().pin_or_unwritten(first.block, session)?;
            let what = (&pin, &rows[done..], view);
            let tried = self.try_together(transaction, what, change, session)?;
            if tried.rows > 1 {
                session.charge(Cost::RowChangeMore, tried.rows as u64 - 1);
            }
            done += tried.rows;
            let Some(bytes) = tried.needed else { break };
            needed = bytes;
        }
        Ok(done)
    }

    fn try_together(
        &self,
        transaction: &mut Transaction,
        (pin, rows, view): (&Pin<'_>, &[RowAddress], View),
        change: &mut Changer<'_>,
        session: &Session,
    ) -> Result<Tried, Stop> {
        let undo_block = self.transactions.changes().cache().block_size().bytes();
        let most = transaction.undo().room(undo_block) - OwnItlEntry::BACK_BYTES_MAX;
        // The statement sees all that its transaction did before it, and did nothing here.
        let seen = View { own: Some(all_of(transaction, view)), ..view };
        let mut needed = None;
        let mut wish = |block: &[u8], itl: &OwnItlEntry| {
            if !self.transactions.is_current(block, seen, session) {
                return Wish::Nothing(Outcome::Done(0));
            }
            let mut steps = Steps::new(itl.room(block), most);
            needed = self.gather_steps(&mut steps, (block, rows), itl, change);
            match steps.rows {
                0 => Wish::Nothing(Outcome::Done(0)),
                count => Wish::Change(steps.into_plan(), count),
            }
        };
        let is_it = |block: &[u8]| self.is_its(block);
        let target = Heap::target(pin, (most, Some(view.scn)), &is_it);
        let tried = change_block(&self.transactions, transaction, &target, &mut wish, session)?;
        Ok(match tried {
            Outcome::Done(rows) => Tried { rows, needed },
            // Who changes the next row alone waits, or says why it can't be.
            _ => Tried { rows: 0, needed: None },
        })
    }

    /// The steps of the rows, up to one that can't be among them; if it can't be for want of room
    /// for its steps, how many bytes these have.
    fn gather_steps(
        &self,
        steps: &mut Steps,
        (block, rows): (&[u8], &[RowAddress]),
        itl: &OwnItlEntry,
        change: &mut Changer<'_>,
    ) -> Option<usize> {
        let mut new = Vec::new();
        for row in rows {
            let slot = self.slot_with(block, row.slot, Wanted::Row)?;
            if slot.flags != ROW || itl.holder(block, slot.lock).is_some() {
                return None;
            }
            let old = block::bytes_of(block, slot);
            new.clear();
            if !change(old, &mut new) || !(ADDRESS_BYTES..=self.piece_max).contains(&new.len()) {
                return None;
            }
            let before = itl.lock_before(slot.lock);
            let ops = splices((row.slot, itl.lock(), before), old, &new);
            let freed = old.len() as isize - new.len() as isize;
            if freed < 0 && freed.unsigned_abs() > steps.room {
                return None;
            }
            let bytes = steps.add(ops, freed);
            if bytes.is_some() {
                return bytes;
            }
            steps.plan.locks += u16::from(!itl.owns(slot.lock));
        }
        None
    }
}

impl Steps {
    fn new(room: usize, most: usize) -> Steps {
        Steps { plan: Plan::default(), shrinking: Vec::new(), room, most, rows: 0 }
    }

    /// Adds a row's; if there is no room for these, says how many bytes they have.
    fn add(&mut self, (forward, back): (Op<'_>, Op<'_>), freed: isize) -> Option<usize> {
        let back_to = if freed < 0 { &mut self.shrinking } else { &mut self.plan.back };
        let starts = (self.plan.forward.len(), back_to.len());
        forward.write(&mut self.plan.forward);
        back.write(back_to);
        let bytes = (self.plan.forward.len() - starts.0).max(back_to.len() - starts.1);
        let back_bytes = self.plan.back.len() + self.shrinking.len();
        if self.plan.forward.len().max(back_bytes) > self.most {
            let back_to = if freed < 0 { &mut self.shrinking } else { &mut self.plan.back };
            back_to.truncate(starts.1);
            self.plan.forward.truncate(starts.0);
            return Some(bytes);
        }
        if freed < 0 {
            self.room -= freed.unsigned_abs();
        }
        self.plan.freed += freed;
        self.rows += 1;
        None
    }

    fn into_plan(mut self) -> Plan {
        self.shrinking.append(&mut self.plan.back);
        Plan { back: self.shrinking, ..self.plan }
    }
}
