//! Maps of free space: which blocks of a table have room, for inserters (rules AC10 to AC12).
//!
//! ```text
//!   segment:   header │ map │ block │ block │ … │ map │ block │ …
//!                        └── a byte each ──┘ ◀── each block names its map, and its byte
//! ```
//!
//! A byte says how much of its block is free, in parts of 128. It is a hint, and never the truth:
//! who believes it looks at the block. It is written in a group of its own, with the block latched
//! so that it can't change: so the last note of a block says what the block had room for then.
//!
//! Invariants
//!   * no byte is between 0 and [`REFILL`]
//!   * a heap block names a map of its own segment, or none
//!
//! Callers: `inserter`; `heap` and `txn`, where a change has made room.
//! Sources: PostgreSQL's freespace/README; Oracle's segments with bitmap blocks, and PCTFREE.

use cache::{Pin, is_unwritten};
use change::{Changes, credits_for};
use format::changes::heap::{MapFormat, MapNote};
use format::{BlockHeader, BlockKind, DataHead, DataSlot, DbaLe, FreeMap, U16Le, U32Le};
use ids::Dba;
use latch::FrameOrder;
use os::Session;
use stop::Stop;
use txn::block;

use crate::apply::{LAYER, NOTE};
use crate::heap::is_of;

/// A block's room is told in so many parts of it.
const PARTS: usize = 128;
/// What a block has that was handed out, and not formatted.
pub(crate) const WHOLE: u8 = PARTS as u8;
/// What a block has at most that was formatted.
pub(crate) const FORMATTED: u8 = WHOLE - 1;
/// Of an object's blocks those with less room are not offered: so a block that was filled isn't
/// filled again for each row that goes.
pub(crate) const REFILL: u8 = WHOLE / LEVELS;
/// A note is made where the room of a block rises to another of so many levels, and where its last
/// row goes.
const LEVELS: u8 = 4;

/// Where a block has its byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MapPlace {
    /// None if it has none.
    pub(crate) map: DbaLe,
    pub(crate) entry: u16,
}

impl MapPlace {
    /// Of a block of a segment without maps.
    pub(crate) const NONE: MapPlace = MapPlace { map: DbaLe::NONE, entry: 0 };

    pub(crate) fn new(map: Dba, entry: u32) -> MapPlace {
        let entry = u16::try_from(entry).expect("a map has fewer bytes than a block");
        MapPlace { map: DbaLe::new(map), entry }
    }

    /// That of the block behind this one.
    pub(crate) fn next(self) -> MapPlace {
        match self.map {
            DbaLe::NONE => MapPlace::NONE,
            map => MapPlace { map, entry: self.entry + 1 },
        }
    }

    /// Has the block say it.
    pub(crate) fn write(&self, block: &mut [u8]) {
        let head = DataHead::at_mut(block, DataHead::START);
        head.next = self.map;
        head.own = U16Le::new(self.entry);
    }

    /// What the block says; none if it has no place.
    fn of(block: &[u8]) -> Option<(MapPlace, u32)> {
        if is_unwritten(block) || BlockHeader::at(block, 0).kind() != BlockKind::Heap {
            return None;
        }
        let head = DataHead::at(block, DataHead::START);
        let entry = head.own.get();
        (head.next != DbaLe::NONE).then(|| (MapPlace { map: head.next, entry }, head.object.get()))
    }
}

/// How many blocks a map of so many bytes is of.
pub(crate) fn entries_of(block_bytes: usize) -> u32 {
    (block_bytes - FreeMap::ENTRIES) as u32
}

/// Number in its segment of the map that a block belongs to: itself, if it is one. `number` is the
/// block's, which isn't the header's 0.
pub(crate) fn map_of(number: u32, block_bytes: usize) -> u32 {
    number - (number - 1) % (entries_of(block_bytes) + 1)
}

/// The byte of a block with so many bytes free.
pub(crate) fn class_of(room: usize, block_bytes: usize) -> u8 {
    (room * PARTS / block_bytes).min(FORMATTED.into()) as u8
}

/// Whether this is a map of the object.
pub(crate) fn is_map(block: &[u8], object: u32) -> bool {
    !is_unwritten(block)
        && BlockHeader::at(block, 0).kind() == BlockKind::FreeMap
        && FreeMap::at(block, FreeMap::START).object.get() == object
}

/// All bytes of a map.
pub(crate) fn entries(map: &[u8]) -> &[u8] {
    &map[FreeMap::ENTRIES..]
}

