//! Damage of whole blocks, and of what they say of each other.
//!
//! Callers: `damages`.

use std::collections::BTreeSet;

use access::is_free_map;
use format::{
    BlockHeader, BlockKind, DataHead, DbaLe, Extent, ExtentMap, SegmentHeader, TransactionTable,
    UndoBlock,
};
use ids::{Dba, Scn};
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use space::{Holds, map_of};
use verify::Kind;

use super::damages::Done;
use super::image::{Image, Segment};
use super::made::Made;
use super::pick;

/// Blocks that somebody needs: each was handed out to a segment and is its own, or lies before the
/// first extent; undo blocks that are in no ring yet aren't.
fn needed(image: &Image) -> Vec<Dba> {
    let mut all = BTreeSet::new();
    let before = |file: u16| [Dba::new(file, 0), Dba::new(file, 1)];
    all.extend(image.files.iter().flat_map(|file| before(file.number.get())));
    for segment in image.segments() {
        all.insert(segment.header);
        match segment.holds {
            Holds::Table => {
                all.extend(image.of_kinds(&segment, &[BlockKind::Heap]));
                all.extend(maps(image, &segment));
            }
            Holds::Index => {
                let kinds = [BlockKind::Leaf, BlockKind::Branch];
                all.extend(image.of_kinds(&segment, &kinds));
            }
            Holds::Undo => {
                for (table, ring) in rings(image, &segment) {
                    all.insert(table);
                    all.extend(ring);
                }
            }
            Holds::Directory => {}
        }
    }
    all.into_iter().filter(|at| image.kind(*at).is_some()).collect()
}

/// Maps of free space of a table; others may be left of a former life of its blocks.
fn maps(image: &Image, table: &Segment) -> Vec<Dba> {
    let is_its = |at: &Dba| is_free_map(image.known(*at), table.object);
    table.blocks.iter().copied().filter(is_its).collect()
}

/// The transaction tables, and the blocks of each one's ring in turn.
fn rings(image: &Image, undo: &Segment) -> Vec<(Dba, Vec<Dba>)> {
    let is_table = |at: &&Dba| image.kind(**at) == Some(BlockKind::TransactionTable);
    let tables = undo.blocks.iter().filter(is_table);
    let ring = |at: &Dba| {
        let table = TransactionTable::at(image.known(*at), TransactionTable::START);
        let mut blocks = Vec::new();
        let mut next = table.current;
        while next != DbaLe::NONE && blocks.len() < table.blocks.get() as usize {
            blocks.push(next.get());
            next = UndoBlock::at(image.known(next.get()), UndoBlock::START).next;
        }
        (*at, blocks)
    };
    tables.map(ring).collect()
}

/// Another block's bytes, as they are. A block of a user's index is told as the fault of the index,
/// which can be dropped; its header block isn't, for without it nobody knows the index's blocks.
pub(super) fn misdirected(
    made: &Made,
    image: &mut Image,
    random: &mut Xoshiro256PlusPlus,
) -> Option<Done> {
    let needed = needed(image);
    let (from, to) = (*pick(random, &needed)?, *pick(random, &needed)?);
    let bytes = image.known(from).to_vec();
    if from == to || bytes.len() != image.known(to).len() {
        return None;
    }
    let segments = image.segments();
    let owner = segments.iter().find(|one| one.blocks.contains(&to) && one.header != to);
    let is_of_index = owner.is_some_and(|one| made.table_of_index(one.object).is_some());
    image.set(to, Some(&bytes));
    let what = format!("block {from} was written to the place of block {to}");
    Some(Done { what, expects: if is_of_index { &[Kind::Index] } else { &[Kind::Block] } })
}

/// Changed at an SCN that nobody has given.
pub(super) fn ahead(_: &Made, image: &mut Image, random: &mut Xoshiro256PlusPlus) -> Option<Done> {
    let written: Vec<Dba> = image.all().map(|(at, _)| at).collect();
    let written: Vec<Dba> = written.into_iter().filter(|at| image.kind(*at).is_some()).collect();
    let newest = image.all().map(|(_, block)| BlockHeader::at(block, 0).changed().get()).max()?;
    let at = *pick(random, &written)?;
    // Closing the files takes a few.
    let scn = Scn::new(newest + [100, 10_000, 1 << 40][random.random_range(0..3)]);
    BlockHeader::of_mut(image.block_mut(at)).stamp(scn, 1);
    image.seal(at);
    let what = format!("block {at} was changed at SCN {scn}, and none later than {newest}");
    Some(Done { what, expects: &[Kind::Ahead] })
}

/// Zeros where a block was.
pub(super) fn zeroed(_: &Made, image: &mut Image, random: &mut Xoshiro256PlusPlus) -> Option<Done> {
    // A kind first, for most blocks are of rows.
    let needed = needed(image);
    let kinds: BTreeSet<u8> =
        needed.iter().filter_map(|at| image.kind(*at)).map(|k| k as u8).collect();
    let kinds: Vec<u8> = kinds.into_iter().collect();
    let kind = *pick(random, &kinds)?;
    let is_it = |at: &Dba| image.kind(*at).is_some_and(|one| one as u8 == kind);
    let at = *pick(random, &needed.into_iter().filter(is_it).collect::<Vec<_>>())?;
    let kind = image.kind(at)?;
    let expects: &[Kind] = match kind {
        BlockKind::Heap => &[Kind::Emptied],
        BlockKind::FreeMap => &[Kind::Structure],
        BlockKind::Leaf | BlockKind::Branch => &[Kind::Index],
        BlockKind::Undo | BlockKind::TransactionTable => &[Kind::Undo],
        BlockKind::SegmentHeader | BlockKind::Directory => &[Kind::Space],
        _ => &[Kind::Block],
    };
    image.set(at, None);
    Some(Done { what: format!("block {at}, a {kind} block, is zeros"), expects })
}

