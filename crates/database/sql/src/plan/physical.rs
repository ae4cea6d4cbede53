//! A plan: which row sources a statement is made of, and what is done with their rows.
//!
//! ```text
//!   Plan ── tables, by their numbers
//!    ├── frame: nodes, slots │ subqueries: frames of their own │ queries that are computed once
//!    └── action: give the rows │ lock them │ INSERT │ UPDATE │ DELETE │ MERGE
//! ```
//!
//! Invariants
//!   * a plan owns all that it has, and borrows nothing: sessions share it
//!   * a table is named by its number, an index by its identifier, never by a place (rule SQ31)
//!   * a node's columns are numbered from 0; an expression of a node reads those of its input
//!   * each node of the whole plan, those of subqueries too, has a number of its own
//!   * a plan is never changed: when what it rests on has changed, another one is made
//!
//! Callers: the planner makes plans; `run` and `change` run them; `explain` shows them.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use catalog::{Catalog, ObjectId};
use expression::{Expression, Kind};
use ids::ObjectNo;
use latch::Shared64;
use os::Session;
use relation::IndexId;
use rowsource::{
    AggregateCall, Cut, JoinPlan, KeyOrder, LoopPlan, SetKind, Side, SortKey,
};

use crate::bind::{HostCall, LockRows, MergeBranch, OnConflict, OutputColumn, Returning};
use crate::logical::{ScanColumn, VirtualScan};

/// A plan of a statement.
pub(crate) struct Plan {
    /// The tables whose rows it reads or changes, each once. Nodes name one by its place here.
    pub(crate) tables: Vec<ObjectNo>,
    /// The statement's frame.
    pub(crate) frame: Arc<PlanFrame>,
    /// What is done with its rows.
    pub(crate) action: Action,
    /// The columns of what the statement gives: of a query, or of RETURNING. Empty: nothing.
    pub(crate) columns: Vec<OutputColumn>,
    /// The kinds of its parameters; unknown for one that may be of any kind.
    pub(crate) binds: Vec<Kind>,
    /// How many nodes it has, those of subqueries too.
    pub(crate) nodes: usize,
    /// What it rests on.
    pub(crate) basis: Basis,
}

/// What a plan rests on.
pub(crate) struct Basis {
    /// The generation of the dictionary, read before the statement was bound.
    pub(crate) generation: u64,
    /// The objects that it read.
    pub(crate) objects: BTreeSet<ObjectId>,
    /// A later generation in which the plan was found to hold.
    checked: Shared64,
}

impl Basis {
    /// A plan rests on these objects, as they were in this generation.
    pub(crate) fn new(generation: u64, objects: BTreeSet<ObjectId>) -> Basis {
        Basis { generation, objects, checked: Shared64::new(generation) }
    }

    /// Whether none of the objects has changed since. Asked after the statement has its snapshot:
    /// so the plan holds for all that the snapshot sees (rule SQ30).
    #[inline]
    pub(crate) fn holds(&self, catalog: &Catalog, session: &Session) -> bool {
        let now = catalog.generation(session);
        now == self.checked.load(session) || self.holds_in(now, catalog, session)
    }

    #[cold]
    fn holds_in(&self, now: u64, catalog: &Catalog, session: &Session) -> bool {
        let is_as_before = |object: &ObjectId| {
            catalog.version(*object, session).is_some_and(|version| version <= self.generation)
        };
        let holds = self.objects.iter().all(is_as_before);
        if holds {
            self.checked.store(now, session);
        }
        holds
    }
}

/// What runs with slots of its own: the statement, or a subquery in an expression.
pub(crate) struct PlanFrame {
    /// Its rows.
    pub(crate) root: Node,
    /// The kinds of its slots: first the statement's parameters.
    pub(crate) slots: Vec<Kind>,
    /// Its subqueries, by the numbers that its expressions know them by.
    pub(crate) subqueries: Vec<SubPlan>,
    /// What its expressions ask of the connection, by place.
    pub(crate) calls: Vec<HostCall>,
    /// The queries that are computed once, by number. None: it was put where it is read.
    pub(crate) shared: Vec<Option<SharedPlan>>,
}

/// A subquery in an expression.
pub(crate) struct SubPlan {
    pub(crate) frame: Arc<PlanFrame>,
    /// The slots of its frame that the arguments of a question go into, in their order.
    pub(crate) arguments: Vec<usize>,
    /// Whether the same arguments give the same rows: it calls nothing volatile. Then answers are
    /// kept: all rows if it takes no arguments, else the answer to the last ones.
    pub(crate) is_repeatable: bool,
}

/// A query that is computed once.
pub(crate) struct SharedPlan {
    pub(crate) root: Node,
    /// How many nodes read it.
    pub(crate) readers: usize,
}

/// A node of a plan.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) operation: Operation,
    /// Its number among the nodes of the plan.
    pub(crate) place: usize,
    pub(crate) estimate: Estimate,
}

