//! The outline of a block: where its slots and their bytes lie. Blocks of one object look alike, so
//! the outline of one is a guess at all others, by which cache lines are prefetched before the
//! block itself says where they are.
//!
//! The guess is right for slots that were filled in order with about the same number of bytes each:
//! ascending keys, rows of about one length, and slots that were moved together. Otherwise some
//! lines are fetched for nothing.
//!
//! Callers: readers that look at one slot of a block.

use format::{DataHead, DataSlot, ItlEntry};
use latch::Guess;
use os::CACHE_LINE;
use txn::block;

/// One block in this many gives its outline: a word that every reader wrote to would stay in no
/// processor's cache.
const ASKED: u32 = 64;

/// Offsets, in a block, of lines to prefetch.
pub(crate) type Offsets = [usize; 4];

/// Where a block's slots are, and the bytes of the first and of the last of them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Outline {
    /// The offset of the first slot in the block.
    directory: u16,
    count: u16,
    first: u16,
    last: u16,
}

impl Outline {
    /// The outline that was stored last.
    #[inline]
    pub(crate) fn guessed(guess: &Guess) -> Outline {
        let packed = guess.load();
        let part = |at: u32| (packed >> at) as u16;
        Outline { directory: part(0), count: part(16), first: part(32), last: part(48) }
    }

    /// Stores the outline of this block, from slot `from` on, if it is one of those that give
    /// theirs. `number` is the block's in its file.
    #[inline]
    pub(crate) fn guess(guess: &Guess, number: u32, block: &[u8], from: u16) {
        if number.is_multiple_of(ASKED) {
            guess.store(Outline::of(block, from).pack());
        }
    }

    fn of(block: &[u8], from: u16) -> Outline {
        let list = usize::from(block::entries(block)) * ItlEntry::BYTES;
        let directory = DataHead::LIST + list + usize::from(from) * DataSlot::BYTES;
        let slots = block::directory(block).get(usize::from(from)..).unwrap_or_default();
        let at = |slot: Option<&DataSlot>| slot.map_or(0, |slot| slot.at.get());
        let (count, first, last) = (slots.len() as u16, at(slots.first()), at(slots.last()));
        Outline { directory: directory as u16, count, first, last }
    }

    fn pack(self) -> u64 {
        let parts = [self.directory, self.count, self.first, self.last];
        parts.into_iter().rev().fold(0, |packed, part| packed << u16::BITS | u64::from(part))
    }

    /// How many slots there are.
    #[inline]
    pub(crate) fn count(self) -> u16 {
        self.count
    }

    /// The offsets that a reader of a slot is likely to read: the slot itself, its first bytes,
    /// those of its neighbour or in the next line, and its last.
    #[inline]
    pub(crate) fn offsets(self, slot: u16) -> Offsets {
        let (first, way) = (i64::from(self.first), i64::from(self.last) - i64::from(self.first));
        let steps = i64::from(self.count).max(2) - 1;
        let at = (first + way * i64::from(slot) / steps).max(0) as usize;
        let length = (way / steps).unsigned_abs() as usize;
        let directory = usize::from(self.directory) + usize::from(slot) * DataSlot::BYTES;
        [directory, at, at + (2 * length).min(CACHE_LINE), at + length]
    }
}

#[cfg(test)]
mod tests {
    use format::BlockKind;
    use ids::Dba;

    use super::*;

    /// A block with rows of 100 bytes, placed one below the other.
    fn block() -> Vec<u8> {
        let mut block = vec![0; 8 << 10];
        block::create(&mut block, BlockKind::Heap, Dba::new(1, ASKED), 7, 3);
        for number in 0..50 {
            assert_eq!(block::add_slot(&mut block), number);
            block::place(&mut block, number, &[&[number as u8; 100]]);
        }
        block
    }

    #[test]
    fn a_slot_is_where_a_block_like_it_has_it() {
        let (block, guess) = (block(), Guess::default());
        Outline::guess(&guess, ASKED + 1, &block, 0);
        assert_eq!(Outline::guessed(&guess), Outline::default(), "not every block is asked");
        for from in [0, 2] {
            Outline::guess(&guess, ASKED, &block, from);
            let outline = Outline::guessed(&guess);
            assert_eq!(outline.count(), 50 - from);
            for slot in from..50 {
                let [directory, first, .., last] = outline.offsets(slot - from);
                let slot = block::slot(&block, slot);
                assert_eq!(*DataSlot::at(&block, directory), slot);
                assert_eq!((first, last), (slot.at.get().into(), first + 100));
            }
        }
    }

    #[test]
    fn any_block_can_be_asked_and_any_slot_looked_for() {
        let mut block = block();
        for keep in [50, 1, 0] {
            while block::slots(&block) > keep {
                let last = block::slots(&block) - 1;
                block::release(&mut block, last);
                block::remove_slot(&mut block, last);
            }
            for from in [0, 2] {
                let outline = Outline::of(&block, from);
                assert_eq!(outline.count(), keep.saturating_sub(from));
                for slot in (0..500).chain([u16::MAX]) {
                    outline.offsets(slot);
                }
            }
        }
    }
}
