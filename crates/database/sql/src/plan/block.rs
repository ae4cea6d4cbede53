//! A block of joins: what is joined, the conditions between, and how many rows any part of it has.
//!
//! ```text
//!   Join b.y = c.y                     leaves:      a   b   c
//!     Join a.x = b.x          ─▶       conditions:  a.x = b.x   b.y = c.y
//!       a                              classes:     {a.x, b.x}  {b.y, c.y}
//!       b
//!     c
//! ```
//!
//! Inner joins that stand next to one another are one block, and so is any other join by itself.
//! The columns of a block are those of its leaves, one after the other.
//!
//! Invariant: the expected rows of a part depend on its leaves alone, and not on the order in which
//! they are joined.
//!
//! Callers: `search`, `methods`, `assemble`.

use expression::{Comparison, Expression};

use super::access::columns_of;
use super::columns::ColumnInfo;
use super::node::Operation;
use super::planner::{Planned, Planner, Wanted};
use super::selectivity::{self, DISTINCT_UNKNOWN};
use super::sorted::{Order, OrderKey};
use crate::logical::{Join, JoinKind, Logical, Scan, is_volatile};
use crate::rewrite::{columns_of as columns_read, equal_columns};

/// The most leaves of a block: their sets are bits.
const LEAVES_MAX: usize = 60;

/// A set of leaves, a bit for each.
pub(super) type Leaves = u64;

/// What is joined.
pub(super) struct Leaf<'l> {
    /// The number of its first column in the block.
    pub(super) first: usize,
    pub(super) width: usize,
    /// The table, and the conditions on it; none if it isn't a table.
    pub(super) table: Option<Table<'l>>,
    /// The ways to its rows.
    pub(super) ways: Vec<Planned>,
    /// The number of its rows.
    pub(super) rows: f64,
    /// The number of rows that it has without its own conditions.
    rows_of_all: f64,
}

/// A table that is joined.
#[derive(Clone, Copy)]
pub(super) struct Table<'l> {
    pub(super) scan: &'l Scan,
    pub(super) conditions: &'l [Expression],
}

/// A condition on the rows of several leaves.
pub(super) struct Condition {
    /// The condition, over the block's columns.
    pub(super) expression: Expression,
    /// The leaves that it reads.
    pub(super) leaves: Leaves,
    /// The two sides of an equality, if they read different leaves.
    pub(super) equality: Option<Equality>,
    /// The part of pairs for which it holds; none if it is one of a class.
    part: Option<f64>,
}

/// An equality of two sides.
#[derive(Clone)]
pub(super) struct Equality {
    pub(super) sides: [Expression; 2],
    pub(super) leaves: [Leaves; 2],
}

/// Columns of different leaves that are equal to one another.
struct Class {
    columns: Vec<usize>,
    /// Whether each two of them are compared by a condition of their own: then those of any part
    /// of the block are equal in its rows. Else two of them are only by way of a third one, whose
    /// leaf may not be in the part.
    is_closed: bool,
}

/// Joins that are planned together.
pub(super) struct Block<'l> {
    pub(super) kind: JoinKind,
    pub(super) leaves: Vec<Leaf<'l>>,
    pub(super) conditions: Vec<Condition>,
    /// What is known of the block's columns.
    pub(super) columns: Vec<ColumnInfo>,
    classes: Vec<Class>,
    /// The order that is wanted of the rows.
    pub(super) wanted: Wanted,
}

