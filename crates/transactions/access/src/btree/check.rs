//! The check of a whole index.
//!
//! The caller gives the blocks of the tree: from the cache, or from files. Nothing that a block
//! says is believed before the block has passed [`check_index_block`].
//!
//! An index can be checked while other sessions change it: a block's low fence never moves as long
//! as the block is in the tree, and where a block ended at one moment, its right neighbour of that
//! moment begins. A block that is posted in its parent and isn't met may have been deleted from the
//! tree: then the parent doesn't have it any more. The blocks that were handed out are read twice:
//! a block in use before the walk must be reached, or be free by its end, and a block that is
//! reached must be handed out by then. If others are fast, two things may look like a fault and be
//! none: a block that was deleted between two looks, and a block that was deleted and is used again
//! where the walk has been. The next walk doesn't find those.
//!
//! Callers: `verify`, and tests.

use std::collections::BTreeSet;
use txn::block;

use cache::{Blocks, is_unwritten};
use format::{BlockHeader, BlockKind, DataHead};
use ids::Dba;
use latch::FrameOrder;
use os::Session;

use super::Index;
use super::node::{ENTRY, FENCES, MARKED, Node, PURGED, UNIQUE, WITH_ROW};
use super::position::{BLOCK_BYTES, OwnPosition, Position, ROW_BYTES};
use crate::RowAddress;

/// A level that is higher than any tree.
const LEVELS_MAX: u8 = 32;

/// The result of a check that found no fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Checked {
    /// How many entries aren't deleted.
    pub entries: u64,
    /// How many entries are deleted and not purged yet.
    pub deleted: u64,
    /// How many levels the tree has: 1 if the root is a leaf.
    pub levels: u8,
    /// How many leaves the tree has.
    pub leaves: u64,
    /// How many leaves have only deleted entries.
    pub empty: u64,
    /// How many blocks aren't posted in their parents yet.
    pub unposted: u64,
}

/// A fault of a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeFault {
    /// The block that shows the fault.
    pub block: Dba,
    /// What is wrong.
    pub what: String,
    /// The rule that is broken.
    pub kind: TreeFaultKind,
}

/// A rule of trees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TreeFaultKind {
    /// Blocks hang together, and entries are in order.
    Order,
    /// A unique index has each key once.
    Unique,
    /// Each block that was handed out is reached, or free. The rule doesn't hold while an index is
    /// built from the bottom up.
    Reached,
}

/// The tree to be checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreeSeen {
    /// The index's object number.
    pub object: u32,
    /// The header of the index's segment; the root is the block behind it.
    pub header: Dba,
}

/// The blocks that the tree's segment has handed out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HandedOut {
    /// All blocks that were handed out.
    pub blocks: BTreeSet<Dba>,
    /// Those of them that are free again.
    pub free: BTreeSet<Dba>,
}

/// An entry of a branch: a block that is posted in its parent.
struct Posted {
    /// Where the block begins, as its parent says.
    low: OwnPosition,
    block: Dba,
    parent: Dba,
}

/// Returns the bytes of a block whose header was checked.
type Read<'r> = dyn FnMut(Dba) -> Result<Vec<u8>, String> + 'r;

impl TreeSeen {
    fn root(&self) -> Dba {
        Dba::new(self.header.file.get(), self.header.block.get() + 1)
    }
}

fn fault(block: Dba, what: impl Into<String>) -> TreeFault {
    TreeFault { block, what: what.into(), kind: TreeFaultKind::Order }
}

impl Index {
    /// Checks every block, and that all blocks that were handed out are reached. `visit` gets every
    /// entry that isn't deleted, in order.
    pub fn check(
        &self,
        visit: &mut dyn FnMut(&[u8], RowAddress),
        session: &Session,
    ) -> Result<Checked, String> {
        let header = self.segment().header;
        let tree = TreeSeen { object: self.tree().object, header };
        let mut read = |address: Dba| {
            let block = self.changes().cache().pin_shared(address, FrameOrder::Branch, session);
            Ok(block.map_err(|stop| stop.to_string())?.to_vec())
        };
        let handed_out = || -> Result<HandedOut, String> {
            let runs = self.space.blocks(header, session).map_err(|stop| stop.to_string())?;
            let blocks = runs.into_iter().flat_map(Blocks::addresses).collect();
            let free = self.space.free_blocks(header, session).map_err(|s| s.to_string())?;
            Ok(HandedOut { blocks, free: BTreeSet::from_iter(free.sound()?) })
        };
        let before = handed_out()?;
        let checked = check_tree(tree, &mut read, &before, &handed_out, visit);
        checked.map_err(|fault| format!("block {}: {}", fault.block, fault.what))
    }
}

