//! CREATE TABLE AS: a table with the columns of a query, and its rows by the direct path.
//!
//! The table is made first, as a transaction of its own, and filled by a second one. If that is
//! refused, the table is dropped again.
//!
//! Invariant: what is filled and dropped is the table that the statement has made, known by its
//! number. Another session may drop it meanwhile, and make one of the same name.
//!
//! Callers: `table`.

use std::rc::Rc;
use std::sync::Arc;

use catalog::{ColumnSpec, DefaultSpec, TableSpec};
use relation::{Relation, TableDefinition};
use sqlparser::ast::{Ident, Query as SqlQuery};
use stop::{RefusalKind, SqlState, Stop};
use txn::Transaction;
use value::{OwnedValue, Type};

use super::Done;
use crate::bind::{Binder, OutputColumn};
use crate::change;
use crate::engine::Frame;
use crate::names::fold;
use crate::plan::{Plan, plan_statement};
use crate::refuse::refuse;
use crate::run::{Opened, Ran};
use crate::session::{Outcome, Parts, Written};

/// How often a query is planned anew because a definition has changed meanwhile.
const TRIES: u32 = 20;

impl Frame<'_> {
    /// CREATE TABLE AS.
    pub(super) fn create_filled(
        &mut self,
        name: String,
        tablespace: Option<String>,
        names: &[Ident],
        query: &SqlQuery,
        with_data: bool,
        written: Written<'_>,
    ) -> Result<Outcome, Stop> {
        written.check()?;
        let outcome = Done::Yes.outcome("CREATE TABLE");
        let plan = self.plan_of(query, written)?;
        let columns = specs(&plan.columns, names)?;
        let (constraints, indexes) = (Vec::new(), Vec::new());
        let spec = TableSpec { name, tablespace, columns, constraints, indexes };
        let wait = self.state.own.ddl_lock_wait();
        let made = self.catalog.create_table(&spec, wait, self.session)?;
        if !with_data {
            return Ok(outcome);
        }
        match self.fill(&made, plan, query, written) {
            Ok(rows) => Ok(Outcome { rows, ..outcome }),
            Err(stop) => {
                // A statement that is cancelled, or has had its time, takes its table away too.
                let _held = self.session.hold_off();
                // A halt is the first thing that a user should know of.
                let dropped = self.catalog.drop_table_of(made.object, false, wait, self.session);
                match dropped {
                    Err(halted @ Stop::Halted(_)) => Err(halted),
                    _ => Err(stop),
                }
            }
        }
    }

    /// The plan of a query.
    pub(crate) fn plan_of(&self, query: &SqlQuery, written: Written<'_>) -> Result<Plan, Stop> {
        let ground = self.ground();
        let generation = ground.catalog.generation(ground.session);
        let dictionary = ground.dictionary();
        let bound = Binder::new(&dictionary, written.binds.count()).query_alone(query);
        let bound = bound.map_err(|refused| refused.within(written.text))?;
        let methods = self.state.own.settings.used.methods;
        Ok(plan_statement(bound, generation, ground.surroundings(methods)))
    }

    /// Fills the table that was made so, and returns the number of rows.
    fn fill(
        &mut self,
        made: &TableDefinition,
        mut plan: Plan,
        query: &SqlQuery,
        written: Written<'_>,
    ) -> Result<u64, Stop> {
        let columns = plan.columns.clone();
        for _ in 0..TRIES {
            let relation = self.made_relation(made)?;
            let opened = Rc::new(Opened::open(Arc::new(plan), self.catalog, self.session)?);
            let mut transaction = Transaction::new();
            transaction.set_lock_wait(self.state.own.lock_wait());
            let ran = self.with_host(|host, Parts { scratch, .. }| {
                let values = written.values;
                change::fill(&opened, values, &relation, host, &mut transaction, scratch)
            });
            match ran {
                Ok(Ran::Done(rows)) => {
                    self.instance.commit(transaction, self.session)?;
                    return Ok(rows);
                }
                Ok(Ran::Stale) => self.instance.rollback(transaction, self.session)?,
                Err(stop) => {
                    self.instance.rollback(transaction, self.session)?;
                    return Err(stop);
                }
            }
            plan = self.plan_of(query, written)?;
            if plan.columns != columns {
                break;
            }
        }
        let message = "what the query reads was redefined while the table was made; run it again";
        Err(refuse(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
    }

    /// The table that was made so. Refused if another session has dropped it, or given it other
    /// columns.
    fn made_relation(&self, made: &TableDefinition) -> Result<Arc<Relation>, Stop> {
        match self.catalog.relation_of(made.object, self.session) {
            Ok(relation) if has_same_columns(relation.definition(), made) => Ok(relation),
            Err(stop) if stop.refusal() != Some(RefusalKind::DefinitionChanged) => Err(stop),
            Ok(_) | Err(_) => {
                let message = format!(
                    "table {} was dropped or altered while it was filled; run the statement again",
                    made.name
                );
                Err(refuse(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
            }
        }
    }
}

/// Whether rows of one table are rows of the other.
fn has_same_columns(one: &TableDefinition, other: &TableDefinition) -> bool {
    let kinds = |table: &TableDefinition| -> Vec<(Type, bool)> {
        table.columns.iter().map(|column| (column.kind, column.is_dropped())).collect()
    };
    kinds(one) == kinds(other)
}

/// The columns of a table that is to have the rows of a query.
fn specs(columns: &[OutputColumn], names: &[Ident]) -> Result<Vec<ColumnSpec>, Stop> {
    if names.len() > columns.len() {
        let message =
            format!("{} columns are named, and the query gives {}", names.len(), columns.len());
        return Err(refuse(SqlState::SYNTAX_ERROR, message));
    }
    let mut specs: Vec<ColumnSpec> = Vec::with_capacity(columns.len());
    for (number, column) in columns.iter().enumerate() {
        let name = names.get(number).map_or_else(|| column.name.clone(), fold);
        if specs.iter().any(|one| one.name == name) {
            let message = format!("two columns of the query are called {name}: name them apart");
            return Err(refuse(SqlState::DUPLICATE_COLUMN, message));
        }
        let kind = column.declared.or_else(|| column.kind.column_type());
        let Some(kind) = kind else {
            let message = format!(
                "column {name} of the query is an interval, which no column of a table holds; make \
                 a number of it"
            );
            return Err(refuse(SqlState::FEATURE_NOT_SUPPORTED, message));
        };
        let default = DefaultSpec::Constant(OwnedValue::NULL);
        specs.push(ColumnSpec { name, kind, not_null: false, default });
    }
    Ok(specs)
}
