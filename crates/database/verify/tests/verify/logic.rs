//! Damage with right checksums, as a bug would leave it: each is found, and named for what it is.

use std::collections::BTreeMap;
use txn::block;

use format::{
    BlockKind, DataHead, DataSlot, DbaLe, Directory, DirectoryEntry, Extent, ExtentMap, FreeBlock,
    ItlEntry, SegmentHeader, TransactionSlot, TransactionTable, TxnIdLe, U16Le, U32Le, UndoBlock,
};
use ids::{Dba, TxnId};
use verify::Kind;

use crate::common::{
    Blocks, DATA, Objects, UNDO, bed, check, counted, database, kinds, machine, parameters,
    with_database,
};
use crate::open::pass_through;

/// Kinds that are found in a database in which a file's blocks were changed so, and how often.
fn found_after(
    name: &'static str,
    change: impl FnOnce(&mut Blocks, Objects) + Send + 'static,
) -> BTreeMap<Kind, usize> {
    let (disk, objects) = database();
    with_database(disk, move |world, session| {
        let disk = world.disk();
        let mut blocks = Blocks::load(&disk, name, session);
        change(&mut blocks, objects);
        blocks.store(&disk, session);
        let (report, told) = check(&disk, Some(objects), session);
        let report = report.expect("checked");
        assert_eq!(report.count(), told.len() as u64 + report.untold.values().sum::<u64>());
        told.iter().for_each(|finding| println!("{finding}"));
        counted(&report)
    })
}

fn only(kind: Kind, count: usize) -> BTreeMap<Kind, usize> {
    [(kind, count)].into()
}

/// Flags of a heap's slots.
const ROW: u8 = 1;
const NEXT: u8 = 2;
const PIECE: u8 = 4;

/// A slot of a heap with these flags: its block, its number, and where its bytes are.
fn slot_with(blocks: &Blocks, objects: Objects, flags: u8) -> (usize, u16, usize) {
    let of_block = |number: usize| {
        let slots = (0..).zip(block::directory(&blocks.now[number]));
        let found = slots.filter(|(_, slot)| slot.flags == flags).map(|(at, slot)| (at, slot.at));
        found.map(|(slot, at)| (number, slot, usize::from(at.get()))).collect::<Vec<_>>()
    };
    let all = blocks.all(BlockKind::Heap, Some(objects[0]));
    let found: Vec<_> = all.into_iter().flat_map(of_block).collect();
    *found.first().expect("there is such a slot")
}

/// The leaves of an index.
fn leaves(blocks: &Blocks, objects: Objects, index: usize) -> Vec<usize> {
    let leaves = blocks.all(BlockKind::Leaf, Some(objects[index]));
    assert!(leaves.len() > 1, "an index has several leaves");
    leaves
}

#[test]
fn rows_whose_addresses_are_exchanged_in_an_index_are_found_from_both_sides() {
    let found = found_after(DATA, |blocks, objects| {
        let leaf = leaves(blocks, objects, 1)[0];
        let block = &mut blocks.now[leaf];
        let row_at = |block: &[u8], number| {
            let slot = block::slot(block, number);
            usize::from(slot.at.get() + slot.length.get()) - 8
        };
        let (one, two) = (row_at(block, 5), row_at(block, 6));
        for byte in 0..8 {
            block.swap(one + byte, two + byte);
        }
    });
    assert_eq!(found, [(Kind::EntryWithoutRow, 2), (Kind::RowWithoutEntry, 2)].into());
}

#[test]
fn an_entry_without_row_is_found() {
    let found = found_after(DATA, |blocks, objects| {
        let (number, slot, _) = slot_with(blocks, objects, ROW);
        let block = &mut blocks.now[number];
        block::release(block, slot);
        let lock = block::slot(block, slot).lock;
        block::set_slot(block, slot, DataSlot { lock, flags: DataSlot::DELETED, ..DataSlot::FREE });
    });
    // The first row is number 0, which the other index leaves out.
    assert_eq!(found, only(Kind::EntryWithoutRow, 1));
}

