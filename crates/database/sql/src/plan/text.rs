//! A plan as lines: for EXPLAIN, for views, for tests, and for the hash of the plan.
//!
//! ```text
//!   Hash join                          a line for each node, those it reads from below it
//!     On: emp.dept = dept.id           what it does, in details
//!     Scan of emp
//!     Scan of dept
//!       Filter: dept.name = 'x'
//! ```
//!
//! Callers: `explain`; `fingerprint`.

use std::collections::BTreeMap;
use std::ops::Bound;

use expression::Expression;
use rowsource::{
    AggregateCall, CallKey, CallKeyValue, Cut, JoinKind, JoinPlan, SetKind, Side, SortKey,
};
use value::{Direction, NullOrdering};

use super::columns::row_bytes;
use super::cost::Estimate;
use super::node::{FramePlan, IndexScan, KeyPart, Node, Operation, Search};
use crate::show::{Named, values_text};

/// A line of a plan.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PlanLine {
    /// The number of the node in the plan; none for a heading.
    pub(crate) place: Option<usize>,
    /// How far in it stands.
    pub(crate) depth: usize,
    /// The operation, such as `Index range scan`.
    pub(crate) operation: String,
    /// What it reads: the name of a table and of an index.
    pub(crate) object: Option<String>,
    /// What it does in detail.
    pub(crate) details: Vec<Detail>,
    /// What is expected of it; none for a heading.
    pub(crate) estimate: Option<Estimate>,
    /// The bytes of a row.
    pub(crate) row_bytes: f64,
}

/// A detail of an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Detail {
    /// What it is about, such as `Filter`.
    pub(crate) about: &'static str,
    pub(crate) text: String,
}

/// The lines of a plan, those of its subqueries behind.
pub(crate) fn lines(plan: &FramePlan) -> Vec<PlanLine> {
    let mut lines = Vec::new();
    add_frame(plan, 0, &mut lines);
    lines
}

fn add_frame(plan: &FramePlan, depth: usize, lines: &mut Vec<PlanLine>) {
    add_node(&plan.root, depth, lines);
    for (number, shared) in plan.shared.iter().enumerate() {
        if let Some(shared) = shared {
            lines.push(heading(depth, format!("Query {} of WITH, computed once", number + 1)));
            add_node(shared, depth + 1, lines);
        }
    }
    for (number, subquery) in plan.subqueries.iter().enumerate() {
        if let Some(subquery) = subquery {
            lines.push(heading(depth, format!("Subquery {}", number + 1)));
            add_frame(&subquery.frame, depth + 1, lines);
        }
    }
}

fn heading(depth: usize, operation: String) -> PlanLine {
    let (place, object, estimate) = (None, None, None);
    PlanLine { place, depth, operation, object, details: Vec::new(), estimate, row_bytes: 0.0 }
}

fn add_node(node: &Node, depth: usize, lines: &mut Vec<PlanLine>) {
    let mut line = PlanLine {
        place: Some(node.place),
        estimate: Some(node.estimate),
        row_bytes: row_bytes(&node.columns),
        ..heading(depth, name_of(&node.operation))
    };
    describe(node, &mut line);
    lines.push(line);
    for input in node.inputs() {
        add_node(input, depth + 1, lines);
    }
}

/// The name of an operation.
fn name_of(operation: &Operation) -> String {
    match operation {
        Operation::Scan(_) => "Table scan".into(),
        Operation::Index(index) => index_name(index),
        Operation::Virtual { .. } => "Rows that aren't stored".into(),
        Operation::Values { .. } => "Values".into(),
        Operation::Series { .. } => "Series".into(),
        Operation::Shared { number } => format!("Rows of query {} of WITH", number + 1),
        Operation::Filter { .. } => "Filter".into(),
        Operation::Project { .. } => "Project".into(),
        Operation::Limit { .. } => "Limit".into(),
        Operation::Sort { cut: Some(_), .. } => "Sort, first rows".into(),
        Operation::Sort { .. } => "Sort".into(),
        Operation::Distinct { .. } => "Distinct by hash".into(),
        Operation::Unique { .. } => "Distinct by order".into(),
        Operation::Append { .. } => "Append".into(),
        Operation::Set { kind, .. } => match kind {
            SetKind::Intersect => "Intersect".into(),
            SetKind::IntersectAll => "Intersect all".into(),
            SetKind::Except => "Except".into(),
            SetKind::ExceptAll => "Except all".into(),
        },
        Operation::HashAggregate { .. } => "Groups by hash".into(),
        Operation::SortedAggregate { keys, .. } if keys.is_empty() => "Aggregate".into(),
        Operation::SortedAggregate { .. } => "Groups by order".into(),
        Operation::HashJoin { plan, .. } => format!("Hash {}", join_name(plan.kind)),
        Operation::MergeJoin { plan, .. } => format!("Merge {}", join_name(plan.kind)),
        Operation::NestedLoop { plan, .. } => format!("Nested loop {}", join_name(plan.kind)),
        Operation::Materialise { .. } => "Kept rows".into(),
    }
}

