//! New entries of one leaf that go in by one change, and the undo that takes them back (BT39).
//!
//! ```text
//!   one leaf:      a b c d e f           one change, one undo record
//!   split since:   a b c │ d e │ f       taken back leaf by leaf, from the first entry on;
//!                  gone    ▲             the undo record is applied with the last of them
//! ```
//!
//! Invariants
//!   * entries of one change are in the order of the index, and no two are the same entry; in a
//!     unique index no two have the same key
//!   * the transaction had locked none of them before
//!   * as long as the undo record isn't applied, each entry is as the change left it, or was taken
//!     back already and isn't there: no other transaction can have an entry with its key and row,
//!     because the row is the transaction's until the undo of the row is taken back (BT40)
//!
//! Callers: `insert_many`, which makes changes; `apply`, which applies them.

use std::borrow::Cow;

use change::BackPart;
use format::changes::index::{ManyBack, NewEntry, StoredBlock};
use format::{U16Le, U32Le};
use ids::Dba;
use txn::{block, split_itl_back};

use super::apply::BACK_MANY_FOR_GOOD;
use super::index::{bytes_needed, header_of};
use super::node::{ENTRY, MARKED, Node};
use super::ops::{insert, remove};
use super::position::{Position, Probe, row_of, stored_row};
use crate::block_change::StepBytes;

/// Why a payload can be read.
const CHECKED: &str = "the payload was checked (rule change/CH9)";

/// How many bytes the undo has besides its entries.
pub(super) const HEAD_BYTES: usize = size_of::<ManyBack>();

/// How many bytes an entry with a key of this length has in redo and undo.
pub(super) const fn stored_bytes(key: usize) -> usize {
    size_of::<NewEntry>() + key
}

/// Appends an entry to a payload.
pub(super) fn write(entry: Position<'_>, to: &mut StepBytes<'_>) {
    let row = entry.row.expect("an entry has a row");
    let head = NewEntry { row: stored_row(row), length: U16Le::new(entry.key.len() as u16) };
    to.append(head.bytes());
    to.append(entry.key);
}

/// The head of the undo of new entries; the entries follow.
pub(super) fn back_head(object: u32, root: Dba) -> ManyBack {
    ManyBack { object: U32Le::new(object), root: StoredBlock::new(root) }
}

/// The entries of a payload, in their order.
#[derive(Clone, Copy)]
pub(super) struct Entries<'a>(&'a [u8]);

impl<'a> Iterator for Entries<'a> {
    type Item = Position<'a>;

    fn next(&mut self) -> Option<Position<'a>> {
        if self.0.is_empty() {
            return None;
        }
        let (head, key, rest) = NewEntry::read_keyed(self.0).expect(CHECKED);
        self.0 = rest;
        Some(Position { key, row: Some(row_of(head.row)) })
    }
}

/// Inserts the entries of a payload, for the transaction with this lock.
pub(super) fn insert_all(block: &mut [u8], lock: u8, entries: &[u8]) {
    if go_behind(block, entries) {
        let mut rest = entries;
        let next = || {
            let (head, key, behind) =
                (!rest.is_empty()).then(|| NewEntry::read_keyed(rest).expect(CHECKED))?;
            rest = behind;
            Some((ENTRY, [key, head.row.bytes()]))
        };
        block::append(block, lock, std::iter::from_fn(next));
        return;
    }
    let mut near = None;
    for entry in Entries(entries) {
        let found = Node(block).find_near(entry, near);
        let number = found.expect_err("a new entry isn't there");
        insert(block, number, 0, lock, entry);
        near = Some(number + 1);
    }
}

/// Whether the entries of a payload go behind all that the leaf has, and none of its bytes have to
/// be moved for them. Then the leaf becomes what it would if they were inserted one by one.
fn go_behind(block: &[u8], entries: &[u8]) -> bool {
    let first = Entries(entries).next().expect(CHECKED);
    let takes = || Entries(entries).map(bytes_needed).sum::<usize>();
    Node(block).ends_before(first) && takes() <= block::gap(block)
}

/// The undo of new entries.
#[derive(Clone, Copy)]
pub(super) struct Back<'a> {
    pub(super) object: u32,
    pub(super) root: Dba,
    entries: &'a [u8],
}

