//! Conditions go down to where their columns come from: through projections, into both sides of
//! joins and set operations, below groups where they are about the groups.
//!
//! ```text
//!   Filter a.x = 1 and b.y = 2 and a.z = b.z          Join a.z = b.z
//!     Join                                    ─▶         Filter x = 1 ─ a
//!       a                                                Filter y = 2 ─ b
//!       b
//! ```
//!
//! A condition on the side of an outer join that may be padded with NULLs stays above the join; if
//! it rejects NULLs, no padded row comes out, and the join is an inner one.
//!
//! Conditions that meet are tested in the order in which they stood, from below: one that keeps
//! rows out of a subquery or a join is a guard for what is computed of the others.
//!
//! Callers: `rewrite`.

use expression::Expression;

use super::conditions::{
    grows_little, reads_only, rejects_null, shifted, stays_shallow, substituted,
};
use super::equality::add_implied;
use super::fold::reduced;
use crate::logical::{Join, JoinKind, Logical, SetOperation, Ties, is_volatile};

/// The tree with these conditions on its rows.
pub(super) fn push(logical: Logical, conditions: Vec<Expression>) -> Logical {
    let Some(conditions) = reduced(conditions) else {
        return Logical::no_rows(logical.width());
    };
    let (fixed, moving): (Vec<_>, Vec<_>) = conditions.into_iter().partition(is_volatile);
    push_moving(logical, moving).filtered(fixed)
}

fn push_moving(logical: Logical, conditions: Vec<Expression>) -> Logical {
    match logical {
        Logical::Filter { input, conditions: own } => push(*input, behind(own, conditions)),
        Logical::Project { input, expressions } => through_project(*input, expressions, conditions),
        Logical::Join(join) => into_join(join, conditions),
        Logical::Apply { left, right, is_outer, slots, on } => {
            let width = left.width();
            let (of_left, others) = split(conditions, |column| column < width);
            let left = Box::new(push(*left, of_left));
            if is_outer {
                let (of_right, on) = split(on, |column| column >= width);
                let of_right = of_right.into_iter().map(|one| shifted(one, width)).collect();
                let right = Box::new(push(*right, of_right));
                return Logical::Apply { left, right, is_outer, slots, on }.filtered(others);
            }
            let (of_right, on) = split(behind(on, others), |column| column >= width);
            let of_right = of_right.into_iter().map(|one| shifted(one, width)).collect();
            let right = Box::new(push(*right, of_right));
            Logical::Apply { left, right, is_outer, slots, on }
        }
        Logical::Aggregate { input, groups, aggregates } => {
            let count = groups.len();
            let (of_groups, mut others) = match groups.is_empty() {
                true => (Vec::new(), conditions),
                false => split(conditions, |column| column < count),
            };
            let (of_groups, large): (Vec<_>, Vec<_>) =
                of_groups.into_iter().partition(|one| grows_little(one, &groups));
            others.extend(large);
            let below = of_groups.into_iter().map(|one| substituted(one, &groups)).collect();
            let input = Box::new(push(*input, below));
            Logical::Aggregate { input, groups, aggregates }.filtered(others)
        }
        Logical::Distinct { input } => {
            Logical::Distinct { input: Box::new(push(*input, conditions)) }
        }
        Logical::DistinctOn { input, columns } => {
            let (below, above) = split(conditions, |column| column < columns);
            let input = Box::new(push(*input, below));
            Logical::DistinctOn { input, columns }.filtered(above)
        }
        Logical::Set(SetOperation { kind, all, left, right }) => {
            let left = Box::new(push(*left, conditions.clone()));
            let right = Box::new(push(*right, conditions));
            Logical::Set(SetOperation { kind, all, left, right })
        }
        Logical::Sort { input, keys } => {
            Logical::Sort { input: Box::new(push(*input, conditions)), keys }
        }
        Logical::Limit { input, limit, offset } => {
            let input = Box::new(push(*input, Vec::new()));
            Logical::Limit { input, limit, offset }.filtered(conditions)
        }
        Logical::Ties(Ties { input, keys, limit, offset }) => {
            let input = Box::new(push(*input, Vec::new()));
            Logical::Ties(Ties { input, keys, limit, offset }).filtered(conditions)
        }
        leaf => leaf.filtered(conditions),
    }
}

/// Conditions with those that stood above them behind.
fn behind(mut below: Vec<Expression>, above: Vec<Expression>) -> Vec<Expression> {
    below.extend(above);
    below
}

/// Conditions on a projection are conditions on what it is made of, unless that is worth computing
/// once only.
fn through_project(
    input: Logical,
    expressions: Vec<Expression>,
    conditions: Vec<Expression>,
) -> Logical {
    let is_plain = |column: usize| {
        let of = &expressions[column];
        !is_volatile(of) && !of.has_subquery()
    };
    let (below, mut above) = split(conditions, is_plain);
    let (below, large): (Vec<_>, Vec<_>) =
        below.into_iter().partition(|one| grows_little(one, &expressions));
    above.extend(large);
    let below = below.into_iter().map(|one| substituted(one, &expressions)).collect();
    let input = push(input, below);
    merged(input, expressions).filtered(above)
}