impl<'l> Block<'l> {
    /// The leaves and conditions of a join.
    pub(super) fn of(planner: &mut Planner<'_>, join: &'l Join, wanted: &Wanted) -> Block<'l> {
        let mut parts = Flat::default();
        match join.kind {
            JoinKind::Inner => parts.add(join, 0, LEAVES_MAX),
            _ => {
                parts.leaves.push((0, &*join.left));
                parts.leaves.push((join.left.width(), &*join.right));
                parts.conditions.extend(join.on.iter().cloned());
            }
        }
        let (mut leaves, mut columns) = (Vec::with_capacity(parts.leaves.len()), Vec::new());
        for (first, logical) in parts.leaves {
            let leaf = leaf(planner, logical, first, wanted);
            let planned = &leaf.ways[0];
            columns.extend(planned.places.iter().map(|at| planned.node.columns[*at].clone()));
            leaves.push(leaf);
        }
        let mut block = Block {
            kind: join.kind,
            leaves,
            conditions: Vec::new(),
            columns,
            classes: Vec::new(),
            wanted: wanted.clone(),
        };
        block.add_conditions(parts.conditions);
        block.close_classes();
        block.trim_orders();
        block
    }

    /// All leaves.
    pub(super) fn all(&self) -> Leaves {
        (1 << self.leaves.len()) - 1
    }

    /// The leaf that has a column.
    fn leaf_of(&self, column: usize) -> usize {
        let is_behind = |leaf: &Leaf<'_>| leaf.first <= column;
        self.leaves.iter().rposition(is_behind).expect("the first leaf begins at 0")
    }

    /// The leaves that an expression reads.
    fn leaves_of(&self, expression: &Expression) -> Leaves {
        let columns = columns_read([expression]);
        columns.into_iter().fold(0, |set, column| set | (1 << self.leaf_of(column)))
    }

    fn add_conditions(&mut self, conditions: Vec<Expression>) {
        for expression in conditions {
            let leaves = self.leaves_of(&expression);
            let equality = match &expression {
                Expression::Compare { comparison: Comparison::Equal, left, right } => {
                    let sets = [self.leaves_of(left), self.leaves_of(right)];
                    let are_apart = sets[0] & sets[1] == 0 && sets != [0, 0];
                    are_apart.then(|| Equality {
                        sides: [(**left).clone(), (**right).clone()],
                        leaves: sets,
                    })
                }
                _ => None,
            };
            let part = match equal_columns(&expression) {
                Some((a, b)) if equality.is_some() => {
                    self.add_to_class(a, b);
                    None
                }
                _ => Some(selectivity::of_one(&expression, &self.columns)),
            };
            self.conditions.push(Condition { expression, leaves, equality, part });
        }
    }

    /// Notes that two columns are equal.
    fn add_to_class(&mut self, a: usize, b: usize) {
        let class =
            |column: usize| self.classes.iter().position(|one| one.columns.contains(&column));
        let (of_a, of_b) = (class(a), class(b));
        match (of_a, of_b) {
            (None, None) => self.classes.push(Class { columns: vec![a, b], is_closed: false }),
            (Some(of_a), None) => self.classes[of_a].columns.push(b),
            (None, Some(of_b)) => self.classes[of_b].columns.push(a),
            (Some(of_a), Some(of_b)) if of_a != of_b => {
                let (low, high) = (of_a.min(of_b), of_a.max(of_b));
                let more = self.classes.remove(high).columns;
                self.classes[low].columns.extend(more);
            }
            _ => {}
        }
    }

    /// Finds out which classes are closed.
    fn close_classes(&mut self) {
        let compared = |condition: &Condition| equal_columns(&condition.expression);
        let pairs: Vec<(usize, usize)> = self.conditions.iter().filter_map(compared).collect();
        for class in &mut self.classes {
            let columns = &class.columns;
            let are = |a: usize, b: usize| pairs.contains(&(a, b)) || pairs.contains(&(b, a));
            let mut all = (1..columns.len()).flat_map(|n| (0..n).map(move |m| (n, m)));
            class.is_closed = all.all(|(n, m)| are(columns[n], columns[m]));
        }
    }

    /// One column for all that are equal to it in a row of inner joins.
    pub(super) fn same(&self, column: usize) -> usize {
        if self.kind != JoinKind::Inner {
            return column;
        }
        let is_of = |one: &&Class| one.is_closed && one.columns.contains(&column);
        let class = self.classes.iter().find(is_of);
        class.and_then(|one| one.columns.iter().min().copied()).unwrap_or(column)
    }

    /// The wanted order, with one column for all that are equal.
    pub(super) fn wanted_order(&self) -> Vec<OrderKey> {
        let key = |key: &OrderKey| OrderKey { column: self.same(key.column), ..*key };
        self.wanted.order.iter().map(key).collect()
    }

    /// The part of an order that is of use: as far as its columns are wanted or joined by.
    fn useful(&self, order: &Order) -> Order {
        let is_of_use = |column: usize| {
            let is_joined = self.classes.iter().any(|one| one.columns.contains(&column));
            is_joined || self.wanted.order.iter().any(|key| key.column == column)
        };
        let keys = order.keys.iter().take_while(|key| is_of_use(key.column));
        let key = |key: &OrderKey| OrderKey { column: self.same(key.column), ..*key };
        let constant = order.constant.iter().filter(|column| is_of_use(**column));
        Order {
            keys: keys.map(key).collect(),
            constant: constant.map(|column| self.same(*column)).collect(),
        }
    }

    /// The order of a leaf's way, over the block's columns.
    pub(super) fn order_of(&self, leaf: &Leaf<'_>, way: &Planned) -> Order {
        let column = |place: usize| way.places.iter().position(|one| *one == place);
        let order = way.order.over(&|place| column(place).map(|column| leaf.first + column));
        self.useful(&order)
    }

    /// Leaves out ways to the rows of leaves that others are as good as.
    fn trim_orders(&mut self) {
        for number in 0..self.leaves.len() {
            let leaf = &self.leaves[number];
            let mut kept: Vec<usize> = Vec::new();
            for (place, way) in leaf.ways.iter().enumerate() {
                let order = self.order_of(leaf, way);
                let is_beaten = kept.iter().any(|other| {
                    let other = &leaf.ways[*other];
                    is_as_good(other, &self.order_of(leaf, other), way, &order)
                });
                if is_beaten {
                    continue;
                }
                kept.retain(|other| {
                    let other = &leaf.ways[*other];
                    !is_as_good(way, &order, other, &self.order_of(leaf, other))
                });
                kept.push(place);
            }
            let ways = std::mem::take(&mut self.leaves[number].ways);
            let ways = ways.into_iter().enumerate();
            self.leaves[number].ways =
                ways.filter(|(place, _)| kept.contains(place)).map(|(_, way)| way).collect();
        }
    }

    /// The number of rows of an inner join of these leaves.
    pub(super) fn rows(&self, leaves: Leaves) -> f64 {
        let is_in = |number: usize| leaves & (1 << number) != 0;
        let own = self.leaves.iter().enumerate().filter(|(number, _)| is_in(*number));
        let mut rows: f64 = own.map(|(_, leaf)| leaf.rows).product();
        for condition in &self.conditions {
            let is_between = condition.leaves & !leaves == 0 && condition.leaves.count_ones() > 1;
            if let (Some(part), true) = (condition.part, is_between || condition.leaves == 0) {
                rows *= part;
            }
        }
        // What each leaf's equal columns leave of its rows. Several columns that are joined by
        // together are at most a key of the leaf.
        let mut left = vec![1.0_f64; self.leaves.len()];
        for class in &self.classes {
            let mut members: Vec<(usize, f64)> = Vec::new();
            for column in &class.columns {
                let leaf = self.leaf_of(*column);
                if !is_in(leaf) || members.iter().any(|(one, _)| *one == leaf) {
                    continue;
                }
                let info = &self.columns[*column];
                let distinct = match info.statistics() {
                    Some(known) => known.distinct,
                    None => DISTINCT_UNKNOWN,
                };
                rows *= 1.0 - info.statistics().map_or(0.0, |known| known.nulls);
                members.push((leaf, distinct.min(self.leaves[leaf].rows_of_all).max(1.0)));
            }
            members.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
            for (leaf, distinct) in members.into_iter().skip(1) {
                left[leaf] /= distinct;
            }
        }
        for (leaf, part) in self.leaves.iter().zip(left) {
            rows *= part.max(1.0 / leaf.rows_of_all.max(1.0));
        }
        rows.max(1.0)
    }
}

