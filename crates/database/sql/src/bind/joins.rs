//! Joins: their kinds, ON, USING, NATURAL.
//!
//! USING and NATURAL merge two columns into one, which is found by its name alone: the left one of
//! an inner or left join, the right one of a right join, and whichever isn't NULL of a full join.
//!
//! Callers: `from`.

use expression::{Comparison, Expression, Typed, build};
use sqlparser::ast::{Join as JoinClause, JoinConstraint, JoinOperator, ObjectName};
use stop::SqlState;

use super::Binder;
use super::from::Part;
use super::scope::{ColumnName, Scope, ScopeColumn, Wanted};
use crate::logical::{Join, JoinKind, Logical, SlotFrom, conjuncts};
use crate::names::single;
use crate::refuse::{At, Bind, Placed, Refused};

/// How two parts are joined.
pub(super) struct JoinAs {
    pub(super) kind: JoinKind,
    pub(super) on: Vec<Expression>,
}

impl JoinAs {
    /// The join of two parts of which neither reads the other.
    pub(super) fn plain(self, left: Logical, right: Logical) -> Logical {
        let (left, right) = (Box::new(left), Box::new(right));
        Logical::Join(Join { kind: self.kind, left, right, on: self.on })
    }

    /// The join with a right part that reads the left one.
    pub(super) fn lateral(
        self,
        left: Logical,
        right: Logical,
        slots: Vec<SlotFrom>,
    ) -> Bind<Logical> {
        let is_outer = match self.kind {
            JoinKind::Inner => false,
            JoinKind::Left => true,
            _ => {
                let message = "a part that reads those to its left can't be kept without them: use \
                               an inner or a left join";
                return Err(Refused::new(SqlState::INVALID_COLUMN_REFERENCE, At::NOWHERE, message));
            }
        };
        let (left, right) = (Box::new(left), Box::new(right));
        Ok(Logical::Apply { left, right, is_outer, slots, on: self.on })
    }
}

impl Binder<'_> {
    /// `left JOIN ...`.
    pub(super) fn join_clause(&mut self, left: Part, join: &JoinClause) -> Bind<Part> {
        let (kind, constraint) = kind_of(&join.join_operator).at(&join.relation)?;
        self.set_scope(left.scope.clone());
        let right = self.factor(&join.relation)?;
        let width = left.logical.width();
        match constraint {
            JoinConstraint::On(condition) => {
                let both = left.scope.clone().joined(right.scope.clone(), width);
                self.set_scope(both);
                let on =
                    self.without_aggregates("ON", |binder| binder.condition(condition, "ON"))?;
                self.join(left, right, JoinAs { kind, on: conjuncts(on) })
            }
            JoinConstraint::Using(names) => {
                let names: Bind<Vec<String>> =
                    names.iter().map(|name: &ObjectName| single(name, "column")).collect();
                self.join_using(left, right, kind, &names?).at(&join.relation)
            }
            JoinConstraint::Natural => {
                let of_left = left.scope.starred(None);
                let is_shared = |name: &str| {
                    right.scope.columns.iter().any(|one| one.is_plain && *one.name == *name)
                };
                let shared = of_left.iter().filter(|one| is_shared(&one.name));
                let names: Vec<String> = shared.map(|one| one.name.to_string()).collect();
                self.join_using(left, right, kind, &names).at(&join.relation)
            }
            JoinConstraint::None => match kind {
                JoinKind::Inner => self.join(left, right, JoinAs::cross()),
                _ => {
                    let message = "an outer join needs ON or USING";
                    Err(Refused::new(SqlState::SYNTAX_ERROR, At::of(&join.relation), message))
                }
            },
        }
    }

    /// A join by columns that both sides have.
    fn join_using(
        &mut self,
        left: Part,
        right: Part,
        kind: JoinKind,
        names: &[String],
    ) -> Bind<Part> {
        let width = left.logical.width();
        let (mut on, mut merged) = (Vec::new(), Vec::new());
        for name in names {
            let a = only(&left.scope, name, "left")?;
            let mut b = only(&right.scope, name, "right")?;
            b.value.remap(&|place| place + width);
            let of = |column: &ScopeColumn| Typed::new(column.value.clone(), column.kind);
            on.push(build::compare(of(&a), Comparison::Equal, of(&b))?.expression);
            let one = match kind {
                JoinKind::Right => of(&b),
                JoinKind::Full => build::call("coalesce", vec![of(&a), of(&b)])?,
                _ => of(&a),
            };
            let declared = if kind == JoinKind::Right { b.declared } else { a.declared };
            merged.push(ScopeColumn {
                table: None,
                name: ColumnName::from(name.as_str()),
                value: one.expression,
                kind: one.kind,
                declared,
                is_plain: true,
            });
        }
        let mut part = self.join(left, right, JoinAs { kind, on })?;
        for column in &mut part.scope.columns {
            column.is_plain &= !names.iter().any(|name| **name == *column.name);
        }
        merged.append(&mut part.scope.columns);
        part.scope.columns = merged;
        Ok(part)
    }
}

/// The one column of this name.
fn only(scope: &Scope, name: &str, side: &str) -> Bind<ScopeColumn> {
    let found = scope.named(&Wanted { table: None, column: name.into() });
    match &found[..] {
        [one] => Ok((*one).clone()),
        [] => {
            let message = format!("the {side} side of the join has no column {name}");
            Err(Refused::new(SqlState::UNDEFINED_COLUMN, At::NOWHERE, message))
        }
        _ => {
            let message = format!("the {side} side of the join has several columns {name}");
            Err(Refused::new(SqlState::AMBIGUOUS_COLUMN, At::NOWHERE, message))
        }
    }
}

/// Whether `a, b JOIN c` has the rows of `(a CROSS JOIN b) JOIN c`: right rows without a partner
/// would have one partner each in `a`, and USING and NATURAL would find columns of `a`.
pub(super) fn goes_from_the_left(operator: &JoinOperator) -> bool {
    kind_of(operator).is_ok_and(|(kind, constraint)| {
        let has_names = matches!(constraint, JoinConstraint::Using(_) | JoinConstraint::Natural);
        matches!(kind, JoinKind::Inner | JoinKind::Left) && !has_names
    })
}

/// The kind of a join, and its condition.
fn kind_of(operator: &JoinOperator) -> Bind<(JoinKind, &JoinConstraint)> {
    Ok(match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::CrossJoin(constraint)
        | JoinOperator::StraightJoin(constraint) => (JoinKind::Inner, constraint),
        JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => {
            (JoinKind::Left, constraint)
        }
        JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => {
            (JoinKind::Right, constraint)
        }
        JoinOperator::FullOuter(constraint) => (JoinKind::Full, constraint),
        _ => {
            let instead = "write JOIN, LEFT JOIN, RIGHT JOIN, FULL JOIN or CROSS JOIN";
            return Err(Refused::unsupported(At::NOWHERE, "this kind of join", instead));
        }
    })
}