fn index_name(index: &IndexScan) -> String {
    let IndexScan { search, only, is_unique, .. } = index;
    let is_all = search.equal.is_empty() && !search.is_bounded() && !search.not_null;
    let what = match (is_unique, is_all, search.is_one_range()) {
        (true, ..) => "Index lookup",
        (_, true, _) => "Full index scan",
        (_, _, true) => "Index range scan",
        (_, _, false) => "Index range scans",
    };
    let only = if only.is_some() { ", index alone" } else { "" };
    format!("{what}{only}")
}

fn join_name(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "join",
        JoinKind::Left => "left join",
        JoinKind::Right => "right join",
        JoinKind::Full => "full join",
        JoinKind::Semi => "semi join",
        JoinKind::Anti => "anti join",
        JoinKind::NotIn => "anti join (NOT IN)",
    }
}

/// The names of the columns of nodes, one node behind the other. A column without a name is `#` and
/// its number from 1; one of several of a name has its number behind that.
fn names(nodes: &[&Node]) -> Vec<String> {
    let columns = nodes.iter().flat_map(|node| &node.columns);
    let own: Vec<Option<String>> = columns.map(|column| column.name()).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in own.iter().flatten() {
        *counts.entry(name).or_default() += 1;
    }
    let name = |(place, name): (usize, &Option<String>)| match name.as_deref() {
        None => format!("#{}", place + 1),
        Some(name) if counts[name] > 1 => format!("{name} #{}", place + 1),
        Some(name) => name.to_string(),
    };
    own.iter().enumerate().map(name).collect()
}

/// Adds what an operation reads and what it does.
fn describe(node: &Node, line: &mut PlanLine) {
    let own = names(&[node]);
    let mut detail = |about: &'static str, text: String| line.details.push(Detail { about, text });
    match &node.operation {
        Operation::Scan(scan) => {
            if let Some(filter) = &scan.filter {
                detail("Filter", shown(filter, &own));
            }
            line.object = Some(scan.alias.to_string());
        }
        Operation::Index(index) => {
            let search = search_text(&index.search, &index.keys());
            if !search.is_empty() {
                detail("Search", search);
            }
            if index.direction == access::Direction::Descending {
                detail("Order", "descending".into());
            }
            if let Some(filter) = &index.scan.filter {
                detail("Filter", shown(filter, &own));
            }
            line.object = Some(format!("{} by {}", index.scan.alias, index.name()));
        }
        Operation::Virtual { table, filter, .. } => {
            if let Some(filter) = filter {
                detail("Filter", shown(filter, &own));
            }
            line.object = Some(table.name().to_string());
        }
        Operation::Values { rows, .. } => detail("Rows written", rows.len().to_string()),
        Operation::Filter { condition, .. } => detail("Condition", shown(condition, &own)),
        Operation::Project { input, expressions } => {
            detail("Columns", listed(expressions, &names(&[input])));
        }
        Operation::Limit { cut, ties, .. } => {
            describe_cut(cut, &mut detail);
            ties.iter().for_each(|ties| detail("With ties", columns_text(ties, &own)));
        }
        Operation::Sort { keys, cut, .. } => {
            detail("By", keys_text(keys, &own));
            cut.iter().for_each(|cut| describe_cut(cut, &mut detail));
        }
        Operation::Series { arguments } => detail("Of", listed(arguments, &[])),
        other => describe_more(other, &mut detail),
    }
}

