//! Reading a block of an index.
//!
//! ```text
//!   header │ head │ interested transactions (leaf) │ slots: low fence, high fence, entries …
//! ```
//!
//! Invariants (held by `check`)
//!   * low fence <= every entry < high fence; an end without a fence is the end of the index
//!   * a block has a right neighbour exactly if it has a high fence
//!   * entries are in strict order; in a unique leaf no two have the same key
//!   * a branch has an entry, and its first entry is its low fence, or lower
//!
//! Callers: this module's files.
//! Source: Graefe, Modern B-Tree Techniques (2011), for interpolation search.

use cache::is_unwritten;
use format::{BlockHeader, BlockKind, DataHead, DataSlot, DbaLe};
use ids::Dba;
use txn::block;

use super::position::{BLOCK_BYTES, Position, Probe, block_from};
use crate::outline::{Offsets, Outline};

/// How many slots come before the first entry: the fences.
pub(super) const FENCES: u16 = 2;
/// The flag of a slot with an entry or a fence.
pub(super) const ENTRY: u8 = 1;
/// The flag of a deleted entry. It stays until the deletion is committed and its space is needed.
pub(super) const MARKED: u8 = 2;
/// The flag of a fence or separator with a row.
pub(super) const WITH_ROW: u8 = 4;
/// The flag in the head of every block of a unique index.
pub(super) const UNIQUE: u8 = 1;
/// The flag in the head of a leaf from which entries were purged since its ITL was empty.
pub(super) const PURGED: u8 = 2;

/// A block of an index.
#[derive(Clone, Copy)]
pub(super) struct Node<'a>(pub(super) &'a [u8]);

/// The right neighbour of a block.
#[derive(Clone, Copy)]
pub(super) struct RightNeighbour<'a> {
    /// Where it begins: the high fence of the block.
    pub(super) low: Position<'a>,
    pub(super) block: Dba,
}

/// The next step of a descent from a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// The descent ends at this block, near the entry of this number.
    Here(u16),
    /// It goes on at the right neighbour.
    Right(Dba),
    /// It goes on at this block, a level below, about this far through its entries.
    Down(Dba, Share),
    /// What is looked for is neither to the right nor below.
    Lost,
}

/// A guess at how far a key lies between two others, if keys lie evenly there: in parts of 65,536.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Share(u16);

impl Share {
    const HALF: Share = Share(1 << 15);

    /// The share of a key between two others. All three are given as numbers of keys.
    #[inline]
    pub(super) fn between(number: u64, low: u64, high: u64) -> Share {
        let (from_low, width) = (number.saturating_sub(low), high.saturating_sub(low));
        // So that 16 more bits have room.
        let shift = u16::BITS.saturating_sub(width.leading_zeros());
        match width >> shift {
            0 => Share::HALF,
            width => {
                let parts = ((from_low >> shift).min(width) << u16::BITS) / width;
                Share(parts.min(u16::MAX.into()) as u16)
            }
        }
    }

    /// The offsets that are likely to be read in a leaf with this outline.
    #[inline]
    pub(super) fn offsets(self, outline: Outline) -> Offsets {
        outline.offsets(self.of(outline.count().into()) as u16)
    }

    /// This share of `count`.
    #[inline]
    pub(super) fn of(self, count: usize) -> usize {
        (usize::from(self.0) * count + (1 << (u16::BITS - 1))) >> u16::BITS
    }
}

impl<'a> Node<'a> {
    /// The block, if it is a leaf or branch of this object.
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

    /// The block's level: 0 for a leaf.
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

    /// Whether the leaf's undo may have entries that are no longer in it, for snapshots (BT13).
    pub(super) fn was_purged(&self) -> bool {
        self.head().own.get() & u16::from(PURGED) != 0
    }

    /// The address of the right neighbour.
    pub(super) fn next(&self) -> Option<Dba> {
        let next = self.head().next;
        (next != DbaLe::NONE).then(|| next.get())
    }

