//! ORDER BY, LIMIT, OFFSET, FETCH.
//!
//! NULLs come last in a rising order and first in a falling one, as in PostgreSQL and Oracle.
//!
//! Callers: `query`, `select`, `group`.

use expression::{CastTo, Expression, Kind};
use sqlparser::ast::{
    Expr, LimitClause, OrderBy, OrderByExpr, OrderByKind, Query as SqlQuery, Value as Literal,
};
use stop::SqlState;

use super::expression::strip;
use super::group::Collector;
use super::scope::{Border, Scope};
use super::{Binder, OutputColumn};
use crate::logical::{Logical, SortKey, Ties, is_volatile};
use crate::names::fold;
use crate::refuse::{At, Bind, Placed, Refused};

/// The order that a query's rows have.
pub(super) struct RowOrder<'q> {
    pub(super) keys: &'q [OrderByExpr],
    /// What FETCH ... WITH TIES says of the rows in this order.
    pub(super) ties: Option<Cut>,
}

impl RowOrder<'_> {
    /// Any order.
    pub(super) fn any() -> RowOrder<'static> {
        RowOrder { keys: &[], ties: None }
    }
}

/// What LIMIT and OFFSET say.
#[derive(Default)]
pub(super) struct Cut {
    pub(super) limit: Option<Expression>,
    pub(super) offset: Option<Expression>,
}

