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
use txn::block;

use super::position::{BLOCK_BYTES, Position, Probe, block_from};
use crate::outline::{Outline, Places};

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
/// Flag beside it, of a leaf: entries were purged, at some time since its list was empty.
pub(super) const PURGED: u8 = 2;

/// A block of an index.
#[derive(Clone, Copy)]
pub(super) struct Node<'a>(pub(super) &'a [u8]);

/// Where to go from a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// It is the one; what is looked for is near the entry of this number.
    Here(u16),
    /// To the right neighbour.
    Right(Dba),
    /// To this block, a level below; and about how far on it is there.
    Down(Dba, Share),
    /// It isn't to the right or below.
    Lost,
}

/// How far on something lies on the way from one place to another, if keys lie evenly between
/// them: of 65,536 parts. A guess.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Share(u16);

impl Share {
    const HALF: Share = Share(1 << 15);

    /// All are numbers of keys.
    #[inline]
    fn between(number: u64, (low, high): (u64, u64)) -> Share {
        let (from_low, width) = (number.saturating_sub(low), high.saturating_sub(low));
        // So that there is room for 16 bits more.
        let shift = u16::BITS.saturating_sub(width.leading_zeros());
        match width >> shift {
            0 => Share::HALF,
            width => {
                let parts = ((from_low >> shift).min(width) << u16::BITS) / width;
                Share(parts.min(u16::MAX.into()) as u16)
            }
        }
    }

    /// What is likely to be read in a leaf that looks so.
    #[inline]
    pub(super) fn places(self, outline: Outline) -> Places {
        outline.places(self.of(outline.count().into()) as u16)
    }

    /// As much of so many.
    #[inline]
    fn of(self, count: usize) -> usize {
        (usize::from(self.0) * count + (1 << (u16::BITS - 1))) >> u16::BITS
    }
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
        self.head().own.get() & u16::from(UNIQUE) != 0
    }

    /// Whether undo may have entries of the leaf that aren't there, for snapshots (BT13).
    pub(super) fn was_purged(&self) -> bool {
        self.head().own.get() & u16::from(PURGED) != 0
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
    #[inline(always)] // A scan does little else for each entry.
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

    /// Where to go to the block on `level` that covers what is looked for, which is about so far
    /// on in this one. Fences lie elsewhere in memory: they are read only if entries on both sides
    /// don't say already that it is between them.
    #[inline]
    pub(super) fn step(&self, probe: Probe<'_>, level: u8, share: Option<Share>) -> Step {
        if self.level() < level {
            return Step::Lost;
        }
        // A branch's first begins where the block does, whatever it says.
        let slots = &self.entries()[usize::from(self.level() > 0)..];
        let share = share.unwrap_or_else(|| self.share(probe.number()));
        let stored = self.stored();
        let is_before = |slot: &DataSlot| {
            let (bytes, with_row) = stored(*slot);
            !probe.is_left_of_stored(bytes, with_row)
        };
        let found = partition_point_near(slots, share.of(slots.len()), is_before);
        if found == 0 && self.low().is_some_and(|low| probe.is_left_of(low)) {
            return Step::Lost;
        }
        if found == slots.len() && self.high().is_some_and(|high| !probe.is_left_of(high)) {
            return self.next().map_or(Step::Lost, Step::Right);
        }
        match self.level() == level {
            true => Step::Here(found as u16),
            false => self.down(found as u16, probe.number()),
        }
    }

    /// To the block below of entry `entry`, and how far on a key is there.
    #[inline]
    fn down(&self, entry: u16, number: u64) -> Step {
        let from = self.place(entry).number();
        let to = match entry + 1 < self.count() {
            true => Some(self.place(entry + 1)),
            false => self.high(),
        };
        let share = to.map_or(Share::HALF, |to| Share::between(number, (from, to.number())));
        Step::Down(self.child(entry), share)
    }

    /// Number of the first entry that isn't before this place.
    #[inline]
    pub(super) fn lower_bound(&self, at: Position<'_>) -> u16 {
        let share = self.share(at.number());
        self.lower_bound_near(at, share.of(self.count().into()) as u16)
    }

    /// The same, looked for first at entry `near`.
    #[inline]
    pub(super) fn lower_bound_near(&self, at: Position<'_>, near: u16) -> u16 {
        let stored = self.stored();
        let is_before = |slot: &DataSlot| {
            let (bytes, with_row) = stored(*slot);
            at.cmp_stored(bytes, with_row).is_gt()
        };
        partition_point_near(self.entries(), near.into(), is_before) as u16
    }

    /// How far on a key is between the fences. A probe of a block that isn't in the processor's
    /// cache waits for memory: so it is worth a guess.
    #[inline]
    fn share(&self, number: u64) -> Share {
        let low = self.low().map_or(0, |low| low.number());
        self.high().map_or(Share::HALF, |high| Share::between(number, (low, high.number())))
    }

    /// Slots of the entries.
    #[inline]
    fn entries(&self) -> &'a [DataSlot] {
        &block::directory(self.0)[usize::from(FENCES)..]
    }

    /// Gives an entry's place as it is stored, and whether it has a row.
    #[inline(always)]
    fn stored(&self) -> impl Fn(DataSlot) -> (&'a [u8], bool) + 'a {
        let node = *self;
        let (skipped, row_flag) = if self.level() == 0 { (0, WITH_ROW) } else { (BLOCK_BYTES, 0) };
        move |slot| (&node.bytes(slot)[skipped..], (slot.flags | row_flag) & WITH_ROW != 0)
    }

    /// In a leaf: where the entry is, or would be; in a unique leaf the one of this key, whatever
    /// its row.
    pub(super) fn find(&self, entry: Position<'_>) -> Result<u16, u16> {
        let number = self.lower_bound(entry.looked_for(self.is_unique()));
        let is_it = number < self.count() && {
            let found = self.place(number);
            found.key == entry.key && (self.is_unique() || found.row == entry.row)
        };
        if is_it { Ok(number) } else { Err(number) }
    }
}

/// As `partition_point` of the slots, searched from any guess in steps that double.
#[inline]
fn partition_point_near(
    slots: &[DataSlot],
    guess: usize,
    is_before: impl Fn(&DataSlot) -> bool,
) -> usize {
    let (mut low, mut high) = (0, slots.len());
    let mut at = guess.min(slots.len());
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
        fn a_share_is_as_far_on_as_the_key(low: u64, width: u64, from_low: u64, count: u16) {
            let (width, from_low) = (width.min(u64::MAX - low), from_low.min(width));
            let number = low + from_low.min(width);
            let found = Share::between(number, (low, low + width)).of(count.into()) as f64;
            let even = match width {
                0 => 0.5,
                _ => (number - low) as f64 / width as f64,
            };
            prop_assert!((found - even * f64::from(count)).abs() <= 2.0);
            prop_assert!(found <= f64::from(count));
        }

        #[test]
        fn any_guess_leads_to_the_same_place(
            count in 0..256_usize,
            before: u8,
            guess in 0..512_usize,
        ) {
            let before = u8::min(before, count as u8);
            let slots: Vec<DataSlot> =
                (0..count).map(|at| DataSlot { lock: at as u8, ..DataSlot::FREE }).collect();
            let is_before = |slot: &DataSlot| slot.lock < before;
            let found = partition_point_near(&slots, guess, is_before);
            prop_assert_eq!(found, slots.partition_point(is_before));
        }
    }
}
