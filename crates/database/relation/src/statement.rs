//! Statements: what holds of all of them, and those that choose their rows as of a snapshot.
//!
//! ```text
//!   lock the table ──▶ snapshot ──▶ find rows ──▶ change each as it was seen ──▶ check ──▶ done
//!                         ▲                             │ changed since
//!                         └──── take all of it back ────┘        (serializable: refused)
//! ```
//!
//! Callers: `insert`, `update`, `delete`; whoever executes statements.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use access::{Changed, RowAddress};
use os::Session;
use stop::{RefusalKind, Stop};
use txn::{OwnChanges, Snapshot, View};
use value::{Misreads, RowView, Value};
use waits::WaitEvent;

use crate::delete::DeleteRows;
use crate::foreign::{PENDING_MAX, process_pending};
use crate::range::Bounds;
use crate::scratch::Work;
use crate::update::UpdateRows;
use crate::{IndexId, Relation, RowChange};

/// A statement that has begun again so often waits until all redo is durable: what it was told
/// that it can't see yet may have been taken back by redo that nobody else waits for.
const RESTARTS_AT_ONCE: u32 = 3;

/// So many rows of a range are held at most until they are changed.
const BATCH_ROWS_MAX: usize = 256;

/// Which rows a statement is about. An index is named by its place in the definition of the
/// relation that the statement is given to, or, by whoever holds this across calls, by its
/// [`IndexId`].
#[derive(Clone, Copy, Debug)]
pub enum Which<'v, I = usize> {
    /// The row with this key in a unique index: a value for each of its columns. With a NULL among
    /// them the key isn't unique, and all rows are meant that have it.
    Key(I, &'v [Value<'v>]),
    /// Those in a range of an index.
    Range(I, Bounds<'v>),
    /// All.
    All,
}

impl<'v> Which<'v, IndexId> {
    /// The same rows, with the index by its place in this relation (RL14).
    pub fn within(self, relation: &Relation) -> Result<Which<'v>, Stop> {
        Ok(match self {
            Which::Key(index, key) => Which::Key(relation.place_of(index)?, key),
            Which::Range(index, bounds) => Which::Range(relation.place_of(index)?, bounds),
            Which::All => Which::All,
        })
    }
}

impl Relation {
    /// The same rows, with a key only where one row at most can have it (RL4).
    pub(crate) fn rows_of<'v>(&self, which: Which<'v>) -> Result<Which<'v>, Stop> {
        let Which::Key(index, key) = which else { return Ok(which) };
        self.check_unique(index)?;
        self.check_key_length(index, key.len())?;
        Ok(match key.iter().any(|value| value.is_null()) {
            true => Which::Range(index, Bounds::equal(key)),
            false => which,
        })
    }
}

/// Which of the rows; none is all of them. It only computes, and may be called again.
pub(crate) type Filter<'a> = Option<&'a mut (dyn FnMut(&RowView<'_>) -> bool + 'a)>;

/// What a statement does with its rows.
pub(crate) trait RowOperation {
    /// Does it with one, as the view sees it.
    fn apply_one(
        &mut self,
        relation: &Relation,
        work: &mut Work<'_>,
        row: RowAddress,
        view: Option<View>,
    ) -> Result<Changed, Stop>;

    /// Does it with as many of these rows of one block, from the first on, as can be done together;
    /// with how many. The next is to be done alone.
    fn apply_together(
        &mut self,
        _: &Relation,
        _: &mut Work<'_>,
        _: &[RowAddress],
        _: View,
    ) -> Result<usize, Stop> {
        Ok(0)
    }
}

/// A statement on its way.
struct Progress<'a> {
    relation: &'a Relation,
    snapshot: &'a Snapshot<'a>,
    operation: &'a mut dyn RowOperation,
    count: u64,
}

impl Progress<'_> {
    /// False if a row was changed since.
    fn apply_one(&mut self, work: &mut Work<'_>, row: RowAddress) -> Result<bool, Stop> {
        let view = self.relation.transactions().view_of(self.snapshot, Some(work.transaction));
        let changed = self.operation.apply_one(self.relation, work, row, Some(view))?;
        if changed == Changed::NotThere {
            self.relation.check_seen(view, row, work.session)?;
        }
        self.relation.process_pending_early(work)?;
        if changed == Changed::TooNew {
            return Err(self.relation.too_new());
        }
        self.count += u64::from(changed == Changed::Yes);
        // What the statement has changed already, by a cascade, stays as it was changed.
        Ok(matches!(changed, Changed::Yes | Changed::Already))
    }

    /// The same with rows of one block.
    fn apply_rows(&mut self, work: &mut Work<'_>, mut rows: &[RowAddress]) -> Result<bool, Stop> {
        while let Some((first, others)) = rows.split_first() {
            let view = self.relation.transactions().view_of(self.snapshot, Some(work.transaction));
            let done = match others {
                [] => 0,
                _ => self.operation.apply_together(self.relation, work, rows, view)?,
            };
            self.count += done as u64;
            rows = &rows[done..];
            if done > 0 {
                continue;
            }
            if !self.apply_one(work, *first)? {
                return Ok(false);
            }
            rows = others;
        }
        Ok(true)
    }
}

