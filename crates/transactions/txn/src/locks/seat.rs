//! The table locks of an undo segment's active transaction: its *seat*.
//!
//! ```text
//!   seat 0 ── tables: 71 RX here, 80 RS here         no other session looks
//!   seat 1 ── tables: 71 RX here, 90 ↗
//!   seat 2 ── tables: 90 ↗                           ↗ the mode is with the table, in `table.rs`
//! ```
//!
//! Invariants
//!   * a mode is kept in one place: at the seat or with the table; while a table is watched, with
//!     the table (TX12)
//!   * only weak modes are at seats, so those of one table always go together
//!   * a seat lists a table once, and only while its transaction is active
//!
//! Bounded: one entry for each table that an active transaction has locked. The memory stays for
//! the segment's next transaction.
//!
//! Callers: `manager`: the transaction's own session, and sessions with the latch of the queues.

use ids::TxnId;
use latch::{Condition, Latch, LatchKind, Shared32};
use os::{Os, Session};
use waits::Timestamp;

use crate::locks::TableMode;
use crate::locks::wanted::SessionName;

/// The seat of one undo segment. It has cache lines of its own, because each transaction writes it.
#[repr(align(128))]
pub(super) struct Seat {
    pub(super) holdings: Latch<Holdings>,
    /// How many sessions wait for the end of the transaction, or have just stopped. Changed under
    /// the latch of the queues.
    pub(super) waiters: Shared32,
    /// Sessions that wait for the end of the transaction sleep here.
    pub(super) ended: Condition,
    /// The transaction's own session sleeps here while it waits for a table.
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
    /// The transaction, if it has asked for a table.
    owner: Option<TxnId>,
    /// The transaction's session. It stays for the next transaction, which may be the same
    /// session's.
    who: Option<SessionName>,
    /// The tables, in order of their numbers.
    tables: Vec<HeldTable>,
}

/// A table that a transaction has locked.
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
    /// Notes the transaction that asks for a table, and its session.
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

    /// Where the mode of the table is kept, if the transaction has the table.
    pub(super) fn place(&self, object: u32) -> Option<ModeAt> {
        self.find(object).ok().map(|at| self.tables[at].place)
    }

    /// The tables, each with the transaction that has it.
    pub(super) fn all(&self) -> impl Iterator<Item = (TxnId, &HeldTable)> {
        let owner = self.owner;
        self.tables.iter().filter_map(move |held| owner.map(|owner| (owner, held)))
    }

    /// Notes that the transaction was granted the table.
    pub(super) fn put(&mut self, object: u32, place: ModeAt, now: Timestamp) {
        match self.find(object) {
            Ok(at) => self.tables[at] = HeldTable { object, place, since: now },
            Err(at) => self.tables.insert(at, HeldTable { object, place, since: now }),
        }
    }

    /// Forgets a table that the transaction gives back.
    pub(super) fn remove(&mut self, object: u32) {
        if let Ok(at) = self.find(object) {
            self.tables.remove(at);
        }
    }

    /// Takes the mode of a table that is being watched away from here. Returns the transaction and
    /// its mode.
    pub(super) fn hand_over(&mut self, object: u32) -> Option<(TxnId, TableMode)> {
        let at = self.find(object).ok()?;
        let ModeAt::Seat(mode) = self.tables[at].place else { return None };
        self.tables[at].place = ModeAt::Table;
        Some((self.owner.expect("held tables have an owner"), mode))
    }

    /// Forgets everything of a transaction that has ended. Returns the tables that keep its mode.
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

    /// The number of tables.
    pub(super) fn length(&self) -> usize {
        self.tables.len()
    }

    /// Checks the invariants of this file that concern one seat. The error says what is wrong.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.owner.is_none() && !self.tables.is_empty() {
            return Err(format!("no owner, with {} tables", self.tables.len()));
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

    /// The tables, for a test that breaks them.
    #[cfg(test)]
    pub(super) fn tables_mut(&mut self) -> &mut Vec<HeldTable> {
        &mut self.tables
    }

    /// Breaks the seat for a test: its tables have no owner.
    #[cfg(test)]
    pub(super) fn forget_owner(&mut self, _: &Session) {
        self.owner = None;
    }

    fn find(&self, object: u32) -> Result<usize, usize> {
        self.tables.binary_search_by_key(&object, |held| held.object)
    }
}
