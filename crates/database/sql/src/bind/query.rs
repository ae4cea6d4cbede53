//! Queries: WITH, the body, ORDER BY and LIMIT.
//!
//! Callers: `statement`, `subquery`, `from`, `tables`.

use std::rc::Rc;

use expression::Expression;
use sqlparser::ast::{CteAsMaterialized, Query as SqlQuery, SetExpr, With};
use stop::SqlState;

use super::group::Collector;
use super::order::{Cut, RowOrder, directed, in_order, output_of};
use super::scope::{Border, ColumnName, Scope, ScopeColumn};
use super::{Binder, Cte, OutputColumn, Query};
use crate::logical::{Logical, SharedQuery};
use crate::names::fold;
use crate::refuse::{At, Bind, Placed, Refused};

impl Binder<'_> {
    /// A query; its levels see the outermost `outer` ones.
    pub(super) fn query(&mut self, query: &SqlQuery, outer: usize) -> Bind<Query> {
        if !query.locks.is_empty() {
            let instead = "write FOR UPDATE behind the statement's own SELECT";
            return Err(Refused::unsupported(At::NOWHERE, "FOR UPDATE in a subquery", instead));
        }
        self.query_without_locks(query, outer)
    }

    /// The same, whatever its FOR UPDATE says.
    pub(super) fn query_without_locks(&mut self, query: &SqlQuery, outer: usize) -> Bind<Query> {
        check_extras(query)?;
        self.deeper(|binder| {
            let ctes = binder.ctes.len();
            let bound = binder.query_with(query, outer);
            binder.ctes.truncate(ctes);
            bound
        })
    }

    fn query_with(&mut self, query: &SqlQuery, outer: usize) -> Bind<Query> {
        if let Some(with) = &query.with {
            self.with(with, outer)?;
        }
        let order = self.row_order(query, outer)?;
        if order.ties.is_some() {
            return self.body(&query.body, order, outer);
        }
        let mut bound = self.body(&query.body, order, outer)?;
        let Cut { limit, offset } = self.cut(query, outer)?;
        if limit.is_some() || offset.is_some() {
            let input = Box::new(bound.logical);
            bound.logical = Logical::Limit { input, limit, offset };
        }
        Ok(bound)
    }

    /// A body in the order that is asked for.
    pub(super) fn body(
        &mut self,
        body: &SetExpr,
        order: RowOrder<'_>,
        outer: usize,
    ) -> Bind<Query> {
        match body {
            SetExpr::Select(select) => self.select(select, order, outer),
            SetExpr::Query(inner) if order.keys.is_empty() => self.query(inner, outer),
            SetExpr::Query(inner) => {
                let bound = self.query(inner, outer)?;
                self.sorted(bound, order, outer)
            }
            SetExpr::SetOperation { .. } => {
                let bound = self.set_operation(body, outer)?;
                self.sorted(bound, order, outer)
            }
            SetExpr::Values(values) => {
                let bound = self.values(values, outer)?;
                self.sorted(bound, order, outer)
            }
            SetExpr::Table(table) => {
                let bound = self.table_command(table)?;
                self.sorted(bound, order, outer)
            }
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                let instead = "run it as a statement of its own";
                Err(Refused::unsupported(At::NOWHERE, "a change within a query", instead))
            }
        }
    }

    /// A query whose rows are sorted by its own columns.
    fn sorted(&mut self, query: Query, order: RowOrder<'_>, outer: usize) -> Bind<Query> {
        if order.keys.is_empty() {
            return Ok(query);
        }
        let Query { logical, columns } = query;
        self.levels.enter(Border::Plan, output_scope(&columns), outer);
        self.groups.push(Collector::forbidding("ORDER BY of a set operation"));
        let mut keys = Vec::with_capacity(order.keys.len());
        for key in order.keys {
            keys.push(match output_of(&key.expr, &columns, &|_, _| false, "ORDER BY")? {
                Some(place) => directed(key, Expression::Column(place))?,
                None => self.sort_key(key)?,
            });
        }
        self.groups.pop();
        self.levels.leave();
        Ok(Query { logical: in_order(logical, keys, order.ties), columns })
    }

    /// The queries of a WITH, in their order: each sees those before it.
    pub(super) fn with(&mut self, with: &With, outer: usize) -> Bind<()> {
        if with.recursive && with.cte_tables.iter().any(names_itself) {
            let instead = "a query engine for it isn't there yet; loop in the application";
            return Err(Refused::unsupported(At::NOWHERE, "WITH RECURSIVE", instead));
        }
        let first = self.ctes.len();
        for cte in &with.cte_tables {
            let name = fold(&cte.alias.name);
            if self.ctes[first..].iter().any(|one| one.name == name) {
                let message = format!("WITH has two queries of the name {name}");
                let at = At::begin(cte.alias.name.span);
                return Err(Refused::new(SqlState::DUPLICATE_ALIAS, at, message));
            }
            let names: Vec<String> =
                cte.alias.columns.iter().map(|column| fold(&column.name)).collect();
            // Each may read the one before it, and stand where it is read.
            self.count_operations(1)?;
            let before = self.operations;
            let Query { logical, mut columns } = self.query(&cte.query, outer).at(&*cte.query)?;
            let operations = self.operations - before + 1;
            rename(&mut columns, &names, &name)?;
            let said = cte.materialized.as_ref().map(|said| match said {
                CteAsMaterialized::Materialized => true,
                CteAsMaterialized::NotMaterialized => false,
            });
            let binds = self.binds;
            let own = self.frame();
            let is_volatile = own.is_volatile(&logical, true);
            let reads_row = own.reads_row(&logical, binds);
            let reads_outside = own.reads_outside(&logical, binds);
            let shared = &mut own.shared;
            let uses = 0;
            shared.push(SharedQuery { logical, uses, said, is_volatile, reads_row, reads_outside });
            let number = shared.len() - 1;
            let frame = self.frames.len() - 1;
            let query = Rc::new((*cte.query).clone());
            self.ctes.push(Cte { name, query, names, columns, frame, number, outer, operations });
        }
        Ok(())
    }
}