impl Relation {
    /// Changes rows as `change` says, by one statement: all of them, or, if it is refused, none.
    /// How many. `filter` and `change` only compute, and may be called again.
    pub fn update_where(
        &self,
        work: &mut Work<'_>,
        which: Which<'_>,
        filter: Option<&mut dyn FnMut(&RowView<'_>) -> bool>,
        change: &mut dyn FnMut(&RowView<'_>, &mut RowChange<'_>) -> Result<(), Stop>,
    ) -> Result<u64, Stop> {
        self.change_where(work, which, filter, &mut UpdateRows::by(change))
    }

    /// Deletes rows by one statement: all of them, or, if it is refused, none. How many.
    pub fn delete_where(
        &self,
        work: &mut Work<'_>,
        which: Which<'_>,
        filter: Option<&mut dyn FnMut(&RowView<'_>) -> bool>,
    ) -> Result<u64, Stop> {
        self.change_where(work, which, filter, &mut DeleteRows)
    }

    /// Does `act` with rows, as of a snapshot; begins again where one was changed since (rule
    /// access/AC9). Each time somebody else has got further.
    fn change_where(
        &self,
        work: &mut Work<'_>,
        which: Which<'_>,
        mut filter: Filter<'_>,
        operation: &mut dyn RowOperation,
    ) -> Result<u64, Stop> {
        self.lock_for_changes(work)?;
        self.with_restarts(work, &mut |work| {
            work.scratch.pending.clear();
            self.try_where(work, which, &mut filter, operation)
        })
    }

    /// Does a statement as of a snapshot until it isn't told None, which is that it has to begin
    /// again (rule RL10). What it has done is taken back before that, and if it is refused. That it
    /// has waited for a row stays (rule txn/TX21).
    pub(crate) fn with_restarts<T>(
        &self,
        work: &mut Work<'_>,
        statement: &mut dyn FnMut(&mut Work<'_>) -> Result<Option<T>, Stop>,
    ) -> Result<T, Stop> {
        let session = work.session;
        let mut restarts = 0;
        work.transaction.forget_waits();
        loop {
            let done = self.all_or_nothing(work, |work| {
                work.transaction.begin_statement();
                statement(work)
            })?;
            if let Some(done) = done {
                return Ok(done);
            }
            if work.transaction.is_serializable() {
                return Err(self.changed_since());
            }
            restarts += 1;
            if restarts > RESTARTS_AT_ONCE {
                let redo = self.transactions().changes().redo();
                redo.make_durable(redo.last_scn(session), session, WaitEvent::LogFileSync)?;
            }
        }
    }

    /// None if a row was changed since.
    fn try_where(
        &self,
        work: &mut Work<'_>,
        which: Which<'_>,
        filter: &mut Filter<'_>,
        operation: &mut dyn RowOperation,
    ) -> Result<Option<u64>, Stop> {
        let session = work.session;
        let snapshot = self.transactions().snapshot(Some(work.transaction), session)?;
        let view = statement_view(self.transactions().view_of(&snapshot, Some(work.transaction)));
        let mut progress = Progress { relation: self, snapshot: &snapshot, operation, count: 0 };
        let all = match self.rows_of(which)? {
            Which::Key(index, key) => match self.find(index, key, view, work.scratch, session)? {
                Some(row) if self.matches(filter, index, row, view, session)? => {
                    progress.apply_one(work, row)?
                }
                _ => true,
            },
            Which::Range(index, bounds) => {
                self.each_of_range(work, index, &bounds, filter, view, &mut progress)?
            }
            Which::All => self.each_of_all(work, filter, view, &mut progress)?,
        };
        if !all {
            return Ok(None);
        }
        process_pending(work)?;
        Ok(Some(progress.count))
    }

    /// In the order of the index; neighbours there that lie in one block are done together.
    fn each_of_range(
        &self,
        work: &mut Work<'_>,
        index: usize,
        bounds: &Bounds<'_>,
        filter: &mut Filter<'_>,
        view: View,
        progress: &mut Progress<'_>,
    ) -> Result<bool, Stop> {
        let session = work.session;
        let mut found = self.range(index, bounds, access::Direction::Ascending, view)?;
        let mut rows: Vec<RowAddress> = Vec::new();
        while let Some(row) = found.next_address(session)? {
            if !self.matches(filter, index, row, view, session)? {
                continue;
            }
            let is_elsewhere = rows.last().is_some_and(|last| last.block != row.block);
            if is_elsewhere || rows.len() == BATCH_ROWS_MAX {
                if !progress.apply_rows(work, &rows)? {
                    return Ok(false);
                }
                rows.clear();
            }
            rows.push(row);
        }
        progress.apply_rows(work, &rows)
    }

    /// Block by block.
    fn each_of_all(
        &self,
        work: &mut Work<'_>,
        filter: &mut Filter<'_>,
        view: View,
        progress: &mut Progress<'_>,
    ) -> Result<bool, Stop> {
        self.check_view(view)?;
        let session = work.session;
        let mut rows = Vec::new();
        let mut each = |block| {
            rows.clear();
            let (mut damaged, misreads) = (Ok(()), Misreads::default());
            let mut visit = |address, row: &[u8]| match filter {
                None => rows.push(address),
                Some(filter) => match self.row_for(row, &misreads) {
                    Ok(row) if filter(&row) => rows.push(address),
                    Ok(_) => {}
                    Err(stop) => damaged = Err(stop),
                },
            };
            self.heap().visit_block(view, block, &mut visit, session)?;
            self.check_there(session)?;
            damaged?;
            self.check_misreads(&misreads)?;
            progress.apply_rows(work, &rows)
        };
        self.heap().through_cache(&mut each, session)
    }

    /// Whether a row is meant that an index leads to in this view. Refused if it isn't there: it is
    /// lost, and isn't one that doesn't match.
    pub(crate) fn matches(
        &self,
        filter: &mut Filter<'_>,
        index: usize,
        row: RowAddress,
        view: View,
        session: &Session,
    ) -> Result<bool, Stop> {
        let Some(filter) = filter else { return Ok(true) };
        self.fetch_entry(index, row, view, &mut |_, row| filter(&row), session)
    }

    /// Changes as one statement: if it is refused nothing of it is left.
    pub(crate) fn change_statement<T>(
        &self,
        work: &mut Work<'_>,
        change: impl FnOnce(&mut Work<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        self.lock_for_changes(work)?;
        work.scratch.pending.clear();
        work.transaction.forget_waits();
        let done = self.all_or_nothing(work, |work| {
            let changed = change(work)?;
            process_pending(work).map(|()| Some(changed))
        })?;
        Ok(done.expect("a statement without a snapshot doesn't begin again"))
    }

    /// Does a statement, and takes back what it has done unless it comes to something: if it is
    /// refused, has to begin again (None), or a closure of the caller's panics (RL17).
    fn all_or_nothing<T>(
        &self,
        work: &mut Work<'_>,
        statement: impl FnOnce(&mut Work<'_>) -> Result<Option<T>, Stop>,
    ) -> Result<Option<T>, Stop> {
        let savepoint = work.transaction.savepoint();
        let worked = catch_unwind(AssertUnwindSafe(|| statement(work)));
        work.transaction.end_statement();
        work.scratch.shrink();
        if let Ok(Ok(Some(done))) = worked {
            return Ok(Some(done));
        }
        let back = self.transactions().rollback_to(work.transaction, savepoint, work.session);
        match worked {
            // A rollback that fails has halted the instance, of which the next call tells.
            Err(panic) => resume_unwind(panic),
            Ok(worked) => back.and(worked),
        }
    }

    /// In the middle of a statement over many rows, once much is pending.
    pub(crate) fn process_pending_early(&self, work: &mut Work<'_>) -> Result<(), Stop> {
        let pending = &work.scratch.pending;
        match pending.len() >= PENDING_MAX && self.may_process_early(pending) {
            true => process_pending(work),
            false => Ok(()),
        }
    }

    pub(crate) fn changed_since(&self) -> Stop {
        let message = format!(
            "cannot change a row of table {}: another transaction has changed it since this \
             transaction's snapshot; roll back and try again",
            self.definition().name
        );
        Stop::refuse(RefusalKind::Serialization, message)
    }

    /// As [`Changed::TooNew`] is told.
    #[cold]
    pub(crate) fn too_new(&self) -> Stop {
        let message = format!(
            "cannot change a row of table {}: too many transactions have changed its block since \
             this transaction's snapshot; roll back and try again",
            self.definition().name
        );
        Stop::refuse(RefusalKind::Serialization, message)
    }
}

/// The view of a statement that changes rows while it reads on: of its own transaction it sees what
/// was there when it began, and goes on seeing that.
fn statement_view(view: View) -> View {
    View { own: view.own.map(|own| OwnChanges { all: false, ..own }), ..view }
}
