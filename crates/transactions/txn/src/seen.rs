//! The active transactions, as `v$transaction` shows them.
//!
//! Nothing is read from disk for this, and no transaction notes more than it did without: how many
//! undo records it has is told by its undo block, if the cache has that.
//!
//! Callers: views.

use ids::TxnId;
use os::{Session, SessionNo};
use waits::Timestamp;

use crate::Transactions;
use crate::active::Owned;

/// What an active transaction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionState {
    /// It goes on.
    Active,
    /// It is being committed; it has its locks until the commit is durable.
    Committing,
    /// It was active when the instance stopped, and `fb_smon` is to roll it back.
    Dead,
}

/// An active transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransactionSeen {
    /// The transaction.
    pub id: TxnId,
    /// What it does.
    pub state: TransactionState,
    /// Its session; none for a dead one.
    pub session: Option<SessionNo>,
    /// When it got its name: with its first change or lock; none for a dead one.
    pub since: Option<Timestamp>,
    /// How many undo records it has, those that were taken back included; none if that isn't known
    /// without a read.
    pub records: Option<u32>,
}

impl Transactions {
    /// Every transaction that has locks, in the order of undo segments (TX60).
    pub fn all_seen(&self, session: &Session) -> Vec<TransactionSeen> {
        let seen = |owned: Owned| {
            let Owned { id, is_committing, is_dead, began } = owned;
            let table = self.active().table_of(id, session);
            TransactionSeen {
                id,
                state: match (is_dead, is_committing) {
                    (true, _) => TransactionState::Dead,
                    (false, true) => TransactionState::Committing,
                    (false, false) => TransactionState::Active,
                },
                session: began.map(|(number, _)| number),
                since: began.map(|(_, since)| since),
                records: self.undo().records_seen(id, table, session),
            }
        };
        self.active().owned(session).into_iter().map(seen).collect()
    }
}
