//! A plan: a tree of operations that say how they are done.
//!
//! A plan borrows nothing, and names what it reads by numbers. So it is kept in the cache, and runs
//! in many sessions at once.
//!
//! Callers: `planner` makes it, `run` runs it, `explain` shows it.

use std::ops::Bound;
use std::sync::Arc;

use access::Direction;
use expression::{Expression, Kind};
use relation::{IndexDefinition, IndexId, TableDefinition};
use rowsource::{AggregateCall, Cut, JoinPlan, KeyOrder, LoopPlan, SetKind, Side, SortKey};

use super::columns::ColumnInfo;
use super::cost::Estimate;
use crate::logical::{HostCall, ScanColumn};
use crate::schema::VirtualTable;

/// The plan of a frame.
#[derive(Debug)]
pub(crate) struct FramePlan {
    /// What gives the frame's rows.
    pub(crate) root: Node,
    /// The number of the statement's parameters, which are the first slots.
    pub(crate) binds: usize,
    /// The kinds of all slots.
    pub(crate) slots: Vec<Kind>,
    /// Its subqueries, by number; none for one that nobody asks.
    pub(crate) subqueries: Vec<Option<SubqueryPlan>>,
    /// What its expressions ask of the connection, by place.
    pub(crate) calls: Vec<HostCall>,
    /// The queries that are computed once, by number; none for one that nobody reads.
    pub(crate) shared: Vec<Option<Node>>,
}

impl FramePlan {
    /// The plan of a frame without rows, slots and subqueries.
    pub(super) fn empty() -> FramePlan {
        let operation = Operation::Append { inputs: Vec::new() };
        let estimate = Estimate::of_rows(0.0);
        FramePlan {
            root: Node { place: 0, operation, columns: Vec::new(), estimate },
            binds: 0,
            slots: Vec::new(),
            subqueries: Vec::new(),
            calls: Vec::new(),
            shared: Vec::new(),
        }
    }
}

/// The plan of a subquery in an expression.
#[derive(Debug)]
pub(crate) struct SubqueryPlan {
    pub(crate) frame: FramePlan,
    /// The slots that the arguments of a question go into.
    pub(crate) arguments: Vec<usize>,
}

/// An operation, with what is expected of it.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Its number in the statement's plan, from 0.
    pub(crate) place: usize,
    pub(crate) operation: Operation,
    pub(crate) columns: Vec<ColumnInfo>,
    pub(crate) estimate: Estimate,
}

/// How rows are made.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// All rows of a table.
    Scan(TableScan),
    /// Rows of a table by an index.
    Index(IndexScan),
    /// The rows of a table that isn't stored, for which these conditions hold.
    Virtual { table: Arc<dyn VirtualTable>, columns: Vec<usize>, filter: Option<Expression> },
    /// Rows of constants.
    Values { rows: Arc<[Vec<Expression>]>, width: usize },
    /// `generate_series`.
    Series { arguments: Vec<Expression> },
    /// The rows of a query that is computed once.
    Shared { number: usize },
    /// The rows for which a condition holds.
    Filter { input: Box<Node>, condition: Expression },
    /// A row of expressions for each row.
    Project { input: Box<Node>, expressions: Vec<Expression> },
    /// Some of the rows, and those behind them that are equal to the last of them in these columns.
    Limit { input: Box<Node>, cut: Cut, ties: Option<Vec<usize>> },
    /// All rows in order, or the first of them.
    Sort { input: Box<Node>, keys: Vec<SortKey>, cut: Option<Cut> },
    /// Each different row once.
    Distinct { input: Box<Node>, columns: Vec<usize> },
    /// The first of rows that follow one another and are equal in these columns.
    Unique { input: Box<Node>, columns: Vec<usize> },
    /// The rows of one input after the other.
    Append { inputs: Vec<Node> },
    /// INTERSECT, EXCEPT.
    Set { kind: SetKind, left: Box<Node>, right: Box<Node> },
    /// A row for each group, by a table of groups.
    HashAggregate { input: Box<Node>, keys: Vec<usize>, calls: Vec<AggregateCall> },
    /// A row for each group, of rows that come group by group.
    SortedAggregate { input: Box<Node>, keys: Vec<usize>, calls: Vec<AggregateCall> },
    /// Pairs, by a table of the rows of one side.
    HashJoin { left: Box<Node>, right: Box<Node>, plan: JoinPlan, build: Side },
    /// Pairs, of sides in the same order.
    MergeJoin { left: Box<Node>, right: Box<Node>, plan: JoinPlan, orders: Vec<KeyOrder> },
    /// Pairs: the right side is read for each row of the left one.
    NestedLoop { left: Box<Node>, right: Box<Node>, plan: LoopPlan },
    /// Rows that are kept, to be read again; anew if one of these slots has changed.
    Materialise { input: Box<Node>, depends: Vec<usize> },
}

/// A scan of a table.
#[derive(Clone, Debug)]
pub(crate) struct TableScan {
    /// The table's place among those of the statement.
    pub(crate) table: usize,
    /// The name by which the statement knows it.
    pub(crate) alias: Arc<str>,
    /// The columns that are read.
    pub(crate) columns: Vec<ScanColumn>,
    /// What has to be true, over these columns.
    pub(crate) filter: Option<Expression>,
}

