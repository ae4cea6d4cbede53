//! Damage of single entries of indexes, and of single rows, by their bytes.
//!
//! Callers: `damages`; `older`.

use access::heap_slots;
use format::{BlockKind, DataSlot, U16Le};
use ids::Dba;
use rand_xoshiro::Xoshiro256PlusPlus;
use space::Holds;
use txn::block;
use value::{RowLayout, RowView};
use verify::Kind;

use super::damages::Done;
use super::image::Image;
use super::made::Made;
use super::pick;

/// Slots of a leaf before its first entry: its fences.
const FENCES: u16 = 2;
/// Flag of an entry.
const ENTRY: u8 = 1;
/// Flag of one that is deleted.
const MARKED: u8 = 2;
/// With its row's address an entry ends.
const ADDRESS_BYTES: usize = 8;

/// Entries of a leaf that aren't deleted.
pub(super) fn live_entries(leaf: &[u8]) -> Vec<u16> {
    with_flags(leaf, ENTRY)
}

fn with_flags(leaf: &[u8], flags: u8) -> Vec<u16> {
    (FENCES..block::slots(leaf)).filter(|slot| block::slot(leaf, *slot).flags == flags).collect()
}

/// Leaves of the indexes of tables.
fn leaves(made: &Made, image: &Image) -> Vec<Dba> {
    let segments = image.segments().into_iter();
    let indexes = segments.filter(|one| one.holds == Holds::Index);
    let known = indexes.filter(|one| made.table_of_index(one.object).is_some());
    known.flat_map(|one| image.of_kinds(&one, &[BlockKind::Leaf])).collect()
}

/// Leaves with so many entries that have these flags.
fn leaves_with(made: &Made, image: &Image, flags: u8, least: usize) -> Vec<Dba> {
    let has = |at: &Dba| with_flags(image.known(*at), flags).len() >= least;
    leaves(made, image).into_iter().filter(has).collect()
}

/// Takes an entry away.
pub(super) fn lacks(
    made: &Made,
    image: &mut Image,
    random: &mut Xoshiro256PlusPlus,
) -> Option<Done> {
    let at = *pick(random, &leaves_with(made, image, ENTRY, 1))?;
    let slot = *pick(random, &live_entries(image.known(at)))?;
    let leaf = image.block_mut(at);
    unlock(leaf, slot);
    block::release(leaf, slot);
    block::remove_slot(leaf, slot);
    image.seal(at);
    let what = format!("entry {slot} of leaf {at} is gone");
    Some(Done { what, expects: &[Kind::RowWithoutEntry] })
}

/// Nobody has the slot locked any more, if somebody had who has ended.
fn unlock(leaf: &mut [u8], slot: u16) {
    let lock = block::slot(leaf, slot).lock;
    if lock > 0 {
        let entry = block::entry_mut(leaf, lock - 1);
        entry.locks = U16Le::new(entry.locks.get() - 1);
    }
}

/// An entry that was deleted is there again.
pub(super) fn again(
    made: &Made,
    image: &mut Image,
    random: &mut Xoshiro256PlusPlus,
) -> Option<Done> {
    let deleted = ENTRY | MARKED;
    let at = *pick(random, &leaves_with(made, image, deleted, 1))?;
    let slot = *pick(random, &with_flags(image.known(at), deleted))?;
    let leaf = image.block_mut(at);
    let found = block::slot(leaf, slot);
    block::set_slot(leaf, slot, DataSlot { flags: ENTRY, ..found });
    image.seal(at);
    let what = format!("entry {slot} of leaf {at}, which was deleted, is there again");
    Some(Done { what, expects: &[Kind::EntryWithoutRow] })
}

/// Two entries exchange their rows.
pub(super) fn swapped(
    made: &Made,
    image: &mut Image,
    random: &mut Xoshiro256PlusPlus,
) -> Option<Done> {
    let at = *pick(random, &leaves_with(made, image, ENTRY, 2))?;
    let live = live_entries(image.known(at));
    let (one, other) = (*pick(random, &live)?, *pick(random, &live)?);
    if one == other {
        return None;
    }
    let leaf = image.block_mut(at);
    let row_at = |slot| {
        let slot = block::slot(leaf, slot);
        usize::from(slot.at.get() + slot.length.get()) - ADDRESS_BYTES
    };
    let (one_at, other_at) = (row_at(one), row_at(other));
    (0..ADDRESS_BYTES).for_each(|byte| leaf.swap(one_at + byte, other_at + byte));
    image.seal(at);
    let what = format!("entries {one} and {other} of leaf {at} lead to each other's row");
    // Of equal keys rows are in order too, and a NULL's key in a unique index has its row in it.
    let expects = &[Kind::EntryWithoutRow, Kind::Index, Kind::Structure];
    Some(Done { what, expects })
}

/// A byte of a row is another one, and every value is as it was.
pub(super) fn form(
    made: &Made,
    image: &mut Image,
    random: &mut Xoshiro256PlusPlus,
) -> Option<Done> {
    let mut places = Vec::new();
    for segment in image.segments() {
        let Some(table) = made.table_of_heap(segment.object) else { continue };
        let layout = table.layout();
        for at in image.of_kinds(&segment, &[BlockKind::Heap]) {
            let bytes = image.known(at);
            for row in heap_slots(bytes).filter(|row| row.is_row && row.next.is_none()) {
                let from = row.data.as_ptr() as usize - bytes.as_ptr() as usize;
                let other = idle_bytes(&layout, row.data);
                places.extend(other.into_iter().map(|byte| (at, row.slot, from + byte)));
            }
        }
    }
    let (at, slot, byte) = *pick(random, &places)?;
    image.block_mut(at)[byte] ^= 1;
    image.seal(at);
    let what = format!("row {at}/{slot} has another byte at {byte}, and no other value");
    Some(Done { what, expects: &[Kind::Row] })
}

/// Bytes of a row that can be others without any value of it being another.
fn idle_bytes(layout: &RowLayout, row: &[u8]) -> Vec<usize> {
    let values = |row: &[u8]| -> Option<Vec<String>> {
        let (view, mut values) = (RowView::new(layout, row).ok()?, Vec::new());
        view.get_all(&mut values).ok()?;
        Some(values.iter().map(ToString::to_string).collect())
    };
    let Some(before) = values(row) else { return Vec::new() };
    let is_idle = |byte: &usize| {
        let mut row = row.to_vec();
        row[*byte] ^= 1;
        values(&row).is_some_and(|now| now == before)
    };
    // Behind these lie texts, of which each byte is one of a value.
    (0..row.len().min(80)).filter(is_idle).collect()
}
