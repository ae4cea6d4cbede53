//! The tree of an expression, and the questions that can be asked of it before a row is read.
//!
//! ```text
//!   price * 1.2 > $1 AND name LIKE 'a%'
//!
//!                  And
//!            ┌──────┴───────┐
//!        Compare >         Like
//!         ┌───┴────┐      ┌──┴───┐
//!    Arithmetic * Slot 0  Column 3  Constant 'a%'
//!      ┌───┴────┐
//!   Column 2  Constant 1.2
//! ```
//!
//! Invariants
//!   * a tree is made by `build`, which has put a CAST wherever kinds differ: the evaluation looks
//!     at values only, and never converts a text by itself
//!   * two trees are equal if they mean the same for every row: 1 and 1.0 are different constants,
//!     for 3/1 and 3/1.0 have different kinds
//!
//! Callers: SQL makes trees and asks them; row sources evaluate them.

use std::collections::BTreeSet;

use value::{OwnedValue, Type, Value};

use crate::{Comparison, Function, Kind, Volatility};

/// An expression over the columns of one row.
#[derive(Clone, Debug)]
pub enum Expression {
    /// A value that is known.
    Constant(OwnedValue),
    /// A column of the row.
    Column(usize),
    /// A value that is known when the statement runs: a parameter, a column of an outer row, or the
    /// value of a subquery.
    Slot(usize),
    /// NOT.
    Not(Box<Expression>),
    /// AND: true without parts.
    And(Vec<Expression>),
    /// OR: false without parts.
    Or(Vec<Expression>),
    /// A comparison of two values.
    Compare {
        /// How they are compared.
        comparison: Comparison,
        /// The left value.
        left: Box<Expression>,
        /// The right value.
        right: Box<Expression>,
    },
    /// IS [NOT] NULL.
    IsNull {
        /// The value.
        value: Box<Expression>,
        /// Whether it is IS NOT NULL.
        negated: bool,
    },
    /// IS [NOT] DISTINCT FROM: NULL equals NULL.
    IsDistinct {
        /// The left value.
        left: Box<Expression>,
        /// The right value.
        right: Box<Expression>,
        /// Whether it is IS NOT DISTINCT FROM.
        negated: bool,
    },
    /// IS [NOT] TRUE, FALSE, UNKNOWN.
    IsTruth {
        /// The truth value.
        value: Box<Expression>,
        /// What it is held against; none: UNKNOWN.
        truth: Option<bool>,
        /// Whether it is IS NOT.
        negated: bool,
    },
    /// CASE: the first branch whose condition holds.
    Case {
        /// What each branch is compared with; none: each branch is a condition.
        operand: Option<Box<Expression>>,
        /// The branches, in order.
        branches: Vec<Branch>,
        /// ELSE; none: NULL.
        otherwise: Option<Box<Expression>>,
    },
    /// CAST, also one that was put in by itself.
    Cast {
        /// What the value becomes.
        to: CastTo,
        /// The value.
        value: Box<Expression>,
    },
    /// [NOT] LIKE, ILIKE.
    Like {
        /// The text.
        value: Box<Expression>,
        /// The pattern.
        pattern: Box<Expression>,
        /// The character that takes the next one's meaning away; none: the backslash. An empty
        /// text: there is none.
        escape: Option<Box<Expression>>,
        /// Whether it is ILIKE.
        ignore_case: bool,
        /// Whether it is NOT LIKE.
        negated: bool,
    },
    /// [NOT] IN a list.
    InList {
        /// The value.
        value: Box<Expression>,
        /// The list.
        list: Vec<Expression>,
        /// Whether it is NOT IN.
        negated: bool,
        /// Whether the list has constants other than NULL only, in rising order. `fold` sees to it.
        sorted: bool,
    },
    /// A call of a function.
    Call {
        /// The function.
        function: Function,
        /// Its arguments.
        arguments: Vec<Expression>,
    },
    /// An arithmetic operator between two values.
    Arithmetic {
        /// The operator.
        operator: Operator,
        /// The left value.
        left: Box<Expression>,
        /// The right value.
        right: Box<Expression>,
    },
    /// The minus in front of a value.
    Negate(Box<Expression>),
    /// `||`.
    Concat {
        /// The left text or bytes.
        left: Box<Expression>,
        /// The right text or bytes.
        right: Box<Expression>,
    },
    /// COALESCE: the first value other than NULL; those behind it aren't evaluated.
    Coalesce(Vec<Expression>),
    /// NULLIF: NULL if the values are equal, and else the left one.
    NullIf {
        /// The left value.
        left: Box<Expression>,
        /// The right value.
        right: Box<Expression>,
    },
    /// A subquery, of whose answer the environment is asked (`Evaluation::subqueries`).
    Subquery(Box<Subquery>),
}

