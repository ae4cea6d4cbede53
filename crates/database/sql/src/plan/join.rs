//! Plans of joins.
//!
//! Callers: `tree`.

use expression::{Comparison, Expression};

use super::block::Block;
use super::columns::row_bytes;
use super::cost;
use super::planner::{Planned, Planner, Wanted};
use super::sorted::Order;
use crate::logical::{Join, JoinKind, Logical};
use crate::rewrite::{reads_only, shifted};

/// The most semi joins within one another for which both ways are tried.
const TRIED_MAX: usize = 2;

impl Planner<'_> {
    /// The best plan of a join.
    pub(super) fn join_tree(&mut self, join: &Join, wanted: &Wanted) -> Planned {
        let plain = self.block(join, wanted);
        let Some(other) = distinct_first(join).filter(|_| self.may_try()) else { return plain };
        let other = self.plan(&other, wanted);
        let is_better = self.cost_wanted(&other, wanted) < self.cost_wanted(&plain, wanted);
        if is_better { other } else { plain }
    }

    /// The best plan of joins that are planned together.
    fn block(&mut self, join: &Join, wanted: &Wanted) -> Planned {
        let block = Block::of(self, join, wanted);
        let part = self.search(&block);
        let mut planned = self.assemble(&block, &part);
        let is_in_order = !wanted.order.is_empty() && part.order.satisfies(&block.wanted_order());
        planned.order = match is_in_order {
            true => Order { keys: planned.keys_over(&wanted.order), constant: Vec::new() },
            false => {
                let place = |column: usize| {
                    planned.places.get(column).copied().filter(|at| *at < planned.node.width())
                };
                part.order.over(&place)
            }
        };
        let strays = block.strays();
        if !strays.is_empty() {
            let strays = planned.all_over(&strays);
            let taken = std::mem::replace(&mut planned.node, super::tree::nothing());
            planned.node = self.filtered(taken, strays);
        }
        if !block.kind.has_right() {
            // The output has the columns of the left side alone.
            planned.places.truncate(join.left.width());
        }
        planned
    }

    /// What a plan costs when its rows are in the wanted order.
    fn cost_wanted(&self, planned: &Planned, wanted: &Wanted) -> f64 {
        let estimate = planned.node.estimate;
        if planned.order.satisfies(&planned.keys_over(&wanted.order)) {
            return estimate.cost(wanted.rows);
        }
        let bytes = row_bytes(&planned.node.columns);
        let memory = self.surroundings.memory_bytes;
        estimate.all + cost::sort(estimate.rows, bytes, memory, wanted.rows)
    }
}

/// `a IN (select b)` is a join of `a` with the different values of `b`, which may come first: a
/// tree that says so. None if there are conditions other than equalities.
fn distinct_first(join: &Join) -> Option<Logical> {
    let below = || semi_joins(&join.left) + semi_joins(&join.right);
    if join.kind != JoinKind::Semi || join.on.is_empty() || below() >= TRIED_MAX {
        return None;
    }
    let width = join.left.width();
    let (mut on, mut values) = (Vec::new(), Vec::new());
    for condition in &join.on {
        let Expression::Compare { comparison: Comparison::Equal, left, right } = condition else {
            return None;
        };
        let is_left = |one: &Expression| reads_only(one, |column| column < width);
        let is_right = |one: &Expression| reads_only(one, |column| column >= width);
        let (own, its) = match (is_left(left), is_right(right), is_right(left), is_left(right)) {
            (true, true, ..) => (left, right),
            (_, _, true, true) => (right, left),
            _ => return None,
        };
        on.push(Expression::Compare {
            comparison: Comparison::Equal,
            left: own.clone(),
            right: Box::new(Expression::Column(width + values.len())),
        });
        values.push(shifted((**its).clone(), width));
    }
    let different = Logical::Distinct { input: Box::new((*join.right).clone().projected(values)) };
    let joined = Logical::Join(Join {
        kind: JoinKind::Inner,
        left: join.left.clone(),
        right: Box::new(different),
        on,
    });
    let expressions = (0..width).map(Expression::Column).collect();
    Some(Logical::Project { input: Box::new(joined), expressions })
}

/// The number of semi joins in a tree.
fn semi_joins(logical: &Logical) -> usize {
    let own = matches!(logical, Logical::Join(join) if join.kind == JoinKind::Semi);
    let below: usize = logical.inputs().map(semi_joins).sum();
    usize::from(own) + below
}
