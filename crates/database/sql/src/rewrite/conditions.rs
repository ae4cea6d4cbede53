//! What can be asked of a condition: which columns it reads, whether it rejects NULL.
//!
//! Callers: all of `rewrite`; `plan`.

use std::collections::BTreeSet;

use expression::Expression;

/// The columns that expressions read.
pub(crate) fn columns_of<'e>(
    expressions: impl IntoIterator<Item = &'e Expression>,
) -> BTreeSet<usize> {
    let mut columns = BTreeSet::new();
    expressions.into_iter().for_each(|one| one.columns(&mut columns));
    columns
}

/// Whether an expression reads no column but such for which `is` says true.
pub(crate) fn reads_only(expression: &Expression, is: impl Fn(usize) -> bool) -> bool {
    let mut only = true;
    expression.walk(&mut |part| {
        if let Expression::Column(column) = part {
            only &= is(*column);
        }
    });
    only
}

/// Whether an expression reads no column: it has one value for all rows of a run, unless it is
/// volatile. A subquery in it may be asked once.
pub(crate) fn reads_no_row(expression: &Expression) -> bool {
    reads_only(expression, |_| false)
}

/// The expression with the numbers of its columns made smaller by `width`.
pub(crate) fn shifted(mut expression: Expression, width: usize) -> Expression {
    expression.remap(&|column| column - width);
    expression
}

/// The expression with what each column is in its place.
pub(super) fn substituted(mut expression: Expression, columns: &[Expression]) -> Expression {
    expression.change(&mut |part| {
        if let Expression::Column(column) = part {
            *part = columns[*column].clone();
        }
    });
    expression
}

/// The most levels of an expression with what each column is in its place: a chain of projections,
/// each with as many levels as can be written, would make one that no stack is deep enough for.
const DEPTH_MAX: usize = 1_000;

/// Whether an expression is not too deep with what each column is in its place. One that has the
/// same levels as before never is.
pub(super) fn stays_shallow(expression: &Expression, columns: &[Expression]) -> bool {
    let mut deepest = 1;
    expression.walk(&mut |part| {
        if let Expression::Column(column) = part {
            deepest = deepest.max(columns[*column].depth());
        }
    });
    deepest == 1 || expression.depth() + deepest <= DEPTH_MAX
}

/// The most parts that may be put in place of an expression's columns beside one for each.
const GROWTH_MAX: usize = 1_000;

/// Whether an expression stays about as large with what each column is in its place: a column may
/// stand in it several times, and within what is put there, others may.
pub(super) fn grows_little(expression: &Expression, columns: &[Expression]) -> bool {
    let mut more = 0;
    expression.walk(&mut |part| {
        if let Expression::Column(column) = part
            && more <= GROWTH_MAX
        {
            more += columns[*column].parts() - 1;
        }
    });
    more <= GROWTH_MAX && stays_shallow(expression, columns)
}

/// Whether a condition isn't true for rows in which all columns for which `is` says true are NULL.
/// May say no where it rejects them.
pub(super) fn rejects_null(condition: &Expression, is: &dyn Fn(usize) -> bool) -> bool {
    match condition {
        Expression::And(parts) => parts.iter().any(|part| rejects_null(part, is)),
        Expression::Or(parts) => {
            !parts.is_empty() && parts.iter().all(|part| rejects_null(part, is))
        }
        Expression::IsNull { value, negated: true } => is_null_of(value, is),
        Expression::IsTruth { value, truth: Some(_), negated: false } => is_null_of(value, is),
        other => is_null_of(other, is),
    }
}

/// Whether an expression is NULL if all columns for which `is` says true are NULL. May say no
/// where it is.
fn is_null_of(expression: &Expression, is: &dyn Fn(usize) -> bool) -> bool {
    match expression {
        Expression::Constant(value) => value.get().is_null(),
        Expression::Column(column) => is(*column),
        Expression::Not(value) | Expression::Negate(value) | Expression::Cast { value, .. } => {
            is_null_of(value, is)
        }
        Expression::Compare { left, right, .. }
        | Expression::Arithmetic { left, right, .. }
        | Expression::Concat { left, right } => is_null_of(left, is) || is_null_of(right, is),
        Expression::Like { value, pattern, .. } => is_null_of(value, is) || is_null_of(pattern, is),
        Expression::InList { value, list, .. } => !list.is_empty() && is_null_of(value, is),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expression::Comparison;
    use value::Value;

    fn less(left: Expression, right: Expression) -> Expression {
        Expression::Compare {
            comparison: Comparison::Less,
            left: Box::new(left),
            right: Box::new(right),
        }
    }

    #[test]
    fn a_comparison_rejects_null_and_is_null_does_not() {
        let column = Expression::Column;
        let one = || Expression::from(Value::Int(1));
        let is = |column: usize| column >= 2;
        assert!(rejects_null(&less(column(2), one()), &is));
        assert!(!rejects_null(&less(column(1), one()), &is));
        let either = |a, b| Expression::Or(vec![less(column(a), one()), less(column(b), one())]);
        assert!(rejects_null(&either(2, 3), &is));
        assert!(!rejects_null(&either(1, 3), &is));
        let null = |negated| Expression::IsNull { value: Box::new(column(2)), negated };
        assert!(rejects_null(&null(true), &is) && !rejects_null(&null(false), &is));
        assert!(!rejects_null(&Expression::Coalesce(vec![column(2), one()]), &is));
        assert!(rejects_null(&Expression::Not(Box::new(less(column(3), one()))), &is));
    }
}
