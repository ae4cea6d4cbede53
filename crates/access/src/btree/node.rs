//! Reading a block of an index.
//!
//! ```text
//!   header │ head │ interested transactions (leaf) │ slots: low fence, high fence, entries …
//! ```
//!
//! Invariants (held by `check`)
//!   * low fence <= every entry < high fence; an end without a fence is the end of the index
//!   * entries are in strict order; in a unique leaf no two have the same key
//!   * a branch has an entry, and its first entry is its low fence, or lower
//!
//! Callers: this module's files.
//! Source: Graefe, Modern B-Tree Techniques (2011), of interpolation search.

use cache::is_unwritten;
use format::{BlockHeader, BlockKind, DataHead, DataSlot, DbaLe};
use ids::Dba;

use super::position::{BLOCK_BYTES, Position, Probe, block_from};

/// Slots before the first entry: the fences.
pub(super) const FENCES: u16 = 2;
/// Flag of a slot that has an entry, or a fence.
pub(super) const ENTRY: u8 = 1;
/// Flag of an entry that is deleted. It stays until that is committed and its space is needed.
pub(super) const MARKED: u8 = 2;
/// Flag of a fence or a separator that has a row.
pub(super) const WITH_ROW: u8 = 4;
/// `own[0]` of the head of every block of a unique index.
pub(super) const UNIQUE: u8 = 1;

/// A block of an index.
#[derive(Clone, Copy)]
pub(super) struct Node<'a>(pub(super) &'a [u8]);

/// Where to go from a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// It is the one.
    Here,
    /// To the right neighbour.
    Right(Dba),
    /// To this block, a level below.
    Down(Dba),
    /// It isn't to the right or below.
    Lost,
}

impl<'a> Node<'a> {
    /// The block, if it is one of this object.
    #[inline]
    pub(super) fn of(block: &'a [u8], object: u32) -> Option<Node<'a>> {
        let head = DataHead::at(block, DataHead::START);
        if head.object.get() != object || is_unwritten(block) {
            return None;
        }
        let kind = if head.level == 0 { BlockKind::Leaf } else { BlockKind::Branch };
        (BlockHeader::at(block, 0).kind() == kind).then_some(Node(block))
    }

    #[inline]
    fn head(&self) -> &'a DataHead {
        DataHead::at(self.0, DataHead::START)
    }

    /// 0 for a leaf.
    #[inline]
    pub(super) fn level(&self) -> u8 {
        self.head().level
    }

    pub(super) fn object(&self) -> u32 {
        self.head().object.get()
    }

    #[inline]
    pub(super) fn is_unique(&self) -> bool {
        self.head().own[0] & UNIQUE != 0
    }

    pub(super) fn next(&self) -> Option<Dba> {
        let next = self.head().next;
        (next != DbaLe::NONE).then(|| next.get())
    }

