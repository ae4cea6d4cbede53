//! From the best way to a block to the nodes of the plan.
//!
//! Callers: `join`.

use std::collections::BTreeSet;
use std::rc::Rc;

use expression::Expression;
use rowsource::{JoinKey, JoinKind as SourceKind, JoinPlan, KeyOrder, LoopPlan, SlotFrom};

use super::access::{all_of, columns_of};
use super::block::{Block, is_kept};
use super::columns::ColumnInfo;
use super::cost::Estimate;
use super::expressions::{slots_read, slots_set};
use super::methods::{Lookup, OUTSIDE};
use super::node::{Node, Operation};
use super::planner::{Planned, Planner};
use super::search::{MergeKey, Part, Way};
use super::sorted::{Order, OrderKey, direction_of, nulls_of};
use super::tree::node;
use crate::logical::JoinKind;

/// The place of a column that a part hasn't.
const ABSENT: usize = usize::MAX;

/// Two sides that are to be joined, and the conditions between them.
struct Sides {
    left: Planned,
    right: Planned,
    keys: Vec<JoinKey>,
    /// What else is tested, over the columns of both.
    condition: Option<Expression>,
}

impl Planner<'_> {
    /// The nodes of a part. Their columns are numbered as those of the block.
    pub(super) fn assemble(&mut self, block: &Block<'_>, part: &Part) -> Planned {
        match &part.way {
            Way::Leaf { leaf, number } => {
                let leaf = &block.leaves[*leaf];
                let way = &leaf.ways[*number];
                let mut places = vec![ABSENT; block.columns.len()];
                for (column, place) in way.places.iter().enumerate() {
                    places[leaf.first + column] = *place;
                }
                Planned { node: way.node.clone(), places, order: Order::none() }
            }
            Way::Hash { left, right, build } => {
                let sides = self.sides(block, left, right, &|_| true);
                let Sides { left, right, keys, condition } = sides;
                let plan = JoinPlan { kind: kind_of(block.kind), keys, condition };
                let build = *build;
                paired(block.kind, part.estimate, left, right, |left, right| Operation::HashJoin {
                    left,
                    right,
                    plan,
                    build,
                })
            }
            Way::Merge { left, right, keys, sorts } => {
                self.assemble_merge(block, part, [left, right], keys, *sorts)
            }
            Way::Loop { left, right } => {
                let Sides { left, mut right, condition, .. } =
                    self.sides(block, left, right, &|_| false);
                right.node = self.kept(right.node);
                let kind = kind_of(block.kind);
                let plan = LoopPlan { kind, slots: Vec::new(), condition };
                paired(block.kind, part.estimate, left, right, |left, right| {
                    Operation::NestedLoop { left, right, plan }
                })
            }
            Way::Lookup { left, leaf, lookup, rest } => {
                let left = self.assemble(block, left);
                self.assemble_lookup(block, part.estimate, left, *leaf, lookup, rest)
            }
        }
    }

    /// Both sides of a join, with columns for the keys among its conditions; the others are one
    /// condition.
    fn sides(
        &mut self,
        block: &Block<'_>,
        left: &Rc<Part>,
        right: &Rc<Part>,
        is_key: &dyn Fn(usize) -> bool,
    ) -> Sides {
        let sets = (left.leaves, right.leaves);
        let (mut left, mut right) = (self.assemble(block, left), self.assemble(block, right));
        let (mut of_left, mut of_right, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for number in block.between(sets.0, sets.1) {
            match block.keys_of(number, sets.0, sets.1).filter(|_| is_key(number)) {
                Some([a, b]) => {
                    of_left.push(a.clone());
                    of_right.push(b.clone());
                }
                None => others.push(block.conditions[number].expression.clone()),
            }
        }
        let of_left = self.columns_for(&mut left, &of_left);
        let of_right = self.columns_for(&mut right, &of_right);
        // A CHAR has no blanks at its end, and is compared with a text as a text, blanks and all:
        // by each method alike (rule expression/EV5).
        let key = |(a, b): (usize, usize)| JoinKey { left: a, right: b, as_char: false };
        let keys = of_left.into_iter().zip(of_right).map(key).collect();
        let places = pair_places(&left, &right);
        others.iter_mut().for_each(|one| one.remap(&|column| places[column]));
        Sides { left, right, keys, condition: all_of(others) }
    }

    fn assemble_merge(
        &mut self,
        block: &Block<'_>,
        part: &Part,
        [left, right]: [&Rc<Part>; 2],
        merged: &[MergeKey],
        sorts: [bool; 2],
    ) -> Planned {
        let place = |number: usize| merged.iter().position(|key| key.condition == number);
        let Sides { mut left, mut right, keys, condition } =
            self.sides(block, left, right, &|number| place(number).is_some());
        // The keys come in the order of the conditions; the merge has its own.
        let between = (0..block.conditions.len()).filter(|number| place(*number).is_some());
        let mut ordered: Vec<(usize, JoinKey)> = between
            .zip(keys)
            .map(|(number, key)| (place(number).expect("it is a key"), key))
            .collect();
        ordered.sort_by_key(|(place, _)| *place);
        let keys: Vec<JoinKey> = ordered.into_iter().map(|(_, key)| key).collect();
        for (is_left, planned) in [(true, &mut left), (false, &mut right)] {
            if sorts[usize::from(!is_left)] {
                let wanted = merged.iter().zip(&keys).map(|(of, key)| OrderKey {
                    column: if is_left { key.left } else { key.right },
                    descending: of.descending,
                    nulls_first: of.nulls_first,
                    no_nulls: false,
                });
                let wanted: Vec<OrderKey> = wanted.collect();
                let taken = std::mem::replace(&mut planned.node, super::tree::nothing());
                planned.node = self.sorted(taken, &wanted, None, None);
            }
        }
        let orders = merged.iter().map(|key| KeyOrder {
            direction: direction_of(key.descending),
            nulls: nulls_of(key.nulls_first),
        });
        let orders = orders.collect();
        let plan = JoinPlan { kind: kind_of(block.kind), keys, condition };
        paired(block.kind, part.estimate, left, right, |left, right| Operation::MergeJoin {
            left,
            right,
            plan,
            orders,
        })
    }

    /// A nested loop by an index: what is compared with comes in slots.
    fn assemble_lookup(
        &mut self,
        block: &Block<'_>,
        estimate: Estimate,
        left: Planned,
        leaf: usize,
        lookup: &Lookup,
        rest: &[usize],
    ) -> Planned {
        let leaf = &block.leaves[leaf];
        let scan = leaf.table.expect("only a table is looked up").scan;
        let mut operation = lookup.operation.clone();
        let mut outside = BTreeSet::new();
        operation.each_of_path_mut(&mut |one| one.slots(&mut outside));
        let outside: Vec<usize> = outside.range(OUTSIDE..).map(|slot| slot - OUTSIDE).collect();
        let slots: Vec<SlotFrom> = outside
            .iter()
            .map(|column| {
                let slot = self.slot(block.columns[*column].kind);
                SlotFrom { column: left.places[*column], slot }
            })
            .collect();
        operation.each_of_path_mut(&mut |one| {
            one.change(&mut |part| {
                if let Expression::Slot(slot) = part
                    && let Some(column) = slot.checked_sub(OUTSIDE)
                {
                    let number = outside.iter().position(|one| *one == column);
                    *slot = slots[number.expect("all were collected")].slot;
                }
            });
        });
        let columns = columns_of(scan);
        let mut places = vec![ABSENT; block.columns.len()];
        for column in 0..leaf.width {
            places[leaf.first + column] = column;
        }
        let right = node(operation, columns, lookup.estimate);
        let right = Planned { node: right, places, order: Order::none() };
        let places = pair_places(&left, &right);
        let condition = |number: &usize| {
            let mut one = block.conditions[*number].expression.clone();
            one.remap(&|column| places[column]);
            one
        };
        let condition = all_of(rest.iter().map(condition).collect());
        let plan = LoopPlan { kind: kind_of(block.kind), slots, condition };
        paired(block.kind, estimate, left, right, |left, right| Operation::NestedLoop {
            left,
            right,
            plan,
        })
    }

    /// A node whose rows are read again and again: they are kept.
    fn kept(&self, input: Node) -> Node {
        if is_kept(&input.operation) {
            return input;
        }
        let (mut read, mut set) = (BTreeSet::new(), BTreeSet::new());
        slots_read(&input, &mut read);
        slots_set(&input, &mut set);
        // Parameters are the same for the whole statement, and what it sets itself is its own.
        let depends =
            read.range(self.binds..).filter(|slot| !set.contains(slot)).copied().collect();
        let (columns, estimate) = (input.columns.clone(), input.estimate);
        node(Operation::Materialise { input: Box::new(input), depends }, columns, estimate)
    }
}

