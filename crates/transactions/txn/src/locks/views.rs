//! Held locks and waits, as `v$lock` shows them.
//!
//! A view's waits and watched tables are of one moment; modes at seats are read seat by seat.
//!
//! Callers: views; tests.

use ids::TxnId;
use os::{Session, SessionNo};
use waits::Timestamp;

use crate::locks::seat::ModeAt;
use crate::locks::{LockWanted, Locks, TableMode};

/// A table that a transaction has locked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockHeld {
    /// The transaction.
    pub owner: TxnId,
    /// The name of its session.
    pub session: String,
    /// The number of its session.
    pub number: Option<SessionNo>,
    /// The table.
    pub object: u32,
    /// The mode.
    pub mode: TableMode,
    /// Since when the transaction has the table in this mode.
    pub since: Timestamp,
    /// Whether other transactions wait for the table.
    pub is_waited_for: bool,
}

/// A transaction that waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockWaiting {
    /// The transaction.
    pub waiter: TxnId,
    /// The name of its session.
    pub session: String,
    /// The number of its session.
    pub number: SessionNo,
    /// What it waits for.
    pub wanted: LockWanted,
    /// Since when it waits.
    pub since: Timestamp,
    /// The transactions that it waits for: holders, then those that go first.
    pub blockers: Vec<TxnId>,
}

impl Locks {
    /// The tables that are locked, by segment and table.
    pub fn held(&self, session: &Session) -> Vec<LockHeld> {
        let queues = self.queues.shared(session);
        let mut all = Vec::new();
        for seat in &*self.seats {
            let holdings = seat.holdings.shared(session);
            for (owner, held) in holdings.all() {
                let table = queues.tables.get(&held.object);
                let mode = match held.place {
                    ModeAt::Seat(mode) => Some(mode),
                    ModeAt::Table => table.and_then(|table| table.mode_of(owner)),
                };
                // None: the lock is just being released.
                let Some(mode) = mode else { continue };
                let who = holdings.who(owner);
                all.push(LockHeld {
                    owner,
                    session: who.map_or("", |who| who.name()).into(),
                    number: who.map(|who| who.number()),
                    object: held.object,
                    mode,
                    since: held.since,
                    is_waited_for: table.is_some_and(|table| table.is_waited_for()),
                });
            }
        }
        all
    }

    /// The transactions that wait, by segment.
    pub fn waiting(&self, session: &Session) -> Vec<LockWaiting> {
        let queues = self.queues.shared(session);
        let waits = queues.waits.iter().flatten().map(|wait| LockWaiting {
            waiter: wait.waiter,
            session: wait.who.name().into(),
            number: wait.who.number(),
            wanted: wait.wanted,
            since: wait.since,
            blockers: queues.blockers(wait).iter().map(|(id, _)| *id).collect(),
        });
        waits.collect()
    }

    /// The number of watched tables (TX12).
    pub fn tables_watched(&self, session: &Session) -> usize {
        let queues = self.queues.shared(session);
        let watched = queues.tables.values().filter(|table| table.watched).count();
        let raised: u32 = self.watches.iter().map(|watch| watch.load(session)).sum();
        assert_eq!(watched, raised as usize, "a watch is raised for each table that is watched");
        watched
    }
}
