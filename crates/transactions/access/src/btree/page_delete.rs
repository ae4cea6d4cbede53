//! Page deletes: taking blocks out of the tree that have become empty (rules BT8 to BT11, BT25,
//! BT28 to BT31).
//!
//! ```text
//!   parent:    … L, B, C …                   … L, C …
//!                │  │  │         ──▶           │  │
//!   a level:     L ─▶ B ─▶ C                   L ─▶ C        B is free
//! ```
//!
//! One group: the parent loses B, the left neighbour L gets B's range, and B goes to the free
//! blocks of the segment. A branch with one block below is deleted the same way, and gives that
//! block to its left neighbour. The first block of a branch has its left neighbour under another
//! branch: so it is deleted when its branch has nothing else, after that branch.
//!
//! Callers: `index`, before a split, which needs a block; `hand`.
//! Sources: Lanin & Shasha, "A Symmetric Concurrent B-Tree Algorithm" (FJCC '86).

use std::ops::Range;

use cache::{Cache, Pin};
use change::credits_for;
use format::changes::index::EntryPositionHead;
use format::{BlockHeader, DataSlot};
use ids::{Dba, Scn};
use latch::FrameOrder;
use os::Session;
use space::{EmptyFrom, EmptyNote, GiveBack};
use stop::{Failpoint, RefusalKind, Stop};
use txn::block;

use super::apply::{CUT, LAYER, REMOVE_CHILD, WRITE};
use super::content::{
    CUT_HEAD_BYTES, Content, Shape, content_bytes_max, cut_payload, itl_of, write_position,
};
use super::index::NEW_ITL;
use super::node::{MARKED, Node};
use super::position::{BLOCK_BYTES, Position, Probe, ROW_BYTES};
use super::split::Splitter;

/// How many noted leaves are looked at for each split.
const LOOKS: u32 = 4;
/// How many leaves are deleted one after the other, going left, from each that is empty.
pub(super) const DELETES_MAX: u32 = 8;
/// How often latches are tried that other sessions hold.
const TURNS: u32 = 8;

/// Deletes blocks of an index.
#[derive(Clone, Copy)]
pub(super) struct PageDelete<'a> {
    pub(super) splitter: Splitter<'a>,
}

/// How a page delete ended.
pub(super) enum PageDeleteResult {
    /// The block is deleted; this is its left neighbour, which has its range.
    Deleted(Dba),
    /// The block can't be deleted.
    Stays,
    /// The block may be deleted later: a snapshot needs it, or another session was in the way.
    Later,
}

/// A block to be deleted.
#[derive(Clone, Copy)]
struct Victim<'a> {
    /// Its low fence.
    low: Position<'a>,
    level: u8,
    /// From when on the leaf is empty. If the victim is a branch: the leaf below it.
    from: EmptyFrom,
    /// The oldest snapshot in use.
    oldest: Scn,
}

/// The blocks of a page delete, pinned.
struct DeletePins<'a> {
    /// The header of the segment.
    header: Pin<'a>,
    parent: Pin<'a>,
    /// The left neighbour of the victim.
    left: Pin<'a>,
    victim: Pin<'a>,
}

/// The changes of a page delete.
struct DeletePlan {
    /// The opcode and payload of the left neighbour's change.
    left: (u8, Vec<u8>),
    /// The payload of the parent's change.
    parent: Vec<u8>,
}