/// A scan of a part of an index.
#[derive(Clone, Debug)]
pub(crate) struct IndexScan {
    pub(crate) scan: TableScan,
    /// The index.
    pub(crate) index: IndexId,
    /// The table as it was planned for, for what EXPLAIN shows.
    pub(crate) definition: Arc<TableDefinition>,
    /// Which of its entries.
    pub(crate) search: Search,
    /// `Ascending` is the order of the index.
    pub(crate) direction: Direction,
    /// For each of the columns that are read its place in the index, if the rows aren't looked at.
    pub(crate) only: Option<Vec<Option<usize>>>,
    /// Whether one row at most is found.
    pub(crate) is_unique: bool,
}

impl IndexScan {
    fn planned(&self) -> Option<&IndexDefinition> {
        self.definition.indexes.iter().find(|index| index.id() == self.index)
    }

    /// The index's name.
    pub(crate) fn name(&self) -> &str {
        self.planned().map_or("", |index| index.name.as_str())
    }

    /// The names of the index's columns.
    pub(crate) fn keys(&self) -> Vec<&str> {
        let of_table = &self.definition.columns;
        let columns = self.planned().into_iter().flat_map(|index| &index.columns);
        columns.map(|of| of_table[of.column].name.as_str()).collect()
    }
}

/// Which entries of an index are looked for. No expression in it reads a row.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Search {
    /// What the first columns are.
    pub(crate) equal: Vec<KeyPart>,
    /// The lower bound of the column behind them.
    pub(crate) from: Bound<Expression>,
    /// The upper bound of that column.
    pub(crate) to: Bound<Expression>,
    /// Whether NULLs of that column are left out, though it has no bound.
    pub(crate) not_null: bool,
}

/// What a column of an index is.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum KeyPart {
    /// Equal to this value; to none, if that is NULL.
    Equal(Expression),
    /// NULL.
    Null,
    /// Equal to one of these values: a range for each of them.
    AnyOf(Vec<Expression>),
}

impl Search {
    /// All entries.
    pub(crate) fn all() -> Search {
        Search { equal: Vec::new(), from: Bound::Unbounded, to: Bound::Unbounded, not_null: false }
    }

    /// Whether a column behind the equal ones has a bound.
    pub(crate) fn is_bounded(&self) -> bool {
        !matches!((&self.from, &self.to), (Bound::Unbounded, Bound::Unbounded))
    }

    /// Whether it is one range of entries.
    pub(crate) fn is_one_range(&self) -> bool {
        !self.equal.iter().any(|part| matches!(part, KeyPart::AnyOf(_)))
    }

    /// Visits its expressions.
    pub(crate) fn each_expression(&self, visit: &mut dyn FnMut(&Expression)) {
        for part in &self.equal {
            match part {
                KeyPart::Equal(value) => visit(value),
                KeyPart::Null => {}
                KeyPart::AnyOf(values) => values.iter().for_each(&mut *visit),
            }
        }
        for bound in [&self.from, &self.to] {
            if let Bound::Included(value) | Bound::Excluded(value) = bound {
                visit(value);
            }
        }
    }
}

impl Node {
    /// The inputs, left to right.
    pub(crate) fn inputs(&self) -> Vec<&Node> {
        match &self.operation {
            Operation::Scan(_)
            | Operation::Index(_)
            | Operation::Virtual { .. }
            | Operation::Values { .. }
            | Operation::Series { .. }
            | Operation::Shared { .. } => Vec::new(),
            Operation::Filter { input, .. }
            | Operation::Project { input, .. }
            | Operation::Limit { input, .. }
            | Operation::Sort { input, .. }
            | Operation::Distinct { input, .. }
            | Operation::Unique { input, .. }
            | Operation::HashAggregate { input, .. }
            | Operation::SortedAggregate { input, .. }
            | Operation::Materialise { input, .. } => vec![&**input],
            Operation::Append { inputs } => inputs.iter().collect(),
            Operation::Set { left, right, .. }
            | Operation::HashJoin { left, right, .. }
            | Operation::MergeJoin { left, right, .. }
            | Operation::NestedLoop { left, right, .. } => vec![&**left, &**right],
        }
    }

    /// The inputs, left to right.
    pub(crate) fn inputs_mut(&mut self) -> Vec<&mut Node> {
        match &mut self.operation {
            Operation::Scan(_)
            | Operation::Index(_)
            | Operation::Virtual { .. }
            | Operation::Values { .. }
            | Operation::Series { .. }
            | Operation::Shared { .. } => Vec::new(),
            Operation::Filter { input, .. }
            | Operation::Project { input, .. }
            | Operation::Limit { input, .. }
            | Operation::Sort { input, .. }
            | Operation::Distinct { input, .. }
            | Operation::Unique { input, .. }
            | Operation::HashAggregate { input, .. }
            | Operation::SortedAggregate { input, .. }
            | Operation::Materialise { input, .. } => vec![&mut **input],
            Operation::Append { inputs } => inputs.iter_mut().collect(),
            Operation::Set { left, right, .. }
            | Operation::HashJoin { left, right, .. }
            | Operation::MergeJoin { left, right, .. }
            | Operation::NestedLoop { left, right, .. } => vec![&mut **left, &mut **right],
        }
    }

    /// The number of columns.
    pub(crate) fn width(&self) -> usize {
        self.columns.len()
    }
}