/// Checks a tree. `before` has the blocks that were handed out before, `by_now` returns those that
/// are handed out now. `visit` gets every entry that isn't deleted, in order.
pub fn check_tree(
    tree: TreeSeen,
    read: &mut Read<'_>,
    before: &HandedOut,
    by_now: &dyn Fn() -> Result<HandedOut, String>,
    visit: &mut dyn FnMut(&[u8], RowAddress),
) -> Result<Checked, TreeFault> {
    let mut walk =
        Walk { tree, checked: Checked::default(), is_unique: None, reached: BTreeSet::new() };
    walk.reached.insert(tree.header);
    let low = Position::FIRST.to_own();
    let mut posted = vec![Posted { low, block: tree.root(), parent: tree.header }];
    let mut level = None;
    loop {
        let (below, found) = walk.level(&posted, level, read, visit)?;
        walk.checked.levels += 1;
        match found.checked_sub(1) {
            None => break,
            under => level = under,
        }
        posted = below;
    }
    let by_now = by_now().map_err(|what| fault(tree.header, what))?;
    walk.hold_against(before, &by_now)?;
    Ok(walk.checked)
}

/// A check on its way down.
struct Walk {
    tree: TreeSeen,
    checked: Checked,
    /// Whether keys are unique, as the first block says.
    is_unique: Option<bool>,
    reached: BTreeSet<Dba>,
}

impl Walk {
    /// Checks the blocks of a level, of which these are posted. Returns the blocks that are posted
    /// there, and the level's number.
    fn level(
        &mut self,
        posted: &[Posted],
        mut level: Option<u8>,
        read: &mut Read<'_>,
        visit: &mut dyn FnMut(&[u8], RowAddress),
    ) -> Result<(Vec<Posted>, u8), TreeFault> {
        let (mut below, mut at) = (Vec::new(), Some(posted[0].block));
        let mut begins: Option<OwnPosition> = None;
        let mut last: Option<OwnPosition> = None;
        let mut posted = posted.iter().peekable();
        while let Some(address) = at {
            let say = |what: String| fault(address, what);
            // It was reached before only if it was deleted and used again, for each block begins
            // behind the one before.
            self.reached.insert(address);
            let bytes = read(address).map_err(say)?;
            let node = Node::of(&bytes, self.tree.object);
            let node = node.ok_or_else(|| say("is no block of this index".into()))?;
            check_index_block(&bytes).map_err(say)?;
            if *level.get_or_insert(node.level()) != node.level() || node.level() > LEVELS_MAX {
                return Err(say(format!("is on level {}", node.level())));
            }
            if *self.is_unique.get_or_insert(node.is_unique()) != node.is_unique() {
                return Err(say("says otherwise whether keys are unique".into()));
            }
            if node.low() != begins.as_ref().map(OwnPosition::get) {
                return Err(say(format!("begins at {:?}, not at {begins:?}", node.low())));
            }
            let low = node.low().unwrap_or(Position::FIRST);
            while let Some(missed) = posted.next_if(|posted| posted.low.get() < low) {
                self.check_deleted(missed, read)?;
            }
            match posted.next_if(|posted| posted.block == address) {
                Some(posted) if posted.low.get() != low => {
                    return Err(say(format!("is said to begin at {:?}", posted.low)));
                }
                Some(_) => {}
                None => self.checked.unposted += 1,
            }
            check_unique(&node, &mut last)
                .map_err(|what| TreeFault { kind: TreeFaultKind::Unique, ..say(what) })?;
            self.take_in(&node, address, &mut below, visit);
            begins = node.high().map(Position::to_own);
            at = node.next();
        }
        for missed in posted {
            self.check_deleted(missed, read)?;
        }
        Ok((below, level.expect("a level has a block")))
    }

    /// Checks that a posted block which wasn't met was deleted: its parent doesn't have it any
    /// more.
    fn check_deleted(&self, missed: &Posted, read: &mut Read<'_>) -> Result<(), TreeFault> {
        let bytes = read(missed.parent).map_err(|what| fault(missed.parent, what))?;
        let parent = Node::of(&bytes, self.tree.object).filter(|node| node.level() > 0);
        let is_posted = parent.is_some_and(|parent| {
            check_index_block(&bytes).is_ok()
                && (0..parent.count()).any(|number| {
                    let low = parent.position(number);
                    parent.child(number) == missed.block && low == missed.low.get()
                })
        });
        match is_posted {
            true => Err(fault(missed.block, "isn't reached from its left neighbour")),
            false => Ok(()),
        }
    }

    /// Checks that exactly the blocks that were handed out are in the tree, or free.
    fn hold_against(&self, before: &HandedOut, by_now: &HandedOut) -> Result<(), TreeFault> {
        let say =
            |block: &Dba, what| TreeFault { kind: TreeFaultKind::Reached, ..fault(*block, what) };
        let is_free = |block: &&Dba| before.free.contains(block) || by_now.free.contains(block);
        let mut lost = before.blocks.difference(&self.reached).filter(|block| !is_free(block));
        if let Some(block) = lost.next() {
            return Err(say(block, "was handed out, and isn't reached"));
        }
        let free = before.free.intersection(&by_now.free);
        if let Some(block) = free.into_iter().find(|block| self.reached.contains(block)) {
            return Err(say(block, "is reached, and is free"));
        }
        match self.reached.difference(&by_now.blocks).next() {
            Some(block) => Err(fault(*block, "is reached, and wasn't handed out")),
            None => Ok(()),
        }
    }