impl<'a> PageDelete<'a> {
    fn cache(&self) -> &'a Cache {
        self.splitter.tree.cache
    }

    /// Deletes leaves that have become empty before the leaf that covers a position is split: some
    /// of those that were noted, those to the left of that leaf, and those in front of the hand.
    pub(super) fn before_split(&self, at: Position<'_>, session: &'a Session) -> Result<(), Stop> {
        self.delete_noted(LOOKS, session)?;
        not_refused(self.delete_left_of(at, session))?;
        self.move_hand(session)
    }

    /// Looks at some leaves that were noted, in turn. Returns whether some were deleted.
    pub(super) fn delete_noted(&self, looks: u32, session: &'a Session) -> Result<bool, Stop> {
        let mut some = false;
        for _ in 0..looks {
            let next = self.splitter.space.emptied().next(self.splitter.header, session);
            let Some(leaf) = next else { break };
            some |= not_refused(self.delete_from(leaf, session))?;
        }
        Ok(some)
    }

    /// Deletes the leaves left of the one that covers a position, as long as they are empty.
    fn delete_left_of(&self, at: Position<'_>, session: &'a Session) -> Result<bool, Stop> {
        let low = {
            let leaf = self.splitter.tree.reach(Probe::At(at), 0, None, session)?;
            Node(&leaf.block).low().map(Position::to_own)
        };
        let Some(low) = low else { return Ok(false) };
        let left = self.splitter.tree.reach(Probe::Before(low.get()), 0, None, session)?.address;
        self.delete_from(left, session)
    }

    /// Deletes a leaf, and those left of it, as long as they are empty. Returns whether one was
    /// deleted.
    fn delete_from(&self, leaf: Dba, session: &'a Session) -> Result<bool, Stop> {
        let mut at = leaf;
        for _ in 0..DELETES_MAX {
            match self.delete_leaf(at, session)? {
                PageDeleteResult::Deleted(left) => at = left,
                PageDeleteResult::Stays | PageDeleteResult::Later => break,
            }
        }
        Ok(at != leaf)
    }

    /// Deletes a block, if it is an empty leaf of the index. An empty leaf that isn't deleted now
    /// is noted again: even the first of a branch may be deleted when its branch has nothing else.
    pub(super) fn delete_leaf(
        &self,
        leaf: Dba,
        session: &'a Session,
    ) -> Result<PageDeleteResult, Stop> {
        let (emptied, header) = (self.splitter.space.emptied(), self.splitter.header);
        let mut note = emptied.take(header, leaf, session);
        let result = self.delete_if_empty(leaf, &mut note, session);
        let stays = match &result {
            Ok(result) => !matches!(result, PageDeleteResult::Deleted(_)),
            // It can be pinned another time, unlike a block that can't be read.
            Err(stop) => stop.refusal() == Some(RefusalKind::NoBuffer),
        };
        if let Some(note) = note.filter(|_| stays) {
            emptied.note(header, leaf, note, session);
        }
        result
    }

    /// Deletes a block, if it is an empty leaf. `note` is what was noted of the leaf; afterwards it
    /// is what should be noted if the leaf stays.
    fn delete_if_empty(
        &self,
        leaf: Dba,
        note: &mut Option<EmptyNote>,
        session: &'a Session,
    ) -> Result<PageDeleteResult, Stop> {
        let (low, from) = {
            let block = self.cache().pin_shared(leaf, FrameOrder::Leaf, session)?;
            let before = note.take().and_then(|note| note.from);
            let node = Node::of(&block, self.splitter.tree.object).filter(|n| n.level() == 0);
            let node = node.filter(is_empty_leaf);
            // The first leaf of the index has no low fence, and no left neighbour: it stays.
            let Some((node, low)) = node.and_then(|node| node.low().map(|low| (node, low))) else {
                return Ok(PageDeleteResult::Stays);
            };
            (low.to_own(), self.empty_from(&node, before, session))
        };
        *note = Some(EmptyNote { from });
        let Some(from) = from else { return Ok(PageDeleteResult::Later) };
        let oldest = match self.splitter.transactions.failpoints().has(Failpoint::TakeOutEarly) {
            true => self.splitter.transactions.visible(session),
            false => self.splitter.transactions.oldest_snapshot(session),
        };
        match from.scn <= oldest {
            true => self.delete_victim(Victim { low: low.get(), level: 0, from, oldest }, session),
            false => Ok(PageDeleteResult::Later),
        }
    }

    /// From when on a leaf with only deleted entries is empty for all snapshots. `before` is what
    /// was known earlier, if that is still true and says more.
    fn empty_from(
        &self,
        leaf: &Node<'_>,
        before: Option<EmptyFrom>,
        session: &Session,
    ) -> Option<EmptyFrom> {
        let head = BlockHeader::at(leaf.0, 0);
        let version = (head.changed(), head.sequence());
        let before = before.filter(|before| before.version == version);
        let scn = self.splitter.transactions.is_current_from(leaf.0, session)?;
        let scn = before.map_or(scn, |before| before.scn.min(scn));
        Some(EmptyFrom { version, scn })
    }

    /// Whether no snapshot in use, and none to come, sees an entry of the leaf (BT8).
    fn is_dead(
        &self,
        leaf: &Node<'_>,
        before: Option<EmptyFrom>,
        oldest: Scn,
        session: &Session,
    ) -> bool {
        let from = || self.empty_from(leaf, before, session);
        is_empty_leaf(leaf) && from().is_some_and(|from| from.scn <= oldest)
    }

    /// Deletes an empty leaf, and before it the branches above that have nothing but the leaf.
    fn delete_victim(
        &self,
        leaf: Victim<'_>,
        session: &'a Session,
    ) -> Result<PageDeleteResult, Stop> {
        let mut top = 0;
        loop {
            let parent = self.splitter.tree.reach(Probe::At(leaf.low), top + 1, None, session)?;
            let node = Node(&parent.block);
            match number_of(&node, leaf.low) {
                Some(number) if number > 0 => break,
                Some(_) if node.count() == 1 => top += 1,
                // Its left neighbour is under another branch, or it isn't posted.
                Some(_) | None => return Ok(PageDeleteResult::Stays),
            }
        }
        let mut result = PageDeleteResult::Stays;
        for level in (0..=top).rev() {
            result = self.delete_page(Victim { level, ..leaf }, session)?;
            if !matches!(result, PageDeleteResult::Deleted(_)) {
                break;
            }
        }
        Ok(result)
    }

    /// Deletes one block.
    fn delete_page(
        &self,
        victim: Victim<'_>,
        session: &'a Session,
    ) -> Result<PageDeleteResult, Stop> {
        let (parent, left, address) = {
            let probe = Probe::At(victim.low);
            let parent = self.splitter.tree.reach(probe, victim.level + 1, None, session)?;
            let node = Node(&parent.block);
            let number = number_of(&node, victim.low).filter(|number| *number > 0);
            let Some(number) = number else { return Ok(PageDeleteResult::Stays) };
            (parent.address, node.child(number - 1), node.child(number))
        };
        let header = self.cache().pin(self.splitter.header, session)?;
        let parent = self.cache().pin(parent, session)?;
        let left = self.cache().pin(left, session)?;
        // No session waits for a fourth buffer (rule txn/TX5).
        let Some(pin) = self.cache().pin_cached(address, session) else {
            return Ok(PageDeleteResult::Later);
        };
        let pins = DeletePins { header, parent, left, victim: pin };
        for turn in 0..TURNS {
            match self.try_delete_page(&pins, victim, session)? {
                PageDeleteResult::Later => session.relax(turn),
                result => return Ok(result),
            }
        }
        Ok(PageDeleteResult::Later)
    }

    fn try_delete_page(
        &self,
        pins: &DeletePins<'_>,
        victim: Victim<'_>,
        session: &Session,
    ) -> Result<PageDeleteResult, Stop> {
        let fence = size_of::<EntryPositionHead>() + self.splitter.key_max + ROW_BYTES;
        let left = content_bytes_max(self.splitter.block_bytes) + CUT_HEAD_BYTES + fence;
        let [free, set_free] = GiveBack::PAYLOAD_BYTES;
        let credits = credits_for(&[left, fence, free, set_free]);
        let mut group = self.splitter.changes().begin(credits, session)?;
        let order = if victim.level == 0 { FrameOrder::Leaf } else { FrameOrder::Branch };
        let parent = pins.parent.exclusive(FrameOrder::Branch, session);
        // Two or three blocks of one latch rank: so these latches are only tried.
        let left = pins.left.try_exclusive(order, session);
        let gone = pins.victim.try_exclusive(order, session);
        let (Some(left), Some(gone)) = (left, gone) else { return Ok(PageDeleteResult::Later) };
        let Some(plan) = self.plan(pins, &parent, &left, &gone, victim, session) else {
            return Ok(PageDeleteResult::Stays);
        };
        let give_back = self.splitter.space.give_back(&pins.header, session);
        let Some(give_back) = give_back else { return Ok(PageDeleteResult::Stays) };
        group.change(parent, &LAYER, REMOVE_CHILD, &[&plan.parent]);
        group.change(left, &LAYER, plan.left.0, &[&plan.left.1]);
        give_back.add_to(gone, &mut group);
        group.commit(session);
        Ok(PageDeleteResult::Deleted(pins.left.address()))
    }

    /// The changes, if the latched blocks are still what they were, and there is room (BT29).
    fn plan(
        &self,
        pins: &DeletePins<'_>,
        parent: &[u8],
        left: &[u8],
        gone: &[u8],
        victim: Victim<'_>,
        session: &Session,
    ) -> Option<DeletePlan> {
        let Victim { low, level, from, oldest } = victim;
        let on = |block, level| {
            Node::of(block, self.splitter.tree.object).filter(|node| node.level() == level)
        };
        let parent = on(parent, level + 1).filter(|node| node.covers(Probe::At(low)))?;
        let number = number_of(&parent, low).filter(|number| *number > 0)?;
        let below = (parent.child(number - 1), parent.child(number));
        if below != (pins.left.address(), pins.victim.address()) {
            return None;
        }
        let left = on(left, level).filter(|node| node.next() == Some(pins.victim.address()))?;
        let gone = on(gone, level).filter(|node| node.low() == Some(low))?;
        let left = match level {
            0 if !self.is_dead(&gone, Some(from), oldest, session) => return None,
            0 if self.is_dead(&left, None, oldest, session) => (WRITE, emptied(&left, &gone).0),
            0 => wider_leaf(&left, &gone)?,
            _ if gone.count() > 1 => return None,
            _ => (WRITE, wider_branch(&left, &gone)?.0),
        };
        let mut parent = Vec::new();
        write_position(&mut parent, low);
        Some(DeletePlan { left, parent })
    }
}

