//! The methods by which two parts of a block are joined, and what each costs.
//!
//! | method | needs | gives the order of |
//! |---|---|---|
//! | hash | equal keys, or else compares each row with each | none |
//! | merge | equal columns, both sides in their order | the keys |
//! | loop | nothing; the right side is kept and read again | the left side |
//! | lookup | an index of the right side's table on what is compared | the left side |
//!
//! | kind | hash | merge | loop, lookup |
//! |---|---|---|---|
//! | inner, left, semi, anti | yes | yes | yes |
//! | right, full | yes | yes | no |
//! | NOT IN | yes | no | no |
//!
//! Callers: `search`.

use std::rc::Rc;

use expression::Expression;
use rowsource::Side;

use super::access::{Path, Target, tests};
use super::block::{Block, Leaves, Table};
use super::columns::row_bytes;
use super::cost::{self, Estimate, Gets};
use super::node::Operation;
use super::planner::Planner;
use super::search::{Memory, MergeKey, Part, Way};
use super::sorted::{Order, OrderKey};
use crate::logical::{JoinKind, is_volatile};

/// A column of another leaf stands in a lookup as a slot with a number from here on.
pub(super) const OUTSIDE: usize = 1 << 30;

/// A way to look rows of other leaves up in an index of a leaf.
#[derive(Debug)]
pub(super) struct Lookup {
    pub(super) operation: Operation,
    pub(super) estimate: Estimate,
    /// What one of them gets block by block, of the index and of the table.
    gets: [Gets; 2],
}

impl Block<'_> {
    /// Whether a condition is about both of two parts, and about nothing else.
    pub(super) fn are_joined(&self, a: Leaves, b: Leaves) -> bool {
        let is_about_both =
            |leaves: Leaves| leaves & a != 0 && leaves & b != 0 && leaves & !(a | b) == 0;
        self.conditions.iter().any(|condition| is_about_both(condition.leaves))
    }

    /// The conditions that are tested when two parts are joined, by number.
    pub(super) fn between(&self, a: Leaves, b: Leaves) -> Vec<usize> {
        let is_tested = |number: &usize| {
            let leaves = self.conditions[*number].leaves;
            match self.kind {
                JoinKind::Inner => leaves & a != 0 && leaves & b != 0 && leaves & !(a | b) == 0,
                _ => true,
            }
        };
        (0..self.conditions.len()).filter(is_tested).collect()
    }

    /// Conditions of inner joins that are about one leaf or none, and stayed with the join.
    pub(super) fn strays(&self) -> Vec<Expression> {
        let is_stray = |leaves: Leaves| self.kind == JoinKind::Inner && leaves.count_ones() < 2;
        let strays = self.conditions.iter().filter(|condition| is_stray(condition.leaves));
        strays.map(|condition| condition.expression.clone()).collect()
    }

    /// The two sides of a condition that says that something of the left part is equal to
    /// something of the right one.
    pub(super) fn keys_of(
        &self,
        number: usize,
        left: Leaves,
        right: Leaves,
    ) -> Option<[&Expression; 2]> {
        let equality = self.conditions[number].equality.as_ref()?;
        let [a, b] = &equality.sides;
        let [of_a, of_b] = equality.leaves;
        if of_a & !left == 0 && of_b & !right == 0 {
            return Some([a, b]);
        }
        (of_b & !left == 0 && of_a & !right == 0).then_some([b, a])
    }

    /// The number of rows of two joined parts.
    fn rows_of(&self, left: &Part, right: &Part) -> f64 {
        let pairs = self.rows(left.leaves | right.leaves);
        let (of_left, of_right) = (left.estimate.rows, right.estimate.rows);
        let matched = pairs.min(of_left);
        match self.kind {
            JoinKind::Inner => pairs,
            JoinKind::Left => pairs.max(of_left),
            JoinKind::Right => pairs.max(of_right),
            JoinKind::Full => pairs.max(of_left).max(of_right),
            JoinKind::Semi => matched,
            JoinKind::Anti | JoinKind::AntiNullAware => {
                (of_left - matched).max(of_left * 0.1).max(1.0)
            }
        }
    }

    /// The bytes of a row of these leaves.
    fn bytes_of(&self, leaves: Leaves) -> f64 {
        let is_in = |number: usize| leaves & (1 << number) != 0;
        let own = self.leaves.iter().enumerate().filter(|(number, _)| is_in(*number));
        own.map(|(_, leaf)| row_bytes(&self.columns[leaf.first..leaf.first + leaf.width])).sum()
    }

    /// Whether these two parts may be joined, in this order.
    fn are_in_place(&self, left: Leaves) -> bool {
        self.kind == JoinKind::Inner || left == 1
    }

    fn can_loop(&self) -> bool {
        matches!(self.kind, JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti)
    }
}

