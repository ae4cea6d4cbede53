//! Which blocks of a segment may have become empty: whoever empties one notes it, and whoever wants
//! a block looks at some that were noted.
//!
//! Known in memory only, and never the truth: who is given one looks at it. What is forgotten, by a
//! restart or because there are too many, stays in use and is no less right.
//!
//! Callers: `access`.

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
}

impl Emptied {
    pub(crate) fn new(os: &Os) -> Emptied {
        Emptied { noted: Latch::new(os, LatchKind::Innermost, BTreeMap::new()) }
    }

    /// A block of the segment with this header may be empty.
    pub fn note(&self, header: Dba, block: Dba, from: Option<EmptyFrom>, session: &Session) {
        let mut noted = self.noted.exclusive(session);
        let blocks = &mut noted.entry(header).or_default().blocks;
        let is_full = blocks.len() >= BLOCKS_MAX;
        match blocks.entry(block) {
            btree_map::Entry::Occupied(mut place) => _ = place.insert(from),
            btree_map::Entry::Vacant(place) if !is_full => _ = place.insert(from),
            btree_map::Entry::Vacant(_) => {}
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

    /// It isn't noted any more; from when on it was empty, if that was said.
    pub fn take(&self, header: Dba, block: Dba, session: &Session) -> Option<EmptyFrom> {
        self.noted.exclusive(session).get_mut(&header)?.blocks.remove(&block).flatten()
    }

    /// The segment with this header is gone.
    pub(crate) fn forget(&self, header: Dba, session: &Session) {
        self.noted.exclusive(session).remove(&header);
    }
}
