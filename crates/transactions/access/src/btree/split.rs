//! Splitting a block, and telling the level above (BT2, BT3, BT13).
//!
//! ```text
//!   a block:   A ─▶ C       group 1:  A ─▶ B ─▶ C      group 2:   parent: … A, B …
//!   the root:  root         one group:  root (a level higher)
//!                                         └▶ B, which has what the root had,
//!                                            and then is split as any other
//! ```
//!
//! Between the groups, and after a crash there, B is found from A. Whoever writes and comes that
//! way does the second group, if it wasn't done.
//!
//! Callers: `index`, when a leaf is full.

use std::ops::Range;
use txn::block;

use cache::Pin;
use change::{Changes, credits_for};
use format::changes::index::PlaceHead;
use format::{DataSlot, ItlEntry};
use ids::{Dba, Scn};
use latch::FrameOrder;
use os::Session;
use space::{OneBlock, Space};
use stop::{RefusalKind, Stop};
use txn::{Transactions, View};

use super::apply::{ADD_CHILD, CUT, LAYER, WRITE, back_of};
use super::content::{
    CUT_HEAD_BYTES, Content, Shape, content_bytes_max, cut_payload, list_of, write_position,
};
use super::descent::{Passed, Tree};
use super::index::NEW_LIST;
use super::node::Node;
use super::page_delete::are_deleted;
use super::position::{BLOCK_BYTES, OwnPosition, Position, Probe, ROW_BYTES, block_bytes};

/// So many undo records are looked at when a leaf is split that was purged: those of a leaf full of
/// entries, as a rule.
const LOOKED_AT_MAX: u32 = 512;

/// What splits blocks of an index.
#[derive(Clone, Copy)]
pub(super) struct Splitter<'a> {
    pub(super) tree: Tree<'a>,
    pub(super) space: &'a Space,
    pub(super) transactions: &'a Transactions,
    /// The index's segment.
    pub(super) header: Dba,
    /// No key is longer.
    pub(super) key_max: usize,
}

/// What trying a split came to.
enum Split {
    /// This block is new, and the level above is to be told.
    Done(Passed),
    /// The root is a level higher, or there is room by now.
    LookAgain,
    /// There are too few entries.
    TooFew,
    /// Another session was in the way.
    InTheWay,
}

/// Where a block is split.
struct Cut {
    /// Entries that stay.
    count: u16,
    at: OwnPosition,
}

