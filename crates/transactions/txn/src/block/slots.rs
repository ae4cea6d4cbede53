//! The directory of slots, and the bytes of the slots.
//!
//! Bytes are placed below the lowest ones. If there is no room there, all bytes are moved together
//! to the block's end first, in the order of the slots, so that recovery does the same (BL2).
//!
//! Callers: `access`, within its `apply`.

use format::{BlockHeader, BlockKind, DataHead, DataSlot, DbaLe, ItlEntry, U16Le, U32Le};
use ids::Dba;

use super::list::entries;

/// Makes an empty block of this kind, with an ITL of `itl_count` entries.
pub fn create(block: &mut [u8], kind: BlockKind, address: Dba, object: u32, itl_count: u8) {
    block.fill(0);
    *BlockHeader::of_mut(block) = BlockHeader::new(kind, address);
    let end = block.len() as u16;
    let list = usize::from(itl_count) * ItlEntry::BYTES;
    let free = block.len() - DataHead::LIST - list;
    *DataHead::at_mut(block, DataHead::START) = DataHead {
        object: U32Le::new(object),
        itl_count,
        level: 0,
        slots: U16Le::ZERO,
        rows: U16Le::new(end),
        free: U16Le::new(free as u16),
        own: U16Le::ZERO,
        reserved: [0; 2],
        next: DbaLe::NONE,
    };
}

/// How many slots there are.
#[inline]
pub fn slots(block: &[u8]) -> u16 {
    DataHead::at(block, DataHead::START).slots.get()
}

/// Slot `number`, from 0.
#[inline]
pub fn slot(block: &[u8], number: u16) -> DataSlot {
    *DataSlot::at(block, place_of(block, number))
}

/// All slots.
#[inline]
pub fn directory(block: &[u8]) -> &[DataSlot] {
    let (from, count) = (place_of(block, 0), usize::from(slots(block)));
    DataSlot::many(&block[from..], count)
}

/// Writes a slot's entry of the directory. Its bytes stay as they are.
pub fn set_slot(block: &mut [u8], number: u16, to: DataSlot) {
    let at = place_of(block, number);
    *DataSlot::at_mut(block, at) = to;
}

/// The bytes of a slot; empty if it has none.
#[inline]
pub fn bytes_of(block: &[u8], slot: DataSlot) -> &[u8] {
    let at = usize::from(slot.at.get());
    &block[at..at + usize::from(slot.length.get())]
}

/// The number of free bytes, wherever they are (BL3).
#[inline]
pub fn room_of(block: &[u8]) -> usize {
    DataHead::at(block, DataHead::START).free.get().into()
}

/// The number of bytes of its slots.
#[inline]
pub fn used(block: &[u8]) -> usize {
    block.len() - directory_end(block) - room_of(block)
}

/// Adds a free slot behind the others. Returns its number.
///
/// # Panics
/// When there is no room for it.
pub fn add_slot(block: &mut [u8]) -> u16 {
    let number = slots(block);
    insert_slot(block, number);
    number
}

/// Adds a free slot before slot `number`, which moves up with all behind it.
///
/// # Panics
/// When there is no room for it.
pub fn insert_slot(block: &mut [u8], number: u16) {
    let end = directory_end(block);
    make_gap(block, end + DataSlot::BYTES);
    let at = place_of(block, number);
    block.copy_within(at..end, at + DataSlot::BYTES);
    *DataSlot::at_mut(block, at) = DataSlot::FREE;
    let head = DataHead::at_mut(block, DataHead::START);
    head.slots = U16Le::new(head.slots.get() + 1);
    head.free = U16Le::new(head.free.get() - DataSlot::BYTES as u16);
}

/// Removes slot `number`, which has no bytes; the slots behind it move down.
pub fn remove_slot(block: &mut [u8], number: u16) {
    assert!(slot(block, number).at.get() == 0, "a slot that is taken away has bytes");
    let (at, end) = (place_of(block, number), directory_end(block));
    block.copy_within(at + DataSlot::BYTES..end, at);
    let head = DataHead::at_mut(block, DataHead::START);
    head.slots = U16Le::new(head.slots.get() - 1);
    head.free = U16Le::new(head.free.get() + DataSlot::BYTES as u16);
}

