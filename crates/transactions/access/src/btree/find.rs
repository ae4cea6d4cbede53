//! Finding keys, and the leaves that have them, as a view sees them.
//!
//! Callers: as of the module; cursors.

use std::ops::Bound;

use cache::Get;
use ids::Dba;
use os::{Cost, Session};
use stop::{RefusalKind, Stop};
use txn::{CrCopy, View};

use super::cursor::Direction;
use super::descent::{Reached, Tree};
use super::index::Index;
use super::node::{FENCES, MARKED, Node};
use super::position::{Position, Probe};
use crate::RowAddress;
use crate::outline::Outline;
use crate::read::check_there;

impl Index {
    /// The row of the first entry with this key, as the view sees it.
    #[inline]
    pub fn find(
        &self,
        view: View,
        key: &[u8],
        session: &Session,
    ) -> Result<Option<RowAddress>, Stop> {
        session.charge(Cost::RowRead, 1);
        let at = Position { key, row: None };
        let (mut found, mut goes_on) = (None, false);
        let mut look = |node: Node<'_>, near| {
            found = self.only_row(node, (key, near));
            if found.is_some() {
                return;
            }
            let first = node.lower_bound_near(at, near);
            let places = (first..node.count()).map(|number| (node.slot(number), number));
            let mut live = places.filter(|(slot, _)| slot.flags & MARKED == 0);
            let place = live.next().map(|(_, number)| node.place(number));
            if let Some(place) = place.filter(|place| place.key == key) {
                found = place.row;
            } else if place.is_none() {
                // Entries of this key may go on in the next leaf.
                goes_on = node.high().is_some_and(|high| high.key == key);
            }
        };
        self.read_leaf((Probe::At(at), None), view, &mut look, session)?;
        if found.is_some() || !goes_on {
            return Ok(found);
        }
        let only = Bound::Included(key);
        let mut cursor = self.cursor((only, only), Direction::Ascending, view);
        Ok(cursor.next(session)?.map(|(_, row)| row))
    }

    /// The row of this key if the index is unique and the entry of this number has the key, and is
    /// no deleted one.
    #[inline]
    fn only_row(&self, node: Node<'_>, (key, number): (&[u8], u16)) -> Option<RowAddress> {
        let is_there = self.is_unique && number < node.count();
        let place = is_there.then(|| node.place(number)).filter(|place| place.key == key)?;
        place.row.filter(|_| node.slot(number).flags & MARKED == 0)
    }

    /// The leaf that covers a place, to be read. Refused if the index was dropped (AC15).
    #[inline]
    pub(super) fn reach<'a>(
        &'a self,
        get: Get,
        (probe, hint): (Probe<'_>, Option<Dba>),
        session: &'a Session,
    ) -> Result<Reached<'a>, Stop> {
        let reached = Tree { get, ..self.tree() }.reach((probe, 0), hint, session);
        reached.map_err(|stop| match check_there((&self.space, self.object()), session) {
            // Its root may still be its own when blocks below aren't any more.
            Err(dropped) if stop.refusal() == Some(RefusalKind::Corrupt) => dropped,
            _ => stop,
        })
    }

    /// Looks at the leaf that covers a place, as the view sees it: under its latch if it is so now,
    /// so that `look` only computes; else in a copy. `look` gets the entry's number too, about.
    #[inline]
    pub(super) fn read_leaf(
        &self,
        (probe, hint): (Probe<'_>, Option<Dba>),
        view: View,
        look: &mut dyn FnMut(Node<'_>, u16),
        session: &Session,
    ) -> Result<(), Stop> {
        let reached = self.reach(Get::Consistent, (probe, hint), session)?;
        let number = reached.address.block.get();
        Outline::guess(&self.outline, (number, &reached.block), FENCES);
        if self.transactions.is_current(&reached.block, view, session) {
            look(Node(&reached.block), reached.near);
            return Ok(());
        }
        drop(reached);
        self.read_copy((probe, hint), view, look, session)
    }

    #[cold]
    fn read_copy(
        &self,
        (probe, hint): (Probe<'_>, Option<Dba>),
        view: View,
        look: &mut dyn FnMut(Node<'_>, u16),
        session: &Session,
    ) -> Result<(), Stop> {
        let (mut copy, mut gone_before) = (Vec::new(), None);
        loop {
            let reached = self.reach(Get::Consistent, (probe, hint), session)?;
            let (address, near) = (reached.address, reached.near);
            self.transactions.copy(&reached.block, &mut copy, session);
            drop(reached);
            match self.transactions.make_consistent(address, &mut copy, view, session)? {
                CrCopy::Consistent => {
                    look(Node(&copy), near);
                    return Ok(());
                }
                CrCopy::UndoGone(gone) => self.transactions.try_again(gone, &mut gone_before)?,
            }
        }
    }
}
