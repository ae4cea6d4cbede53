//! Whether an index is in order, as a whole.
//!
//! A tree is checked as somebody gives its blocks: from the cache, or from files. Nothing that a
//! block says is believed before [`check_index_block`] has passed it.
//!
//! While others change the index it can be checked all the same: a block's low fence never moves as
//! long as the block is there, and where a block ended at one moment its right neighbour of that
//! moment begins. What is told from above and isn't met may have been taken out: then it isn't told
//! any more. What was handed out is asked for twice: what was in use before the walk is reached, or
//! free by its end, and what is reached was handed out by then. Two things may look like a fault
//! and be none, if others are fast: a block that was taken out between two looks, and one that was
//! taken out and is used again where the walk has been. Then the next walk doesn't find them.
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

/// More levels than any tree has.
const LEVELS_MAX: u8 = 32;

/// What a check has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Checked {
    /// Entries, without those that are deleted.
    pub entries: u64,
    /// Entries that are deleted and were not purged yet.
    pub deleted: u64,
    /// Levels: 1 if the root is a leaf.
    pub levels: u8,
    /// Leaves.
    pub leaves: u64,
    /// Leaves of which all entries are deleted.
    pub empty: u64,
    /// Blocks of which the level above doesn't know yet.
    pub unposted: u64,
}

/// What is wrong with a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeFault {
    /// The block that shows it.
    pub block: Dba,
    /// What it is.
    pub what: String,
    /// Which of its rules it breaks.
    pub kind: TreeFaultKind,
}

/// Which rule of trees is broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TreeFaultKind {
    /// Blocks hang together, and entries are in order.
    Order,
    /// A unique index has a key once.
    Unique,
    /// What was handed out is reached, or free. Not so while an index is built from the bottom up.
    Reached,
}

/// The tree of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreeSeen {
    /// Its object number.
    pub object: u32,
    /// Its segment's header; the root is the block behind it.
    pub header: Dba,
}

/// Every block that the tree's segment has handed out, ...
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HandedOut {
    /// all of them, ...
    pub blocks: BTreeSet<Dba>,
    /// and those that are free again.
    pub free: BTreeSet<Dba>,
}

/// What one level says of a block below.
struct Told {
    /// Where it begins.
    at: OwnPosition,
    block: Dba,
    /// Who says so.
    above: Dba,
}

/// What one level says of the one below, from left to right.
type Below = Vec<Told>;

/// Gives a block's bytes, whole, with a header that was checked.
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
    /// Checks every block, and that all blocks that were handed out are reached; `visit` is told
    /// every entry that isn't deleted, in order.
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
            let runs = self.space().blocks(header, session).map_err(|stop| stop.to_string())?;
            let blocks = runs.into_iter().flat_map(Blocks::addresses).collect();
            let free = self.space().free_blocks(header, session).map_err(|s| s.to_string())?;
            Ok(HandedOut { blocks, free: BTreeSet::from_iter(free.sound()?) })
        };
        let before = handed_out()?;
        let checked = check_tree(tree, &mut read, (&before, &handed_out), visit);
        checked.map_err(|fault| format!("block {}: {}", fault.block, fault.what))
    }
}

/// Checks a tree. `before` is what was handed out before, `by_now` says what is handed out.
pub fn check_tree(
    tree: TreeSeen,
    read: &mut Read<'_>,
    (before, by_now): (&HandedOut, &dyn Fn() -> Result<HandedOut, String>),
    visit: &mut dyn FnMut(&[u8], RowAddress),
) -> Result<Checked, TreeFault> {
    let mut walk =
        Walk { tree, checked: Checked::default(), is_unique: None, reached: BTreeSet::new() };
    walk.reached.insert(tree.header);
    let at = Position::FIRST.to_own();
    let mut told: Below = vec![Told { at, block: tree.root(), above: tree.header }];
    let mut level = None;
    loop {
        let (below, is) = walk.level(&told, level, read, visit)?;
        walk.checked.levels += 1;
        match is.checked_sub(1) {
            None => break,
            under => level = under,
        }
        told = below;
    }
    let by_now = by_now().map_err(|what| fault(tree.header, what))?;
    walk.hold_against(before, &by_now)?;
    Ok(walk.checked)
}