/// A projection of a projection is one, where nothing would be computed twice.
pub(super) fn merged(input: Logical, expressions: Vec<Expression>) -> Logical {
    let Logical::Project { input: below, expressions: inner } = input else {
        return input.projected(expressions);
    };
    let mut uses = vec![0_usize; inner.len()];
    for expression in &expressions {
        expression.walk(&mut |part| {
            if let Expression::Column(column) = part {
                uses[*column] += 1;
            }
        });
    }
    let is_simple = |one: &Expression| {
        matches!(one, Expression::Column(_) | Expression::Constant(_) | Expression::Slot(_))
    };
    let may = inner.iter().zip(&uses).all(|(one, uses)| match is_volatile(one) {
        true => false,
        false => *uses <= 1 || is_simple(one),
    });
    match may && expressions.iter().all(|one| stays_shallow(one, &inner)) {
        true => {
            let expressions = expressions.into_iter().map(|one| substituted(one, &inner)).collect();
            below.projected(expressions)
        }
        false => {
            let input = Box::new(Logical::Project { input: below, expressions: inner });
            Logical::Project { input, expressions }
        }
    }
}

/// Conditions above a join, and its own.
fn into_join(join: Join, conditions: Vec<Expression>) -> Logical {
    let Join { mut kind, left, right, on } = join;
    let width = left.width();
    kind = without_padding(kind, &conditions, width);
    match kind {
        JoinKind::Inner => inner(*left, *right, behind(on, conditions)),
        JoinKind::Left => {
            let (of_left, above) = split(conditions, |column| column < width);
            let (of_right, on) = split(on, |column| column >= width);
            let left = push(*left, of_left);
            let right = push(*right, moved(of_right, width));
            joined(kind, left, right, on).filtered(above)
        }
        JoinKind::Right => {
            let (of_right, above) = split(conditions, |column| column >= width);
            let (of_left, on) = split(on, |column| column < width);
            let left = push(*left, of_left);
            let right = push(*right, moved(of_right, width));
            joined(kind, left, right, on).filtered(above)
        }
        JoinKind::Full => {
            let (left, right) = (push(*left, Vec::new()), push(*right, Vec::new()));
            joined(kind, left, right, on).filtered(conditions)
        }
        JoinKind::Semi => {
            let (of_left, on) = split(on, |column| column < width);
            let (of_right, on) = split(on, |column| column >= width);
            let left = push(*left, conditions.into_iter().chain(of_left).collect());
            joined(kind, left, push(*right, moved(of_right, width)), on)
        }
        JoinKind::Anti => {
            let (of_right, on) = split(on, |column| column >= width);
            let left = push(*left, conditions);
            joined(kind, left, push(*right, moved(of_right, width)), on)
        }
        JoinKind::AntiNullAware => {
            joined(kind, push(*left, conditions), push(*right, Vec::new()), on)
        }
    }
}

/// An inner join with these conditions on its pairs.
fn inner(left: Logical, right: Logical, all: Vec<Expression>) -> Logical {
    let Some(mut all) = reduced(all) else {
        return Logical::no_rows(left.width() + right.width());
    };
    add_implied(&mut all);
    let width = left.width();
    let (fixed, moving): (Vec<_>, Vec<_>) = all.into_iter().partition(is_volatile);
    let (of_left, others) = split(moving, |column| column < width);
    let (of_right, mut on) = split(others, |column| column >= width);
    on.extend(fixed);
    let (left, right) = (push(left, of_left), push(right, moved(of_right, width)));
    joined(JoinKind::Inner, left, right, on)
}

fn joined(kind: JoinKind, left: Logical, right: Logical, on: Vec<Expression>) -> Logical {
    Logical::Join(Join { kind, left: Box::new(left), right: Box::new(right), on })
}

fn moved(conditions: Vec<Expression>, width: usize) -> Vec<Expression> {
    conditions.into_iter().map(|one| shifted(one, width)).collect()
}

/// The kind of a join whose padded rows these conditions reject.
fn without_padding(kind: JoinKind, conditions: &[Expression], width: usize) -> JoinKind {
    let reject = |is: &dyn Fn(usize) -> bool| conditions.iter().any(|one| rejects_null(one, is));
    let rejects_right = || reject(&|column| column >= width);
    let rejects_left = || reject(&|column| column < width);
    match kind {
        JoinKind::Left if rejects_right() => JoinKind::Inner,
        JoinKind::Right if rejects_left() => JoinKind::Inner,
        JoinKind::Full => match (rejects_left(), rejects_right()) {
            (true, true) => JoinKind::Inner,
            (true, false) => JoinKind::Left,
            (false, true) => JoinKind::Right,
            (false, false) => JoinKind::Full,
        },
        kind => kind,
    }
}

/// Those that read only columns for which `is` says true, and the others.
fn split(
    conditions: Vec<Expression>,
    is: impl Fn(usize) -> bool,
) -> (Vec<Expression>, Vec<Expression>) {
    conditions.into_iter().partition(|condition| reads_only(condition, &is))
}
