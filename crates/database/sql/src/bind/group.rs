//! GROUP BY and aggregates.
//!
//! ```text
//!   select a + 1, sum(b) from t group by a
//!
//!   bound over t:     #0 + 1, #A0            aggregates have columns of numbers that no row has
//!   over the groups:  #0 + 1, #1             groups first, then aggregates
//! ```
//!
//! Invariants
//!   * over groups an expression reads groups and aggregates alone: any other column is refused
//!     (42803)
//!   * a table whose primary key is in GROUP BY has all its columns there, as in PostgreSQL
//!   * an aggregate is of the query in whose text it stands. One that reads columns of a query
//!     outside alone would be of that one in the standard, and is refused
//!
//! Callers: `call`, `select`.

use expression::{Aggregate, Expression, Kind, Typed};
use sqlparser::ast::{
    DuplicateTreatment, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArgumentList, FunctionArguments, ObjectName,
};
use stop::SqlState;

use super::call::plain_arguments;
use super::series::SeriesCall;
use super::{AGGREGATES, Binder};
use crate::logical::{AggregateCall, SortKey};
use crate::refuse::{At, Bind, Placed, Refused};

/// How different rows are counted.
const COUNT_DIFFERENT: &str =
    "count the rows of a subquery: SELECT count(*) FROM (SELECT DISTINCT t.* FROM ...) d";

/// The aggregates and the series of one level, and whether one may stand where the binder is.
#[derive(Debug)]
pub(super) struct Collector {
    /// The clause in which no aggregate may stand; none: one may.
    pub(super) forbidden: Option<&'static str>,
    pub(super) calls: Vec<AggregateCall>,
    /// The series of the SELECT list.
    pub(super) series: Option<SeriesCall>,
}

impl Collector {
    /// Without aggregates; none may stand in this clause.
    pub(super) fn forbidding(clause: &'static str) -> Collector {
        Collector { forbidden: Some(clause), calls: Vec::new(), series: None }
    }
}

impl Binder<'_> {
    /// Binds a part of the innermost level in which no aggregate may stand.
    pub(super) fn without_aggregates<T>(
        &mut self,
        clause: &'static str,
        work: impl FnOnce(&mut Self) -> Bind<T>,
    ) -> Bind<T> {
        let collector = self.groups.last_mut().expect("a query has a collector");
        let before = collector.forbidden.replace(clause);
        let done = work(self);
        self.groups.last_mut().expect("a query has a collector").forbidden = before;
        done
    }

    /// A call of an aggregate.
    pub(super) fn aggregate(&mut self, name: &str, call: &Function) -> Bind<Typed> {
        let collector = self.groups.last().expect("a query has a collector");
        if let Some(clause) = collector.forbidden {
            let message = format!("an aggregate such as {name} can't stand in {clause}");
            return Err(Refused::new(SqlState::GROUPING_ERROR, At::of(&call.name), message));
        }
        if !call.within_group.is_empty() {
            let instead = "order by ORDER BY within the arguments: string_agg(x, ',' ORDER BY x)";
            return Err(Refused::unsupported(At::of(&call.name), "WITHIN GROUP", instead));
        }
        let FunctionArguments::List(list) = &call.args else {
            let message = format!("{name} has no arguments: write {name}(x)");
            return Err(Refused::new(SqlState::SYNTAX_ERROR, At::of(&call.name), message));
        };
        self.without_aggregates("the arguments of an aggregate", |binder| {
            binder.aggregate_call(name, call, list)
        })
        .at(&call.name)
    }

    fn aggregate_call(
        &mut self,
        name: &str,
        call: &Function,
        list: &FunctionArgumentList,
    ) -> Bind<Typed> {
        let is_star = matches!(&list.args[..], [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]);
        let mut arguments = Vec::new();
        if let Some(table) = table_counted(name, list)? {
            arguments.push(self.row_of_table(table)?);
        } else if !is_star {
            for argument in plain_arguments(list)? {
                arguments.push(self.expression(argument)?);
            }
            if arguments.is_empty() {
                let message = format!("{name} needs an argument: write {name}(x), or count(*)");
                return Err(Refused::new(SqlState::WRONG_OBJECT_TYPE, At::NOWHERE, message));
            }
        }
        let kinds: Vec<Kind> = arguments.iter().map(|argument| argument.kind).collect();
        let resolved = Aggregate::resolve(name, &kinds)?;
        let mut converted = Vec::with_capacity(arguments.len());
        for (argument, kind) in arguments.into_iter().zip(&resolved.arguments) {
            converted.push(argument.implicit(*kind)?.expression);
        }
        let order = self.aggregate_order(list)?;
        let filter = match &call.filter {
            Some(filter) => Some(self.condition(filter, "FILTER")?),
            None => None,
        };
        let distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
        let distinct = distinct && !resolved.aggregate.ignores_duplicates();
        let order = match (resolved.aggregate.minds_order(), distinct) {
            (false, _) => Vec::new(),
            (true, false) => order,
            (true, true) => order_of_distinct(order, &converted)?,
        };
        let aggregate = resolved.aggregate;
        let made = AggregateCall { aggregate, arguments: converted, distinct, filter, order };
        if is_of_outside(&made, self.binds) {
            let instead = "compute it in the query whose columns it reads";
            let what = "an aggregate of columns of a query outside alone";
            return Err(Refused::unsupported(At::NOWHERE, what, instead));
        }
        made.arguments.iter().for_each(|argument| self.note_kinds(argument));
        Ok(Typed::new(Expression::Column(self.collect(made)), resolved.kind))
    }

    /// ORDER BY within the arguments.
    fn aggregate_order(&mut self, list: &FunctionArgumentList) -> Bind<Vec<SortKey>> {
        match &list.clauses[..] {
            [] => Ok(Vec::new()),
            [FunctionArgumentClause::OrderBy(keys)] => {
                keys.iter().map(|key| self.sort_key(key)).collect()
            }
            [other, ..] => {
                let what = format!("{other} in the arguments of an aggregate");
                Err(Refused::unsupported(At::NOWHERE, &what, "leave it out"))
            }
        }
    }

    /// The column of an aggregate; an equal one that was met before has one already.
    fn collect(&mut self, made: AggregateCall) -> usize {
        let calls = &mut self.groups.last_mut().expect("a query has a collector").calls;
        if let Some(known) = calls.iter().position(|call| *call == made) {
            return AGGREGATES + known;
        }
        calls.push(made);
        AGGREGATES + calls.len() - 1
    }
}

