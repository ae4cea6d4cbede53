//! SELECT … FOR UPDATE: rows that one statement locks and then reads.
//!
//! ```text
//!   lock the table ──▶ snapshot ──▶ find rows ──▶ lock each as it was seen ──▶ look at all of them
//!                         ▲                            │ changed since
//!                         └── let go of all of them ───┘        (serializable: refused)
//! ```
//!
//! A statement that passes by locked rows (SKIP LOCKED) waits for no row, and passes by rows that
//! were changed since its snapshot too; only if it has locked none it begins again (RL25). So
//! consumers of one queue neither wait for each other nor take a row twice.
//!
//! Callers: the embedded API; SQL.

use access::{Changed, Direction, RowAddress};
use stop::Stop;
use txn::{LockWait, Snapshot, TableMode};
use value::RowView;
use waits::Nanos;

use crate::Relation;
use crate::scratch::Work;
use crate::search::{Filter, RowSearch, Selection};

/// What a statement does about rows that other transactions have locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IfHeld {
    /// It waits for them, each as long as this in all (rule txn/TX21), and is refused then.
    Wait(LockWait),
    /// It passes by them.
    Skip,
}

/// How a statement locks rows.
#[derive(Clone, Copy, Debug)]
pub struct ForUpdate {
    /// What it does about rows that others have locked.
    pub if_held: IfHeld,
    /// At most this many rows are locked, the first ones.
    pub limit: u64,
    /// The direction in which it goes through an index range.
    pub direction: Direction,
}

impl ForUpdate {
    fn new(if_held: IfHeld) -> ForUpdate {
        ForUpdate { if_held, limit: u64::MAX, direction: Direction::Ascending }
    }

    /// FOR UPDATE: it waits as long as the transaction's other statements do.
    pub fn wait() -> ForUpdate {
        ForUpdate::new(IfHeld::Wait(LockWait::Forever))
    }

    /// FOR UPDATE NOWAIT: it is refused if another transaction has a row, or the table.
    pub fn nowait() -> ForUpdate {
        ForUpdate::new(IfHeld::Wait(LockWait::NoWait))
    }

    /// FOR UPDATE WAIT n: it waits this long for each row, whichever transactions have it one after
    /// the other (rule txn/TX21), and this long for the table (RL41); then it is refused.
    pub fn wait_for(length: Nanos) -> ForUpdate {
        ForUpdate::new(IfHeld::Wait(LockWait::For(length)))
    }

    /// FOR UPDATE SKIP LOCKED.
    pub fn skip_locked() -> ForUpdate {
        ForUpdate::new(IfHeld::Skip)
    }

    /// Locks the first `limit` rows only.
    #[must_use]
    pub fn limit(self, limit: u64) -> ForUpdate {
        ForUpdate { limit, ..self }
    }

    /// Goes from the end of the range to its beginning.
    #[must_use]
    pub fn descending(self) -> ForUpdate {
        ForUpdate { direction: Direction::Descending, ..self }
    }
}

/// Is given each row that was locked. It only computes.
type Look<'a> = dyn FnMut(RowAddress, RowView<'_>) + 'a;

/// A statement that locks rows as of one snapshot.
struct Locking<'a> {
    snapshot: &'a Snapshot<'a>,
    how: ForUpdate,
    /// The rows that it has locked so far.
    rows: Vec<RowAddress>,
    /// It has met a row that was changed since its snapshot, and has passed by it.
    met_newer: bool,
    /// It has met such a row, and doesn't pass by locked rows.
    must_restart: bool,
}

impl Locking<'_> {
    fn is_done(&self) -> bool {
        self.must_restart || self.rows.len() as u64 >= self.how.limit
    }
}

impl Relation {
    /// Locks rows, gives each of them to `look`, and returns how many. If the statement is refused,
    /// none is locked. `filter` only computes, and may be called again; `look` is called once for
    /// each row when all are locked, under their blocks' latches if possible, so it only computes.
    pub fn lock_where(
        &self,
        work: &mut Work<'_>,
        selection: Selection<'_>,
        mut filter: Option<&mut dyn FnMut(&RowView<'_>) -> bool>,
        how: ForUpdate,
        look: &mut dyn FnMut(RowAddress, RowView<'_>),
    ) -> Result<u64, Stop> {
        let own = work.transaction.lock_wait();
        let (how, for_table) = match how.if_held {
            IfHeld::Wait(LockWait::Forever) => {
                (ForUpdate { if_held: IfHeld::Wait(own), ..how }, own)
            }
            IfHeld::Wait(lock_wait) => (how, lock_wait),
            IfHeld::Skip => (how, own),
        };
        self.lock_for_changes_within(TableMode::RowExclusive, for_table, work)?;
        self.with_restarts(work, &mut |work| {
            self.try_lock_where(work, selection, &mut filter, how, look)
        })
    }

    /// Runs the statement once. Returns none if it has to begin again.
    fn try_lock_where(
        &self,
        work: &mut Work<'_>,
        selection: Selection<'_>,
        filter: &mut Filter<'_>,
        how: ForUpdate,
        look: &mut Look<'_>,
    ) -> Result<Option<u64>, Stop> {
        let session = work.session;
        let snapshot = self.transactions().snapshot(Some(work.transaction), session)?;
        // The statement sees all changes of its own transaction, because it only locks.
        let view = self.transactions().view_of(&snapshot, Some(work.transaction)).with_all_own();
        let mut locking = Locking {
            snapshot: &snapshot,
            how,
            rows: Vec::new(),
            met_newer: false,
            must_restart: false,
        };
        let mut lock = |work: &mut Work<'_>, rows: &[RowAddress]| {
            for row in rows {
                if locking.is_done() {
                    break;
                }
                self.lock_one(work, *row, &mut locking)?;
            }
            Ok(!locking.is_done())
        };
        // A batch of one row, so that no row is looked for behind the limit.
        let search = RowSearch { selection, filter, view, direction: how.direction, batch_max: 1 };
        self.visit_rows(work, search, &mut lock)?;
        if locking.must_restart {
            return Ok(None);
        }
        if locking.met_newer && (locking.rows.is_empty() || work.transaction.is_serializable()) {
            return Ok(None);
        }
        for row in &locking.rows {
            let found = self.fetch(view, *row, &mut |seen| look(*row, seen), session)?;
            assert!(found.is_some(), "row {row} was seen, and is locked");
        }
        Ok(Some(locking.rows.len() as u64))
    }

    /// Locks a row if it is as the snapshot sees it.
    fn lock_one(
        &self,
        work: &mut Work<'_>,
        row: RowAddress,
        locking: &mut Locking<'_>,
    ) -> Result<(), Stop> {
        let view = self.transactions().view_of(locking.snapshot, Some(work.transaction));
        let (heap, session, if_held) = (self.heap(), work.session, locking.how.if_held);
        let lock_wait = match if_held {
            IfHeld::Wait(lock_wait) => Some(lock_wait),
            IfHeld::Skip => None,
        };
        let done = heap.lock(work.transaction, row, Some(view), lock_wait, session)?;
        if done == Changed::NotThere {
            self.check_seen(view, row, session)?;
        }
        match done {
            Changed::Yes | Changed::Already => locking.rows.push(row),
            Changed::Held => {}
            Changed::NotThere | Changed::Since if if_held == IfHeld::Skip => {
                locking.met_newer = true;
            }
            Changed::NotThere | Changed::Since => locking.must_restart = true,
            Changed::TooNew => return Err(self.too_new()),
        }
        Ok(())
    }
}
