//! The order of joins: which parts of a block are joined first.
//!
//! ```text
//!   {a} {b} {c} {d}        each leaf, by each of its ways
//!   {a,b} {b,c} {c,d} …    each two, by each method, of the best ways to each of both
//!   {a,b,c} …
//!   {a,b,c,d}              the best of these
//! ```
//!
//! A block of a few leaves is searched through by dynamic programming; of a larger one, the two
//! parts are joined that make the least, again and again.
//!
//! Invariants
//!   * of the ways to a part, those are kept that no other one beats in cost and in order
//!   * what is equally good is decided by which was found first, so the same block gives the same
//!     plan (rule SQ32)
//!
//! Callers: `join`.

use std::collections::BTreeMap;
use std::rc::Rc;

use rowsource::Side;

use super::block::{Block, Leaves};
use super::columns::row_bytes;
use super::cost::{self, Estimate};
use super::methods::Lookup;
use super::planner::Planner;
use super::sorted::Order;

/// The most leaves of a block that is searched through.
const SEARCHED_MAX: usize = 8;

/// The most ways that are kept to a part.
const WAYS_MAX: usize = 6;

/// A way to some of a block's leaves, joined.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) leaves: Leaves,
    pub(super) way: Way,
    pub(super) estimate: Estimate,
    /// The order of its rows, by columns of the block.
    pub(super) order: Order,
}

/// How a part is made.
#[derive(Debug)]
pub(super) enum Way {
    /// By one of the ways to a leaf.
    Leaf { leaf: usize, number: usize },
    /// By a hash of the rows of one side.
    Hash { left: Rc<Part>, right: Rc<Part>, build: Side },
    /// By merging both sides, each of which is sorted first if it has to be.
    Merge { left: Rc<Part>, right: Rc<Part>, keys: Vec<MergeKey>, sorts: [bool; 2] },
    /// By reading the right side for each row of the left one.
    Loop { left: Rc<Part>, right: Rc<Part> },
    /// By looking each row of the left side up in an index of a leaf. What isn't a matter of the
    /// leaf's own filter is in these conditions.
    Lookup { left: Rc<Part>, leaf: usize, lookup: Rc<Lookup>, rest: Vec<usize> },
}

/// A key of a merge: a condition of the block, and the order in which it comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct MergeKey {
    pub(super) condition: usize,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}

/// The ways to the parts of a block that were found.
pub(super) type Found = BTreeMap<Leaves, Vec<Rc<Part>>>;

/// What a search has found beside parts.
#[derive(Default)]
pub(super) struct Memory {
    /// How a leaf is looked up with these conditions; none if there is no way.
    pub(super) lookups: BTreeMap<(usize, Vec<usize>), Option<Rc<Lookup>>>,
}

