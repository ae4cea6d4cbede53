//! FROM: tables, subqueries, functions, and how they are put together.
//!
//! Each part has its rows and its scope. A part that is LATERAL, or a function of columns, sees the
//! parts to its left; what it takes from them makes it the right side of an `Apply`.
//!
//! Callers: `select`, `change`.

use std::rc::Rc;
use std::sync::Arc;

use expression::{Expression, Kind, build};
use sqlparser::ast::{FunctionArg, FunctionArgExpr, TableAlias, TableFactor, TableWithJoins};
use stop::SqlState;

use super::group::Collector;
use super::joins::{JoinAs, goes_from_the_left};
use super::query::{check_names, output_scope};
use super::scope::{Border, ColumnName, Scope, ScopeColumn, ScopeTable};
use super::select::settle;
use super::series::SERIES;
use super::{Binder, Query};
use crate::logical::{JoinKind, Logical, SlotFrom};
use crate::names::{Name, fold, parts_of};
use crate::refuse::{At, Bind, Placed, Refused};

/// A part of FROM: its rows, and what can be named of them.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) logical: Logical,
    pub(super) scope: Scope,
    /// What it takes from the parts to its left.
    pub(super) slots: Vec<SlotFrom>,
}

impl Part {
    /// Rows without columns get one that nobody can name: a part is known among others by its
    /// columns (`rows_of`).
    pub(super) fn new(logical: Logical, scope: Scope) -> Part {
        let logical = match logical.width() {
            0 => logical.projected(vec![Expression::from(value::Value::Boolean(true))]),
            _ => logical,
        };
        Part { logical, scope, slots: Vec::new() }
    }
}

