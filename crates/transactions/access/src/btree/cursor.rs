//! Going through a range of an index's entries, up or down, as a view sees them (BT6).
//!
//! The position in a range is a fence, not a slot: all entries of the range that a leaf has at one
//! moment are taken together, and the range goes on where the leaf ended then. So whatever happens
//! meanwhile to the leaves that it has left or will come to, it neither misses an entry nor gives
//! one twice.
//!
//! An [`IndexRange`] is what stays between calls; a [`Cursor`] has one, with the index and the
//! view.
//!
//! Callers: users of indexes.

use std::ops::{Bound, RangeBounds};

use ids::Dba;
use os::{Cost, Session};
use stop::Stop;
use txn::View;

use super::Index;
use super::node::{MARKED, Node};
use super::position::{OwnPosition, Position, Probe};
use crate::RowAddress;

/// The direction in which a cursor goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the smallest key.
    Ascending,
    /// From the largest key.
    Descending,
}

/// A range of an index's entries, between two calls on the way through it. It borrows nothing, and
/// has no pin and no latch (BT38).
#[derive(Debug)]
pub struct IndexRange {
    direction: Direction,
    /// Where the rest of the range begins.
    from: OwnPosition,
    /// Where it ends; none is the end of the index.
    to: Option<OwnPosition>,
    is_over: bool,
    /// The address that the next leaf had; only of an ascending range.
    hint: Option<Dba>,
    batch: Batch,
}

/// An entry of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// Its row.
    pub row: RowAddress,
}

/// Entries of one leaf.
#[derive(Debug, Default)]
struct Batch {
    keys: Vec<u8>,
    /// Where the key of each entry ends in `keys`.
    ends: Vec<usize>,
    rows: Vec<RowAddress>,
    /// How many entries were passed.
    passed: usize,
}

/// A range of an index's entries, on the way through it.
pub struct Cursor<'a> {
    index: &'a Index,
    view: View,
    range: IndexRange,
}

impl IndexRange {
    /// The entries of an index whose keys are in the range.
    pub fn new(range: impl RangeBounds<[u8]>, direction: Direction) -> IndexRange {
        let (from, to) = ends(&range);
        let is_over = to.as_ref().is_some_and(|to| *to <= from);
        IndexRange { direction, from, to, is_over, hint: None, batch: Batch::default() }
    }

    /// The rows of the entries at hand, which [`Index::fill`] has read.
    pub fn rows(&self) -> &[RowAddress] {
        &self.batch.rows[self.batch.passed..]
    }

    /// The entries at hand.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        (self.batch.passed..self.batch.rows.len()).map(move |number| self.batch.entry(number))
    }

    /// Passes entries at hand.
    ///
    /// # Panics
    /// When there are fewer.
    pub fn pass(&mut self, count: usize) {
        assert!(count <= self.rows().len(), "only entries at hand are passed");
        self.batch.passed += count;
    }
}