/// Two parts that are to be joined.
struct Pair<'p> {
    left: &'p Rc<Part>,
    right: &'p Rc<Part>,
    /// The conditions between them: equalities, and others.
    equal: Vec<usize>,
    others: Vec<usize>,
    /// The rows that come.
    rows: f64,
    /// The rows that are equal in their keys.
    pairs: f64,
}

impl Planner<'_> {
    /// The ways to join two parts, in this order, other than by an index.
    pub(super) fn methods(
        &self,
        block: &Block<'_>,
        left: &Rc<Part>,
        right: &Rc<Part>,
    ) -> Vec<Part> {
        if !block.are_in_place(left.leaves) {
            return Vec::new();
        }
        let is_equality =
            |number: &usize| block.keys_of(*number, left.leaves, right.leaves).is_some();
        let (equal, others): (Vec<_>, Vec<_>) =
            block.between(left.leaves, right.leaves).into_iter().partition(is_equality);
        let rows = block.rows_of(left, right);
        let pairs = block.rows(left.leaves | right.leaves);
        let pair = Pair { left, right, equal, others, rows, pairs };
        let mut ways = Vec::new();
        if block.can_loop() {
            ways.push(self.looped(block, &pair));
        }
        if !pair.equal.is_empty() || !block.can_loop() {
            ways.push(self.hashed(block, &pair, Side::Right));
            if block.kind != JoinKind::Inner {
                ways.push(self.hashed(block, &pair, Side::Left));
            }
        }
        ways.extend(self.merged(block, &pair));
        ways
    }

    /// A join by a hash of the rows of one side.
    fn hashed(&self, block: &Block<'_>, pair: &Pair<'_>, build: Side) -> Part {
        let (left, right) = (pair.left, pair.right);
        let (kept, looked) = match build {
            Side::Left => (left, right),
            Side::Right => (right, left),
        };
        let (own, its) = (kept.estimate, looked.estimate);
        let bytes = own.rows * (block.bytes_of(kept.leaves) + 16.0);
        let memory = self.surroundings.memory_bytes;
        let mut work = own.rows * cost::HASH_PUT + its.rows * cost::HASH_LOOK;
        if bytes > memory {
            work += cost::spill(bytes, memory);
            work += cost::spill(its.rows * block.bytes_of(looked.leaves) + memory, memory);
        }
        let tested = match pair.equal.is_empty() {
            true => own.rows * its.rows,
            false => pair.pairs,
        };
        work += tested * block.tests(&pair.others) + pair.rows * cost::ROW;
        let first = own.all + own.rows * cost::HASH_PUT + its.first;
        let estimate = Estimate { rows: pair.rows, first, all: own.all + its.all + work };
        let estimate = if_wanted(self.surroundings.methods.hash_join, estimate);
        let way = Way::Hash { left: Rc::clone(left), right: Rc::clone(right), build };
        Part { leaves: left.leaves | right.leaves, way, estimate, order: Order::none() }
    }

    /// A join that compares each left row with each right one.
    fn looped(&self, block: &Block<'_>, pair: &Pair<'_>) -> Part {
        let (left, right) = (pair.left, pair.right);
        let (own, its) = (left.estimate, right.estimate);
        let share = match block.kind {
            JoinKind::Semi | JoinKind::Anti => 0.5,
            _ => 1.0,
        };
        let all: Vec<usize> = pair.equal.iter().chain(&pair.others).copied().collect();
        let each = block.tests(&all) + 2.0 * cost::VALUE;
        let memory = self.surroundings.memory_bytes;
        let bytes = its.rows * block.bytes_of(right.leaves);
        let work = its.rows * cost::VALUE
            + cost::spill(bytes, memory) * own.rows.max(1.0)
            + own.rows * cost::RESTART
            + own.rows * its.rows * share * each
            + pair.rows * cost::ROW;
        let estimate =
            Estimate { rows: pair.rows, first: own.first + its.all, all: own.all + its.all + work };
        let estimate = if_wanted(self.surroundings.methods.nested_loop, estimate);
        let way = Way::Loop { left: Rc::clone(left), right: Rc::clone(right) };
        Part { leaves: left.leaves | right.leaves, way, estimate, order: left.order.clone() }
    }

    /// A join of both sides in the order of their keys; none if no columns are compared.
    fn merged(&self, block: &Block<'_>, pair: &Pair<'_>) -> Option<Part> {
        if block.kind == JoinKind::AntiNullAware {
            return None;
        }
        let (left, right) = (pair.left, pair.right);
        let keys = merge_keys(block, pair)?;
        let wanted = [0, 1].map(|side| keys_of_side(block, &keys, left, right, side));
        let is_sorted = [left.order.satisfies(&wanted[0]), right.order.satisfies(&wanted[1])];
        let cost_of = |part: &Part, is_sorted: bool| match is_sorted {
            true => part.estimate,
            false => {
                let Estimate { rows, all, .. } = part.estimate;
                let bytes = block.bytes_of(part.leaves);
                let all = all + cost::sort(rows, bytes, self.surroundings.memory_bytes, None);
                Estimate { rows, first: all, all }
            }
        };
        let (own, its) = (cost_of(left, is_sorted[0]), cost_of(right, is_sorted[1]));
        let in_keys = |number: &usize| keys.iter().any(|key| key.condition == *number);
        let rest: Vec<usize> =
            pair.equal.iter().filter(|number| !in_keys(number)).copied().collect();
        let tested = block.tests(&rest) + block.tests(&pair.others);
        let work = (own.rows + its.rows) * cost::COMPARE
            + pair.pairs * (tested + cost::VALUE)
            + pair.rows * cost::ROW;
        let estimate = Estimate {
            rows: pair.rows,
            first: own.first + its.first,
            all: own.all + its.all + work,
        };
        let estimate = if_wanted(self.surroundings.methods.merge_join, estimate);
        let [of_left, of_right] = wanted;
        let order = match block.kind {
            JoinKind::Full => Order::none(),
            JoinKind::Right => Order { keys: of_right, constant: Vec::new() },
            _ => Order { keys: of_left, constant: Vec::new() },
        };
        let (left, right) = (Rc::clone(left), Rc::clone(right));
        let leaves = left.leaves | right.leaves;
        let way = Way::Merge { left, right, keys, sorts: is_sorted.map(|is| !is) };
        Some(Part { leaves, way, estimate, order })
    }

    /// The ways to look rows of the left part up in an index of the right one, which is a table.
    pub(super) fn lookups(
        &mut self,
        block: &Block<'_>,
        memory: &mut Memory,
        lefts: &[Rc<Part>],
        right: Leaves,
    ) -> Vec<Part> {
        let Some(of_left) = lefts.first().map(|left| left.leaves) else { return Vec::new() };
        if right.count_ones() != 1 || !block.can_loop() || !block.are_in_place(of_left) {
            return Vec::new();
        }
        let leaf = right.trailing_zeros() as usize;
        let Some(table) = block.leaves[leaf].table else { return Vec::new() };
        let is_plain = |number: &usize| {
            let condition = &block.conditions[*number].expression;
            !is_volatile(condition) && !condition.has_subquery()
        };
        let (plain, rest): (Vec<_>, Vec<_>) =
            block.between(of_left, right).into_iter().partition(is_plain);
        let found = memory.lookups.get(&(leaf, plain.clone())).cloned();
        let lookup = match found {
            Some(lookup) => lookup,
            None => {
                let lookup = self.lookup(block, leaf, table, &plain).map(Rc::new);
                memory.lookups.insert((leaf, plain), lookup.clone());
                lookup
            }
        };
        let Some(lookup) = lookup else { return Vec::new() };
        lefts.iter().map(|left| self.looked_up(block, left, leaf, &lookup, &rest)).collect()
    }

    /// The best way by an index on what these conditions compare with other leaves.
    fn lookup(
        &mut self,
        block: &Block<'_>,
        leaf: usize,
        table: Table<'_>,
        conditions: &[usize],
    ) -> Option<Lookup> {
        let (first, width) = (block.leaves[leaf].first, block.leaves[leaf].width);
        let mut all = table.conditions.to_vec();
        for number in conditions {
            let mut one = block.conditions[*number].expression.clone();
            one.change(&mut |part| {
                if let Expression::Column(column) = *part {
                    *part = match column.checked_sub(first).filter(|own| *own < width) {
                        Some(own) => Expression::Column(own),
                        None => Expression::Slot(OUTSIDE + column),
                    };
                }
            });
            all.push(one);
        }
        let target = Target::new(table.scan, &all);
        let is_lookup = |path: &Path| {
            let mut is = false;
            if let Some(search) = target.search(path) {
                search.each_expression(&mut |one| {
                    one.walk(&mut |part| {
                        is |= matches!(part, Expression::Slot(slot) if *slot >= OUTSIDE);
                    });
                });
            }
            is
        };
        let paths = self.paths(&target).into_iter().filter(is_lookup);
        let best = paths.min_by(|a, b| a.estimate.all.total_cmp(&b.estimate.all))?;
        let operation = self.operation(&target, &best);
        Some(Lookup { operation, estimate: best.estimate, gets: best.gets })
    }

    fn looked_up(
        &self,
        block: &Block<'_>,
        left: &Rc<Part>,
        leaf: usize,
        lookup: &Rc<Lookup>,
        rest: &[usize],
    ) -> Part {
        let right = 1 << leaf;
        let own = left.estimate;
        let leaves = left.leaves | right;
        let pairs = block.rows(leaves);
        let rows = match block.kind {
            JoinKind::Inner => pairs,
            JoinKind::Left => pairs.max(own.rows),
            JoinKind::Semi => pairs.min(own.rows),
            _ => (own.rows - pairs.min(own.rows)).max(own.rows * 0.1).max(1.0),
        };
        // Where one match is enough, the rows behind it aren't read.
        let one = lookup.estimate;
        let is_first_enough =
            matches!(block.kind, JoinKind::Semi | JoinKind::Anti) && rest.is_empty();
        let share = if is_first_enough { one.cost(Some(1.0)) / one.all } else { 1.0 };
        let starts = own.rows * share;
        let cache = self.surroundings.cache_blocks;
        let held = |of: &Gets| starts * of.reads(1.0, cache) - of.reads(starts, cache);
        let held: f64 = lookup.gets.iter().map(held).sum();
        let work = starts * one.all - held.max(0.0)
            + own.rows * cost::RESTART
            + pairs * block.tests(rest)
            + rows * cost::ROW;
        let estimate =
            Estimate { rows, first: own.first + lookup.estimate.first, all: own.all + work };
        let estimate = if_wanted(self.surroundings.methods.nested_loop, estimate);
        let (left, lookup) = (Rc::clone(left), Rc::clone(lookup));
        let order = left.order.clone();
        let way = Way::Lookup { left, leaf, lookup, rest: rest.to_vec() };
        Part { leaves, way, estimate, order }
    }
}

