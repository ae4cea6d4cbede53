//! From the root to the block that covers a place (BT1, BT2).
//!
//! ```text
//!   root ──▶ branch ──▶ … ──▶ leaf     behind its high fence:  to the right
//!                                      before its low fence, or no such block:  from the root
//! ```
//!
//! A block that was the next one may be another's neighbour by now: taken out, and used again far
//! to the left. So who goes far to the right goes back to the root a few times before.
//!
//! One block is latched at a time. Between two latches blocks may be split; then the place has
//! moved to the right, and the high fence says so.
//!
//! Callers: `index`, `cursor`, `split`; rolling back, by `apply`.
//! Sources: Lehman & Yao (TODS '81); Lanin & Shasha (FJCC '86).

use cache::{Cache, Get, PinnedBlock};
use ids::Dba;
use latch::FrameOrder;
use os::Session;
use stop::{RefusalKind, Stop};

use super::node::{Node, Step};
use super::position::{OwnPosition, Probe};
use crate::outline::{Outline, Places};
use crate::read::dropped;

/// So often a descent begins again, before the index is held to be damaged.
const DESCENTS_MAX: u32 = 1_000;
/// So many blocks a descent visits at most.
const STEPS_MAX: u32 = 100_000;
/// So many steps to the right make it likelier that the way began at a block that is used elsewhere
/// by now, than that so many splits aren't known above, ...
const RIGHT_MAX: u32 = 8;
/// ... unless it was so as often as this.
const FROM_ROOT_MAX: u32 = 3;

/// The blocks of an index.
#[derive(Clone, Copy)]
pub(super) struct Tree<'a> {
    pub(super) cache: &'a Cache,
    pub(super) object: u32,
    pub(super) root: Dba,
    /// To what end blocks are had.
    pub(super) get: Get,
    /// What its leaves look like.
    pub(super) outline: Outline,
}

/// A block that was reached, latched.
pub(super) struct Reached<'a> {
    pub(super) address: Dba,
    pub(super) block: PinnedBlock<'a>,
    /// About the number of the entry that is looked for.
    pub(super) near: u16,
    /// Splits that the level above may not know of: blocks that were reached from the left.
    pub(super) passed: Vec<Passed>,
}

/// A block that was reached from its left neighbour.
pub(super) struct Passed {
    /// Where it begins.
    pub(super) at: OwnPosition,
    pub(super) block: Dba,
    pub(super) level: u8,
}

impl<'a> Tree<'a> {
    /// The block on this level that covers the place; tried first at `hint`, which nobody needs.
    #[inline]
    pub(super) fn reach(
        &self,
        (probe, level): (Probe<'_>, u8),
        hint: Option<Dba>,
        session: &'a Session,
    ) -> Result<Reached<'a>, Stop> {
        let order = if level == 0 { FrameOrder::Leaf } else { FrameOrder::Branch };
        let (mut hint, mut address) = (hint, hint.unwrap_or(self.root));
        let (mut passed, mut lost, mut from_root) = (Vec::new(), 0, 0);
        let (mut share, mut places) = (None, Places::default());
        for _ in 0..STEPS_MAX {
            let pinned = self.cache.pin_shared_ahead(self.get, address, &places, order, session);
            let block = match (pinned, hint.take()) {
                // It may have been freed since.
                (Err(stop), Some(_)) if stop.is_of_medium() => {
                    address = self.root;
                    continue;
                }
                (pinned, _) => pinned?,
            };
            let node = Node::of(&block, self.object);
            match node.map_or(Step::Lost, |node| node.step(probe, level, share)) {
                Step::Here(near) => return Ok(Reached { address, block, near, passed }),
                Step::Down(below, there) => {
                    (address, share) = (below, Some(there));
                    let is_leaf = node.is_some_and(|node| node.level() == 1);
                    places = if is_leaf { there.places(self.outline) } else { Places::default() };
                }
                Step::Right(_) if passed.len() as u32 >= RIGHT_MAX && from_root < FROM_ROOT_MAX => {
                    from_root += 1;
                    passed.clear();
                    (address, share) = (self.root, None);
                }
                Step::Right(next) => {
                    let node = node.expect("it has a right neighbour");
                    let at = node.high().expect("it ends before the place").to_own();
                    passed.push(Passed { at, block: next, level: node.level() });
                    (address, share) = (next, None);
                }
                Step::Lost => {
                    // The root is never another's as long as the index is there (AC15).
                    if node.is_none() && address == self.root {
                        return Err(dropped(self.object));
                    }
                    lost += 1;
                    if lost == DESCENTS_MAX {
                        break;
                    }
                    drop(block);
                    session.relax(lost);
                    passed.clear();
                    (address, share) = (self.root, None);
                }
            }
        }
        let message = format!(
            "cannot search the index with the root {}: no block of level {level} covers the key; \
             the index is damaged: drop it and make it again",
            self.root
        );
        Err(Stop::refuse(RefusalKind::Corrupt, message))
    }
}