impl Index {
    /// A cursor over the entries whose keys are in the range. The caller keeps the view's snapshot
    /// in use meanwhile.
    pub fn cursor(
        &self,
        range: impl RangeBounds<[u8]>,
        direction: Direction,
        view: View,
    ) -> Cursor<'_> {
        Cursor { index: self, view, range: IndexRange::new(range, direction) }
    }

    /// Has the next entries of a range at hand: those of the next leaf that has some, if all before
    /// were passed. False behind the last entry. The view is that of the same snapshot in all
    /// calls. A call that is refused has changed nothing, and may be repeated.
    pub fn fill(
        &self,
        range: &mut IndexRange,
        view: View,
        session: &Session,
    ) -> Result<bool, Stop> {
        while range.rows().is_empty() {
            let mut batch = std::mem::take(&mut range.batch);
            batch.clear();
            let mut take = |key: &[u8], row| batch.push(key, row);
            let visited = self.visit_range(range, view, &mut take, session);
            range.batch = batch;
            if !visited? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Visits the entries of a range's next leaf, under its latch if possible: `visit` must only
    /// compute. False if there was no leaf left. Entries at hand aren't visited.
    pub fn visit_range(
        &self,
        range: &mut IndexRange,
        view: View,
        visit: &mut dyn FnMut(&[u8], RowAddress),
        session: &Session,
    ) -> Result<bool, Stop> {
        if range.is_over {
            return Ok(false);
        }
        let (from, to) = (range.from.get(), range.to.as_ref().map(OwnPosition::get));
        let direction = range.direction;
        let (mut goes_on, mut next, mut count) = (None, None, 0);
        let mut look = |node: Node<'_>, _| {
            let (first, end) = range_of(&node, from, to);
            let mut give = |number| {
                let entry = node.position(number);
                if node.slot(number).flags & MARKED == 0 {
                    visit(entry.key, entry.row.expect("an entry of a leaf has a row"));
                }
            };
            match direction {
                Direction::Ascending => (first..end).for_each(&mut give),
                Direction::Descending => (first..end).rev().for_each(&mut give),
            }
            count = end - first;
            goes_on = match direction {
                Direction::Ascending => node.high().filter(|high| to.is_none_or(|to| *high < to)),
                Direction::Descending => node.low().filter(|low| *low > from),
            }
            .map(Position::to_own);
            next = node.next();
        };
        let probe = match (direction, to) {
            (Direction::Ascending, _) => Probe::At(from),
            (Direction::Descending, Some(to)) => Probe::Before(to),
            (Direction::Descending, None) => Probe::Last,
        };
        self.read_leaf(probe, range.hint, view, &mut look, session)?;
        session.charge(Cost::RowRead, u64::from(count));
        match (goes_on, direction) {
            (None, _) => range.is_over = true,
            (Some(at), Direction::Ascending) => (range.from, range.hint) = (at, next),
            (Some(at), Direction::Descending) => range.to = Some(at),
        }
        Ok(true)
    }
}

impl Cursor<'_> {
    /// The next entry; none after the last one.
    pub fn next(&mut self, session: &Session) -> Result<Option<(&[u8], RowAddress)>, Stop> {
        if !self.index.fill(&mut self.range, self.view, session)? {
            return Ok(None);
        }
        let number = self.range.batch.passed;
        self.range.batch.passed += 1;
        let Entry { key, row } = self.range.batch.entry(number);
        Ok(Some((key, row)))
    }

    /// Visits the entries of the next leaf, as [`Index::visit_range`].
    pub fn visit(
        &mut self,
        visit: &mut dyn FnMut(&[u8], RowAddress),
        session: &Session,
    ) -> Result<bool, Stop> {
        self.index.visit_range(&mut self.range, self.view, visit, session)
    }
}

impl Batch {
    fn clear(&mut self) {
        self.keys.clear();
        self.ends.clear();
        self.rows.clear();
        self.passed = 0;
    }

    #[inline]
    fn push(&mut self, key: &[u8], row: RowAddress) {
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len());
        self.rows.push(row);
    }

    fn entry(&self, number: usize) -> Entry<'_> {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        Entry { key: &self.keys[start..self.ends[number]], row: self.rows[number] }
    }
}

/// The numbers of the leaf's entries between two positions: the first, and the one behind the last.
pub(super) fn range_of(
    node: &Node<'_>,
    from: Position<'_>,
    to: Option<Position<'_>>,
) -> (u16, u16) {
    let first = node.lower_bound(from);
    let end = match to {
        Some(to) if node.high().is_none_or(|high| high > to) => node.lower_bound(to),
        _ => node.count(),
    };
    (first, end.max(first))
}

/// The positions at which a range of keys begins and ends; none is the end of the index.
pub(super) fn ends(range: &impl RangeBounds<[u8]>) -> (OwnPosition, Option<OwnPosition>) {
    let from = match range.start_bound() {
        Bound::Unbounded => Position::FIRST.to_own(),
        Bound::Included(key) => at(key),
        Bound::Excluded(key) => behind(key),
    };
    let to = match range.end_bound() {
        Bound::Unbounded => None,
        Bound::Included(key) => Some(behind(key)),
        Bound::Excluded(key) => Some(at(key)),
    };
    (from, to)
}

/// The position before all entries of the key.
fn at(key: &[u8]) -> OwnPosition {
    OwnPosition { key: key.to_vec(), row: None }
}

/// The position behind all entries of the key: that of the next possible key.
fn behind(key: &[u8]) -> OwnPosition {
    OwnPosition { key: [key, &[0]].concat(), row: None }
}
