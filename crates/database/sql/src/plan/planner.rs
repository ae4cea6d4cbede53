//! What plans a frame: what it knows of the surroundings, and what it collects.
//!
//! Callers: `statement`; itself, for subqueries.

use std::collections::BTreeSet;

use expression::{Expression, Kind};
use ids::ObjectNo;

use super::columns::ColumnInfo;
use super::node::{FramePlan, Node, SubqueryPlan};
use super::sorted::{Order, OrderKey};
use super::statement::asked_by;
use crate::logical::{FrameParts, Logical, host_call_of};
use crate::rewrite::rewrite;

/// Which methods a session wants. The others are taken only where there is no other way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Methods {
    pub(crate) table_scan: bool,
    pub(crate) index_scan: bool,
    pub(crate) nested_loop: bool,
    pub(crate) hash_join: bool,
    pub(crate) merge_join: bool,
    pub(crate) hash_aggregate: bool,
}

impl Default for Methods {
    fn default() -> Methods {
        Methods {
            table_scan: true,
            index_scan: true,
            nested_loop: true,
            hash_join: true,
            merge_join: true,
            hash_aggregate: true,
        }
    }
}

/// What plans depend on beside the statement and its tables.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Surroundings {
    /// The number of buffers of the cache.
    pub(crate) cache_blocks: f64,
    /// The memory of one sort or hash, in bytes.
    pub(crate) memory_bytes: f64,
    pub(crate) methods: Methods,
}

/// Plans the frames of a statement.
pub(crate) struct Planner<'a> {
    pub(super) surroundings: Surroundings,
    /// The tables of the statement, by place.
    tables: &'a mut Vec<ObjectNo>,
    /// The number of the statement's parameters, which are the first slots.
    pub(super) binds: usize,
    /// The kinds of the slots of the frame; joins add some.
    pub(super) slots: Vec<Kind>,
    /// The shared queries of the frame: what is known of their columns, and how many rows they
    /// have.
    pub(super) shared: Vec<SharedInfo>,
    /// How many second ways may be tried yet.
    tries: usize,
}

/// How many times a part of a frame is planned in a second way, to take the better: parts lie
/// within one another, so without a bound each level of them would double the work.
const TRIES_MAX: usize = 100;

/// What is known of a query that is computed once.
#[derive(Clone, Debug)]
pub(super) struct SharedInfo {
    pub(super) columns: Vec<ColumnInfo>,
    pub(super) rows: f64,
}

/// A node with where the columns of what it was planned for are.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) node: Node,
    /// For each column of the logical node its number in the plan's.
    pub(super) places: Vec<usize>,
    /// The order of its rows, by columns of the plan's node.
    pub(super) order: Order,
}

impl Planned {
    /// A node whose columns are those that it was planned for.
    pub(super) fn straight(node: Node, order: Order) -> Planned {
        let places = (0..node.width()).collect();
        Planned { node, places, order }
    }

    /// An expression over the plan's columns.
    pub(super) fn over(&self, expression: &Expression) -> Expression {
        let mut expression = expression.clone();
        expression.remap(&|column| self.places[column]);
        expression
    }

    /// Expressions over the plan's columns.
    pub(super) fn all_over(&self, expressions: &[Expression]) -> Vec<Expression> {
        expressions.iter().map(|one| self.over(one)).collect()
    }

    /// The wanted order over the plan's columns.
    pub(super) fn keys_over(&self, keys: &[OrderKey]) -> Vec<OrderKey> {
        keys.iter().map(|key| OrderKey { column: self.places[key.column], ..*key }).collect()
    }
}

/// What is wanted of a node beside its rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    /// The order of its rows, by columns of the logical node; empty: any.
    pub(super) order: Vec<OrderKey>,
    /// About how many rows are fetched; none: all.
    pub(super) rows: Option<f64>,
}

impl Wanted {
    /// All rows, in this order.
    pub(super) fn order(order: Vec<OrderKey>) -> Wanted {
        Wanted { order, rows: None }
    }
}

/// Plans a statement's frame, in which these expressions are evaluated too. The plan's columns are
/// those of the tree, in their order.
pub(super) fn plan_frame(
    logical: Logical,
    mut frame: FrameParts,
    beside: &[Expression],
    surroundings: Surroundings,
    tables: &mut Vec<ObjectNo>,
) -> FramePlan {
    let logical = rewrite(logical, &mut frame);
    let asked = asked_by(beside);
    let mut plan = plan_rewritten(logical, frame, asked, surroundings, tables);
    let mut next = 0;
    number(&mut plan, &mut next);
    plan
}

