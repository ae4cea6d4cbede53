//! Going through a range of an index's entries, up or down, as a view sees them (BT6).
//!
//! The place of a cursor is a fence, not a slot: of each leaf it takes all entries of the range at
//! one moment, and goes on where the leaf ended then. So nothing that happens meanwhile, to leaves
//! that it has left or will come to, makes it miss an entry or give one twice.
//!
//! Callers: users of indexes.

use std::ops::Bound;

use ids::Dba;
use os::{Cost, Session};
use stop::Stop;
use txn::View;

use super::Index;
use super::node::{MARKED, Node};
use super::position::{OwnPosition, Position, Probe};
use crate::RowAddress;

/// Which way a cursor goes.
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
    /// What is left of the range: from here.
    from: OwnPosition,
    /// To here; none is to the end.
    to: Option<OwnPosition>,
    is_over: bool,
    /// Ascending: where the next leaf was.
    hint: Option<Dba>,
    batch: Batch,
}

/// Entries of one leaf.
#[derive(Default)]
struct Batch {
    keys: Vec<u8>,
    /// For each entry where its key ends, and its row.
    entries: Vec<(usize, RowAddress)>,
    /// How many were given.
    given: usize,
}

impl Index {
    /// A cursor over the entries whose keys are in the range. The view's snapshot has to be kept
    /// meanwhile.
    pub fn cursor(
        &self,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
        view: View,
    ) -> Cursor<'_> {
        let (from, to) = ends(range);
        let is_over = to.as_ref().is_some_and(|to| *to <= from);
        let (index, hint, batch) = (self, None, Batch::default());
        Cursor { index, view, direction, from, to, is_over, hint, batch }
    }
}

impl Cursor<'_> {
    /// The next entry; none behind the last one.
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

    /// Visits the entries of the next leaf, under its latch: `visit` only computes. False when
    /// there was none any more.
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
            let (first, end) = range_of(&node, (from, to));
            let mut give = |number| {
                let place = node.place(number);
                if node.slot(number).flags & MARKED == 0 {
                    visit(place.key, place.row.expect("an entry of a leaf has a row"));
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
        self.index.read_leaf((probe, self.hint), self.view, &mut look, session)?;
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

/// Numbers of the leaf's entries between two places: the first, and the one behind the last.
pub(super) fn range_of(
    node: &Node<'_>,
    (from, to): (Position<'_>, Option<Position<'_>>),
) -> (u16, u16) {
    let first = node.lower_bound(from);
    let end = match to {
        Some(to) if node.high().is_none_or(|high| high > to) => node.lower_bound(to),
        _ => node.count(),
    };
    (first, end.max(first))
}

/// Where a range of keys begins, and where it ends; none is to the end of the index.
pub(super) fn ends((from, to): (Bound<&[u8]>, Bound<&[u8]>)) -> (OwnPosition, Option<OwnPosition>) {
    let from = match from {
        Bound::Unbounded => Position::FIRST.to_own(),
        Bound::Included(key) => at(key),
        Bound::Excluded(key) => behind(key),
    };
    let to = match to {
        Bound::Unbounded => None,
        Bound::Included(key) => Some(behind(key)),
        Bound::Excluded(key) => Some(at(key)),
    };
    (from, to)
}

/// Before all entries of the key.
fn at(key: &[u8]) -> OwnPosition {
    OwnPosition { key: key.to_vec(), row: None }
}

/// Behind all entries of the key: before those of the next key that there can be.
fn behind(key: &[u8]) -> OwnPosition {
    OwnPosition { key: [key, &[0]].concat(), row: None }
}
