//! A plan with its tables open: what a session runs.
//!
//! ```text
//!   Plan (shared by sessions) ─ open ─▶ Opened (of a session) ─┬─▶ Execution, one for each cursor
//!                                                              └─ a machine, to be used again
//! ```
//!
//! Invariants
//!   * the relations are asked whether they are stale, and the plan whether it holds, after a
//!     statement has its snapshot: then the snapshot sees nothing of a later definition (rule SQ30)
//!   * a machine that is used again has given memory and files back, and gets its parameters anew
//!
//! Callers: the session keeps these beside the texts of its statements; `execution`, `change`.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use catalog::Catalog;
use os::Session;
use relation::Relation;
use stop::{RefusalKind, Stop};
use value::OwnedValue;

use super::host::Host;
use super::machine::Machine;
use super::short::Short;
use crate::plan::Plan;
use crate::stack::{self, LEVELS_FEW};

/// What came of a run.
#[derive(Debug)]
#[must_use = "a stale plan is to be made again"]
pub(crate) enum Ran<T> {
    /// It is done.
    Done(T),
    /// Nothing was done: a definition that the plan rests on has changed. The statement is to be
    /// planned again.
    Stale,
}

/// A plan with its tables open.
pub(crate) struct Opened {
    plan: Arc<Plan>,
    /// By the places of tables in the plan.
    relations: Vec<Arc<Relation>>,
    /// The short way, if there is one for the plan.
    short: Option<Short>,
    /// A machine that isn't in use.
    spare: RefCell<Option<Machine>>,
}

impl Opened {
    /// Opens the tables of a plan.
    pub(crate) fn open(
        plan: Arc<Plan>,
        catalog: &Catalog,
        session: &Session,
    ) -> Result<Opened, Stop> {
        let relation = |object| catalog.relation_of(object, session);
        let relations: Result<Vec<_>, Stop> = plan.tables.iter().copied().map(relation).collect();
        let relations = relations?;
        let short = Short::of(&plan, &relations);
        Ok(Opened { plan, relations, short, spare: RefCell::new(None) })
    }

    /// The plan.
    pub(crate) fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The tables, by their places in the plan.
    pub(crate) fn relations(&self) -> &[Arc<Relation>] {
        &self.relations
    }

    /// The short way, if there is one.
    #[inline]
    pub(crate) fn short(&self) -> Option<&Short> {
        self.short.as_ref()
    }

    /// Whether it is right for a snapshot that was taken before this is asked.
    #[inline]
    pub(crate) fn is_current(&self, host: &Host<'_>) -> bool {
        !self.has_stale_table(host) && self.plan.basis.holds(host.catalog, host.session)
    }

    /// Whether a table has changed, or has gone, since it was opened.
    #[inline]
    pub(crate) fn has_stale_table(&self, host: &Host<'_>) -> bool {
        self.relations.iter().any(|relation| relation.is_stale(host.session))
    }

    /// A refusal if it isn't right for a snapshot that was taken before this is asked.
    pub(crate) fn check_current(&self, host: &Host<'_>) -> Result<(), Stop> {
        match self.is_current(host) {
            true => Ok(()),
            false => Err(stale()),
        }
    }

    /// Turns the refusal of a plan that isn't right any more into [`Ran::Stale`].
    pub(crate) fn ran<T>(&self, done: Result<T, Stop>, host: &Host<'_>) -> Result<Ran<T>, Stop> {
        match done {
            Ok(done) => Ok(Ran::Done(done)),
            // A row of values is inserted without a snapshot: it finds out by what isn't there.
            Err(stop) if is_of_definition(&stop) && !self.is_current(host) => Ok(Ran::Stale),
            Err(stop) => Err(stop),
        }
    }

    /// A machine with these parameters: one that was used before, or a new one.
    pub(crate) fn machine(&self, binds: &[OwnedValue]) -> Machine {
        let spare = self.spare.borrow_mut().take();
        let mut machine = spare.unwrap_or_else(|| Machine::new(&self.plan, Vec::new(), false));
        machine.set_binds(binds);
        machine
    }

    /// A machine with these parameters whose sources are measured.
    pub(crate) fn measured_machine(&self, binds: &[OwnedValue]) -> Machine {
        let mut machine = Machine::new(&self.plan, Vec::new(), true);
        machine.set_binds(binds);
        machine
    }

    /// Takes a machine back that was closed, and isn't measured.
    pub(crate) fn give_back(&self, machine: Machine) {
        *self.spare.borrow_mut() = Some(machine);
    }
}

/// It is dropped by whoever has it last, on a stack that may be short.
impl Drop for Opened {
    fn drop(&mut self) {
        let levels = self.plan.levels;
        if levels > LEVELS_FEW {
            stack::dropped(levels, (self.short.take(), self.spare.take()));
        }
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opened of {} tables", self.relations.len())
    }
}

fn is_of_definition(stop: &Stop) -> bool {
    matches!(stop.refusal(), Some(RefusalKind::DefinitionChanged | RefusalKind::NotFound))
}

#[cold]
fn stale() -> Stop {
    let message = "a definition has changed since the statement was planned; run it again";
    Stop::refuse(RefusalKind::DefinitionChanged, message)
}
