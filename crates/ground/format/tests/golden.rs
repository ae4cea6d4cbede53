//! The promise about versions is kept: blocks written in each version still open.
//!
//! A golden file never changes (F6). If a test here fails, the format has changed: that needs a
//! new version with a golden file of its own, and not a new golden file for an old version.
//!
//! Each golden file is a block of kind scratch, its body counting 0 to 250 over and over from
//! the block's first byte. They are not made by this crate but by a separate program that follows
//! docs/FORMAT.md, so that they also test the document.

use format::{BlockHeader, BlockKind, FORMAT, check, seal};
use ids::{BlockSize, Dba, Scn};

/// 8 KiB of format 1.
const V1: &[u8] = include_bytes!("golden/block_v1.bin");
/// 8 KiB of format 2: its header says 2, and its checksum is another.
const V2: &[u8] = include_bytes!("golden/block_v2.bin");
/// 8 KiB of format 3.
const V3: &[u8] = include_bytes!("golden/block_v3.bin");
/// 8 KiB of format 4.
const V4: &[u8] = include_bytes!("golden/block_v4.bin");
/// 8 KiB of format 5.
const V5: &[u8] = include_bytes!("golden/block_v5.bin");
const ADDRESS: Dba = Dba::new(0x0102, 0x0304_0506);
const CHANGED: Scn = Scn::new(0x1112_1314_1516_1718);
const SEQUENCE: u32 = 0x2122_2324;

#[test]
fn a_block_of_every_version_opens() {
    for (version, golden) in [(1, V1), (2, V2), (3, V3), (4, V4), (5, V5)] {
        let header = check(golden, ADDRESS).expect("every version must always open");
        assert_eq!(header.format(), version);
        assert_eq!(header.kind(), BlockKind::Scratch);
        assert_eq!(header.address(), ADDRESS);
        assert_eq!(header.changed(), CHANGED);
        assert_eq!(header.sequence(), SEQUENCE);
        let mut body = golden.iter().enumerate().skip(BlockHeader::BYTES);
        assert!(body.all(|(at, byte)| usize::from(*byte) == at % 251));
    }
}

/// Only the newest version is written.
#[test]
fn the_newest_version_is_written_byte_for_byte_as_its_golden_file() {
    assert_eq!(FORMAT, 5, "a new version needs a golden file, here");
    let size = BlockSize::KIB_8.bytes();
    let mut block: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
    let header = BlockHeader::of_mut(&mut block);
    *header = BlockHeader::new(BlockKind::Scratch, ADDRESS);
    header.stamp(CHANGED, SEQUENCE);
    seal(&mut block, ADDRESS);
    assert_eq!(block.len(), V5.len());
    let differs = (0..size).find(|at| block[*at] != V5[*at]);
    assert_eq!(differs, None, "the first byte that differs");
}
