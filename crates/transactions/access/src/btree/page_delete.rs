//! Taking blocks out of a tree again that have become empty (rules BT8 to BT11).
//!
//! ```text
//!   level above:   … L, B, C …                   … L, C …
//!                    │  │  │         ──▶           │  │
//!   a level:         L ─▶ B ─▶ C                   L ─▶ C        B is free
//! ```
//!
//! One group: what is above loses B, the left neighbour gets B's range, and B goes to the free
//! blocks of the segment. A branch with one block below goes the same way, and gives that block to
//! its left neighbour: so the first block of a branch, whose left neighbour another branch has,
//! goes when the branch has nothing else.
//!
//! Callers: `index`, before a split, which wants a block.
//! Sources: Lanin & Shasha, "A Symmetric Concurrent B-Tree Algorithm" (FJCC '86).

use std::ops::Range;
use txn::block;

use cache::{Cache, Pin};
use change::credits_for;
use format::BlockHeader;
use format::changes::index::PlaceHead;
use ids::{Dba, Scn};
use latch::FrameOrder;
use os::Session;
use space::{EmptyFrom, GiveBack};
use stop::{Failpoint, RefusalKind, Stop};

use super::apply::{CUT, LAYER, REMOVE_CHILD, WRITE};
use super::content::{
    CUT_HEAD_BYTES, Content, Shape, content_bytes_max, cut_payload, list_of, write_position,
};
use super::index::NEW_LIST;
use super::node::{MARKED, Node};
use super::position::{BLOCK_BYTES, OwnPosition, Position, Probe, ROW_BYTES};
use super::split::Splitter;

/// So many blocks that may be empty are looked at for each split, ...
const LOOKS: u32 = 4;
/// ... and from each that is, so many are taken out one after the other, going left.
pub(super) const AROUND_MAX: u32 = 8;
/// So often latches are tried that others have.
const TURNS: u32 = 8;

/// What takes blocks out of an index.
#[derive(Clone, Copy)]
pub(super) struct PageDelete<'a> {
    pub(super) splitter: Splitter<'a>,
}

/// What trying to take a block out came to.
pub(super) enum Tried {
    /// It is out; this is its left neighbour, which has its range.
    Out(Dba),
    /// It isn't to go.
    Stays,
    /// A snapshot needs it still, or another session was in the way.
    Later,
}

/// What a group changes.
struct Merge {
    /// The change of the left neighbour: opcode and payload.
    left: (u8, Vec<u8>),
    /// The change of the block above.
    above: Vec<u8>,
}

