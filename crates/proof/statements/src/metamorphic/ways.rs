//! The ways in which a statement can be made to run: methods that the session doesn't want, and
//! memory that it doesn't have.
//!
//! The settings are those of room `sql` (`enable_hashjoin` and its like): a method that is off is
//! taken only where there is no other way. Memory is the instance's `pga_aggregate_target`.
//!
//! Callers: `run`.

use crate::bed::Memory;

/// A way.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// What it is called when it gives something else.
    pub name: &'static str,
    /// What is set.
    settings: &'static [&'static str],
    memory: Memory,
}

const fn way(name: &'static str, settings: &'static [&'static str]) -> Way {
    Way { name, settings, memory: Memory::Usual }
}

impl Way {
    const fn little(self, name: &'static str) -> Way {
        Way { name, memory: Memory::Little, ..self }
    }

    /// The statements that begin it.
    pub(super) fn begin(self) -> Vec<String> {
        let mut texts = vec!["reset all".to_string(), self.memory.statement()];
        texts.extend(self.settings.iter().map(|name| format!("set {name} = off")));
        texts
    }
}

const NO_SCAN: Way = way("without table scans", &["enable_seqscan"]);
const NO_INDEX: Way = way("without index scans", &["enable_indexscan"]);
const LOOPS: Way = way("nested loops alone", &["enable_hashjoin", "enable_mergejoin"]);
const PLAIN_LOOPS: Way = way(
    "nested loops alone, without index scans",
    &["enable_hashjoin", "enable_mergejoin", "enable_indexscan"],
);
const HASHES: Way = way("hash joins alone", &["enable_nestloop", "enable_mergejoin"]);
const MERGES: Way = way("merge joins alone", &["enable_nestloop", "enable_hashjoin"]);
const BY_ORDER: Way = way("groups by order", &["enable_hashagg"]);

/// All ways. The first is that of the planner, which the others are compared with.
pub(super) const WAYS: &[Way] = &[
    way("as planned", &[]),
    NO_SCAN,
    NO_INDEX,
    LOOPS,
    PLAIN_LOOPS,
    HASHES,
    MERGES,
    BY_ORDER,
    way("as planned", &[]).little("with memory for ten rows"),
    HASHES.little("hash joins with memory for ten rows"),
    MERGES.little("merge joins with memory for ten rows"),
    PLAIN_LOOPS.little("nested loops with memory for ten rows"),
    BY_ORDER.little("groups by order with memory for ten rows"),
];

/// The operations that have to come up in plans, or the comparison proves nothing about them.
pub const PLANS: &[&str] = &[
    "Table scan",
    "Index range scan",
    "Index lookup",
    "Hash join",
    "Hash left join",
    "Hash full join",
    "Hash semi join",
    "Hash anti join",
    "Merge join",
    "Merge left join",
    "Merge full join",
    "Nested loop join",
    "Nested loop left join",
    "Groups by hash",
    "Groups by order",
    "Sort",
    "Distinct by hash",
    "Intersect",
    "Except",
    "Append",
    "Kept rows",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_begins_from_nothing() {
        let begin = MERGES.little("merge").begin();
        assert_eq!(begin[0], "reset all");
        assert!(begin[1].starts_with("alter system set pga_aggregate_target = "));
        assert_eq!(begin[2..], ["set enable_nestloop = off", "set enable_hashjoin = off"]);
        assert_eq!(WAYS[0].begin()[1], "alter system set pga_aggregate_target = 0");
    }

    #[test]
    fn ways_have_names_of_their_own() {
        for (number, way) in WAYS.iter().enumerate() {
            assert!(WAYS[..number].iter().all(|other| other.name != way.name), "{}", way.name);
        }
    }
}
