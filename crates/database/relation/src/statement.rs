//! Statements: what all of them have in common, and those that choose their rows as of a snapshot.
//!
//! ```text
//!   lock the table ──▶ snapshot ──▶ find rows ──▶ change each as it was seen ──▶ check ──▶ done
//!                         ▲                             │ changed since
//!                         └──── take all of it back ────┘        (serializable: refused)
//! ```
//!
//! Callers: `insert` and `lock`; the catalog; the embedded API.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use access::{Changed, Direction, RowAddress};
use stop::{RefusalKind, Stop};
use txn::{OwnChanges, Snapshot, TableMode, View};
use value::RowView;
use waits::WaitEvent;

use crate::foreign::{PENDING_MAX, process_pending};
use crate::scratch::Work;
use crate::search::{Filter, RowSearch, Selection};
use crate::update::Changer;
use crate::{Relation, RowChange};

/// The number of restarts without a wait. After more, a statement waits until all redo is durable:
/// what it was told that it can't see yet may have been taken back by redo that nobody else waits
/// for (RL22).
const RESTARTS_AT_ONCE: u32 = 3;

/// The number of rows of an index range that are changed together at most.
const BATCH_ROWS_MAX: usize = 256;

/// What a statement does to its rows.
enum RowOperation<'o, 'c> {
    Delete,
    Update {
        change: &'o mut Changer<'c>,
        /// It has set a column of an index or a foreign key: from then on rows are updated one by
        /// one, each with its entries (RL13).
        sets_keys: bool,
    },
}

/// A statement under way.
struct Progress<'a, 'o, 'c> {
    relation: &'a Relation,
    snapshot: &'a Snapshot<'a>,
    operation: &'a mut RowOperation<'o, 'c>,
    count: u64,
}