impl Planner<'_> {
    /// The best way to all of a block.
    pub(super) fn search(&mut self, block: &Block<'_>) -> Rc<Part> {
        let mut found = Found::new();
        let mut memory = Memory::default();
        for (number, leaf) in block.leaves.iter().enumerate() {
            let mut ways = Vec::new();
            for (place, way) in leaf.ways.iter().enumerate() {
                let part = Part {
                    leaves: 1 << number,
                    way: Way::Leaf { leaf: number, number: place },
                    estimate: way.node.estimate,
                    order: block.order_of(leaf, way),
                };
                keep(&mut ways, Rc::new(part));
            }
            found.insert(1 << number, ways);
        }
        match block.leaves.len() <= SEARCHED_MAX {
            true => self.search_all(block, &mut found, &mut memory),
            false => self.search_greedily(block, &mut found, &mut memory),
        }
        let ways = found.remove(&block.all()).unwrap_or_default();
        let cost = |part: &Rc<Part>| self.cost_in_order(block, part);
        let best = ways.into_iter().min_by(|a, b| cost(a).total_cmp(&cost(b)));
        best.expect("two parts can always be joined by a loop or a hash")
    }

    /// What a part costs when its rows are in the wanted order.
    fn cost_in_order(&self, block: &Block<'_>, part: &Part) -> f64 {
        let estimate = part.estimate;
        if part.order.satisfies(&block.wanted_order()) {
            return estimate.cost(block.wanted.rows);
        }
        let bytes = row_bytes(&block.columns);
        let memory = self.surroundings.memory_bytes;
        estimate.all + cost::sort(estimate.rows, bytes, memory, block.wanted.rows)
    }

    /// Joins each part with each other one.
    fn search_all(&mut self, block: &Block<'_>, found: &mut Found, memory: &mut Memory) {
        let all = block.all();
        for leaves in 1..=all {
            if leaves.count_ones() < 2 {
                continue;
            }
            let mut ways = Vec::new();
            for only_joined in [true, false] {
                // Each part of the leaves, and the others of them.
                let mut left = leaves & leaves.wrapping_neg();
                while left != leaves {
                    let right = leaves & !left;
                    if block.are_joined(left, right) == only_joined {
                        self.join_parts(block, found, memory, [left, right], &mut ways);
                    }
                    left = left.wrapping_sub(leaves) & leaves;
                }
                if !ways.is_empty() {
                    break;
                }
            }
            found.insert(leaves, ways);
        }
    }

    /// Joins the two parts that make the least, until there is one.
    fn search_greedily(&mut self, block: &Block<'_>, found: &mut Found, memory: &mut Memory) {
        let mut parts: Vec<Leaves> = (0..block.leaves.len()).map(|number| 1 << number).collect();
        while parts.len() > 1 {
            let mut best: Option<Pair> = None;
            for (number, a) in parts.iter().enumerate() {
                for b in &parts[number + 1..] {
                    let joined = block.are_joined(*a, *b);
                    let pair = Pair { joined, rows: block.rows(a | b), parts: [*a, *b] };
                    if best.as_ref().is_none_or(|best| pair.is_before(best)) {
                        best = Some(pair);
                    }
                }
            }
            let Pair { parts: [a, b], .. } = best.expect("there are two parts");
            let mut ways = Vec::new();
            self.join_parts(block, found, memory, [a, b], &mut ways);
            self.join_parts(block, found, memory, [b, a], &mut ways);
            found.insert(a | b, ways);
            parts.retain(|part| *part != a && *part != b);
            parts.push(a | b);
        }
    }

    /// Adds the ways to join two parts, in this order.
    fn join_parts(
        &mut self,
        block: &Block<'_>,
        found: &Found,
        memory: &mut Memory,
        [left, right]: [Leaves; 2],
        ways: &mut Vec<Rc<Part>>,
    ) {
        let (Some(lefts), Some(rights)) = (found.get(&left), found.get(&right)) else { return };
        for part in self.lookups(block, memory, lefts, right) {
            keep(ways, Rc::new(part));
        }
        for left in lefts {
            for right in rights {
                for part in self.methods(block, left, right) {
                    keep(ways, Rc::new(part));
                }
            }
        }
    }
}

/// Two parts that may be joined next.
struct Pair {
    joined: bool,
    rows: f64,
    parts: [Leaves; 2],
}

impl Pair {
    fn is_before(&self, other: &Pair) -> bool {
        match (self.joined, other.joined) {
            (true, false) => true,
            (false, true) => false,
            _ => self.rows < other.rows,
        }
    }
}

/// Adds a way to those to a part, unless another one beats it.
fn keep(ways: &mut Vec<Rc<Part>>, new: Rc<Part>) {
    let beats = |one: &Part, other: &Part| {
        one.estimate.all <= other.estimate.all
            && one.estimate.first <= other.estimate.first
            && one.order.satisfies(&other.order.keys)
    };
    if ways.iter().any(|one| beats(one, &new)) {
        return;
    }
    ways.retain(|one| !beats(&new, one));
    ways.push(new);
    if ways.len() > WAYS_MAX {
        let costs = ways.iter().enumerate().map(|(place, one)| (place, one.estimate.all));
        if let Some((worst, _)) = costs.max_by(|a, b| a.1.total_cmp(&b.1)) {
            ways.remove(worst);
        }
    }
}