/// Plans a frame whose tree is rewritten already. These subqueries are asked by others than the
/// tree.
fn plan_rewritten(
    logical: Logical,
    frame: FrameParts,
    asked: BTreeSet<usize>,
    surroundings: Surroundings,
    tables: &mut Vec<ObjectNo>,
) -> FramePlan {
    let used = Used::of(&logical, &frame, asked);
    let mut planner = Planner {
        surroundings,
        tables: &mut *tables,
        binds: frame.binds,
        slots: frame.slots.clone(),
        shared: Vec::new(),
        tries: TRIES_MAX,
    };
    let mut shared = Vec::with_capacity(frame.shared.len());
    for (number, query) in frame.shared.iter().enumerate() {
        let planned = planner.straight(&query.logical, &Wanted::default());
        let (columns, rows) = (planned.columns.clone(), planned.estimate.rows);
        planner.shared.push(SharedInfo { columns, rows });
        shared.push(used.shared.contains(&number).then_some(planned));
    }
    let root = planner.straight(&logical, &Wanted::default());
    let slots = planner.slots;
    let mut subqueries = Vec::with_capacity(frame.subqueries.len());
    for (number, subplan) in frame.subqueries.into_iter().enumerate() {
        subqueries.push(used.subqueries.contains(&number).then(|| SubqueryPlan {
            frame: plan_rewritten(
                subplan.logical,
                subplan.frame,
                BTreeSet::new(),
                surroundings,
                tables,
            ),
            arguments: subplan.arguments,
        }));
    }
    FramePlan { root, binds: frame.binds, slots, subqueries, calls: frame.calls, shared }
}

/// What of a frame is asked and read.
struct Used {
    subqueries: BTreeSet<usize>,
    shared: BTreeSet<usize>,
}

impl Used {
    fn of(logical: &Logical, frame: &FrameParts, asked: BTreeSet<usize>) -> Used {
        let mut used = Used { subqueries: asked, shared: BTreeSet::new() };
        used.add(logical);
        // A shared query is read by those behind it.
        for number in (0..frame.shared.len()).rev() {
            if used.shared.contains(&number) {
                used.add(&frame.shared[number].logical);
            }
        }
        used
    }

    fn add(&mut self, logical: &Logical) {
        if let Logical::Shared { number, .. } = logical {
            self.shared.insert(*number);
        }
        logical.each_expression(&mut |one| {
            one.walk(&mut |part| {
                if let Expression::Subquery(subquery) = part
                    && host_call_of(subquery.number).is_none()
                {
                    self.subqueries.insert(subquery.number);
                }
            });
        });
        logical.inputs().for_each(|input| self.add(input));
    }
}

impl Planner<'_> {
    /// The place of a table among those of the statement.
    pub(super) fn table(&mut self, object: ObjectNo) -> usize {
        self.tables.iter().position(|one| *one == object).unwrap_or_else(|| {
            self.tables.push(object);
            self.tables.len() - 1
        })
    }

    /// A new slot, for a value of a left row.
    pub(super) fn slot(&mut self, kind: Kind) -> usize {
        self.slots.push(kind);
        self.slots.len() - 1
    }

    /// Whether a part may be planned in a second way.
    pub(super) fn may_try(&mut self) -> bool {
        let may = self.tries > 0;
        self.tries = self.tries.saturating_sub(1);
        may
    }

    /// A node whose columns are exactly those of the tree.
    pub(super) fn straight(&mut self, logical: &Logical, wanted: &Wanted) -> Node {
        let planned = self.plan(logical, wanted);
        let is_straight = planned.node.width() == planned.places.len()
            && planned.places.iter().enumerate().all(|(number, place)| number == *place);
        if is_straight {
            return planned.node;
        }
        let expressions = planned.places.iter().map(|place| Expression::Column(*place)).collect();
        self.project(planned.node, expressions)
    }
}

/// Numbers the nodes of a plan, each before its inputs, and those of its subqueries behind.
fn number(plan: &mut FramePlan, next: &mut usize) {
    number_node(&mut plan.root, next);
    for shared in plan.shared.iter_mut().flatten() {
        number_node(shared, next);
    }
    for subquery in plan.subqueries.iter_mut().flatten() {
        number(&mut subquery.frame, next);
    }
}

fn number_node(node: &mut Node, next: &mut usize) {
    node.place = *next;
    *next += 1;
    for input in node.inputs_mut() {
        number_node(input, next);
    }
}
