//! The plan of a whole statement: of its rows, and what is done with them.
//!
//! Callers: `cache`.

use std::collections::BTreeSet;

use expression::Expression;
use ids::ObjectNo;
use rowsource::Cut;

use super::depth::levels_of;
use super::physical::{
    Action, Basis, DeleteAction, InsertAction, LockAction, LockedColumn, MergeAction, Plan,
    UpdateAction,
};
use super::planner::{Surroundings, plan_frame};
use crate::bind::{
    self, Assigned, Bound, ConflictAction, Locking, MergeBranch, OnConflict, OutputColumn, Query,
    Returning, Statement,
};
use crate::logical::Logical;

/// Plans a statement that was bound in this generation of the dictionary.
pub(crate) fn plan_statement(bound: Bound, generation: u64, surroundings: Surroundings) -> Plan {
    let Bound { statement, frame, binds, objects, sizes } = bound;
    let mut tables = Vec::new();
    let Parts { logical, action, columns } = parts_of(statement, &mut tables);
    let mut beside = Vec::new();
    each_beside(&action, &mut |one| beside.push(one.clone()));
    let frame = plan_frame(logical, frame, &beside, surroundings, &mut tables);
    let basis = Basis::new(generation, objects, sizes);
    let levels = levels_of(&frame, &action, &beside);
    Plan { tables, frame, action, columns, binds, basis, levels }
}

/// A statement taken apart.
struct Parts {
    logical: Logical,
    action: Action,
    columns: Vec<OutputColumn>,
}

fn parts_of(statement: Statement, tables: &mut Vec<ObjectNo>) -> Parts {
    let mut place = |object: ObjectNo| {
        tables.iter().position(|one| *one == object).unwrap_or_else(|| {
            tables.push(object);
            tables.len() - 1
        })
    };
    match statement {
        Statement::Query(Query { logical, columns }) => {
            Parts { logical, action: Action::Query, columns }
        }
        Statement::Lock(Query { logical, columns }, locking) => {
            let Locking { tables: locked, if_held, limit, offset } = locking;
            let locked = locked
                .iter()
                .map(|one| LockedColumn { table: place(one.table.object()), column: one.column });
            let tables = locked.collect();
            let cut = Cut { offset, count: limit };
            let width = columns.len();
            let action = Action::Lock(LockAction { tables, if_held, cut, width });
            Parts { logical, action, columns }
        }
        Statement::Insert(insert) => {
            let bind::Insert { table, source, on_conflict, returning, is_of_query, appends } =
                insert;
            let table = place(table.object());
            let columns = columns_of(returning.as_ref());
            let action = InsertAction { table, on_conflict, returning, is_of_query, appends };
            Parts { logical: source, action: Action::Insert(action), columns }
        }
        Statement::Update(bind::Update { table, source, columns: set, returning }) => {
            let table = place(table.object());
            let each_once = is_of_one_table(&source);
            let columns = columns_of(returning.as_ref());
            let action = UpdateAction { table, columns: set, each_once, returning };
            Parts { logical: source, action: Action::Update(action), columns }
        }
        Statement::Delete(bind::Delete { table, source, returning }) => {
            let table = place(table.object());
            let columns = columns_of(returning.as_ref());
            let action = Action::Delete(DeleteAction { table, returning });
            Parts { logical: source, action, columns }
        }
        Statement::Merge(bind::Merge { table, source, branches, returning, target }) => {
            let table = place(table.object());
            let columns = columns_of(returning.as_ref());
            let action = Action::Merge(MergeAction { table, branches, returning, target });
            Parts { logical: source, action, columns }
        }
    }
}

fn columns_of(returning: Option<&Returning>) -> Vec<OutputColumn> {
    returning.map(|returning| returning.columns.clone()).unwrap_or_default()
}

/// Whether rows come from one table, and so each of them once.
fn is_of_one_table(source: &Logical) -> bool {
    match source {
        Logical::Scan(_) => true,
        Logical::Project { input, .. } | Logical::Filter { input, .. } => is_of_one_table(input),
        _ => false,
    }
}

/// Visits what a statement evaluates beside its rows' tree.
fn each_beside(action: &Action, visit: &mut dyn FnMut(&Expression)) {
    let returning = match action {
        Action::Query | Action::Lock(_) => None,
        Action::Insert(insert) => {
            if let Some(OnConflict { action: ConflictAction::Update { set, filter }, .. }) =
                &insert.on_conflict
            {
                values_of(set).chain(filter).for_each(&mut *visit);
            }
            insert.returning.as_ref()
        }
        Action::Update(update) => update.returning.as_ref(),
        Action::Delete(delete) => delete.returning.as_ref(),
        Action::Merge(merge) => {
            merge.branches.iter().for_each(|branch| each_of_branch(branch, visit));
            merge.returning.as_ref()
        }
    };
    if let Some(returning) = returning {
        returning.expressions.iter().for_each(visit);
    }
}

fn each_of_branch(branch: &MergeBranch, visit: &mut dyn FnMut(&Expression)) {
    branch.conditions.iter().for_each(&mut *visit);
    match &branch.action {
        bind::MergeAction::Nothing | bind::MergeAction::Delete => {}
        bind::MergeAction::Update(set) => values_of(set).for_each(visit),
        bind::MergeAction::Insert(values) => values.iter().for_each(visit),
    }
}

fn values_of(set: &[Assigned]) -> impl Iterator<Item = &Expression> {
    set.iter().map(|one| &one.value)
}

/// The subqueries that expressions ask, by number.
pub(super) fn asked_by(expressions: &[Expression]) -> BTreeSet<usize> {
    let mut numbers = BTreeSet::new();
    for expression in expressions {
        expression.walk(&mut |part| {
            if let Expression::Subquery(subquery) = part
                && crate::logical::host_call_of(subquery.number).is_none()
            {
                numbers.insert(subquery.number);
            }
        });
    }
    numbers
}
