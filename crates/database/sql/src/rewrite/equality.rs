//! What follows from equalities: if `a = b` and `a < 5`, then `b < 5`; if `a = b` and `b = c`, then
//! `a = c`.
//!
//! Equality is one order over all kinds that can be compared (rule value/VA9), so this holds
//! whatever the columns' types are, as long as they are compared as they are.
//!
//! Callers: `push`, for inner joins.

use expression::{Comparison, Expression};

/// The most conditions that are added to those of one join.
const ADDED_MAX: usize = 32;

/// The most conditions of a join of which consequences are looked for.
const CONDITIONS_MAX: usize = 64;

/// Adds the conditions that follow from these.
pub(super) fn add_implied(all: &mut Vec<Expression>) {
    if all.len() > CONDITIONS_MAX {
        return;
    }
    let mut added = 0;
    let mut from = 0;
    // What was added may have consequences of its own.
    while from < all.len() && added < ADDED_MAX {
        let upto = all.len();
        let mut new = Vec::new();
        for place in 0..upto {
            let Some((a, b)) = equal_columns(&all[place]) else { continue };
            for other in 0..upto {
                if other == place || (place < from && other < from) {
                    continue;
                }
                for (known, same) in [(a, b), (b, a)] {
                    if let Some(implied) = replaced(&all[other], known, same)
                        && !all.contains(&implied)
                        && !new.contains(&implied)
                        && !is_said(all, &implied)
                    {
                        new.push(implied);
                    }
                }
            }
        }
        from = upto;
        new.truncate(ADDED_MAX - added);
        added += new.len();
        all.extend(new);
    }
}

/// The two columns that a condition says are equal.
pub(crate) fn equal_columns(condition: &Expression) -> Option<(usize, usize)> {
    let Expression::Compare { comparison: Comparison::Equal, left, right } = condition else {
        return None;
    };
    match (&**left, &**right) {
        (Expression::Column(a), Expression::Column(b)) if a != b => Some((*a, *b)),
        _ => None,
    }
}

/// Whether the same is said the other way round.
fn is_said(all: &[Expression], implied: &Expression) -> bool {
    let Some((a, b)) = equal_columns(implied) else { return false };
    all.iter().any(|one| equal_columns(one) == Some((b, a)))
}

/// A comparison of the column `known` with the column `same` in its place. The other side reads no
/// row, or it is another column that is equal.
fn replaced(condition: &Expression, known: usize, same: usize) -> Option<Expression> {
    match condition {
        Expression::Compare { comparison, left, right } => {
            let is_known = |side: &Expression| *side == Expression::Column(known);
            let other = match (is_known(left), is_known(right)) {
                (true, false) => right,
                (false, true) => left,
                _ => return None,
            };
            let is_column = matches!(**other, Expression::Column(column) if column != same)
                && *comparison == Comparison::Equal;
            if !is_column && (other.reads_rows() || crate::logical::is_volatile(other)) {
                return None;
            }
            let mut implied = condition.clone();
            implied.remap(&|column| if column == known { same } else { column });
            Some(implied)
        }
        Expression::InList { value, list, negated: false, .. }
            if **value == Expression::Column(known)
                && list.iter().all(|one| one.constant().is_some()) =>
        {
            let mut implied = condition.clone();
            implied.remap(&|column| if column == known { same } else { column });
            Some(implied)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use value::Value;

    fn compare(comparison: Comparison, left: Expression, right: Expression) -> Expression {
        Expression::Compare { comparison, left: Box::new(left), right: Box::new(right) }
    }

    fn equal(a: usize, b: usize) -> Expression {
        compare(Comparison::Equal, Expression::Column(a), Expression::Column(b))
    }

    #[test]
    fn a_bound_of_a_column_is_one_of_those_that_are_equal_to_it() {
        let five = || Expression::from(Value::Int(5));
        let less = |a| compare(Comparison::Less, Expression::Column(a), five());
        let mut all = vec![equal(0, 1), equal(1, 2), less(2)];
        add_implied(&mut all);
        for implied in [less(0), less(1)] {
            assert!(all.contains(&implied), "{all:?}");
        }
        let is_said = |a, b| all.contains(&equal(a, b)) || all.contains(&equal(b, a));
        assert!(is_said(0, 2), "{all:?}");
    }

    #[test]
    fn what_reads_other_columns_says_nothing() {
        let less = compare(Comparison::Less, Expression::Column(0), Expression::Column(3));
        let mut all = vec![equal(0, 1), less];
        add_implied(&mut all);
        assert_eq!(all.len(), 2);
    }
}