impl Block<'_> {
    /// The cost of testing these conditions once.
    fn tests(&self, conditions: &[usize]) -> f64 {
        let each = conditions.iter().map(|number| &self.conditions[*number].expression);
        each.map(|one| tests(std::slice::from_ref(one))).sum()
    }
}

/// An estimate of a method that the session may not want.
fn if_wanted(is_wanted: bool, estimate: Estimate) -> Estimate {
    let more = if is_wanted { 0.0 } else { cost::UNWANTED };
    Estimate { first: estimate.first + more, all: estimate.all + more, ..estimate }
}

/// The keys of a merge: in an order in which one of the sides comes, if there is one.
fn merge_keys(block: &Block<'_>, pair: &Pair<'_>) -> Option<Vec<MergeKey>> {
    let columns: Vec<(usize, [usize; 2])> = pair
        .equal
        .iter()
        .filter_map(|number| {
            let keys = block.keys_of(*number, pair.left.leaves, pair.right.leaves)?;
            let [Expression::Column(left), Expression::Column(right)] = keys else { return None };
            Some((*number, [block.same(*left), block.same(*right)]))
        })
        .collect();
    for (side, part) in [pair.left, pair.right].into_iter().enumerate() {
        let mut keys: Vec<MergeKey> = Vec::new();
        for key in &part.order.keys {
            let is_new = |number: usize| !keys.iter().any(|one| one.condition == number);
            let found =
                columns.iter().find(|(number, of)| of[side] == key.column && is_new(*number));
            let Some((condition, _)) = found else { break };
            keys.push(MergeKey {
                condition: *condition,
                descending: key.descending,
                nulls_first: key.nulls_first,
            });
        }
        if !keys.is_empty() {
            return Some(keys);
        }
    }
    let key = |(condition, _): &(usize, [usize; 2])| MergeKey {
        condition: *condition,
        descending: false,
        nulls_first: false,
    };
    (!columns.is_empty()).then(|| columns.iter().map(key).collect())
}

/// The order that a merge wants of one of its sides.
fn keys_of_side(
    block: &Block<'_>,
    keys: &[MergeKey],
    left: &Part,
    right: &Part,
    side: usize,
) -> Vec<OrderKey> {
    let key = |key: &MergeKey| {
        let sides = block.keys_of(key.condition, left.leaves, right.leaves);
        let column = match sides.map(|sides| sides[side]) {
            Some(Expression::Column(column)) => block.same(*column),
            _ => unreachable!("keys of merges are columns"),
        };
        let MergeKey { descending, nulls_first, .. } = *key;
        OrderKey { column, descending, nulls_first, no_nulls: false }
    };
    keys.iter().map(key).collect()
}
