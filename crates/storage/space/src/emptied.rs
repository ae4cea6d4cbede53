//! Which blocks of a segment may have become empty: whoever empties one notes it, and whoever wants
//! a block looks at some that were noted.
//!
//! Known in memory only, and never the truth: who is given one looks at it. What is forgotten, by a
//! restart or because there are too many, stays in use until somebody who looks at all blocks in
//! turn has come to it, and is no less right.
//!
//! Callers: `access`; `txn`, where a rollback empties a block.

use std::collections::{BTreeMap, btree_map};
use std::ops::Bound;

use ids::{Dba, Scn};
use latch::{Latch, LatchKind};
use os::{Os, Session};

/// So many blocks of a segment are kept in mind.
const BLOCKS_MAX: usize = 4_096;

/// Blocks that may have become empty, of each segment by its header.
pub struct Emptied {
    noted: Latch<BTreeMap<Dba, Noted>>,
}

/// From when on a block is empty for every snapshot: as long as it has this version. It is kept,
/// for when transactions ended is known less exactly later on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EmptyFrom {
    /// The SCN and the number of the block's last change.
    pub version: (Scn, u32),
    /// It is empty for snapshots that are at least this.
    pub scn: Scn,
}

#[derive(Default)]
struct Noted {
    blocks: BTreeMap<Dba, Option<EmptyFrom>>,
    /// The last that was given: they take turns.
    last: Option<Dba>,
    hand: Hand,
    /// Some weren't noted, for there were too many, while somebody looked at all in turn.
    forgot: bool,
}

/// How far they have come who look at all blocks of a segment in turn, for empty ones that aren't
/// noted.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Hand {
    /// Before the first block.
    #[default]
    Begins,
    /// Before this block, and this place, in words of those who look.
    Before(Dba, Vec<u8>),
    /// They were at each block, and none has been forgotten since.
    Rests,
}

impl Emptied {
    pub(crate) fn new(os: &Os) -> Emptied {
        Emptied { noted: Latch::new(os, LatchKind::Innermost, BTreeMap::new()) }
    }

    /// A block of the segment with this header may be empty.
    pub fn note(&self, header: Dba, block: Dba, from: Option<EmptyFrom>, session: &Session) {
        let mut noted = self.noted.exclusive(session);
        let of_segment = noted.entry(header).or_default();
        let is_full = of_segment.blocks.len() >= BLOCKS_MAX;
        match of_segment.blocks.entry(block) {
            btree_map::Entry::Occupied(mut place) => _ = place.insert(from),
            btree_map::Entry::Vacant(place) if !is_full => _ = place.insert(from),
            btree_map::Entry::Vacant(_) => of_segment.forget(),
        }
    }

    /// How many are noted.
    pub fn count(&self, header: Dba, session: &Session) -> u32 {
        let noted = self.noted.exclusive(session);
        noted.get(&header).map_or(0, |noted| noted.blocks.len() as u32)
    }

    /// Where those are who look at all in turn.
    pub fn hand(&self, header: Dba, session: &Session) -> Hand {
        let noted = self.noted.exclusive(session);
        noted.get(&header).map_or(Hand::Begins, |noted| noted.hand.clone())
    }

    /// They are here now. If some were forgotten meanwhile, they begin again instead of resting.
    pub fn set_hand(&self, header: Dba, hand: Hand, session: &Session) {
        let mut noted = self.noted.exclusive(session);
        let of_segment = noted.entry(header).or_default();
        of_segment.hand = hand;
        if of_segment.hand == Hand::Rests && std::mem::take(&mut of_segment.forgot) {
            of_segment.hand = Hand::Begins;
        }
    }

    /// The next one in turn that was noted.
    pub fn next(&self, header: Dba, session: &Session) -> Option<Dba> {
        let mut noted = self.noted.exclusive(session);
        let of_segment = noted.get_mut(&header)?;
        let behind = of_segment.last.map_or(Bound::Unbounded, Bound::Excluded);
        let next = of_segment.blocks.range((behind, Bound::Unbounded)).next();
        of_segment.last = next.or_else(|| of_segment.blocks.first_key_value()).map(|(at, _)| *at);
        of_segment.last
    }

    /// It isn't noted any more. Whether it was; and from when on it was empty, if that was said.
    pub fn take(&self, header: Dba, block: Dba, session: &Session) -> Option<Option<EmptyFrom>> {
        self.noted.exclusive(session).get_mut(&header)?.blocks.remove(&block)
    }

    /// The segment with this header is gone.
    pub(crate) fn forget(&self, header: Dba, session: &Session) {
        self.noted.exclusive(session).remove(&header);
    }
}

impl Noted {
    /// A block isn't noted, for there are too many.
    fn forget(&mut self) {
        match self.hand {
            Hand::Rests => self.hand = Hand::Begins,
            _ => self.forgot = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use sim::Simulation;

    use super::*;

    /// Who looks at all in turn may rest until some are forgotten, and begins again then.
    #[test]
    fn what_is_forgotten_is_looked_for_again() {
        let report = Simulation::new(1).run(|_, session| {
            let (emptied, header) = (Emptied::new(session.os()), Dba::new(1, 8));
            let note = |block| emptied.note(header, Dba::new(1, block), None, session);
            let hand = || emptied.hand(header, session);
            assert_eq!(hand(), Hand::Begins);
            emptied.set_hand(header, Hand::Rests, session);
            (0..BLOCKS_MAX as u32).for_each(note);
            // It is noted already.
            note(0);
            assert_eq!(hand(), Hand::Rests);
            note(BLOCKS_MAX as u32);
            assert_eq!((hand(), emptied.count(header, session)), (Hand::Begins, BLOCKS_MAX as u32));
            let before = Hand::Before(Dba::new(1, 9), vec![1]);
            emptied.set_hand(header, before.clone(), session);
            note(BLOCKS_MAX as u32);
            assert_eq!(hand(), before);
            // That one was forgotten while they were on the way: twice around, and no more.
            emptied.set_hand(header, Hand::Rests, session);
            assert_eq!(hand(), Hand::Begins);
            emptied.set_hand(header, Hand::Rests, session);
            assert_eq!(hand(), Hand::Rests);
        });
        report.result.expect("all holds");
    }
}
