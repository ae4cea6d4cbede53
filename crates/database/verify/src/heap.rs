//! Heaps: the pieces of every row are linked, and every piece belongs to one row.
//!
//! A heap is read as of one moment (VF4), so concurrent changes don't matter. Memory: 32 bytes for
//! each piece that isn't a whole row (VF16).
//!
//! Callers: `closed`, `live`.

use std::collections::{BTreeMap, BTreeSet};

use access::{
    RowAddress, check_map_entry, heap_slot, heap_slots, is_free_map, map_number, was_formatted,
};
use ids::{Dba, ObjectNo};
use space::{Holds, SegmentState};
use stop::{RefusalKind, Stop};

use crate::Kind;
use crate::segments::{Segment, again};
use crate::source::{Check, HeapBlock, Seen, Visit, of_heap};

/// The number of moments that are tried for a heap, because each may become too old.
const MOMENTS_MAX: u32 = 3;

/// The number of blocks after which progress is told.
const TELL_EVERY: u32 = 512;

/// The pieces of a heap.
#[derive(Default)]
struct Pieces {
    /// The pieces that aren't the first of a row.
    there: BTreeSet<RowAddress>,
    /// The next piece of each row or piece that has one.
    next: BTreeMap<RowAddress, RowAddress>,
    /// The first pieces of rows that have several.
    rows: Vec<RowAddress>,
    /// The blocks that couldn't be used.
    bad: BTreeSet<Dba>,
    count: u64,
    /// Blocks that name a wrong place in a map of free space, with the fault.
    misplaced: Vec<(Dba, String)>,
    /// Blocks that had rows once, and aren't the heap's any more.
    emptied: Vec<Dba>,
}

/// Checks every heap.
pub(crate) fn check(check: &mut Check<'_, '_, '_>, segments: &[Segment]) -> Result<(), Stop> {
    let is_heap = |one: &&Segment| one.holds == Holds::Table && one.state != SegmentState::Dropping;
    for heap in segments.iter().filter(is_heap) {
        let gathered = at_one_moment(check, |check| gather(check, heap))?;
        let Some(mut pieces) = gathered else { continue };
        let misplaced = std::mem::take(&mut pieces.misplaced);
        let emptied = std::mem::take(&mut pieces.emptied);
        let (rows, faults) = (pieces.count, pieces.faults());
        if !check.source.is_there(ObjectNo::new(heap.object)) {
            continue;
        }
        check.run.report.rows += rows;
        for block in emptied {
            let what = format!("has been written for {}, and what was there is gone", heap.name);
            check.find_in(&heap.name, Kind::Emptied, block, what);
        }
        for (block, what) in misplaced {
            let what = format!("is of {}, and {what}", heap.name);
            check.find_in(&heap.name, Kind::Structure, block, what);
        }
        for (at, what) in faults {
            let what = format!("slot {}, of {}, {what}", at.slot, heap.name);
            check.find_in(&heap.name, Kind::Chain, at.block, what);
        }
    }
    Ok(())
}

/// Does `what` as of one moment, and again if that becomes too old. None if every moment does
/// (VF4).
pub(crate) fn at_one_moment<'c, 'r, 'a, T>(
    check: &mut Check<'c, 'r, 'a>,
    mut what: impl FnMut(&mut Check<'c, 'r, 'a>) -> Result<T, Stop>,
) -> Result<Option<T>, Stop> {
    for _ in 0..MOMENTS_MAX {
        check.source.begin_moment()?;
        match what(check) {
            Err(stop) if stop.refusal() == Some(RefusalKind::SnapshotTooOld) => {}
            done => return done.map(Some),
        }
    }
    check.run.report.unsettled += 1;
    Ok(None)
}

fn gather(check: &mut Check<'_, '_, '_>, heap: &Segment) -> Result<Pieces, Stop> {
    let mut pieces = Pieces::default();
    // The blocks handed out by this moment; later ones have no rows as of it.
    let Some(heap) = again(check.source, heap)? else { return Ok(pieces) };
    let blocks: Vec<Dba> = heap.blocks().collect();
    for (number, address) in (0_u32..).zip(blocks.iter().copied()).skip(1) {
        if number % TELL_EVERY == 0 {
            check.go_on()?;
        }
        if is_map_missing(check, heap.object, number, address)? {
            let what = "should be its map of free space, and isn't".to_string();
            pieces.misplaced.push((address, what));
        }
        match check.source.settled(address, heap.object)? {
            HeapBlock::NotIts if is_lost(check, heap.object, number, &blocks)? => {
                pieces.bad.insert(address);
                pieces.emptied.push(address);
            }
            HeapBlock::NotIts => {}
            HeapBlock::Bad => _ = pieces.bad.insert(address),
            HeapBlock::Whole(block) => {
                if let Err(what) = check_map_entry(&block, number, &blocks) {
                    pieces.misplaced.push((address, what));
                }
                pieces.take_in(address, &block);
            }
        }
    }
    Ok(pieces)
}

/// Whether a block that isn't the heap's has been the heap's: its map of free space says so only of
/// blocks that were formatted. In an open database the block is read again after the map, because
/// it may have been formatted in between, and then the segment must still exist.
fn is_lost(
    check: &Check<'_, '_, '_>,
    object: u32,
    number: u32,
    blocks: &[Dba],
) -> Result<bool, Stop> {
    let source = check.source;
    let file = source.files().iter().find(|file| file.number == blocks[0].file);
    let Some(bytes) = file.map(|file| file.block_size.bytes()) else { return Ok(false) };
    let map = blocks[map_number(number, bytes) as usize];
    let was_formatted = match source.read(map)? {
        Seen::Whole(map) => was_formatted(&map, object, number),
        _ => false,
    };
    if !was_formatted || !source.is_live() {
        return Ok(was_formatted);
    }
    let now = of_heap(source.read(blocks[number as usize])?, object);
    Ok(matches!(now, HeapBlock::NotIts) && source.is_there(ObjectNo::new(object)))
}

