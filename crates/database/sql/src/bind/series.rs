//! `generate_series` in the SELECT list: it gives a row for each of its values.
//!
//! ```text
//!   select id, generate_series(1, n) from t where ok
//!
//!   t ─▶ Filter ok ─▶ each row with 1 .. n, the last column of the row ─▶ the SELECT list
//! ```
//!
//! It may stand by itself, or be an operand. One that stands several times is one series. Two that
//! differ would go side by side in PostgreSQL, and are refused.
//!
//! Callers: `select`; `call`, which finds the column of a series.

use std::collections::BTreeSet;

use expression::{Expression, Kind, Typed};
use sqlparser::ast::{Expr, Function, FunctionArguments, SelectItem};
use stop::SqlState;

use super::call::plain_arguments;
use super::from::{Part, series};
use super::joins::JoinAs;
use super::scope::Scope;
use super::{Binder, Query};
use crate::logical::{Logical, SlotFrom, is_volatile};
use crate::names::parts_of;
use crate::refuse::{At, Bind, Placed, Refused};

/// The function whose rows are a series.
pub(super) const SERIES: &str = "generate_series";

/// The series of a SELECT list.
#[derive(Debug)]
pub(super) struct SeriesCall {
    call: Function,
    /// The column of the row that has its values.
    value: Typed,
}

impl Binder<'_> {
    /// The rows of FROM and WHERE, each with all values of the series that the SELECT list has.
    pub(super) fn with_series(&mut self, input: Logical, items: &[SelectItem]) -> Bind<Logical> {
        let mut calls: Vec<&Function> = Vec::new();
        for item in items {
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                find_series(expr, &mut calls);
            }
        }
        let [call, others @ ..] = &calls[..] else { return Ok(input) };
        if others.iter().any(|other| other != call) {
            let instead = "put them into FROM, each with a name of its own";
            let what = "several series in one SELECT list";
            return Err(Refused::unsupported(At::of(&call.name), what, instead));
        }
        let FunctionArguments::List(list) = &call.args else { return Ok(input) };
        let typed = self.without_aggregates("the arguments of a series", |binder| {
            let arguments = plain_arguments(list)?.into_iter();
            arguments.map(|one| binder.expression(one)).collect::<Bind<Vec<Typed>>>()
        })?;
        if !(2..=3).contains(&typed.len()) {
            let message = format!("{SERIES} has {} arguments, and takes two or three", typed.len());
            let refused = Refused::new(SqlState::UNDEFINED_FUNCTION, At::of(&call.name), message);
            return Err(refused.hint("write generate_series(first, last) or (first, last, step)"));
        }
        let Query { logical, columns } = series(typed).at(&call.name)?;
        let (Logical::Series { arguments }, [column]) = (logical, &columns[..]) else {
            unreachable!("a series is one column")
        };
        arguments.iter().for_each(|argument| self.note_kinds(argument));
        let joined = self.joined_with(input, arguments, column.kind)?;
        let value = Typed::column(joined.width() - 1, column.kind);
        let collector = self.groups.last_mut().expect("a query has a collector");
        collector.series = Some(SeriesCall { call: (*call).clone(), value });
        Ok(joined)
    }

    /// Rows, each with the values of a series, which are the last column.
    fn joined_with(
        &mut self,
        input: Logical,
        arguments: Vec<Expression>,
        kind: Kind,
    ) -> Bind<Logical> {
        self.count_operations(1)?;
        let input = Part::new(input, Scope::default()).logical;
        let mut read = BTreeSet::new();
        arguments.iter().for_each(|argument| argument.columns(&mut read));
        if read.is_empty() && !arguments.iter().any(is_volatile) {
            return Ok(JoinAs::cross().plain(input, Logical::Series { arguments }));
        }
        let width = input.width();
        let mut expressions: Vec<Expression> = (0..width).map(Expression::Column).collect();
        let (mut from, mut taken) = (Vec::new(), Vec::new());
        for (number, argument) in arguments.into_iter().enumerate() {
            let is_span = number == 2 && kind == Kind::Timestamp;
            let slots = self.levels.frames.last_mut().expect("a statement has a frame");
            slots.push(if is_span { Kind::Interval } else { kind });
            let slot = slots.len() - 1;
            from.push(SlotFrom { slot, value: Expression::Column(width + number) });
            taken.push(Expression::Slot(slot));
            expressions.push(argument);
        }
        let left = input.projected(expressions);
        JoinAs::cross().lateral(left, Logical::Series { arguments: taken }, from)
    }

    /// The value of a series of the SELECT list; none if the call is one of another function.
    pub(super) fn series_value(&self, call: &Function, name: &str) -> Bind<Option<Typed>> {
        if name != SERIES {
            return Ok(None);
        }
        let collector = self.groups.last().filter(|collector| collector.forbidden.is_none());
        let series = collector.and_then(|collector| collector.series.as_ref());
        match series.filter(|series| series.call == *call) {
            Some(series) => Ok(Some(series.value.clone())),
            None => {
                let instead = "put it into FROM, or into the SELECT list by itself";
                let what = "a series where one value is needed";
                Err(Refused::unsupported(At::of(&call.name), what, instead))
            }
        }
    }
}

/// Appends the series that an expression has as an operand.
fn find_series<'e>(expr: &'e Expr, found: &mut Vec<&'e Function>) {
    match expr {
        Expr::Function(call) if is_series(call) => found.push(call),
        Expr::Nested(inner)
        | Expr::UnaryOp { expr: inner, .. }
        | Expr::Cast { expr: inner, .. } => find_series(inner, found),
        Expr::BinaryOp { left, right, .. } => {
            find_series(left, found);
            find_series(right, found);
        }
        _ => {}
    }
}

fn is_series(call: &Function) -> bool {
    let name = parts_of(&call.name).ok().and_then(|mut parts| parts.pop());
    let is_plain = call.over.is_none() && call.filter.is_none() && call.within_group.is_empty();
    is_plain && name.is_some_and(|name| name == SERIES)
}