#[test]
fn a_row_without_entry_is_found() {
    for index in [1, 2] {
        let found = found_after(DATA, move |blocks, objects| {
            let leaf = leaves(blocks, objects, index)[0];
            let block = &mut blocks.now[leaf];
            let live = (2..block::slots(block)).find(|n| block::slot(block, *n).flags == 1);
            let slot = live.expect("an entry that isn't deleted");
            let lock = block::slot(block, slot).lock;
            if lock > 0 {
                let entry = block::entry_mut(block, lock - 1);
                entry.locks = U16Le::new(entry.locks.get() - 1);
            }
            block::release(block, slot);
            block::remove_slot(block, slot);
        });
        assert_eq!(found, only(Kind::RowWithoutEntry, 1));
    }
}

#[test]
fn a_chain_that_is_cut_or_leads_in_a_circle_is_found() {
    // The address of the next piece names a slot that isn't there.
    let found = found_after(DATA, |blocks, objects| {
        let (number, _, at) = slot_with(blocks, objects, ROW | NEXT);
        blocks.now[number][at + 6] = 0xee;
    });
    assert_eq!(found, only(Kind::Chain, 2), "the cut, and the piece that is lost");
    // A piece goes on at itself.
    let found = found_after(DATA, |blocks, objects| {
        let (number, slot, at) = slot_with(blocks, objects, PIECE | NEXT);
        let address = (number as u32).to_le_bytes();
        let block = &mut blocks.now[number];
        block[at..at + 4].copy_from_slice(&address);
        block[at + 4..at + 6].copy_from_slice(&1_u16.to_le_bytes());
        block[at + 6..at + 8].copy_from_slice(&slot.to_le_bytes());
    });
    assert_eq!(found.keys().collect::<Vec<_>>(), [&Kind::Chain]);
}

#[test]
fn a_piece_that_no_row_leads_to_is_found() {
    let found = found_after(DATA, |blocks, objects| {
        let (number, slot, _) = slot_with(blocks, objects, ROW | NEXT);
        let block = &mut blocks.now[number];
        let found = block::slot(block, slot);
        block::set_slot(block, slot, DataSlot { flags: ROW, ..found });
    });
    assert!(found[&Kind::Chain] >= 1, "{found:?}");
}

#[test]
fn a_leaf_that_is_unlinked_is_found() {
    let found = found_after(DATA, |blocks, objects| {
        let all = leaves(blocks, objects, 1);
        let next = |number: usize| DataHead::at(&blocks.now[number], DataHead::START).next;
        let left = all.into_iter().find(|number| {
            let next = next(*number);
            next != DbaLe::NONE && self::next_of(blocks, next.get()) != DbaLe::NONE
        });
        let left = left.expect("a leaf with two to its right");
        let skipped = next_of(blocks, next(left).get());
        DataHead::at_mut(&mut blocks.now[left], DataHead::START).next = skipped;
    });
    assert_eq!(found, only(Kind::Index, 1));
}

fn next_of(blocks: &Blocks, block: Dba) -> DbaLe {
    DataHead::at(&blocks.now[block.block.get() as usize], DataHead::START).next
}

#[test]
fn entries_in_the_wrong_order_are_found() {
    let found = found_after(DATA, |blocks, objects| {
        let leaf = leaves(blocks, objects, 2)[0];
        let block = &mut blocks.now[leaf];
        let (one, two) = (block::slot(block, 4), block::slot(block, 5));
        block::set_slot(block, 4, two);
        block::set_slot(block, 5, one);
    });
    assert_eq!(found, [(Kind::Structure, 1), (Kind::Index, 1)].into());
}

#[test]
fn a_key_that_a_unique_index_has_twice_is_found() {
    let found = found_after(DATA, |blocks, objects| {
        let leaf = leaves(blocks, objects, 1)[0];
        let block = &mut blocks.now[leaf];
        let of = |block: &[u8], number| block::bytes_of(block, block::slot(block, number)).to_vec();
        let key = of(block, 4)[..4].to_vec();
        let at = usize::from(block::slot(block, 5).at.get());
        block[at..at + 4].copy_from_slice(&key);
    });
    assert_eq!(found, only(Kind::Duplicate, 1));
}