impl Binder<'_> {
    /// Binds FROM, whose scope becomes that of the innermost level.
    pub(super) fn from(&mut self, from: &[TableWithJoins]) -> Bind<Logical> {
        let mut all: Option<Part> = None;
        for item in from {
            all = Some(match all.take() {
                None => self.joined(item)?,
                Some(left) if reads_left(item) => self.joined_to(left, item)?,
                Some(left) => {
                    self.set_scope(Scope::default());
                    let right = self.joined(item)?;
                    self.join(left, right, JoinAs::cross())?
                }
            });
        }
        let Some(Part { logical, scope, .. }) = all else { return Ok(Logical::one_row()) };
        check_aliases(&scope)?;
        self.set_scope(scope);
        Ok(logical)
    }

    /// Makes a scope that of the innermost level.
    pub(super) fn set_scope(&mut self, scope: Scope) {
        self.levels.levels.last_mut().expect("a query has a level").scope = scope;
    }

    /// A table and those that are joined to it.
    pub(super) fn joined(&mut self, item: &TableWithJoins) -> Bind<Part> {
        let mut part = self.factor(&item.relation)?;
        for join in &item.joins {
            part = self.join_clause(part, join)?;
        }
        Ok(part)
    }

    /// The same with the first table joined to what is to the left of the comma.
    fn joined_to(&mut self, left: Part, item: &TableWithJoins) -> Bind<Part> {
        self.set_scope(left.scope.clone());
        let first = self.factor(&item.relation)?;
        let mut part = self.join(left, first, JoinAs::cross())?;
        for join in &item.joins {
            part = self.join_clause(part, join)?;
        }
        Ok(part)
    }

    /// One part of FROM; the level's scope has what is to its left.
    pub(super) fn factor(&mut self, factor: &TableFactor) -> Bind<Part> {
        match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                check_table(factor)?;
                let named = Name::of(name)?;
                let part = self.named_table(&named, At::of(name))?;
                aliased(part, alias.as_ref())
            }
            TableFactor::Table { name, alias, args: Some(args), .. } => {
                check_table(factor)?;
                let name = parts_of(name)?.pop().unwrap_or_default();
                self.function(&name, &args.args, alias.as_ref()).at(factor)
            }
            TableFactor::Function { name, args, alias, with_ordinality: false, .. } => {
                let name = parts_of(name)?.pop().unwrap_or_default();
                self.function(&name, args, alias.as_ref()).at(factor)
            }
            TableFactor::Derived { lateral, subquery, alias, sample: None } => {
                let part = match lateral {
                    true => self.lateral(|binder, outer| binder.query(subquery, outer))?,
                    false => {
                        let outer = self.levels.depth() - 1;
                        let query = settle(self.query(subquery, outer)?)?;
                        Part::new(query.logical, output_scope(&query.columns))
                    }
                };
                aliased(part, alias.as_ref())
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let part = self.joined(table_with_joins)?;
                match alias {
                    None => Ok(part),
                    Some(_) => aliased(part, alias.as_ref()),
                }
            }
            other => {
                let instead = "write a table, a view, a subquery or generate_series";
                let what = "this kind of FROM";
                Err(Refused::unsupported(At::of(other), what, instead))
            }
        }
    }

    /// A part that sees what is to its left.
    fn lateral(&mut self, bind: impl FnOnce(&mut Self, usize) -> Bind<Query>) -> Bind<Part> {
        let outer = self.levels.depth();
        self.levels.enter(Border::Plan, Scope::default(), outer);
        let query = settle(bind(self, outer + 1)?)?;
        let level = self.levels.leave();
        let slot =
            |capture: super::scope::Capture| SlotFrom { slot: capture.slot, value: capture.value };
        let slots = level.captures.into_iter().map(slot).collect();
        Ok(Part { slots, ..Part::new(query.logical, output_scope(&query.columns)) })
    }

    /// A function whose rows are a table: `generate_series`.
    fn function(
        &mut self,
        name: &str,
        args: &[FunctionArg],
        alias: Option<&TableAlias>,
    ) -> Bind<Part> {
        if name != SERIES || !(2..=3).contains(&args.len()) {
            let message = format!("there is no function {name} whose rows are a table");
            return Err(Refused::new(SqlState::UNDEFINED_FUNCTION, At::NOWHERE, message)
                .hint("there is generate_series(first, last) and (first, last, step)"));
        }
        let part = self.lateral(|binder, outer| {
            binder.levels.enter(Border::Plan, Scope::default(), outer);
            binder.groups.push(Collector::forbidding("the arguments of a function in FROM"));
            let mut typed = Vec::with_capacity(args.len());
            for arg in args {
                let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = arg else {
                    let instead = "give expressions";
                    let what = "this kind of argument";
                    return Err(Refused::unsupported(At::NOWHERE, what, instead));
                };
                typed.push(binder.expression(expr)?);
            }
            binder.groups.pop();
            binder.levels.leave();
            series(typed)
        })?;
        let mut part = aliased(part, alias)?;
        // A function of one column has the alias for its column's name too, as in PostgreSQL.
        let named = alias.filter(|alias| alias.columns.is_empty());
        let own = named.map_or_else(|| name.to_string(), |alias| fold(&alias.name));
        if alias.is_none_or(|alias| alias.columns.is_empty()) {
            let own = ColumnName::from(own.as_str());
            part.scope.columns.iter_mut().for_each(|column| column.name = own.clone());
        }
        if alias.is_none() {
            let table = Name::plain(name);
            let (columns, named) = (part.scope.columns.iter_mut(), Rc::new(table.clone()));
            columns.for_each(|column| column.table = Some(Rc::clone(&named)));
            let columns = 0..part.logical.width();
            part.scope.tables = vec![ScopeTable { name: table, columns }];
        }
        Ok(part)
    }

    /// Puts two parts together.
    pub(super) fn join(&mut self, left: Part, right: Part, how: JoinAs) -> Bind<Part> {
        self.count_operations(1)?;
        let width = left.logical.width();
        let scope = left.scope.joined(right.scope, width);
        let logical = match right.slots.is_empty() {
            true => how.plain(left.logical, right.logical),
            false => how.lateral(left.logical, right.logical, right.slots)?,
        };
        Ok(Part { logical, scope, slots: left.slots })
    }
}

