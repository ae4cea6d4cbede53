//! What the one active transaction of an undo segment has locked: its *seat*.
//!
//! ```text
//!   seat 0 ── tables: 71 RX here, 80 RS here         nobody else looks
//!   seat 1 ── tables: 71 RX here, 90 ↗
//!   seat 2 ── tables: 90 ↗                           ↗ the mode is with the table, in `table.rs`
//! ```
//!
//! Invariants
//!   * a mode is kept in one place: at the seat, or with the table; while a table is watched, with
//!     the table (rule TX12)
//!   * only weak modes are at seats, so those of one table always go together
//!   * a seat lists a table once, and only while its transaction is active
//!
//! Bounded: one entry for each table that an active transaction has locked. The memory stays for
//! the segment's next transaction.
//!
//! Callers: `manager.rs`: the transaction's own thread, and whoever works under the latch of the
//! queues.

use ids::TxnId;
use latch::{Condition, Latch, LatchKind, Shared32};
use os::{Os, Session};
use waits::Timestamp;

use crate::locks::TableMode;
use crate::locks::wanted::SessionName;

/// One undo segment's. Apart from others by cache lines, for it's written for each transaction.
#[repr(align(128))]
pub(super) struct Seat {
    pub(super) holdings: Latch<Holdings>,
    /// So many wait for the end of its transaction, or have just stopped. Changed under the latch
    /// of the queues.
    pub(super) waiters: Shared32,
    /// Where they wait.
    pub(super) ended: Condition,
    /// Where its own transaction waits for a table.
    pub(super) granted: Condition,
}

impl Seat {
    pub(super) fn new(os: &Os) -> Seat {
        Seat {
            holdings: Latch::new(os, LatchKind::Innermost, Holdings::default())
                .checked(os, Holdings::assert_consistent),
            waiters: Shared32::new(0),
            ended: Condition::new(os),
            granted: Condition::new(os),
        }
    }
}

/// The tables that a transaction has locked.
#[derive(Default)]
pub(super) struct Holdings {
    /// Whose they are, if there are any.
    owner: Option<TxnId>,
    /// Its session. Stays for the next one, which may be the same session's.
    who: Option<SessionName>,
    /// By object.
    tables: Vec<HeldTable>,
}

/// One table.
pub(super) struct HeldTable {
    pub(super) object: u32,
    pub(super) place: ModeAt,
    pub(super) since: Timestamp,
}

/// Where the mode is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ModeAt {
    Seat(TableMode),
    Table,
}

impl Holdings {
    /// The transaction asks for a table.
    pub(super) fn enter(&mut self, owner: TxnId, session: &Session) {
        if self.owner != Some(owner) {
            assert!(self.tables.is_empty(), "{:?} has ended with locks (rule TX10)", self.owner);
            self.owner = Some(owner);
        }
        if !self.who.as_ref().is_some_and(|who| who.is(session)) {
            self.who = Some(SessionName::of(session));
        }
    }

    /// The session of this transaction, if it has asked for a table.
    pub(super) fn who(&self, owner: TxnId) -> Option<&SessionName> {
        self.who.as_ref().filter(|_| self.owner == Some(owner))
    }

    /// Where the transaction has the table.
    pub(super) fn place(&self, object: u32) -> Option<ModeAt> {
        self.find(object).ok().map(|at| self.tables[at].place)
    }

    /// Whose these are, and what.
    pub(super) fn all(&self) -> impl Iterator<Item = (TxnId, &HeldTable)> {
        let owner = self.owner;
        self.tables.iter().filter_map(move |held| owner.map(|owner| (owner, held)))
    }

    /// The transaction has got the table, or more of it.
    pub(super) fn put(&mut self, object: u32, place: ModeAt, now: Timestamp) {
        match self.find(object) {
            Ok(at) => self.tables[at] = HeldTable { object, place, since: now },
            Err(at) => self.tables.insert(at, HeldTable { object, place, since: now }),
        }
    }

    /// The table is being watched: takes the mode away from here, and says whose it is.
    pub(super) fn hand_over(&mut self, object: u32) -> Option<(TxnId, TableMode)> {
        let at = self.find(object).ok()?;
        let ModeAt::Seat(mode) = self.tables[at].place else { return None };
        self.tables[at].place = ModeAt::Table;
        Some((self.owner.expect("what is held is somebody's"), mode))
    }

    /// The transaction has ended: forgets everything. The tables where it has more to be let go.
    pub(super) fn leave(&mut self, owner: TxnId) -> Vec<u32> {
        if self.owner != Some(owner) {
            return Vec::new();
        }
        self.owner = None;
        let with_tables = self.tables.iter().filter(|held| held.place == ModeAt::Table);
        let with_tables = with_tables.map(|held| held.object).collect();
        self.tables.clear();
        with_tables
    }

    /// How many tables there are.
    pub(super) fn length(&self) -> usize {
        self.tables.len()
    }

    /// What is wrong, if the invariants of this file don't hold that are seen from here.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.owner.is_none() && !self.tables.is_empty() {
            return Err(format!("nobody's, with {} tables", self.tables.len()));
        }
        if !self.tables.is_sorted_by(|a, b| a.object < b.object) {
            return Err("it doesn't list each table once, in order".to_string());
        }
        for held in &self.tables {
            match held.place {
                ModeAt::Seat(mode) if !mode.is_weak() => {
                    return Err(format!("it keeps {mode:?} of table {} (TX12)", held.object));
                }
                ModeAt::Seat(_) | ModeAt::Table => {}
            }
        }
        Ok(())
    }

    /// The tables, to be broken by a test.
    #[cfg(test)]
    pub(super) fn tables_mut(&mut self) -> &mut Vec<HeldTable> {
        &mut self.tables
    }

    /// Says that the tables are nobody's, for a test.
    #[cfg(test)]
    pub(super) fn forget_owner(&mut self, _: &Session) {
        self.owner = None;
    }

    fn find(&self, object: u32) -> Result<usize, usize> {
        self.tables.binary_search_by_key(&object, |held| held.object)
    }
}