/// Which of these bytes, from one on, are at least `wanted`. Most are not, and are passed in runs.
pub(crate) fn at_least(wanted: u8, bytes: &[u8], from: usize) -> impl Iterator<Item = u32> {
    const RUN: usize = 64;
    let from = from.min(bytes.len());
    let runs = (from..).step_by(RUN).zip(bytes[from..].chunks(RUN));
    let some =
        runs.filter(move |(_, run)| run.iter().fold(0, |most, byte| *byte.max(&most)) >= wanted);
    let each = some.flat_map(|(start, run)| (start as u32..).zip(run));
    each.filter(move |(_, byte)| **byte >= wanted).map(|(at, _)| at)
}

/// Free bytes of a heap block, with those of free slots at the end of its directory: those may be
/// trimmed. Of one without rows, with those of all slots: they are free, or will be.
pub(crate) fn room_of(block: &[u8]) -> usize {
    let slots = block::directory(block);
    let trimmed = match block::used(block) {
        0 => slots.len(),
        _ => slots.iter().rev().take_while(|slot| **slot == DataSlot::FREE).count(),
    };
    block::room_of(block) + trimmed * DataSlot::BYTES
}

/// How much room a heap block has, in the steps at which the map is told (see `LAYER`).
pub(crate) fn level(block: &[u8]) -> u8 {
    match block::used(block) {
        0 => LEVELS,
        _ => class_of(block::room_of(block), block.len()) / REFILL,
    }
}

/// A block has another level. If that can't be noted, the map is a worse hint.
pub(crate) fn told(changes: &Changes, pin: &Pin<'_>, session: &Session) {
    _ = note(changes, pin, WHOLE, session);
}

/// Has the map say how much room the block has, but not more than `most`. Called without latches
/// and credits.
pub(crate) fn note(
    changes: &Changes,
    pin: &Pin<'_>,
    most: u8,
    session: &Session,
) -> Result<(), Stop> {
    let Some((place, object)) = MapPlace::of(&pin.shared(FrameOrder::Heap, session)) else {
        return Ok(());
    };
    let map = changes.cache().pin(place.map.get(), session)?;
    let mut group = changes.begin(credits_for(&[size_of::<MapNote>()]), session)?;
    // Held until the note is made: so notes come in the order in which they were true.
    let block = pin.shared(FrameOrder::Heap, session);
    let map = map.exclusive(FrameOrder::FreeMap, session);
    if !is_of(&block, object) || !is_map(&map, object) {
        return Ok(());
    }
    let class = class_of(room_of(&block), block.len()).min(most);
    let class = if class < REFILL { 0 } else { class };
    if entries(&map).get(usize::from(place.entry)).is_none_or(|noted| *noted == class) {
        return Ok(());
    }
    group.change(map, &LAYER, NOTE, &[note_of(place.entry, 1, class).bytes()]);
    group.commit(session);
    Ok(())
}

/// That so many blocks from one on have this class.
pub(crate) fn note_of(entry: u16, count: u16, class: u8) -> MapNote {
    MapNote { entry: U16Le::new(entry), count: U16Le::new(count), class }
}

pub(crate) fn apply_note(map: &mut [u8], payload: &[u8]) {
    let note = MapNote::whole(payload);
    let first = FreeMap::ENTRIES + usize::from(note.entry.get());
    map[first..first + usize::from(note.count.get())].fill(note.class);
}

/// That a block is the map of an object, whose byte 0 is of this block of the segment.
pub(crate) fn format_of(object: u32, first: u32) -> MapFormat {
    MapFormat { object: U32Le::new(object), first: U32Le::new(first) }
}

pub(crate) fn format(block: &mut [u8], address: Dba, payload: &[u8]) {
    *BlockHeader::of_mut(block) = BlockHeader::new(BlockKind::FreeMap, address);
    let head = FreeMap::at_mut(block, FreeMap::START);
    let MapFormat { object, first } = *MapFormat::whole(payload);
    (head.object, head.first) = (object, first);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn all_bytes_that_are_enough_are_found_in_order(
            bytes in proptest::collection::vec(0..=WHOLE, 0..300),
            (wanted, from) in (0..=WHOLE, 0..320_usize),
        ) {
            let found: Vec<usize> = at_least(wanted, &bytes, from).map(|at| at as usize).collect();
            let is_enough = |at: &usize| bytes[*at] >= wanted;
            let expected = (from..bytes.len()).filter(is_enough);
            prop_assert_eq!(found, expected.collect::<Vec<_>>());
        }

        /// A block behind a map has a byte in it, and no block has two.
        #[test]
        fn each_block_has_one_map(number in 1..100_000_u32, size in 0..3_usize) {
            let bytes = [2_048, 4_096, 8_192][size];
            let map = map_of(number, bytes);
            prop_assert!(map <= number && number - map <= entries_of(bytes));
            let last = map + entries_of(bytes);
            prop_assert_eq!(map_of(map, bytes), map);
            prop_assert_eq!(map_of(last, bytes), map);
            prop_assert_eq!(map_of(last + 1, bytes), last + 1);
        }
    }
}