#[test]
fn an_extent_that_two_segments_have_is_found_and_one_that_none_has() {
    let found = found_after(DATA, |blocks, _| {
        let headers: Vec<usize> = blocks
            .all(BlockKind::SegmentHeader, None)
            .into_iter()
            .filter(|number| {
                SegmentHeader::at(&blocks.now[*number], SegmentHeader::START).extents.get() > 1
            })
            .collect();
        let extent = |number: usize, which: usize| {
            *Extent::at(&blocks.now[number], SegmentHeader::EXTENTS + which * Extent::BYTES)
        };
        let (one, two) = (headers[0], headers[1]);
        let taken = Extent { blocks: extent(two, 1).blocks, ..extent(one, 1) };
        let at = SegmentHeader::EXTENTS + Extent::BYTES;
        *Extent::at_mut(&mut blocks.now[two], at) = taken;
    });
    assert!(found[&Kind::Space] >= 2, "taken twice, and lost: {found:?}");
}

#[test]
fn an_extent_map_that_says_otherwise_is_found() {
    for (is_taken, from_end) in [(true, false), (false, true)] {
        let found = found_after(DATA, move |blocks, _| {
            let map = &mut blocks.now[1];
            let extents = ExtentMap::at(map, ExtentMap::START).extents.get();
            let is = |map: &[u8], n: u32| map[ExtentMap::BITS + n as usize / 8] & 1 << (n % 8) != 0;
            let mut all = (0..extents).filter(|n| is(map, *n) == is_taken);
            let extent = if from_end { all.next_back() } else { all.next() };
            let extent = extent.expect("there is such an extent");
            map[ExtentMap::BITS + extent as usize / 8] ^= 1 << (extent % 8);
        });
        assert_eq!(found, only(Kind::Space, 1));
    }
}

#[test]
fn a_directory_entry_that_leads_elsewhere_is_found() {
    let found = found_after(DATA, |blocks, _| {
        let entry = DirectoryEntry::at_mut(&mut blocks.now[2], Directory::ENTRIES);
        entry.header = DbaLe::new(Dba::new(1, 50));
    });
    assert!(found[&Kind::Space] >= 1, "{found:?}");
}

#[test]
fn a_high_water_behind_the_extents_is_found() {
    let found = found_after(DATA, |blocks, _| {
        let header = blocks.all(BlockKind::SegmentHeader, None)[0];
        let header = SegmentHeader::at_mut(&mut blocks.now[header], SegmentHeader::START);
        header.high_water = U32Le::new(header.blocks.get() + 1);
    });
    assert_eq!((found[&Kind::Space], found[&Kind::Structure]), (1, 1), "{found:?}");
}

/// Where the header's sums agree, and its last extent goes far beyond its file: the check looks at
/// what the file has, and doesn't list billions of blocks.
#[test]
fn an_extent_far_behind_its_files_end_is_found() {
    let found = found_after(DATA, |blocks, objects| {
        let header = |number: &usize| {
            let head = SegmentHeader::at(&blocks.now[*number], SegmentHeader::START);
            head.object.get() == objects[0].get()
        };
        let headers = blocks.all(BlockKind::SegmentHeader, None);
        let number = headers.into_iter().find(header).expect("the table has a header");
        let block = &mut blocks.now[number];
        let more = 4_000_000_000;
        let head = SegmentHeader::at_mut(block, SegmentHeader::START);
        head.blocks = U32Le::new(head.blocks.get() + more);
        head.high_water = U32Le::new(head.high_water.get() + more);
        let last = usize::from(head.extents.get()) - 1;
        let last = Extent::at_mut(block, SegmentHeader::EXTENTS + last * Extent::BYTES);
        last.blocks = U32Le::new(last.blocks.get() + more);
    });
    assert!(found[&Kind::Space] >= 1, "{found:?}");
}

#[test]
fn a_lock_of_nobody_and_a_transaction_that_never_was_are_found() {
    let found = found_after(DATA, |blocks, objects| {
        let (number, slot, _) = slot_with(blocks, objects, ROW);
        let block = &mut blocks.now[number];
        let found = block::slot(block, slot);
        block::set_slot(block, slot, DataSlot { lock: 200, ..found });
    });
    assert_eq!(found[&Kind::Structure], 1);
    let found = found_after(DATA, |blocks, objects| {
        let (number, ..) = slot_with(blocks, objects, ROW);
        let never = TxnId { segment: 1, slot: 2, sequence: 1_000_000 };
        let entry: &mut ItlEntry = block::entry_mut(&mut blocks.now[number], 0);
        entry.transaction = TxnIdLe::new(never);
    });
    assert_eq!(found, only(Kind::Structure, 1));
}

