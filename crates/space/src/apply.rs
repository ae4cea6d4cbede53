//! How blocks of this crate change (rule change/CH1).
//!
//! | block          | change      | payload                                   |
//! |----------------|-------------|-------------------------------------------|
//! | segment header | `FORMAT`    | the header's body, and its first extent   |
//! | segment header | `ADD_EXTENT`| the extent                                |
//! | segment header | `HAND_OUT`  | how many blocks                           |
//! | extent map     | `TAKE`      | number of the first extent, how many      |
//! | extent map     | `GROW`      | how many extents the file has now         |
//! | directory      | `ENTER`     | the entry                                 |

use change::{BlockMut, Layer};
use format::{
    BlockHeader, BlockKind, Directory, DirectoryEntry, Extent, ExtentMap, SegmentHeader, U16Le,
    U32Le,
};
use latch::FrameOrder;

pub(crate) const FORMAT: u8 = 1;
pub(crate) const ADD_EXTENT: u8 = 2;
pub(crate) const HAND_OUT: u8 = 3;
pub(crate) const TAKE: u8 = 4;
pub(crate) const ENTER: u8 = 5;
pub(crate) const GROW: u8 = 6;

/// Control of space.
pub static LAYER: Layer =
    Layer { number: 1, name: "space", order: FrameOrder::SegmentHeader, apply, moves: None };

fn apply(block: BlockMut<'_>, opcode: u8, payload: &[u8]) {
    match opcode {
        FORMAT => {
            block.bytes.fill(0);
            *BlockHeader::of_mut(block.bytes) =
                BlockHeader::new(BlockKind::SegmentHeader, block.address);
            block.bytes[SegmentHeader::START..SegmentHeader::START + payload.len()]
                .copy_from_slice(payload);
        }
        ADD_EXTENT => add_extent(block.bytes, payload),
        HAND_OUT => {
            let header = SegmentHeader::at_mut(block.bytes, SegmentHeader::START);
            let count = number_at(payload, 0);
            let high_water = header.high_water.get() + count;
            assert!(high_water <= header.blocks.get(), "more is handed out than there is (SP4)");
            header.high_water = U32Le::new(high_water);
        }
        TAKE => {
            let (first, count) = (number_at(payload, 0), number_at(payload, 4));
            for number in first..first + count {
                let (byte, bit) = bit_of(number);
                assert!(block.bytes[byte] & bit == 0, "extent {number} is taken twice (SP4)");
                block.bytes[byte] |= bit;
            }
        }
        GROW => {
            let map = ExtentMap::at_mut(block.bytes, ExtentMap::START);
            let extents = number_at(payload, 0);
            assert!(extents > map.extents.get(), "a data file shrinks (SP8)");
            map.extents = U32Le::new(extents);
        }
        ENTER => {
            let head = Directory::at_mut(block.bytes, Directory::START);
            let number = head.entries.get();
            head.entries = U32Le::new(number + 1);
            let at = Directory::ENTRIES + number as usize * DirectoryEntry::BYTES;
            block.bytes[at..at + DirectoryEntry::BYTES].copy_from_slice(payload);
        }
        other => panic!("the space layer has no change {other}"),
    }
}

/// A neighbour of the last extent becomes part of it.
fn add_extent(block: &mut [u8], payload: &[u8]) {
    let added = *Extent::at(payload, 0);
    let header = SegmentHeader::at_mut(block, SegmentHeader::START);
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

fn number_at(payload: &[u8], at: usize) -> u32 {
    let bytes = payload[at..at + 4].try_into().expect("a number has four bytes");
    u32::from_le_bytes(bytes)
}

/// Where an extent's bit lies in the map's block.
pub(crate) fn bit_of(extent: u32) -> (usize, u8) {
    (ExtentMap::BITS + extent as usize / 8, 1 << (extent % 8))
}