/// Puts bytes into a slot that has none.
///
/// # Panics
/// When there is no room for them.
pub fn place(block: &mut [u8], number: u16, bytes: &[&[u8]]) {
    let mut found = slot(block, number);
    assert!(found.at.get() == 0, "a slot that gets bytes has some");
    let length: usize = bytes.iter().map(|part| part.len()).sum();
    let mut at = take(block, length);
    (found.at, found.length) = (U16Le::new(at as u16), U16Le::new(length as u16));
    for part in bytes {
        block[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    set_slot(block, number, found);
}

/// Adds slots with flags and bytes behind the others, all with this lock, to a block that has
/// [`gap`] for them. Each slot's bytes come in parts. Returns how many.
///
/// # Panics
/// When there is no room for them.
pub fn append<'r, const PARTS: usize>(
    block: &mut [u8],
    lock: u8,
    rows: impl Iterator<Item = (u8, [&'r [u8]; PARTS])>,
) -> u16 {
    let (before, mut end) = (lowest(block), directory_end(block));
    let (mut at, mut added) = (before, 0);
    for (flags, parts) in rows {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        at = at.checked_sub(length).expect("there is room for the bytes");
        assert!(end + DataSlot::BYTES <= at, "there is room for the slots");
        let mut from = at;
        for part in parts {
            block[from..from + part.len()].copy_from_slice(part);
            from += part.len();
        }
        let (at, length) = (U16Le::new(at as u16), U16Le::new(length as u16));
        *DataSlot::at_mut(block, end) = DataSlot { at, length, flags, lock };
        end += DataSlot::BYTES;
        added += 1;
    }
    let head = DataHead::at_mut(block, DataHead::START);
    let taken = before - at + usize::from(added) * DataSlot::BYTES;
    head.slots = U16Le::new(head.slots.get() + added);
    head.rows = U16Le::new(at as u16);
    head.free = U16Le::new(head.free.get() - taken as u16);
    added
}

/// How many bytes are free between the directory and the lowest bytes.
pub fn gap(block: &[u8]) -> usize {
    lowest(block) - directory_end(block)
}

/// Frees a slot's bytes.
pub fn release(block: &mut [u8], number: u16) {
    let mut found = slot(block, number);
    let head = DataHead::at_mut(block, DataHead::START);
    head.free = U16Le::new(head.free.get() + found.length.get());
    if found.at == head.rows {
        head.rows = U16Le::new(head.rows.get() + found.length.get());
    }
    (found.at, found.length) = (U16Le::ZERO, U16Le::ZERO);
    set_slot(block, number, found);
}

/// Replaces `removed` bytes of a slot, from `offset` on, by `with`.
///
/// # Panics
/// When there is no room for it, or the slot has no such bytes.
pub fn splice(block: &mut [u8], number: u16, offset: usize, removed: usize, with: &[u8]) {
    let found = slot(block, number);
    let start = usize::from(found.at.get()) + offset;
    if removed == with.len() {
        assert!(offset + removed <= usize::from(found.length.get()), "a splice outside its row");
        block[start..start + removed].copy_from_slice(with);
        return;
    }
    // The old bytes are copied, because placing the new ones may move everything.
    let old = bytes_of(block, found).to_vec();
    release(block, number);
    place(block, number, &[&old[..offset], with, &old[offset + removed..]]);
}

/// Where the directory ends.
pub(crate) fn directory_end(block: &[u8]) -> usize {
    place_of(block, slots(block))
}

/// Moves bytes so that none below `end` are in use behind the directory.
pub(crate) fn make_gap(block: &mut [u8], end: usize) {
    if lowest(block) < end {
        compact(block);
        assert!(lowest(block) >= end, "a block has room for what is put there");
    }
}

fn lowest(block: &[u8]) -> usize {
    DataHead::at(block, DataHead::START).rows.get().into()
}

#[inline]
fn place_of(block: &[u8], number: u16) -> usize {
    let list = usize::from(entries(block)) * ItlEntry::BYTES;
    DataHead::LIST + list + usize::from(number) * DataSlot::BYTES
}

/// Takes `length` bytes below the lowest ones in use. Returns where they begin.
fn take(block: &mut [u8], length: usize) -> usize {
    if lowest(block) - directory_end(block) < length {
        compact(block);
    }
    let (lowest, end) = (lowest(block), directory_end(block));
    assert!(lowest - end >= length, "a block has room for what is put there");
    let head = DataHead::at_mut(block, DataHead::START);
    head.rows = U16Le::new((lowest - length) as u16);
    head.free = U16Le::new(head.free.get() - length as u16);
    lowest - length
}

/// Moves all bytes together to the block's end, in the order of the slots.
fn compact(block: &mut [u8]) {
    let old = block.to_vec();
    let mut lowest = block.len();
    for number in 0..slots(block) {
        let mut found = slot(block, number);
        if found.at.get() != 0 {
            let bytes = bytes_of(&old, found);
            lowest -= bytes.len();
            block[lowest..lowest + bytes.len()].copy_from_slice(bytes);
            found.at = U16Le::new(lowest as u16);
            set_slot(block, number, found);
        }
    }
    let end = directory_end(block);
    block[end..lowest].fill(0);
    DataHead::at_mut(block, DataHead::START).rows = U16Le::new(lowest as u16);
}
