//! Plans of operations that are neither joins of several tables nor groups.
//!
//! Callers: `planner`.

use std::sync::Arc;

use expression::{Expression, Kind};
use rowsource::{LoopPlan, SetKind as SourceSet, SlotFrom};

use super::access::{Path, Target, all_of, tests};
use super::columns::{ColumnInfo, info_of, kind_of, row_bytes};
use super::cost::{self, Estimate};
use super::node::{Node, Operation};
use super::planner::{Planned, Planner, Wanted};
use super::selectivity;
use super::sorted::{Order, OrderKey, source_keys, wanted_of};
use crate::logical::{
    Logical, Scan, SetKind, SetOperation, SlotFrom as LogicalSlot, SortKey, Ties, is_volatile,
};

/// How many rows a series is taken to have.
const SERIES_ROWS: f64 = 1_000.0;

impl Planner<'_> {
    /// Plans a tree.
    pub(super) fn plan(&mut self, logical: &Logical, wanted: &Wanted) -> Planned {
        match logical {
            Logical::Scan(scan) => self.scan(scan, &[], wanted),
            Logical::Filter { input, conditions } => match &**input {
                Logical::Scan(scan) => self.scan(scan, conditions, wanted),
                input => self.filter(input, conditions, wanted),
            },
            Logical::Virtual(scan) => {
                let columns = scan.columns.iter().map(|place| {
                    ColumnInfo::computed(Kind::from(scan.table.columns()[*place].kind))
                });
                let rows = scan.table.rows_expected();
                let operation = Operation::Virtual {
                    table: Arc::clone(&scan.table),
                    columns: scan.columns.clone(),
                    filter: None,
                };
                let estimate = Estimate { rows, first: 1.0, all: rows };
                Planned::straight(node(operation, columns.collect(), estimate), Order::none())
            }
            Logical::Nothing { width } => self.values(&Arc::from([]), *width),
            Logical::Values { rows, width } => self.values(rows, *width),
            Logical::Series { arguments } => {
                let columns = vec![info_of(&arguments[0], &[], &self.slots)];
                let operation = Operation::Series { arguments: arguments.clone() };
                let estimate = Estimate::of_rows(SERIES_ROWS);
                Planned::straight(node(operation, columns, estimate), Order::none())
            }
            Logical::Shared { number, .. } => {
                let info = self.shared[*number].clone();
                let estimate = Estimate::of_rows(info.rows);
                let operation = Operation::Shared { number: *number };
                Planned::straight(node(operation, info.columns, estimate), Order::none())
            }
            Logical::Project { input, expressions } => self.projection(input, expressions, wanted),
            Logical::Join(join) => self.join_tree(join, wanted),
            Logical::Apply { left, right, is_outer, slots, on } => {
                self.apply(left, right, *is_outer, slots, on, wanted)
            }
            Logical::Aggregate { input, groups, aggregates } => {
                self.aggregate(input, groups, aggregates)
            }
            Logical::Distinct { input } => self.distinct(input),
            Logical::DistinctOn { input, columns } => {
                let planned = self.plan(input, &Wanted::default());
                let keys = planned.places[..*columns].to_vec();
                self.unique(planned, keys)
            }
            Logical::Set(set) => self.set(set),
            Logical::Sort { input, keys } => self.sort(input, keys, None, wanted.rows),
            Logical::Limit { input, limit, offset } => {
                self.limit(input, limit.as_ref(), offset.as_ref())
            }
            Logical::Ties(ties) => self.ties(ties),
        }
    }

    /// Rows that are written out.
    fn values(&self, rows: &Arc<[Vec<Expression>]>, width: usize) -> Planned {
        // A NULL says nothing of its column's kind: another row does.
        let column = |place: usize| {
            let kinds = rows.iter().map(|row| kind_of(&row[place], &[], &self.slots));
            let kind = kinds.fold(Kind::Unknown, |a, b| a.with(b).unwrap_or(a));
            ColumnInfo::computed(kind)
        };
        let columns = (0..width).map(column).collect();
        let estimate = Estimate::of_rows(rows.len() as f64);
        let operation = Operation::Values { rows: Arc::clone(rows), width };
        Planned::straight(node(operation, columns, estimate), Order::none())
    }

    /// The best path to the rows of a table.
    fn scan(&mut self, scan: &Scan, conditions: &[Expression], wanted: &Wanted) -> Planned {
        let target = Target::new(scan, conditions);
        let paths = self.paths(&target);
        let bytes = row_bytes(&target.columns);
        let memory = self.surroundings.memory_bytes;
        let cost =
            |path: &Path| match wanted.order.is_empty() || path.order.satisfies(&wanted.order) {
                true => path.estimate.cost(wanted.rows),
                false => {
                    let rows = path.estimate.rows;
                    path.estimate.all + cost::sort(rows, bytes, memory, wanted.rows)
                }
            };
        let best = paths.into_iter().min_by(|a, b| cost(a).total_cmp(&cost(b)));
        let best = best.expect("a scan is always possible");
        let operation = self.operation(&target, &best);
        Planned::straight(node(operation, target.columns, best.estimate), best.order)
    }

    /// Conditions on rows that aren't a table's.
    fn filter(&mut self, input: &Logical, conditions: &[Expression], wanted: &Wanted) -> Planned {
        let Planned { node: input, places, order } = self.plan(input, wanted);
        let over = |one: &Expression| {
            let mut one = one.clone();
            one.remap(&|column| places[column]);
            one
        };
        let conditions: Vec<Expression> = conditions.iter().map(over).collect();
        let node = self.filtered(input, conditions);
        Planned { node, places, order }
    }

    /// A node with conditions on its rows.
    pub(super) fn filtered(&mut self, input: Node, conditions: Vec<Expression>) -> Node {
        let part = selectivity::of_all(&conditions, &input.columns);
        let rows = (input.estimate.rows * part).max(1.0);
        let estimate = input.estimate.then(tests(&conditions), rows);
        let columns = input.columns.clone();
        match all_of(conditions) {
            None => input,
            Some(condition) => {
                let operation = Operation::Filter { input: Box::new(input), condition };
                node(operation, columns, estimate)
            }
        }
    }

    /// A row of expressions for each row. Plain columns are no work: they are where they were.
    fn projection(
        &mut self,
        input: &Logical,
        expressions: &[Expression],
        wanted: &Wanted,
    ) -> Planned {
        let below = |key: &OrderKey| match &expressions[key.column] {
            Expression::Column(column) => Some(OrderKey { column: *column, ..*key }),
            _ => None,
        };
        let order: Option<Vec<_>> = wanted.order.iter().map(below).collect();
        let wanted = Wanted { order: order.unwrap_or_default(), rows: wanted.rows };
        let planned = self.plan(input, &wanted);
        let is_column = |one: &Expression| matches!(one, Expression::Column(_));
        if expressions.iter().all(is_column) {
            let place = |one: &Expression| match one {
                Expression::Column(column) => planned.places[*column],
                _ => unreachable!("all are columns"),
            };
            let places = expressions.iter().map(place).collect();
            return Planned { places, ..planned };
        }
        let made = planned.all_over(expressions);
        let place = |column: usize| made.iter().position(|one| *one == Expression::Column(column));
        let order = planned.order.over(&place);
        Planned::straight(self.project(planned.node, made), order)
    }

    /// A node with expressions over its rows.
    pub(super) fn project(&mut self, input: Node, expressions: Vec<Expression>) -> Node {
        let columns = expressions.iter().map(|one| info_of(one, &input.columns, &self.slots));
        let columns = columns.collect();
        let each = tests(&expressions) + expressions.len() as f64 * cost::VALUE;
        let estimate = input.estimate.then(each, input.estimate.rows);
        let operation = Operation::Project { input: Box::new(input), expressions };
        node(operation, columns, estimate)
    }

    /// A node with more columns behind its own.
    pub(super) fn with_columns(&mut self, input: Node, more: Vec<Expression>) -> Node {
        let own = (0..input.width()).map(Expression::Column);
        let expressions = own.chain(more).collect();
        self.project(input, expressions)
    }

    /// Rows in order; with `cut` some of them.
    fn sort(
        &mut self,
        input: &Logical,
        keys: &[SortKey],
        cut: Option<rowsource::Cut>,
        rows: Option<f64>,
    ) -> Planned {
        let Keyed { planned, keys } = self.keyed(input, keys, rows);
        if planned.order.satisfies(&keys) {
            return match cut {
                None => planned,
                Some(cut) => Planned { node: limited(planned.node, cut, None, rows), ..planned },
            };
        }
        let Planned { node: input, places, .. } = planned;
        let node = self.sorted(input, &keys, cut, rows);
        let order = Order { keys, constant: Vec::new() };
        Planned { node, places, order }
    }

    /// Rows that are to be in order, with a column for each part of it.
    fn keyed(&mut self, input: &Logical, keys: &[SortKey], rows: Option<f64>) -> Keyed {
        let wanted_keys = wanted_of(keys);
        let wanted = Wanted { order: wanted_keys.clone().unwrap_or_default(), rows };
        let mut planned = self.plan(input, &wanted);
        let keys = match wanted_keys {
            Some(keys) => planned.keys_over(&keys),
            None => {
                let width = planned.node.width();
                let values: Vec<Expression> =
                    keys.iter().map(|key| planned.over(&key.value)).collect();
                planned.node = self.with_columns(planned.node, values);
                let key = |(number, key): (usize, &SortKey)| OrderKey {
                    column: width + number,
                    descending: key.descending,
                    nulls_first: key.nulls_first,
                    no_nulls: false,
                };
                keys.iter().enumerate().map(key).collect()
            }
        };
        Keyed { planned, keys }
    }

    /// A node with its rows in order.
    pub(super) fn sorted(
        &mut self,
        input: Node,
        keys: &[OrderKey],
        cut: Option<rowsource::Cut>,
        rows: Option<f64>,
    ) -> Node {
        let bytes = row_bytes(&input.columns);
        let wanted = rows.filter(|_| cut.is_some());
        let memory = self.surroundings.memory_bytes;
        let Estimate { rows: count, all, .. } = input.estimate;
        let first = all + cost::sort(count, bytes, memory, wanted);
        let given = wanted.unwrap_or(count).min(count);
        let estimate = Estimate { rows: given, first, all: first + given * cost::VALUE };
        let keys = source_keys(keys, &input.columns);
        let columns = input.columns.clone();
        node(Operation::Sort { input: Box::new(input), keys, cut }, columns, estimate)
    }

    /// Some of the rows. The first rows of an order are sorted by themselves.
    fn limit(
        &mut self,
        input: &Logical,
        limit: Option<&Expression>,
        offset: Option<&Expression>,
    ) -> Planned {
        let rows = rows_of(limit, offset);
        let cut = rowsource::Cut { offset: offset.cloned(), count: limit.cloned() };
        // A cut is read by the sort and by the limit above it: both have to read the same.
        let is_fixed = !limit.into_iter().chain(offset).any(is_volatile);
        match input {
            Logical::Sort { input, keys } if is_fixed => self.sort(input, keys, Some(cut), rows),
            input => {
                let planned = self.plan(input, &Wanted { order: Vec::new(), rows });
                Planned { node: limited(planned.node, cut, None, rows), ..planned }
            }
        }
    }

    /// The first rows of an order, and those that are equal to the last of them in it. How many
    /// these are isn't known before they have come, so all rows are sorted.
    fn ties(&mut self, ties: &Ties) -> Planned {
        let Ties { input, keys, limit, offset } = ties;
        let rows = rows_of(limit.as_ref(), offset.as_ref());
        let Keyed { planned, keys } = self.keyed(input, keys, rows);
        let columns = keys.iter().map(|key| key.column).collect();
        let Planned { node, places, order } = planned;
        let sorted = match order.satisfies(&keys) {
            true => Planned { node, places, order },
            false => {
                let node = self.sorted(node, &keys, None, None);
                Planned { node, places, order: Order { keys, constant: Vec::new() } }
            }
        };
        let cut = rowsource::Cut { offset: offset.clone(), count: limit.clone() };
        Planned { node: limited(sorted.node, cut, Some(columns), rows), ..sorted }
    }

    /// The right side for each row of the left one.
    fn apply(
        &mut self,
        left: &Logical,
        right: &Logical,
        is_outer: bool,
        slots: &[LogicalSlot],
        on: &[Expression],
        wanted: &Wanted,
    ) -> Planned {
        let width = left.width();
        let is_left = |key: &OrderKey| key.column < width;
        let order = match wanted.order.iter().all(is_left) {
            true => wanted.order.clone(),
            false => Vec::new(),
        };
        let mut left = self.plan(left, &Wanted::order(order));
        let from = self.slot_columns(&mut left, slots);
        let right = self.plan(right, &Wanted::default());
        let left_width = left.node.width();
        let mut columns = left.node.columns.clone();
        columns.extend(right.node.columns.iter().cloned());
        let place = |column: usize| match column.checked_sub(width) {
            None => left.places[column],
            Some(column) => left_width + right.places[column],
        };
        let mut on = on.to_vec();
        on.iter_mut().for_each(|one| one.remap(&place));
        let part = selectivity::of_all(&on, &columns);
        let (outer, inner) = (left.node.estimate, right.node.estimate);
        let least = if is_outer { outer.rows } else { 1.0 };
        let rows = (outer.rows * inner.rows * part).max(least);
        let all = outer.all + outer.rows * (inner.all + cost::RESTART) + rows * tests(&on);
        let estimate = Estimate { rows, first: outer.first + inner.first, all };
        let places = (0..width + right.places.len()).map(place).collect();
        let kind = match is_outer {
            true => rowsource::JoinKind::Left,
            false => rowsource::JoinKind::Inner,
        };
        let plan = LoopPlan { kind, slots: from, condition: all_of(on) };
        let operation =
            Operation::NestedLoop { left: Box::new(left.node), right: Box::new(right.node), plan };
        Planned { node: node(operation, columns, estimate), places, order: left.order }
    }

    /// Which columns of a left side go into slots; what isn't a column becomes one.
    fn slot_columns(&mut self, left: &mut Planned, slots: &[LogicalSlot]) -> Vec<SlotFrom> {
        let mut more = Vec::new();
        let width = left.node.width();
        let mut from = Vec::with_capacity(slots.len());
        for slot in slots {
            let column = match left.over(&slot.value) {
                Expression::Column(column) => column,
                value => {
                    more.push(value);
                    width + more.len() - 1
                }
            };
            from.push(SlotFrom { column, slot: slot.slot });
        }
        if !more.is_empty() {
            let taken = std::mem::replace(&mut left.node, nothing());
            left.node = self.with_columns(taken, more);
        }
        from
    }

    /// UNION, INTERSECT, EXCEPT.
    fn set(&mut self, set: &SetOperation) -> Planned {
        let SetOperation { kind, all, left, right } = set;
        let kind = match (kind, all) {
            (SetKind::Union, _) => {
                let mut inputs = Vec::new();
                self.union_inputs(set, &mut inputs);
                let rows = inputs.iter().map(|input: &Node| input.estimate.rows).sum();
                let cost = inputs.iter().map(|input| input.estimate.all).sum();
                let first = inputs.first().map_or(0.0, |input| input.estimate.first);
                let estimate = Estimate { rows, first, all: cost };
                let columns = unified(&inputs);
                let node = node(Operation::Append { inputs }, columns, estimate);
                let planned = Planned::straight(node, Order::none());
                return if *all { planned } else { self.distinct_of(planned) };
            }
            (SetKind::Intersect, false) => SourceSet::Intersect,
            (SetKind::Intersect, true) => SourceSet::IntersectAll,
            (SetKind::Except, false) => SourceSet::Except,
            (SetKind::Except, true) => SourceSet::ExceptAll,
        };
        let left = self.straight(left, &Wanted::default());
        let right = self.straight(right, &Wanted::default());
        let (a, b) = (left.estimate, right.estimate);
        let cost = a.all + b.all + (a.rows + b.rows) * cost::HASH_PUT;
        let rows = match kind {
            SourceSet::Intersect | SourceSet::IntersectAll => (a.rows.min(b.rows) / 2.0).max(1.0),
            SourceSet::Except | SourceSet::ExceptAll => (a.rows / 2.0).max(1.0),
        };
        let columns = left.columns.clone();
        let estimate = Estimate { rows, first: cost, all: cost };
        let (left, right) = (Box::new(left), Box::new(right));
        let node = node(Operation::Set { kind, left, right }, columns, estimate);
        Planned::straight(node, Order::none())
    }

    /// The inputs of a chain of UNIONs that are all ALL, or below one that isn't.
    fn union_inputs(&mut self, set: &SetOperation, inputs: &mut Vec<Node>) {
        for side in [&set.left, &set.right] {
            match &**side {
                Logical::Set(inner) if inner.kind == SetKind::Union && (inner.all || !set.all) => {
                    self.union_inputs(inner, inputs);
                }
                other => inputs.push(self.straight(other, &Wanted::default())),
            }
        }
    }
}

