//! Projections go up through joins, and outer joins through inner ones, so that inner joins stand
//! next to one another and their order can be chosen.
//!
//! ```text
//!   Join a.x = c.x                      Left join a.y = b.y
//!     Left join a.y = b.y      ─▶         Join a.x = c.x
//!       a                                   a
//!       b                                   c
//!     c                                   b
//! ```
//!
//! Callers: `rewrite`, when conditions have gone down.

use expression::Expression;

use super::conditions::{columns_of, reads_only, substituted};
use super::push::merged;
use crate::logical::{Join, JoinKind, Logical, is_volatile};

/// Pulls projections and outer joins up.
pub(super) fn pull(mut logical: Logical) -> Logical {
    for input in logical.inputs_mut() {
        let inner = std::mem::replace(input, Logical::no_rows(0));
        *input = pull(inner);
    }
    match logical {
        Logical::Join(join) => joined(join),
        Logical::Project { input, expressions } => over(*input, expressions),
        Logical::Limit { input, limit, offset } => match *input {
            // Fewer rows are computed, and a sort stands next to its limit.
            Logical::Project { input, expressions } if !expressions.iter().any(is_volatile) => {
                over(Logical::Limit { input, limit, offset }, expressions)
            }
            input => Logical::Limit { input: Box::new(input), limit, offset },
        },
        other => other,
    }
}

/// A row of these expressions for each row.
fn over(input: Logical, expressions: Vec<Expression>) -> Logical {
    match input {
        Logical::Project { .. } => merged(input, expressions),
        other => other.projected(expressions),
    }
}

/// A side of a join without its projection.
struct Side {
    logical: Logical,
    /// What the side's columns are, over these rows.
    columns: Vec<Expression>,
}

impl Side {
    /// Takes the projection off a side, unless that would change what is computed: a condition
    /// reads the columns for which `is_read` says true, and if `is_padded`, there may be NULLs in
    /// place of the side's columns.
    fn open(logical: Logical, is_padded: bool, is_read: &dyn Fn(usize) -> bool) -> Side {
        let Logical::Project { input, expressions } = logical else {
            let columns = (0..logical.width()).map(Expression::Column).collect();
            return Side { logical, columns };
        };
        let may = |(number, one): (usize, &Expression)| {
            let is_plain = matches!(one, Expression::Column(_));
            is_plain || (!is_padded && !is_read(number) && !is_volatile(one) && !one.has_subquery())
        };
        if expressions.iter().enumerate().all(may) {
            return Side { logical: *input, columns: expressions };
        }
        let columns = (0..expressions.len()).map(Expression::Column).collect();
        Side { logical: Logical::Project { input, expressions }, columns }
    }
}

/// A join with the projections of its sides above it.
fn joined(join: Join) -> Logical {
    if join.kind == JoinKind::Right {
        return turned(join);
    }
    let Join { kind, left, right, on } = join;
    let width = left.width();
    let read = columns_of(&on);
    let left = Side::open(*left, kind.keeps_right(), &|column| read.contains(&column));
    let right = Side::open(*right, kind.keeps_left(), &|column| read.contains(&(column + width)));
    let ahead = left.logical.width();
    let mut columns = left.columns;
    let of_left = columns.len();
    columns.extend(right.columns.into_iter().map(|mut one| {
        one.remap(&|column| column + ahead);
        one
    }));
    let on: Vec<Expression> = on.into_iter().map(|one| substituted(one, &columns)).collect();
    if !kind.has_right() {
        columns.truncate(of_left);
    }
    let joined = match kind {
        JoinKind::Inner => inner(left.logical, right.logical, on),
        _ => {
            let (left, right) = (Box::new(left.logical), Box::new(right.logical));
            Logical::Join(Join { kind, left, right, on })
        }
    };
    over(joined, columns)
}

/// A right join as the left join that it is.
fn turned(join: Join) -> Logical {
    let Join { left, right, mut on, .. } = join;
    let (of_left, of_right) = (left.width(), right.width());
    on.iter_mut().for_each(|one| {
        one.remap(&|column| match column < of_left {
            true => column + of_right,
            false => column - of_left,
        });
    });
    let joined = joined(Join { kind: JoinKind::Left, left: right, right: left, on });
    let order = (of_right..of_right + of_left).chain(0..of_right);
    over(joined, order.map(Expression::Column).collect())
}

/// An inner join below the outer joins of its sides.
fn inner(left: Logical, right: Logical, on: Vec<Expression>) -> Logical {
    let left_width = left.width();
    let left = match left {
        Logical::Join(outer) if goes_up(&outer, &on, 0) => return above_left(outer, right, on),
        left => left,
    };
    match right {
        Logical::Join(outer) if goes_up(&outer, &on, left_width) => above_right(left, outer, on),
        right => {
            let (left, right) = (Box::new(left), Box::new(right));
            Logical::Join(Join { kind: JoinKind::Inner, left, right, on })
        }
    }
}

/// Whether a side is a left join whose right side the conditions don't read. Its columns are
/// behind `before` others.
fn goes_up(outer: &Join, on: &[Expression], before: usize) -> bool {
    if outer.kind != JoinKind::Left || on.iter().chain(&outer.on).any(is_volatile) {
        return false;
    }
    let first = before + outer.left.width();
    let end = first + outer.right.width();
    on.iter().all(|one| reads_only(one, |column| !(first..end).contains(&column)))
}

/// `(a left join b) join c` is `(a join c) left join b`.
fn above_left(outer: Join, right: Logical, mut on: Vec<Expression>) -> Logical {
    let Join { left: a, right: b, on: mut own, .. } = outer;
    let (of_a, of_b, of_c) = (a.width(), b.width(), right.width());
    on.iter_mut().for_each(|one| {
        one.remap(&|column| if column < of_a { column } else { column - of_b });
    });
    own.iter_mut().for_each(|one| {
        one.remap(&|column| if column < of_a { column } else { column + of_c });
    });
    let left =
        Box::new(joined(Join { kind: JoinKind::Inner, left: a, right: Box::new(right), on }));
    let above = joined(Join { kind: JoinKind::Left, left, right: b, on: own });
    // The rows are a, c, b by now.
    let (c, end) = (of_a..of_a + of_c, of_a + of_c + of_b);
    let order = (0..of_a).chain(c.end..end).chain(c);
    over(above, order.map(Expression::Column).collect())
}

/// `c join (a left join b)` is `(c join a) left join b`.
fn above_right(left: Logical, outer: Join, on: Vec<Expression>) -> Logical {
    let Join { left: a, right: b, on: mut own, .. } = outer;
    let of_c = left.width();
    own.iter_mut().for_each(|one| one.remap(&|column| column + of_c));
    let left = Box::new(joined(Join { kind: JoinKind::Inner, left: Box::new(left), right: a, on }));
    joined(Join { kind: JoinKind::Left, left, right: b, on: own })
}