/// Whether a way gives its rows as fast as another, and in an order that is as good.
fn is_as_good(way: &Planned, order: &Order, other: &Planned, of_other: &Order) -> bool {
    let (own, its) = (way.node.estimate, other.node.estimate);
    own.all <= its.all && own.first <= its.first && order.satisfies(&of_other.keys)
}

/// What a tree of inner joins is made of.
#[derive(Default)]
struct Flat<'l> {
    /// Leaves with the numbers of their first columns.
    leaves: Vec<(usize, &'l Logical)>,
    conditions: Vec<Expression>,
}

impl<'l> Flat<'l> {
    /// Adds a join whose first column has this number, with this many leaves at most.
    fn add(&mut self, join: &'l Join, first: usize, most: usize) {
        let behind = first + join.left.width();
        let before = self.leaves.len();
        self.add_side(&join.left, first, most - 1);
        let left = most - (self.leaves.len() - before);
        self.add_side(&join.right, behind, left);
        self.conditions.extend(join.on.iter().map(|one| {
            let mut one = one.clone();
            one.remap(&|column| column + first);
            one
        }));
    }

    fn add_side(&mut self, side: &'l Logical, first: usize, most: usize) {
        match side {
            Logical::Join(join) if join.kind == JoinKind::Inner && most > 1 => {
                self.add(join, first, most);
            }
            side => self.leaves.push((first, side)),
        }
    }
}

