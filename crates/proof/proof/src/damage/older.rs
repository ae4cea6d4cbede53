//! Blocks of an earlier time: each is whole, and was right once.
//!
//! A block that is older can be noticed only if what it has lost contradicts something that isn't
//! as old. So only those places are tried where rows, pieces or entries differ between the two
//! times: against an index, or the table, that is of the later time in any case.
//!
//! Callers: `damages`.

use std::collections::BTreeSet;
use txn::block;

use access::{RowAddress, check_heap_block, check_index_block, heap_slots, is_of};
use format::BlockKind;
use ids::Dba;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use relation::TableDefinition;
use space::Holds;
use value::RowView;
use verify::Kind;

use super::damages::Done;
use super::entries::live_entries;
use super::image::{Image, Segment};
use super::made::Made;
use super::pick;

/// As what rows and entries are told that don't agree any more.
const DISAGREE: &[Kind] = &[
    Kind::RowWithoutEntry,
    Kind::EntryWithoutRow,
    Kind::Emptied,
    Kind::Chain,
    Kind::Index,
    Kind::Duplicate,
];

/// Neighbours, at most.
const RUN_MAX: usize = 12;

/// A whole file.
pub(super) fn file(
    made: &Made,
    image: &mut Image,
    random: &mut Xoshiro256PlusPlus,
) -> Option<Done> {
    let then = pick(random, &made.then.files)?;
    let now = image.files.iter_mut().find(|file| file.number == then.number)?;
    now.blocks.clone_from(&then.blocks);
    let what = format!("{} is of an earlier time", then.path);
    Some(Done { what, expects: &[Kind::File] })
}

/// One block.
pub(super) fn block(
    made: &Made,
    image: &mut Image,
    random: &mut Xoshiro256PlusPlus,
) -> Option<Done> {
    let mut places = Vec::new();
    for segment in image.segments() {
        let kinds = [BlockKind::Heap, BlockKind::Leaf];
        for at in image.of_kinds(&segment, &kinds) {
            if differs(made, &segment, &[at]) {
                places.push(at);
            }
        }
    }
    let at = *pick(random, &places)?;
    image.set(at, made.then.block(at));
    Some(Done { what: format!("block {at} is of an earlier time"), expects: DISAGREE })
}

/// A block and its neighbours, of one segment.
pub(super) fn run(made: &Made, image: &mut Image, random: &mut Xoshiro256PlusPlus) -> Option<Done> {
    let mut runs = Vec::new();
    for segment in image.segments() {
        // Its header stays, or the blocks behind are nobody's.
        for from in 1..segment.blocks.len() {
            let to = (from + random.random_range(2..=RUN_MAX)).min(segment.blocks.len());
            let run = &segment.blocks[from..to];
            if run.len() > 1 && differs(made, &segment, run) {
                runs.push(run.to_vec());
            }
        }
    }
    let run = pick(random, &runs)?;
    run.iter().for_each(|at| image.set(*at, made.then.block(*at)));
    let what = format!("blocks {} to {} are of an earlier time", run[0], run[run.len() - 1]);
    // A map of free space may be older too, and name no block that has been formatted since.
    Some(Done { what, expects: DISAGREE })
}

/// Whether these blocks of a segment had other rows, pieces or entries at the earlier time.
fn differs(made: &Made, segment: &Segment, blocks: &[Dba]) -> bool {
    match segment.holds {
        Holds::Table => {
            let Some(table) = made.table_of_heap(segment.object) else { return false };
            !table.indexes.is_empty()
                && rows(&made.then, table, blocks) != rows(&made.now, table, blocks)
        }
        Holds::Index => {
            made.table_of_index(segment.object).is_some()
                && in_leaves(&made.then, segment, blocks) != in_leaves(&made.now, segment, blocks)
        }
        _ => false,
    }
}

/// What of rows an index, or another piece, knows: where each is, and the keys of those that are
/// in one piece.
type Known = (RowAddress, bool, Vec<Vec<u8>>);

fn rows(image: &Image, table: &TableDefinition, blocks: &[Dba]) -> BTreeSet<Known> {
    let layout = table.layout();
    let mut known = BTreeSet::new();
    for at in blocks {
        let Some(bytes) = image.block(*at) else { continue };
        if !is_of(bytes, &[BlockKind::Heap], table.segment.get())
            || check_heap_block(bytes).is_err()
        {
            continue;
        }
        for found in heap_slots(bytes) {
            let row = RowAddress { block: *at, slot: found.slot };
            let mut keys = Vec::new();
            if found.is_row
                && found.next.is_none()
                && let Ok(view) = RowView::new(&layout, found.data)
            {
                for index in &table.indexes {
                    let mut key = Vec::new();
                    let pushed = index.push_entry_key(row, &view, &mut key);
                    keys.extend(pushed.is_ok().then_some(key));
                }
            }
            known.insert((row, found.is_row, keys));
        }
    }
    known
}

fn in_leaves(image: &Image, segment: &Segment, blocks: &[Dba]) -> BTreeSet<Vec<u8>> {
    let mut entries = BTreeSet::new();
    for at in blocks {
        let Some(bytes) = image.block(*at) else { continue };
        if is_of(bytes, &[BlockKind::Leaf], segment.object) && check_index_block(bytes).is_ok() {
            let live = live_entries(bytes).into_iter();
            entries
                .extend(live.map(|slot| block::bytes_of(bytes, block::slot(bytes, slot)).to_vec()));
        }
    }
    entries
}