/// Ignores a refusal: a leaf that can't be deleted doesn't stop the split of another.
fn not_refused(deleted: Result<bool, Stop>) -> Result<bool, Stop> {
    match deleted {
        Err(Stop::Refused(_)) => Ok(false),
        other => other,
    }
}

/// Whether all entries of a leaf are deleted.
pub(super) fn is_empty_leaf(leaf: &Node<'_>) -> bool {
    are_deleted(leaf, 0..leaf.count())
}

/// Whether all of these entries are deleted.
pub(super) fn are_deleted(leaf: &Node<'_>, mut entries: Range<u16>) -> bool {
    entries.all(|number| leaf.slot(number).flags & MARKED != 0)
}

/// Whether all entries but this one are deleted; false for the first leaf, which stays. A queue is
/// emptied from one of its ends: so mostly one of the first two looks finds an entry.
pub(super) fn is_last(node: &Node<'_>, number: u16) -> bool {
    let is_deleted = |other| other == number || node.slot(other).flags & MARKED != 0;
    node.low().is_some() && is_deleted(0) && (0..node.count()).rev().all(is_deleted)
}

/// The number of a branch's entry that begins here.
fn number_of(branch: &Node<'_>, low: Position<'_>) -> Option<u16> {
    let number = branch.lower_bound(low);
    (number < branch.count() && branch.position(number) == low).then_some(number)
}

