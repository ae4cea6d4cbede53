//! Locking rows without changing them.
//!
//! Callers: tables.

use format::DataSlot;
use os::Session;
use stop::Stop;
use txn::{Interest, Patience, Transaction, View};

use super::Heap;
use super::change::{Changed, Target, lock_plan};
use super::piece::piece_of;
use crate::RowAddress;
use crate::heap::Wish;

impl Heap {
    /// Locks a row, so that nobody else changes it. Waits while another transaction has it, as long
    /// as `patience` says.
    pub fn lock(
        &self,
        transaction: &mut Transaction,
        (address, view, patience): (RowAddress, Option<View>, Patience),
        session: &Session,
    ) -> Result<Changed, Stop> {
        let target = Target::row(address, view).within(Some(patience));
        self.lock_target(transaction, target, session)
    }

    /// The same, but a row that another transaction has is `Held`, and nobody waits. So is one in a
    /// block whose list of interested transactions is full.
    pub fn try_lock(
        &self,
        transaction: &mut Transaction,
        (address, view): (RowAddress, Option<View>),
        session: &Session,
    ) -> Result<Changed, Stop> {
        let target = Target::row(address, view).within(None);
        self.lock_target(transaction, target, session)
    }

    fn lock_target(
        &self,
        transaction: &mut Transaction,
        target: Target,
        session: &Session,
    ) -> Result<Changed, Stop> {
        let (savepoint, address) = (transaction.savepoint(), target.address);
        let mut plan = |block: &[u8], slot: DataSlot, interest: &Interest| {
            let piece = piece_of(block, slot);
            let next = piece.next.map(|next| (piece.data.to_vec(), next));
            Wish::Change(lock_plan(address.slot, slot, interest), next)
        };
        let next = match self.change_slot(transaction, target, &mut plan, session)? {
            Ok(next) => next,
            Err(why) => return Ok(why),
        };
        if let Some((data, next)) = next {
            let (row, _) = self.gather(data, next, session)?;
            if !self.is_as_seen(transaction, target, &row, session)? {
                self.transactions.rollback_to(transaction, savepoint, session)?;
                return Ok(Changed::Since);
            }
        }
        Ok(Changed::Yes)
    }
}
