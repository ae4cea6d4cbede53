//! Which blocks of a segment may have become empty: a session that empties a block notes it, and a
//! session that needs a block looks at some that were noted.
//!
//! Notes are in memory only, and are hints: a session that gets a block looks at it. A block whose
//! note is forgotten, by a restart or because there are too many, stays in use until the hand,
//! which goes around all blocks, has come to it.
//!
//! The notes are here, below their users, because a rollback in `txn` writes them, `access` reads
//! them, and the drop of a segment clears them.
//!
//! Callers: `access`; `txn`, where a rollback empties a block.

use std::collections::{BTreeMap, btree_map};
use std::ops::Bound;

use ids::{Dba, Scn};
use latch::{Latch, LatchKind};
use os::{Os, Session};

/// How many blocks of a segment are noted at most.
const BLOCKS_MAX: usize = 4_096;

/// The blocks that may have become empty, of each segment by its header.
pub struct Emptied {
    noted: Latch<BTreeMap<Dba, Noted>>,
}

/// What is noted of a block that may be empty.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EmptyNote {
    /// From when on the block is empty, if that is known.
    pub from: Option<EmptyFrom>,
}

/// From when on a block is empty for every snapshot, as long as it has this version. It is kept
/// because it is known less exactly later when transactions ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EmptyFrom {
    /// The SCN and the sequence of the block's last change.
    pub version: (Scn, u32),
    /// The block is empty for snapshots from this SCN on.
    pub scn: Scn,
}

#[derive(Default)]
struct Noted {
    blocks: BTreeMap<Dba, EmptyNote>,
    /// The block that was returned last: blocks take turns.
    last: Option<Dba>,
    hand: Hand,
    /// Whether a note was lost, because there were too many, while the hand went around.
    forgot: bool,
}

/// The position of the hand that goes around all blocks of a segment, for empty ones that aren't
/// noted.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Hand {
    /// The hand is before the first block.
    #[default]
    Begins,
    /// It is before this block, and this position in the terms of the segment's owner.
    Before(Dba, Vec<u8>),
    /// It was at each block, and no note was lost since.
    Rests,
}

impl Emptied {
    pub(crate) fn new(os: &Os) -> Emptied {
        Emptied { noted: Latch::new(os, LatchKind::Innermost, BTreeMap::new()) }
    }

    /// Notes that a block of the segment with this header may be empty.
    pub fn note(&self, header: Dba, block: Dba, note: EmptyNote, session: &Session) {
        let mut noted = self.noted.exclusive(session);
        let of_segment = noted.entry(header).or_default();
        let is_full = of_segment.blocks.len() >= BLOCKS_MAX;
        match of_segment.blocks.entry(block) {
            btree_map::Entry::Occupied(mut noted) => _ = noted.insert(note),
            btree_map::Entry::Vacant(free) if !is_full => _ = free.insert(note),
            btree_map::Entry::Vacant(_) => of_segment.forget(),
        }
    }

    /// How many blocks are noted.
    pub fn count(&self, header: Dba, session: &Session) -> u32 {
        let noted = self.noted.exclusive(session);
        noted.get(&header).map_or(0, |noted| noted.blocks.len() as u32)
    }

    /// Where the hand is.
    pub fn hand(&self, header: Dba, session: &Session) -> Hand {
        let noted = self.noted.exclusive(session);
        noted.get(&header).map_or(Hand::Begins, |noted| noted.hand.clone())
    }

    /// Moves the hand. If a note was lost meanwhile, it begins again instead of resting.
    pub fn set_hand(&self, header: Dba, hand: Hand, session: &Session) {
        let mut noted = self.noted.exclusive(session);
        let of_segment = noted.entry(header).or_default();
        of_segment.hand = hand;
        if of_segment.hand == Hand::Rests && std::mem::take(&mut of_segment.forgot) {
            of_segment.hand = Hand::Begins;
        }
    }

    /// The next noted block in turn.
    pub fn next(&self, header: Dba, session: &Session) -> Option<Dba> {
        let mut noted = self.noted.exclusive(session);
        let of_segment = noted.get_mut(&header)?;
        let behind = of_segment.last.map_or(Bound::Unbounded, Bound::Excluded);
        let next = of_segment.blocks.range((behind, Bound::Unbounded)).next();
        of_segment.last = next.or_else(|| of_segment.blocks.first_key_value()).map(|(at, _)| *at);
        of_segment.last
    }

    /// Removes the note of a block, and returns it; none if there was none.
    pub fn take(&self, header: Dba, block: Dba, session: &Session) -> Option<EmptyNote> {
        self.noted.exclusive(session).get_mut(&header)?.blocks.remove(&block)
    }

    /// Forgets the notes of the segment with this header, which is dropped.
    pub(crate) fn forget(&self, header: Dba, session: &Session) {
        self.noted.exclusive(session).remove(&header);
    }
}

impl Noted {
    /// Remembers that a note was lost.
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

    /// The hand rests until a note is lost, and begins again then.
    #[test]
    fn the_hand_looks_for_blocks_whose_notes_were_lost() {
        let report = Simulation::new(1).run(|_, session| {
            let (emptied, header) = (Emptied::new(session.os()), Dba::new(1, 8));
            let note =
                |block| emptied.note(header, Dba::new(1, block), EmptyNote::default(), session);
            let hand = || emptied.hand(header, session);
            assert_eq!(hand(), Hand::Begins);
            emptied.set_hand(header, Hand::Rests, session);
            (0..BLOCKS_MAX as u32).for_each(note);
            // This block is noted already.
            note(0);
            assert_eq!(hand(), Hand::Rests);
            note(BLOCKS_MAX as u32);
            assert_eq!((hand(), emptied.count(header, session)), (Hand::Begins, BLOCKS_MAX as u32));
            let before = Hand::Before(Dba::new(1, 9), vec![1]);
            emptied.set_hand(header, before.clone(), session);
            note(BLOCKS_MAX as u32);
            assert_eq!(hand(), before);
            // The note was lost while the hand was on its way: it goes around twice, and no more.
            emptied.set_hand(header, Hand::Rests, session);
            assert_eq!(hand(), Hand::Begins);
            emptied.set_hand(header, Hand::Rests, session);
            assert_eq!(hand(), Hand::Rests);
        });
        report.result.expect("all holds");
    }
}
