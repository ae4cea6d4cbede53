//! How blocks of this crate change (rule change/CH1).
//!
//! | block          | change             | payload                                      |
//! |----------------|--------------------|----------------------------------------------|
//! | segment header | `FORMAT`           | the header's body, and its first extent      |
//! | segment header | `ADD_EXTENT`       | the extent                                   |
//! | segment header | `HAND_OUT`         | how many blocks                              |
//! | segment header | `BEGIN_DROP`       | nothing                                      |
//! | segment header | `LOSE_EXTENTS`     | how many of the last extents it lists        |
//! | segment header | `SET_FREE`         | the first of its free blocks, or none        |
//! | any            | `FREE`             | the body of a free block                     |
//! | extent map     | `TAKE`             | number of the first extent, how many         |
//! | extent map     | `GIVE_BACK`        | the same, as often as needed                 |
//! | extent map     | `GROW`             | how many extents the file has now            |
//! | directory      | `FORMAT_DIRECTORY` | nothing                                      |
//! | directory      | `ENTER`            | the place, the entry                         |
//! | directory      | `SET_STATE`        | the place, the state                         |
//! | directory      | `LEAVE`            | the place                                    |

use change::{BlockMut, Layer};
use format::{
    BlockHeader, BlockKind, DbaLe, Directory, DirectoryEntry, Extent, ExtentMap, SegmentHeader,
    U16Le, U32Le,
};
use latch::FrameOrder;

use crate::segment::SegmentState;

pub(crate) const FORMAT: u8 = 1;
pub(crate) const ADD_EXTENT: u8 = 2;
pub(crate) const HAND_OUT: u8 = 3;
pub(crate) const TAKE: u8 = 4;
pub(crate) const ENTER: u8 = 5;
pub(crate) const GROW: u8 = 6;
pub(crate) const FORMAT_DIRECTORY: u8 = 7;
pub(crate) const SET_STATE: u8 = 8;
pub(crate) const LEAVE: u8 = 9;
pub(crate) const BEGIN_DROP: u8 = 10;
pub(crate) const LOSE_EXTENTS: u8 = 11;
pub(crate) const GIVE_BACK: u8 = 12;
pub(crate) const FREE: u8 = 13;
pub(crate) const SET_FREE: u8 = 14;

/// Control of space.
pub static LAYER: Layer = Layer {
    number: 1,
    name: "space",
    order: FrameOrder::SegmentHeader,
    apply,
    moves: None,
    watch: None,
};

fn apply(block: BlockMut<'_>, opcode: u8, payload: &[u8]) {
    match opcode {
        FORMAT => format(block, BlockKind::SegmentHeader, payload),
        FREE => format(block, BlockKind::Free, payload),
        SET_FREE => {
            let header = SegmentHeader::at_mut(block.bytes, SegmentHeader::START);
            assert!(header.dropping == 0, "a segment that is being dropped frees blocks (SP15)");
            let first = DbaLe::at(payload, 0).get();
            header.free_file = U16Le::new(first.file.get());
            header.free_block = U32Le::new(first.block.get());
        }
        FORMAT_DIRECTORY => format(block, BlockKind::Directory, payload),
        ADD_EXTENT => add_extent(block.bytes, payload),
        HAND_OUT => hand_out(block.bytes, number_at(payload, 0)),
        BEGIN_DROP => {
            let header = SegmentHeader::at_mut(block.bytes, SegmentHeader::START);
            assert!(header.dropping == 0, "a segment is dropped twice (SP14)");
            header.dropping = 1;
        }
        LOSE_EXTENTS => lose_extents(block.bytes, number_at(payload, 0)),
        TAKE => set_bits(block.bytes, payload, true),
        GIVE_BACK => payload.chunks(8).for_each(|run| set_bits(block.bytes, run, false)),
        GROW => {
            let map = ExtentMap::at_mut(block.bytes, ExtentMap::START);
            let extents = number_at(payload, 0);
            assert!(extents > map.extents.get(), "a data file shrinks (SP8)");
            map.extents = U32Le::new(extents);
        }
        ENTER => enter(block.bytes, payload),
        SET_STATE => {
            let entry = entry_mut(block.bytes, payload);
            let (before, after) = (SegmentState::from_number(entry.state), payload[4]);
            let may = match SegmentState::from_number(after) {
                SegmentState::Permanent => before == SegmentState::Temporary,
                SegmentState::Dropping => before != SegmentState::Dropping,
                SegmentState::Temporary => false,
            };
            assert!(may, "a segment goes from {before:?} to state {after} (SP14)");
            entry.state = after;
        }
        LEAVE => {
            let entry = entry_mut(block.bytes, payload);
            let dropped = SegmentState::Dropping.number();
            assert!(entry.state == dropped, "an entry goes that isn't dropped (SP14)");
            let at = place_at(number_at(payload, 0));
            block.bytes[at..at + DirectoryEntry::BYTES].fill(0);
        }
        other => panic!("the space layer has no change {other}"),
    }
}

/// A block that was all zero (rule change/CH8) gets its header and the beginning of its body.
fn format(block: BlockMut<'_>, kind: BlockKind, body: &[u8]) {
    *BlockHeader::of_mut(block.bytes) = BlockHeader::new(kind, block.address);
    block.bytes[BlockHeader::BYTES..BlockHeader::BYTES + body.len()].copy_from_slice(body);
}

/// A neighbour of the last extent becomes part of it.
fn add_extent(block: &mut [u8], payload: &[u8]) {
    let added = *Extent::at(payload, 0);
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

/// The first extent stays: the header is in it.
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

/// Of a run of extents: the number of the first, and how many.
fn set_bits(map: &mut [u8], run: &[u8], taken: bool) {
    let (first, count) = (number_at(run, 0), number_at(run, 4));
    for number in first..first + count {
        let (byte, bit) = bit_of(number);
        let is_taken = map[byte] & bit != 0;
        assert!(is_taken != taken, "extent {number} is taken or given back twice (SP4)");
        map[byte] ^= bit;
    }
}

fn enter(block: &mut [u8], payload: &[u8]) {
    let entry = *DirectoryEntry::at(payload, 4);
    let place = entry_mut(block, payload);
    assert!(place.state == 0, "two segments have one place in the directory (SP13)");
    *place = entry;
    let head = Directory::at_mut(block, Directory::START);
    head.next_object = U32Le::new(head.next_object.get().max(entry.object.get() + 1));
}

fn entry_mut<'b>(directory: &'b mut [u8], payload: &[u8]) -> &'b mut DirectoryEntry {
    DirectoryEntry::at_mut(directory, place_at(number_at(payload, 0)))
}

/// Where the entry with this number lies in its block.
pub(crate) fn place_at(number: u32) -> usize {
    Directory::ENTRIES + number as usize * DirectoryEntry::BYTES
}

fn number_at(payload: &[u8], at: usize) -> u32 {
    let bytes = payload[at..at + 4].try_into().expect("a number has four bytes");
    u32::from_le_bytes(bytes)
}

/// Where an extent's bit lies in the map's block.
pub(crate) fn bit_of(extent: u32) -> (usize, u8) {
    (ExtentMap::BITS + extent as usize / 8, 1 << (extent % 8))
}
