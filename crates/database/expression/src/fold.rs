//! Computes what is known before a row is read.
//!
//! Invariants
//!   * the folded expression has the same value for every row, of the same kind
//!   * what is refused isn't folded: `CASE WHEN x = 0 THEN 0 ELSE 1/0 END` is refused when a row
//!     needs it, and not before
//!   * only what is immutable is folded: now() isn't, for a plan outlives a statement
//!   * a large text that is made isn't folded either: a plan is kept, and short
//!
//! Callers: SQL, when a statement was bound; `build`, for casts of literals.

use std::cmp::Ordering;

use value::Value;

use crate::{Bare, Branch, Expression, NoRow, Volatility};

impl Expression {
    /// Replaces parts that are constant by their values, and drops what decides nothing. A NULL
    /// loses its kind (`Expression::kind`): whoever needs it keeps it beside the expression.
    pub fn fold(&mut self) {
        self.each_part_mut(&mut |part| part.fold());
        match self {
            Expression::And(parts) => fold_joined(parts, false),
            Expression::Or(parts) => fold_joined(parts, true),
            Expression::Case { operand: None, branches, otherwise } => {
                fold_branches(branches, otherwise);
            }
            Expression::Coalesce(parts) => fold_coalesce(parts),
            Expression::InList { list, sorted, .. } => *sorted = sort(list),
            _ => {}
        }
        if let Some(simpler) = self.simpler() {
            *self = simpler;
        }
        if self.is_computable() {
            let bare = Bare::small();
            let found = self.evaluate(&NoRow, &bare.evaluation()).ok().map(Value::to_owned);
            if let Some(value) = found {
                *self = Expression::Constant(value);
            }
        }
    }

    /// What the expression is without a shell that does nothing.
    fn simpler(&mut self) -> Option<Expression> {
        match self {
            Expression::And(parts) | Expression::Or(parts) | Expression::Coalesce(parts)
                if parts.len() == 1 =>
            {
                parts.pop()
            }
            Expression::Case { operand: None, branches, otherwise } if branches.is_empty() => {
                Some(otherwise.take().map_or(Expression::NULL, |otherwise| *otherwise))
            }
            _ => None,
        }
    }

    /// Whether all parts are constants, and nothing else decides.
    fn is_computable(&self) -> bool {
        let may = match self {
            Expression::Constant(_)
            | Expression::Column(_)
            | Expression::Slot(_)
            | Expression::Subquery(_) => false,
            Expression::Call { function, .. } => function.volatility() == Volatility::Immutable,
            _ => true,
        };
        let mut all = may;
        self.each_part(&mut |part| all &= part.constant().is_some());
        all
    }
}

/// Drops what doesn't decide AND (`decides` is false) or OR (true), and what stands behind a part
/// that does; takes the parts of parts of the same sort in.
fn fold_joined(parts: &mut Vec<Expression>, decides: bool) {
    let mut kept = Vec::with_capacity(parts.len());
    for part in parts.drain(..) {
        match (part, decides) {
            (Expression::And(inner), false) | (Expression::Or(inner), true) => kept.extend(inner),
            (part, _) => kept.push(part),
        }
    }
    let truth = |part: &Expression| match part.constant() {
        Some(Value::Boolean(is)) => Some(is),
        _ => None,
    };
    kept.retain(|part| truth(part) != Some(!decides));
    if let Some(at) = kept.iter().position(|part| truth(part) == Some(decides)) {
        // What stands before it could only be refused, and is evaluated first.
        kept.truncate(at + 1);
    }
    *parts = kept;
}

/// Drops branches whose condition never holds, and what stands behind one that always does.
fn fold_branches(branches: &mut Vec<Branch>, otherwise: &mut Option<Box<Expression>>) {
    branches.retain(|branch| {
        !matches!(branch.when.constant(), Some(Value::Boolean(false) | Value::Null))
    });
    let always = |branch: &Branch| matches!(branch.when.constant(), Some(Value::Boolean(true)));
    if let Some(at) = branches.iter().position(always) {
        branches.truncate(at + 1);
        *otherwise = branches.pop().map(|branch| Box::new(branch.then));
    }
}

/// Drops NULLs, and what stands behind a constant.
fn fold_coalesce(parts: &mut Vec<Expression>) {
    if parts.iter().any(|part| !matches!(part.constant(), Some(Value::Null))) {
        parts.retain(|part| !matches!(part.constant(), Some(Value::Null)));
    } else {
        parts.truncate(1);
    }
    if let Some(at) = parts.iter().position(|part| part.constant().is_some()) {
        parts.truncate(at + 1);
    }
}

