//! What an index has at this moment, whatever snapshots see: for constraints, which hold of what
//! will be there.
//!
//! Who has written something, and then looks here for what may not be beside it, finds whatever was
//! written before; and who comes later finds what was written by the first. So of two that forbid
//! each other one, at least, sees the other: held, and waits for its end.
//!
//! Callers: constraints between tables.

use std::ops::Bound;
use txn::block;

use cache::Get;
use ids::{Dba, TxnId};
use os::{Cost, Session};
use stop::Stop;
use txn::{RowRequest, RowWait, RowWanted, Transaction};
use waits::Timestamp;

use super::Index;
use super::cursor::{ends, range_of};
use super::node::{MARKED, Node};
use super::position::{OwnPosition, Probe};
use crate::RowAddress;

/// What there is now of a range of keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Current {
    /// No entry: what others had is deleted for good.
    None,
    /// An entry that is there for good, or is the asker's own.
    Row(RowAddress),
    /// None of these; but another transaction has inserted or deleted one, and hasn't ended.
    Held(TxnId),
}

/// A range of keys on the way through it, as it is at each moment.
pub struct Now<'a> {
    index: &'a Index,
    from: OwnPosition,
    /// None is to the end.
    to: Option<OwnPosition>,
    /// The entry that was found last.
    last: Option<OwnPosition>,
    /// Since when who asks for the next entry waits for those of others.
    waits_since: Option<Timestamp>,
}

impl Index {
    /// A way through what there is now of a range of keys.
    pub fn now(&self, range: (Bound<&[u8]>, Bound<&[u8]>)) -> Now<'_> {
        let (from, to) = ends(range);
        Now { index: self, from, to, last: None, waits_since: None }
    }

    /// What there is now of a range of keys, for a transaction with this name: an entry, if one is
    /// there for good.
    pub fn find_current(
        &self,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        own: Option<TxnId>,
        session: &Session,
    ) -> Result<Current, Stop> {
        self.now(range).look(own, session).map(|(current, _)| current)
    }

    /// The other transaction that has an entry with this lock, if it hasn't ended.
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
        (!ended && self.transactions().active().is_active(id, session)).then_some(id)
    }
}

impl Now<'_> {
    /// The next entry: that which was found last, if it is there yet, or one behind it; behind the
    /// last one any that is there. So who takes away what he finds doesn't go through all that he
    /// has taken away for each entry, and is told None only when a look at the whole range has
    /// found none. Waits while other transactions hold such entries, one after the other (rule
    /// txn/TX21), and so has none of its own or is refused. Called without latches.
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
            let waiter = own.expect("who waits for a key has written something");
            let (what, object) = (RowWait::UniqueKey, self.index.segment().object.get());
            let wanted = RowWanted { what, object, block: leaf, slot: 0 };
            let transactions = self.index.transactions();
            let began = *self.waits_since.get_or_insert_with(|| session.now());
            let lock_wait = transaction.lock_wait();
            let request = RowRequest { waiter, wanted, lock_wait, began };
            transactions.wait_for(&[holder], &request, session)?;
        }
    }

    /// With the last leaf that was looked at.
    fn look(&mut self, own: Option<TxnId>, session: &Session) -> Result<(Current, Dba), Stop> {
        let to = self.to.as_ref().map(OwnPosition::get);
        let (mut found, mut goes_on, mut hint) = (Current::None, None, None);
        loop {
            let from = goes_on.as_ref().or(self.last.as_ref()).unwrap_or(&self.from).get();
            let reached = self.index.reach(Get::Current, (Probe::At(from), hint), session)?;
            let node = Node(&reached.block);
            let (first, end) = range_of(&node, (from, to));
            session.charge(Cost::RowRead, u64::from(end - first));
            for number in first..end {
                let slot = node.slot(number);
                match self.index.holder(node, slot.lock, own, session) {
                    Some(holder) => found = Current::Held(holder),
                    None if slot.flags & MARKED != 0 => {}
                    None => {
                        let place = node.place(number);
                        let row = place.row.expect("an entry of a leaf has a row");
                        self.last = Some(place.looked_for(self.index.is_unique).to_own());
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
