//! Going through a range of an index's entries, up or down, as a view sees them (BT6).
//!
//! The position of a cursor is a fence, not a slot: it takes all entries of the range that a leaf
//! has at one moment, and goes on where the leaf ended then. So whatever happens meanwhile to the
//! leaves that it has left or will come to, it neither misses an entry nor gives one twice.
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

/// A range of an index's entries, on the way through it.
pub struct Cursor<'a> {
    index: &'a Index,
    view: View,
    direction: Direction,
    /// Where the rest of the range begins.
    from: OwnPosition,
    /// Where it ends; none is the end of the index.
    to: Option<OwnPosition>,
    is_over: bool,
    /// The address that the next leaf had; only of an ascending cursor.
    hint: Option<Dba>,
    batch: Batch,
}

/// Entries of one leaf.
#[derive(Default)]
struct Batch {
    keys: Vec<u8>,
    /// Where the key of each entry ends in `keys`, and its row.
    entries: Vec<(usize, RowAddress)>,
    /// How many entries the user got.
    given: usize,
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
        let (from, to) = ends(&range);
        let is_over = to.as_ref().is_some_and(|to| *to <= from);
        let (index, hint, batch) = (self, None, Batch::default());
        Cursor { index, view, direction, from, to, is_over, hint, batch }
    }
}

impl Cursor<'_> {
    /// The next entry; none after the last one.
    pub fn next(&mut self, session: &Session) -> Result<Option<(&[u8], RowAddress)>, Stop> {
        while self.batch.given == self.batch.entries.len() {
            let mut batch = std::mem::take(&mut self.batch);
            batch.clear();
            let mut take = |key: &[u8], row| {
                batch.keys.extend_from_slice(key);
                batch.entries.push((batch.keys.len(), row));
            };
            let more = self.visit(&mut take, session)?;
            let is_empty = batch.entries.is_empty();
            self.batch = batch;
            if !more && is_empty {
                return Ok(None);
            }
        }
        let number = self.batch.given;
        self.batch.given += 1;
        let start = number.checked_sub(1).map_or(0, |before| self.batch.entries[before].0);
        let (end, row) = self.batch.entries[number];
        Ok(Some((&self.batch.keys[start..end], row)))
    }

    /// Visits the entries of the next leaf, under its latch: `visit` must only compute. False if
    /// there was no leaf left.
    pub fn visit(
        &mut self,
        visit: &mut dyn FnMut(&[u8], RowAddress),
        session: &Session,
    ) -> Result<bool, Stop> {
        if self.is_over {
            return Ok(false);
        }
        let (from, to) = (self.from.get(), self.to.as_ref().map(OwnPosition::get));
        let direction = self.direction;
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
        self.index.read_leaf(probe, self.hint, self.view, &mut look, session)?;
        session.charge(Cost::RowRead, u64::from(count));
        match (goes_on, direction) {
            (None, _) => self.is_over = true,
            (Some(at), Direction::Ascending) => (self.from, self.hint) = (at, next),
            (Some(at), Direction::Descending) => self.to = Some(at),
        }
        Ok(true)
    }
}

impl Batch {
    fn clear(&mut self) {
        self.keys.clear();
        self.entries.clear();
        self.given = 0;
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