    /// Where its entries begin, if there are others to the left.
    #[inline]
    pub(super) fn low(&self) -> Option<Position<'a>> {
        self.fence(0)
    }

    /// Where its right neighbour begins.
    #[inline]
    pub(super) fn high(&self) -> Option<Position<'a>> {
        self.fence(1)
    }

    #[inline]
    fn fence(&self, number: u16) -> Option<Position<'a>> {
        let slot = block::slot(self.0, number);
        let is_there = slot.flags & ENTRY != 0;
        is_there.then(|| Position::read(self.bytes(slot), slot.flags & WITH_ROW != 0))
    }

    /// How many entries there are.
    #[inline]
    pub(super) fn count(&self) -> u16 {
        block::slots(self.0) - FENCES
    }

    /// Slot of entry `number`, from 0.
    #[inline]
    pub(super) fn slot(&self, number: u16) -> DataSlot {
        block::slot(self.0, number + FENCES)
    }

    /// A slot's bytes.
    #[inline]
    pub(super) fn bytes(&self, slot: DataSlot) -> &'a [u8] {
        block::bytes_of(self.0, slot)
    }

    /// Place of entry `number`: in a leaf with a row, in a branch where the block below begins.
    #[inline]
    pub(super) fn place(&self, number: u16) -> Position<'a> {
        let slot = self.slot(number);
        let bytes = self.bytes(slot);
        match self.level() {
            0 => Position::of_entry(bytes),
            _ => Position::read(&bytes[BLOCK_BYTES..], slot.flags & WITH_ROW != 0),
        }
    }

    /// The block below of entry `number`.
    #[inline]
    pub(super) fn child(&self, number: u16) -> Dba {
        block_from(self.bytes(self.slot(number)))
    }

    /// Whether what is looked for lies between the fences.
    #[inline]
    pub(super) fn covers(&self, probe: Probe<'_>) -> bool {
        !self.low().is_some_and(|low| probe.is_left_of(low))
            && self.high().is_none_or(|high| probe.is_left_of(high))
    }

    /// Where to go to the block on `level` that covers what is looked for.
    #[inline]
    pub(super) fn step(&self, probe: Probe<'_>, level: u8) -> Step {
        if self.low().is_some_and(|low| probe.is_left_of(low)) || self.level() < level {
            return Step::Lost;
        }
        if self.high().is_some_and(|high| !probe.is_left_of(high)) {
            return self.next().map_or(Step::Lost, Step::Right);
        }
        match self.level() == level {
            true => Step::Here,
            false => Step::Down(self.child_for(probe)),
        }
    }

    /// The block below that covers what is looked for, which is between the fences.
    #[inline]
    fn child_for(&self, probe: Probe<'_>) -> Dba {
        let slots = self.entries();
        let is_before = |slot: &DataSlot| {
            let place = &self.bytes(*slot)[BLOCK_BYTES..];
            !probe.is_left_of_stored(place, slot.flags & WITH_ROW != 0)
        };
        // The first begins where the block does, whatever it says.
        let slots_but_first = &slots[1..];
        let guess = self.guess(probe.number(), slots_but_first.len());
        block_from(self.bytes(slots[partition_point_near(slots_but_first, guess, is_before)]))
    }

    /// Number of the first entry that isn't before this place.
    #[inline]
    pub(super) fn lower_bound(&self, at: Position<'_>) -> u16 {
        let slots = self.entries();
        let guess = self.guess(at.number(), slots.len());
        let found = match self.level() {
            0 => partition_point_near(slots, guess, |slot| {
                at.cmp_stored(self.bytes(*slot), true).is_gt()
            }),
            _ => partition_point_near(slots, guess, |slot| {
                let place = &self.bytes(*slot)[BLOCK_BYTES..];
                at.cmp_stored(place, slot.flags & WITH_ROW != 0).is_gt()
            }),
        };
        found as u16
    }

    /// About where an entry would be, if keys lay evenly between the fences. A probe of a block
    /// that isn't in the processor's cache waits for memory; the fences have been read.
    #[inline]
    fn guess(&self, number: u64, count: usize) -> usize {
        let low = self.low().map_or(0, |low| low.number());
        let Some(high) = self.high() else { return count / 2 };
        let (from_low, width) = (number.saturating_sub(low), high.number().saturating_sub(low));
        // So that a product with a count, of 16 bits, has room.
        let shift = u16::BITS.saturating_sub(width.leading_zeros());
        match width >> shift {
            0 => count / 2,
            width => (((from_low >> shift) * count as u64 / width) as usize).min(count),
        }
    }

    /// Slots of the entries.
    #[inline]
    fn entries(&self) -> &'a [DataSlot] {
        &block::directory(self.0)[usize::from(FENCES)..]
    }

    /// In a leaf: where the entry is, or would be; in a unique leaf the one of this key, whatever
    /// its row.
    pub(super) fn find(&self, entry: Position<'_>) -> Result<u16, u16> {
        let at = match self.is_unique() {
            true => Position { key: entry.key, row: None },
            false => entry,
        };
        let number = self.lower_bound(at);
        let is_it = number < self.count() && {
            let found = self.place(number);
            found.key == entry.key && (self.is_unique() || found.row == entry.row)
        };
        if is_it { Ok(number) } else { Err(number) }
    }
}

/// As `partition_point` of the slots, searched from a guess in steps that double.
#[inline]
fn partition_point_near(
    slots: &[DataSlot],
    guess: usize,
    is_before: impl Fn(&DataSlot) -> bool,
) -> usize {
    let (mut low, mut high) = (0, slots.len());
    let mut at = guess;
    let mut step = 1;
    // Below `low` all are before, from `high` on none is.
    if at < high && is_before(&slots[at]) {
        low = at + 1;
        at += step;
        while at < high && is_before(&slots[at]) {
            low = at + 1;
            step *= 2;
            at += step;
        }
        high = high.min(at);
    } else {
        high = at;
        while let Some(before) = at.checked_sub(step) {
            if is_before(&slots[before]) {
                low = before + 1;
                break;
            }
            high = before;
            at = before;
            step *= 2;
        }
    }
    low + slots[low..high].partition_point(is_before)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn any_guess_leads_to_the_same_place(
            count in 0..256_usize,
            before: u8,
            guess in 0..256_usize,
        ) {
            let before = u8::min(before, count as u8);
            let slots: Vec<DataSlot> =
                (0..count).map(|at| DataSlot { lock: at as u8, ..DataSlot::FREE }).collect();
            let is_before = |slot: &DataSlot| slot.lock < before;
            let found = partition_point_near(&slots, guess.min(count), is_before);
            prop_assert_eq!(found, slots.partition_point(is_before));
        }
    }
}
