//! What a statement asks for, as a tree of operations on rows, with nothing said of how.
//!
//! ```text
//!   Sort ─ Project ─ Filter ─ Join ─┬─ Scan emp
//!                                   └─ Scan dept
//! ```
//!
//! Invariants
//!   * a node's columns are numbered from 0; an expression of a node reads those of its input, and
//!     one of a join those of the left input and then those of the right one
//!   * a name stands in no node: names are the binder's
//!   * a slot of a frame is a parameter of the statement, a value of an outer query's row, or a
//!     column of the left side of an `Apply` above
//!
//! Callers: `bind` makes it, `rewrite` improves it, `plan` turns it into a plan.

mod frame;
mod host;
mod show;
mod width;

use std::sync::Arc;

use expression::{Aggregate, Expression};

use crate::schema::{TableInfo, VirtualTable};

pub(crate) use frame::{FrameParts, SharedQuery, Subplan};
pub(crate) use host::{HostCall, asked, host_call_of, is_volatile};

/// An operation on rows.
#[derive(Clone, Debug)]
pub(crate) enum Logical {
    /// The rows of a table.
    Scan(Scan),
    /// The rows of a virtual table.
    Virtual(VirtualScan),
    /// No rows. Without columns it also stands in place of a tree that is taken out for a while: it
    /// takes no memory.
    Nothing {
        /// The number of columns.
        width: usize,
    },
    /// Rows of constants, or of what has one value when the statement begins.
    Values {
        /// The rows: the plan, and all who run it, have the same ones.
        rows: Arc<[Vec<Expression>]>,
        /// The number of columns.
        width: usize,
    },
    /// A column of numbers or moments: `generate_series`.
    Series {
        /// First, last and step.
        arguments: Vec<Expression>,
    },
    /// The rows of a common table expression that is computed once.
    Shared {
        /// Its number among those of the statement.
        number: usize,
        /// The number of columns.
        width: usize,
    },
    /// The rows for which all of these conditions hold.
    Filter {
        /// The input.
        input: Box<Logical>,
        /// The conditions.
        conditions: Vec<Expression>,
    },
    /// A row of expressions for each row.
    Project {
        /// The input.
        input: Box<Logical>,
        /// The expressions.
        expressions: Vec<Expression>,
    },
    /// Pairs of rows.
    Join(Join),
    /// For each row of the left side, the rows of the right side, which reads columns of that row
    /// by slots.
    Apply {
        /// The left side.
        left: Box<Logical>,
        /// The right side.
        right: Box<Logical>,
        /// Whether a left row without a right one is kept, with NULLs.
        is_outer: bool,
        /// The slots of the right side, and what they are in the left row.
        slots: Vec<SlotFrom>,
        /// Conditions on the pairs.
        on: Vec<Expression>,
    },
    /// A row for each group of rows; one row if there are no groups.
    Aggregate {
        /// The input.
        input: Box<Logical>,
        /// What rows of a group have in common. These are the first columns of the output.
        groups: Vec<Expression>,
        /// What is computed of each group. These are the other columns.
        aggregates: Vec<AggregateCall>,
    },
    /// Each different row once.
    Distinct {
        /// The input.
        input: Box<Logical>,
    },
    /// For each different value of the first columns the first row (DISTINCT ON).
    DistinctOn {
        /// The input, in an order in which equal rows follow one another.
        input: Box<Logical>,
        /// The number of columns that decide.
        columns: usize,
    },
    /// UNION, INTERSECT, EXCEPT.
    Set(SetOperation),
    /// The rows in order.
    Sort {
        /// The input.
        input: Box<Logical>,
        /// The order.
        keys: Vec<SortKey>,
    },
    /// Some of the rows.
    Limit {
        /// The input.
        input: Box<Logical>,
        /// How many at most; none: all.
        limit: Option<Expression>,
        /// How many are passed over first.
        offset: Option<Expression>,
    },
    /// The first rows of an order, and those that are equal to the last of them in it.
    Ties(Ties),
}

/// FETCH FIRST n ROWS WITH TIES.
#[derive(Clone, Debug)]
pub(crate) struct Ties {
    pub(crate) input: Box<Logical>,
    /// The order; without any part all rows are equal in it.
    pub(crate) keys: Vec<SortKey>,
    /// How many come whatever is in them; none: all.
    pub(crate) limit: Option<Expression>,
    /// How many are passed over first.
    pub(crate) offset: Option<Expression>,
}

/// The rows of a table.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    /// The table.
    pub(crate) table: Arc<TableInfo>,
    /// The name by which the statement knows it, for EXPLAIN.
    pub(crate) alias: Arc<str>,
    /// What each column of the output is of the table.
    pub(crate) columns: Vec<ScanColumn>,
}

/// A column of a scan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum ScanColumn {
    /// A column of the table, by its place.
    Table(usize),
    /// The row's address, as a whole number.
    Address,
}

