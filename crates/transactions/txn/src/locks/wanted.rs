//! What a transaction waits for, who it is, and how patient.
//!
//! Callers: whoever locks rows and tables says it; `deadlock.rs` and the views show it.

use std::fmt;
use std::sync::Arc;

use ids::{Dba, TxnId};
use os::{Session, ThreadId, Waiting};
use waits::{Account, Nanos, Timestamp, WaitEvent};

use crate::locks::TableMode;

/// "TX" as p1 of a wait shows it, with the mode in the lower half.
const TX: u64 = 0x5458_0000;

/// What of a block is waited for, until another transaction ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowWait {
    /// The row, which the other one has locked or changed.
    Row,
    /// To know whether the other one's entry with the same key stays.
    UniqueKey,
    /// An entry of the block's list of transactions: all have active ones. The other one is that
    /// of which the caller expects an end; any would do, so a deadlock over this may be one that
    /// time would have solved.
    ItlEntry,
}

impl RowWait {
    /// The event of such a wait.
    pub const fn event(self) -> WaitEvent {
        match self {
            RowWait::Row | RowWait::UniqueKey => WaitEvent::EnqTxRowLock,
            RowWait::ItlEntry => WaitEvent::EnqTxAllocateItl,
        }
    }

    /// The mode in which the other one's end is asked for, as views show it.
    pub const fn mode(self) -> u8 {
        match self {
            RowWait::Row => 6,
            RowWait::UniqueKey | RowWait::ItlEntry => 4,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            RowWait::Row => "a row",
            RowWait::UniqueKey => "a unique key",
            RowWait::ItlEntry => "an ITL entry",
        }
    }

    pub(super) const fn held(self) -> &'static str {
        match self {
            RowWait::Row => "has the row locked",
            RowWait::UniqueKey => "has put in or removed the same key",
            RowWait::ItlEntry => "has one of the block's entries",
        }
    }
}

/// What a transaction wants that another one has until it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowWanted {
    /// Row, key or entry of the list.
    pub what: RowWait,
    /// The table or index, by its number.
    pub object: u32,
    /// The block.
    pub block: Dba,
    /// The row or entry in the block; 0 for an entry of the list.
    pub slot: u16,
}

impl RowWanted {
    /// The wait for this transaction, with its event and p1 to p3.
    pub(super) fn waiting<'s>(&self, holder: TxnId, session: &'s Session) -> Waiting<'s> {
        let slot = u64::from(holder.segment) << 16 | u64::from(holder.slot);
        let p1 = TX | u64::from(self.what.mode());
        session.waiting(self.what.event()).p(p1, slot, u64::from(holder.sequence))
    }
}

/// The request of a transaction for something that other transactions have until they end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowRequest {
    /// The transaction that asks.
    pub waiter: TxnId,
    /// What it asks for.
    pub wanted: RowWanted,
    /// How long it waits at most, from `began` on.
    pub lock_wait: LockWait,
    /// When it began to wait for this, whichever transactions have had it since (TX21).
    pub began: Timestamp,
}

impl RowRequest {
    pub(super) fn until(&self) -> Option<Timestamp> {
        self.lock_wait.until(self.began)
    }
}

/// How long a statement waits for a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LockWait {
    /// Until it has it.
    #[default]
    Forever,
    /// Not at all: refused with [`stop::RefusalKind::Busy`].
    NoWait,
    /// So long: then refused with [`stop::RefusalKind::LockTimeout`].
    For(Nanos),
}

impl LockWait {
    pub(super) fn until(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            LockWait::For(length) => Some(now.after(length)),
            LockWait::Forever | LockWait::NoWait => None,
        }
    }
}

/// What somebody waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockWanted {
    /// The end of a transaction.
    Row {
        /// Whose end.
        holder: TxnId,
        /// What for.
        wanted: RowWanted,
    },
    /// A table.
    Table {
        /// Its number.
        object: u32,
        /// What the waiter comes to have: with what it has already.
        mode: TableMode,
        /// Whether it has the table in a weaker mode.
        converts: bool,
    },
}

/// The session that works for a transaction.
#[derive(Clone)]
pub(super) struct SessionName {
    account: Arc<Account>,
    thread: ThreadId,
}

impl SessionName {
    pub(super) fn of(session: &Session) -> SessionName {
        SessionName { account: Arc::clone(session.account()), thread: session.thread() }
    }

    pub(super) fn is(&self, session: &Session) -> bool {
        Arc::ptr_eq(&self.account, session.account())
    }

    pub(super) fn name(&self) -> &str {
        self.account.name()
    }
}

/// The session's name, which is its thread's, and the thread's number: `user1 (t4)`.
impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", cut(self.name(), SESSION_CHARS_MAX), self.thread)
    }
}

/// Names of sessions in messages are cut to so much, that lines stay within 80 columns.
const SESSION_CHARS_MAX: usize = 20;

/// So many characters of a name.
pub(super) fn cut(name: &str, chars: usize) -> &str {
    name.char_indices().nth(chars).map_or(name, |(end, _)| &name[..end])
}

/// One transaction's wait. It has one at most.
#[derive(Clone)]
pub(super) struct Wait {
    pub(super) waiter: TxnId,
    pub(super) who: SessionName,
    pub(super) since: Timestamp,
    pub(super) wanted: LockWanted,
}