/// WHEN ... THEN of a CASE.
#[derive(Clone, PartialEq, Debug)]
pub struct Branch {
    /// The condition, or the value that the operand is compared with.
    pub when: Expression,
    /// The result.
    pub then: Expression,
}

/// What a CAST makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CastTo {
    /// A value of a kind, without any limits.
    Kind(Kind),
    /// What a column of this type may hold: texts are cut, numbers rounded.
    Type(Type),
}

impl CastTo {
    /// The kind of the result.
    pub fn kind(self) -> Kind {
        match self {
            CastTo::Kind(kind) => kind,
            CastTo::Type(of) => Kind::from(of),
        }
    }
}

/// An operator between two numbers, moments or spans of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `^`: the power, not an exclusive or.
    Power,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `#`: the exclusive or.
    BitXor,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
}

impl Operator {
    /// The operator as SQL writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Modulo => "%",
            Operator::Power => "^",
            Operator::BitAnd => "&",
            Operator::BitOr => "|",
            Operator::BitXor => "#",
            Operator::ShiftLeft => "<<",
            Operator::ShiftRight => ">>",
        }
    }
}

/// A subquery in an expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Subquery {
    /// The number by which the environment knows it.
    pub number: usize,
    /// What is asked of its rows.
    pub question: Question,
    /// The values that its rows are compared with: none for `Scalar` and `Exists`.
    pub tested: Vec<Expression>,
    /// The values that the subquery takes from this row, in the environment's order.
    pub arguments: Vec<Expression>,
    /// The kind of the answer: that of the column for `Scalar`, else truth values.
    pub kind: Kind,
}

/// What is asked of the rows of a subquery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// The value of its one row; NULL if there is none; refused (21000) if there are several.
    Scalar,
    /// Whether there is a row.
    Exists,
    /// Whether the comparison holds for one row, in three-valued logic; IN is `Any(Equal)`.
    Any(Comparison),
    /// Whether the comparison holds for all rows; NOT IN is `All(NotEqual)`.
    All(Comparison),
}

impl From<Value<'_>> for Expression {
    fn from(value: Value<'_>) -> Expression {
        Expression::Constant(value.to_owned())
    }
}

impl Expression {
    /// NULL.
    pub const NULL: Expression = Expression::Constant(OwnedValue::NULL);