    /// Counts the entries of a leaf and visits them; adds those of a branch to `below`.
    fn take_in(
        &mut self,
        node: &Node<'_>,
        address: Dba,
        below: &mut Vec<Posted>,
        visit: &mut dyn FnMut(&[u8], RowAddress),
    ) {
        if node.level() > 0 {
            below.extend((0..node.count()).map(|number| {
                let low = node.position(number).to_own();
                Posted { low, block: node.child(number), parent: address }
            }));
            return;
        }
        self.checked.leaves += 1;
        let before = self.checked.entries;
        for number in 0..node.count() {
            if node.slot(number).flags & MARKED != 0 {
                self.checked.deleted += 1;
                continue;
            }
            self.checked.entries += 1;
            let entry = node.position(number);
            visit(entry.key, entry.row.expect("an entry of a leaf has a row"));
        }
        self.checked.empty += u64::from(self.checked.entries == before);
    }
}

/// Checks that no two entries of a unique index have the same key, in this leaf or in this and the
/// one before, whose last entry is `last`.
pub(super) fn check_unique(node: &Node<'_>, last: &mut Option<OwnPosition>) -> Result<(), String> {
    if node.level() > 0 || !node.is_unique() {
        return Ok(());
    }
    for number in 0..node.count() {
        let before = match number.checked_sub(1) {
            Some(before) => Some(node.position(before).key),
            None => last.as_ref().map(|last| &last.key[..]),
        };
        if before == Some(node.position(number).key) {
            return Err(format!("entry {number} has the key of the entry before it"));
        }
    }
    if let Some(number) = node.count().checked_sub(1) {
        *last = Some(node.position(number).to_own());
    }
    Ok(())
}

/// Checks a block of an index by itself, whose header was checked: its slots are sound, its entries
/// in order and between its fences. The error says what is wrong.
pub fn check_index_block(bytes: &[u8]) -> Result<(), String> {
    block::check(bytes)?;
    let head = DataHead::at(bytes, DataHead::START);
    let kind = if head.level == 0 { BlockKind::Leaf } else { BlockKind::Branch };
    if is_unwritten(bytes) || BlockHeader::at(bytes, 0).kind() != kind {
        return Err(format!("is on level {}, and no {kind}", head.level));
    }
    let own = head.own.get();
    let flags = if head.level == 0 { UNIQUE | PURGED } else { UNIQUE };
    if own & !u16::from(flags) != 0 || head.reserved != [0; 2] || head.slots.get() < FENCES {
        return Err("its head isn't that of a block of an index".to_string());
    }
    for (number, slot) in (0_u16..).zip(block::directory(bytes)) {
        let with_row = slot.flags & WITH_ROW != 0;
        if with_row && own & u16::from(UNIQUE) != 0 {
            return Err(format!("slot {number} is a place within a key, and keys are unique"));
        }
        let row = if with_row { ROW_BYTES } else { 0 };
        let (may, least) = match (number < FENCES, head.level) {
            (true, _) => (WITH_ROW, row),
            (false, 0) => (MARKED, ROW_BYTES),
            (false, _) => (WITH_ROW, BLOCK_BYTES + row),
        };
        let length = usize::from(slot.length.get());
        let is_sound = match slot.flags & !may {
            0 => number < FENCES && slot.flags == 0 && length == 0,
            ENTRY => length >= least,
            _ => false,
        };
        if !is_sound || slot.lock != 0 && (number < FENCES || head.level > 0) {
            return Err(format!("slot {number} has flags {:#04x} and {length} bytes", slot.flags));
        }
    }
    check_order(&Node(bytes))
}

/// Checks that the entries are in order and between the fences.
fn check_order(node: &Node<'_>) -> Result<(), String> {
    if node.next().is_some() != node.high().is_some() {
        return Err("has a right neighbour or a high fence, and not both".into());
    }
    if let (Some(low), Some(high)) = (node.low(), node.high())
        && low >= high
    {
        return Err("ends before it begins".into());
    }
    if node.level() > 0 && node.count() == 0 {
        return Err("is a branch without entries".into());
    }
    let mut last: Option<Position<'_>> = None;
    for number in 0..node.count() {
        let entry = node.position(number);
        let rises = last.is_none_or(|last| last < entry);
        let is_first = number == 0 && node.level() > 0;
        let after_low = node.low().is_none_or(|low| low <= entry) || is_first;
        if !rises || !after_low || node.high().is_some_and(|high| entry >= high) {
            return Err(format!("entry {number} isn't in order: {entry:?} behind {last:?}"));
        }
        last = Some(entry);
    }
    Ok(())
}