/// Whether a common table expression reads itself: then its name stands in its own text.
fn names_itself(cte: &sqlparser::ast::Cte) -> bool {
    let text = cte.query.to_string().to_lowercase();
    let name = fold(&cte.alias.name);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(&name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let behind = text[at + name.len()..].chars().next();
        !before.is_some_and(is_word) && !behind.is_some_and(is_word)
    })
}

/// Gives columns the names of a list, which may be shorter.
pub(super) fn rename(columns: &mut [OutputColumn], names: &[String], of: &str) -> Bind<()> {
    check_names(columns.len(), names, of)?;
    for (column, name) in columns.iter_mut().zip(names) {
        column.name.clone_from(name);
    }
    Ok(())
}

/// Refuses more names than there are columns.
pub(super) fn check_names(columns: usize, names: &[String], of: &str) -> Bind<()> {
    if names.len() <= columns {
        return Ok(());
    }
    let message = format!("{of} has {columns} columns, and {} names are given", names.len());
    Err(Refused::new(SqlState::INVALID_COLUMN_REFERENCE, At::NOWHERE, message))
}

/// The columns of a result, which can be named without a table.
pub(super) fn output_scope(columns: &[OutputColumn]) -> Scope {
    let column = |(place, column): (usize, &OutputColumn)| ScopeColumn {
        table: None,
        name: ColumnName::from(column.name.as_str()),
        value: Expression::Column(place),
        kind: column.kind,
        declared: column.declared,
        is_plain: true,
    };
    Scope { columns: columns.iter().enumerate().map(column).collect(), ..Scope::default() }
}

/// Refuses clauses of other databases.
fn check_extras(query: &SqlQuery) -> Bind<()> {
    let found = [
        (query.for_clause.is_some(), "FOR XML and FOR JSON"),
        (query.settings.is_some(), "SETTINGS"),
        (query.format_clause.is_some(), "FORMAT"),
        (!query.pipe_operators.is_empty(), "|>"),
    ];
    match found.into_iter().find(|(is, _)| *is) {
        Some((_, what)) => Err(Refused::unsupported(At::NOWHERE, what, "leave it out")),
        None => Ok(()),
    }
}
