//! Checks and reads one block of a table or an index by itself, whatever bytes it has. The
//! functions `check_…` accept any bytes; the others read blocks that have passed their check.
//!
//! Callers: `verify`; `btree::check`; this crate, for [`is_of`] and the maps of free space.

use format::{BlockHeader, BlockKind, DataHead, DataSlot, DbaLe, FreeMap};
use ids::Dba;
use txn::block;

use crate::RowAddress;
use crate::free_map::{REFILL, WHOLE, entries, entries_of, is_map, map_of};
use crate::rows::{ADDRESS_BYTES, NEXT, PIECE, ROW, SHORT, piece_of};

/// A row, or a piece of one, in a slot of a heap block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapSlot<'a> {
    /// The number of the slot.
    pub slot: u16,
    /// Whether this is the row's first piece: then the slot's address is the row's.
    pub is_row: bool,
    /// The bytes of the row that are here.
    pub data: &'a [u8],
    /// The address of the row's next piece, if there is one.
    pub next: Option<RowAddress>,
}

/// Whether the block says that it is of one of these kinds, and of this object.
#[inline]
pub fn is_of(block: &[u8], kinds: &[BlockKind], object: u32) -> bool {
    !cache::is_unwritten(block)
        && kinds.contains(&BlockHeader::at(block, 0).kind())
        && DataHead::at(block, DataHead::START).object.get() == object
}

/// Whether this is a heap block of the object.
#[inline]
pub(crate) fn is_heap_block(block: &[u8], object: u32) -> bool {
    is_of(block, &[BlockKind::Heap], object)
}

/// Checks a map of free space whose header was checked; the error says what is wrong. What the map
/// says of other blocks is a hint, and isn't checked.
pub fn check_free_map(block: &[u8]) -> Result<(), String> {
    if FreeMap::at(block, FreeMap::START).reserved != [0; 8] {
        return Err("its head has more than a map's has".to_string());
    }
    match entries(block).iter().find(|byte| **byte > WHOLE || (1..REFILL).contains(*byte)) {
        Some(byte) => Err(format!("one of its bytes is {byte}")),
        None => Ok(()),
    }
}

/// Checks a heap block whose header was checked; the error says what is wrong.
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

/// Checks that a heap block names its own entry in a map of free space; the error says what is
/// wrong. `number` is the block's in its segment, and `segment` has all blocks of that, the header
/// first. The block has passed [`check_heap_block`].
pub fn check_map_entry(block: &[u8], number: u32, segment: &[Dba]) -> Result<(), String> {
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

/// Whether the object's map of free space says that block `number` of the segment has been
/// formatted: its entry has less room than that of a block that was only handed out.
pub fn was_formatted(map: &[u8], object: u32, number: u32) -> bool {
    entry_of(map, object, number).is_some_and(|entry| entry != WHOLE)
}

/// Whether the map says that the block was handed out at most. A block that isn't a map of the
/// object says nothing.
pub(crate) fn is_unformatted(map: &[u8], object: u32, number: u32) -> bool {
    entry_of(map, object, number) == Some(WHOLE)
}

fn entry_of(map: &[u8], object: u32, number: u32) -> Option<u8> {
    // A map has no entry for itself.
    let entry = (number - map_of(number, map.len())).checked_sub(1)?;
    is_map(map, object).then(|| entries(map)[entry as usize])
}

/// The rows and pieces of a block that has passed its check.
pub fn heap_slots(block: &[u8]) -> impl Iterator<Item = HeapSlot<'_>> {
    let all = (0_u16..).zip(block::directory(block));
    all.filter(|(_, slot)| slot.flags & (ROW | PIECE) != 0).map(|(number, slot)| {
        let piece = piece_of(block, *slot);
        let is_row = slot.flags & ROW != 0;
        HeapSlot { slot: number, is_row, data: piece.data, next: piece.next }
    })
}

/// The row or piece in a slot, if there is one.
pub fn heap_slot(block: &[u8], number: u16) -> Option<HeapSlot<'_>> {
    heap_slots(block).find(|found| found.slot == number)
}
