//! Components and cycles of small random graphs, against the plainest way to find them.

use proptest::prelude::*;

use super::*;

const NODES: u32 = 8;

/// Whether each node can be reached from each over these classes.
fn reach(edges: &[Edge], classes: Classes) -> Vec<Vec<bool>> {
    let mut reach: Vec<Vec<bool>> =
        (0..NODES).map(|one| (0..NODES).map(|two| one == two).collect()).collect();
    for _ in 0..NODES {
        for edge in edges.iter().filter(|edge| classes.has(edge.class)) {
            for one in &mut reach {
                one[edge.to as usize] |= one[edge.from as usize];
            }
        }
    }
    reach
}

/// The cost of the cheapest way between two nodes that stays with those from which one can return.
fn cheapest(edges: &[Edge], classes: Classes, from: u32, to: u32) -> Option<u32> {
    let mut costs = vec![None; NODES as usize];
    costs[from as usize] = Some(0);
    for _ in 0..NODES {
        for edge in edges.iter().filter(|edge| classes.has(edge.class)) {
            let Some(before) = costs[edge.from as usize] else { continue };
            let cost = &mut costs[edge.to as usize];
            *cost =
                Some(cost.map_or(before + edge.cost(), |cost: u32| cost.min(before + edge.cost())));
        }
    }
    costs[to as usize]
}

fn edge() -> impl Strategy<Value = Edge> {
    let class = prop::sample::select(vec![Class::Inner, Class::Ww, Class::Rw]);
    (0..NODES, 0..NODES, class).prop_map(|(from, to, class)| Edge::new(class, from, to))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_component_is_who_can_reach_one_another(
        edges in prop::collection::vec(edge(), 0..24),
    ) {
        let classes = Classes::NONE.with(Class::Ww);
        let components = Graph::new(NODES, &edges).components(classes);
        let reach = reach(&edges, classes);
        for (one, from_one) in reach.iter().enumerate() {
            for (two, reached) in from_one.iter().enumerate() {
                let together = components.of[one] == components.of[two];
                prop_assert_eq!(together, *reached && reach[two][one]);
            }
        }
        let sizes: u32 = components.sizes.iter().sum();
        prop_assert_eq!(sizes, NODES);
    }

    #[test]
    fn a_cycle_is_the_cheapest_with_an_edge_of_its_class(
        edges in prop::collection::vec(edge(), 0..24),
    ) {
        let graph = Graph::new(NODES, &edges);
        let others = Classes::NONE.with(Class::Ww);
        let components = graph.components(others.with(Class::Rw));
        let found = graph.cycle(&components, Class::Rw, others);
        let costs = edges.iter().filter(|edge| edge.class == Class::Rw).filter_map(|edge| {
            Some(1 + cheapest(&edges, others, edge.to, edge.from)?)
        });
        let least = costs.min();
        // No point of a history comes before another of its transaction but by time.
        prop_assume!(least != Some(1));
        prop_assert_eq!(found.as_deref().map(cost), least);
        let Some(cycle) = found else { return Ok(()) };
        for (one, two) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
            prop_assert_eq!(one.to, two.from);
            prop_assert!(edges.contains(one));
        }
        prop_assert_eq!(cycle.iter().filter(|edge| edge.class == Class::Rw).count(), 1);
    }
}
