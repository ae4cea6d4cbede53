//! The life of a statement: it does all of its work or nothing, and one that chooses its rows as of
//! a snapshot begins again if others have changed them since.
//!
//! ```text
//!   lock the table ──▶ snapshot ──▶ the statement's work ──▶ late keys, foreign keys ──▶ done
//!                         ▲                │ changed since
//!                         └─ take it back ─┘              (serializable: refused)
//! ```
//!
//! Callers: `driver`, for statements with a snapshot; `insert` and `load`, for those without.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use stop::{RefusalKind, Stop};
use txn::{OwnChanges, TableMode, View};
use waits::WaitEvent;

use crate::Relation;
use crate::foreign::{PENDING_MAX, process_pending};
use crate::scratch::Work;

/// The number of restarts without a wait. After more, a statement waits until all redo is durable:
/// what it was told that it can't see yet may have been taken back by redo that nobody else waits
/// for (RL22).
const RESTARTS_AT_ONCE: u32 = 3;

impl Relation {
    /// Runs a statement as of a snapshot until it doesn't return None, which asks for a restart
    /// (RL10). What it did is taken back before a restart, and when it is refused. How long it has
    /// waited for a row is remembered across restarts (rule txn/TX21).
    pub(crate) fn with_restarts<'a, T>(
        &self,
        work: &mut Work<'a>,
        statement: &mut dyn FnMut(&mut Work<'a>) -> Result<Option<T>, Stop>,
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

    /// Runs an insert as one statement: if it is refused, nothing of it is left.
    pub(crate) fn change_statement<'a, T>(
        &self,
        work: &mut Work<'a>,
        change: impl FnOnce(&mut Work<'a>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        self.change_statement_in(TableMode::RowExclusive, work, change)
    }

    /// As `change_statement`, with the table locked in this mode.
    pub(crate) fn change_statement_in<'a, T>(
        &self,
        mode: TableMode,
        work: &mut Work<'a>,
        change: impl FnOnce(&mut Work<'a>) -> Result<T, Stop>,
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
    fn all_or_nothing<'a, T>(
        &self,
        work: &mut Work<'a>,
        statement: impl FnOnce(&mut Work<'a>) -> Result<Option<T>, Stop>,
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

    /// The refusal for [`Changed::TooNew`](access::Changed::TooNew).
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
pub(crate) fn statement_view(view: View) -> View {
    View { own: view.own.map(|own| OwnChanges { all: false, ..own }), ..view }
}