/// A leaf with the ways to its rows.
fn leaf<'l>(
    planner: &mut Planner<'_>,
    logical: &'l Logical,
    first: usize,
    wanted: &Wanted,
) -> Leaf<'l> {
    let width = logical.width();
    let table = match logical {
        Logical::Scan(scan) => Some(Table { scan, conditions: &[] }),
        Logical::Filter { input, conditions } => match &**input {
            Logical::Scan(scan) if !conditions.iter().any(is_volatile) => {
                Some(Table { scan, conditions })
            }
            _ => None,
        },
        _ => None,
    };
    let ways = match table {
        Some(Table { scan, conditions }) => planner.scan_ways(scan, conditions),
        None => {
            let own = own_order(wanted, first, width);
            let mut ways = vec![planner.plan(logical, &Wanted::default())];
            if !own.is_empty() && minds_order(logical) && planner.may_try() {
                ways.push(planner.plan(logical, &Wanted::order(own)));
            }
            ways
        }
    };
    let rows = ways.iter().map(|way| way.node.estimate.rows).fold(f64::INFINITY, f64::min);
    let rows_of_all = match table {
        Some(Table { scan, .. }) => scan.table.statistics.rows.max(rows),
        None => rows,
    };
    Leaf { first, width, table, ways, rows, rows_of_all }
}

/// Whether a tree may be planned otherwise for an order that is wanted of its rows.
fn minds_order(logical: &Logical) -> bool {
    match logical {
        Logical::Scan(_) | Logical::Join(_) | Logical::Apply { .. } => true,
        Logical::Filter { input, .. } | Logical::Project { input, .. } => minds_order(input),
        _ => false,
    }
}

/// The wanted order over a leaf's columns, if it begins with them.
fn own_order(wanted: &Wanted, first: usize, width: usize) -> Vec<OrderKey> {
    let is_own = |key: &&OrderKey| (first..first + width).contains(&key.column);
    let own = wanted.order.iter().take_while(is_own);
    own.map(|key| OrderKey { column: key.column - first, ..*key }).collect()
}

impl Planner<'_> {
    /// All ways to the rows of a table.
    fn scan_ways(&mut self, scan: &Scan, conditions: &[Expression]) -> Vec<Planned> {
        let target = super::access::Target::new(scan, conditions);
        let columns = columns_of(scan);
        let paths = self.paths(&target);
        let way = |path: super::access::Path| {
            let operation = self.operation(&target, &path);
            let node = super::tree::node(operation, columns.clone(), path.estimate);
            Planned::straight(node, path.order)
        };
        paths.into_iter().map(way).collect()
    }
}

/// Whether the rows of a node can be read again at no cost.
pub(super) fn is_kept(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Shared { .. } | Operation::Values { .. } | Operation::Materialise { .. }
    )
}
