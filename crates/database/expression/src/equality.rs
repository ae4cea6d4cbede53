//! Whether two expressions mean the same: for GROUP BY, ORDER BY and aggregates that are asked for
//! twice.
//!
//! Invariants
//!   * constants are the same only if they have one kind too: 7/2 and 7/2.0 differ
//!   * a volatile call is equal to itself as a tree; whoever shares values asks `is_volatile` first
//!
//! Callers: SQL's binder and planner.

use value::{OwnedValue, Value};

use crate::{Expression, Kind};

impl PartialEq for Expression {
    fn eq(&self, other: &Expression) -> bool {
        if !is_same_head(self, other) {
            return false;
        }
        let (mut parts, mut others) = (Vec::new(), Vec::new());
        self.each_part(&mut |part| parts.push(part));
        other.each_part(&mut |part| others.push(part));
        parts == others
    }
}

/// Whether two constants are the same for every use.
fn is_same_constant(a: &OwnedValue, b: &OwnedValue) -> bool {
    match (a.get(), b.get()) {
        (Value::Interval(a), Value::Interval(b)) => a.is_identical(b),
        (Value::Double(a), Value::Double(b)) => a.to_bits() == b.to_bits(),
        (a, b) => Kind::of(a) == Kind::of(b) && a == b,
    }
}

/// Whether two expressions are alike but for their parts.
fn is_same_head(a: &Expression, b: &Expression) -> bool {
    use Expression::{
        And, Arithmetic, Call, Case, Cast, Coalesce, Column, Compare, Concat, Constant, InList,
        IsDistinct, IsNull, IsTruth, Like, Negate, Not, NullIf, Or, Slot, Subquery,
    };
    match (a, b) {
        (Constant(a), Constant(b)) => is_same_constant(a, b),
        (Column(a), Column(b)) | (Slot(a), Slot(b)) => a == b,
        (Not(_), Not(_))
        | (And(_), And(_))
        | (Or(_), Or(_))
        | (Negate(_), Negate(_))
        | (Concat { .. }, Concat { .. })
        | (Coalesce(_), Coalesce(_))
        | (NullIf { .. }, NullIf { .. }) => true,
        (Compare { comparison: a, .. }, Compare { comparison: b, .. }) => a == b,
        (IsNull { negated: a, .. }, IsNull { negated: b, .. })
        | (IsDistinct { negated: a, .. }, IsDistinct { negated: b, .. })
        | (InList { negated: a, .. }, InList { negated: b, .. }) => a == b,
        (
            IsTruth { truth: truth_a, negated: a, .. },
            IsTruth { truth: truth_b, negated: b, .. },
        ) => truth_a == truth_b && a == b,
        // How many parts there are doesn't say which of them these are.
        (
            Case { operand: a, otherwise: else_a, .. },
            Case { operand: b, otherwise: else_b, .. },
        ) => a.is_some() == b.is_some() && else_a.is_some() == else_b.is_some(),
        (Cast { to: a, .. }, Cast { to: b, .. }) => a == b,
        (
            Like { ignore_case: case_a, negated: a, .. },
            Like { ignore_case: case_b, negated: b, .. },
        ) => case_a == case_b && a == b,
        (Call { function: a, .. }, Call { function: b, .. }) => a == b,
        (Arithmetic { operator: a, .. }, Arithmetic { operator: b, .. }) => a == b,
        (Subquery(a), Subquery(b)) => {
            (a.number, a.question, a.kind) == (b.number, b.question, b.kind)
                && a.tested.len() == b.tested.len()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Comparison, Operator};

    fn constant(text: &str) -> Expression {
        Expression::from(Value::Number(text.parse().expect("a number")))
    }

    fn divided(by: Expression) -> Expression {
        Expression::Arithmetic {
            operator: Operator::Divide,
            left: Box::new(Expression::Column(0)),
            right: Box::new(by),
        }
    }

    #[test]
    fn expressions_are_equal_if_they_mean_the_same() {
        assert_eq!(divided(constant("2.0")), divided(constant("2")));
        assert_ne!(divided(constant("2")), divided(Expression::from(Value::Int(2))));
        assert_ne!(divided(Expression::Column(1)), divided(Expression::Slot(1)));
        let compared = |comparison| Expression::Compare {
            comparison,
            left: Box::new(Expression::Column(0)),
            right: Box::new(Expression::NULL),
        };
        assert_eq!(compared(Comparison::Less), compared(Comparison::Less));
        assert_ne!(compared(Comparison::Less), compared(Comparison::Greater));
        let both = Expression::And(vec![Expression::Column(0), Expression::Column(1)]);
        let one = Expression::And(vec![Expression::Column(0)]);
        assert_ne!(both, one);
        let month =
            |months, days| Expression::from(Value::Interval(value::Interval::new(months, days, 0)));
        assert_ne!(month(1, 0), month(0, 30));
    }
}
