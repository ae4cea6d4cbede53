//! A query that runs: it lives between calls, and gives its rows in batches.
//!
//! ```text
//!   begin: snapshot ─▶ does the plan hold? ──yes──▶ machine starts ─▶ fetch ─▶ … ─▶ over, closed
//!                              └──no──▶ Ran::Stale
//! ```
//!
//! Invariants
//!   * all rows are as of one snapshot, which is kept until the query is over or closed (rule SQ40)
//!   * between calls there is a position, and no pin and no latch (rule SQ43)
//!   * after a refusal it is closed, and gives the same refusal again
//!   * what it has is given back with its last row, not when its owner is dropped
//!
//! Callers: `cursor`; `explain`, for a statement that is measured.

use std::rc::Rc;

use expression::Rows;
use rowsource::Figures;
use stop::Stop;
use txn::{KeptSnapshot, Savepoint, Transaction};
use value::{OwnedValue, Timestamp};

use super::host::Host;
use super::machine::{Env, Machine};
use super::opened::{Opened, Ran};
use crate::stack;

/// A query that runs.
pub(crate) struct Execution {
    opened: Rc<Opened>,
    /// None once it is over or closed.
    open: Option<Open>,
    /// The moment of `now()`, which stays the same from call to call.
    moment: Timestamp,
    /// The number of its calls.
    calls: u64,
    failed: Option<Stop>,
    /// What its sources have done, if it is measured and over.
    figures: Vec<Figures>,
}

/// What it has as long as it is open.
struct Open {
    machine: Machine,
    snapshot: KeptSnapshot,
}

/// It is dropped by whoever has it last, on a stack that may be short.
impl Drop for Execution {
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            stack::dropped(self.opened.plan().levels, open);
        }
    }
}

impl Execution {
    /// Begins a query with these parameters, within the transaction if there is one.
    pub(crate) fn begin(
        opened: &Rc<Opened>,
        binds: &[OwnedValue],
        host: &Host<'_>,
        transaction: Option<&Transaction>,
    ) -> Result<Ran<Execution>, Stop> {
        Execution::begin_as(opened, || opened.machine(binds), host, transaction)
    }

    /// As [`Execution::begin`], with its sources measured.
    pub(crate) fn begin_measured(
        opened: &Rc<Opened>,
        binds: &[OwnedValue],
        host: &Host<'_>,
        transaction: Option<&Transaction>,
    ) -> Result<Ran<Execution>, Stop> {
        Execution::begin_as(opened, || opened.measured_machine(binds), host, transaction)
    }

    fn begin_as(
        opened: &Rc<Opened>,
        machine: impl FnOnce() -> Machine,
        host: &Host<'_>,
        transaction: Option<&Transaction>,
    ) -> Result<Ran<Execution>, Stop> {
        let transactions = host.instance.transactions();
        let snapshot = transactions.keep_snapshot(transaction, host.session)?;
        if !opened.is_current(host) {
            snapshot.close(host.session);
            return Ok(Ran::Stale);
        }
        let mut execution = Execution {
            opened: Rc::clone(opened),
            open: Some(Open { machine: machine(), snapshot }),
            moment: host.moment(),
            calls: 0,
            failed: None,
            figures: Vec::new(),
        };
        execution.with(host, transaction, |machine, env| machine.open(env))?;
        Ok(Ran::Done(execution))
    }

    /// Appends the next rows to `into`, which is empty: at most `most`, and one at least unless it
    /// is over. Returns false if none come after these; then all is given back.
    pub(crate) fn fetch(
        &mut self,
        host: &Host<'_>,
        transaction: Option<&Transaction>,
        most: usize,
        into: &mut Rows,
    ) -> Result<bool, Stop> {
        if let Some(stop) = &self.failed {
            return Err(stop.clone());
        }
        if self.open.is_none() {
            return Ok(false);
        }
        let goes_on = self.with(host, transaction, |machine, env| {
            let mut goes_on = true;
            while goes_on && into.is_empty() {
                goes_on = machine.fetch(most, env, into)?;
            }
            Ok(goes_on)
        })?;
        if !goes_on {
            self.close(host);
        }
        Ok(goes_on)
    }

    /// Does `work` as one call of the query. A refusal closes it.
    fn with<T>(
        &mut self,
        host: &Host<'_>,
        transaction: Option<&Transaction>,
        work: impl FnOnce(&mut Machine, &Env<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        self.calls += 1;
        let Open { machine, snapshot } = self.open.as_mut().expect("it is open");
        let env = Env {
            host,
            relations: self.opened.relations(),
            view: snapshot.view(transaction),
            call: self.calls,
            moment: self.moment,
        };
        let done = work(machine, &env);
        if let Err(stop) = &done {
            self.failed = Some(stop.clone());
            self.close(host);
        }
        done
    }

    /// Ends the query, and gives back what it has.
    pub(crate) fn close(&mut self, host: &Host<'_>) {
        let Some(Open { mut machine, snapshot }) = self.open.take() else { return };
        let env = Env {
            host,
            relations: self.opened.relations(),
            view: snapshot.view(None),
            call: self.calls,
            moment: self.moment,
        };
        machine.close(&env);
        snapshot.close(host.session);
        if machine.is_measured() {
            machine.add_figures(&mut self.figures);
        } else {
            self.opened.give_back(machine);
        }
    }

    /// The stack that its calls take at most.
    pub(crate) fn stack(&self) -> usize {
        self.opened.plan().stack()
    }

    /// Whether it sees changes that a rollback to this savepoint takes back. It is closed before.
    pub(crate) fn is_taken_back_by(&self, savepoint: Savepoint) -> bool {
        self.open.as_ref().is_some_and(|open| open.snapshot.is_taken_back_by(savepoint))
    }

    /// What its sources have done, by the places of their nodes, once it is over.
    pub(crate) fn figures(&self) -> &[Figures] {
        &self.figures
    }
}
