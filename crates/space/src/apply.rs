//! How blocks of this crate change (rule change/CH1).
//!
//! | block          | change      | payload                                   |
//! |----------------|-------------|-------------------------------------------|
//! | segment header | `FORMAT`    | the header's body, and its first extent   |
//! | segment header | `ADD_EXTENT`| the extent                                |
//! | segment header | `HAND_OUT`  | how many blocks                           |
//! | extent map     | `TAKE`      | number of the first extent, how many      |
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

/// Control of space.
pub static LAYER: Layer =
    Layer { number: 1, name: "space", order: FrameOrder::SegmentHeader, apply };

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
            let count = u32::from_le_bytes(payload.try_into().expect("a count has four bytes"));
            let high_water = header.high_water.get() + count;
            assert!(high_water <= header.blocks.get(), "more is handed out than there is (SP4)");
            header.high_water = U32Le::new(high_water);
        }
        TAKE => {
            let extent = Extent::at(payload, 0);
            let first = extent.first.get();
            for number in first..first + extent.blocks.get() {
                let (byte, bit) = bit_of(number);
                assert!(block.bytes[byte] & bit == 0, "extent {number} is taken twice (SP4)");
                block.bytes[byte] |= bit;
            }
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
    if last.first.get() + last.blocks.get() == added.first.get() {
        last.blocks = U32Le::new(last.blocks.get() + added.blocks.get());
        return;
    }
    *Extent::at_mut(block, last_at + Extent::BYTES) = added;
    SegmentHeader::at_mut(block, SegmentHeader::START).extents = U16Le::new(count as u16 + 1);
}

/// Where an extent's bit lies in the map's block.
pub(crate) fn bit_of(extent: u32) -> (usize, u8) {
    (ExtentMap::BITS + extent as usize / 8, 1 << (extent % 8))
}
