//! EXPLAIN ANALYZE: the statement runs to its end, and what it does is measured.
//!
//! ```text
//!   plan ─▶ reading ─▶ the statement with measured sources ─▶ account since the reading
//!           │                    │ rows are counted, and thrown away
//!           └ every wait of the session is sampled
//! ```
//!
//! A statement that changes rows changes them, and outside of a transaction commits; its commit is
//! part of what is measured. Short ways aren't taken: they have no sources. What the sources did is
//! kept with the plan that the statement has by its own text, for `v$sql_plan_statistics`.
//!
//! Invariant: nothing in the account is estimated. Every wait is sampled from before the first
//! reading until behind the last one (rule SQ70).
//!
//! Callers: `explain`.

use std::rc::Rc;
use std::sync::Arc;

use expression::Rows;
use rowsource::{BATCH_ROWS_MAX, Figures};
use stop::{SqlState, Stop};
use syntax::{Explain, Statement};
use value::OwnedValue;
use waits::{Nanos, TimeAccount};

use crate::cache::Entry;
use crate::engine::Frame;
use crate::plan::{Action, Plan};
use crate::refuse::refuse;
use crate::run::{Cursor, Execution, Opened, Ran};
use crate::session::{Parts, Planned, TRIES, Written, binds_for, changes_all_the_time, elsewhere};

/// What a statement did.
pub(super) struct Measured {
    /// The plan with which it ran: the one that it has by its own text.
    pub(super) plan: Arc<Plan>,
    /// What its sources did, by the places of their nodes.
    pub(super) figures: Vec<Figures>,
    /// How many rows it gave, changed or locked.
    pub(super) rows: u64,
    /// How long it took to get the plan.
    pub(super) planning: Nanos,
    /// Where its time went, from its start to its end or its commit.
    pub(super) account: TimeAccount,
}

/// A statement that is to run.
struct ToRun {
    /// Where its plan is shared, and what is measured is kept.
    entry: Arc<Entry>,
    opened: Rc<Opened>,
    binds: Vec<OwnedValue>,
}

impl Frame<'_> {
    /// Runs a statement, and measures it.
    pub(super) fn analyze_run(
        &mut self,
        explain: &Explain,
        written: Written<'_>,
    ) -> Result<Measured, Stop> {
        let session = self.session;
        let _every_wait = session.sample_every_wait();
        for tried in 0..TRIES {
            let began = session.now();
            let ToRun { entry, opened, binds } = self.opened_for(explain, written, tried > 0)?;
            let planning = session.now().since(began);
            let mut figures = Vec::new();
            let start = session.reading();
            let ran = match opened.plan().action {
                Action::Query => self.run_query(&opened, &binds, &mut figures)?,
                _ => self.run_change(&opened, &binds, &mut figures)?,
            };
            let account = session.time_account_since(&start);
            if let Ran::Done(rows) = ran {
                let plan = Arc::clone(opened.plan());
                entry.add_figures(&figures, session);
                return Ok(Measured { plan, figures, rows, planning, account });
            }
        }
        Err(changes_all_the_time())
    }

    /// The plan of a statement with its tables open, and its parameters.
    fn opened_for(
        &mut self,
        explain: &Explain,
        written: Written<'_>,
        is_stale: bool,
    ) -> Result<ToRun, Stop> {
        match &*explain.statement {
            Statement::Execute(execute) => {
                let prepared = self.state.statements.executed(execute)?;
                let values = self.values_of(&execute.values, &prepared.0.said, written.text)?;
                let now = self.session.now();
                let planned = self.planned(&prepared.0, is_stale, now).map_err(elsewhere)?;
                let Planned { entry, opened } = planned;
                let binds = binds_for(opened.plan(), &values)?.into_owned();
                Ok(ToRun { entry, opened, binds })
            }
            Statement::CreateTable(_) => {
                let message = "EXPLAIN ANALYZE of CREATE TABLE AS isn't supported: explain its \
                               query";
                Err(refuse(SqlState::FEATURE_NOT_SUPPORTED, message))
            }
            rows => {
                let entry = self.entry_within(&explain.text, rows, written)?;
                let plan = Arc::clone(&entry.plan);
                let binds = binds_for(&plan, written.values)?.into_owned();
                let opened = Rc::new(Opened::open(plan, self.catalog, self.session)?);
                Ok(ToRun { entry, opened, binds })
            }
        }
    }

    /// Runs a query to its end. Returns how many rows it gives.
    fn run_query(
        &mut self,
        opened: &Rc<Opened>,
        binds: &[OwnedValue],
        figures: &mut Vec<Figures>,
    ) -> Result<Ran<u64>, Stop> {
        self.with_host(|host, Parts { transaction, .. }| {
            let transaction = transaction.as_ref();
            let begun = Execution::begin_measured(opened, binds, host, transaction)?;
            let Ran::Done(mut execution) = begun else { return Ok(Ran::Stale) };
            let mut batch = Rows::new(opened.plan().frame.root.width());
            let (mut rows, mut goes_on) = (0, true);
            while goes_on {
                batch.clear();
                goes_on = execution.fetch(host, transaction, BATCH_ROWS_MAX, &mut batch)?;
                rows += batch.len() as u64;
            }
            figures.extend_from_slice(execution.figures());
            Ok(Ran::Done(rows))
        })
    }

    /// Runs a statement that changes or locks rows. Returns how many. What it would give back is
    /// thrown away.
    fn run_change(
        &mut self,
        opened: &Rc<Opened>,
        binds: &[OwnedValue],
        figures: &mut Vec<Figures>,
    ) -> Result<Ran<u64>, Stop> {
        let changed = match self.changed(opened, binds, Some(figures))? {
            Ran::Done(changed) => changed,
            Ran::Stale => return Ok(Ran::Stale),
        };
        if let Some(returned) = changed.returned {
            self.with_host(|host, _| Cursor::Kept(Box::new(returned)).close(host));
        }
        Ok(Ran::Done(changed.rows))
    }
}
