//! Splitting a block, and posting the split to the parent (BT2, BT3, BT5, BT13, BT21 to BT24).
//!
//! ```text
//!   a block:   A ─▶ C       group 1:  A ─▶ B ─▶ C      group 2:   parent: … A, B …
//!   the root:  root         one group:  root (a level higher)
//!                                         └▶ B, which has the root's content,
//!                                            and then is split like any other block
//! ```
//!
//! Between the two groups, and after a crash there, B is found from A. The next writer that comes
//! from A to B posts B, if that wasn't done.
//!
//! Callers: `index`, when a leaf is full.

use std::ops::Range;

use cache::Pin;
use change::{Changes, credits_for};
use format::changes::index::EntryPositionHead;
use format::{DataSlot, ItlEntry};
use ids::{Dba, Scn};
use latch::FrameOrder;
use os::Session;
use space::{EmptyNote, OneBlock, Space};
use stop::{RefusalKind, Stop};
use txn::{Transactions, View, block};

use super::apply::{ADD_CHILD, CUT, LAYER, WRITE, is_of_entry_from};
use super::content::{
    CUT_HEAD_BYTES, Content, Shape, content_bytes_max, cut_payload, itl_of, write_position,
};
use super::descent::{Tree, UnpostedSplit};
use super::index::NEW_ITL;
use super::node::{Node, RightNeighbour};
use super::page_delete::are_deleted;
use super::position::{BLOCK_BYTES, OwnPosition, Position, Probe, ROW_BYTES, block_bytes};

/// How many undo records are read when a leaf that was purged is split: as a rule, those of a leaf
/// full of entries.
const LOOKED_AT_MAX: u32 = 512;

/// Splits blocks of an index.
#[derive(Clone, Copy)]
pub(super) struct Splitter<'a> {
    pub(super) tree: Tree<'a>,
    pub(super) space: &'a Space,
    pub(super) transactions: &'a Transactions,
    /// The header of the index's segment.
    pub(super) header: Dba,
    /// The length of the longest key.
    pub(super) key_max: usize,
    pub(super) block_bytes: usize,
}

/// What is to be split.
#[derive(Clone, Copy)]
pub(super) struct SplitTarget<'a> {
    /// The block of this level that covers this position.
    pub(super) at: Position<'a>,
    pub(super) level: u8,
    /// A block that has this many bytes free by now isn't split.
    pub(super) needed: usize,
}

/// How an attempt to split a block ended.
enum SplitResult {
    /// The block is split, and its new right half is to be posted.
    Done(UnpostedSplit),
    /// The root is a level higher, or the block has room by now.
    LookAgain,
    /// The block has too few entries.
    TooFew,
    /// Another session was in the way.
    InTheWay,
}

/// Where a block is split.
struct Cut {
    /// How many entries stay.
    count: u16,
    /// Where the right half begins.
    at: OwnPosition,
}

