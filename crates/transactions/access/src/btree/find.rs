//! Finding keys, and the leaves that have them, as a view sees them.
//!
//! Callers: users of indexes; `cursor`, `now`.

use std::ops::Bound;

use cache::Get;
use ids::Dba;
use os::{Cost, Session};
use stop::{RefusalKind, Stop, check_call};
use txn::{CrCopy, View};

use super::cursor::Direction;
use super::descent::{Hint, Reached, Tree};
use super::index::Index;
use super::node::{FENCES, MARKED, Node};
use super::position::{Position, Probe};
use super::shortcuts::Shortcut;
use crate::RowAddress;
use crate::lost::check_there;
use crate::outline::Outline;

impl Index {
    /// The row of the first entry with this key, as the view sees it.
    #[inline]
    pub fn find(
        &self,
        view: View,
        key: &[u8],
        session: &Session,
    ) -> Result<Option<RowAddress>, Stop> {
        self.find_and(view, key, |_| (), session)
    }

    /// As [`Index::find`]. `ahead` is called with the row as soon as it is likely to be the result,
    /// under the leaf's latch if possible: it prefetches, and waits for nothing.
    #[inline]
    pub fn find_and(
        &self,
        view: View,
        key: &[u8],
        ahead: impl Fn(RowAddress),
        session: &Session,
    ) -> Result<Option<RowAddress>, Stop> {
        session.charge(Cost::RowRead, 1);
        let at = Position { key, row: None };
        let (mut found, mut goes_on) = (None, false);
        let mut look = |node: Node<'_>, near| {
            found = self.only_row(node, key, near);
            if let Some(row) = found {
                return ahead(row);
            }
            let first = node.lower_bound_near(at, near);
            let mut entries = first..node.count();
            let entry = entries.find(|number| node.slot(*number).flags & MARKED == 0);
            let entry = entry.map(|number| node.position(number));
            if let Some(entry) = entry.filter(|entry| entry.key == key) {
                found = entry.row;
            } else if entry.is_none() {
                // Entries of this key may go on in the next leaf.
                goes_on = node.high().is_some_and(|high| high.key == key);
            }
        };
        self.read_leaf(Probe::At(at), None, view, &mut look, session)?;
        if found.is_some() || !goes_on {
            return Ok(found);
        }
        let only = Bound::Included(key);
        let mut cursor = self.cursor((only, only), Direction::Ascending, view);
        Ok(cursor.next(session)?.map(|(_, row)| row))
    }

    /// The row of this key, if the index is unique and the entry of this number has the key and
    /// isn't deleted.
    #[inline]
    fn only_row(&self, node: Node<'_>, key: &[u8], number: u16) -> Option<RowAddress> {
        let is_there = self.is_unique && number < node.count();
        let entry = is_there.then(|| node.position(number)).filter(|entry| entry.key == key)?;
        entry.row.filter(|_| node.slot(number).flags & MARKED == 0)
    }

    /// The leaf that covers what is looked for, to be read. Refuses if the index was dropped
    /// (AC15), or if the session's call is to end.
    #[inline]
    pub(super) fn reach<'a>(
        &'a self,
        get: Get,
        probe: Probe<'_>,
        hint: Option<Dba>,
        session: &'a Session,
    ) -> Result<Reached<'a>, Stop> {
        check_call(session)?;
        let tree = Tree { get, ..self.tree() };
        let reached = match (hint, probe) {
            (None, Probe::At(at)) => {
                let (number, hint) = (at.number(), self.shortcut(at.number(), session));
                let reached = tree.reach(probe, 0, hint, session);
                if reached.as_ref().is_ok_and(|reached| reached.hint_missed) {
                    self.shortcuts.misled(number);
                }
                reached
            }
            _ => tree.reach(probe, 0, hint.map(Hint::next), session),
        };
        reached.map_err(|stop| match check_there(&self.space, self.object(), session) {
            // The root may still be the index's when blocks below aren't any more.
            Err(dropped) if stop.refusal() == Some(RefusalKind::Corrupt) => dropped,
            _ => stop,
        })
    }

    /// Where the search for a key with this number may begin.
    #[inline]
    fn shortcut(&self, number: u64, session: &Session) -> Option<Hint> {
        let found = self.shortcuts.find(number);
        if found.is_none() && self.shortcuts.missed(number) {
            let cache = self.changes().cache();
            self.shortcuts.learn(cache, self.object(), self.root(), session);
        }
        found.map(|Shortcut { block, share, is_leaf }| Hint { block, share: Some(share), is_leaf })
    }

    /// Gives `look` the leaf that covers what is looked for, as the view sees it, and the entry's
    /// approximate number. If the leaf is current for the view, `look` runs under its latch and
    /// must only compute; otherwise it gets a copy.
    #[inline]
    pub(super) fn read_leaf(
        &self,
        probe: Probe<'_>,
        hint: Option<Dba>,
        view: View,
        look: &mut dyn FnMut(Node<'_>, u16),
        session: &Session,
    ) -> Result<(), Stop> {
        let reached = self.reach(Get::Consistent, probe, hint, session)?;
        let number = reached.address.block.get();
        Outline::guess(&self.outline, number, &reached.block, FENCES);
        if self.transactions.is_current(&reached.block, view, session) {
            look(Node(&reached.block), reached.near);
            return Ok(());
        }
        drop(reached);
        self.read_copy(probe, hint, view, look, session)
    }

    #[cold]
    fn read_copy(
        &self,
        probe: Probe<'_>,
        hint: Option<Dba>,
        view: View,
        look: &mut dyn FnMut(Node<'_>, u16),
        session: &Session,
    ) -> Result<(), Stop> {
        let (mut copy, mut gone_before) = (Vec::new(), None);
        loop {
            let reached = self.reach(Get::Consistent, probe, hint, session)?;
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
