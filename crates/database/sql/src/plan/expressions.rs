//! The expressions of a plan's nodes, and the slots that they read.
//!
//! Callers: `assemble`; `text`, `fingerprint`.

use std::collections::BTreeSet;
use std::ops::Bound;

use expression::Expression;
use rowsource::{CallKeyValue, Cut};

use super::node::{KeyPart, Node, Operation, Search, TableScan};

impl Operation {
    /// Visits the expressions of this operation, not those of its inputs.
    pub(crate) fn each_expression(&self, visit: &mut dyn FnMut(&Expression)) {
        match self {
            Operation::Scan(scan) => scan.filter.iter().for_each(visit),
            Operation::Index(index) => {
                index.search.each_expression(visit);
                index.scan.filter.iter().for_each(visit);
            }
            Operation::Virtual { filter, .. } => filter.iter().for_each(visit),
            Operation::Values { rows, .. } => rows.iter().flatten().for_each(visit),
            Operation::Series { arguments } => arguments.iter().for_each(visit),
            Operation::Filter { condition, .. } => visit(condition),
            Operation::Project { expressions, .. } => expressions.iter().for_each(visit),
            Operation::Limit { cut, .. } => of_cut(cut, visit),
            Operation::Sort { cut, .. } => cut.iter().for_each(|cut| of_cut(cut, visit)),
            Operation::HashAggregate { calls, .. } | Operation::SortedAggregate { calls, .. } => {
                for call in calls {
                    call.arguments.iter().chain(&call.filter).for_each(&mut *visit);
                    for by in &call.order {
                        if let CallKeyValue::Computed(value) = &by.value {
                            visit(value);
                        }
                    }
                }
            }
            Operation::HashJoin { plan, .. } | Operation::MergeJoin { plan, .. } => {
                plan.condition.iter().for_each(visit);
            }
            Operation::NestedLoop { plan, .. } => plan.condition.iter().for_each(visit),
            Operation::Shared { .. }
            | Operation::Distinct { .. }
            | Operation::Unique { .. }
            | Operation::Append { .. }
            | Operation::Set { .. }
            | Operation::Materialise { .. } => {}
        }
    }

    /// Visits the expressions by which a table's rows are found, which may be replaced.
    pub(super) fn each_of_path_mut(&mut self, visit: &mut dyn FnMut(&mut Expression)) {
        match self {
            Operation::Scan(TableScan { filter, .. }) => filter.iter_mut().for_each(visit),
            Operation::Index(index) => {
                of_search_mut(&mut index.search, visit);
                index.scan.filter.iter_mut().for_each(visit);
            }
            _ => {}
        }
    }
}

fn of_cut(cut: &Cut, visit: &mut dyn FnMut(&Expression)) {
    cut.offset.iter().chain(&cut.count).for_each(visit);
}

fn of_search_mut(search: &mut Search, visit: &mut dyn FnMut(&mut Expression)) {
    for part in &mut search.equal {
        match part {
            KeyPart::Equal(value) => visit(value),
            KeyPart::Null => {}
            KeyPart::AnyOf(values) => values.iter_mut().for_each(&mut *visit),
        }
    }
    for bound in [&mut search.from, &mut search.to] {
        if let Bound::Included(value) | Bound::Excluded(value) = bound {
            visit(value);
        }
    }
}

/// Adds the slots that a node and those below it read to `slots`. What a nested loop sets for its
/// right side counts too.
pub(super) fn slots_read(node: &Node, slots: &mut BTreeSet<usize>) {
    node.operation.each_expression(&mut |one| one.slots(slots));
    for input in node.inputs() {
        slots_read(input, slots);
    }
}

/// Adds the slots that nested loops of a node and of those below it set to `slots`.
pub(super) fn slots_set(node: &Node, slots: &mut BTreeSet<usize>) {
    if let Operation::NestedLoop { plan, .. } = &node.operation {
        slots.extend(plan.slots.iter().map(|from| from.slot));
    }
    for input in node.inputs() {
        slots_set(input, slots);
    }
}
