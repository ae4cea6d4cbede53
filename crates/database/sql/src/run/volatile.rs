//! Whether a frame may give other rows the next time, with the same slots.
//!
//! Callers: `subquery`, which keeps answers of those that don't.

use expression::Expression;

use crate::logical::is_volatile;
use crate::plan::{FramePlan, IndexScan, Node, Operation};

/// Whether something volatile is called anywhere in the frame.
pub(super) fn is_in(frame: &FramePlan) -> bool {
    is_in_node(&frame.root)
        || frame.shared.iter().flatten().any(is_in_node)
        || frame.subqueries.iter().flatten().any(|subquery| is_in(&subquery.frame))
}

fn is_in_node(node: &Node) -> bool {
    let mut is = false;
    each_expression(&node.operation, &mut |one| is |= is_volatile(one));
    is || node.inputs().into_iter().any(is_in_node)
}

/// Visits the expressions of an operation, not of its inputs.
fn each_expression(of: &Operation, visit: &mut dyn FnMut(&Expression)) {
    match of {
        Operation::Scan(scan) => scan.filter.iter().for_each(visit),
        Operation::Index(index) => index_expressions(index, visit),
        Operation::Virtual { filter, .. } => filter.iter().for_each(visit),
        Operation::Values { rows, .. } => rows.iter().flatten().for_each(visit),
        Operation::Series { arguments } => arguments.iter().for_each(visit),
        Operation::Filter { condition, .. } => visit(condition),
        Operation::Project { expressions, .. } => expressions.iter().for_each(visit),
        Operation::Limit { cut, .. } | Operation::Sort { cut: Some(cut), .. } => {
            cut.count.iter().chain(&cut.offset).for_each(visit);
        }
        Operation::HashAggregate { calls, .. } | Operation::SortedAggregate { calls, .. } => {
            calls.iter().flat_map(|call| call.arguments.iter().chain(&call.filter)).for_each(visit);
        }
        Operation::HashJoin { plan, .. } | Operation::MergeJoin { plan, .. } => {
            plan.condition.iter().for_each(visit);
        }
        Operation::NestedLoop { plan, .. } => plan.condition.iter().for_each(visit),
        Operation::Sort { cut: None, .. }
        | Operation::Shared { .. }
        | Operation::Distinct { .. }
        | Operation::Unique { .. }
        | Operation::Append { .. }
        | Operation::Set { .. }
        | Operation::Materialise { .. } => {}
    }
}

fn index_expressions(index: &IndexScan, visit: &mut dyn FnMut(&Expression)) {
    index.scan.filter.iter().for_each(&mut *visit);
    index.search.each_expression(visit);
}