    pub(super) fn right(&self) -> Option<RightNeighbour<'a>> {
        self.high().zip(self.next()).map(|(low, block)| RightNeighbour { low, block })
    }

    /// The low fence: none if the block is the first of its level.
    #[inline]
    pub(super) fn low(&self) -> Option<Position<'a>> {
        self.fence(0)
    }

    /// The high fence, where the right neighbour begins: none if the block is the last of its
    /// level.
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

    /// How many entries the block has.
    #[inline]
    pub(super) fn count(&self) -> u16 {
        block::slots(self.0) - FENCES
    }

    /// The slot of entry `number`, counted from 0.
    #[inline]
    pub(super) fn slot(&self, number: u16) -> DataSlot {
        block::slot(self.0, number + FENCES)
    }

    /// The bytes of a slot.
    #[inline]
    pub(super) fn bytes(&self, slot: DataSlot) -> &'a [u8] {
        block::bytes_of(self.0, slot)
    }

    /// The position of entry `number`: in a leaf its key and row, in a branch where the block below
    /// begins.
    #[inline(always)] // A scan does little else for each entry.
    pub(super) fn position(&self, number: u16) -> Position<'a> {
        let slot = self.slot(number);
        let bytes = self.bytes(slot);
        match self.level() {
            0 => Position::of_entry(bytes),
            _ => Position::read(&bytes[BLOCK_BYTES..], slot.flags & WITH_ROW != 0),
        }
    }

    /// The block below that entry `number` of a branch leads to.
    #[inline]
    pub(super) fn child(&self, number: u16) -> Dba {
        block_from(self.bytes(self.slot(number)))
    }

    /// Whether the fences include what is looked for.
    #[inline]
    pub(super) fn covers(&self, probe: Probe<'_>) -> bool {
        !self.low().is_some_and(|low| probe.is_left_of(low))
            && self.high().is_none_or(|high| probe.is_left_of(high))
    }

    /// The next step to the block on `level` that covers what is looked for. `share` guesses how
    /// far that is through this block's entries. Fences lie elsewhere in memory: they are read only
    /// if the search ends at the first or behind the last entry.
    #[inline]
    pub(super) fn step(&self, probe: Probe<'_>, level: u8, share: Option<Share>) -> Step {
        if self.level() < level {
            return Step::Lost;
        }
        // A branch's first entry leads to what begins at its low fence, whatever the entry says.
        let slots = &self.entries()[usize::from(self.level() > 0)..];
        let share = share.unwrap_or_else(|| self.share(probe.number()));
        let stored = self.stored();
        let is_before = |slot: &DataSlot| {
            let (bytes, with_row) = stored(*slot);
            !probe.is_left_of_stored(bytes, with_row)
        };
        let guess = share.of(slots.len());
        let found = partition_point_near(slots.len(), guess, |at| is_before(&slots[at]));
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

    /// The step to the block below of entry `entry`, with the share of a key there.
    #[inline]
    fn down(&self, entry: u16, number: u64) -> Step {
        let from = self.position(entry).number();
        let to = match entry + 1 < self.count() {
            true => Some(self.position(entry + 1)),
            false => self.high(),
        };
        let share = to.map_or(Share::HALF, |to| Share::between(number, from, to.number()));
        Step::Down(self.child(entry), share)
    }

    /// The number of the first entry that isn't before this position.
    #[inline]
    pub(super) fn lower_bound(&self, at: Position<'_>) -> u16 {
        let share = self.share(at.number());
        self.lower_bound_near(at, share.of(self.count().into()) as u16)
    }

    /// As `lower_bound`, with a search that begins at entry `near`.
    #[inline]
    pub(super) fn lower_bound_near(&self, at: Position<'_>, near: u16) -> u16 {
        let stored = self.stored();
        let is_before = |slot: &DataSlot| {
            let (bytes, with_row) = stored(*slot);
            at.cmp_stored(bytes, with_row).is_gt()
        };
        let slots = self.entries();
        partition_point_near(slots.len(), near.into(), |at| is_before(&slots[at])) as u16
    }

    /// The share of a key between the fences. Each probe of a block that isn't in the processor's
    /// cache waits for memory: so a guess pays.
    #[inline]
    fn share(&self, number: u64) -> Share {
        let low = self.low().map_or(0, |low| low.number());
        self.high().map_or(Share::HALF, |high| Share::between(number, low, high.number()))
    }

    /// The slots of the entries.
    #[inline]
    fn entries(&self) -> &'a [DataSlot] {
        &block::directory(self.0)[usize::from(FENCES)..]
    }

    /// A function that gives an entry's stored position, and whether that has a row.
    #[inline(always)]
    fn stored(&self) -> impl Fn(DataSlot) -> (&'a [u8], bool) + 'a {
        let node = *self;
        let (skipped, row_flag) = if self.level() == 0 { (0, WITH_ROW) } else { (BLOCK_BYTES, 0) };
        move |slot| (&node.bytes(slot)[skipped..], (slot.flags | row_flag) & WITH_ROW != 0)
    }

    /// In a leaf: whether an entry is behind all that are there, and so none of these is the same.
    pub(super) fn ends_before(&self, entry: Position<'_>) -> bool {
        let at = entry.looked_for(self.is_unique());
        self.count().checked_sub(1).is_none_or(|last| self.position(last) < at)
    }

    /// In a leaf: the number of the entry, or the number it would get. In a unique leaf the entry
    /// is that of the key, whatever its row.
    pub(super) fn find(&self, entry: Position<'_>) -> Result<u16, u16> {
        self.find_near(entry, None)
    }

    /// Whether the block is the last of its level, and this position behind all its entries: so is
    /// each new one where keys ascend, and a guess between the fences leads nowhere.
    #[inline]
    fn is_at_end(&self, at: Position<'_>) -> bool {
        let last = self.count().checked_sub(1).filter(|_| self.head().next == DbaLe::NONE);
        last.is_some_and(|last| self.position(last) < at)
    }

    /// As `find`, with a search that begins at entry `near`, if that is given.
    pub(super) fn find_near(&self, entry: Position<'_>, near: Option<u16>) -> Result<u16, u16> {
        let at = entry.looked_for(self.is_unique());
        let number = match near {
            Some(near) => self.lower_bound_near(at, near),
            None if self.is_at_end(at) => return Err(self.count()),
            None => self.lower_bound(at),
        };
        let is_it = number < self.count() && {
            let found = self.position(number);
            found.key == entry.key && (self.is_unique() || found.row == entry.row)
        };
        if is_it { Ok(number) } else { Err(number) }
    }
}

/// How many of `count` things in order are before, with a search that begins at a guess and doubles
/// its steps.
#[inline]
pub(super) fn partition_point_near(
    count: usize,
    guess: usize,
    is_before: impl Fn(usize) -> bool,
) -> usize {
    let (mut low, mut high) = (0, count);
    let mut at = guess.min(count);
    let mut step = 1;
    // All below `low` are before, and none from `high` on.
    if at < high && is_before(at) {
        low = at + 1;
        at += step;
        while at < high && is_before(at) {
            low = at + 1;
            step *= 2;
            at += step;
        }
        high = high.min(at);
    } else {
        high = at;
        while let Some(before) = at.checked_sub(step) {
            if is_before(before) {
                low = before + 1;
                break;
            }
            high = before;
            at = before;
            step *= 2;
        }
    }
    while low < high {
        let middle = low.midpoint(high);
        match is_before(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
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
            let found = Share::between(number, low, low + width).of(count.into()) as f64;
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
            let found = partition_point_near(count, guess, |at| is_before(&slots[at]));
            prop_assert_eq!(found, slots.partition_point(is_before));
        }
    }
}