/// The places of a block's columns in a pair of rows.
fn pair_places(left: &Planned, right: &Planned) -> Vec<usize> {
    let width = left.node.width();
    let place = |(of_left, of_right): (&usize, &usize)| match (*of_left, *of_right) {
        (ABSENT, ABSENT) => ABSENT,
        (ABSENT, column) => width + column,
        (column, _) => column,
    };
    left.places.iter().zip(&right.places).map(place).collect()
}

/// A join of two sides.
fn paired(
    kind: JoinKind,
    estimate: Estimate,
    left: Planned,
    right: Planned,
    operation: impl FnOnce(Box<Node>, Box<Node>) -> Operation,
) -> Planned {
    let (columns, places): (Vec<ColumnInfo>, Vec<usize>) = match kind.has_right() {
        true => {
            let both = left.node.columns.iter().chain(&right.node.columns).cloned();
            (both.collect(), pair_places(&left, &right))
        }
        false => (left.node.columns.clone(), left.places.clone()),
    };
    let operation = operation(Box::new(left.node), Box::new(right.node));
    Planned { node: node(operation, columns, estimate), places, order: Order::none() }
}

/// The kind as sources know it.
fn kind_of(kind: JoinKind) -> SourceKind {
    match kind {
        JoinKind::Inner => SourceKind::Inner,
        JoinKind::Left => SourceKind::Left,
        JoinKind::Right => SourceKind::Right,
        JoinKind::Full => SourceKind::Full,
        JoinKind::Semi => SourceKind::Semi,
        JoinKind::Anti => SourceKind::Anti,
        JoinKind::AntiNullAware => SourceKind::NotIn,
    }
}
