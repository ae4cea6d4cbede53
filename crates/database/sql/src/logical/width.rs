//! What can be asked of a node: its width, its inputs, its expressions.
//!
//! Callers: `bind`, `rewrite`, `plan`.

use std::collections::BTreeSet;
use std::sync::Arc;

use expression::Expression;

use super::{Join, Logical, SetOperation, Ties, is_volatile};

impl Logical {
    /// The number of columns.
    pub(crate) fn width(&self) -> usize {
        match self {
            Logical::Scan(scan) => scan.columns.len(),
            Logical::Virtual(scan) => scan.columns.len(),
            Logical::Nothing { width }
            | Logical::Values { width, .. }
            | Logical::Shared { width, .. } => *width,
            Logical::Series { .. } => 1,
            Logical::Filter { input, .. }
            | Logical::Distinct { input }
            | Logical::DistinctOn { input, .. }
            | Logical::Sort { input, .. }
            | Logical::Limit { input, .. }
            | Logical::Ties(Ties { input, .. }) => input.width(),
            Logical::Project { expressions, .. } => expressions.len(),
            Logical::Join(Join { kind, left, right, .. }) => match kind.has_right() {
                true => left.width() + right.width(),
                false => left.width(),
            },
            Logical::Apply { left, right, .. } => left.width() + right.width(),
            Logical::Aggregate { groups, aggregates, .. } => groups.len() + aggregates.len(),
            Logical::Set(SetOperation { left, .. }) => left.width(),
        }
    }