impl Progress<'_, '_, '_> {
    /// Does the operation to one row. Returns false if another transaction has changed it since the
    /// snapshot.
    fn apply_one(&mut self, work: &mut Work<'_>, row: RowAddress) -> Result<bool, Stop> {
        let relation = self.relation;
        let view = relation.transactions().view_of(self.snapshot, Some(work.transaction));
        let changed = match self.operation {
            RowOperation::Delete => relation.delete_row(work, row, Some(view))?,
            RowOperation::Update { change, .. } => {
                relation.update_row(work, row, Some(view), *change)?
            }
        };
        if changed == Changed::NotThere {
            relation.check_seen(view, row, work.session)?;
        }
        relation.process_pending_early(work)?;
        if changed == Changed::TooNew {
            return Err(relation.too_new());
        }
        self.count += u64::from(changed == Changed::Yes);
        // A row that this statement has changed already, by a cascade, stays as it is.
        Ok(matches!(changed, Changed::Yes | Changed::Already))
    }

    /// Does the operation to rows of one block, with the same result.
    fn apply_rows(&mut self, work: &mut Work<'_>, mut rows: &[RowAddress]) -> Result<bool, Stop> {
        while let [first, others @ ..] = rows {
            if let (RowOperation::Update { change, sets_keys: sets_keys @ false }, [_, ..]) =
                (&mut *self.operation, others)
            {
                let transactions = self.relation.transactions();
                let view = transactions.view_of(self.snapshot, Some(work.transaction));
                let done = self.relation.update_together(work, rows, view, *change, sets_keys)?;
                if done > 0 {
                    self.count += done as u64;
                    rows = &rows[done..];
                    continue;
                }
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
    /// Changes rows as `change` says, and returns how many. If the statement is refused, none is
    /// changed. `filter` and `change` only compute, and may be called again.
    pub fn update_where(
        &self,
        work: &mut Work<'_>,
        selection: Selection<'_>,
        filter: Option<&mut dyn FnMut(&RowView<'_>) -> bool>,
        change: &mut dyn FnMut(&RowView<'_>, &mut RowChange<'_>) -> Result<(), Stop>,
    ) -> Result<u64, Stop> {
        self.change_where(
            work,
            selection,
            filter,
            RowOperation::Update { change, sets_keys: false },
        )
    }

    /// Deletes rows, and returns how many. If the statement is refused, none is deleted.
    pub fn delete_where(
        &self,
        work: &mut Work<'_>,
        selection: Selection<'_>,
        filter: Option<&mut dyn FnMut(&RowView<'_>) -> bool>,
    ) -> Result<u64, Stop> {
        self.change_where(work, selection, filter, RowOperation::Delete)
    }

    /// Does an operation to rows as of a snapshot, with restarts (RL10).
    fn change_where(
        &self,
        work: &mut Work<'_>,
        selection: Selection<'_>,
        mut filter: Filter<'_>,
        mut operation: RowOperation<'_, '_>,
    ) -> Result<u64, Stop> {
        self.lock_for_changes(work)?;
        self.with_restarts(work, &mut |work| {
            work.scratch.pending.clear();
            self.try_where(work, selection, &mut filter, &mut operation)
        })
    }

    /// Runs a statement as of a snapshot until it doesn't return None, which asks for a restart
    /// (RL10). What it did is taken back before a restart, and when it is refused. How long it has
    /// waited for a row is remembered across restarts (rule txn/TX21).
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

    /// Runs the statement once. Returns none if a row was changed since the snapshot.
    fn try_where(
        &self,
        work: &mut Work<'_>,
        selection: Selection<'_>,
        filter: &mut Filter<'_>,
        operation: &mut RowOperation<'_, '_>,
    ) -> Result<Option<u64>, Stop> {
        let session = work.session;
        let snapshot = self.transactions().snapshot(Some(work.transaction), session)?;
        let view = statement_view(self.transactions().view_of(&snapshot, Some(work.transaction)));
        let mut progress = Progress { relation: self, snapshot: &snapshot, operation, count: 0 };
        let (direction, batch_max) = (Direction::Ascending, BATCH_ROWS_MAX);
        let search = RowSearch { selection, filter, view, direction, batch_max };
        if !self.visit_rows(work, search, &mut |work, rows| progress.apply_rows(work, rows))? {
            return Ok(None);
        }
        process_pending(work)?;
        Ok(Some(progress.count))
    }

    /// Runs an insert as one statement: if it is refused, nothing of it is left.
    pub(crate) fn change_statement<T>(
        &self,
        work: &mut Work<'_>,
        change: impl FnOnce(&mut Work<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        self.change_statement_in(TableMode::RowExclusive, work, change)
    }

    /// As `change_statement`, with the table locked in this mode.
    pub(crate) fn change_statement_in<T>(
        &self,
        mode: TableMode,
        work: &mut Work<'_>,
        change: impl FnOnce(&mut Work<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        self.lock_for_changes_within(mode, work.transaction.lock_wait(), work)?;
        work.scratch.pending.clear();
        work.transaction.forget_waits();
        let done = self.all_or_nothing(work, |work| {
            let changed = change(work)?;
            process_pending(work).map(|()| Some(changed))
        })?;
        Ok(done.expect("a statement without a snapshot doesn't begin again"))
    }

    /// Runs a statement, and takes back what it did unless it has a result: if it is refused, asks
    /// for a restart (None), or a caller's closure panics (RL17).
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
            // A rollback that fails has halted the instance; the next call reports that.
            Err(panic) => resume_unwind(panic),
            Ok(worked) => back.and(worked),
        }
    }

    /// Works off foreign-key work in the middle of a statement over many rows, once there is much
    /// of it (RL34).
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

    /// The refusal for [`Changed::TooNew`].
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

/// The view of a statement that changes rows while it searches on. Of its own transaction it sees
/// what was there when the statement began.
fn statement_view(view: View) -> View {
    View { own: view.own.map(|own| OwnChanges { all: false, ..own }), ..view }
}
