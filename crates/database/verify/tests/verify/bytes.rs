//! Single bytes, flipped: each is found, or is one that a database that is shut doesn't use.

use std::collections::BTreeMap;

use format::BlockKind;
use verify::Kind;

use crate::common::{
    BLOCK, Blocks, DATA, UNDO, check, database, kinds, length, read, with_database, write,
};
use crate::dictionary;

/// Of a block's first bytes, where all structures begin, each is flipped; of the others one in so
/// many.
const HEAD_BYTES: usize = 112;
const STRIDE: usize = 97;

/// Blocks of each kind whose bytes are flipped so; of the others two bytes each.
const BLOCKS_OF_KIND: usize = 2;

fn places(is_sample: bool, bytes: usize) -> Vec<usize> {
    match is_sample {
        true => (0..HEAD_BYTES).chain((HEAD_BYTES..bytes).step_by(STRIDE)).collect(),
        false => vec![17, bytes - 1],
    }
}

/// Every byte of a data file counts, also of blocks that were never written.
#[test]
fn a_flipped_byte_of_a_data_file_is_found_in_its_block() {
    let (disk, objects) = database();
    let seen = with_database(disk, move |world, session| {
        let disk = world.disk();
        let mut seen: BTreeMap<Option<BlockKind>, usize> = BTreeMap::new();
        for name in [DATA, UNDO] {
            let blocks = Blocks::load(&disk, name, session);
            for number in 0..blocks.now.len() {
                let of_kind = seen.entry(blocks.kind(number)).or_default();
                *of_kind += 1;
                for place in places(*of_kind <= BLOCKS_OF_KIND, BLOCK) {
                    let at = (number * BLOCK + place) as u64;
                    let byte = blocks.now[number][place];
                    write(&disk, name, (at, &[byte ^ 0x10]), session);
                    let (report, told) = check(&disk, Some(objects), session);
                    report.expect("checked");
                    let address = blocks.address(number);
                    // Of an index the advice is another, and of no segment nothing is lost.
                    let kinds = [Kind::Block, Kind::Index, Kind::Unused];
                    let is_it = |kind, block| kinds.contains(&kind) && block == Some(address);
                    assert!(
                        told.iter().any(|found| is_it(found.kind, found.block)),
                        "byte {place} of {address}: {told:?}"
                    );
                    write(&disk, name, (at, &[byte]), session);
                }
            }
        }
        let (report, told) = check(&disk, Some(objects), session);
        assert!(report.expect("checked").is_clean() && told.is_empty(), "{told:?}");
        seen
    });
    // Every kind of block of a data file was there.
    let all = [
        BlockKind::FileHeader,
        BlockKind::ExtentMap,
        BlockKind::Directory,
        BlockKind::SegmentHeader,
        BlockKind::TransactionTable,
        BlockKind::Undo,
        BlockKind::Heap,
        BlockKind::Leaf,
        BlockKind::Branch,
    ];
    for kind in all {
        assert!(seen.contains_key(&Some(kind)), "{kind}: {seen:?}");
    }
}

/// Of the other files: every byte of both copies of the control file, and of the redo logs'
/// headers. What else is in redo logs, and in the doublewrite file, nobody reads after a shutdown
/// in good order: opening begins a new log, and no block is torn.
#[test]
fn a_flipped_byte_of_another_file_is_found_if_it_is_used() {
    let (disk, objects) = database();
    with_database(disk, move |world, session| {
        let disk = world.disk();
        let used = [
            ("control01.ctl", usize::MAX, Some(Kind::Control)),
            ("control02.ctl", usize::MAX, Some(Kind::Control)),
            ("redo01.log", 4096, Some(Kind::Log)),
            ("redo02.log", 4096, Some(Kind::FreeLog)),
            ("redo03.log", 4096, Some(Kind::FreeLog)),
            ("doublewrite01.dbl", 0, None),
        ];
        for (name, used, kind) in used {
            let bytes = (length(&disk, name, session) as usize).min(64 << 10);
            for place in (0..HEAD_BYTES).chain((HEAD_BYTES..bytes).step_by(1_021)) {
                let byte = read(&disk, name, (place as u64, 1), session)[0];
                write(&disk, name, (place as u64, &[byte ^ 0x10]), session);
                let (report, told) = check(&disk, Some(objects), session);
                report.expect("checked");
                let expected = kind.filter(|_| place < used).map(|kind| (kind, 1));
                assert_eq!(kinds(&told), expected.into_iter().collect(), "byte {place} of {name}");
                write(&disk, name, (place as u64, &[byte]), session);
            }
        }
    });
}