impl<'a> Splitter<'a> {
    pub(super) fn changes(&self) -> &'a Changes {
        self.space.changes()
    }

    /// Splits the block of this level that covers a place, unless it has `needed` bytes by now.
    /// False if it has too few entries to be split.
    pub(super) fn split(
        &self,
        (at, level): (Position<'_>, u8),
        needed: usize,
        session: &'a Session,
    ) -> Result<bool, Stop> {
        let address = self.tree.reach((Probe::At(at), level), None, session)?.address;
        let split = {
            let cache = self.changes().cache();
            let header = cache.pin(self.header, session)?;
            let old = cache.pin(address, session)?;
            let mut turn = 0;
            loop {
                // Read, though it is to be written: another session may take it first.
                let new = self.pin_next(&header, session)?;
                match self.try_split([&header, &old, &new], (at, level), needed, session)? {
                    Split::InTheWay => session.relax(turn),
                    split => break split,
                }
                turn += 1;
            }
        };
        match split {
            Split::Done(passed) => self.post_to_parent(&passed, session).map(|()| true),
            Split::TooFew => Ok(false),
            _ => Ok(true),
        }
    }

    /// The block that the segment would hand out next: one that is free again, if there are some.
    fn pin_next(&self, header: &Pin<'_>, session: &'a Session) -> Result<Pin<'a>, Stop> {
        loop {
            if let Some(next) = self.space.pin_one(header, session)? {
                return Ok(next);
            }
            self.space.ensure_room(self.header, session)?;
        }
    }

    fn try_split(
        &self,
        [header, old, new]: [&Pin<'_>; 3],
        (at, level): (Position<'_>, u8),
        needed: usize,
        session: &Session,
    ) -> Result<Split, Stop> {
        let longest = content_bytes_max(self.block_bytes(session));
        let rest = CUT_HEAD_BYTES + self.key_max + ROW_BYTES;
        let root = content_bytes_max(ItlEntry::BYTES + rest);
        let credits = credits_for(&[longest, rest.max(root), OneBlock::PAYLOAD_BYTES]);
        let oldest = self.transactions.oldest_snapshot(session);
        let mut group = self.changes().begin(credits, session)?;
        let order = if level == 0 { FrameOrder::Leaf } else { FrameOrder::Branch };
        let left = old.exclusive(order, session);
        let node = Node::of(&left, self.tree.object);
        let node = node.filter(|node| node.level() == level && node.covers(Probe::At(at)));
        let Some(node) = node.filter(|_| block::room_of(&left) < needed) else {
            return Ok(Split::LookAgain);
        };
        let is_root = old.address() == self.tree.root;
        // Undo is latched before the segment's header.
        let cut = match choose(&node, at).filter(|_| !is_root) {
            Some(cut) => Some((self.right_of((&node, &cut), oldest, session), cut)),
            None if is_root => None,
            None => return Ok(Split::TooFew),
        };
        // Two of one kind: the second only if nobody has it.
        let Some(right) = new.try_exclusive(order, session) else { return Ok(Split::InTheWay) };
        let next = self.space.one(header, &right, session);
        let Some(next) = next else { return Ok(Split::InTheWay) };
        let ends = cut.as_ref().map_or(0, |(_, cut)| cut.count);
        let halves = [(0..ends, old), (ends..node.count(), new)]
            .map(|(entries, half)| (cut.is_some() && is_empty(&node, entries), half));
        let split = match cut {
            None => {
                let (below, root) = grown(&node, new.address());
                group.format(right, &LAYER, WRITE, &[&below.0]);
                group.change(left, &LAYER, WRITE, &[&root.0]);
                Split::LookAgain
            }
            Some((content, cut)) => {
                let keeps_keys_whole = !node.is_unique() || cut.at.row.is_none();
                assert!(keeps_keys_whole, "all of a key is in one leaf of a unique index (BT7)");
                let payload = cut_payload(cut.count, (cut.at.get(), new.address()));
                group.format(right, &LAYER, WRITE, &[&content.0]);
                group.change(left, &LAYER, CUT, &[&payload]);
                Split::Done(Passed { at: cut.at, block: new.address(), level })
            }
        };
        next.add_to(&mut group);
        group.commit(session);
        // BT11: what was noted is one block, and either half may be it.
        for (is_empty, half) in halves {
            if is_empty {
                self.space.emptied().note(self.header, half.address(), None, session);
            }
        }
        Ok(split)
    }

    /// Has the level above know of a block that was split off, if it doesn't, and the block is
    /// still there: it can't be taken out while what is above it is latched (BT9).
    /// Where that would take a block and there is none, the next writer tries again (BT3).
    pub(super) fn post_to_parent(&self, passed: &Passed, session: &'a Session) -> Result<(), Stop> {
        let at = passed.at.get();
        let level = passed.level + 1;
        let longest = BLOCK_BYTES + size_of::<PlaceHead>() + self.key_max + ROW_BYTES;
        for turn in 0.. {
            let above = self.tree.reach((Probe::At(at), level), None, session)?.address;
            let needed = DataSlot::BYTES + BLOCK_BYTES + at.stored_bytes();
            {
                let pin = self.changes().cache().pin(above, session)?;
                let below = self.changes().cache().pin(passed.block, session)?;
                let mut group = self.changes().begin(credits_for(&[longest]), session)?;
                let block = pin.exclusive(FrameOrder::Branch, session);
                let node = Node::of(&block, self.tree.object);
                let node = node.filter(|n| n.level() == level && n.covers(Probe::At(at)));
                let Some(node) = node else { continue };
                let number = node.lower_bound(at);
                if number < node.count() && node.place(number) == at {
                    return Ok(());
                }
                // At times two of one kind, so it is only tried.
                let Some(is_there) = is_there(&below, (passed, self.tree.object), session) else {
                    drop(block);
                    session.relax(turn);
                    continue;
                };
                if !is_there {
                    return Ok(());
                }
                if block::room_of(&block) >= needed {
                    let mut payload = block_bytes(passed.block).to_vec();
                    write_position(&mut payload, at);
                    group.change(block, &LAYER, ADD_CHILD, &[&payload]);
                    group.commit(session);
                    return Ok(());
                }
            }
            match self.split((at, level), needed, session) {
                Err(stop) if stop.refusal() == Some(RefusalKind::NoSpace) => return Ok(()),
                split => split?,
            };
        }
        unreachable!("it ends when nobody is in the way")
    }

    fn right_of(&self, (node, cut): (&Node<'_>, &Cut), oldest: Scn, session: &Session) -> Content {
        let fences = (Some(cut.at.get()), node.high());
        let (shape, list) = match self.begins_anew((node, cut), oldest, session) {
            true => (Shape::of(node).anew(), &NEW_LIST[..]),
            false => (Shape::of(node), list_of(node.0)),
        };
        let mut content = Content::new(shape, fences, node.next(), list);
        content.add_entries(node, cut.count..node.count());
        content
    }

    /// BT13: whether a leaf is cut behind its last entry, and no snapshot from the oldest one on
    /// wants anything back there.
    fn begins_anew(&self, (leaf, cut): (&Node<'_>, &Cut), oldest: Scn, session: &Session) -> bool {
        if leaf.level() > 0 || cut.count < leaf.count() {
            return false;
        }
        let mut is_behind = |payload: &[u8]| back_of(payload).entry() >= cut.at.get();
        let (view, transactions) = (View { scn: oldest, own: None }, &self.transactions);
        !leaf.was_purged()
            || transactions.nothing_unseen(leaf.0, view, LOOKED_AT_MAX, &mut is_behind, session)
    }

    pub(super) fn block_bytes(&self, session: &Session) -> usize {
        let cache = self.changes().cache();
        let size = cache.block_size_of(self.header.file, session);
        size.unwrap_or(cache.block_size()).bytes()
    }
}

/// Whether a block that was reached from its left neighbour is that block still; none if another
/// session has it.
fn is_there(pin: &Pin<'_>, (passed, object): (&Passed, u32), session: &Session) -> Option<bool> {
    let order = if passed.level == 0 { FrameOrder::Leaf } else { FrameOrder::Branch };
    let block = pin.try_shared(order, session)?;
    let node = Node::of(&block, object).filter(|node| node.level() == passed.level);
    Some(node.is_some_and(|node| node.low() == Some(passed.at.get())))
}

/// Whether these are entries of a leaf, and all of them deleted.
fn is_empty(node: &Node<'_>, entries: Range<u16>) -> bool {
    node.level() == 0 && !entries.is_empty() && are_deleted(node, entries)
}

/// The root's content for the block below, and what the root becomes.
fn grown(node: &Node<'_>, below: Dba) -> (Content, Content) {
    let shape = Shape::of(node);
    let mut content = Content::new(shape, (None, None), None, list_of(node.0));
    content.add_entries(node, 0..node.count());
    let shape = Shape { level: shape.level + 1, ..shape.anew() };
    let mut root = Content::new(shape, (None, None), None, &[]);
    root.add_child(Position::FIRST, below);
    (content, root)
}

/// Where to split a block, one of whose entries, or the one that is to come, is at `at`: in the
/// middle of its bytes; the last of a level, which grows at its end, behind its last entry.
fn choose(node: &Node<'_>, at: Position<'_>) -> Option<Cut> {
    let count = node.count();
    let is_leaf = node.level() == 0;
    if is_leaf && count > 0 && node.next().is_none() {
        let last = node.place(count - 1);
        if last < at {
            let between = Position::between(last, at);
            // The new high fence needs room.
            if block::room_of(node.0) >= between.stored_bytes() {
                return Some(Cut { count, at: between.to_own() });
            }
        }
    }
    let least = if is_leaf { 2 } else { 3 };
    if count < least {
        return None;
    }
    let bytes = |number| DataSlot::BYTES + usize::from(node.slot(number).length.get());
    let total: usize = (0..count).map(bytes).sum();
    let (mut staying, mut left) = (1, bytes(0));
    while staying < count - 1 && left + bytes(staying) <= total / 2 {
        left += bytes(staying);
        staying += 1;
    }
    let at = match is_leaf {
        true => Position::between(node.place(staying - 1), node.place(staying)),
        false => node.place(staying),
    };
    Some(Cut { count: staying, at: at.to_own() })
}
