//! The entries that an index has at this moment, whatever snapshots see: for constraints, which
//! hold for the present state.
//!
//! A transaction that has written something, and then looks here for what the constraint forbids
//! beside it, finds everything that was written before; and a later transaction finds what this one
//! has written. So of two transactions that forbid each other's rows at least one sees the other's
//! entry as held, and waits for its end.
//!
//! Callers: constraints between tables.

use std::ops::RangeBounds;

use cache::Get;
use ids::{Dba, TxnId};
use os::{Cost, Session};
use stop::Stop;
use txn::{RowRequest, RowWait, RowWanted, Transaction, block};
use waits::Timestamp;

use super::Index;
use super::cursor::{ends, range_of};
use super::node::{MARKED, Node};
use super::position::{OwnPosition, Probe};
use crate::RowAddress;

/// The present state of a range of keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Current {
    /// There is no entry: all deletions are committed.
    None,
    /// There is an entry that is committed, or the caller's own.
    Row(RowAddress),
    /// There is no such entry, but this active transaction has inserted or deleted one.
    Held(TxnId),
}

/// A way through a range of keys, which shows each entry as it is at that moment.
pub struct Now<'a> {
    index: &'a Index,
    from: OwnPosition,
    /// None is the end of the index.
    to: Option<OwnPosition>,
    /// The entry that was found last.
    last: Option<OwnPosition>,
    /// When the wait for entries of other transactions began.
    waits_since: Option<Timestamp>,
}

impl Index {
    /// A way through the present entries of a range of keys.
    pub fn now(&self, range: impl RangeBounds<[u8]>) -> Now<'_> {
        let (from, to) = ends(&range);
        Now { index: self, from, to, last: None, waits_since: None }
    }

    /// The present state of a range of keys, as the transaction `own` may rely on it.
    pub fn find_current(
        &self,
        range: impl RangeBounds<[u8]>,
        own: Option<TxnId>,
        session: &Session,
    ) -> Result<Current, Stop> {
        self.now(range).look(own, session).map(|(current, _)| current)
    }

    /// The other active transaction that holds an entry with this lock, if there is one.
    fn holder(
        &self,
        node: Node<'_>,
        lock: u8,
        own: Option<TxnId>,
        session: &Session,
    ) -> Option<TxnId> {
        let entry = block::entry(node.0, lock.checked_sub(1)?);
        let id = entry.transaction.get().filter(|id| Some(*id) != own)?;
        let ended = entry.ended.get() != ids::Scn::ZERO;
        (!ended && self.transactions.active().is_active(id, session)).then_some(id)
    }
}

impl Now<'_> {
    /// The next entry: the one that was found last, if it is still there, or one behind it; at the
    /// end of the range, any that is there. So a caller that deletes each entry it gets doesn't
    /// pass all deleted ones for each, and gets None only when a look at the whole range has found
    /// none. Waits while other transactions hold such entries, one after the other (rule txn/TX21).
    /// Called without latches.
    pub fn next(
        &mut self,
        transaction: &Transaction,
        session: &Session,
    ) -> Result<Option<RowAddress>, Stop> {
        self.waits_since = None;
        let found = self.settled(transaction, session)?;
        if found.is_some() || self.last.take().is_none() {
            return Ok(found);
        }
        self.settled(transaction, session)
    }

    fn settled(
        &mut self,
        transaction: &Transaction,
        session: &Session,
    ) -> Result<Option<RowAddress>, Stop> {
        let own = transaction.id();
        loop {
            let (current, leaf) = self.look(own, session)?;
            let holder = match current {
                Current::None => return Ok(None),
                Current::Row(row) => return Ok(Some(row)),
                Current::Held(holder) => holder,
            };
            let waiter = own.expect("a transaction that waits for a key has written something");
            let (what, object) = (RowWait::UniqueKey, self.index.segment().object.get());
            let wanted = RowWanted { what, object, block: leaf, slot: 0 };
            let transactions = &self.index.transactions;
            let began = *self.waits_since.get_or_insert_with(|| session.now());
            let lock_wait = transaction.lock_wait();
            let request = RowRequest { waiter, wanted, lock_wait, began };
            transactions.wait_for(&[holder], &request, session)?;
        }
    }

    /// The present state from the last entry on, and the last leaf that was visited.
    fn look(&mut self, own: Option<TxnId>, session: &Session) -> Result<(Current, Dba), Stop> {
        let to = self.to.as_ref().map(OwnPosition::get);
        let (mut found, mut goes_on, mut hint) = (Current::None, None, None);
        loop {
            let from = goes_on.as_ref().or(self.last.as_ref()).unwrap_or(&self.from).get();
            let reached = self.index.reach(Get::Current, Probe::At(from), hint, session)?;
            let node = Node(&reached.block);
            let (first, end) = range_of(&node, from, to);
            session.charge(Cost::RowRead, u64::from(end - first));
            for number in first..end {
                let slot = node.slot(number);
                match self.index.holder(node, slot.lock, own, session) {
                    Some(holder) => found = Current::Held(holder),
                    None if slot.flags & MARKED != 0 => {}
                    None => {
                        let entry = node.position(number);
                        let row = entry.row.expect("an entry of a leaf has a row");
                        self.last = Some(entry.looked_for(self.index.is_unique).to_own());
                        return Ok((Current::Row(row), reached.address));
                    }
                }
            }
            match node.high().filter(|high| to.is_none_or(|to| *high < to)) {
                Some(high) => {
                    hint = node.next();
                    goes_on = Some(high.to_own());
                }
                None => return Ok((found, reached.address)),
            }
        }
    }
}