impl<'a> Splitter<'a> {
    pub(super) fn changes(&self) -> &'a Changes {
        self.space.changes()
    }

    /// Splits a block, unless it has room by now. False if it has too few entries to be split.
    pub(super) fn split(
        &self,
        target: SplitTarget<'_>,
        session: &'a Session,
    ) -> Result<bool, Stop> {
        let probe = Probe::At(target.at);
        let address = self.tree.reach(probe, target.level, None, session)?.address;
        let split = {
            let cache = self.changes().cache();
            let header = cache.pin(self.header, session)?;
            let old = cache.pin(address, session)?;
            let mut turn = 0;
            loop {
                // Pinned with no latch held: another session may take the block first.
                let new = self.pin_next(&header, session)?;
                match self.try_split(&header, &old, &new, target, session)? {
                    SplitResult::InTheWay => session.relax(turn),
                    split => break split,
                }
                turn += 1;
            }
        };
        match split {
            SplitResult::Done(split) => self.post_to_parent(&split, session).map(|()| true),
            SplitResult::TooFew => Ok(false),
            _ => Ok(true),
        }
    }

    /// Pins the block that the segment would hand out next: one that is free again, if there is
    /// one.
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
        header: &Pin<'_>,
        old: &Pin<'_>,
        new: &Pin<'_>,
        target: SplitTarget<'_>,
        session: &Session,
    ) -> Result<SplitResult, Stop> {
        let SplitTarget { at, level, needed } = target;
        let longest = content_bytes_max(self.block_bytes);
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
            return Ok(SplitResult::LookAgain);
        };
        let is_root = old.address() == self.tree.root;
        // Undo blocks are latched before the segment's header.
        let cut = match choose(&node, at).filter(|_| !is_root) {
            Some(cut) => Some((self.right_half(&node, &cut, oldest, session), cut)),
            None if is_root => None,
            None => return Ok(SplitResult::TooFew),
        };
        // Two blocks of one latch rank: so the second latch is only tried.
        let Some(right) = new.try_exclusive(order, session) else {
            return Ok(SplitResult::InTheWay);
        };
        let next = self.space.one(header, &right, session);
        let Some(next) = next else { return Ok(SplitResult::InTheWay) };
        let ends = cut.as_ref().map_or(0, |(_, cut)| cut.count);
        let halves = [(0..ends, old), (ends..node.count(), new)]
            .map(|(entries, half)| (cut.is_some() && is_empty(&node, entries), half));
        let split = match cut {
            None => {
                let (below, root) = grown(&node, new.address());
                group.format(right, &LAYER, WRITE, &[&below.0]);
                group.change(left, &LAYER, WRITE, &[&root.0]);
                SplitResult::LookAgain
            }
            Some((content, cut)) => {
                let keeps_keys_whole = !node.is_unique() || cut.at.row.is_none();
                assert!(keeps_keys_whole, "all of a key is in one leaf of a unique index (BT18)");
                let neighbour = RightNeighbour { low: cut.at.get(), block: new.address() };
                let payload = cut_payload(cut.count, neighbour);
                group.format(right, &LAYER, WRITE, &[&content.0]);
                group.change(left, &LAYER, CUT, &[&payload]);
                SplitResult::Done(UnpostedSplit { low: cut.at, block: new.address(), level })
            }
        };
        next.add_to(&mut group);
        group.commit(session);
        // A half with only deleted entries is noted (BT11).
        for (is_empty, half) in halves {
            if is_empty {
                let note = EmptyNote::default();
                self.space.emptied().note(self.header, half.address(), note, session);
            }
        }
        Ok(split)
    }

    /// Posts a split to the parent, unless the parent has it, or the new block isn't in the tree
    /// any more: a block can't be deleted while its parent is latched (BT28). If the parent has to
    /// be split and there is no block for that, the next writer tries again (BT22).
    pub(super) fn post_to_parent(
        &self,
        split: &UnpostedSplit,
        session: &'a Session,
    ) -> Result<(), Stop> {
        let at = split.low.get();
        let level = split.level + 1;
        let longest = BLOCK_BYTES + size_of::<EntryPositionHead>() + self.key_max + ROW_BYTES;
        for turn in 0.. {
            let parent = self.tree.reach(Probe::At(at), level, None, session)?.address;
            let needed = DataSlot::BYTES + BLOCK_BYTES + at.stored_bytes();
            {
                let pin = self.changes().cache().pin(parent, session)?;
                let below = self.changes().cache().pin(split.block, session)?;
                let mut group = self.changes().begin(credits_for(&[longest]), session)?;
                let block = pin.exclusive(FrameOrder::Branch, session);
                let node = Node::of(&block, self.tree.object);
                let node = node.filter(|n| n.level() == level && n.covers(Probe::At(at)));
                let Some(node) = node else { continue };
                let number = node.lower_bound(at);
                if number < node.count() && node.position(number) == at {
                    return Ok(());
                }
                // Sometimes two blocks of one latch rank: so the second latch is only tried.
                let Some(is_there) = is_there(&below, split, self.tree.object, session) else {
                    drop(block);
                    session.relax(turn);
                    continue;
                };
                if !is_there {
                    return Ok(());
                }
                if block::room_of(&block) >= needed {
                    let mut payload = block_bytes(split.block).to_vec();
                    write_position(&mut payload, at);
                    group.change(block, &LAYER, ADD_CHILD, &[&payload]);
                    group.commit(session);
                    return Ok(());
                }
            }
            match self.split(SplitTarget { at, level, needed }, session) {
                Err(stop) if stop.refusal() == Some(RefusalKind::NoSpace) => return Ok(()),
                split => split?,
            };
        }
        unreachable!("it ends when nobody is in the way")
    }

    /// The content of the right half of a split.
    fn right_half(&self, node: &Node<'_>, cut: &Cut, oldest: Scn, session: &Session) -> Content {
        let (shape, itl) = match self.gets_new_itl(node, cut, oldest, session) {
            true => (Shape::of(node).with_new_itl(), &NEW_ITL[..]),
            false => (Shape::of(node), itl_of(node.0)),
        };
        let mut content = Content::new(shape, Some(cut.at.get()), node.right(), itl);
        content.add_entries(node, cut.count..node.count());
        content
    }

    /// Whether a leaf is cut behind its last entry, and no snapshot from the oldest one on needs
    /// undo there (BT13, BT24).
    fn gets_new_itl(&self, leaf: &Node<'_>, cut: &Cut, oldest: Scn, session: &Session) -> bool {
        if leaf.level() > 0 || cut.count < leaf.count() {
            return false;
        }
        let mut is_behind =
            |opcode: u8, payload: &[u8]| is_of_entry_from(cut.at.get(), opcode, payload);
        let (view, transactions) = (View { scn: oldest, own: None }, &self.transactions);
        !leaf.was_purged()
            || transactions.nothing_unseen(leaf.0, view, LOOKED_AT_MAX, &mut is_behind, session)
    }
}

