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

use access::{Direction, RowAddress};
use stop::Stop;
use txn::LockWait;
use value::RowView;
use waits::Nanos;

use crate::Relation;
use crate::driver::{Flow, Locked, Statement, StatementKind};
use crate::scratch::Work;
use crate::search::{RowSearch, Selection};

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

impl IfHeld {
    /// How long a statement waits for a row; none if it passes by it. A wait that has no limit has
    /// that of the transaction.
    pub(crate) fn lock_wait(self, own: LockWait) -> Option<LockWait> {
        match self {
            IfHeld::Wait(LockWait::Forever) => Some(own),
            IfHeld::Wait(lock_wait) => Some(lock_wait),
            IfHeld::Skip => None,
        }
    }
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
        let tables = [self];
        let statement = Statement::over(&tables, StatementKind::Lock).waiting(how.if_held);
        statement.run(work, &mut |statement| {
            let view = statement.view();
            let mut rows: Vec<RowAddress> = Vec::new();
            // A batch of one row, so that no row is looked for behind the limit.
            let (direction, batch_max) = (how.direction, 1);
            let search = RowSearch { selection, filter: &mut filter, view, direction, batch_max };
            self.visit_rows(statement, search, &mut |statement, found| {
                for row in found {
                    if rows.len() as u64 == how.limit {
                        break;
                    }
                    if statement.lock(0, *row, how.if_held)? == Locked::Yes {
                        rows.push(*row);
                    }
                }
                Ok((rows.len() as u64) < how.limit)
            })?;
            // What is shown once isn't taken back (RL12).
            if statement.will_begin_again() {
                return Ok(Flow::Again);
            }
            for row in &rows {
                let mut show = |seen: RowView<'_>| look(*row, seen);
                let found = self.fetch(view, *row, &mut show, statement.session())?;
                assert!(found.is_some(), "row {row} was seen, and is locked");
            }
            Ok(Flow::Done(rows.len() as u64))
        })
    }
}
