//! The changes of this room's blocks (rule change/CH1). `format::changes::space` declares them and
//! their payloads.

use change::{BlockMut, Layer};
pub(crate) use format::changes::space::{
    ADD_EXTENT, BEGIN_DROP, CHANGES, Count, ENTER, EntrySlot, EntrySlotState, ExtentRun, FORMAT,
    FORMAT_DIRECTORY, FREE, GIVE_BACK, GROW, HAND_OUT, LEAVE, LOSE_EXTENTS, SET_FREE, SET_STATE,
    TAKE,
};
use format::{
    BlockHeader, BlockKind, DbaLe, Directory, DirectoryEntry, Extent, ExtentMap, SegmentHeader,
    U16Le, U32Le,
};
use latch::FrameOrder;

use crate::look::{look_at_directory, look_at_free, look_at_header, look_at_map};
use crate::segment::SegmentState;

/// The layer of space.
pub static LAYER: Layer = Layer {
    number: CHANGES.layer,
    name: CHANGES.name,
    changes: &CHANGES,
    order: FrameOrder::SegmentHeader,
    apply,
    check,
    moves: None,
    watch: None,
};

fn check(block: &[u8]) -> Result<(), String> {
    match BlockHeader::at(block, 0).kind() {
        BlockKind::SegmentHeader => look_at_header(block).map(drop),
        BlockKind::Directory => look_at_directory(block).map(drop),
        BlockKind::Free => look_at_free(block).map(drop),
        // The file's length isn't known here.
        _ => look_at_map(block, u32::MAX, 1).map(drop),
    }
}

fn apply(block: BlockMut<'_>, opcode: u8, payload: &[u8]) {
    match opcode {
        FORMAT => format(block, BlockKind::SegmentHeader, payload),
        FREE => format(block, BlockKind::Free, payload),
        SET_FREE => {
            let header = SegmentHeader::at_mut(block.bytes, SegmentHeader::START);
            assert!(header.dropping == 0, "a segment that is being dropped frees blocks (SP15)");
            let first = DbaLe::whole(payload).get();
            header.free_file = U16Le::new(first.file.get());
            header.free_block = U32Le::new(first.block.get());
        }
        FORMAT_DIRECTORY => format(block, BlockKind::Directory, payload),
        ADD_EXTENT => add_extent(block.bytes, *Extent::whole(payload)),
        HAND_OUT => hand_out(block.bytes, count_of(payload)),
        BEGIN_DROP => {
            let header = SegmentHeader::at_mut(block.bytes, SegmentHeader::START);
            assert!(header.dropping == 0, "a segment is dropped twice (SP14)");
            header.dropping = 1;
        }
        LOSE_EXTENTS => lose_extents(block.bytes, count_of(payload)),
        TAKE => set_bits(block.bytes, ExtentRun::whole(payload), true),
        GIVE_BACK => {
            let runs = ExtentRun::whole_many(payload);
            runs.iter().for_each(|run| set_bits(block.bytes, run, false));
        }
        GROW => {
            let map = ExtentMap::at_mut(block.bytes, ExtentMap::START);
            let extents = count_of(payload);
            assert!(extents > map.extents.get(), "a data file shrinks (SP8)");
            map.extents = U32Le::new(extents);
        }
        ENTER => enter(block.bytes, payload),
        SET_STATE => {
            let EntrySlotState { number, state: after } = *EntrySlotState::whole(payload);
            let entry = entry_mut(block.bytes, number.get());
            let before = SegmentState::from_number(entry.state);
            let may = match SegmentState::from_number(after) {
                SegmentState::Permanent => before == SegmentState::Temporary,
                SegmentState::Dropping => before != SegmentState::Dropping,
                SegmentState::Temporary => false,
            };
            assert!(may, "a segment goes from {before:?} to state {after} (SP14)");
            entry.state = after;
        }
        LEAVE => {
            let number = EntrySlot::whole(payload).number.get();
            let entry = entry_mut(block.bytes, number);
            let dropped = SegmentState::Dropping.number();
            assert!(entry.state == dropped, "an entry goes that isn't dropped (SP14)");
            let at = place_at(number);
            block.bytes[at..at + DirectoryEntry::BYTES].fill(0);
        }
        other => panic!("the space layer has no change {other}"),
    }
}