/// Whether this block should be a map of free space of the heap, and is none. One group hands such
/// a block out and formats it, so a reader sees both or neither, unless the segment was dropped.
fn is_map_missing(
    check: &Check<'_, '_, '_>,
    object: u32,
    number: u32,
    block: Dba,
) -> Result<bool, Stop> {
    let source = check.source;
    let file = source.files().iter().find(|file| file.number == block.file);
    let Some(bytes) = file.map(|file| file.block_size.bytes()) else { return Ok(false) };
    if map_number(number, bytes) != number {
        return Ok(false);
    }
    let is_missing = match source.read(block)? {
        Seen::Whole(found) => !is_free_map(&found, object),
        Seen::Unwritten => true,
        Seen::Damaged(_) | Seen::Nowhere => false,
    };
    Ok(is_missing && source.is_there(ObjectNo::new(object)))
}

impl Pieces {
    fn take_in(&mut self, block: Dba, bytes: &[u8]) {
        for found in heap_slots(bytes) {
            let at = RowAddress { block, slot: found.slot };
            match found.is_row {
                true => self.count += 1,
                false => _ = self.there.insert(at),
            }
            if let Some(next) = found.next {
                self.next.insert(at, next);
                if found.is_row {
                    self.rows.push(at);
                }
            }
        }
    }

    /// The faults of the chains, with their addresses.
    fn faults(mut self) -> Vec<(RowAddress, String)> {
        let mut faults = Vec::new();
        let mut reached = BTreeSet::new();
        for row in &self.rows {
            let mut at = *row;
            while let Some(next) = self.next.get(&at) {
                if self.bad.contains(&next.block) {
                    break;
                }
                if !self.there.contains(next) {
                    faults.push((at, format!("goes on at {next}, where no piece is")));
                    break;
                }
                if !reached.insert(*next) {
                    faults.push((at, format!("goes on at {next}, where another piece does too")));
                    break;
                }
                at = *next;
            }
        }
        // If a block can't be used, the piece before may be there.
        if self.bad.is_empty() {
            self.there.retain(|piece| !reached.contains(piece));
            faults.extend(
                self.lost()
                    .into_iter()
                    .map(|piece| (piece, "has a piece that no row leads to".to_string())),
            );
        }
        faults
    }
}

impl Pieces {
    /// The first piece of each chain that no row leads to, and one of those in circles.
    fn lost(&self) -> Vec<RowAddress> {
        let led_to: BTreeSet<_> = self.there.iter().filter_map(|at| self.next.get(at)).collect();
        let mut heads: Vec<_> =
            self.there.iter().filter(|piece| !led_to.contains(piece)).copied().collect();
        let mut left = self.there.clone();
        for head in &heads {
            let mut at = Some(*head);
            while let Some(piece) = at.filter(|piece| left.remove(piece)) {
                at = self.next.get(&piece).copied();
            }
        }
        heads.extend(left.first());
        heads
    }
}

/// Visits the rows of a heap as of the source's moment, without those that aren't whole, which
/// `check` has reported. False if a block couldn't be used.
pub(crate) fn rows(
    check: &mut Check<'_, '_, '_>,
    heap: &Segment,
    visit: &mut Visit<'_>,
) -> Result<bool, Stop> {
    let Some(heap) = again(check.source, heap)? else { return Ok(false) };
    let mut is_whole = true;
    let blocks: Vec<Dba> = heap.blocks().collect();
    for (number, address) in (0_u32..).zip(blocks.iter().copied()).skip(1) {
        if number % TELL_EVERY == 0 {
            check.go_on()?;
        }
        let block = match check.source.settled(address, heap.object)? {
            HeapBlock::NotIts => {
                is_whole &= !is_lost(check, heap.object, number, &blocks)?;
                continue;
            }
            HeapBlock::Bad => {
                is_whole = false;
                continue;
            }
            HeapBlock::Whole(block) => block,
        };
        for found in heap_slots(&block).filter(|found| found.is_row) {
            let at = RowAddress { block: address, slot: found.slot };
            match found.next {
                None => visit(at, found.data),
                Some(next) => match row_from(check, &heap, found.data, next)? {
                    Some(row) => visit(at, &row),
                    None => is_whole = false,
                },
            }
        }
    }
    Ok(is_whole)
}

/// A row of several pieces, put together; none if a piece can't be used.
fn row_from(
    check: &Check<'_, '_, '_>,
    heap: &Segment,
    begin: &[u8],
    next: RowAddress,
) -> Result<Option<Vec<u8>>, Stop> {
    let (mut row, mut next, mut seen) = (begin.to_vec(), Some(next), BTreeSet::new());
    while let Some(at) = next {
        let HeapBlock::Whole(block) = check.source.settled(at.block, heap.object)? else {
            return Ok(None);
        };
        let found = heap_slot(&block, at.slot).filter(|found| !found.is_row && seen.insert(at));
        let Some(found) = found else { return Ok(None) };
        row.extend_from_slice(found.data);
        next = found.next;
    }
    Ok(Some(row))
}
