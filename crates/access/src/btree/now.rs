//! What an index has at this moment, whatever snapshots see: for constraints, which hold of what
//! will be there.
//!
//! Who has written something, and then looks here for what may not be beside it, finds whatever was
//! written before; and who comes later finds what was written by the first. So of two that forbid
//! each other one, at least, sees the other: held, and waits for its end.
//!
//! Callers: constraints between tables.

use std::ops::Bound;

use cache::Get;
use ids::{Dba, TxnId};
use os::{Cost, Session};
use stop::Stop;
use txn::{RowWait, RowWanted, Transaction};

use super::Index;
use super::cursor::{at, behind, range_of};
use super::node::{MARKED, Node};
use super::position::{OwnPosition, Position, Probe};
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

impl Index {
    /// What there is now of a range of keys, for a transaction with this name: an entry, if one is
    /// there for good.
    pub fn find_current(
        &self,
        (from, to): (Bound<&[u8]>, Bound<&[u8]>),
        own: Option<TxnId>,
        session: &Session,
    ) -> Result<Current, Stop> {
        self.look_current((from, to), own, session).map(|(current, _)| current)
    }

    /// The same; waits while another transaction holds such an entry, and so has none of its own
    /// or is refused. Called without latches.
    pub fn find_settled(
        &self,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        transaction: &Transaction,
        session: &Session,
    ) -> Result<Option<RowAddress>, Stop> {
        let own = transaction.id();
        loop {
            let (current, leaf) = self.look_current(range, own, session)?;
            let holder = match current {
                Current::None => return Ok(None),
                Current::Row(row) => return Ok(Some(row)),
                Current::Held(holder) => holder,
            };
            let waiter = own.expect("who waits for a key has written something");
            let (what, object) = (RowWait::UniqueKey, self.segment().object.get());
            let wanted = RowWanted { what, object, block: leaf, slot: 0 };
            let transactions = self.transactions();
            let patience = transaction.patience();
            transactions.wait_for((holder, waiter), wanted, patience, session)?;
        }
    }

    /// With the last leaf that was looked at.
    fn look_current(
        &self,
        (from, to): (Bound<&[u8]>, Bound<&[u8]>),
        own: Option<TxnId>,
        session: &Session,
    ) -> Result<(Current, Dba), Stop> {
        let mut from = match from {
            Bound::Unbounded => Position::FIRST.to_own(),
            Bound::Included(key) => at(key),
            Bound::Excluded(key) => behind(key),
        };
        let to = match to {
            Bound::Unbounded => None,
            Bound::Included(key) => Some(behind(key)),
            Bound::Excluded(key) => Some(at(key)),
        };
        let to = to.as_ref().map(OwnPosition::get);
        let (mut found, mut hint) = (Current::None, None);
        loop {
            let reached = self.reach(Get::Current, (Probe::At(from.get()), hint), session)?;
            let node = Node(&reached.block);
            let (first, end) = range_of(&node, (from.get(), to));
            session.charge(Cost::RowRead, u64::from(end - first));
            for number in first..end {
                let slot = node.slot(number);
                match self.holder(node, slot.lock, own, session) {
                    Some(holder) => found = Current::Held(holder),
                    None if slot.flags & MARKED != 0 => {}
                    None => {
                        let row = node.place(number).row.expect("an entry of a leaf has a row");
                        return Ok((Current::Row(row), reached.address));
                    }
                }
            }
            match node.high().filter(|high| to.is_none_or(|to| *high < to)) {
                Some(high) => {
                    hint = node.next();
                    from = high.to_own();
                }
                None => return Ok((found, reached.address)),
            }
        }
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
