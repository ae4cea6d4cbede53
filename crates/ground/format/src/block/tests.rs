//! Every kind of damage that a disk can do to a block is detected.

use ids::Scn;
use proptest::prelude::*;

use super::*;
use crate::{BlockKind, FORMAT};

const HOME: Dba = Dba::new(3, 17);
const SECTOR: usize = 512;

/// No failure file is written, and an interpreter such as Miri runs only a few cases.
pub(crate) fn config() -> ProptestConfig {
    let cases = if cfg!(miri) { 4 } else { 256 };
    ProptestConfig { cases, failure_persistence: None, ..Default::default() }
}

/// A sealed block of which every sector depends on `version`.
fn sealed(size: BlockSize, version: u8) -> Vec<u8> {
    let mut block: Vec<u8> = (0..size.bytes()).map(|at| (at % 251) as u8 ^ version).collect();
    *BlockHeader::of_mut(&mut block) = BlockHeader::new(BlockKind::Scratch, HOME);
    BlockHeader::of_mut(&mut block).stamp(Scn::new(1841), u32::from(version));
    seal(&mut block, HOME);
    block
}

/// A valid block with this byte at this offset, as another program might write it.
fn forged(offset: usize, byte: u8) -> Vec<u8> {
    let mut block = sealed(BlockSize::KIB_2, 1);
    block[offset] = byte;
    let checksum = checksum::of_block(&block);
    BlockHeader::of_mut(&mut block).checksum = U32Le::new(checksum);
    block
}

fn is_bad_checksum(block: &[u8]) -> bool {
    matches!(check(block, HOME), Err(BlockFault::BadChecksum { address: HOME, .. }))
}

#[test]
fn a_sealed_block_of_every_size_is_accepted_with_what_it_was_given() {
    for size in BlockSize::ALL {
        let block = sealed(size, 9);
        let header = check(&block, HOME).expect("the block was sealed");
        assert_eq!(header.kind(), BlockKind::Scratch);
        assert_eq!(header.format(), FORMAT);
        assert_eq!(header.address(), HOME);
        assert_eq!(header.changed(), Scn::new(1841));
        assert_eq!(header.sequence(), 9);
    }
}

#[test]
fn sealing_changes_only_the_checksum_and_twice_is_as_once() {
    let once = sealed(BlockSize::KIB_8, 1);
    let mut twice = once.clone();
    seal(&mut twice, HOME);
    assert_eq!(once, twice);

    let mut unsealed = once.clone();
    BlockHeader::of_mut(&mut unsealed).checksum = U32Le::ZERO;
    assert_eq!(once[4..], unsealed[4..]);
    assert!(is_bad_checksum(&unsealed));
}

#[test]
fn every_change_of_any_one_byte_of_the_header_is_detected() {
    let mut block = sealed(BlockSize::KIB_2, 1);
    for at in 0..BlockHeader::BYTES {
        let flips: &[u8] = if cfg!(miri) { &[1, 0x80, 0xff] } else { &ALL_FLIPS };
        for flip in flips {
            block[at] ^= flip;
            assert!(is_bad_checksum(&block), "byte {at} flipped by 0x{flip:02x}");
            block[at] ^= flip;
        }
    }
    assert!(check(&block, HOME).is_ok());
}

/// Every way to change a byte: 1 to 255.
const ALL_FLIPS: [u8; 255] = {
    let mut flips = [0; 255];
    let mut at = 0;
    while at < flips.len() {
        flips[at] = at as u8 + 1;
        at += 1;
    }
    flips
};

#[test]
fn a_block_of_another_address_is_refused_as_misdirected() {
    let block = sealed(BlockSize::KIB_8, 1);
    for address in [Dba::new(3, 18), Dba::new(4, 17), Dba::new(3, 17 + (1 << 24))] {
        assert_eq!(check(&block, address), Err(BlockFault::WrongAddress { address, found: HOME }));
    }
}

#[test]
fn zeros_of_every_size_are_reported_as_never_written() {
    for size in BlockSize::ALL {
        let mut block = vec![0; size.bytes()];
        assert_eq!(check(&block, HOME), Err(BlockFault::NeverWritten { address: HOME }));

        // One byte other than zero makes it a damaged block.
        block[size.bytes() - 1] = 1;
        assert!(is_bad_checksum(&block));
    }
}

#[test]
fn any_length_that_no_block_has_is_refused() {
    let block = sealed(BlockSize::KIB_8, 1);
    let long = [&block[..], &[0; 512]].concat();
    for bytes in [&[], &block[..1], &block[..31], &block[..512], &block[..8_191], &long] {
        let found = bytes.len();
        assert_eq!(check(bytes, HOME), Err(BlockFault::BadLength { address: HOME, found }));
    }
}

/// Half a block has the length of a smaller block, so there the checksum must detect it.
#[test]
fn half_a_block_is_not_a_block() {
    let block = sealed(BlockSize::KIB_8, 1);
    assert!(is_bad_checksum(&block[..4_096]));
    assert!(is_bad_checksum(&block[4_096..]));
}

#[test]
fn a_block_torn_at_any_sector_between_two_versions_is_detected() {
    for size in BlockSize::ALL {
        let (old, new) = (sealed(size, 1), sealed(size, 2));
        for boundary in (SECTOR..size.bytes()).step_by(SECTOR) {
            let new_first = [&new[..boundary], &old[boundary..]].concat();
            let old_first = [&old[..boundary], &new[boundary..]].concat();
            assert!(is_bad_checksum(&new_first), "{size}, new before byte {boundary}");
            assert!(is_bad_checksum(&old_first), "{size}, old before byte {boundary}");
        }
    }
}

