//! Subqueries in expressions: scalar, EXISTS, IN, ANY, ALL.
//!
//! A subquery is a frame: it runs by itself, with slots of its own. What it takes from the row
//! outside goes into slots that its question names as arguments.
//!
//! Callers: `expression`, `call`.

use expression::{Comparison, Expression, Kind, Question, Typed, build};
use sqlparser::ast::{BinaryOperator, Expr, Query as SqlQuery};
use stop::SqlState;

use super::expression::{comparison_of, row_of, strip};
use super::scope::{Border, Scope};
use super::{Binder, Query};
use crate::logical::Subplan;
use crate::refuse::{At, Bind, Placed, Refused};

/// A subquery that was bound: its number, what it takes from the row, and its columns' kinds.
struct Asked {
    number: usize,
    arguments: Vec<Expression>,
    kinds: Vec<Kind>,
}

impl Binder<'_> {
    /// `(SELECT ...)` as a value.
    pub(super) fn scalar(&mut self, query: &SqlQuery) -> Bind<Typed> {
        let Asked { number, arguments, kinds } = self.asked(query)?;
        let [kind] = kinds[..] else { return Err(one_column(kinds.len())) };
        Ok(Typed::subquery(number, Question::Scalar, Vec::new(), arguments, kind)?)
    }

    /// One column of a query of one row at most, which is to have this many.
    pub(super) fn scalar_column(
        &mut self,
        query: &SqlQuery,
        number: usize,
        columns: usize,
    ) -> Bind<Typed> {
        let Asked { number, arguments, kinds } = self.bound_frame(query, |query| {
            if query.columns.len() != columns {
                let message =
                    format!("the query gives {} columns for {columns}", query.columns.len());
                return Err(Refused::new(SqlState::SYNTAX_ERROR, At::NOWHERE, message));
            }
            let Query { logical, columns } = query;
            let logical = logical.projected(vec![Expression::Column(number)]);
            Ok(Query { logical, columns: vec![columns[number].clone()] })
        })?;
        let Subplan { logical, frame, .. } = &self.frame().subqueries[number];
        if columns > 1 && frame.is_volatile(logical, true) {
            let instead = "compute it in FROM, and name its columns";
            let what = "a query that may differ each time, for several columns,";
            return Err(Refused::unsupported(At::NOWHERE, what, instead));
        }
        Ok(Typed::subquery(number, Question::Scalar, Vec::new(), arguments, kinds[0])?)
    }

    /// `[NOT] EXISTS (SELECT ...)`.
    pub(super) fn exists(&mut self, query: &SqlQuery, negated: bool) -> Bind<Typed> {
        let Asked { number, arguments, kinds } = self.asked(query)?;
        let kind = kinds.first().copied().unwrap_or(Kind::Boolean);
        let exists = Typed::subquery(number, Question::Exists, Vec::new(), arguments, kind)?;
        Ok(if negated { build::not(exists)? } else { exists })
    }

    /// `x [NOT] IN (SELECT ...)`, also of a row.
    pub(super) fn in_subquery(
        &mut self,
        expr: &Expr,
        query: &SqlQuery,
        negated: bool,
    ) -> Bind<Typed> {
        let question = match negated {
            false => Question::Any(Comparison::Equal),
            true => Question::All(Comparison::NotEqual),
        };
        let row = row_of(expr).unwrap_or(std::slice::from_ref(expr));
        self.tested(row, question, query)
    }

    /// `x < ANY (SELECT ...)`, `x < ALL (SELECT ...)`.
    pub(super) fn quantified(
        &mut self,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
        is_all: bool,
    ) -> Bind<Typed> {
        let Some(comparison) = comparison_of(op) else {
            let message = format!("{op} isn't a comparison: ANY and ALL need one");
            return Err(Refused::new(SqlState::UNDEFINED_FUNCTION, At::NOWHERE, message));
        };
        if let Some(elements) = self.elements(right)? {
            return self.compared_with_each(left, comparison, elements, is_all);
        }
        let Expr::Subquery(query) = strip(right) else {
            match (comparison, is_all) {
                (Comparison::Equal, false) => return self.in_array(left, right),
                (Comparison::NotEqual, true) => {
                    return Ok(build::not(self.in_array(left, right)?)?);
                }
                _ => {}
            }
            let instead = "write a subquery, or IN and a list";
            return Err(Refused::unsupported(At::of(right), "ANY and ALL of an array", instead));
        };
        let question = if is_all { Question::All(comparison) } else { Question::Any(comparison) };
        let row = row_of(left).unwrap_or(std::slice::from_ref(left));
        self.tested(row, question, query)
    }

    /// The row that a subquery gives, one column after the other: NULLs if it has no row. Two rows
    /// are refused when it runs.
    pub(super) fn row_of_subquery(&mut self, query: &SqlQuery, columns: usize) -> Bind<Vec<Typed>> {
        (0..columns).map(|number| self.scalar_column(query, number, columns)).collect()
    }

    /// A comparison of values with the rows of a subquery.
    fn tested(&mut self, row: &[Expr], question: Question, query: &SqlQuery) -> Bind<Typed> {
        let mut tested = Vec::with_capacity(row.len());
        for one in row {
            tested.push(self.expression(one)?);
        }
        let kinds_tested: Vec<Kind> = tested.iter().map(|one| one.kind).collect();
        let asked = self.asked_like(query, &kinds_tested)?;
        if asked.kinds.len() != tested.len() {
            return Err(match tested.len() {
                1 => one_column(asked.kinds.len()),
                columns => {
                    let message = format!(
                        "a row of {columns} columns can't be compared with a subquery of {}",
                        asked.kinds.len()
                    );
                    Refused::new(SqlState::SYNTAX_ERROR, At::NOWHERE, message)
                }
            });
        }
        let mut converted = Vec::with_capacity(tested.len());
        for (one, kind) in tested.into_iter().zip(&asked.kinds) {
            converted.push(if one.kind == Kind::Unknown { one.implicit(*kind)? } else { one });
        }
        let kind = asked.kinds[0];
        Ok(Typed::subquery(asked.number, question, converted, asked.arguments, kind)?)
    }

    /// Binds a subquery whose columns are compared with values of these kinds: where the two don't
    /// go together as they are, its columns are converted.
    fn asked_like(&mut self, query: &SqlQuery, tested: &[Kind]) -> Bind<Asked> {
        self.bound_frame(query, |query| {
            if query.columns.len() != tested.len() {
                return Ok(query);
            }
            let Query { logical, mut columns } = query;
            let mut expressions = Vec::with_capacity(columns.len());
            for (place, (column, wanted)) in columns.iter_mut().zip(tested).enumerate() {
                let own = Typed::column(place, column.kind);
                // A number stays what it is. A CHAR is compared with a text as a text.
                let to = match column.kind.with(*wanted) {
                    Some(_) if column.kind.is_number() => column.kind,
                    Some(both) => both,
                    None => {
                        let message = format!("{wanted} can't be compared with {}", column.kind);
                        let state = SqlState::UNDEFINED_FUNCTION;
                        return Err(Refused::new(state, At::NOWHERE, message)
                            .hint("make one of the other with CAST"));
                    }
                };
                let made = if to == column.kind { own } else { own.implicit(to)? };
                (column.kind, column.declared) = (made.kind, None);
                expressions.push(made.expression);
            }
            Ok(Query { logical: logical.projected(expressions), columns })
        })
    }

    fn asked(&mut self, query: &SqlQuery) -> Bind<Asked> {
        self.bound_frame(query, Ok)
    }

    /// Binds a subquery as a frame of its own.
    fn bound_frame(
        &mut self,
        query: &SqlQuery,
        finish: impl FnOnce(Query) -> Bind<Query>,
    ) -> Bind<Asked> {
        let outer = self.levels.depth();
        self.enter_frame();
        self.levels.enter(Border::Frame, Scope::default(), outer);
        let bound = self.query(query, outer + 1).at(query).and_then(finish);
        let level = self.levels.leave();
        let frame = self.leave_frame();
        let Query { logical, columns } = bound?;
        let (mut arguments, mut slots) = (Vec::new(), Vec::new());
        for capture in level.captures {
            arguments.push(capture.value);
            slots.push(capture.slot);
        }
        let subqueries = &mut self.frame().subqueries;
        subqueries.push(Subplan { logical, frame, arguments: slots, is_join: false });
        let number = subqueries.len() - 1;
        let kinds = columns.iter().map(|column| column.kind).collect();
        Ok(Asked { number, arguments, kinds })
    }
}

fn one_column(columns: usize) -> Refused {
    let message = format!("the subquery has {columns} columns; one is needed here");
    Refused::new(SqlState::SYNTAX_ERROR, At::NOWHERE, message)
}