/// What the planner expects of a node, for one start of it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Estimate {
    /// The rows that it gives.
    pub(crate) rows: f64,
    /// The bytes of one of them.
    pub(crate) row_bytes: f64,
    /// The cost until it gives the first.
    pub(crate) cost_first: f64,
    /// The cost of all.
    pub(crate) cost: f64,
}

/// What a node does.
#[derive(Debug)]
pub(crate) enum Operation {
    /// The rows of a table.
    Scan(ScanNode),
    /// The rows of a virtual table.
    Virtual(VirtualScan),
    /// Rows of expressions without columns.
    Values { rows: Vec<Vec<Expression>>, width: usize },
    /// `generate_series`: first, last and step. A step that isn't given is 1.
    Series { arguments: Vec<Expression> },
    /// The rows of a query that is computed once.
    Shared { number: usize, width: usize },
    /// The rows for which the condition is true.
    Filter { input: Box<Node>, condition: Expression },
    /// A row of expressions for each row.
    Project { input: Box<Node>, expressions: Vec<Expression> },
    /// A join that starts the right side anew for each left row.
    NestedLoop { left: Box<Node>, right: Box<Node>, plan: LoopPlan },
    /// A join by a hash of the keys.
    HashJoin { left: Box<Node>, right: Box<Node>, plan: JoinPlan, build: Side },
    /// A join of two sides that are sorted by the keys.
    MergeJoin { left: Box<Node>, right: Box<Node>, plan: JoinPlan, orders: Vec<KeyOrder> },
    /// All rows in order.
    Sort { input: Box<Node>, keys: Vec<SortKey> },
    /// The first rows in order, as many as the `Limit` above with the same cut needs.
    Top { input: Box<Node>, keys: Vec<SortKey>, cut: Cut },
    /// A row for each group, by a hash of the columns `keys`; one row without keys.
    HashAggregate { input: Box<Node>, keys: Vec<usize>, calls: Vec<AggregateCall> },
    /// A row for each group; the input has the rows of a group together.
    SortedAggregate { input: Box<Node>, keys: Vec<usize>, calls: Vec<AggregateCall> },
    /// One row of each that are equal in these columns.
    Distinct { input: Box<Node>, columns: Vec<usize> },
    /// The first of each that are equal in these columns; the input has them together.
    Unique { input: Box<Node>, columns: Vec<usize> },
    /// INTERSECT and EXCEPT.
    SetOperation { kind: SetKind, left: Box<Node>, right: Box<Node> },
    /// One input after the other: UNION ALL.
    Append { inputs: Vec<Node> },
    /// Some of the rows.
    Limit { input: Box<Node>, cut: Cut },
    /// Rows that are kept for further starts. `depends`: the slots that they read and that change
    /// from start to start.
    Materialise { input: Box<Node>, depends: Vec<usize> },
}

/// The rows of a table.
#[derive(Debug)]
pub(crate) struct ScanNode {
    /// The table's place among those of the plan.
    pub(crate) table: usize,
    /// The way to its rows.
    pub(crate) access: Access,
    /// What is read of each row.
    pub(crate) columns: Vec<ScanColumn>,
    /// The conditions, over `columns`. They are evaluated when the columns have been copied out.
    pub(crate) filter: Vec<Expression>,
    /// The columns of the output are the first `width` of `columns`; the others are for the filter.
    pub(crate) width: usize,
}

/// The way to the rows of a table. Its expressions read slots alone, and are evaluated at each
/// start.
#[derive(Debug)]
pub(crate) enum Access {
    /// All rows, block by block.
    Full,
    /// The row with this key of a unique index: a value for each of its columns. NULL finds nothing.
    Unique { index: IndexId, key: Vec<Expression> },
    /// A range of an index.
    Range(RangeAccess),
    /// One range after the other: `equal`, and then one of the values of the list. The values are
    /// taken in the order of the index, and each once; NULL finds nothing.
    InList { index: IndexId, equal: Vec<KeyPart>, list: Vec<Expression>, keys_only: bool },
    /// The rows at these addresses: of a statement that has found them before.
    Address(Expression),
}

/// A range of an index.
#[derive(Debug)]
pub(crate) struct RangeAccess {
    pub(crate) index: IndexId,
    /// What the first columns are.
    pub(crate) equal: Vec<KeyPart>,
    /// The bounds of the next column. A bound that is NULL finds nothing.
    pub(crate) from: Bound<Expression>,
    pub(crate) to: Bound<Expression>,
    /// Whether it goes from the end of the index to its beginning.
    pub(crate) descending: bool,
    /// Whether the columns are taken from the keys, without a look at the rows. All of `columns`
    /// are columns of the index whose keys say them exactly (`Type::key_is_reversible`), or the
    /// address.
    pub(crate) keys_only: bool,
}

/// What a column of an index is.
#[derive(Clone, Debug)]
pub(crate) struct KeyPart {
    pub(crate) value: Expression,
    /// Whether NULL finds rows with NULL, as IS NULL and IS NOT DISTINCT FROM do. Else it finds
    /// none, as `=` does.
    pub(crate) null_is_equal: bool,
}

