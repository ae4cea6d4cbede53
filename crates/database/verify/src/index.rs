//! Indexes: each tree is in order, as a whole.
//!
//! In an open database a tree is walked while it changes: the low fences, on which a walk relies,
//! never move (see `access`). A fault must be there three times in a row (VF10).
//!
//! Callers: `closed`, `live`; `pairs`.

use std::collections::BTreeSet;

use access::{
    Checked, HandedOut, RowAddress, TreeFault, TreeFaultKind, TreeSeen, check_tree, is_of,
};
use format::BlockKind;
use ids::{Dba, ObjectNo};
use space::{FreeList, Holds, SegmentState, list_of, look_at_free};
use stop::Stop;

use crate::Kind;
use crate::segments::{Segment, again};
use crate::source::{Check, Looks, Seen, Source};

/// The number of tries to read the list of free blocks while sessions change it.
const LISTS_MAX: u32 = 100;
/// The number of walks of an open database that must show a fault.
const WALKS: u32 = 3;

impl Segment {
    pub(crate) fn tree(&self) -> TreeSeen {
        TreeSeen { object: self.object, header: self.header }
    }
}

/// The result of the walks, by the object numbers of the segments.
#[derive(Default)]
pub(crate) struct Trees {
    pub(crate) in_order: BTreeSet<u32>,
    /// The trees without a root: no definition may name them.
    pub(crate) unfinished: BTreeSet<u32>,
}

/// Checks every index.
pub(crate) fn check(check: &mut Check<'_, '_, '_>, segments: &[Segment]) -> Result<Trees, Stop> {
    let mut trees = Trees::default();
    let is_index =
        |one: &&Segment| one.holds == Holds::Index && one.state == SegmentState::Permanent;
    for index in segments.iter().filter(is_index) {
        check.go_on()?;
        if !was_finished(check.source, index)? {
            trees.unfinished.insert(index.object);
            continue;
        }
        if check.run.damaged_indexes.contains(&index.object) {
            continue;
        }
        let mut found = walk(check, index)?;
        for turn in 1..WALKS {
            if found.is_err() && check.source.is_live() {
                check.source.pause(turn);
                found = walk(check, index)?;
            }
        }
        match found {
            Ok(checked) => {
                check.run.report.entries += checked.entries;
                trees.in_order.insert(index.object);
            }
            Err(_) if !check.source.is_there(ObjectNo::new(index.object)) => {}
            // It may be being built (VF12).
            Err(fault) if fault.kind == TreeFaultKind::Reached && check.source.is_live() => {
                check.run.report.unsettled += 1;
            }
            Err(fault) => {
                let is_unique = fault.kind == TreeFaultKind::Unique;
                let kind = if is_unique { Kind::Duplicate } else { Kind::Index };
                let what = format!("of index {} {}", index.name, fault.what);
                check.find_in(&index.name, kind, fault.block, what);
            }
        }
    }
    Ok(trees)
}

/// Whether the build of an index was finished. An unfinished one has no root, and isn't opened.
pub(crate) fn was_finished(source: &dyn Source, index: &Segment) -> Result<bool, Stop> {
    let root = Dba::new(index.header.file.get(), index.header.block.get() + 1);
    let kinds = [BlockKind::Leaf, BlockKind::Branch];
    Ok(match source.read(root)? {
        Seen::Whole(bytes) => index.high_water > 2 || is_of(&bytes, &kinds, index.object),
        Seen::Unwritten => index.high_water > 2,
        _ => true,
    })
}

fn walk(check: &Check<'_, '_, '_>, index: &Segment) -> Result<Walked, Stop> {
    walk_visiting(check.source, index, &mut |_, _| ())
}

/// What a walk through a tree has found.
type Walked = Result<Checked, TreeFault>;

/// Walks a tree and visits its entries. An error that stops the walk isn't a fault of the tree.
pub(crate) fn walk_visiting(
    source: &dyn Source,
    index: &Segment,
    visit: &mut dyn FnMut(&[u8], RowAddress),
) -> Result<Walked, Stop> {
    let stopped = std::cell::RefCell::new(None);
    let keep = |stop: Stop| {
        let what = stop.to_string();
        stopped.borrow_mut().get_or_insert(stop);
        what
    };
    let looks = Looks::new(source);
    let mut read = |address: Dba| looks.bytes(address).map_err(keep)?;
    let handed_out = || -> Result<HandedOut, String> {
        for turn in 0.. {
            let now = again(source, index).map_err(keep)?;
            let now = now.ok_or_else(|| "is no header of this index".to_string())?;
            let mut read = |address| {
                Ok::<_, Stop>(Looks::new(source).bytes(address)?.and_then(|b| look_at_free(&b)))
            };
            match list_of(now.free, now.object, &mut read).map_err(keep)? {
                FreeList::Sound(free) => {
                    let (blocks, free) = (now.blocks().collect(), BTreeSet::from_iter(free));
                    return Ok(HandedOut { blocks, free });
                }
                // While sessions change the list, its blocks may have been read at different times.
                FreeList::Broken(what) if !source.is_live() || turn == LISTS_MAX => {
                    return Err(what);
                }
                FreeList::Broken(_) => source.pause(turn),
            }
        }
        unreachable!("the last look returns")
    };
    let before = match handed_out() {
        Ok(before) => before,
        Err(what) => {
            let fault = TreeFault { block: index.header, what, kind: TreeFaultKind::Order };
            return stopped.into_inner().map_or(Ok(Err(fault)), Err);
        }
    };
    let walked = check_tree(index.tree(), &mut read, &before, &handed_out, visit);
    match stopped.into_inner() {
        Some(stop) => Err(stop),
        None => Ok(walked),
    }
}
