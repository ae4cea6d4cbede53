//! Locking rows without changing them.
//!
//! Callers: tables.

use os::Session;
use stop::Stop;
use txn::{LockWait, Transaction, View};

use super::Heap;
use super::change::{Changed, LatchedSlot, RowTarget};
use crate::RowAddress;

impl Heap {
    /// Locks a row, so that no other transaction changes it. Waits up to `lock_wait` while another
    /// transaction holds the row, or the block's ITL is full. Without a `lock_wait` it doesn't
    /// wait: the row is `Held`.
    pub fn lock(
        &self,
        transaction: &mut Transaction,
        address: RowAddress,
        view: Option<View>,
        lock_wait: Option<LockWait>,
        session: &Session,
    ) -> Result<Changed, Stop> {
        let savepoint = transaction.savepoint();
        let target = RowTarget::new(address, view, lock_wait);
        let mut plan = |latched: LatchedSlot<'_>| latched.lock();
        let changed = self.change_slot(transaction, target, &mut plan, session)?;
        // The row may have been locked to be compared.
        if changed != Changed::Yes && transaction.savepoint() != savepoint {
            self.transactions.rollback_to(transaction, savepoint, session)?;
        }
        Ok(changed)
    }
}