impl Binder<'_> {
    /// A part of an order, by an expression over the innermost level.
    pub(super) fn sort_key(&mut self, key: &OrderByExpr) -> Bind<SortKey> {
        let value = self.expression(&key.expr)?.settled().expression;
        directed(key, value)
    }

    /// The order of a query, with its FETCH if that is WITH TIES; its levels see the outermost
    /// `outer` ones.
    pub(super) fn row_order<'q>(
        &mut self,
        query: &'q SqlQuery,
        outer: usize,
    ) -> Bind<RowOrder<'q>> {
        let keys = keys_of(query.order_by.as_ref())?;
        let with_ties = query.fetch.as_ref().is_some_and(|fetch| fetch.with_ties);
        if with_ties && keys.is_empty() {
            let message = "WITH TIES needs ORDER BY, which says what rows are equal in";
            return Err(Refused::new(SqlState::SYNTAX_ERROR, At::NOWHERE, message));
        }
        let ties = if with_ties { Some(self.cut(query, outer)?) } else { None };
        Ok(RowOrder { keys, ties })
    }

    /// What a query's LIMIT, OFFSET and FETCH say; its levels see the outermost `outer` ones.
    pub(super) fn cut(&mut self, query: &SqlQuery, outer: usize) -> Bind<Cut> {
        let (limit, offset) = match &query.limit_clause {
            None => (None, None),
            Some(LimitClause::LimitOffset { limit, offset, limit_by }) => {
                if !limit_by.is_empty() {
                    let instead = "number the rows in a subquery";
                    return Err(Refused::unsupported(At::NOWHERE, "LIMIT BY", instead));
                }
                (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => (Some(limit), Some(offset)),
        };
        let limit = match (&query.fetch, limit) {
            (None, limit) => limit,
            (Some(_), Some(limit)) => {
                let message = "LIMIT and FETCH say the same: write one of them";
                return Err(Refused::new(SqlState::SYNTAX_ERROR, At::of(limit), message));
            }
            (Some(fetch), None) if fetch.percent => {
                let instead = "write FETCH FIRST n ROWS";
                return Err(Refused::unsupported(At::NOWHERE, "FETCH with PERCENT", instead));
            }
            (Some(fetch), None) => match &fetch.quantity {
                Some(quantity) => Some(quantity),
                None => {
                    let one = Expression::from(value::Value::Int(1));
                    let offset = offset.map(|it| self.count(it, "OFFSET", outer)).transpose()?;
                    return Ok(Cut { limit: Some(one), offset });
                }
            },
        };
        Ok(Cut {
            limit: limit.map(|limit| self.count(limit, "LIMIT", outer)).transpose()?,
            offset: offset.map(|offset| self.count(offset, "OFFSET", outer)).transpose()?,
        })
    }

    /// A number of rows: an expression without columns of the query itself.
    fn count(&mut self, expr: &Expr, clause: &'static str, outer: usize) -> Bind<Expression> {
        self.levels.enter(Border::Plan, Scope::default(), outer);
        self.groups.push(Collector::forbidding(clause));
        let bound = self.expression(expr);
        self.groups.pop();
        self.levels.leave();
        let mut count = match bound? {
            // A number is rounded, as where a column takes it.
            number if number.kind.is_number() => {
                number.cast(CastTo::Kind(Kind::Whole)).at(expr)?.expression
            }
            other => other.implicit(Kind::Whole).at(expr)?.expression,
        };
        self.note_kinds(&count);
        count.fold();
        Ok(count)
    }
}

/// The parts of an ORDER BY.
fn keys_of(order: Option<&OrderBy>) -> Bind<&[OrderByExpr]> {
    let Some(order) = order else { return Ok(&[]) };
    match &order.kind {
        OrderByKind::Expressions(keys) => Ok(keys),
        OrderByKind::All(_) => {
            Err(Refused::unsupported(At::NOWHERE, "ORDER BY ALL", "name the columns"))
        }
    }
}

/// The rows in order, and of these what WITH TIES leaves. Without keys any order will do.
pub(super) fn in_order(logical: Logical, keys: Vec<SortKey>, ties: Option<Cut>) -> Logical {
    let input = Box::new(logical);
    match ties {
        Some(Cut { limit, offset }) => Logical::Ties(Ties { input, keys, limit, offset }),
        None if keys.is_empty() => *input,
        None => Logical::Sort { input, keys },
    }
}

/// The values of these expressions, in an order of which the keys are places among them. What
/// differs from one evaluation to the next, and isn't sorted by, is computed of rows that are in
/// order, as in PostgreSQL: so `nextval` numbers them.
pub(super) fn projected_in_order(
    input: Logical,
    expressions: Vec<Expression>,
    mut keys: Vec<SortKey>,
    ties: Option<Cut>,
) -> Logical {
    let is_key = |place: usize| keys.iter().any(|key| key.value == Expression::Column(place));
    let is_late = |(place, one): (usize, &Expression)| is_volatile(one) && !is_key(place);
    let late: Vec<bool> = expressions.iter().enumerate().map(is_late).collect();
    if keys.is_empty() || !late.contains(&true) {
        return in_order(input.projected(expressions), keys, ties);
    }
    let mut first: Vec<Expression> = (0..input.width()).map(Expression::Column).collect();
    let mut last = Vec::with_capacity(expressions.len());
    for (one, is_late) in expressions.into_iter().zip(late) {
        if is_late {
            last.push(one);
        } else {
            last.push(Expression::Column(first.len()));
            first.push(one);
        }
    }
    for key in &mut keys {
        if let Expression::Column(place) = key.value {
            key.value = last[place].clone();
        }
    }
    in_order(input.projected(first), keys, ties).projected(last)
}

/// A value with the direction that a part of an order says.
pub(super) fn directed(key: &OrderByExpr, value: Expression) -> Bind<SortKey> {
    if key.with_fill.is_some() {
        return Err(Refused::unsupported(At::of(&key.expr), "WITH FILL", "leave it out"));
    }
    let descending = key.options.asc == Some(false);
    let nulls_first = key.options.nulls_first.unwrap_or(descending);
    Ok(SortKey { value, descending, nulls_first })
}

/// The output column that a part of an order, or of GROUP BY, means by its number or its name.
///
/// Several columns of one name are no choice if they are the same: `same` says so of two.
pub(super) fn output_of(
    expr: &Expr,
    columns: &[OutputColumn],
    same: &dyn Fn(usize, usize) -> bool,
    clause: &str,
) -> Bind<Option<usize>> {
    match strip(expr) {
        Expr::Value(literal) => match &literal.value {
            Literal::Number(digits, _) => {
                let place =
                    digits.parse::<usize>().ok().filter(|n| (1..=columns.len()).contains(n));
                place.map(|place| Some(place - 1)).ok_or_else(|| {
                    let width = columns.len();
                    let message = format!("{clause} {digits} isn't one of {width} columns");
                    Refused::new(SqlState::INVALID_COLUMN_REFERENCE, At::of(expr), message)
                })
            }
            _ => Ok(None),
        },
        Expr::Identifier(name) => {
            let name = fold(name);
            let mut named = (0..columns.len()).filter(|place| columns[*place].name == name);
            let Some(first) = named.next() else { return Ok(None) };
            if named.all(|other| same(first, other)) {
                return Ok(Some(first));
            }
            let message = format!("{clause} {name} may be several columns of the result");
            Err(Refused::new(SqlState::AMBIGUOUS_COLUMN, At::of(expr), message)
                .hint("give its number"))
        }
        _ => Ok(None),
    }
}
