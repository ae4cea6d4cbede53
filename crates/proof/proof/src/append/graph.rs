//! A directed graph whose edges have classes: its components, and short cycles in them.
//!
//! Edges of class [`Class::Inner`] always count and cost nothing on a cycle; of the others a search
//! is told which to follow. Everything is linear in the edges but the search for a cycle, which
//! only a broken history pays for: it takes [`BUDGET`] steps at most, and after those returns the
//! shortest cycle so far.
//!
//! Callers: `points`, which knows what nodes and edges mean.
//! Sources: Tarjan, "Depth-first search and linear graph algorithms" (1972), without recursion.

use std::collections::VecDeque;

/// Steps of a search for a short cycle.
const BUDGET: u64 = 20_000_000;

/// Why one point comes before another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// It goes without saying: within a transaction, or on the way between two halves of an edge.
    Inner,
    /// The next version of a list.
    Ww,
    /// A version was read.
    Wr,
    /// A version was read that the other replaced.
    Rw,
    /// The next version of a list, which nobody saw.
    Unseen,
    /// One session did one after the other.
    Session,
    /// One had returned before the other was called.
    Time,
}

/// Some classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Classes(u8);

impl Classes {
    pub(super) const NONE: Classes = Classes(0);
    pub(super) const ALL: Classes = Classes(u8::MAX);

    pub(super) fn with(self, class: Class) -> Classes {
        Classes(self.0 | 1 << class as u8)
    }

    fn has(self, class: Class) -> bool {
        class == Class::Inner || self.0 & 1 << class as u8 != 0
    }
}

/// One point comes before another, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Edge {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) class: Class,
    /// Of an edge that comes from versions: the list, by number, and how long it was before.
    pub(super) list: u32,
    pub(super) at: u32,
}

impl Edge {
    pub(super) fn new(class: Class, from: u32, to: u32) -> Edge {
        Edge { from, to, class, list: 0, at: 0 }
    }

    fn cost(&self) -> u32 {
        u32::from(self.class != Class::Inner)
    }
}

/// Edges, by the node that they come from.
#[derive(Debug)]
pub(super) struct Graph {
    starts: Vec<u32>,
    edges: Vec<Edge>,
}

/// Which component each node is in, and how many nodes each has.
pub(super) struct Components {
    of: Vec<u32>,
    sizes: Vec<u32>,
}

impl Graph {
    pub(super) fn new(nodes: u32, unsorted: &[Edge]) -> Graph {
        let mut starts = vec![0_u32; nodes as usize + 1];
        for edge in unsorted {
            starts[edge.from as usize + 1] += 1;
        }
        for node in 0..nodes as usize {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut edges = vec![Edge::new(Class::Inner, 0, 0); unsorted.len()];
        for edge in unsorted {
            let slot = &mut next[edge.from as usize];
            edges[*slot as usize] = *edge;
            *slot += 1;
        }
        Graph { starts, edges }
    }

    fn nodes(&self) -> u32 {
        u32::try_from(self.starts.len() - 1).expect("made from a u32")
    }

    fn edges_from(&self, node: u32) -> std::ops::Range<u32> {
        self.starts[node as usize]..self.starts[node as usize + 1]
    }

    /// The strongly connected components over these classes.
    pub(super) fn components(&self, classes: Classes) -> Components {
        let mut walk = Walk {
            graph: self,
            classes,
            order: 0,
            entered: vec![0; self.nodes() as usize],
            low: vec![0; self.nodes() as usize],
            open: Vec::new(),
            path: Vec::new(),
            found: Components { of: vec![u32::MAX; self.nodes() as usize], sizes: Vec::new() },
        };
        for node in 0..self.nodes() {
            if walk.entered[node as usize] == 0 {
                walk.from(node);
            }
        }
        walk.found
    }

    /// A short cycle that has an edge of class `first` and else edges of `others`, within one of
    /// the components: the smaller components are looked at first.
    pub(super) fn cycle(
        &self,
        components: &Components,
        first: Class,
        others: Classes,
    ) -> Option<Vec<Edge>> {
        let inside = |edge: &&Edge| edge.class == first && components.inside(edge);
        let mut firsts: Vec<&Edge> = self.edges.iter().filter(inside).collect();
        firsts.sort_by_key(|edge| components.sizes[components.of[edge.from as usize] as usize]);
        let mut search = Search::new(self, components, others);
        let mut shortest: Option<Vec<Edge>> = None;
        for edge in firsts {
            // None costs less than two: the edge itself, and one back.
            let limit = shortest.as_deref().map_or(u32::MAX, |cycle| cost(cycle) - 1);
            if limit < 2 || search.steps >= BUDGET {
                break;
            }
            if let Some(back) = search.path(edge.to, edge.from, limit - 1) {
                shortest = Some([vec![*edge], back].concat());
            }
        }
        shortest
    }
}

impl Components {
    /// Whether no node can be reached from itself.
    pub(super) fn are_single(&self) -> bool {
        self.sizes.iter().all(|size| *size == 1)
    }

