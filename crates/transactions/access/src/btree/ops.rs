//! The changes of the entries of a leaf, and the undo that takes them back.
//!
//! | change    | what it does                             | taken back                     |
//! |-----------|------------------------------------------|--------------------------------|
//! | `Insert`  | a new entry                              | it goes                        |
//! | `Delete`  | an entry is marked                       | it isn't marked any more       |
//! | `Replace` | a marked entry gets this row and no mark | it is marked, with its old row |
//!
//! Undo names object, key and row, for the entry may be in another leaf when it is taken back. It
//! is taken back in one of two ways:
//!   * *for good*, in the leaf that has the entry: the entry is there, and the transaction has it
//!     locked
//!   * in a *copy* of a leaf that was there when the change was made, or was split off from such a
//!     leaf: an entry outside the copy's fences is skipped, and a purged entry comes back. If the
//!     record is applied (rule txn/UN8), the copy may be from before or after that: an entry that
//!     the transaction hasn't locked was taken back already.
//!
//! Callers: `index`, which makes them; `apply`, which applies them.

pub(super) use format::changes::index::LeafKind as Kind;
use format::changes::index::{LeafBack, LeafChange, StoredBlock};
use format::{DataHead, DataSlot, U16Le, U32Le};
use ids::Dba;
use txn::block;

use super::node::{ENTRY, FENCES, MARKED, Node, PURGED};
use super::position::{Position, Probe, ROW_BYTES, row_bytes, row_of, stored_row};
use crate::RowAddress;

/// Why a payload can be read.
const CHECKED: &str = "the payload was checked (rule change/CH9)";

/// A change of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Op<'a> {
    pub(super) kind: Kind,
    /// Whether entries whose deletion is committed are purged first.
    pub(super) purges: bool,
    pub(super) key: &'a [u8],
    pub(super) row: RowAddress,
}

impl<'a> Op<'a> {
    /// How many bytes it takes besides its key.
    pub(super) const HEAD_BYTES: usize = size_of::<LeafChange>();

    /// The head as it is stored; the key follows.
    pub(super) fn head(&self) -> LeafChange {
        LeafChange {
            kind: self.kind.number(),
            purges: u8::from(self.purges),
            row: stored_row(self.row),
        }
    }

    pub(super) fn read(from: &'a [u8]) -> Op<'a> {
        let (head, key) = LeafChange::read(from).expect(CHECKED);
        let kind = Kind::from_number(head.kind).expect(CHECKED);
        Op { kind, purges: head.purges != 0, key, row: row_of(head.row) }
    }

    /// Applies it, for the transaction with this lock.
    pub(super) fn apply(&self, block: &mut [u8], lock: u8) {
        if self.purges {
            purge(block);
        }
        let entry = Position { key: self.key, row: Some(self.row) };
        let found = Node(block).find(entry);
        match (self.kind, found) {
            (Kind::Insert, Err(number)) => insert(block, number, 0, lock, entry),
            (Kind::Delete, Ok(number)) => set(block, number, MARKED, lock),
            (Kind::Replace, Ok(number)) => {
                set_row(block, number, self.row);
                set(block, number, 0, lock);
            }
            (kind, found) => panic!("an entry is found so for {kind:?}: {found:?}"),
        }
    }
}

/// The undo of a change of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Back<'a> {
    /// The kind of the change that is taken back.
    pub(super) kind: Kind,
    /// Whether the transaction had the entry locked before.
    pub(super) was_locked: bool,
    /// The index's object number.
    pub(super) object: u32,
    pub(super) root: Dba,
    pub(super) key: &'a [u8],
    pub(super) row: RowAddress,
    /// The row before a `Replace`; equal to `row` in other kinds.
    pub(super) old_row: RowAddress,
}

impl<'a> Back<'a> {
    /// How many bytes it takes besides its key.
    pub(super) const HEAD_BYTES: usize = size_of::<LeafBack>();

    /// The head as it is stored; the key follows.
    pub(super) fn head(&self) -> LeafBack {
        LeafBack {
            kind: self.kind.number(),
            was_locked: u8::from(self.was_locked),
            object: U32Le::new(self.object),
            root: StoredBlock::new(self.root),
            row: stored_row(self.row),
            old_row: stored_row(self.old_row),
        }
    }