/// A write that was dropped in a file of zeros leaves zeros in the block.
#[test]
fn a_block_of_which_any_sectors_were_lost_is_detected() {
    let whole = sealed(BlockSize::KIB_4, 1);
    let sectors = whole.len() / SECTOR;
    for lost in 1..(1_u32 << sectors) - 1 {
        let mut block = whole.clone();
        for (at, sector) in block.chunks_mut(SECTOR).enumerate() {
            if lost & 1 << at != 0 {
                sector.fill(0);
            }
        }
        assert!(is_bad_checksum(&block), "lost sectors 0b{lost:b}");
    }
}

#[test]
fn a_whole_block_of_an_unknown_format_is_refused_as_such_whatever_else_it_says() {
    for format in [0, FORMAT + 1, u8::MAX] {
        let fault = BlockFault::UnknownFormat { address: HOME, found: format };
        assert_eq!(check(&forged(5, format), HOME), Err(fault));

        let mut block = forged(5, format);
        block[4] = 200;
        block[6] = 1;
        let checksum = checksum::of_block(&block);
        BlockHeader::of_mut(&mut block).checksum = U32Le::new(checksum);
        assert_eq!(check(&block, HOME), Err(fault));
    }
}

#[test]
fn a_whole_block_of_an_unknown_kind_is_refused_as_such() {
    for kind in (0..=u8::MAX).filter(|kind| BlockKind::new(*kind).is_none()) {
        let fault = BlockFault::UnknownKind { address: HOME, found: kind };
        assert_eq!(check(&forged(4, kind), HOME), Err(fault));
    }
}

/// The reserved bytes come from the declaration, so that none is overlooked.
#[test]
fn a_whole_block_with_any_reserved_byte_not_zero_is_refused() {
    let mut reserved = Vec::new();
    for layout in crate::document::LAYOUTS {
        let inside = match layout.name {
            "BlockHeader" => 0,
            "DbaLe" => 8,
            _ => continue,
        };
        for field in layout.fields.iter().filter(|field| field.name.starts_with("reserved")) {
            reserved.extend((field.offset..field.offset + field.bytes).map(|at| at + inside));
        }
    }
    reserved.sort_unstable();
    assert_eq!(reserved, [6, 7, 14, 15, 28, 29, 30, 31]);
    for offset in reserved {
        let fault = BlockFault::ReservedNotZero { address: HOME, offset, found: 0x20 };
        assert_eq!(check(&forged(offset, 0x20), HOME), Err(fault));
    }
}

#[test]
#[should_panic(expected = "file 3 block 18 was expected, but the block found there says")]
fn a_block_is_not_sealed_for_another_address() {
    seal(&mut sealed(BlockSize::KIB_2, 1), Dba::new(3, 18));
}

#[test]
#[should_panic(expected = "not fit to be written")]
fn a_block_without_a_header_is_not_sealed() {
    seal(&mut [0; 2_048], HOME);
}

#[test]
#[should_panic(expected = "came as 2047 bytes")]
fn a_block_of_no_size_is_not_sealed() {
    seal(&mut sealed(BlockSize::KIB_2, 1)[..2_047], HOME);
}

fn any_size() -> impl Strategy<Value = BlockSize> {
    proptest::sample::select(&BlockSize::ALL[..])
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_flipped_bit_anywhere_is_detected(
        size in any_size(),
        version in any::<u8>(),
        at in any::<proptest::sample::Index>(),
        bit in 0..8_u8,
    ) {
        let mut block = sealed(size, version);
        block[at.index(size.bytes())] ^= 1_u8 << bit;
        prop_assert!(is_bad_checksum(&block));
    }

    #[test]
    fn any_bytes_are_either_refused_or_none_the_worse(
        mut bytes in proptest::collection::vec(any::<u8>(), 2_048),
        reseal in any::<bool>(),
    ) {
        if reseal {
            let checksum = checksum::of_block(&bytes);
            BlockHeader::of_mut(&mut bytes).checksum = U32Le::new(checksum);
        }
        // Random bytes are not a block of this address, and the check never panics.
        prop_assert!(check(&bytes, HOME).is_err());
    }

    #[test]
    fn what_is_sealed_for_an_address_is_accepted_for_it_and_for_no_other(
        file in any::<u16>(),
        block_no in any::<u32>(),
        other in (any::<u16>(), any::<u32>()),
        changed in any::<u64>(),
        sequence in any::<u32>(),
        body in any::<u8>(),
    ) {
        let (address, other) = (Dba::new(file, block_no), Dba::new(other.0, other.1));
        let mut block = vec![body; BlockSize::KIB_2.bytes()];
        *BlockHeader::of_mut(&mut block) = BlockHeader::new(BlockKind::Scratch, address);
        BlockHeader::of_mut(&mut block).stamp(Scn::new(changed), sequence);
        seal(&mut block, address);
        let header = check(&block, address).expect("the block was sealed");
        prop_assert_eq!((header.changed(), header.sequence()), (Scn::new(changed), sequence));
        prop_assert_eq!(check(&block, other).is_ok(), other == address);
    }
}