/// The content of a leaf without anything that a snapshot sees, once it has the range of its right
/// neighbour: no entries and a new ITL, and so room for any fence.
fn emptied(left: &Node<'_>, gone: &Node<'_>) -> Content {
    Content::new(Shape::of(left).with_new_itl(), left.low(), gone.right(), &NEW_ITL)
}

/// The change that gives a leaf the range of its right neighbour; none if the fence has no room.
/// The leaf keeps its ITL: no snapshot needs the changes of the neighbour (BT8).
fn wider_leaf(left: &Node<'_>, gone: &Node<'_>) -> Option<(u8, Vec<u8>)> {
    let Some(right) = gone.right() else {
        let mut content = Content::new(Shape::of(left), left.low(), None, itl_of(left.0));
        content.add_entries(left, 0..left.count());
        return Some((WRITE, content.0));
    };
    let room = block::room_of(left.0) + left.high().map_or(0, Position::stored_bytes);
    (room >= right.low.stored_bytes()).then(|| (CUT, cut_payload(left.count(), right)))
}

/// The content of a branch once it has the range of its right neighbour, and the one block below
/// that; none if they have no room.
fn wider_branch(left: &Node<'_>, gone: &Node<'_>) -> Option<Content> {
    let low = gone.low()?;
    let room = block::room_of(left.0) + left.high().map_or(0, Position::stored_bytes);
    let high = gone.high().map_or(0, Position::stored_bytes);
    let entry = DataSlot::BYTES + BLOCK_BYTES + low.stored_bytes();
    if room < high + entry {
        return None;
    }
    let mut content = Content::new(Shape::of(left), left.low(), gone.right(), &[]);
    content.add_entries(left, 0..left.count());
    content.add_child(low, gone.child(0));
    Some(content)
}
