//! The descent from the root to the block that covers a position (BT1, BT16, BT27).
//!
//! ```text
//!   root ──▶ branch ──▶ … ──▶ leaf     behind its high fence:  to the right
//!                                      before its low fence, or no such block:  from the root
//! ```
//!
//! One block is latched at a time. Between two latches a block may be split: then the position has
//! moved to the right, and the high fence says so. Or the block that a descent is about to visit
//! may be deleted, and used again far to the left: so a descent that goes far to the right begins
//! again at the root a few times before it goes on.
//!
//! Callers: `index`, `cursor`, `split`; rolling back, by `apply`.
//! Sources: Lehman & Yao (TODS '81); Lanin & Shasha (FJCC '86).

use cache::{Cache, Get, PinnedBlock};
use ids::Dba;
use latch::FrameOrder;
use os::Session;
use stop::{RefusalKind, Stop};

use super::node::{Node, Share, Step};
use super::position::{OwnPosition, Probe};
use crate::lost::dropped;
use crate::outline::{Offsets, Outline};

/// How often a descent begins again before the index is held to be damaged.
const DESCENTS_MAX: u32 = 1_000;
/// How many blocks a descent visits at most.
const STEPS_MAX: u32 = 100_000;
/// After this many steps to the right a descent begins again at the root: it is likelier that it
/// began at a block that is used elsewhere by now than that so many splits aren't posted.
const RIGHT_MAX: u32 = 8;
/// How often it does that before it goes on to the right.
const FROM_ROOT_MAX: u32 = 3;

/// The blocks of an index.
#[derive(Clone, Copy)]
pub(super) struct Tree<'a> {
    pub(super) cache: &'a Cache,
    pub(super) object: u32,
    pub(super) root: Dba,
    /// Why blocks are read: each reason has its own statistic.
    pub(super) get: Get,
    /// The outline of its leaves.
    pub(super) outline: Outline,
}

/// A block that was reached, latched.
pub(super) struct Reached<'a> {
    pub(super) address: Dba,
    pub(super) block: PinnedBlock<'a>,
    /// The approximate number of the entry that is looked for.
    pub(super) near: u16,
    /// The splits on the way that may not be posted.
    pub(super) unposted: Vec<UnpostedSplit>,
    /// Whether the descent had a hint that didn't lead there straight on.
    pub(super) hint_missed: bool,
}

/// An address at which a descent may begin (BT27).
#[derive(Clone, Copy)]
pub(super) struct Hint {
    pub(super) block: Dba,
    /// How far through the block's entries the key is likely to be.
    pub(super) share: Option<Share>,
    /// Whether the block is likely to be a leaf.
    pub(super) is_leaf: bool,
}

/// The right half of a split that its parent may not have yet: a block that a descent reached from
/// its left neighbour.
pub(super) struct UnpostedSplit {
    /// Where the block begins.
    pub(super) low: OwnPosition,
    pub(super) block: Dba,
    pub(super) level: u8,
}

impl<'a> Tree<'a> {
    /// Returns the block on this level that covers what is looked for, latched. The descent begins
    /// at `hint` if there is one, and at the root if the hint is of no use.
    #[inline]
    pub(super) fn reach(
        &self,
        probe: Probe<'_>,
        level: u8,
        hint: Option<Hint>,
        session: &'a Session,
    ) -> Result<Reached<'a>, Stop> {
        let order = if level == 0 { FrameOrder::Leaf } else { FrameOrder::Branch };
        let (mut unposted, mut lost, mut from_root) = (Vec::new(), 0, 0);
        let (mut is_hinted, mut hint_missed) = (hint.is_some(), false);
        let mut address = hint.map_or(self.root, |hint| hint.block);
        let mut share = hint.and_then(|hint| hint.share);
        let mut offsets = self.offsets(share.filter(|_| hint.is_some_and(|hint| hint.is_leaf)));
        for _ in 0..STEPS_MAX {
            let pinned = self.cache.pin_shared_ahead(self.get, address, &offsets, order, session);
            let block = match pinned {
                // The block of the hint may have been freed since.
                Err(stop) if is_hinted && stop.is_of_medium() => {
                    (is_hinted, hint_missed) = (false, true);
                    (address, share) = (self.root, None);
                    continue;
                }
                pinned => pinned?,
            };
            let node = Node::of(&block, self.object);
            match node.map_or(Step::Lost, |node| node.step(probe, level, share)) {
                Step::Here(near) => {
                    return Ok(Reached { address, block, near, unposted, hint_missed });
                }
                Step::Down(below, there) => {
                    (address, share) = (below, Some(there));
                    let is_leaf = node.is_some_and(|node| node.level() == 1);
                    offsets = self.offsets(share.filter(|_| is_leaf));
                }
                Step::Right(_)
                    if unposted.len() as u32 >= RIGHT_MAX && from_root < FROM_ROOT_MAX =>
                {
                    from_root += 1;
                    unposted.clear();
                    (address, share) = (self.root, None);
                }
                Step::Right(block) => {
                    let node = node.expect("it has a right neighbour");
                    let low = node.high().expect("it ends before the position").to_own();
                    unposted.push(UnpostedSplit { low, block, level: node.level() });
                    (address, share) = (block, None);
                    hint_missed |= is_hinted;
                }
                Step::Lost => {
                    if is_hinted {
                        (is_hinted, hint_missed) = (false, true);
                    } else if node.is_none() && address == self.root {
                        // As long as the index is there, the root isn't another object's (AC15).
                        return Err(dropped(self.object));
                    } else {
                        lost += 1;
                        if lost == DESCENTS_MAX {
                            break;
                        }
                        drop(block);
                        session.relax(lost);
                    }
                    unposted.clear();
                    (address, share) = (self.root, None);
                }
            }
        }
        Err(self.not_covered(level))
    }

    fn not_covered(&self, level: u8) -> Stop {
        let message = format!(
            "cannot search the index with the root {}: no block of level {level} covers the key; \
             the index is damaged: drop it and make it again",
            self.root
        );
        Stop::refuse(RefusalKind::Corrupt, message)
    }

    /// The offsets that are likely to be read in a leaf, if the key's share there is known.
    #[inline]
    fn offsets(&self, share: Option<Share>) -> Offsets {
        share.map_or(Offsets::default(), |share| share.offsets(self.outline))
    }
}

impl Hint {
    /// The block where the next leaf was.
    pub(super) fn next(block: Dba) -> Hint {
        Hint { block, share: None, is_leaf: true }
    }
}