#[test]
fn a_ring_of_undo_that_is_cut_is_found_and_whoever_is_active() {
    let found = found_after(UNDO, |blocks, _| {
        let undo = blocks.all(BlockKind::Undo, None);
        let next = DbaLe::new(blocks.address(undo[0]));
        UndoBlock::at_mut(&mut blocks.now[undo[0]], UndoBlock::START).next = next;
    });
    assert_eq!(found.keys().collect::<Vec<_>>(), [&Kind::Undo]);
    let found = found_after(UNDO, |blocks, _| {
        let newest = |table: &[u8]| {
            let newest = TransactionTable::at(table, TransactionTable::START).newest.get();
            TransactionTable::SLOTS + usize::from(newest) * TransactionSlot::BYTES
        };
        let of = |table: &[u8]| TransactionSlot::at(table, newest(table)).sequence.get();
        let tables = blocks.all(BlockKind::TransactionTable, None);
        let used = tables.into_iter().find(|number| of(&blocks.now[*number]) > 0);
        let table = &mut blocks.now[used.expect("there were transactions")];
        let at = newest(table);
        let slot = TransactionSlot::at_mut(table, at);
        (slot.state, slot.ended) = (1, format::ScnLe::ZERO);
    });
    assert_eq!(found, only(Kind::Undo, 1));
}

#[test]
fn a_block_that_lies_in_anothers_place_is_found() {
    let found = {
        let (disk, objects) = database();
        with_database(disk, move |world, session| {
            let disk = world.disk();
            let blocks = Blocks::load(&disk, DATA, session);
            let all = blocks.all(BlockKind::Heap, Some(objects[0]));
            let at = (all[0] * crate::common::BLOCK) as u64;
            crate::common::write(&disk, DATA, (at, &blocks.now[all[1]]), session);
            kinds(&check(&disk, Some(objects), session).1)
        })
    };
    assert_eq!(found[&Kind::Block], 1, "{found:?}");
}

/// The database with an index that has free blocks, one of whose blocks was changed so.
fn found_after_in_list(
    change: impl FnOnce(&mut Blocks, (usize, Vec<usize>)) + Send + 'static,
) -> BTreeMap<Kind, usize> {
    let (disk, objects) = database();
    let ((), disk) = bed::with_instance(machine(3, disk), parameters(), |instance, session| {
        pass_through(instance, 60, session).expect("worked");
    });
    with_database(disk, move |world, session| {
        let disk = world.disk();
        let mut blocks = Blocks::load(&disk, DATA, session);
        let (_, told) = check(&disk, Some(objects), session);
        assert_eq!(told, []);
        let free = blocks.all(BlockKind::Free, None);
        let of = FreeBlock::at(&blocks.now[free[0]], FreeBlock::START).object.get();
        let is_its = |number: &usize| {
            SegmentHeader::at(&blocks.now[*number], SegmentHeader::START).object.get() == of
        };
        let header = blocks.all(BlockKind::SegmentHeader, None).into_iter().find(is_its);
        change(&mut blocks, (header.expect("it has a header"), free));
        blocks.store(&disk, session);
        let (report, told) = check(&disk, Some(objects), session);
        assert_eq!(report.expect("checked").count(), told.len() as u64);
        told.iter().for_each(|finding| println!("{finding}"));
        kinds(&told)
    })
}

#[test]
fn a_list_of_free_blocks_that_lacks_some_or_leads_elsewhere_is_found() {
    // It is said to end before it does.
    let found = found_after_in_list(|blocks, (header, _)| {
        let header = SegmentHeader::at_mut(&mut blocks.now[header], SegmentHeader::START);
        assert!(header.free().is_some());
        (header.free_file, header.free_block) = (U16Le::ZERO, U32Le::ZERO);
    });
    assert_eq!(found, only(Kind::Index, 1));
    // It leads in a circle.
    let found = found_after_in_list(|blocks, (_, free)| {
        let address = blocks.address(free[0]);
        let block = FreeBlock::at_mut(&mut blocks.now[free[0]], FreeBlock::START);
        block.next = DbaLe::new(address);
    });
    assert_eq!(found, only(Kind::Index, 1));
    // It leads to a block that the tree has.
    let found = found_after_in_list(|blocks, (header, _)| {
        let header = SegmentHeader::at_mut(&mut blocks.now[header], SegmentHeader::START);
        header.free_block = U32Le::new(header.free_block.get() + 1);
    });
    assert_eq!(found, only(Kind::Index, 1));
}
