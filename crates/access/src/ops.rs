//! What a change does to the rows of a heap block: a list of small steps, forward and back alike.
//!
//! | step     | fields                                       | taken back by          |
//! |----------|----------------------------------------------|------------------------|
//! | `Put`    | slot, flags, lock, length, bytes             | `Drop`, or `Stub`      |
//! | `Drop`   | slot                                         | `Put`                  |
//! | `Stub`   | slot, lock                                   | `Put`                  |
//! | `Splice` | slot, lock, offset, removed, length, bytes   | `Splice` the other way |
//! | `Lock`   | slot, lock                                   | `Lock`                 |
//! | `Replace`| slot, flags, lock, length, bytes             | `Replace`              |
//! | `Trim`   | how many slots stay                          | not                    |
//!
//! Free slots behind the last that is in use may be trimmed: nobody takes anything back in them for
//! good, and a copy that goes back to when they were in use gets them again.
//!
//! Callers: `heap`, which makes steps; `apply`, which does them.

use format::DataSlot;

const PUT: u8 = 1;
const DROP: u8 = 2;
const STUB: u8 = 3;
const SPLICE: u8 = 4;
const LOCK: u8 = 5;
const REPLACE: u8 = 6;
const TRIM: u8 = 7;

/// Flag of a slot that has a row, or the first piece of one.
pub(crate) const ROW: u8 = 1;

/// A step. A lock is what the slot's is from then on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op<'a> {
    /// A free slot, or one behind the last, or one whose row is deleted, gets a row.
    Put { slot: u16, flags: u8, lock: u8, bytes: &'a [u8] },
    /// The slot is free.
    Drop { slot: u16 },
    /// The row is deleted; the slot is kept until that is committed.
    Stub { slot: u16, lock: u8 },
    /// Bytes of the row are replaced.
    Splice { slot: u16, lock: u8, offset: u16, removed: u16, with: &'a [u8] },
    /// Only the lock changes.
    Lock { slot: u16, lock: u8 },
    /// The row's bytes and flags are replaced.
    Replace { slot: u16, flags: u8, lock: u8, bytes: &'a [u8] },
    /// The slots behind the first so many, which are free, go.
    Trim { slots: u16 },
}

impl<'a> Op<'a> {
    /// Bytes of the longest step but for its row's.
    pub(crate) const HEAD_BYTES_MAX: usize = 10;
    /// Bytes of a `Trim`.
    pub(crate) const TRIM_BYTES: usize = 3;

    /// Appends the step as it is stored.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        let mut head = |kind: u8, slot: u16| {
            to.push(kind);
            to.extend_from_slice(&slot.to_le_bytes());
        };
        match *self {
            Op::Put { slot, flags, lock, bytes } | Op::Replace { slot, flags, lock, bytes } => {
                head(if let Op::Put { .. } = self { PUT } else { REPLACE }, slot);
                to.extend_from_slice(&[flags, lock]);
                to.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
                to.extend_from_slice(bytes);
            }
            Op::Drop { slot } => head(DROP, slot),
            Op::Stub { slot, lock } => {
                head(STUB, slot);
                to.push(lock);
            }
            Op::Splice { slot, lock, offset, removed, with } => {
                head(SPLICE, slot);
                to.push(lock);
                for number in [offset, removed, with.len() as u16] {
                    to.extend_from_slice(&number.to_le_bytes());
                }
                to.extend_from_slice(with);
            }
            Op::Lock { slot, lock } => {
                head(LOCK, slot);
                to.push(lock);
            }
            Op::Trim { slots } => head(TRIM, slots),
        }
    }

    /// The first step of these, and the rest.
    fn read(from: &'a [u8]) -> (Op<'a>, &'a [u8]) {
        let pair = |at: usize| u16::from_le_bytes([from[at], from[at + 1]]);
        let slot = pair(1);
        match from[0] {
            PUT => {
                let (bytes, rest) = from[7..].split_at(pair(5).into());
                (Op::Put { slot, flags: from[3], lock: from[4], bytes }, rest)
            }
            REPLACE => {
                let (bytes, rest) = from[7..].split_at(pair(5).into());
                (Op::Replace { slot, flags: from[3], lock: from[4], bytes }, rest)
            }
            DROP => (Op::Drop { slot }, &from[3..]),
            STUB => (Op::Stub { slot, lock: from[3] }, &from[4..]),
            SPLICE => {
                let (with, rest) = from[10..].split_at(pair(8).into());
                let (offset, removed) = (pair(4), pair(6));
                (Op::Splice { slot, lock: from[3], offset, removed, with }, rest)
            }
            LOCK => (Op::Lock { slot, lock: from[3] }, &from[4..]),
            TRIM => (Op::Trim { slots: slot }, &from[3..]),
            other => panic!("there is no step {other} in a heap block"),
        }
    }

    /// The slot whose row it changes; none of a step that changes only a lock, or no row.
    fn changed_slot(&self) -> Option<u16> {
        match *self {
            Op::Put { slot, .. }
            | Op::Drop { slot }
            | Op::Stub { slot, .. }
            | Op::Splice { slot, .. }
            | Op::Replace { slot, .. } => Some(slot),
            Op::Lock { .. } | Op::Trim { .. } => None,
        }
    }

    fn apply(&self, to: &mut [u8]) {
        match *self {
            Op::Put { slot, flags, lock, bytes } => {
                // More than one only in a copy, of a block that was trimmed since.
                while slot >= block::slots(to) {
                    block::add_slot(to);
                }
                let found = block::slot(to, slot);
                assert!(found.at.get() == 0, "a row is put where there is one (AC1)");
                block::set_slot(to, slot, DataSlot { flags, lock, ..DataSlot::FREE });
                block::place(to, slot, &[bytes]);
            }
            Op::Drop { slot } => {
                block::release(to, slot);
                block::set_slot(to, slot, DataSlot::FREE);
            }
            Op::Stub { slot, lock } => {
                block::release(to, slot);
                let flags = DataSlot::DELETED;
                block::set_slot(to, slot, DataSlot { flags, lock, ..DataSlot::FREE });
            }
            Op::Splice { slot, lock, offset, removed, with } => {
                block::splice(to, slot, offset.into(), removed.into(), with);
                set_lock(to, slot, lock);
            }
            Op::Lock { slot, lock } => set_lock(to, slot, lock),
            Op::Trim { slots } => {
                for number in (slots..block::slots(to)).rev() {
                    assert!(block::slot(to, number) == DataSlot::FREE, "a slot in use is trimmed");
                    block::remove_slot(to, number);
                }
            }
            Op::Replace { slot, flags, lock, bytes } => {
                block::release(to, slot);
                block::set_slot(to, slot, DataSlot { flags, lock, ..DataSlot::FREE });
                block::place(to, slot, &[bytes]);
            }
        }
    }
}

/// Does all of these steps.
pub(crate) fn apply_all(to: &mut [u8], mut steps: &[u8]) {
    while !steps.is_empty() {
        let (step, rest) = Op::read(steps);
        step.apply(to);
        steps = rest;
    }
}

/// Whether one of these steps changes the row of this slot, and not only its lock.
pub(crate) fn changes_row(mut steps: &[u8], slot: u16) -> bool {
    while !steps.is_empty() {
        let (step, rest) = Op::read(steps);
        if step.changed_slot() == Some(slot) {
            return true;
        }
        steps = rest;
    }
    false
}

fn set_lock(block: &mut [u8], number: u16, lock: u8) {
    let slot = block::slot(block, number);
    block::set_slot(block, number, DataSlot { lock, ..slot });
}
