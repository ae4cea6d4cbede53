//! Shortcuts: where the blocks of an index begin, remembered in memory, so that a search needn't
//! come from the root.
//!
//! ```text
//!   lows     0 │ 40 │ 80 │ 120 │ …      in order; numbers of keys (`Position::number`)
//!   blocks   A │ B  │ C  │ D   │ …      mostly leaves; D covers the keys from 120 on, or did so
//! ```
//!
//! A shortcut is a guess (BT41). A search that follows one looks at the fences of the block it
//! comes to, as from any address that it remembers (BT27): so a shortcut may be old, or be read
//! while another session writes it. A table is learned from the branches, and again when enough
//! searches had no shortcut or a wrong one.
//!
//! Invariants
//!   * a result never depends on what is here, only how soon it is found
//!   * a search that has a right shortcut writes nothing that sessions share
//!
//! Callers: `find`, for readers.

use std::fmt;

use cache::{Cache, Get};
use ids::Dba;
use latch::{FrameOrder, Guess};
use os::{MadeOnce, Session};

use super::node::{Node, Share, partition_point_near};

/// Shortcuts of an index at most. A larger index has shortcuts to branches.
const SHORTCUTS_MAX: usize = 8_192;
/// The shortcuts of the smallest table. Each further one has twice as many.
const TABLE_MIN: usize = 256;
/// Lows that a search looks at first: so many, evenly spaced among all.
const SAMPLES: usize = 32;
const TABLES: usize = (SHORTCUTS_MAX / TABLE_MIN).ilog2() as usize + 1;

/// As long as there are no shortcuts, one search in this many is counted, and always one that had a
/// wrong one.
const COUNTED: u64 = 8;
/// Otherwise one search in this many is counted that had no shortcut. Some keys never have one.
const COUNTED_RARELY: u64 = 64;
/// A counted search pays for the learning of so many shortcuts.
const LEARNED_PER_COUNTED: u64 = 2;
/// So many counted searches at least come before each learning: an index that is hardly searched
/// learns nothing.
const COUNTED_MIN: u64 = 4;
/// An index of one block is looked at again after so many counted searches.
const ALONE: u64 = 16;

/// More levels than an index has.
const LEVELS_MAX: u32 = 32;

/// In a word of `Table::blocks`: the block was a leaf.
const IS_LEAF: u64 = 1 << 63;
/// In a word of `Table::blocks`: a key with the number of the low may lie before the low.
const IS_LONGER: u64 = 1 << 62;
/// As `Shortcuts::in_use`: a table without shortcuts.
const NONE: u64 = 1;

/// What an index remembers of its blocks.
#[derive(Default)]
pub(super) struct Shortcuts {
    /// Made when they are first needed, and kept.
    tables: [MadeOnce<Table>; TABLES],
    /// Some of the lows: whole numbers of different lengths, for instance, lie unevenly.
    samples: [Guess; SAMPLES],
    /// The number of shortcuts in the lower half, the table that has them in the upper; 0 if none
    /// were learned.
    in_use: Guess,
    /// Counted searches since the last learning.
    misses: Guess,
    /// How many of these there are to be before the next.
    misses_max: Guess,
}

struct Table {
    lows: Box<[Guess]>,
    /// Packed addresses, with the flags `IS_LEAF` and `IS_LONGER`.
    blocks: Box<[Guess]>,
}

/// Where a search may begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shortcut {
    pub(super) block: Dba,
    /// How far through the block's entries the key is likely to be.
    pub(super) share: Share,
    pub(super) is_leaf: bool,
}

/// A shortcut that is being learned.
#[derive(Clone, Copy)]
struct Learned {
    low: u64,
    block: Dba,
    flags: u64,
}

impl Shortcuts {
    /// The shortcut for a key with this number. None if none is known, or the number doesn't tell
    /// on which side of a low the key is, or the shortcut would lead to the last block: where keys
    /// ascend that is soon split.
    #[inline]
    pub(super) fn find(&self, number: u64) -> Option<Shortcut> {
        let in_use = self.in_use.load();
        let table = self.tables.get((in_use >> u32::BITS) as usize)?.get()?;
        let count = in_use as u32 as usize;
        let (lows, blocks) = (table.lows.get(..count)?, table.blocks.get(..count)?);
        let guess = self.guess(number, lows);
        let behind = partition_point_near(count, guess, |at| lows[at].load() <= number);
        let (at, next) = (behind.checked_sub(1)?, lows.get(behind)?);
        let (block, low) = (blocks[at].load(), lows[at].load());
        // A word that another session hasn't written yet names no block.
        if block == 0 || low == number && block & IS_LONGER != 0 {
            return None;
        }
        Some(Shortcut {
            block: Dba::unpack(block & !(IS_LEAF | IS_LONGER))?,
            share: Share::between(number, low, next.load()),
            is_leaf: block & IS_LEAF != 0,
        })
    }

    /// About how many of these lows aren't above a number.
    #[inline]
    fn guess(&self, number: u64, lows: &[Guess]) -> usize {
        let samples = self.samples.iter().filter(|sample| sample.load() <= number).count();
        let (from, to) = (place(samples.saturating_sub(1), lows.len()), place(samples, lows.len()));
        // The first low is below every key, so it says nothing of how keys lie.
        let at = |place: usize| lows.get(place).or(lows.last()).map_or(0, Guess::load);
        let (low, high) = (at(from.max(1)), at(to));
        from.max(1) + Share::between(number, low, high).of(to.saturating_sub(from.max(1)))
    }

