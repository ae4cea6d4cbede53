//! Requests for rows and tables, lock waits, and the sessions of transactions.
//!
//! Callers: `access`, `relation` and `catalog` make requests; `deadlock` and `views` show them.

use std::fmt;
use std::sync::Arc;

use ids::{Dba, TxnId};
use os::{Session, SessionNo, ThreadId, Waiting};
use waits::{Account, Nanos, Timestamp, WaitEvent};

use crate::locks::TableMode;

/// "TX" as p1 of a wait shows it, with the mode in the lower half.
const TX: u64 = 0x5458_0000;

/// What a transaction waits for in a block, until another transaction ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowWait {
    /// A row that the other one has locked or changed.
    Row,
    /// Whether the other one's entry with the same key stays.
    UniqueKey,
    /// An ITL entry: the block's list is full of active transactions, and the end of any will do.
    ItlEntry,
}

impl RowWait {
    /// The wait event.
    pub const fn event(self) -> WaitEvent {
        match self {
            RowWait::Row | RowWait::UniqueKey => WaitEvent::EnqTxRowLock,
            RowWait::ItlEntry => WaitEvent::EnqTxAllocateItl,
        }
    }

    /// The mode that views show for the request.
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

/// A row, a unique key or an ITL entry that a transaction requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowWanted {
    /// Which of these it is.
    pub what: RowWait,
    /// The table or index, by its number.
    pub object: u32,
    /// The block.
    pub block: Dba,
    /// The slot of the row or entry in the block; 0 for an ITL entry.
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

/// The request of a transaction for something that others have until they end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowRequest {
    /// The transaction that requests it.
    pub waiter: TxnId,
    /// What it requests.
    pub wanted: RowWanted,
    /// How long it waits at most, counted from `began`.
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
    /// Without a limit.
    #[default]
    Forever,
    /// Not at all: refused with [`stop::RefusalKind::Busy`].
    NoWait,
    /// This long: then refused with [`stop::RefusalKind::LockTimeout`].
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

/// What a transaction waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockWanted {
    /// The end of a transaction.
    Row {
        /// The other transaction.
        holder: TxnId,
        /// What the waiter requests.
        wanted: RowWanted,
    },
    /// A table lock.
    Table {
        /// The number of the table.
        object: u32,
        /// The mode that the waiter will have, with what it has already.
        mode: TableMode,
        /// Whether the waiter has the table in a weaker mode.
        converts: bool,
    },
}

/// The session of a transaction.
#[derive(Clone)]
pub(super) struct SessionName {
    account: Arc<Account>,
    number: SessionNo,
    thread: ThreadId,
}

impl SessionName {
    pub(super) fn of(session: &Session) -> SessionName {
        let (number, thread) = (session.number(), session.thread());
        SessionName { account: Arc::clone(session.account()), number, thread }
    }

    pub(super) fn is(&self, session: &Session) -> bool {
        Arc::ptr_eq(&self.account, session.account())
    }

    pub(super) fn name(&self) -> &str {
        self.account.name()
    }

    pub(super) fn number(&self) -> SessionNo {
        self.number
    }
}

/// The session's name, which is its thread's, and the thread's number: `user1 (t4)`.
impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", cut(self.name(), SESSION_CHARS_MAX), self.thread)
    }
}

/// The length of sessions' names in messages, at most, so that lines stay within 80 columns.
const SESSION_CHARS_MAX: usize = 20;

/// The first characters of a name.
pub(super) fn cut(name: &str, chars: usize) -> &str {
    name.char_indices().nth(chars).map_or(name, |(end, _)| &name[..end])
}

/// The wait of a transaction, which has one at most.
#[derive(Clone)]
pub(super) struct Wait {
    pub(super) waiter: TxnId,
    pub(super) who: SessionName,
    pub(super) since: Timestamp,
    pub(super) wanted: LockWanted,
}