/// A node that gets its number later.
pub(super) fn node(operation: Operation, columns: Vec<ColumnInfo>, estimate: Estimate) -> Node {
    Node { place: 0, operation, columns, estimate }
}

/// In place of a node that was taken out: no rows, and no memory.
pub(super) fn nothing() -> Node {
    let operation = Operation::Append { inputs: Vec::new() };
    node(operation, Vec::new(), Estimate::of_rows(0.0))
}

/// Rows that are to be in order.
struct Keyed {
    planned: Planned,
    /// The order, by columns of the plan's node.
    keys: Vec<OrderKey>,
}

/// About how many rows are fetched for a limit and an offset.
fn rows_of(limit: Option<&Expression>, offset: Option<&Expression>) -> Option<f64> {
    let known = |count: Option<&Expression>| match count.map(Expression::constant) {
        Some(Some(value::Value::Int(count))) => Some((count as f64).max(0.0)),
        _ => None,
    };
    // A number that isn't known is taken to be small: it is for a page of a screen.
    limit.map(|_| known(limit).unwrap_or(20.0) + known(offset).unwrap_or(0.0))
}

/// A node of which some rows are given; with `ties` also those that are equal in these columns.
fn limited(input: Node, cut: rowsource::Cut, ties: Option<Vec<usize>>, rows: Option<f64>) -> Node {
    let own = input.estimate;
    let given = rows.unwrap_or(own.rows).min(own.rows);
    let estimate = Estimate { rows: given, first: own.first, all: own.cost(Some(given)) };
    let columns = input.columns.clone();
    node(Operation::Limit { input: Box::new(input), cut, ties }, columns, estimate)
}

/// What is known of the columns of several inputs together: their kinds.
fn unified(inputs: &[Node]) -> Vec<ColumnInfo> {
    let Some(first) = inputs.first() else { return Vec::new() };
    let kind = |place: usize| {
        let kinds = inputs.iter().map(|input| input.columns[place].kind);
        kinds.fold(Kind::Unknown, |a, b| a.with(b).unwrap_or(a))
    };
    (0..first.width()).map(|place| ColumnInfo::computed(kind(place))).collect()
}