    /// Counts a search for a key with this number that had no shortcut. Returns whether it is time
    /// to learn.
    #[inline]
    pub(super) fn missed(&self, number: u64) -> bool {
        let one_in = if self.in_use.load() == 0 { COUNTED } else { COUNTED_RARELY };
        is_counted(number, one_in) && self.count()
    }

    /// Counts a search for a key with this number that had a wrong shortcut. If it is time to
    /// learn, there are no shortcuts until a session has.
    #[cold]
    pub(super) fn misled(&self, number: u64) {
        if is_counted(number, COUNTED) && self.count() {
            self.in_use.store(0);
        }
    }

    /// Counts a search. Returns whether it is time to learn.
    fn count(&self) -> bool {
        let misses = self.misses.load() + 1;
        self.misses.store(misses);
        misses > self.misses_max.load().saturating_add(COUNTED_MIN)
    }

    /// Learns the shortcuts of the index with this root from the blocks that are in the cache. The
    /// caller holds no latch.
    #[cold]
    pub(super) fn learn(&self, cache: &Cache, object: u32, root: Dba, session: &Session) {
        // Other sessions go on without.
        self.misses.store(0);
        self.misses_max.store(u64::MAX);
        let mut all = vec![Learned { low: 0, block: root, flags: 0 }];
        for _ in 0..LEVELS_MAX {
            let Some(below) = next_level(&all, cache, object, session) else { break };
            all = below;
        }
        let misses_max = match &all[..] {
            [_] => {
                self.in_use.store(NONE);
                ALONE
            }
            all => {
                self.write(all);
                all.len() as u64 / LEARNED_PER_COUNTED
            }
        };
        self.misses.store(0);
        self.misses_max.store(misses_max);
    }

    /// Writes a table.
    fn write(&self, all: &[Learned]) {
        let number = all.len().div_ceil(TABLE_MIN).next_power_of_two().ilog2() as usize;
        let table = self.tables[number].get_or_make(TABLE_MIN << number, Table::new);
        self.in_use.store(0);
        for (at, learned) in all.iter().enumerate() {
            table.lows[at].store(learned.low);
            table.blocks[at].store(learned.block.pack() | learned.flags);
        }
        for (at, sample) in self.samples.iter().enumerate() {
            sample.store(all[place(at, all.len())].low);
        }
        self.in_use.store((number as u64) << u32::BITS | all.len() as u64);
    }
}

/// Whether a search for a key with this number is one of those that are counted, of which there is
/// one in `one_in`: sessions share the count, so most of them don't write to it.
#[inline]
fn is_counted(number: u64, one_in: u64) -> bool {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    number.wrapping_mul(GOLDEN) >> (u64::BITS - one_in.ilog2()) == 0
}

/// The place of a sample among `count` lows.
#[inline]
fn place(sample: usize, count: usize) -> usize {
    sample * count / SAMPLES
}

impl Table {
    fn new(shortcuts: usize) -> Table {
        let words = || (0..shortcuts).map(|_| Guess::default()).collect();
        Table { lows: words(), blocks: words() }
    }
}

/// The shortcuts with those below in place of each branch; none if there are none below. A branch
/// that isn't in the cache stays, and those for whose blocks there is no room.
fn next_level(
    all: &[Learned],
    cache: &Cache,
    object: u32,
    session: &Session,
) -> Option<Vec<Learned>> {
    let mut below = Vec::with_capacity(all.len());
    for (at, learned) in all.iter().enumerate() {
        let room = SHORTCUTS_MAX - below.len() - (all.len() - at);
        let before = below.len();
        push_below(learned, room, &mut below, cache, object, session);
        if below.len() == before {
            below.push(*learned);
        }
    }
    let is_same = below.len() == all.len()
        && below.iter().zip(all).all(|(below, above)| below.block == above.block);
    (!is_same).then_some(below)
}

/// Appends shortcuts to the blocks below a branch, if there is room.
fn push_below(
    learned: &Learned,
    room: usize,
    below: &mut Vec<Learned>,
    cache: &Cache,
    object: u32,
    session: &Session,
) {
    if learned.flags & IS_LEAF != 0 {
        return;
    }
    let Some(pin) = cache.pin_cached_for(Get::Consistent, learned.block, session) else { return };
    let block = pin.shared(FrameOrder::Branch, session);
    let Some(node) = Node::of(&block, object).filter(|node| node.level() > 0) else { return };
    if usize::from(node.count()) > room {
        return;
    }
    let leaf = if node.level() == 1 { IS_LEAF } else { 0 };
    below.extend((0..node.count()).map(|number| {
        let block = node.child(number);
        // The first begins where the branch does, whatever its entry says.
        if number == 0 {
            return Learned { low: learned.low, block, flags: learned.flags | leaf };
        }
        let low = node.position(number);
        let longer = if low.is_number() { 0 } else { IS_LONGER };
        Learned { low: low.number(), block, flags: longer | leaf }
    }));
}

impl fmt::Debug for Shortcuts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shortcuts({})", self.in_use.load() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortcut_that_is_not_written_yet_leads_nowhere() {
        let shortcuts = Shortcuts::default();
        let table = shortcuts.tables[0].get_or_make(TABLE_MIN, Table::new);
        table.lows[1].store(10);
        shortcuts.in_use.store(2);
        assert_eq!(shortcuts.find(5), None);
        table.blocks[0].store(Dba::new(1, 7).pack());
        assert_eq!(shortcuts.find(5).map(|found| found.block), Some(Dba::new(1, 7)));
    }
}
