//! Putting rows, and pieces of rows, into blocks.
//!
//! Callers: `rows`, `change`.

use cache::Pin;
use change::credits_for;
use format::DataSlot;
use ids::{Dba, Scn};
use latch::FrameOrder;
use os::Session;
use space::Blocks;
use stop::Stop;
use txn::{Interest, Transaction, View};

use super::piece::{ADDRESS_BYTES, NEXT, PIECE, ROW, stored, whole};
use super::{Heap, LIST_ENTRIES, PCTFREE};
use crate::RowAddress;
use crate::apply::{FORMAT, FORMAT_BYTES, LAYER};
use crate::heap::{Outcome, Plan, Wish, change_block};
use crate::ops::Op;

/// An inserter gets so many neighbouring blocks at a time.
const BLOCKS_AT_ONCE: u32 = 8;

/// Where one session's inserts into a heap go (AC4). Used with another heap it begins anew.
#[derive(Debug, Default)]
pub struct HeapInserter {
    /// The block being filled.
    filling: Option<Dba>,
    /// Blocks that come after it, not formatted yet.
    next: Option<Blocks>,
    /// Header of the heap that they are of.
    heap: Option<Dba>,
}

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
        let longest = Op::HEAD_BYTES_MAX + bytes.len();
        loop {
            let undo_bytes = Interest::BACK_BYTES_MAX + Op::HEAD_BYTES_MAX;
            self.transactions.prepare(transaction, undo_bytes, session)?;
            let pin = self.block_to_fill(inserter, session)?;
            let fixed = transaction.fixed_view().map(View::with_all_own);
            let mut wish = |block: &[u8], interest: &Interest| {
                let is_current = |view| self.transactions.is_current(block, view, session);
                put_plan((block, fixed.is_none_or(is_current)), interest, (flags, &bytes))
            };
            let is_it = |block: &[u8]| self.is_its(block);
            let target = Heap::target(&pin, (longest, snapshot), &is_it);
            match change_block(&self.transactions, transaction, &target, &mut wish, session)? {
                Outcome::Done(slot) => return Ok(RowAddress { block: pin.address(), slot }),
                // There are other blocks.
                _ => inserter.filling = None,
            }
        }
    }

    /// The block that the inserter fills, formatted and pinned; a new one if there is none.
    fn block_to_fill<'a>(
        &'a self,
        inserter: &mut HeapInserter,
        session: &'a Session,
    ) -> Result<Pin<'a>, Stop> {
        if inserter.heap != Some(self.header) {
            *inserter = HeapInserter { heap: Some(self.header), ..HeapInserter::default() };
        }
        let changes = self.transactions.changes();
        if let Some(block) = inserter.filling {
            return changes.cache().pin(block, session);
        }
        let run = match inserter.next {
            Some(run) => run,
            None => self.space.hand_out(self.header, BLOCKS_AT_ONCE, session)?,
        };
        // Kept until the first is formatted: what is refused below is tried again with the next
        // row.
        inserter.next = Some(run);
        let pin = changes.cache().pin_new(run.first, session)?;
        let mut group = changes.begin(credits_for(&[FORMAT_BYTES]), session)?;
        let block = pin.exclusive(FrameOrder::Heap, session);
        group.format(block, &LAYER, FORMAT, &[&self.object.to_le_bytes(), &[LIST_ENTRIES]]);
        group.commit(session);
        let after = Dba::new(run.first.file.get(), run.first.block.get() + 1);
        inserter.next = (run.count > 1).then_some(Blocks { first: after, count: run.count - 1 });
        inserter.filling = Some(run.first);
        Ok(pin)
    }
}

/// How bytes get into a block, and where. In one that isn't `current`, as of the transaction's
/// snapshot, a free slot may have been freed since: the transaction will see what was there then,
/// and so its own row must be in another (AC8).
fn put_plan(
    (block, current): (&[u8], bool),
    interest: &Interest,
    (flags, bytes): (u8, &[u8]),
) -> Wish<u16> {
    let slots = block::slots(block);
    let free = |number: &u16| current && block::slot(block, *number) == DataSlot::FREE;
    let slot = (0..slots).find(free).unwrap_or(slots);
    let directory = if slot == slots { DataSlot::BYTES } else { 0 };
    let takes = bytes.len() + directory;
    let kept_free = if slots == 0 { 0 } else { block.len() * PCTFREE / 100 };
    if interest.room(block) < takes + kept_free {
        return Wish::Nothing(Outcome::Full);
    }
    let put = Op::Put { slot, flags, lock: interest.lock(), bytes };
    let plan = Plan { locks: 1, ..Plan::of(put, Op::Drop { slot }, -(takes as isize)) };
    Wish::Change(plan, slot)
}