impl<'a> Back<'a> {
    /// The undo with this payload, without the ITL entry at its beginning.
    pub(super) fn read(from: &'a [u8]) -> Back<'a> {
        let (head, entries) = ManyBack::read(from).expect(CHECKED);
        Back { object: head.object.get(), root: head.root.get(), entries }
    }

    pub(super) fn entries(&self) -> Entries<'a> {
        Entries(self.entries)
    }

    pub(super) fn first(&self) -> Position<'a> {
        self.entries().next().expect(CHECKED)
    }

    /// Takes the entries back for good, for the transaction with this lock. All are in the leaf.
    pub(super) fn apply_for_good(&self, block: &mut [u8], lock: u8) {
        let (mut near, mut count) = (None, 0);
        for entry in self.entries() {
            let number = place_of(&Node(block), entry, near).expect("what is taken back is there");
            let slot = Node(block).slot(number);
            assert!(slot.lock == lock, "an entry is taken back for another transaction (BT4)");
            remove(block, number);
            (near, count) = (Some(number), count + 1);
        }
        let entry = block::entry_mut(block, lock - 1);
        entry.locks = U16Le::new(entry.locks.get() - count);
    }

    /// Takes back in a copy the entries that are there. The copy may be from before or after an
    /// entry was taken back for good, whether or not the record is applied: so each entry is looked
    /// for with its row (BT40).
    pub(super) fn apply_in_copy(&self, block: &mut [u8], lock: u8, is_applied: bool) {
        let mut near = None;
        for entry in self.entries() {
            if !Node(block).covers(Probe::At(entry)) {
                continue;
            }
            let Some(number) = place_of(&Node(block), entry, near) else { continue };
            near = Some(number);
            let slot = Node(block).slot(number);
            // See `ops`: a lock of another transaction is a later change, which the view sees.
            let is_free = slot.lock == 0 && !is_applied;
            if slot.lock == lock || is_free {
                remove(block, number);
            }
        }
    }
}

/// The number of the entry in a leaf, if the leaf has one with this key and this row.
fn place_of(node: &Node<'_>, entry: Position<'_>, near: Option<u16>) -> Option<u16> {
    let number = node.find_near(entry, near).ok()?;
    (node.position(number).row == entry.row).then_some(number)
}

/// What is taken back in a leaf of an undo record with this payload, from its first entry on. None
/// if the leaf doesn't cover that entry.
pub(super) fn part_in<'p>(node: &Node<'_>, payload: &'p [u8]) -> Option<BackPart<'p>> {
    let rest = split_itl_back(payload).1;
    let back = Back::read(rest);
    if !node.covers(Probe::At(back.first())) {
        return None;
    }
    let head = payload.len() - back.entries.len();
    let (mut left, mut here, mut removed) = (back.entries(), Vec::new(), Vec::new());
    let mut near = None;
    let behind = loop {
        let from = left.0;
        match left.next() {
            Some(entry) if node.covers(Probe::At(entry)) => {
                // It isn't there if it was taken back before a crash.
                if let Some(number) = place_of(node, entry, near) {
                    near = Some(number);
                    removed.push(number);
                    here.extend_from_slice(&from[..from.len() - left.0.len()]);
                }
            }
            _ => break from,
        }
    };
    let with_head = |entries: &[u8]| [&payload[..head], entries].concat();
    let change = match here.len() {
        0 => None,
        all if all == back.entries.len() => Some(Cow::Borrowed(payload)),
        _ => Some(Cow::Owned(with_head(&here))),
    };
    Some(BackPart {
        change: change.map(|payload| (BACK_MANY_FOR_GOOD, payload)),
        rest: (!behind.is_empty()).then(|| with_head(behind)),
        emptied: leaves_deleted(node, &removed).then(|| header_of(back.root)),
    })
}

/// Whether a leaf has only deleted entries once these are gone. The first leaf of the index never
/// counts, because it stays (BT31).
fn leaves_deleted(node: &Node<'_>, removed: &[u16]) -> bool {
    if removed.is_empty() {
        return false;
    }
    let mut removed = removed.iter().peekable();
    let is_gone =
        |number| removed.next_if_eq(&&number).is_some() || node.slot(number).flags & MARKED != 0;
    node.low().is_some() && (0..node.count()).all(is_gone)
}