    pub(super) fn read(from: &'a [u8]) -> Back<'a> {
        let (head, key) = LeafBack::read(from).expect(CHECKED);
        Back {
            kind: Kind::from_number(head.kind).expect(CHECKED),
            was_locked: head.was_locked != 0,
            object: head.object.get(),
            root: head.root.get(),
            key,
            row: row_of(head.row),
            old_row: row_of(head.old_row),
        }
    }

    /// The entry as the change has left it.
    pub(super) fn entry(&self) -> Position<'a> {
        Position { key: self.key, row: Some(self.row) }
    }

    fn old_entry(&self) -> Position<'a> {
        Position { key: self.key, row: Some(self.old_row) }
    }

    /// The slot's lock before the change; `lock` is that of the transaction.
    fn old_lock(&self, lock: u8) -> u8 {
        if self.was_locked { lock } else { 0 }
    }

    /// Takes the change back for good, for the transaction with this lock.
    pub(super) fn apply_for_good(&self, block: &mut [u8], lock: u8) {
        let number = Node(block).find(self.entry()).expect("what is taken back is there");
        let slot = Node(block).slot(number);
        assert!(slot.lock == lock, "an entry is taken back for another transaction (BT4)");
        if !self.was_locked {
            let entry = block::entry_mut(block, lock - 1);
            entry.locks = U16Le::new(entry.locks.get() - 1);
        }
        match self.kind {
            Kind::Insert => remove(block, number),
            Kind::Delete => set(block, number, 0, self.old_lock(lock)),
            Kind::Replace => {
                set_row(block, number, self.old_row);
                set(block, number, MARKED, self.old_lock(lock));
            }
        }
    }

    /// Takes the change back in a copy.
    pub(super) fn apply_in_copy(&self, block: &mut [u8], lock: u8, is_applied: bool) {
        if !Node(block).covers(Probe::At(self.entry())) {
            return;
        }
        let old_lock = self.old_lock(lock);
        let number = match Node(block).find(self.entry()) {
            Ok(number) => number,
            // It was purged: so the transaction that deleted it has committed.
            Err(number) if self.kind == Kind::Delete && !is_applied => {
                insert(block, number, 0, old_lock, self.old_entry());
                return;
            }
            Err(_) => return,
        };
        let slot = Node(block).slot(number);
        // If another transaction has the entry locked, that is a later change which the view sees:
        // one of the reader's own (BT12).
        let is_free = slot.lock == 0 && !is_applied;
        if slot.lock != lock && !is_free {
            return;
        }
        match self.kind {
            Kind::Insert => remove(block, number),
            Kind::Delete if slot.flags & MARKED == 0 => {}
            Kind::Delete => set(block, number, 0, old_lock),
            Kind::Replace => {
                set_row(block, number, self.old_row);
                set(block, number, MARKED, old_lock);
            }
        }
    }
}

/// Whether a purge of the leaf removes the entry of this slot. The ends of transactions have been
/// noted.
pub(super) fn is_dead(slot: DataSlot) -> bool {
    slot.flags & MARKED != 0 && slot.lock == 0
}

/// Removes the entries whose deletion was committed.
fn purge(block: &mut [u8]) {
    let head = DataHead::at_mut(block, DataHead::START);
    head.own = U16Le::new(head.own.get() | u16::from(PURGED));
    for number in (0..Node(block).count()).rev() {
        if is_dead(Node(block).slot(number)) {
            remove(block, number);
        }
    }
}

pub(super) fn insert(block: &mut [u8], number: u16, mark: u8, lock: u8, entry: Position<'_>) {
    let slot = number + FENCES;
    block::insert_slot(block, slot);
    block::set_slot(block, slot, DataSlot { flags: ENTRY | mark, lock, ..DataSlot::FREE });
    let parts = entry.parts();
    block::place(block, slot, &[parts.key, parts.row()]);
}

pub(super) fn remove(block: &mut [u8], number: u16) {
    block::release(block, number + FENCES);
    block::remove_slot(block, number + FENCES);
}

fn set(block: &mut [u8], number: u16, mark: u8, lock: u8) {
    let slot = Node(block).slot(number);
    block::set_slot(block, number + FENCES, DataSlot { flags: ENTRY | mark, lock, ..slot });
}

fn set_row(block: &mut [u8], number: u16, row: RowAddress) {
    let slot = Node(block).slot(number);
    let at = usize::from(slot.length.get()) - ROW_BYTES;
    block::splice(block, number + FENCES, at, ROW_BYTES, &row_bytes(row));
}
