//! The entries of a block's ITL.
//!
//! Callers: `itl`, `consistent`; `access`, within its `apply`.

use format::{DataHead, DataSlot, ItlEntry, ScnLe, U16Le};

use super::slots::{directory, directory_end, set_slot, slot};

/// How many entries the list has.
#[inline]
pub fn entries(block: &[u8]) -> u8 {
    DataHead::at(block, DataHead::START).itl_count
}

/// Entry `number`, from 0.
#[inline]
pub fn entry(block: &[u8], number: u8) -> &ItlEntry {
    ItlEntry::at(block, place_of(number))
}

/// Entry `number`, from 0, to be changed.
#[inline]
pub fn entry_mut(block: &mut [u8], number: u8) -> &mut ItlEntry {
    ItlEntry::at_mut(block, place_of(number))
}

fn place_of(number: u8) -> usize {
    DataHead::LIST + usize::from(number) * ItlEntry::BYTES
}

/// Bytes of the block that are kept free for the rollbacks of its active transactions (BL4).
pub fn kept(block: &[u8]) -> usize {
    let of = |number| {
        let entry = entry(block, number);
        if entry.ended == ScnLe::ZERO { usize::from(entry.freed.get()) } else { 0 }
    };
    (0..entries(block)).map(of).sum()
}

/// Adds an entry that names no transaction.
///
/// # Panics
/// When there is no room for it between directory and bytes: see [`room_of`](super::room_of).
pub(crate) fn grow_list(block: &mut [u8]) {
    let (begin, end) = (place_of(entries(block)), directory_end(block));
    let grown = end + ItlEntry::BYTES;
    super::slots::make_gap(block, grown);
    block.copy_within(begin..end, begin + ItlEntry::BYTES);
    let head = DataHead::at_mut(block, DataHead::START);
    head.itl_count = head.itl_count.checked_add(1).expect("a list has at most 255 entries");
    head.free = U16Le::new(head.free.get() - ItlEntry::BYTES as u16);
    *ItlEntry::at_mut(block, begin) = ItlEntry::NONE;
}

/// Removes all locks of entry `number`, whose transaction has ended. Slots that it has deleted
/// become free.
pub fn unlock(block: &mut [u8], number: u8) {
    let mut at = 0;
    for _ in 0..entry(block, number).locks.get() {
        let has_it = |slot: &DataSlot| slot.lock == number + 1;
        let Some(next) = directory(block)[at..].iter().position(has_it) else { break };
        at += next;
        let found = slot(block, at as u16);
        let is_deleted = found.flags & DataSlot::DELETED != 0;
        let unlocked = if is_deleted { DataSlot::FREE } else { DataSlot { lock: 0, ..found } };
        set_slot(block, at as u16, unlocked);
        at += 1;
    }
    entry_mut(block, number).locks = U16Le::ZERO;
}