    /// The inputs, left to right.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Logical> {
        let inputs = match self {
            Logical::Scan(_)
            | Logical::Virtual(_)
            | Logical::Nothing { .. }
            | Logical::Values { .. }
            | Logical::Series { .. }
            | Logical::Shared { .. } => [None, None],
            Logical::Filter { input, .. }
            | Logical::Project { input, .. }
            | Logical::Aggregate { input, .. }
            | Logical::Distinct { input }
            | Logical::DistinctOn { input, .. }
            | Logical::Sort { input, .. }
            | Logical::Limit { input, .. }
            | Logical::Ties(Ties { input, .. }) => [Some(&**input), None],
            Logical::Join(Join { left, right, .. })
            | Logical::Apply { left, right, .. }
            | Logical::Set(SetOperation { left, right, .. }) => [Some(&**left), Some(&**right)],
        };
        inputs.into_iter().flatten()
    }

    /// The inputs, which may be replaced, left to right.
    pub(crate) fn inputs_mut(&mut self) -> impl Iterator<Item = &mut Logical> {
        let inputs = match self {
            Logical::Scan(_)
            | Logical::Virtual(_)
            | Logical::Nothing { .. }
            | Logical::Values { .. }
            | Logical::Series { .. }
            | Logical::Shared { .. } => [None, None],
            Logical::Filter { input, .. }
            | Logical::Project { input, .. }
            | Logical::Aggregate { input, .. }
            | Logical::Distinct { input }
            | Logical::DistinctOn { input, .. }
            | Logical::Sort { input, .. }
            | Logical::Limit { input, .. }
            | Logical::Ties(Ties { input, .. }) => [Some(&mut **input), None],
            Logical::Join(Join { left, right, .. })
            | Logical::Apply { left, right, .. }
            | Logical::Set(SetOperation { left, right, .. }) => {
                [Some(&mut **left), Some(&mut **right)]
            }
        };
        inputs.into_iter().flatten()
    }

    /// Visits the expressions of this node, not of its inputs.
    pub(crate) fn each_expression(&self, visit: &mut dyn FnMut(&Expression)) {
        match self {
            Logical::Scan(_)
            | Logical::Virtual(_)
            | Logical::Nothing { .. }
            | Logical::Shared { .. }
            | Logical::Distinct { .. }
            | Logical::DistinctOn { .. }
            | Logical::Set(_) => {}
            Logical::Values { rows, .. } => rows.iter().flatten().for_each(visit),
            Logical::Series { arguments } => arguments.iter().for_each(visit),
            Logical::Filter { conditions, .. } => conditions.iter().for_each(visit),
            Logical::Project { expressions, .. } => expressions.iter().for_each(visit),
            Logical::Join(Join { on, .. }) => on.iter().for_each(visit),
            Logical::Apply { slots, on, .. } => {
                slots.iter().map(|one| &one.value).chain(on).for_each(visit);
            }
            Logical::Aggregate { groups, aggregates, .. } => {
                groups.iter().for_each(&mut *visit);
                for call in aggregates {
                    call.arguments.iter().chain(&call.filter).for_each(&mut *visit);
                    call.order.iter().map(|key| &key.value).for_each(&mut *visit);
                }
            }
            Logical::Sort { keys, .. } => keys.iter().map(|key| &key.value).for_each(visit),
            Logical::Limit { limit, offset, .. } => limit.iter().chain(offset).for_each(visit),
            Logical::Ties(Ties { keys, limit, offset, .. }) => {
                let values = keys.iter().map(|key| &key.value);
                values.chain(limit).chain(offset).for_each(visit);
            }
        }
    }

    /// Visits the expressions of this node, which may be replaced, not those of its inputs.
    pub(crate) fn each_expression_mut(&mut self, visit: &mut dyn FnMut(&mut Expression)) {
        match self {
            Logical::Scan(_)
            | Logical::Virtual(_)
            | Logical::Nothing { .. }
            | Logical::Shared { .. }
            | Logical::Distinct { .. }
            | Logical::DistinctOn { .. }
            | Logical::Set(_) => {}
            Logical::Values { rows, .. } => {
                Arc::make_mut(rows).iter_mut().flatten().for_each(visit);
            }
            Logical::Series { arguments } => arguments.iter_mut().for_each(visit),
            Logical::Filter { conditions, .. } => conditions.iter_mut().for_each(visit),
            Logical::Project { expressions, .. } => expressions.iter_mut().for_each(visit),
            Logical::Join(Join { on, .. }) => on.iter_mut().for_each(visit),
            Logical::Apply { slots, on, .. } => {
                slots.iter_mut().map(|one| &mut one.value).chain(on).for_each(visit);
            }
            Logical::Aggregate { groups, aggregates, .. } => {
                groups.iter_mut().for_each(&mut *visit);
                for call in aggregates {
                    call.arguments.iter_mut().chain(&mut call.filter).for_each(&mut *visit);
                    call.order.iter_mut().map(|key| &mut key.value).for_each(&mut *visit);
                }
            }
            Logical::Sort { keys, .. } => {
                keys.iter_mut().map(|key| &mut key.value).for_each(visit);
            }
            Logical::Limit { limit, offset, .. } => {
                limit.iter_mut().chain(offset).for_each(visit);
            }
            Logical::Ties(Ties { keys, limit, offset, .. }) => {
                let values = keys.iter_mut().map(|key| &mut key.value);
                values.chain(limit).chain(offset).for_each(visit);
            }
        }
    }

    /// Whether a node or one below it reads one of these slots.
    pub(crate) fn reads_slots(&self, wanted: &dyn Fn(usize) -> bool) -> bool {
        self.reads_own_slots(wanted) || self.inputs().any(|input| input.reads_slots(wanted))
    }

    /// Adds the slots that the tree sets, from rows of its own.
    pub(crate) fn add_set_slots(&self, to: &mut BTreeSet<usize>) {
        if let Logical::Apply { slots, .. } = self {
            to.extend(slots.iter().map(|from| from.slot));
        }
        self.inputs().for_each(|input| input.add_set_slots(to));
    }

    /// Whether an expression of this very node reads such a slot.
    pub(crate) fn reads_own_slots(&self, wanted: &dyn Fn(usize) -> bool) -> bool {
        let mut reads = false;
        self.each_expression(&mut |one| {
            one.walk(&mut |part| {
                if let Expression::Slot(slot) = part {
                    reads |= wanted(*slot);
                }
            });
        });
        reads
    }

    /// The number of nodes of a tree, with the parts of their expressions.
    pub(crate) fn parts(&self) -> usize {
        let mut parts = 1;
        self.each_expression(&mut |one| parts += one.parts());
        self.inputs().fold(parts, |parts, input| parts + input.parts())
    }

    /// Whether an expression of a node, or of one below it, may differ from one evaluation to the
    /// next.
    pub(crate) fn is_volatile(&self) -> bool {
        let mut is = false;
        self.each_expression(&mut |one| is |= is_volatile(one));
        is || self.inputs().any(Logical::is_volatile)
    }
}
