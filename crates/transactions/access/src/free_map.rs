//! Maps of free space: which blocks of a table have room for inserts (rules AC10, AC11, AC24, AC26,
//! AC30).
//!
//! ```text
//!   segment:   header │ map │ block │ block │ … │ map │ block │ …
//!                        └─ an entry each ─┘ ◀── each block names its map, and its entry there
//! ```
//!
//! An entry is a byte that says how much of its block is free, in parts of 128. It is a hint: an
//! inserter that believes it looks at the block. It is written in a group of its own, with the
//! block latched so that it can't change: so the last note says what room the block had then.
//!
//! Invariants
//!   * no entry is between 0 and [`REFILL`]
//!   * a heap block names a map of its own segment, or none
//!
//! Callers: `inserter`; `block_change` and `txn`, where a change has made room.
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
use crate::inspect::is_heap_block;

/// How many parts of a block's room an entry tells apart.
const PARTS: usize = 128;
/// The entry of a block that was handed out and not formatted.
pub(crate) const WHOLE: u8 = PARTS as u8;
/// The largest entry of a block that was formatted.
pub(crate) const FORMATTED: u8 = WHOLE - 1;
/// The smallest entry of a block that is offered for inserts: a block that was filled isn't filled
/// again for each row that goes.
pub(crate) const REFILL: u8 = WHOLE / LEVELS;
/// How many levels of room there are: a note is made where the room of a block rises to another
/// level, and where its last row goes.
const LEVELS: u8 = 4;

/// Where a block has its entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MapEntry {
    /// The map; none if the block has no entry.
    pub(crate) map: DbaLe,
    /// The number of the entry in the map.
    pub(crate) number: u16,
}

impl MapEntry {
    /// What a block names in a segment without maps.
    pub(crate) const NONE: MapEntry = MapEntry { map: DbaLe::NONE, number: 0 };

    pub(crate) fn new(map: Dba, number: u32) -> MapEntry {
        let number = u16::try_from(number).expect("a map has fewer entries than a block has bytes");
        MapEntry { map: DbaLe::new(map), number }
    }

    /// The entry of the block behind this one.
    pub(crate) fn next(self) -> MapEntry {
        match self.map {
            DbaLe::NONE => MapEntry::NONE,
            map => MapEntry { map, number: self.number + 1 },
        }
    }

    /// Writes the entry's place into the block's head.
    pub(crate) fn write(&self, block: &mut [u8]) {
        let head = DataHead::at_mut(block, DataHead::START);
        head.next = self.map;
        head.own = U16Le::new(self.number);
    }
}

/// How many entries a map has whose block has this size.
pub(crate) fn entries_of(block_bytes: usize) -> u32 {
    (block_bytes - FreeMap::ENTRIES) as u32
}

/// How many blocks at the start of each map are filled to half only.
const SPARSE_BLOCKS: u16 = 8;
/// How many hundredths of such a block inserts leave free for its ITL.
const SPARSE_PCTFREE: usize = 40;

/// The number, in its segment, of the map that has the entry of block `number`, which isn't the
/// header; the block itself, if it is a map.
pub fn map_of(number: u32, block_bytes: usize) -> u32 {
    number - (number - 1) % (entries_of(block_bytes) + 1)
}

/// The entry of a formatted block with this many bytes free.
pub(crate) fn class_of(room: usize, block_bytes: usize) -> u8 {
    (room * PARTS / block_bytes).min(FORMATTED.into()) as u8
}

/// Whether this block is a map of free space of the object.
pub fn is_map(block: &[u8], object: u32) -> bool {
    !is_unwritten(block)
        && BlockHeader::at(block, 0).kind() == BlockKind::FreeMap
        && FreeMap::at(block, FreeMap::START).object.get() == object
}

/// All entries of a map.
pub(crate) fn entries(map: &[u8]) -> &[u8] {
    &map[FreeMap::ENTRIES..]
}

/// The numbers of the entries, from one on, that are at least `wanted`. Most are less, and are
/// skipped in runs.
pub(crate) fn at_least(wanted: u8, entries: &[u8], from: usize) -> impl Iterator<Item = u32> {
    const RUN: usize = 64;
    let from = from.min(entries.len());
    let runs = (from..).step_by(RUN).zip(entries[from..].chunks(RUN));
    let some =
        runs.filter(move |(_, run)| run.iter().fold(0, |most, byte| *byte.max(&most)) >= wanted);
    let each = some.flat_map(|(start, run)| (start as u32..).zip(run));
    each.filter(move |(_, byte)| **byte >= wanted).map(|(at, _)| at)
}

