//! From a plan to row sources. Each is charged for its work (rule SQ67); measuring one isn't.
//!
//! Callers: `machine`.

use std::sync::Arc;

use rowsource::{
    Append, Distinct, Filter, HashAggregate, HashJoin, Limit, Materialise, Measured, MergeJoin,
    NestedLoop, Project, SetOperation, Sort, SortedAggregate, Source, Ties, Unique, Values,
};

use super::charged::Charged;
use super::index::IndexRows;
use super::machine::{Boxed, Running};
use super::scan::Scan;
use super::series::Series;
use super::shared::SharedReader;
use super::virtual_rows::VirtualRows;
use crate::plan::{Node, Operation};

/// The source of a node's rows, and those below it. If it is measured, its figures have the number
/// of its node.
pub(super) fn build(node: &Node, is_measured: bool) -> Boxed {
    let source = leaf(node).unwrap_or_else(|| inner(node, is_measured));
    match is_measured {
        true => Box::new(Measured::new(source, node.place)),
        false => source,
    }
}

fn boxed<S: for<'a> Source<Running<'a>> + 'static>(source: S) -> Boxed {
    Box::new(Charged::new(source))
}

/// The source of a node without inputs.
fn leaf(node: &Node) -> Option<Boxed> {
    Some(match &node.operation {
        Operation::Scan(scan) => boxed(Scan::new(scan)),
        Operation::Index(scan) => boxed(IndexRows::new(scan)),
        Operation::Virtual { table, columns, filter } => {
            boxed(VirtualRows::new(table, columns, filter.as_ref()))
        }
        Operation::Values { rows, width } => boxed(Values::new(*width, Arc::clone(rows))),
        Operation::Series { arguments } => boxed(Series::new(arguments.clone())),
        Operation::Shared { number } => boxed(SharedReader::new(*number, node.width())),
        _ => return None,
    })
}

/// The source of a node with inputs.
fn inner(node: &Node, is_measured: bool) -> Boxed {
    let input = |node: &Node| build(node, is_measured);
    match &node.operation {
        Operation::Filter { input: of, condition } => {
            boxed(Filter::new(input(of), condition.clone()))
        }
        Operation::Project { input: of, expressions } => {
            boxed(Project::new(input(of), expressions.clone()))
        }
        Operation::Limit { input: of, cut, ties: None } => {
            boxed(Limit::new(input(of), cut.clone()))
        }
        Operation::Limit { input: of, cut, ties: Some(columns) } => {
            boxed(Ties::new(input(of), cut.clone(), columns.clone()))
        }
        Operation::Sort { input: of, keys, cut: None } => boxed(Sort::new(input(of), keys.clone())),
        Operation::Sort { input: of, keys, cut: Some(cut) } => {
            // The sort keeps as many rows as the cut needs, and may keep more: the limit cuts.
            let first = Sort::top(input(of), keys.clone(), cut.clone());
            boxed(Limit::one_with(first, cut.clone()))
        }
        Operation::Distinct { input: of, columns } => {
            boxed(Distinct::new(input(of), columns.clone()))
        }
        Operation::Unique { input: of, columns } => boxed(Unique::new(input(of), columns.clone())),
        Operation::Append { inputs } => boxed(Append::new(inputs.iter().map(input).collect())),
        Operation::HashAggregate { input: of, keys, calls } => {
            boxed(HashAggregate::new(input(of), keys.clone(), calls.clone()))
        }
        Operation::SortedAggregate { input: of, keys, calls } => {
            boxed(SortedAggregate::new(input(of), keys.clone(), calls.clone()))
        }
        Operation::Materialise { input: of, depends } => {
            boxed(Materialise::new(input(of), depends.clone()))
        }
        _ => of_two(node, is_measured),
    }
}

/// The source of a node with two inputs.
fn of_two(node: &Node, is_measured: bool) -> Boxed {
    let input = |node: &Node| build(node, is_measured);
    match &node.operation {
        Operation::Set { kind, left, right } => {
            boxed(SetOperation::new(*kind, input(left), input(right)))
        }
        Operation::HashJoin { left, right, plan, build } => {
            boxed(HashJoin::new(input(left), input(right), plan.clone(), *build))
        }
        Operation::MergeJoin { left, right, plan, orders } => {
            boxed(MergeJoin::new(input(left), input(right), plan.clone(), orders.clone()))
        }
        Operation::NestedLoop { left, right, plan } => {
            boxed(NestedLoop::new(input(left), input(right), plan.clone()))
        }
        other => unreachable!("{other:?} has one input, or none"),
    }
}