/// The rows of `generate_series`: whole numbers, numbers, or moments with a span between them.
pub(super) fn series(typed: Vec<expression::Typed>) -> Bind<Query> {
    let (mut bounds, mut step) = (typed, None);
    if bounds.len() == 3 {
        step = bounds.pop();
    }
    let mut bounds = build::unify("generate_series", bounds)?;
    let mut kind = bounds[0].kind;
    if kind == Kind::Date {
        kind = Kind::Timestamp;
    }
    let step = match (step, kind) {
        (Some(step), Kind::Timestamp) => step.implicit(Kind::Interval)?,
        (None, Kind::Timestamp) => {
            let message = "generate_series of moments needs a step: an interval";
            return Err(Refused::new(SqlState::UNDEFINED_FUNCTION, At::NOWHERE, message));
        }
        (Some(step), Kind::Whole | Kind::Number) => {
            if step.kind == Kind::Number {
                kind = Kind::Number;
            }
            step.implicit(kind)?
        }
        (None, Kind::Whole | Kind::Number) => {
            expression::Typed::value(value::Value::Int(1)).implicit(kind)?
        }
        _ => {
            let message = format!("generate_series makes numbers and moments, and not {kind}");
            return Err(Refused::new(SqlState::UNDEFINED_FUNCTION, At::NOWHERE, message));
        }
    };
    let mut arguments = Vec::with_capacity(3);
    for bound in bounds.drain(..) {
        arguments.push(bound.implicit(kind)?.expression);
    }
    arguments.push(step.expression);
    let column = super::OutputColumn { name: SERIES.into(), kind, declared: None };
    Ok(Query { logical: Logical::Series { arguments }, columns: vec![column] })
}

/// A part under another name.
fn aliased(mut part: Part, alias: Option<&TableAlias>) -> Bind<Part> {
    let Some(alias) = alias else { return Ok(part) };
    let table = Name::plain(fold(&alias.name));
    let names: Vec<String> = alias.columns.iter().map(|column| fold(&column.name)).collect();
    let mut shown: Vec<ScopeColumn> =
        part.scope.columns.drain(..).filter(|column| column.is_plain).collect();
    check_names(shown.len(), &names, &table.name)?;
    for (column, name) in shown.iter_mut().zip(&names) {
        column.name = ColumnName::from(name.as_str());
    }
    let named = Rc::new(table.clone());
    for column in &mut shown {
        column.table = Some(Rc::clone(&named));
    }
    if let Logical::Scan(scan) = &mut part.logical {
        scan.alias = Arc::from(table.name.as_str());
    }
    for base in &mut part.scope.bases {
        base.name = table.clone();
    }
    part.scope.columns = shown;
    let columns = 0..part.logical.width();
    part.scope.tables = vec![ScopeTable { name: table, columns }];
    Ok(part)
}

/// Whether a part of FROM may read those before its comma: then its joins are made from the left
/// on, with those. That gives the same rows as long as none of the joins keeps right rows without a
/// partner, or looks for columns of one name: such a part reads nothing before its comma.
fn reads_left(item: &TableWithJoins) -> bool {
    let is_lateral = |factor: &TableFactor| {
        matches!(
            factor,
            TableFactor::Derived { lateral: true, .. }
                | TableFactor::Function { .. }
                | TableFactor::Table { args: Some(_), .. }
        )
    };
    let is_any = is_lateral(&item.relation) || item.joins.iter().any(|it| is_lateral(&it.relation));
    is_any && item.joins.iter().all(|it| goes_from_the_left(&it.join_operator))
}

/// Refuses two tables of one name.
pub(super) fn check_aliases(scope: &Scope) -> Bind<()> {
    for (place, ScopeTable { name: table, .. }) in scope.tables.iter().enumerate() {
        let same = |other: &&ScopeTable| other.name == *table;
        if scope.tables[..place].iter().find(same).is_some() {
            let message = format!("FROM has two tables of the name {table}; give one another name");
            return Err(Refused::new(SqlState::DUPLICATE_ALIAS, At::NOWHERE, message));
        }
    }
    Ok(())
}

/// Refuses what a table of other databases may have behind it.
fn check_table(factor: &TableFactor) -> Bind<()> {
    let TableFactor::Table { with_hints, version, with_ordinality, partitions, sample, .. } =
        factor
    else {
        return Ok(());
    };
    let found = [
        (!with_hints.is_empty(), "WITH hints"),
        (version.is_some(), "a table as of a moment"),
        (*with_ordinality, "WITH ORDINALITY"),
        (!partitions.is_empty(), "PARTITION"),
        (sample.is_some(), "TABLESAMPLE"),
    ];
    match found.into_iter().find(|(is, _)| *is) {
        Some((_, what)) => Err(Refused::unsupported(At::of(factor), what, "leave it out")),
        None => Ok(()),
    }
}

/// The kind of a join that a comma is.
impl JoinAs {
    /// All pairs.
    pub(super) fn cross() -> JoinAs {
        JoinAs { kind: JoinKind::Inner, on: Vec::<Expression>::new() }
    }
}