    fn inside(&self, edge: &Edge) -> bool {
        self.of[edge.from as usize] == self.of[edge.to as usize]
    }
}

fn cost(cycle: &[Edge]) -> u32 {
    cycle.iter().map(Edge::cost).sum()
}

/// Tarjan's walk. A node is entered (numbered from 1), then open until its component is known.
struct Walk<'a> {
    graph: &'a Graph,
    classes: Classes,
    order: u32,
    entered: Vec<u32>,
    low: Vec<u32>,
    open: Vec<u32>,
    /// The nodes that the walk is in, each with its next edge.
    path: Vec<(u32, u32)>,
    found: Components,
}

impl Walk<'_> {
    fn from(&mut self, root: u32) {
        self.enter(root);
        while let Some((node, at)) = self.path.last_mut() {
            let (from, edge) = (*node, *at);
            if edge == self.graph.starts[from as usize + 1] {
                self.path.pop();
                self.leave(from);
                continue;
            }
            *at += 1;
            let edge = &self.graph.edges[edge as usize];
            if !self.classes.has(edge.class) {
                continue;
            }
            if self.entered[edge.to as usize] == 0 {
                self.enter(edge.to);
            } else if self.found.of[edge.to as usize] == u32::MAX {
                let low = &mut self.low[from as usize];
                *low = (*low).min(self.entered[edge.to as usize]);
            }
        }
    }

    fn enter(&mut self, node: u32) {
        self.order += 1;
        self.entered[node as usize] = self.order;
        self.low[node as usize] = self.order;
        self.open.push(node);
        self.path.push((node, self.graph.starts[node as usize]));
    }

    fn leave(&mut self, node: u32) {
        let low = self.low[node as usize];
        if let Some((above, _)) = self.path.last() {
            let above = &mut self.low[*above as usize];
            *above = (*above).min(low);
        }
        if low < self.entered[node as usize] {
            return;
        }
        let component = u32::try_from(self.found.sizes.len()).expect("no more than nodes");
        let mut size = 0;
        loop {
            let member = self.open.pop().expect("a node is open until it is left");
            self.found.of[member as usize] = component;
            size += 1;
            if member == node {
                break;
            }
        }
        self.found.sizes.push(size);
    }
}

/// Shortest paths within components, one after the other. What one has written into its tables
/// the next knows by its number.
struct Search<'a> {
    graph: &'a Graph,
    components: &'a Components,
    classes: Classes,
    steps: u64,
    number: u32,
    reached: Vec<u32>,
    distance: Vec<u32>,
    via: Vec<u32>,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph, components: &'a Components, classes: Classes) -> Search<'a> {
        let zeros = || vec![0; graph.nodes() as usize];
        let (reached, distance, via) = (zeros(), zeros(), zeros());
        Search { graph, components, classes, steps: 0, number: 0, reached, distance, via }
    }

    /// The cheapest path, if it costs no more than the limit.
    fn path(&mut self, from: u32, to: u32, limit: u32) -> Option<Vec<Edge>> {
        self.number += 1;
        self.reached[from as usize] = self.number;
        self.distance[from as usize] = 0;
        let mut queue = VecDeque::from([(from, 0)]);
        while let Some((node, distance)) = queue.pop_front() {
            if node == to {
                return Some(self.trace(from, to));
            }
            if distance > self.distance[node as usize] {
                continue;
            }
            for index in self.graph.edges_from(node) {
                self.steps += 1;
                let edge = &self.graph.edges[index as usize];
                let further = distance + edge.cost();
                let known = self.reached[edge.to as usize] == self.number
                    && self.distance[edge.to as usize] <= further;
                let follow = self.classes.has(edge.class) && self.components.inside(edge);
                if !follow || known || further > limit {
                    continue;
                }
                self.reached[edge.to as usize] = self.number;
                self.distance[edge.to as usize] = further;
                self.via[edge.to as usize] = index;
                match edge.cost() {
                    0 => queue.push_front((edge.to, further)),
                    _ => queue.push_back((edge.to, further)),
                }
            }
        }
        None
    }

    fn trace(&self, from: u32, to: u32) -> Vec<Edge> {
        let mut path = Vec::new();
        let mut node = to;
        while node != from {
            let edge = self.graph.edges[self.via[node as usize] as usize];
            path.push(edge);
            node = edge.from;
        }
        path.reverse();
        path
    }
}

#[cfg(test)]
#[path = "graph_tests.rs"]
mod tests;
