//! The steps by which a change alters the rows of a heap block. A change and its undo are lists of
//! the same steps; `format::changes::heap` declares how they are stored.
//!
//! | step      | taken back by          |
//! |-----------|------------------------|
//! | `Put`     | `Drop`, or `Stub`      |
//! | `Drop`    | `Put`                  |
//! | `Stub`    | `Put`                  |
//! | `Splice`  | `Splice` the other way |
//! | `Lock`    | `Lock`                 |
//! | `Replace` | `Replace`              |
//! | `Trim`    | nothing                |
//! | `Clear`   | only undo has it       |
//!
//! `Trim` removes the free slots behind the last one in use. No transaction takes anything back in
//! them for good, and a copy that goes back to when they were in use gets them again.
//!
//! Callers: `rows`, which makes steps; `apply`, which applies them.

use format::DataSlot;
pub(crate) use format::changes::heap::Step as Op;
use txn::block;

/// The flag of a slot with a row, or with the first piece of one.
pub(crate) const ROW: u8 = 1;

/// Whether a step changes the row of this slot, and not only its lock.
fn changes(step: Op<'_>, of: u16) -> bool {
    match step {
        Op::Put { slot, .. }
        | Op::Drop { slot }
        | Op::Stub { slot, .. }
        | Op::Splice { slot, .. }
        | Op::Replace { slot, .. } => slot == of,
        Op::Clear { slots } => of < slots,
        Op::Lock { .. } | Op::Trim { .. } => false,
    }
}

/// Applies a step.
fn apply(step: Op<'_>, to: &mut [u8]) {
    match step {
        Op::Put { slot, flags, lock, bytes } => {
            // More than one slot is added only in a copy of a block that was trimmed since.
            while slot >= block::slots(to) {
                block::add_slot(to);
            }
            let found = block::slot(to, slot);
            assert!(found.at.get() == 0, "a row is put where there is one (AC1)");
            block::set_slot(to, slot, DataSlot { flags, lock, ..DataSlot::FREE });
            block::place(to, slot, &[bytes]);
        }
        Op::Drop { slot } => free(to, slot),
        // The last one has the lowest bytes.
        Op::Clear { slots } => (0..slots).rev().for_each(|slot| free(to, slot)),
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

/// Applies all of these steps.
pub(crate) fn apply_all(to: &mut [u8], mut steps: &[u8]) {
    while !steps.is_empty() {
        let (step, rest) = Op::read(steps).expect("the payload was checked (rule change/CH9)");
        apply(step, to);
        steps = rest;
    }
}

/// Whether one of these steps changes the row of this slot, and not only its lock.
pub(crate) fn changes_row(mut steps: &[u8], slot: u16) -> bool {
    while !steps.is_empty() {
        let (step, rest) = Op::read(steps).expect("the payload was checked (rule change/CH9)");
        if changes(step, slot) {
            return true;
        }
        steps = rest;
    }
    false
}

fn free(block: &mut [u8], number: u16) {
    block::release(block, number);
    block::set_slot(block, number, DataSlot::FREE);
}

fn set_lock(block: &mut [u8], number: u16, lock: u8) {
    let slot = block::slot(block, number);
    block::set_slot(block, number, DataSlot { lock, ..slot });
}
