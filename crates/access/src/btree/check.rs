//! Whether an index is in order, as a whole.
//!
//! Callers: `verify`, and tests; nobody changes the index meanwhile.

use std::collections::BTreeSet;

use ids::Dba;
use latch::FrameOrder;
use os::Session;

use super::Index;
use super::node::{MARKED, Node};
use super::position::{OwnPosition, Position};
use crate::RowAddress;

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
    /// Blocks of which the level above doesn't know yet.
    pub untold: u64,
}

/// What one level says of the one below: where blocks begin, from left to right.
type Below = Vec<(OwnPosition, Dba)>;

impl Index {
    /// Checks every block, and that all blocks that were handed out are reached; `visit` is told
    /// every entry that isn't deleted, in order.
    pub fn check(
        &self,
        visit: &mut dyn FnMut(&[u8], RowAddress),
        session: &Session,
    ) -> Result<Checked, String> {
        let mut checked = Checked::default();
        let mut reached = BTreeSet::from([self.segment().header]);
        let mut told: Below = vec![(Position::FIRST.to_own(), self.root())];
        loop {
            let first = told[0].1;
            let (below, level) =
                self.check_level((first, &told), (&mut reached, &mut checked), visit, session)?;
            checked.levels += 1;
            if level == 0 {
                break;
            }
            told = below;
        }
        let runs = self.space().blocks(self.segment().header, session);
        let runs = runs.map_err(|stop| stop.to_string())?;
        for run in runs {
            for number in 0..run.count {
                let block = Dba::new(run.first.file.get(), run.first.block.get() + number);
                if !reached.remove(&block) {
                    return Err(format!("block {block} was handed out, and isn't reached"));
                }
            }
        }
        match reached.first() {
            Some(block) => Err(format!("block {block} is reached, and wasn't handed out")),
            None => Ok(checked),
        }
    }

    /// Walks along a level; what it says of the one below, and which level it is.
    fn check_level(
        &self,
        (first, told): (Dba, &Below),
        (reached, checked): (&mut BTreeSet<Dba>, &mut Checked),
        visit: &mut dyn FnMut(&[u8], RowAddress),
        session: &Session,
    ) -> Result<(Below, u8), String> {
        let (mut below, mut at, mut level) = (Below::new(), Some(first), None);
        let mut begins: Option<OwnPosition> = None;
        let mut told = told.iter().peekable();
        while let Some(address) = at {
            let say = |what: String| format!("block {address}: {what}");
            let bytes = {
                let cache = self.changes().cache();
                let block = cache.pin_shared(address, FrameOrder::Branch, session);
                block.map_err(|stop| stop.to_string())?.to_vec()
            };
            if !reached.insert(address) {
                return Err(say("is reached twice".into()));
            }
            let node = Node::of(&bytes, self.tree().object);
            let node = node.ok_or_else(|| say("is no block of this index".into()))?;
            if *level.get_or_insert(node.level()) != node.level() {
                return Err(say(format!("is on level {}", node.level())));
            }
            if node.low() != begins.as_ref().map(OwnPosition::get) {
                return Err(say(format!("begins at {:?}, not at {begins:?}", node.low())));
            }
            match told.next_if(|(_, told)| *told == address) {
                Some((at, _)) if at.get() != node.low().unwrap_or(Position::FIRST) => {
                    return Err(say(format!("is said to begin at {at:?}")));
                }
                Some(_) => {}
                None => checked.untold += 1,
            }
            block::check(&bytes).map_err(say)?;
            self.check_node(&node, checked, visit).map_err(say)?;
            if node.level() > 0 {
                let children = (0..node.count()).map(|n| (node.place(n).to_own(), node.child(n)));
                below.extend(children);
            }
            begins = node.high().map(Position::to_own);
            at = node.next();
            if at.is_some() != begins.is_some() {
                return Err(say("has a right neighbour or a high fence, and not both".into()));
            }
        }
        match told.next() {
            Some((_, block)) => Err(format!("block {block} isn't reached from its left neighbour")),
            None => Ok((below, level.expect("a level has a block"))),
        }
    }

    /// One block: its entries are in order, and between its fences.
    fn check_node(
        &self,
        node: &Node<'_>,
        checked: &mut Checked,
        visit: &mut dyn FnMut(&[u8], RowAddress),
    ) -> Result<(), String> {
        if node.is_unique() != self.is_unique() {
            return Err("says otherwise whether keys are unique".into());
        }
        checked.leaves += u64::from(node.level() == 0);
        if node.level() > 0 && node.count() == 0 {
            return Err("is a branch without entries".into());
        }
        let mut last: Option<Position<'_>> = None;
        for number in 0..node.count() {
            let place = node.place(number);
            let rises = last.is_none_or(|last| match self.is_unique() {
                true => last.key < place.key,
                false => last < place,
            });
            let is_first = number == 0 && node.level() > 0;
            let after_low = node.low().is_none_or(|low| low <= place) || is_first;
            if !rises || !after_low || node.high().is_some_and(|high| place >= high) {
                return Err(format!("entry {number} isn't in order: {place:?} behind {last:?}"));
            }
            last = Some(place);
            if node.level() > 0 {
                continue;
            }
            if node.slot(number).flags & MARKED != 0 {
                checked.deleted += 1;
                continue;
            }
            checked.entries += 1;
            visit(place.key, place.row.expect("an entry of a leaf has a row"));
        }
        Ok(())
    }
}
