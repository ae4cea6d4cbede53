//! `count(t.*)`: in which rows of FROM a table has a row of its own, and not NULLs in its place.
//!
//! ```text
//!   count(b.*)     of #ROWS + n, the row of the nth table  ─▶  of the mark, or count(*)
//!   a left join b  ─▶  a left join (b, mark)               the mark is NULL where b has no row
//! ```
//!
//! Invariants
//!   * a row counts whatever is in it, also nothing but NULLs, as in PostgreSQL
//!   * the columns of FROM keep their numbers: marks come behind them
//!
//! Callers: `group`, `select`.

use std::ops::Range;

use expression::{Aggregate, Expression, Kind, Typed};
use sqlparser::ast::ObjectName;
use stop::SqlState;
use value::Value;

use super::select::table_of;
use super::{AGGREGATES, Binder, ROWS};
use crate::logical::{AggregateCall, Join, Logical, ScanColumn};
use crate::names::parts_of;
use crate::refuse::{At, Bind, Refused};

impl Binder<'_> {
    /// What stands for the row of a table until the tree is `marked`.
    pub(super) fn row_of_table(&self, written: &ObjectName) -> Bind<Typed> {
        let name = table_of(parts_of(written)?);
        let scope = self.levels.scope();
        let found = scope.tables_named(&name);
        match found[..] {
            [number] if !scope.tables[number].columns.is_empty() => {
                Ok(Typed::column(ROWS + number, Kind::Boolean))
            }
            [_] => {
                let what = "the rows of a table without columns";
                Err(Refused::unsupported(At::of(written), what, "write count(*)"))
            }
            [] => {
                let message = format!("there is no table {name} in FROM of this query");
                Err(Refused::new(SqlState::UNDEFINED_TABLE, At::of(written), message))
            }
            _ => {
                let message = format!("{name} may be several tables: say of which schema");
                Err(Refused::new(SqlState::AMBIGUOUS_COLUMN, At::of(written), message))
            }
        }
    }

    /// The tree of FROM and WHERE, with a mark for each table whose rows these calls count. The
    /// calls read the marks then; where a table has a row in any case they count rows.
    pub(super) fn marked(&self, logical: Logical, calls: &mut [AggregateCall]) -> Logical {
        if calls.iter().all(|call| table_counted(call).is_none()) {
            return logical;
        }
        let tables = &self.levels.scope().tables;
        // Where each column is by now, and each mark behind them.
        let mut places: Vec<usize> = (0..logical.width()).collect();
        let mut tree = logical;
        for call in calls {
            let Some(number) = table_counted(call) else { continue };
            let Range { start, end } = tables[number].columns;
            let Marked { logical, mark } = mark(tree, &(places[start]..places[end - 1] + 1));
            tree = logical;
            match mark {
                None => {
                    call.aggregate = Aggregate::CountAll;
                    call.arguments.clear();
                }
                Some(mark) => {
                    places.iter_mut().for_each(|place| *place = behind(*place, mark));
                    call.arguments = vec![Expression::Column(places.len())];
                    places.push(mark);
                }
            }
        }
        tree.projected(places.into_iter().map(Expression::Column).collect())
    }
}

/// The number of the table whose rows a call counts.
fn table_counted(call: &AggregateCall) -> Option<usize> {
    match call.arguments[..] {
        [Expression::Column(column)] if (ROWS..AGGREGATES).contains(&column) => Some(column - ROWS),
        _ => None,
    }
}

/// A tree in which the rows of a table are marked.
struct Marked {
    logical: Logical,
    /// The column that is NULL where the table has no row; none if it has one in each row.
    mark: Option<usize>,
}

/// The number of a column when another one has got the number `new`.
fn behind(column: usize, new: usize) -> usize {
    column + usize::from(column >= new)
}

fn move_behind<'e>(expressions: impl Iterator<Item = &'e mut Expression>, mark: Option<usize>) {
    if let Some(mark) = mark {
        expressions.for_each(|one| one.remap(&|column| behind(column, mark)));
    }
}