/// The free bytes of a heap block, with those of the free slots at the end of its directory, which
/// may be trimmed, and without those that are kept for its ITL. In a block without rows all count:
/// its slots are free, or will be, and its first row may fill it.
pub(crate) fn room_of(block: &[u8]) -> usize {
    let slots = block::directory(block);
    let room = block::room_of(block);
    if block::used(block) == 0 {
        return room + slots.len() * DataSlot::BYTES;
    }
    let trimmed = slots.iter().rev().take_while(|slot| **slot == DataSlot::FREE).count();
    (room + trimmed * DataSlot::BYTES).saturating_sub(kept_for_itl(block))
}

/// How many bytes of a heap block inserts leave free for its ITL, beside what they leave for rows
/// that grow (AC33): much in the first blocks of a map, nothing in the others.
pub(crate) fn kept_for_itl(block: &[u8]) -> usize {
    let head = DataHead::at(block, DataHead::START);
    let entry = MapEntry { map: head.next, number: head.own.get() };
    kept_for_itl_in(entry, block.len())
}

/// As [`kept_for_itl`], of a block of this length with this entry.
pub(crate) fn kept_for_itl_in(entry: MapEntry, block_bytes: usize) -> usize {
    let is_sparse = entry.map != DbaLe::NONE && entry.number < SPARSE_BLOCKS;
    if is_sparse { block_bytes * SPARSE_PCTFREE / 100 } else { 0 }
}

/// The level of a heap block's room, at whose change the map is told (see `LAYER`).
pub(crate) fn level(block: &[u8]) -> u8 {
    match block::used(block) {
        0 => LEVELS,
        _ => {
            let room = block::room_of(block).saturating_sub(kept_for_itl(block));
            class_of(room, block.len()) / REFILL
        }
    }
}

/// Notes that a block has another level. If that fails, the map is a worse hint.
pub(crate) fn told(changes: &Changes, pin: &Pin<'_>, session: &Session) {
    _ = note(changes, pin, WHOLE, session);
}

/// Writes into the map how much room the block has, but not more than `most`. Called without
/// latches and credits.
pub(crate) fn note(
    changes: &Changes,
    pin: &Pin<'_>,
    most: u8,
    session: &Session,
) -> Result<(), Stop> {
    // A map that isn't told of the room would offer too much, or too little.
    let _held = session.hold_off();
    let (map, number, object) = {
        let block = pin.shared(FrameOrder::Heap, session);
        let head = DataHead::at(&block, DataHead::START);
        let object = head.object.get();
        if !is_heap_block(&block, object) || head.next == DbaLe::NONE {
            return Ok(());
        }
        (head.next.get(), head.own.get(), object)
    };
    let map = changes.cache().pin(map, session)?;
    let mut group = changes.begin(credits_for(&[size_of::<MapNote>()]), session)?;
    // Held until the note is made: so notes come in the order in which they were true.
    let block = pin.shared(FrameOrder::Heap, session);
    let map = map.exclusive(FrameOrder::FreeMap, session);
    if !is_heap_block(&block, object) || !is_map(&map, object) {
        return Ok(());
    }
    let class = class_of(room_of(&block), block.len()).min(most);
    let class = if class < REFILL { 0 } else { class };
    if entries(&map).get(usize::from(number)).is_none_or(|noted| *noted == class) {
        return Ok(());
    }
    group.change(map, &LAYER, NOTE, &[note_of(number, 1, class).bytes()]);
    group.commit(session);
    Ok(())
}

/// The change that gives `count` entries, from one on, this class.
pub(crate) fn note_of(entry: u16, count: u16, class: u8) -> MapNote {
    MapNote { entry: U16Le::new(entry), count: U16Le::new(count), class }
}

pub(crate) fn apply_note(map: &mut [u8], payload: &[u8]) {
    let note = MapNote::whole(payload);
    let first = FreeMap::ENTRIES + usize::from(note.entry.get());
    map[first..first + usize::from(note.count.get())].fill(note.class);
}

/// The change that makes a block a map of the object, whose entry 0 is of block `first` of the
/// segment.
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
        fn all_entries_that_are_enough_are_found_in_order(
            bytes in proptest::collection::vec(0..=WHOLE, 0..300),
            (wanted, from) in (0..=WHOLE, 0..320_usize),
        ) {
            let found: Vec<usize> = at_least(wanted, &bytes, from).map(|at| at as usize).collect();
            let is_enough = |at: &usize| bytes[*at] >= wanted;
            let expected = (from..bytes.len()).filter(is_enough);
            prop_assert_eq!(found, expected.collect::<Vec<_>>());
        }

        /// A block behind a map has an entry in it, and no block has two.
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