impl<'a> PageDelete<'a> {
    pub(super) fn cache(&self) -> &'a Cache {
        self.splitter.tree.cache
    }

    /// Before the leaf that covers a place is split: takes out leaves that have become empty, if
    /// there are some among those that were noted, or to the left of it, or where the hand is.
    pub(super) fn before_split(&self, at: Position<'_>, session: &'a Session) -> Result<(), Stop> {
        self.noted(LOOKS, session)?;
        not_ours(self.left_of(at, session))?;
        self.move_hand(session)
    }

    /// Looks at some leaves that were noted, in turn. Whether some were taken out.
    pub(super) fn noted(&self, looks: u32, session: &'a Session) -> Result<bool, Stop> {
        let mut some = false;
        for _ in 0..looks {
            let next = self.splitter.space.emptied().next(self.splitter.header, session);
            let Some(leaf) = next else { break };
            some |= not_ours(self.around(leaf, session))?;
        }
        Ok(some)
    }

    /// Takes out the leaves left of the one that covers a place, as long as they are empty.
    fn left_of(&self, at: Position<'_>, session: &'a Session) -> Result<bool, Stop> {
        let low = {
            let leaf = self.splitter.tree.reach((Probe::At(at), 0), None, session)?;
            Node(&leaf.block).low().map(Position::to_own)
        };
        let Some(low) = low else { return Ok(false) };
        let left = (Probe::Before(low.get()), 0);
        let left = self.splitter.tree.reach(left, None, session)?.address;
        self.around(left, session)
    }

    /// Takes out a leaf, and those left of it, as long as they are empty. Whether one went.
    fn around(&self, leaf: Dba, session: &'a Session) -> Result<bool, Stop> {
        let mut at = leaf;
        for _ in 0..AROUND_MAX {
            match self.leaf(at, session)? {
                Tried::Out(left) => at = left,
                Tried::Stays | Tried::Later => break,
            }
        }
        Ok(at != leaf)
    }

    /// Takes out a leaf, if it is one. If it is empty and doesn't go now, it is noted again: even
    /// the first of a branch goes, when its branch has nothing else.
    pub(super) fn leaf(&self, leaf: Dba, session: &'a Session) -> Result<Tried, Stop> {
        let (emptied, header) = (self.splitter.space.emptied(), self.splitter.header);
        let noted = emptied.take(header, leaf, session);
        let mut again = noted;
        let tried = self.if_empty(leaf, &mut again, session);
        let stays = match &tried {
            Ok(tried) => !matches!(tried, Tried::Out(_)),
            // It can be had another time, unlike one that can't be read.
            Err(stop) => stop.refusal() == Some(RefusalKind::NoBuffer),
        };
        if let Some(from) = again.filter(|_| stays) {
            emptied.note(header, leaf, from, session);
        }
        tried
    }

    /// Takes out a leaf, if it is one. Says in `noted` whether it is worth another look, and from
    /// when on it is empty.
    fn if_empty(
        &self,
        leaf: Dba,
        noted: &mut Option<Option<EmptyFrom>>,
        session: &'a Session,
    ) -> Result<Tried, Stop> {
        let (low, from) = {
            let block = self.cache().pin_shared(leaf, FrameOrder::Leaf, session)?;
            let before = noted.take().flatten();
            let node = Node::of(&block, self.splitter.tree.object).filter(|n| n.level() == 0);
            let Some(node) = node.filter(has_nothing) else { return Ok(Tried::Stays) };
            // The first of the index has no left neighbour.
            let Some(low) = node.low() else { return Ok(Tried::Stays) };
            (low.to_own(), self.empty_from(&node, before, session))
        };
        *noted = Some(from);
        match from {
            Some(from) => self.page_delete(low, from, session),
            None => Ok(Tried::Later),
        }
    }

    /// From when on a leaf, all of whose entries are deleted, is empty for all; as was known
    /// before, if that is still so and says more.
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

    /// BT8: no entry of the leaf is there for any snapshot in use, or any to come.
    fn is_dead(
        &self,
        leaf: &Node<'_>,
        (before, oldest): (Option<EmptyFrom>, Scn),
        session: &Session,
    ) -> bool {
        let from = || self.empty_from(leaf, before, session);
        has_nothing(leaf) && from().is_some_and(|from| from.scn <= oldest)
    }

    /// Takes out the leaf that begins here, and first the branches above that it is alone in.
    fn page_delete(
        &self,
        low: OwnPosition,
        from: EmptyFrom,
        session: &'a Session,
    ) -> Result<Tried, Stop> {
        let oldest = match self.splitter.transactions.failpoints().has(Failpoint::TakeOutEarly) {
            true => self.splitter.transactions.visible(session),
            false => self.splitter.transactions.oldest_snapshot(session),
        };
        if from.scn > oldest {
            return Ok(Tried::Later);
        }
        let (at, seen) = (low.get(), (from, oldest));
        let mut top = 0;
        loop {
            let above = self.splitter.tree.reach((Probe::At(at), top + 1), None, session)?;
            let node = Node(&above.block);
            match place_of(&node, at) {
                Some(number) if number > 0 => break,
                Some(_) if node.count() == 1 => top += 1,
                // Its left neighbour is another branch's; or the level above doesn't know of it.
                Some(_) | None => return Ok(Tried::Stays),
            }
        }
        let mut tried = Tried::Stays;
        for level in (0..=top).rev() {
            tried = self.merge((at, level), seen, session)?;
            if !matches!(tried, Tried::Out(_)) {
                break;
            }
        }
        Ok(tried)
    }

    /// Takes out the block of this level that begins here.
    fn merge(
        &self,
        (at, level): (Position<'_>, u8),
        seen: (EmptyFrom, Scn),
        session: &'a Session,
    ) -> Result<Tried, Stop> {
        let (above, left, gone) = {
            let above = self.splitter.tree.reach((Probe::At(at), level + 1), None, session)?;
            let node = Node(&above.block);
            let number = place_of(&node, at).filter(|number| *number > 0);
            let Some(number) = number else { return Ok(Tried::Stays) };
            (above.address, node.child(number - 1), node.child(number))
        };
        let header = self.cache().pin(self.splitter.header, session)?;
        let above = self.cache().pin(above, session)?;
        let left = self.cache().pin(left, session)?;
        // The fourth is not waited for (rule txn/TX5).
        let Some(gone) = self.cache().pin_cached(gone, session) else { return Ok(Tried::Later) };
        for turn in 0..TURNS {
            let pins = [&header, &above, &left, &gone];
            match self.try_merge(pins, (at, level), seen, session)? {
                Tried::Later => session.relax(turn),
                tried => return Ok(tried),
            }
        }
        Ok(Tried::Later)
    }

    fn try_merge(
        &self,
        [header_pin, above_pin, left_pin, gone_pin]: [&Pin<'_>; 4],
        (at, level): (Position<'_>, u8),
        seen: (EmptyFrom, Scn),
        session: &Session,
    ) -> Result<Tried, Stop> {
        let fence = size_of::<PlaceHead>() + self.splitter.key_max + ROW_BYTES;
        let left = content_bytes_max(self.splitter.block_bytes(session)) + CUT_HEAD_BYTES + fence;
        let [free, set_free] = GiveBack::PAYLOAD_BYTES;
        let credits = credits_for(&[left, fence, free, set_free]);
        let mut group = self.splitter.changes().begin(credits, session)?;
        let order = if level == 0 { FrameOrder::Leaf } else { FrameOrder::Branch };
        let above = above_pin.exclusive(FrameOrder::Branch, session);
        // Three of one kind, or two: so they are only tried.
        let left = left_pin.try_exclusive(order, session);
        let gone = gone_pin.try_exclusive(order, session);
        let (Some(left), Some(gone)) = (left, gone) else { return Ok(Tried::Later) };
        let (pins, blocks) = ([left_pin, gone_pin], [&above[..], &left[..], &gone[..]]);
        let Some(merge) = self.plan(pins, blocks, (at, level), seen, session) else {
            return Ok(Tried::Stays);
        };
        let give_back = self.splitter.space.give_back(header_pin, session);
        let Some(give_back) = give_back else { return Ok(Tried::Stays) };
        group.change(above, &LAYER, REMOVE_CHILD, &[&merge.above]);
        group.change(left, &LAYER, merge.left.0, &[&merge.left.1]);
        give_back.add_to(gone, &mut group);
        group.commit(session);
        Ok(Tried::Out(left_pin.address()))
    }

    /// BT9: the changes, if the blocks are still what they were, and there is room.
    fn plan(
        &self,
        [left_pin, gone_pin]: [&Pin<'_>; 2],
        [above, left, gone]: [&[u8]; 3],
        (at, level): (Position<'_>, u8),
        seen: (EmptyFrom, Scn),
        session: &Session,
    ) -> Option<Merge> {
        let on = |block, level| {
            Node::of(block, self.splitter.tree.object).filter(|node| node.level() == level)
        };
        let above = on(above, level + 1).filter(|node| node.covers(Probe::At(at)))?;
        let number = place_of(&above, at).filter(|number| *number > 0)?;
        let below = (above.child(number - 1), above.child(number));
        if below != (left_pin.address(), gone_pin.address()) {
            return None;
        }
        let left = on(left, level).filter(|node| node.next() == Some(gone_pin.address()))?;
        let gone = on(gone, level).filter(|node| node.low() == Some(at))?;
        let left = match level {
            0 if !self.is_dead(&gone, (Some(seen.0), seen.1), session) => return None,
            0 if self.is_dead(&left, (None, seen.1), session) => (WRITE, emptied(&left, &gone).0),
            0 => wider_leaf(&left, &gone)?,
            _ if gone.count() > 1 => return None,
            _ => (WRITE, wider_branch(&left, &gone)?.0),
        };
        let mut above = Vec::new();
        write_position(&mut above, at);
        Some(Merge { left, above })
    }
}

/// What is wrong with leaves that may be empty is no business of who wants to split another.
fn not_ours(taken: Result<bool, Stop>) -> Result<bool, Stop> {
    match taken {
        Err(Stop::Refused(_)) => Ok(false),
        other => other,
    }
}

/// Whether all entries of a leaf are deleted.
pub(super) fn has_nothing(leaf: &Node<'_>) -> bool {
    are_deleted(leaf, 0..leaf.count())
}

/// Whether all of these entries are deleted.
pub(super) fn are_deleted(leaf: &Node<'_>, mut entries: Range<u16>) -> bool {
    entries.all(|number| leaf.slot(number).flags & MARKED != 0)
}

/// Whether all entries but this one are deleted; not of the first leaf, which stays. Queues are
/// emptied from one of the ends: so mostly one of two looks is enough.
pub(super) fn is_last(node: &Node<'_>, number: u16) -> bool {
    let is_deleted = |other| other == number || node.slot(other).flags & MARKED != 0;
    node.low().is_some() && is_deleted(0) && (0..node.count()).rev().all(is_deleted)
}

/// Number of a branch's entry that begins here.
fn place_of(branch: &Node<'_>, at: Position<'_>) -> Option<u16> {
    let number = branch.lower_bound(at);
    (number < branch.count() && branch.place(number) == at).then_some(number)
}

/// A leaf that has nothing that anybody sees gets the range of the one to its right: without what
/// there is in it, and so with room for any fence.
fn emptied(left: &Node<'_>, gone: &Node<'_>) -> Content {
    Content::new(Shape::of(left).anew(), (left.low(), gone.high()), gone.next(), &NEW_LIST)
}

/// A leaf gets the range of the one to its right. Its list stays: of transactions that have changed
/// the other, and aren't in it, no snapshot wants to know (BT8).
fn wider_leaf(left: &Node<'_>, gone: &Node<'_>) -> Option<(u8, Vec<u8>)> {
    let (Some(high), Some(next)) = (gone.high(), gone.next()) else {
        let mut content = Content::new(Shape::of(left), (left.low(), None), None, list_of(left.0));
        content.add_entries(left, 0..left.count());
        return Some((WRITE, content.0));
    };
    let room = block::room_of(left.0) + left.high().map_or(0, Position::stored_bytes);
    (room >= high.stored_bytes()).then(|| (CUT, cut_payload(left.count(), (high, next))))
}

/// A branch gets the range of the one to its right, and the one block that it has below.
fn wider_branch(left: &Node<'_>, gone: &Node<'_>) -> Option<Content> {
    let low = gone.low()?;
    let room = block::room_of(left.0) + left.high().map_or(0, Position::stored_bytes);
    let high = gone.high().map_or(0, Position::stored_bytes);
    let entry = format::DataSlot::BYTES + BLOCK_BYTES + low.stored_bytes();
    if room < high + entry {
        return None;
    }
    let fences = (left.low(), gone.high());
    let mut content = Content::new(Shape::of(left), fences, gone.next(), &[]);
    content.add_entries(left, 0..left.count());
    content.add_child(low, gone.child(0));
    Some(content)
}