impl ScanColumn {
    /// The column of the table; none for the address.
    pub(crate) fn place(self) -> Option<usize> {
        match self {
            ScanColumn::Table(place) => Some(place),
            ScanColumn::Address => None,
        }
    }
}

/// The rows of a virtual table.
#[derive(Clone, Debug)]
pub(crate) struct VirtualScan {
    /// The table.
    pub(crate) table: Arc<dyn VirtualTable>,
    /// What each column of the output is of the table.
    pub(crate) columns: Vec<usize>,
}

/// Which pairs, and which rows without a partner, a join has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum JoinKind {
    /// Pairs only.
    Inner,
    /// Left rows without a partner too.
    Left,
    /// Right rows without a partner too.
    Right,
    /// Both.
    Full,
    /// Left rows that have a partner, once; no column of the right side.
    Semi,
    /// Left rows that have none.
    Anti,
    /// Left rows for which NOT IN is true: without a partner, and without a pair for which the
    /// first condition is unknown.
    AntiNullAware,
}

impl JoinKind {
    /// Whether the output has the columns of the right side.
    pub(crate) fn has_right(self) -> bool {
        !matches!(self, JoinKind::Semi | JoinKind::Anti | JoinKind::AntiNullAware)
    }

    /// Whether each left row is in the output.
    pub(crate) fn keeps_left(self) -> bool {
        matches!(self, JoinKind::Left | JoinKind::Full)
    }

    /// Whether each right row is in the output.
    pub(crate) fn keeps_right(self) -> bool {
        matches!(self, JoinKind::Right | JoinKind::Full)
    }
}

/// A join.
#[derive(Clone, Debug)]
pub(crate) struct Join {
    pub(crate) kind: JoinKind,
    pub(crate) left: Box<Logical>,
    pub(crate) right: Box<Logical>,
    /// The conditions on a pair.
    pub(crate) on: Vec<Expression>,
}

/// A slot that a column of a left row goes into.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SlotFrom {
    /// The slot.
    pub(crate) slot: usize,
    /// What it is, in the left row.
    pub(crate) value: Expression,
}

/// An aggregate with its arguments.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct AggregateCall {
    /// What is computed.
    pub(crate) aggregate: Aggregate,
    /// Its arguments: none for COUNT(*).
    pub(crate) arguments: Vec<Expression>,
    /// Whether equal arguments count once.
    pub(crate) distinct: bool,
    /// Which rows count.
    pub(crate) filter: Option<Expression>,
    /// The order in which rows are taken, for aggregates that depend on it.
    pub(crate) order: Vec<SortKey>,
}

/// A set operation over two inputs of the same width.
#[derive(Clone, Debug)]
pub(crate) struct SetOperation {
    pub(crate) kind: SetKind,
    /// Whether equal rows count as often as they come.
    pub(crate) all: bool,
    pub(crate) left: Box<Logical>,
    pub(crate) right: Box<Logical>,
}

/// UNION, INTERSECT, EXCEPT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SetKind {
    /// The rows of both.
    Union,
    /// The rows that both have.
    Intersect,
    /// The rows of the left side that the right one hasn't.
    Except,
}

/// A part of an order.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SortKey {
    /// What is compared.
    pub(crate) value: Expression,
    /// Whether large values come first.
    pub(crate) descending: bool,
    /// Whether NULL comes first.
    pub(crate) nulls_first: bool,
}

impl SortKey {
    /// Rising, with NULLs last.
    pub(crate) fn ascending(value: Expression) -> SortKey {
        SortKey { value, descending: false, nulls_first: false }
    }
}

impl Logical {
    /// One row without columns: what a SELECT without FROM reads.
    pub(crate) fn one_row() -> Logical {
        Logical::Values { rows: Arc::from([Vec::new()]), width: 0 }
    }

    /// No rows, of this many columns.
    pub(crate) fn no_rows(width: usize) -> Logical {
        Logical::Nothing { width }
    }

    /// The rows for which these conditions hold too.
    pub(crate) fn filtered(self, conditions: Vec<Expression>) -> Logical {
        match self {
            _ if conditions.is_empty() => self,
            Logical::Filter { input, conditions: mut all } => {
                all.extend(conditions);
                Logical::Filter { input, conditions: all }
            }
            input => Logical::Filter { input: Box::new(input), conditions },
        }
    }

    /// A row of these expressions for each row.
    pub(crate) fn projected(self, expressions: Vec<Expression>) -> Logical {
        let is_same = expressions.len() == self.width()
            && expressions.iter().enumerate().all(|(n, one)| *one == Expression::Column(n));
        match is_same {
            true => self,
            false => Logical::Project { input: Box::new(self), expressions },
        }
    }
}

/// The parts of a condition that all have to hold.
pub(crate) fn conjuncts(condition: Expression) -> Vec<Expression> {
    match condition {
        Expression::And(parts) => parts.into_iter().flat_map(conjuncts).collect(),
        one => vec![one],
    }
}