/// Marks the rows of the table that has these columns of a tree.
fn mark(logical: Logical, of: &Range<usize>) -> Marked {
    // It is the table itself, however that is made.
    if of.len() == logical.width() {
        return Marked { logical, mark: None };
    }
    match logical {
        Logical::Filter { input, mut conditions } => {
            let Marked { logical, mark } = mark(*input, of);
            move_behind(conditions.iter_mut(), mark);
            Marked { logical: logical.filtered(conditions), mark }
        }
        // A side that has a mark already.
        Logical::Project { input, mut expressions } => {
            let Marked { logical, mark } = mark(*input, of);
            move_behind(expressions.iter_mut(), mark);
            let width = expressions.len();
            expressions.extend(mark.map(Expression::Column));
            let logical = Logical::Project { input: Box::new(logical), expressions };
            Marked { logical, mark: mark.map(|_| width) }
        }
        Logical::Join(Join { kind, left, right, mut on }) => {
            let padded = Padded { left: kind.keeps_right(), right: kind.keeps_left() };
            let Sides { left, right, mark } = mark_sides(*left, *right, of, padded);
            move_behind(on.iter_mut(), mark);
            let (left, right) = (Box::new(left), Box::new(right));
            Marked { logical: Logical::Join(Join { kind, left, right, on }), mark }
        }
        Logical::Apply { left, right, is_outer, mut slots, mut on } => {
            let padded = Padded { left: false, right: is_outer };
            let Sides { left, right, mark } = mark_sides(*left, *right, of, padded);
            move_behind(on.iter_mut(), mark);
            move_behind(slots.iter_mut().map(|slot| &mut slot.value), mark);
            let (left, right) = (Box::new(left), Box::new(right));
            Marked { logical: Logical::Apply { left, right, is_outer, slots, on }, mark }
        }
        other => Marked { logical: other, mark: None },
    }
}

/// Which sides of a join may have NULLs in the place of a row.
struct Padded {
    left: bool,
    right: bool,
}

/// Two sides of a join, of which one has a mark.
struct Sides {
    left: Logical,
    right: Logical,
    /// The mark's column in the pair.
    mark: Option<usize>,
}

fn mark_sides(left: Logical, right: Logical, of: &Range<usize>, padded: Padded) -> Sides {
    let width = left.width();
    if of.end <= width {
        let Marked { logical: left, mark } = mark_side(left, of, padded.left);
        return Sides { left, right, mark };
    }
    let of = of.start - width..of.end - width;
    let Marked { logical: right, mark } = mark_side(right, &of, padded.right);
    Sides { left, right, mark: mark.map(|mark| mark + width) }
}

/// Marks a side: where a join within it leaves the table out, else where its own join does.
fn mark_side(side: Logical, of: &Range<usize>, is_padded: bool) -> Marked {
    let Marked { logical, mark } = mark(side, of);
    if mark.is_some() || !is_padded {
        return Marked { logical, mark };
    }
    let mark = logical.width();
    let logical = match logical {
        Logical::Scan(mut scan) => {
            scan.columns.push(ScanColumn::Address);
            Logical::Scan(scan)
        }
        other => {
            let all = (0..mark).map(Expression::Column);
            let here = Expression::from(Value::Boolean(true));
            other.projected(all.chain([here]).collect())
        }
    };
    Marked { logical, mark: Some(mark) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::logical::JoinKind;

    fn rows(width: usize) -> Logical {
        let row: Vec<Expression> = (0..width).map(|_| Expression::from(Value::Null)).collect();
        Logical::Values { rows: Arc::from([row]), width }
    }

    fn join(kind: JoinKind, left: Logical, right: Logical, on: usize) -> Logical {
        let (left, right, on) = (Box::new(left), Box::new(right), vec![Expression::Column(on)]);
        Logical::Join(Join { kind, left, right, on })
    }

    /// a left join (b left join c): c is left out by its own join, and b by the one above.
    #[test]
    fn a_table_is_marked_where_it_may_be_left_out() {
        let tree = || join(JoinKind::Left, rows(2), join(JoinKind::Left, rows(1), rows(3), 2), 5);
        let Marked { logical, mark: of_a } = mark(tree(), &(0..2));
        assert_eq!((logical.width(), of_a), (6, None));
        let Marked { logical, mark: of_b } = mark(tree(), &(2..3));
        assert_eq!((logical.width(), of_b), (7, Some(6)));
        let Marked { logical, mark: of_c } = mark(logical, &(3..6));
        assert_eq!((logical.width(), of_c), (8, Some(7)), "behind the mark of b");
        let Marked { logical, mark: of_c } = mark(tree(), &(3..6));
        assert_eq!((logical.width(), of_c), (7, Some(6)));
        let filtered = Logical::Filter { input: Box::new(rows(2)), conditions: Vec::new() };
        assert_eq!(mark(filtered, &(0..2)).mark, None);
    }

    /// What stands behind a mark has another number, in conditions too.
    #[test]
    fn what_is_behind_a_mark_moves() {
        let tree = join(JoinKind::Right, rows(2), rows(1), 2);
        let Marked { logical, mark } = mark(tree, &(0..2));
        assert_eq!((logical.width(), mark), (4, Some(2)));
        let Logical::Join(Join { on, .. }) = logical else { panic!("a join stays one") };
        assert_eq!(on, [Expression::Column(3)]);
        assert_eq!([behind(1, 2), behind(2, 2)], [1, 3]);
    }
}