/// Damage whose checksum is right: the check comes to its end whatever a block says, and never says
/// that it is the block that is damaged.
#[test]
fn whatever_a_sealed_block_says_the_check_comes_to_its_end() {
    let (disk, objects) = database();
    let (found, flips) = with_database(disk, move |world, session| {
        let disk = world.disk();
        let (mut found, mut flips) = (0, 0);
        let mut seen: BTreeMap<Option<BlockKind>, usize> = BTreeMap::new();
        for name in [DATA, UNDO] {
            let whole = Blocks::load(&disk, name, session);
            for number in 0..whole.now.len() {
                let of_kind = seen.entry(whole.kind(number)).or_default();
                *of_kind += 1;
                if whole.kind(number).is_none() || *of_kind > 1 {
                    continue;
                }
                let ends = (BLOCK - 24..BLOCK).chain((HEAD_BYTES..BLOCK).step_by(STRIDE));
                for place in (16..28).chain(32..HEAD_BYTES).chain(ends) {
                    for mask in [0x01, 0x80] {
                        let mut blocks = Blocks::load(&disk, name, session);
                        blocks.now[number][place] ^= mask;
                        blocks.store(&disk, session);
                        let (report, told) = check(&disk, Some(objects), session);
                        report.expect("checked");
                        assert!(!kinds(&told).contains_key(&Kind::Block), "{told:?}");
                        (found, flips) = (found + u64::from(!told.is_empty()), flips + 1);
                        let at = (number * BLOCK) as u64;
                        write(&disk, name, (at, &whole.now[number]), session);
                    }
                }
            }
        }
        (found, flips)
    });
    // What is left are rows' bytes, the time of changes, and what undo would take back.
    println!("{found} of {flips} are found");
    assert!(found * 2 > flips, "{found} of {flips} are found");
}

/// A damaged block of an index is one finding, with the index's name and one advice; one that no
/// segment uses is no reason to restore anything.
#[test]
fn a_damaged_block_is_told_once_with_its_owner() {
    with_database(dictionary::database(), |world, session| {
        let disk = world.disk();
        let blocks = Blocks::load(&disk, DATA, session);
        let mut kinds_seen = BTreeMap::new();
        let is_looked_at = |number: &usize| {
            matches!(blocks.kind(*number), Some(BlockKind::Leaf) | None) && number.is_multiple_of(3)
        };
        for number in (0..blocks.now.len()).filter(is_looked_at) {
            let at = (number * BLOCK + 100) as u64;
            write(&disk, DATA, (at, &[0xA5]), session);
            let (_, mut told) = check(&disk, None, session);
            write(&disk, DATA, (at, &blocks.now[number][100..101]), session);
            // If it is the dictionary's, the rest isn't checked, which is said too.
            told.retain(|finding| finding.kind != Kind::Dictionary);
            assert_eq!(told.len(), 1, "block {number}: {told:?}");
            let line = told[0].to_string();
            let named = [" of parent", " of child"].iter().any(|of| told[0].object.contains(of));
            match told[0].kind {
                Kind::Index => assert!(named && !line.contains("restore"), "{line}"),
                Kind::Block => assert!(line.contains(&format!("block {number} of ")), "{line}"),
                Kind::Unused => assert!(line.contains("nothing is lost"), "{line}"),
                kind => panic!("{kind}: {line}"),
            }
            assert!(!line.contains('#') && line.contains("is damaged"), "{line}");
            *kinds_seen.entry(told[0].kind).or_insert(0) += 1;
        }
        assert!(kinds_seen.contains_key(&Kind::Index), "{kinds_seen:?}");
        assert!(kinds_seen.contains_key(&Kind::Unused), "{kinds_seen:?}");
    });
}
