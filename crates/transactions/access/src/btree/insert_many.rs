//! Inserting several entries, those of one leaf by one change: one latch, one group, one undo
//! record (BT39).
//!
//! ```text
//!   entries in order:  a b c │ d e f g ✗ h        ✗ needs a look of its own: a key that is there,
//!                      leaf 1│ leaf 2              an ITL without room, a leaf without room
//! ```
//!
//! Callers: tables, for statements that insert many rows.

use os::{Cost, Session};
use stop::Stop;
use txn::{OwnItlEntry, Transaction, View};

use super::apply::{BACK_MANY, INSERT_MANY, LAYER};
use super::index::{Index, bytes_needed};
use super::many;
use super::node::Node;
use super::position::{Position, Probe};
use crate::RowAddress;
use crate::block_change::{BlockTarget, ChangeResult, Decision, Plan, change_block};

/// An entry that is to be inserted. Entries are in the order of their keys, and then of their rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NewEntry<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The address of the row.
    pub row: RowAddress,
}

impl<'a> NewEntry<'a> {
    fn position(&self) -> Position<'a> {
        Position { key: self.key, row: Some(self.row) }
    }
}

impl Index {
    /// Inserts entries in ascending order, those of one leaf together, from the first on, and
    /// returns how many. The next one has to be inserted alone, which waits where that is needed,
    /// or says why it can't be inserted.
    pub fn insert_together(
        &self,
        transaction: &mut Transaction,
        entries: &[NewEntry<'_>],
        session: &Session,
    ) -> Result<usize, Stop> {
        let mut done = 0;
        while done < entries.len() {
            match self.fill_leaf(transaction, &entries[done..], session)? {
                0 => break,
                count => done += count,
            }
        }
        Ok(done)
    }

    /// Puts entries into the leaf that covers the first one. Returns how many.
    fn fill_leaf(
        &self,
        transaction: &mut Transaction,
        entries: &[NewEntry<'_>],
        session: &Session,
    ) -> Result<usize, Stop> {
        let first = entries[0].position();
        if first.key.len() > self.key_max() {
            return Ok(0);
        }
        let undo_block = self.changes().cache().block_size().bytes();
        let head = OwnItlEntry::BACK_BYTES_MAX + many::HEAD_BYTES;
        let undo_bytes = head + many::stored_bytes(first.key.len());
        let undo_bytes = undo_bytes.min(txn::undo::UndoLog::payload_max(undo_block));
        self.transactions.prepare(transaction, undo_bytes, session)?;
        let most_back = transaction.undo().room(undo_block) - head;
        let fixed = transaction.fixed_view().filter(|_| self.is_unique).map(View::with_all_own);
        let mut decide = |block: &[u8], itl: &OwnItlEntry| {
            // Whether the snapshot sees a key has to be found out (BT12).
            let is_current =
                fixed.is_none_or(|view| self.transactions.is_current(block, view, session));
            if !is_current || !self.has_itl_room(block, itl) {
                return Decision::Nothing(ChangeResult::Full);
            }
            match self.plan_many(block, entries, itl, most_back) {
                (_, 0) => Decision::Nothing(ChangeResult::Full),
                (plan, count) => Decision::Change(plan, count),
            }
        };
        let (object, at) = (self.object(), first.looked_for(self.is_unique));
        let is_it = |block: &[u8]| {
            let node = Node::of(block, object);
            node.is_some_and(|node| node.level() == 0 && node.covers(Probe::At(at)))
        };
        let pin = self.pin_to_change(at, session)?;
        let (layer, opcodes, snapshot) = (&LAYER, (INSERT_MANY, BACK_MANY), None);
        // An entry takes more bytes in its leaf than in redo and undo.
        let most = self.block_bytes.min(most_back);
        let stored = entries.iter().map(|entry| many::stored_bytes(entry.key.len()));
        let all: usize = stored.take(most / many::stored_bytes(0) + 1).sum();
        let longest = many::HEAD_BYTES + all.min(most);
        let target = BlockTarget { pin: &pin, layer, opcodes, longest, snapshot, is_it: &is_it };
        let tried = change_block(&self.transactions, transaction, &target, &mut decide, session)?;
        let ChangeResult::Done(count) = tried else { return Ok(0) };
        session.charge(Cost::RowChangeMore, count as u64 - 1);
        Ok(count)
    }

    /// Plans the insert of entries, from the first on: up to the first that has another leaf, whose
    /// key is there, or for which the leaf or the undo block has no room. Returns the plan, and how
    /// many entries it has.
    fn plan_many(
        &self,
        block: &[u8],
        entries: &[NewEntry<'_>],
        itl: &OwnItlEntry,
        most_back: usize,
    ) -> (Plan<'static>, usize) {
        let (node, high) = (Node(block), Node(block).high());
        let (mut room, mut near, mut count) = (itl.room(block), None, 0);
        // Then the leaf has none of the entries.
        let go_behind = node.ends_before(entries[0].position());
        let mut plan = Plan::NONE;
        plan.back.append(many::back_head(self.object(), self.root()).bytes());
        for (number, entry) in entries.iter().enumerate() {
            let position = entry.position();
            let at = position.looked_for(self.is_unique);
            let is_behind = number == 0 || entries[number - 1].position() < at;
            let takes = bytes_needed(position);
            let stored = plan.forward.len() + many::stored_bytes(entry.key.len());
            if !is_behind
                || high.is_some_and(|high| at >= high)
                || entry.key.len() > self.key_max()
                || room < takes
                || stored > most_back
            {
                break;
            }
            if !go_behind {
                let Err(place) = node.find_near(position, near) else { break };
                near = Some(place);
            }
            many::write(position, &mut plan.forward);
            (room, count) = (room - takes, count + 1);
        }
        plan.forward.parts().into_iter().for_each(|part| plan.back.append(part));
        plan.locks = count as u16;
        (plan, count)
    }
}

/// An entry takes more bytes in its leaf than in redo and undo.
const _: () = assert!(
    many::stored_bytes(0) <= format::DataSlot::BYTES + super::position::ROW_BYTES,
    "so a group of entries that a leaf has room for isn't longer than the leaf"
);