/// The table of `count(t.*)`. Different rows are a subquery's to find.
fn table_counted<'l>(name: &str, list: &'l FunctionArgumentList) -> Bind<Option<&'l ObjectName>> {
    let [FunctionArg::Unnamed(argument)] = &list.args[..] else { return Ok(None) };
    let is_distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
    let is_count = name.eq_ignore_ascii_case("count");
    match argument {
        FunctionArgExpr::Wildcard if is_distinct => {
            let refused =
                Refused::new(SqlState::SYNTAX_ERROR, At::NOWHERE, "DISTINCT can't stand before *");
            Err(refused.hint(COUNT_DIFFERENT))
        }
        FunctionArgExpr::QualifiedWildcard(table) if is_count && is_distinct => {
            let what = format!("count(DISTINCT {table}.*)");
            Err(Refused::unsupported(At::of(table), &what, COUNT_DIFFERENT))
        }
        FunctionArgExpr::QualifiedWildcard(table) if is_count => Ok(Some(table)),
        _ => Ok(None),
    }
}

/// Whether an aggregate reads columns of queries outside, and none of its own.
fn is_of_outside(call: &AggregateCall, binds: usize) -> bool {
    let (mut reads_own, mut reads_outside) = (false, false);
    for read in call.arguments.iter().chain(&call.filter) {
        read.walk(&mut |part| match part {
            Expression::Column(_) => reads_own = true,
            Expression::Slot(slot) => reads_outside |= *slot >= binds,
            _ => {}
        });
    }
    reads_outside && !reads_own
}

/// The order of an aggregate of distinct values: by its arguments alone, and by all of them, so
/// that equal ones come together. None was asked for: any will do.
fn order_of_distinct(mut order: Vec<SortKey>, arguments: &[Expression]) -> Bind<Vec<SortKey>> {
    if order.iter().any(|key| !arguments.contains(&key.value)) {
        let message = "in an aggregate with DISTINCT, ORDER BY can only name its arguments";
        return Err(Refused::new(SqlState::INVALID_COLUMN_REFERENCE, At::NOWHERE, message));
    }
    if !order.is_empty() {
        let is_left = |one: &&Expression| {
            one.constant().is_none() && !order.iter().any(|key| key.value == **one)
        };
        let left: Vec<Expression> = arguments.iter().filter(is_left).cloned().collect();
        order.extend(left.into_iter().map(SortKey::ascending));
    }
    Ok(order)
}

/// Makes an expression over a level's rows one over its groups. An error is a column that is in no
/// group.
pub(super) fn over_groups(expression: &mut Expression, groups: &[Expression]) -> Result<(), usize> {
    if let Some(place) = groups.iter().position(|group| group == expression) {
        *expression = Expression::Column(place);
        return Ok(());
    }
    match expression {
        Expression::Column(column) if *column >= AGGREGATES => {
            *column = *column - AGGREGATES + groups.len();
            Ok(())
        }
        Expression::Column(column) => Err(*column),
        _ => {
            let mut result = Ok(());
            expression.each_part_mut(&mut |part| {
                if result.is_ok() {
                    result = over_groups(part, groups);
                }
            });
            result
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expression::Operator;
    use value::Value;

    fn plus(left: Expression, right: Expression) -> Expression {
        Expression::Arithmetic {
            operator: Operator::Add,
            left: Box::new(left),
            right: Box::new(right),
        }
    }

    #[test]
    fn an_expression_over_groups_reads_groups_and_aggregates_alone() {
        let one = Expression::from(Value::Int(1));
        let groups = [plus(Expression::Column(3), one.clone())];
        let mut good = plus(groups[0].clone(), Expression::Column(AGGREGATES + 1));
        assert_eq!(over_groups(&mut good, &groups), Ok(()));
        assert_eq!(good, plus(Expression::Column(0), Expression::Column(2)));
        let mut bad = plus(Expression::Column(3), one);
        bad = plus(bad, Expression::Column(4));
        assert_eq!(over_groups(&mut bad, &groups), Err(4));
    }
}