/// Gives a block that is all zero (rule change/CH8) its header and the beginning of its body.
fn format(block: BlockMut<'_>, kind: BlockKind, body: &[u8]) {
    *BlockHeader::of_mut(block.bytes) = BlockHeader::new(kind, block.address);
    block.bytes[BlockHeader::BYTES..BlockHeader::BYTES + body.len()].copy_from_slice(body);
}

/// Adds an extent. A neighbour of the last extent becomes part of it.
fn add_extent(block: &mut [u8], added: Extent) {
    let header = SegmentHeader::at_mut(block, SegmentHeader::START);
    assert!(header.dropping == 0, "a segment that is being dropped gets an extent (SP15)");
    header.blocks = U32Le::new(header.blocks.get() + added.blocks.get());
    let count = usize::from(header.extents.get());
    let last_at = SegmentHeader::EXTENTS + (count - 1) * Extent::BYTES;
    let last = Extent::at_mut(block, last_at);
    let follows = last.first.get() + last.blocks.get() == added.first.get();
    if last.file == added.file && follows {
        last.blocks = U32Le::new(last.blocks.get() + added.blocks.get());
        return;
    }
    *Extent::at_mut(block, last_at + Extent::BYTES) = added;
    SegmentHeader::at_mut(block, SegmentHeader::START).extents = U16Le::new(count as u16 + 1);
}

fn hand_out(block: &mut [u8], count: u32) {
    let header = SegmentHeader::at_mut(block, SegmentHeader::START);
    let high_water = header.high_water.get() + count;
    assert!(high_water <= header.blocks.get(), "more is handed out than there is (SP4)");
    assert!(header.dropping == 0, "a segment that is being dropped hands out a block (SP15)");
    header.high_water = U32Le::new(high_water);
}

/// Removes the last extents. The first one stays, since the header is in it.
fn lose_extents(block: &mut [u8], count: u32) {
    let header = *SegmentHeader::at(block, SegmentHeader::START);
    let (extents, count) = (usize::from(header.extents.get()), count as usize);
    assert!(header.dropping == 1 && count < extents, "a segment loses what it needs (SP14)");
    let mut lost = 0;
    for number in extents - count..extents {
        let at = SegmentHeader::EXTENTS + number * Extent::BYTES;
        lost += Extent::at(block, at).blocks.get();
        block[at..at + Extent::BYTES].fill(0);
    }
    let header = SegmentHeader::at_mut(block, SegmentHeader::START);
    let left = header.blocks.get() - lost;
    header.extents = U16Le::new((extents - count) as u16);
    header.blocks = U32Le::new(left);
    header.high_water = U32Le::new(header.high_water.get().min(left));
}

/// Marks these extents as taken or free.
fn set_bits(map: &mut [u8], run: &ExtentRun, taken: bool) {
    let (first, count) = (run.first.get(), run.count.get());
    for number in first..first + count {
        let (byte, bit) = bit_of(number);
        let is_taken = map[byte] & bit != 0;
        assert!(is_taken != taken, "extent {number} is taken or given back twice (SP4)");
        map[byte] ^= bit;
    }
}

fn enter(block: &mut [u8], payload: &[u8]) {
    let (place, entry) =
        EntrySlot::read(payload).expect("the payload was checked (rule change/CH9)");
    let entry = *DirectoryEntry::whole(entry);
    let place = entry_mut(block, place.number.get());
    assert!(place.state == 0, "two segments have one place in the directory (SP13)");
    *place = entry;
    let head = Directory::at_mut(block, Directory::START);
    head.next_object = U32Le::new(head.next_object.get().max(entry.object.get() + 1));
}

fn entry_mut(directory: &mut [u8], number: u32) -> &mut DirectoryEntry {
    DirectoryEntry::at_mut(directory, place_at(number))
}

/// The offset of the entry with this number in its block.
pub(crate) fn place_at(number: u32) -> usize {
    Directory::ENTRIES + number as usize * DirectoryEntry::BYTES
}

fn count_of(payload: &[u8]) -> u32 {
    Count::whole(payload).count.get()
}

/// The byte of an extent's bit in the map's block, and the bit.
pub(crate) fn bit_of(extent: u32) -> (usize, u8) {
    (ExtentMap::BITS + extent as usize / 8, 1 << (extent % 8))
}