/// A check on its way down.
struct Walk {
    tree: TreeSeen,
    checked: Checked,
    /// As the first block says.
    is_unique: Option<bool>,
    reached: BTreeSet<Dba>,
}

impl Walk {
    /// Goes along a level; what it says of the one below, and which level it is.
    fn level(
        &mut self,
        told: &Below,
        mut level: Option<u8>,
        read: &mut Read<'_>,
        visit: &mut dyn FnMut(&[u8], RowAddress),
    ) -> Result<(Below, u8), TreeFault> {
        let (mut below, mut at) = (Below::new(), Some(told[0].block));
        let mut begins: Option<OwnPosition> = None;
        let mut last: Option<OwnPosition> = None;
        let mut told = told.iter().peekable();
        while let Some(address) = at {
            let say = |what: String| fault(address, what);
            // Twice only if it was taken out and used again: for it begins behind the one before.
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
            while let Some(missed) = told.next_if(|told| told.at.get() < low) {
                self.was_taken_out(missed, read)?;
            }
            match told.next_if(|told| told.block == address) {
                Some(told) if told.at.get() != low => {
                    return Err(say(format!("is said to begin at {:?}", told.at)));
                }
                Some(_) => {}
                None => self.checked.unposted += 1,
            }
            check_unique(&node, &mut last)
                .map_err(|what| TreeFault { kind: TreeFaultKind::Unique, ..say(what) })?;
            self.take_in(&node, (address, &mut below), visit);
            begins = node.high().map(Position::to_own);
            at = node.next();
        }
        for missed in told {
            self.was_taken_out(missed, read)?;
        }
        Ok((below, level.expect("a level has a block")))
    }

    /// A block that wasn't met isn't told from above any more.
    fn was_taken_out(&self, missed: &Told, read: &mut Read<'_>) -> Result<(), TreeFault> {
        let bytes = read(missed.above).map_err(|what| fault(missed.above, what))?;
        let above = Node::of(&bytes, self.tree.object).filter(|node| node.level() > 0);
        let is_told = above.is_some_and(|above| {
            check_index_block(&bytes).is_ok()
                && (0..above.count()).any(|number| {
                    above.child(number) == missed.block && above.place(number) == missed.at.get()
                })
        });
        match is_told {
            true => Err(fault(missed.block, "isn't reached from its left neighbour")),
            false => Ok(()),
        }
    }

    /// What was handed out is in the tree or free, and only that.
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

    fn take_in(
        &mut self,
        node: &Node<'_>,
        (above, below): (Dba, &mut Below),
        visit: &mut dyn FnMut(&[u8], RowAddress),
    ) {
        if node.level() > 0 {
            let told = |n| Told { at: node.place(n).to_own(), block: node.child(n), above };
            below.extend((0..node.count()).map(told));
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
            let place = node.place(number);
            visit(place.key, place.row.expect("an entry of a leaf has a row"));
        }
        self.checked.empty += u64::from(self.checked.entries == before);
    }
}

/// In a unique index no two entries have the same key, in one leaf or in two.
pub(super) fn check_unique(node: &Node<'_>, last: &mut Option<OwnPosition>) -> Result<(), String> {
    if node.level() > 0 || !node.is_unique() {
        return Ok(());
    }
    for number in 0..node.count() {
        let place = node.place(number);
        let before = match number.checked_sub(1) {
            Some(before) => Some(node.place(before).key),
            None => last.as_ref().map(|last| &last.key[..]),
        };
        if before == Some(place.key) {
            return Err(format!("entry {number} has the key of the entry before it"));
        }
    }
    if let Some(number) = node.count().checked_sub(1) {
        *last = Some(node.place(number).to_own());
    }
    Ok(())
}

/// What is wrong with a block of an index by itself, if anything is: its slots are as slots are,
/// its entries in order and between its fences. Its header was checked.
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

/// Entries are in order, and between the fences.
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
        let place = node.place(number);
        let rises = last.is_none_or(|last| last < place);
        let is_first = number == 0 && node.level() > 0;
        let after_low = node.low().is_none_or(|low| low <= place) || is_first;
        if !rises || !after_low || node.high().is_some_and(|high| place >= high) {
            return Err(format!("entry {number} isn't in order: {place:?} behind {last:?}"));
        }
        last = Some(place);
    }
    Ok(())
}
