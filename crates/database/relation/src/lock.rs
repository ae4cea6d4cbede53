//! Rows that are read and locked by one statement: SELECT … FOR UPDATE.
//!
//! ```text
//!   lock the table ──▶ snapshot ──▶ find rows ──▶ lock each as it was seen ──▶ look at all of them
//!                         ▲                            │ changed since
//!                         └── let go of all of them ───┘        (serializable: refused)
//! ```
//!
//! Who passes by rows that others have waits for none, and passes by those too that were changed
//! since the snapshot; only if it has got none at all it looks again (RL12). So consumers of one
//! queue neither wait for each other nor take a row twice.
//!
//! Callers: whoever executes statements.

use access::{Changed, Direction, RowAddress};
use ids::Dba;
use os::Session;
use stop::Stop;
use txn::{LockWait, Snapshot, View};
use value::{Misreads, RowView};
use waits::Nanos;

use crate::Relation;
use crate::scratch::Work;
use crate::statement::{Filter, Which};

/// What becomes of rows that other transactions have locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IfHeld {
    /// They are waited for, so long each in all (rule txn/TX21); then the statement is refused.
    Wait(LockWait),
    /// They are passed by.
    Skip,
}

/// How rows are locked.
#[derive(Clone, Copy, Debug)]
pub struct ForUpdate {
    /// What becomes of rows that others have.
    pub if_held: IfHeld,
    /// So many are locked, the first ones.
    pub limit: u64,
    /// Which way through a range of an index.
    pub direction: Direction,
}

impl ForUpdate {
    fn new(if_held: IfHeld) -> ForUpdate {
        ForUpdate { if_held, limit: u64::MAX, direction: Direction::Ascending }
    }

    /// FOR UPDATE: waits as long as the transaction's other statements.
    pub fn wait() -> ForUpdate {
        ForUpdate::new(IfHeld::Wait(LockWait::Forever))
    }

    /// FOR UPDATE NOWAIT: refused if another transaction has a row.
    pub fn nowait() -> ForUpdate {
        ForUpdate::new(IfHeld::Wait(LockWait::NoWait))
    }

    /// FOR UPDATE WAIT n: waits so long for each row, whoever has it one after the other, then it
    /// is refused (rule txn/TX21). It waits so long for the table too.
    pub fn wait_for(length: Nanos) -> ForUpdate {
        ForUpdate::new(IfHeld::Wait(LockWait::For(length)))
    }

    /// FOR UPDATE SKIP LOCKED.
    pub fn skip_locked() -> ForUpdate {
        ForUpdate::new(IfHeld::Skip)
    }

    /// Only the first so many rows.
    #[must_use]
    pub fn limit(self, limit: u64) -> ForUpdate {
        ForUpdate { limit, ..self }
    }

    /// From the end of the range to its beginning.
    #[must_use]
    pub fn descending(self) -> ForUpdate {
        ForUpdate { direction: Direction::Descending, ..self }
    }
}

/// Looks at a row that was locked. It only computes.
type Look<'a> = dyn FnMut(RowAddress, RowView<'_>) + 'a;

/// A statement that locks rows, as of one snapshot.
struct Locking<'a> {
    snapshot: &'a Snapshot<'a>,
    view: View,
    how: ForUpdate,
    /// The rows that it has locked.
    rows: Vec<RowAddress>,
    /// It has met a row that was changed since its snapshot.
    met_newer: bool,
}

impl Locking<'_> {
    fn is_enough(&self) -> bool {
        self.rows.len() as u64 >= self.how.limit
    }
}

impl Relation {
    /// Locks rows and looks at them, by one statement: all of them, or, if it is refused, none. How
    /// many. `filter` only computes, and may be called again; `look` is called once for each, when
    /// all are locked, under their blocks' latches if it can be, so that it only computes.
    pub fn lock_where(
        &self,
        work: &mut Work<'_>,
        which: Which<'_>,
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
        self.lock_for_changes_within(for_table, work)?;
        self.with_restarts(work, &mut |work| {
            self.try_lock_where(work, which, &mut filter, how, look)
        })
    }