/// Sorts a list that has constants other than NULL only, all of which can be compared. Whether it
/// has.
fn sort(list: &mut Vec<Expression>) -> bool {
    let are_known = list.iter().all(|part| part.constant().is_some_and(|value| !value.is_null()));
    let order = |a: &Expression, b: &Expression| a.constant()?.compare(b.constant()?);
    if !are_known || list.windows(2).any(|pair| order(&pair[0], &pair[1]).is_none()) {
        return false;
    }
    let known = |a: &Expression, b: &Expression| order(a, b).unwrap_or(Ordering::Equal);
    list.sort_by(known);
    list.dedup_by(|a, b| known(a, b).is_eq());
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{self, Typed, TypedBranch};
    use crate::{Comparison, Kind, Operator};

    fn int(value: i64) -> Typed {
        Typed::value(Value::Int(value))
    }

    fn truth(is: bool) -> Typed {
        Typed::value(Value::Boolean(is))
    }

    fn folded(typed: Typed) -> Expression {
        let mut expression = typed.expression;
        expression.fold();
        expression
    }

    fn is_true() -> Typed {
        Typed::column(0, Kind::Boolean)
    }

    fn by_zero() -> Typed {
        build::arithmetic(int(1), Operator::Divide, int(0)).expect("numbers")
    }

    #[test]
    fn constants_are_computed_and_refusals_are_kept_for_later() {
        let sum = build::arithmetic(int(2), Operator::Add, int(3)).expect("numbers");
        assert_eq!(folded(sum), Expression::from(Value::Int(5)));
        assert!(matches!(folded(by_zero()), Expression::Arithmetic { .. }));
        let call = |name| folded(build::call(name, Vec::new()).expect("a function"));
        assert!(matches!(call("now"), Expression::Call { .. }));
        assert!(matches!(call("random"), Expression::Call { .. }));
        assert!(matches!(call("pi"), Expression::Constant(_)));
    }

    #[test]
    fn what_decides_nothing_is_dropped() {
        let and = |parts| folded(build::and(parts).expect("truth values"));
        let or = |parts| folded(build::or(parts).expect("truth values"));
        assert_eq!(and(vec![truth(true), is_true()]), Expression::Column(0));
        assert_eq!(or(vec![is_true(), truth(false)]), Expression::Column(0));
        assert_eq!(and(vec![truth(true), truth(true)]), Expression::from(Value::Boolean(true)));
        assert_eq!(or(vec![]), Expression::from(Value::Boolean(false)));
        assert_eq!(and(vec![truth(false), is_true()]), Expression::from(Value::Boolean(false)));
        let nested = build::and(vec![is_true(), is_true()]).expect("truth values");
        let three = and(vec![nested, is_true()]);
        assert!(matches!(three, Expression::And(parts) if parts.len() == 3));
    }

    #[test]
    fn branches_that_are_never_taken_are_never_computed() {
        let branches = vec![
            TypedBranch { when: truth(false), then: by_zero() },
            TypedBranch { when: truth(true), then: int(2) },
            TypedBranch { when: is_true(), then: by_zero() },
        ];
        let case = build::case(None, branches, None).expect("numbers");
        assert_eq!(folded(case), Expression::from(Value::Int(2)));
        let first = build::call("coalesce", vec![Typed::null(), int(7), by_zero()]);
        assert_eq!(folded(first.expect("numbers")), Expression::from(Value::Int(7)));
    }

    #[test]
    fn a_list_of_constants_is_sorted() {
        let value = Typed::column(0, Kind::Whole);
        let list = vec![int(3), int(1), int(2), int(1)];
        let in_list = folded(build::in_list(value.clone(), list, false).expect("numbers"));
        let Expression::InList { list, sorted: true, .. } = in_list else {
            panic!("{in_list:?}");
        };
        let values: Vec<_> = list.iter().filter_map(Expression::constant).collect();
        assert_eq!(values, [Value::Int(1), Value::Int(2), Value::Int(3)]);
        let with_null = build::in_list(value, vec![int(3), Typed::null()], true).expect("numbers");
        assert!(matches!(folded(with_null), Expression::InList { sorted: false, .. }));
        let both = build::compare(int(1), Comparison::Less, int(2)).expect("numbers");
        assert_eq!(folded(both), Expression::from(Value::Boolean(true)));
    }
}
