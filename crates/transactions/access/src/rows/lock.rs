//! Locking rows without changing them.
//!
//! Callers: tables.

use format::DataSlot;
use os::Session;
use stop::Stop;
use txn::{LockWait, OwnItlEntry, Transaction, View};

use super::Heap;
use super::change::{Changed, Target, lock_plan};
use crate::RowAddress;
use crate::heap::Wish;

impl Heap {
    /// Locks a row, so that nobody else changes it. Waits while another transaction has it, as long
    /// as `lock wait` says.
    pub fn lock(
        &self,
        transaction: &mut Transaction,
        (address, view, lock_wait): (RowAddress, Option<View>, LockWait),
        session: &Session,
    ) -> Result<Changed, Stop> {
        let target = Target::row(address, view).within(Some(lock_wait));
        self.lock_target(transaction, target, session)
    }

    /// The same, but a row that another transaction has is `Held`, and nobody waits. So is one in a
    /// block whose ITL is full.
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
        let mut plan = |_: &[u8], slot: DataSlot, itl: &OwnItlEntry| {
            Wish::Change(lock_plan(address.slot, slot, itl), ())
        };
        match self.change_slot(transaction, target, &mut plan, session)? {
            Ok(()) => Ok(Changed::Yes),
            Err(why) => {
                // It may have been locked to be compared.
                if transaction.savepoint() != savepoint {
                    self.transactions.rollback_to(transaction, savepoint, session)?;
                }
                Ok(why)
            }
        }
    }
}
