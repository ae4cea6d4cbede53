//! Blocks of tables and indexes, each by itself, for who doesn't believe them: any bytes are looked
//! at. What `check_…` has passed, the rest reads.
//!
//! Callers: `verify`; `btree::check`.

use format::{BlockHeader, BlockKind, DataHead, DataSlot, DbaLe, FreeMap};
use ids::Dba;
use txn::block;

use crate::RowAddress;
use crate::free_map::{REFILL, WHOLE, entries, entries_of, is_map, map_of};
use crate::rows::{ADDRESS_BYTES, NEXT, PIECE, ROW, SHORT, piece_of};

/// What a slot of a heap block has of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapSlot<'a> {
    /// Its number.
    pub slot: u16,
    /// Whether it is the row's first piece, and so its address the row's.
    pub is_row: bool,
    /// Bytes of the row.
    pub data: &'a [u8],
    /// Where the row goes on.
    pub next: Option<RowAddress>,
}

/// Whether the block says that it is of this kind and object.
pub fn is_of(block: &[u8], kinds: &[BlockKind], object: u32) -> bool {
    !cache::is_unwritten(block)
        && kinds.contains(&BlockHeader::at(block, 0).kind())
        && DataHead::at(block, DataHead::START).object.get() == object
}

/// What is wrong with a map of free space, if anything is. Its header was checked. What its bytes
/// say of blocks is a hint, and may be wrong.
pub fn check_free_map(block: &[u8]) -> Result<(), String> {
    if FreeMap::at(block, FreeMap::START).reserved != [0; 8] {
        return Err("its head has more than a map's has".to_string());
    }
    match entries(block).iter().find(|byte| **byte > WHOLE || (1..REFILL).contains(*byte)) {
        Some(byte) => Err(format!("one of its bytes is {byte}")),
        None => Ok(()),
    }
}

/// What is wrong with a heap block, if anything is. Its header was checked.
pub fn check_heap_block(block: &[u8]) -> Result<(), String> {
    block::check(block)?;
    let head = DataHead::at(block, DataHead::START);
    if head.level != 0 || head.reserved != [0; 2] {
        return Err("its head has what only an index's has".to_string());
    }
    let entry = head.own.get();
    let entries = if head.next == DbaLe::NONE { 1 } else { entries_of(block.len()) };
    if u32::from(entry) >= entries {
        return Err(format!("its head says byte {entry} of a map of free space of {entries}"));
    }
    for (number, slot) in (0_u16..).zip(block::directory(block)) {
        let bytes = block::bytes_of(block, *slot);
        let is_there = slot.at.get() != 0;
        let is_sound = match slot.flags & !(NEXT | SHORT) {
            0 => slot.flags == 0 && !is_there && slot.lock == 0,
            DataSlot::DELETED => slot.flags == DataSlot::DELETED && !is_there,
            ROW | PIECE => match slot.flags & (NEXT | SHORT) {
                0 => is_there,
                NEXT => bytes.len() >= ADDRESS_BYTES,
                SHORT => bytes.first().is_some_and(|length| usize::from(*length) < bytes.len()),
                _ => false,
            },
            _ => false,
        };
        if !is_sound {
            return Err(format!(
                "slot {number} has flags {:#04x} and {} bytes",
                slot.flags,
                bytes.len()
            ));
        }
    }
    Ok(())
}

/// What is wrong with the place in a map of free space that a block of a heap says it has, if
/// anything is: `number` is the block's in its segment, whose blocks are these, the header first.
/// It has passed [`check_heap_block`].
pub fn check_map_place(block: &[u8], number: u32, segment: &[Dba]) -> Result<(), String> {
    let head = DataHead::at(block, DataHead::START);
    if head.next == DbaLe::NONE {
        return Ok(());
    }
    let map_number = map_of(number, block.len());
    let entry = head.own.get();
    let map = segment.get(map_number as usize);
    if map != Some(&head.next.get()) || u32::from(entry) + map_number + 1 != number {
        return Err(format!(
            "says that it is number {entry} of the map of free space {}, which is another block's \
             place",
            head.next.get()
        ));
    }
    Ok(())
}

/// Whether a map of free space says that this block of its segment, by its number there, has been
/// formatted: it was noted with less room than a block has that was only handed out.
pub fn was_formatted(map: &[u8], block: (u32, u32)) -> bool {
    entry_of(map, block).is_some_and(|entry| entry != WHOLE)
}

/// Whether it says that the block was handed out at most. What isn't a map says nothing.
pub(crate) fn is_unformatted(map: &[u8], block: (u32, u32)) -> bool {
    entry_of(map, block) == Some(WHOLE)
}

fn entry_of(map: &[u8], (object, number): (u32, u32)) -> Option<u8> {
    let place = number - map_of(number, map.len());
    // A map is no block of rows.
    let entry = place.checked_sub(1).filter(|_| is_map(map, object))?;
    Some(entries(map)[entry as usize])
}

/// The number in a segment of the map of free space that a block belongs to, which isn't the
/// header.
pub fn map_number(number: u32, block_bytes: usize) -> u32 {
    map_of(number, block_bytes)
}

/// Whether this block is a map of free space of the object.
pub fn is_free_map(block: &[u8], object: u32) -> bool {
    is_map(block, object)
}

/// Rows and pieces that are there, in a block that is in order.
pub fn heap_slots(block: &[u8]) -> impl Iterator<Item = HeapSlot<'_>> {
    let all = (0_u16..).zip(block::directory(block));
    all.filter(|(_, slot)| slot.flags & (ROW | PIECE) != 0).map(|(number, slot)| {
        let piece = piece_of(block, *slot);
        let is_row = slot.flags & ROW != 0;
        HeapSlot { slot: number, is_row, data: piece.data, next: piece.next }
    })
}

/// One slot, if it has a row or a piece.
pub fn heap_slot(block: &[u8], number: u16) -> Option<HeapSlot<'_>> {
    heap_slots(block).find(|found| found.slot == number)
}