    /// The value, if the expression is a constant.
    pub fn constant(&self) -> Option<Value<'_>> {
        match self {
            Expression::Constant(value) => Some(value.get()),
            _ => None,
        }
    }

    /// Adds the columns that the expression reads to `into`.
    pub fn columns(&self, into: &mut BTreeSet<usize>) {
        self.walk(&mut |part| {
            if let Expression::Column(column) = part {
                into.insert(*column);
            }
        });
    }

    /// Adds the slots that the expression reads to `into`.
    pub fn slots(&self, into: &mut BTreeSet<usize>) {
        self.walk(&mut |part| {
            if let Expression::Slot(slot) = part {
                into.insert(*slot);
            }
        });
    }

    /// Gives each column the number that `place` says.
    pub fn remap(&mut self, place: &dyn Fn(usize) -> usize) {
        self.change(&mut |part| {
            if let Expression::Column(column) = part {
                *column = place(*column);
            }
        });
    }

    /// Whether the value is the same for every row and every run of the statement.
    pub fn is_constant(&self) -> bool {
        let mut is = self.volatility() == Volatility::Immutable;
        self.walk(&mut |part| {
            is &= !matches!(
                part,
                Expression::Column(_) | Expression::Slot(_) | Expression::Subquery(_)
            );
        });
        is
    }

    /// Whether the value may differ from one evaluation to the next, with the same row.
    pub fn is_volatile(&self) -> bool {
        self.volatility() == Volatility::Volatile
    }

    /// Whether a column, or a subquery, is in the expression: else it has one value for all rows of
    /// a run, unless it is volatile.
    pub fn reads_rows(&self) -> bool {
        let mut reads = false;
        self.walk(&mut |part| {
            reads |= matches!(part, Expression::Column(_) | Expression::Subquery(_));
        });
        reads
    }

    /// How long a value stays the same: the least of the functions that are called.
    pub fn volatility(&self) -> Volatility {
        let mut found = Volatility::Immutable;
        self.walk(&mut |part| match part {
            Expression::Call { function, .. } => found = found.max(function.volatility()),
            // Its rows are those of the statement's snapshot.
            Expression::Subquery(_) => found = found.max(Volatility::Stable),
            _ => {}
        });
        found
    }

    /// Whether a subquery is asked.
    pub fn has_subquery(&self) -> bool {
        let mut has = false;
        self.walk(&mut |part| has |= matches!(part, Expression::Subquery(_)));
        has
    }

    /// The kind of the value; `columns` and `slots` say the kinds of theirs.
    pub fn kind(&self, columns: &dyn Fn(usize) -> Kind, slots: &dyn Fn(usize) -> Kind) -> Kind {
        let of = |part: &Expression| part.kind(columns, slots);
        let first = |parts: &[Expression]| {
            let kinds = parts.iter().map(of);
            kinds.fold(Kind::Unknown, |a, b| a.with(b).unwrap_or(a))
        };
        match self {
            Expression::Constant(value) => Kind::of(value.get()),
            Expression::Column(column) => columns(*column),
            Expression::Slot(slot) => slots(*slot),
            Expression::Not(_)
            | Expression::And(_)
            | Expression::Or(_)
            | Expression::Compare { .. }
            | Expression::IsNull { .. }
            | Expression::IsDistinct { .. }
            | Expression::IsTruth { .. }
            | Expression::Like { .. }
            | Expression::InList { .. } => Kind::Boolean,
            Expression::Case { branches, otherwise, .. } => {
                let results = branches.iter().map(|branch| of(&branch.then));
                let results = results.chain(otherwise.iter().map(|part| of(part)));
                results.fold(Kind::Unknown, |a, b| a.with(b).unwrap_or(a))
            }
            Expression::Cast { to, .. } => to.kind(),
            Expression::Call { function, arguments } => {
                function.result(&mut arguments.iter().map(of))
            }
            Expression::Arithmetic { operator, left, right } => {
                crate::arithmetic::result(*operator, of(left), of(right)).unwrap_or(Kind::Unknown)
            }
            Expression::Negate(value) => of(value),
            Expression::Concat { left, .. } => match of(left) {
                Kind::Bytes => Kind::Bytes,
                _ => Kind::Text,
            },
            Expression::Coalesce(parts) => first(parts),
            Expression::NullIf { left, .. } => of(left),
            Expression::Subquery(subquery) => subquery.kind,
        }
    }

    /// Visits the expression and all its parts, each before its own parts.
    pub fn walk(&self, visit: &mut dyn FnMut(&Expression)) {
        visit(self);
        self.each_part(&mut |part| part.walk(visit));
    }

    /// The number of parts, itself among them.
    pub fn parts(&self) -> usize {
        let mut parts = 0;
        self.walk(&mut |_| parts += 1);
        parts
    }

    /// The levels of parts within parts, its own among them.
    pub fn depth(&self) -> usize {
        let mut below = 0;
        self.each_part(&mut |part| below = below.max(part.depth()));
        1 + below
    }

    /// Visits the expression and all its parts, which may be replaced, each after its own parts.
    pub fn change(&mut self, visit: &mut dyn FnMut(&mut Expression)) {
        self.each_part_mut(&mut |part| part.change(visit));
        visit(self);
    }

    /// Visits the parts right below, from left to right.
    pub fn each_part<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        match self {
            Expression::Constant(_) | Expression::Column(_) | Expression::Slot(_) => {}
            Expression::Not(value) | Expression::Negate(value) => visit(value),
            Expression::IsNull { value, .. }
            | Expression::IsTruth { value, .. }
            | Expression::Cast { value, .. } => visit(value),
            Expression::And(parts) | Expression::Or(parts) | Expression::Coalesce(parts) => {
                parts.iter().for_each(visit);
            }
            Expression::Compare { left, right, .. }
            | Expression::IsDistinct { left, right, .. }
            | Expression::Arithmetic { left, right, .. }
            | Expression::Concat { left, right }
            | Expression::NullIf { left, right } => {
                visit(left);
                visit(right);
            }
            Expression::Case { operand, branches, otherwise } => {
                operand.iter().for_each(|part| visit(part));
                for branch in branches {
                    visit(&branch.when);
                    visit(&branch.then);
                }
                otherwise.iter().for_each(|part| visit(part));
            }
            Expression::Like { value, pattern, escape, .. } => {
                visit(value);
                visit(pattern);
                escape.iter().for_each(|part| visit(part));
            }
            Expression::InList { value, list, .. } => {
                visit(value);
                list.iter().for_each(visit);
            }
            Expression::Call { arguments, .. } => arguments.iter().for_each(visit),
            Expression::Subquery(subquery) => {
                subquery.tested.iter().chain(&subquery.arguments).for_each(visit);
            }
        }
    }

    /// Visits the parts right below, which may be replaced, from left to right.
    pub fn each_part_mut(&mut self, visit: &mut dyn FnMut(&mut Expression)) {
        match self {
            Expression::Constant(_) | Expression::Column(_) | Expression::Slot(_) => {}
            Expression::Not(value) | Expression::Negate(value) => visit(value),
            Expression::IsNull { value, .. }
            | Expression::IsTruth { value, .. }
            | Expression::Cast { value, .. } => visit(value),
            Expression::And(parts) | Expression::Or(parts) | Expression::Coalesce(parts) => {
                parts.iter_mut().for_each(visit);
            }
            Expression::Compare { left, right, .. }
            | Expression::IsDistinct { left, right, .. }
            | Expression::Arithmetic { left, right, .. }
            | Expression::Concat { left, right }
            | Expression::NullIf { left, right } => {
                visit(left);
                visit(right);
            }
            Expression::Case { operand, branches, otherwise } => {
                operand.iter_mut().for_each(|part| visit(part));
                for branch in branches {
                    visit(&mut branch.when);
                    visit(&mut branch.then);
                }
                otherwise.iter_mut().for_each(|part| visit(part));
            }
            Expression::Like { value, pattern, escape, .. } => {
                visit(value);
                visit(pattern);
                escape.iter_mut().for_each(|part| visit(part));
            }
            Expression::InList { value, list, .. } => {
                visit(value);
                list.iter_mut().for_each(visit);
            }
            Expression::Call { arguments, .. } => arguments.iter_mut().for_each(visit),
            Expression::Subquery(subquery) => {
                subquery.tested.iter_mut().chain(&mut subquery.arguments).for_each(visit);
            }
        }
    }
}