/// Names the place that it has in its own map, in another segment's map.
pub(super) fn others_map(
    _: &Made,
    image: &mut Image,
    random: &mut Xoshiro256PlusPlus,
) -> Option<Done> {
    let segments = image.segments();
    let tables = segments.iter().filter(|one| one.holds == Holds::Table);
    let maps: Vec<Dba> = tables.flat_map(|one| maps(image, one)).collect();
    let map = *pick(random, &maps)?;
    let has_another = |at: &Dba| {
        let next = DataHead::at(image.known(*at), DataHead::START).next;
        next != DbaLe::NONE && next.get() != map
    };
    let heaps = segments.iter().flat_map(|one| image.of_kinds(one, &[BlockKind::Heap]));
    let at = *pick(random, &heaps.filter(has_another).collect::<Vec<_>>())?;
    DataHead::at_mut(image.block_mut(at), DataHead::START).next = DbaLe::new(map);
    image.seal(at);
    let what = format!("block {at} of rows names the map of free space {map}");
    Some(Done { what, expects: &[Kind::Structure] })
}

/// The block before it leads to the block behind it.
pub(super) fn undo_out(
    _: &Made,
    image: &mut Image,
    random: &mut Xoshiro256PlusPlus,
) -> Option<Done> {
    let undo = image.segments().into_iter().find(|one| one.holds == Holds::Undo)?;
    let rings: Vec<_> =
        rings(image, &undo).into_iter().filter(|(_, ring)| ring.len() > 1).collect();
    let (table, ring) = pick(random, &rings)?;
    let place = random.random_range(0..ring.len());
    let (before, out) = (ring[place], ring[(place + 1) % ring.len()]);
    let behind = UndoBlock::at(image.known(out), UndoBlock::START).next;
    UndoBlock::at_mut(image.block_mut(before), UndoBlock::START).next = behind;
    image.seal(before);
    let what = format!("undo block {out} isn't in the ring of {table} any more");
    Some(Done { what, expects: &[Kind::Undo] })
}

/// Which extents of a header there are.
fn extents(header: &[u8]) -> usize {
    SegmentHeader::at(header, SegmentHeader::START).extents.get().into()
}

fn extent_at(place: usize) -> usize {
    SegmentHeader::EXTENTS + place * Extent::BYTES
}

/// An extent behind the first of one segment is one of another's.
pub(super) fn extent_twice(
    _: &Made,
    image: &mut Image,
    random: &mut Xoshiro256PlusPlus,
) -> Option<Done> {
    let segments = image.segments();
    let has_more = |one: &&Segment| extents(image.known(one.header)) > 1;
    let one = *pick(random, &segments.iter().filter(has_more).collect::<Vec<_>>())?;
    let tablespace = |at: Dba| image.file(at.file).map(|file| file.tablespace);
    let is_beside = |other: &&Segment| {
        other.object != one.object && tablespace(other.header) == tablespace(one.header)
    };
    let other = *pick(random, &segments.iter().filter(is_beside).collect::<Vec<_>>())?;
    let place = random.random_range(1..extents(image.known(one.header)));
    let taken = random.random_range(0..extents(image.known(other.header)));
    let taken = *Extent::at(image.known(other.header), extent_at(taken));
    let own = Extent::at_mut(image.block_mut(one.header), extent_at(place));
    *own = Extent { blocks: own.blocks, ..taken };
    image.seal(one.header);
    let what = format!("segment {} has an extent of segment {} too", one.object, other.object);
    Some(Done { what, expects: &[Kind::Space] })
}

/// Turns a bit of an extent map, of those that are as given.
fn turn_extent(
    image: &mut Image,
    random: &mut Xoshiro256PlusPlus,
    is_taken: bool,
) -> Option<String> {
    let bit = |extent: u32| (ExtentMap::BITS + extent as usize / 8, 1_u8 << (extent % 8));
    let mut places = Vec::new();
    for file in &image.files {
        let at = map_of(file.number);
        let map = image.known(at);
        let extents = ExtentMap::at(map, ExtentMap::START).extents.get();
        let is_so = |extent: &u32| {
            let (byte, mask) = bit(*extent);
            (map[byte] & mask != 0) == is_taken
        };
        places.extend((0..extents).filter(is_so).map(|extent| (at, extent)));
    }
    let (at, extent) = *pick(random, &places)?;
    let (byte, mask) = bit(extent);
    image.block_mut(at)[byte] ^= mask;
    image.seal(at);
    Some(format!("of file {} extent {extent}", at.file))
}

pub(super) fn extent_free(
    _: &Made,
    image: &mut Image,
    random: &mut Xoshiro256PlusPlus,
) -> Option<Done> {
    let what = format!("{} is said to be free", turn_extent(image, random, true)?);
    Some(Done { what, expects: &[Kind::Space] })
}

pub(super) fn extent_lost(
    _: &Made,
    image: &mut Image,
    random: &mut Xoshiro256PlusPlus,
) -> Option<Done> {
    let what = format!("{} is said to be in use", turn_extent(image, random, false)?);
    Some(Done { what, expects: &[Kind::Space] })
}