/// Adds what groups and joins do.
fn describe_more(operation: &Operation, detail: &mut dyn FnMut(&'static str, String)) {
    match operation {
        Operation::HashAggregate { input, keys, calls }
        | Operation::SortedAggregate { input, keys, calls } => {
            let names = names(&[input]);
            if !keys.is_empty() {
                detail("By", columns_text(keys, &names));
            }
            if !calls.is_empty() {
                detail("Computes", calls_text(calls, &names));
            }
        }
        Operation::HashJoin { left, right, plan, build } => {
            describe_join(plan, [left, right], detail);
            let side = if *build == Side::Left { "the first input" } else { "the second input" };
            detail("Table of", side.into());
        }
        Operation::MergeJoin { left, right, plan, .. } => {
            describe_join(plan, [left, right], detail);
        }
        Operation::NestedLoop { left, right, plan } => {
            if let Some(condition) = &plan.condition {
                detail("Condition", shown(condition, &names(&[left, right])));
            }
            if !plan.slots.is_empty() {
                let names = names(&[left]);
                let slots = plan.slots.iter();
                let each = slots.map(|of| format!("${} = {}", of.slot + 1, names[of.column]));
                detail("Gives", each.collect::<Vec<_>>().join(", "));
            }
        }
        _ => {}
    }
}

fn describe_join(
    plan: &JoinPlan,
    [left, right]: [&Node; 2],
    detail: &mut dyn FnMut(&'static str, String),
) {
    let (all, width) = (names(&[left, right]), left.columns.len());
    let key = |key: &rowsource::JoinKey| format!("{} = {}", all[key.left], all[width + key.right]);
    if !plan.keys.is_empty() {
        detail("On", plan.keys.iter().map(key).collect::<Vec<_>>().join(" and "));
    }
    if let Some(condition) = &plan.condition {
        detail("Condition", shown(condition, &all));
    }
}

fn describe_cut(cut: &Cut, detail: &mut dyn FnMut(&'static str, String)) {
    if let Some(offset) = &cut.offset {
        detail("Passes over", shown(offset, &[]));
    }
    if let Some(count) = &cut.count {
        detail("Rows at most", shown(count, &[]));
    }
}

fn shown(expression: &Expression, names: &[String]) -> String {
    Named { expression, names }.to_string()
}

fn listed(expressions: &[Expression], names: &[String]) -> String {
    expressions.iter().map(|one| shown(one, names)).collect::<Vec<_>>().join(", ")
}

fn columns_text(columns: &[usize], names: &[String]) -> String {
    columns.iter().map(|column| names[*column].as_str()).collect::<Vec<_>>().join(", ")
}

fn keys_text(keys: &[SortKey], names: &[String]) -> String {
    let key = |key: &SortKey| {
        format!("{}{}", names[key.column], direction_text(key.direction, key.nulls))
    };
    keys.iter().map(key).collect::<Vec<_>>().join(", ")
}

/// What stands behind a key of an order. NULLs come last in a rising order if nothing is said.
fn direction_text(direction: Direction, nulls: NullOrdering) -> &'static str {
    match (direction, nulls) {
        (Direction::Ascending, NullOrdering::Last) => "",
        (Direction::Ascending, NullOrdering::First) => " nulls first",
        (Direction::Descending, NullOrdering::First) => " desc",
        (Direction::Descending, NullOrdering::Last) => " desc nulls last",
    }
}

fn calls_text(calls: &[AggregateCall], names: &[String]) -> String {
    let call = |call: &AggregateCall| {
        let distinct = if call.distinct { "distinct " } else { "" };
        let arguments = match call.arguments.is_empty() {
            true => "*".to_string(),
            false => listed(&call.arguments, names),
        };
        let filter = match &call.filter {
            Some(filter) => format!(" filter (where {})", shown(filter, names)),
            None => String::new(),
        };
        let order = own_order_text(call, names);
        format!("{}({distinct}{arguments}{order}){filter}", call.aggregate.name())
    };
    calls.iter().map(call).collect::<Vec<_>>().join(", ")
}

/// The order in which a call takes its rows, if it sorts them by itself.
fn own_order_text(call: &AggregateCall, names: &[String]) -> String {
    let key = |key: &CallKey| {
        let value = match &key.value {
            CallKeyValue::Argument(place) => &call.arguments[*place],
            CallKeyValue::Computed(value) => value,
        };
        format!("{}{}", shown(value, names), direction_text(key.direction, key.nulls))
    };
    match call.order.is_empty() {
        true => String::new(),
        false => format!(" order by {}", call.order.iter().map(key).collect::<Vec<_>>().join(", ")),
    }
}

/// What is looked for in an index.
fn search_text(search: &Search, keys: &[&str]) -> String {
    let mut parts = Vec::new();
    for (part, key) in search.equal.iter().zip(keys) {
        parts.push(match part {
            KeyPart::Equal(value) => format!("{key} = {}", shown(value, &[])),
            KeyPart::Null => format!("{key} is null"),
            KeyPart::AnyOf(values) => format!("{key} in ({})", values_text(values, &[])),
        });
    }
    if let Some(key) = keys.get(search.equal.len()) {
        match &search.from {
            Bound::Included(value) => parts.push(format!("{key} >= {}", shown(value, &[]))),
            Bound::Excluded(value) => parts.push(format!("{key} > {}", shown(value, &[]))),
            Bound::Unbounded => {}
        }
        match &search.to {
            Bound::Included(value) => parts.push(format!("{key} <= {}", shown(value, &[]))),
            Bound::Excluded(value) => parts.push(format!("{key} < {}", shown(value, &[]))),
            Bound::Unbounded => {}
        }
        if search.not_null && !search.is_bounded() {
            parts.push(format!("{key} is not null"));
        }
    }
    parts.join(" and ")
}
