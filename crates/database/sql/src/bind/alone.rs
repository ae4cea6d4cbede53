//! Expressions and queries that other statements are made of: values of EXECUTE, DEFAULTs, CHECKs,
//! the queries of views and of CREATE TABLE AS.
//!
//! Callers: `session`, `define`, `check`.

use std::rc::Rc;
use std::sync::Arc;

use expression::{CastTo, Expression, Kind, Typed, Volatility};
use sqlparser::ast::{Expr, Query as SqlQuery};
use stop::SqlState;
use value::Type;

use super::scope::{Border, ColumnName, Scope, ScopeColumn, ScopeTable};
use super::select::settle;
use super::statement::{Bound, Statement};
use super::{Binder, OutputColumn, Query, UNNAMED};
use crate::logical::Logical;
use crate::names::Name;
use crate::refuse::{At, Bind, Placed, Refused};

/// A column that a CHECK may name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckedColumn<'c> {
    pub(crate) name: &'c str,
    pub(crate) kind: Type,
}

impl Binder<'_> {
    /// The same binder of a statement of whose parameters these kinds were said.
    pub(crate) fn saying(mut self, said: &[Kind]) -> Self {
        for (slot, kind) in said.iter().take(self.binds).enumerate() {
            self.bind_kinds[slot] = *kind;
            self.levels.frames[0][slot] = *kind;
        }
        self
    }

    /// Binds a query.
    pub(crate) fn query_alone(mut self, written: &SqlQuery) -> Bind<Bound> {
        self.levels.enter(Border::Frame, Scope::default(), 0);
        let query = settle(self.query(written, 1)?)?;
        Ok(self.bound(Statement::Query(query)))
    }

    /// Binds values that read no row: one row of them. Each becomes of the kind that was said for
    /// it, if one was.
    pub(crate) fn values_alone(mut self, exprs: &[Expr], said: &[Kind]) -> Bind<Bound> {
        self.levels.enter(Border::Frame, Scope::default(), 0);
        let (mut values, mut columns) = (Vec::new(), Vec::new());
        for (number, expr) in exprs.iter().enumerate() {
            let typed =
                self.within_scope(Scope::default(), "EXECUTE", |binder| binder.expression(expr))?;
            let typed = match said.get(number) {
                Some(Kind::Unknown) | None => typed.settled(),
                Some(kind) => typed.cast(CastTo::Kind(*kind)).at(expr)?,
            };
            let Typed { expression, kind } = typed;
            columns.push(OutputColumn { name: UNNAMED.into(), kind, declared: None });
            values.push(expression);
        }
        let logical = Logical::Values { width: values.len(), rows: Arc::from([values]) };
        Ok(self.bound(Statement::Query(Query { logical, columns })))
    }

    /// Binds a DEFAULT, as a column of this type takes it.
    pub(crate) fn default_alone(mut self, expr: &Expr, column: &str, kind: Type) -> Bind<Bound> {
        self.levels.enter(Border::Frame, Scope::default(), 0);
        let typed =
            self.within_scope(Scope::default(), "a default", |binder| binder.expression(expr))?;
        let typed = typed.assigned(kind, column).at(expr)?;
        let has_query = !self.frame().subqueries.is_empty();
        if has_query {
            let instead = "give the value in the statement that inserts the row";
            return Err(Refused::unsupported(At::of(expr), "a subquery in a default", instead));
        }
        let mut value = typed.expression;
        value.fold();
        let column =
            OutputColumn { name: column.into(), kind: Kind::from(kind), declared: Some(kind) };
        let logical = Logical::Values { width: 1, rows: Arc::from([vec![value]]) };
        Ok(self.bound(Statement::Query(Query { logical, columns: vec![column] })))
    }

    /// Binds a value made of the columns of a table's row, as a column of this type takes it. It
    /// may be converted as a CAST does.
    pub(crate) fn converted_alone(
        mut self,
        expr: &Expr,
        table: &str,
        columns: &[Option<CheckedColumn<'_>>],
        kind: Type,
    ) -> Bind<Expression> {
        let scope = scope_of(table, columns);
        self.levels.enter(Border::Frame, Scope::default(), 0);
        let typed = self.within_scope(scope, "USING", |binder| binder.expression(expr))?;
        let typed = typed.cast(CastTo::Type(kind)).at(expr)?;
        self.check_pure(&typed.expression, expr, "USING")?;
        Ok(typed.expression)
    }

    /// Binds a CHECK of a table with these columns, by their places; none for one that was dropped.
    pub(crate) fn check_alone(
        mut self,
        expr: &Expr,
        table: &str,
        columns: &[Option<CheckedColumn<'_>>],
    ) -> Bind<Expression> {
        let scope = scope_of(table, columns);
        self.levels.enter(Border::Frame, Scope::default(), 0);
        let mut condition =
            self.within_scope(scope, "CHECK", |binder| binder.condition(expr, "CHECK"))?;
        condition.fold();
        self.check_pure(&condition, expr, "CHECK")?;
        Ok(condition)
    }

    /// Refuses what has another value at another time, for the same row.
    fn check_pure(&mut self, expression: &Expression, expr: &Expr, clause: &str) -> Bind<()> {
        if expression.has_subquery() {
            let what = format!("a subquery or a sequence in {clause}");
            let instead = "it reads columns of its own row alone";
            return Err(Refused::unsupported(At::of(expr), &what, instead));
        }
        if expression.volatility() != Volatility::Immutable {
            let message = format!(
                "{clause} has to have the same value at all times: it can't call functions such as \
                 now() or random()"
            );
            return Err(Refused::new(SqlState::INVALID_OBJECT_DEFINITION, At::of(expr), message));
        }
        Ok(())
    }
}

/// The columns of a table under its name.
fn scope_of(table: &str, columns: &[Option<CheckedColumn<'_>>]) -> Scope {
    let name = Rc::new(Name::plain(table));
    let column = |(place, of): (usize, &Option<CheckedColumn<'_>>)| {
        let of = of.as_ref()?;
        Some(ScopeColumn {
            table: Some(Rc::clone(&name)),
            name: ColumnName::from(of.name),
            value: Expression::Column(place),
            kind: Kind::from(of.kind),
            declared: Some(of.kind),
            is_plain: true,
        })
    };
    let tables = vec![ScopeTable { name: Name::plain(table), columns: 0..columns.len() }];
    let columns = columns.iter().enumerate().filter_map(column).collect();
    Scope { columns, tables, bases: Vec::new() }
}