/// Whether the right half of a split is still in the tree; none if another session holds its latch.
fn is_there(pin: &Pin<'_>, split: &UnpostedSplit, object: u32, session: &Session) -> Option<bool> {
    let order = if split.level == 0 { FrameOrder::Leaf } else { FrameOrder::Branch };
    let block = pin.try_shared(order, session)?;
    let node = Node::of(&block, object).filter(|node| node.level() == split.level);
    Some(node.is_some_and(|node| node.low() == Some(split.low.get())))
}

/// Whether these are entries of a leaf, at least one, and all are deleted.
fn is_empty(node: &Node<'_>, entries: Range<u16>) -> bool {
    node.level() == 0 && !entries.is_empty() && are_deleted(node, entries)
}

/// The contents of a tree that grows a level: the root's for the block below, and that of the root.
fn grown(node: &Node<'_>, below: Dba) -> (Content, Content) {
    let shape = Shape::of(node);
    let mut content = Content::new(shape, None, None, itl_of(node.0));
    content.add_entries(node, 0..node.count());
    let shape = Shape { level: shape.level + 1, ..shape.with_new_itl() };
    let mut root = Content::new(shape, None, None, &[]);
    root.add_child(Position::FIRST, below);
    (content, root)
}

/// Chooses where to split a block: in the middle of its bytes. The last leaf is split behind its
/// last entry if the entry to come, which is at `at`, is larger. None if there are too few entries.
fn choose(node: &Node<'_>, at: Position<'_>) -> Option<Cut> {
    let count = node.count();
    let is_leaf = node.level() == 0;
    if is_leaf && count > 0 && node.next().is_none() {
        let last = node.position(count - 1);
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
        true => Position::between(node.position(staying - 1), node.position(staying)),
        false => node.position(staying),
    };
    Some(Cut { count: staying, at: at.to_own() })
}