    /// None if it has to begin again.
    fn try_lock_where(
        &self,
        work: &mut Work<'_>,
        which: Which<'_>,
        filter: &mut Filter<'_>,
        how: ForUpdate,
        look: &mut Look<'_>,
    ) -> Result<Option<u64>, Stop> {
        let session = work.session;
        let snapshot = self.transactions().snapshot(Some(work.transaction), session)?;
        // Of its own it sees all, for this statement only locks.
        let view = self.transactions().view_of(&snapshot, Some(work.transaction)).with_all_own();
        let (rows, met_newer) = (Vec::new(), false);
        let mut locking = Locking { snapshot: &snapshot, view, how, rows, met_newer };
        if !self.lock_all(work, which, filter, &mut locking)? {
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

    /// Locks the rows that are meant. False if it has to begin again.
    fn lock_all(
        &self,
        work: &mut Work<'_>,
        which: Which<'_>,
        filter: &mut Filter<'_>,
        locking: &mut Locking<'_>,
    ) -> Result<bool, Stop> {
        let (session, view) = (work.session, locking.view);
        match self.rows_of(which)? {
            Which::Key(index, key) => {
                let row = self.find(index, key, view, work.scratch, session)?;
                match row.filter(|_| !locking.is_enough()) {
                    Some(row) if self.matches(filter, index, row, view, session)? => {
                        self.lock_one(work, row, locking)
                    }
                    _ => Ok(true),
                }
            }
            Which::Range(index, bounds) => {
                let mut rows = self.range(index, &bounds, locking.how.direction, view)?;
                while !locking.is_enough() {
                    let Some(row) = rows.next_address(session)? else { break };
                    if self.matches(filter, index, row, view, session)?
                        && !self.lock_one(work, row, locking)?
                    {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Which::All => self.lock_of_all(work, filter, locking),
        }
    }

    /// Block by block.
    fn lock_of_all(
        &self,
        work: &mut Work<'_>,
        filter: &mut Filter<'_>,
        locking: &mut Locking<'_>,
    ) -> Result<bool, Stop> {
        let view = locking.view;
        self.check_view(view)?;
        let (session, mut begins_again) = (work.session, false);
        let mut each = |block| {
            for row in self.matching_in_block(block, filter, view, session)? {
                let is_enough = locking.is_enough();
                begins_again = !is_enough && !self.lock_one(work, row, locking)?;
                if is_enough || begins_again {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        self.heap().through_cache(&mut each, session)?;
        Ok(!begins_again)
    }

    /// Where the rows of a block are that are meant.
    fn matching_in_block(
        &self,
        block: Dba,
        filter: &mut Filter<'_>,
        view: View,
        session: &Session,
    ) -> Result<Vec<RowAddress>, Stop> {
        let (mut rows, mut damaged, misreads) = (Vec::new(), Ok(()), Misreads::default());
        let mut visit = |address, row: &[u8]| match self.row_for(row, &misreads) {
            Ok(row) if filter.as_mut().is_none_or(|filter| filter(&row)) => rows.push(address),
            Ok(_) => {}
            Err(stop) => damaged = Err(stop),
        };
        self.heap().visit_block(view, block, &mut visit, session)?;
        self.check_there(session)?;
        damaged.and(self.check_misreads(&misreads)).map(|()| rows)
    }

    /// Locks a row as the snapshot sees it. False if the statement has to begin again.
    fn lock_one(
        &self,
        work: &mut Work<'_>,
        row: RowAddress,
        locking: &mut Locking<'_>,
    ) -> Result<bool, Stop> {
        let view = self.transactions().view_of(locking.snapshot, Some(work.transaction));
        let (heap, session, if_held) = (self.heap(), work.session, locking.how.if_held);
        let done = match if_held {
            IfHeld::Wait(lock_wait) => {
                heap.lock(work.transaction, (row, Some(view), lock_wait), session)?
            }
            IfHeld::Skip => heap.try_lock(work.transaction, (row, Some(view)), session)?,
        };
        if done == Changed::NotThere {
            self.check_seen(view, row, session)?;
        }
        match done {
            Changed::Yes | Changed::Already => locking.rows.push(row),
            Changed::Held => {}
            Changed::NotThere | Changed::Since if if_held == IfHeld::Skip => {
                locking.met_newer = true;
            }
            Changed::NotThere | Changed::Since => return Ok(false),
            Changed::TooNew => return Err(self.too_new()),
        }
        Ok(true)
    }
}