/// What a statement does with its rows.
pub(crate) enum Action {
    /// It gives them.
    Query,
    /// It locks rows of tables, and gives the rows when all are locked.
    Lock(LockAction),
    Insert(InsertAction),
    Update(UpdateAction),
    Delete(DeleteAction),
    Merge(MergeAction),
}

/// Rows that are locked.
pub(crate) struct LockAction {
    pub(crate) tables: Vec<LockedColumn>,
    pub(crate) if_held: LockRows,
    /// Of the rows that are locked; a row that is passed by doesn't count.
    pub(crate) cut: Cut,
    /// The columns of the output are the first `width` of the root's; then come the addresses.
    pub(crate) width: usize,
}

/// A table of which rows are locked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LockedColumn {
    /// The table's place among those of the plan.
    pub(crate) table: usize,
    /// The column of the root with the addresses.
    pub(crate) column: usize,
}

/// INSERT. The root has a column for each of the table, in the table's order.
pub(crate) struct InsertAction {
    pub(crate) table: usize,
    pub(crate) on_conflict: Option<OnConflict>,
    /// Over the columns of the row as the table holds it.
    pub(crate) returning: Option<Returning>,
    /// Whether the rows come from a query and not from VALUES.
    pub(crate) is_of_query: bool,
    /// Whether the hint APPEND asks for the direct path.
    pub(crate) appends: bool,
}

/// UPDATE. The first column of the root is the row's address, and behind it come the new values of
/// `columns`.
pub(crate) struct UpdateAction {
    pub(crate) table: usize,
    pub(crate) columns: Vec<usize>,
    /// Whether the root gives each row of the table once at most: no other table is joined. Where
    /// this isn't known it is false.
    pub(crate) each_once: bool,
    /// Over the root's row, in which the new values are as the table holds them.
    pub(crate) returning: Option<Returning>,
}

/// DELETE. The first column of the root is the row's address.
pub(crate) struct DeleteAction {
    pub(crate) table: usize,
    /// Over the root's row.
    pub(crate) returning: Option<Returning>,
}

/// MERGE. The root has the address of the table's row, or NULL; TRUE if there is a row of the
/// source, or NULL; and then the columns of both.
pub(crate) struct MergeAction {
    pub(crate) table: usize,
    pub(crate) branches: Vec<MergeBranch>,
    /// Over the root's row, with the table's columns as they are afterwards.
    pub(crate) returning: Option<Returning>,
    /// Of each column of the table, the number in the root's row, if it is there.
    pub(crate) target: Vec<Option<usize>>,
}

impl Node {
    /// A node.
    pub(crate) fn new(operation: Operation, place: usize, estimate: Estimate) -> Node {
        Node { operation, place, estimate }
    }

    /// The number of columns.
    pub(crate) fn width(&self) -> usize {
        match &self.operation {
            Operation::Scan(scan) => scan.width,
            Operation::Virtual(scan) => scan.columns.len(),
            Operation::Values { width, .. } | Operation::Shared { width, .. } => *width,
            Operation::Series { .. } => 1,
            Operation::Filter { input, .. }
            | Operation::Sort { input, .. }
            | Operation::Top { input, .. }
            | Operation::Distinct { input, .. }
            | Operation::Unique { input, .. }
            | Operation::Limit { input, .. }
            | Operation::Materialise { input, .. } => input.width(),
            Operation::Project { expressions, .. } => expressions.len(),
            Operation::NestedLoop { left, right, plan } => match plan.kind.gives_both() {
                true => left.width() + right.width(),
                false => left.width(),
            },
            Operation::HashJoin { left, right, plan, .. }
            | Operation::MergeJoin { left, right, plan, .. } => match plan.kind.gives_both() {
                true => left.width() + right.width(),
                false => left.width(),
            },
            Operation::HashAggregate { keys, calls, .. }
            | Operation::SortedAggregate { keys, calls, .. } => keys.len() + calls.len(),
            Operation::SetOperation { left, .. } => left.width(),
            Operation::Append { inputs } => inputs.first().map_or(0, Node::width),
        }
    }

    /// The inputs, left to right.
    pub(crate) fn inputs(&self) -> Vec<&Node> {
        match &self.operation {
            Operation::Scan(_)
            | Operation::Virtual(_)
            | Operation::Values { .. }
            | Operation::Series { .. }
            | Operation::Shared { .. } => Vec::new(),
            Operation::Filter { input, .. }
            | Operation::Project { input, .. }
            | Operation::Sort { input, .. }
            | Operation::Top { input, .. }
            | Operation::HashAggregate { input, .. }
            | Operation::SortedAggregate { input, .. }
            | Operation::Distinct { input, .. }
            | Operation::Unique { input, .. }
            | Operation::Limit { input, .. }
            | Operation::Materialise { input, .. } => vec![input],
            Operation::NestedLoop { left, right, .. }
            | Operation::HashJoin { left, right, .. }
            | Operation::MergeJoin { left, right, .. }
            | Operation::SetOperation { left, right, .. } => vec![left, right],
            Operation::Append { inputs } => inputs.iter().collect(),
        }
    }
}
