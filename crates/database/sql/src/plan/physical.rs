//! The plan of a statement: the plan of its frame, what is done with the rows, and what it all
//! rests on.
//!
//! ```text
//!   Plan ── tables, by their numbers
//!    ├── frame:  what gives the rows (`FramePlan`)
//!    ├── action: give the rows │ lock them │ INSERT │ UPDATE │ DELETE │ MERGE
//!    └── basis:  the objects that were read, the generation of the dictionary, sizes of tables
//! ```
//!
//! Invariants
//!   * a plan owns all that it has, and borrows nothing: sessions share it
//!   * a table is named by its number, an index by its identifier, never by a place (rule SQ31)
//!   * a plan is never changed: when what it rests on has changed, another one is made
//!   * whether a plan holds is a matter of right answers, whether a table has outgrown it of speed
//!     alone: that is looked at once a second (rule SQ36)
//!
//! Callers: `cache` makes plans; `run` and `change` run them; `explain` shows them.

use std::collections::{BTreeMap, BTreeSet};

use catalog::{Catalog, ObjectId};
use expression::Kind;
use ids::ObjectNo;
use latch::{Guess, Shared64};
use os::Session;
use rowsource::Cut;
use waits::{Nanos, Timestamp};

use super::node::FramePlan;
use crate::bind::{LockRows, MergeBranch, OnConflict, OutputColumn, Returning};
use crate::stack::{self, LEVELS_FEW};
use crate::statistics::has_outgrown;

/// How long the tables of a plan are taken to have the sizes that they had: a look costs a get for
/// each of them, which is much beside a run of a few microseconds.
const SIZES_HOLD: Nanos = Nanos::from_secs(1);

/// As the moment of the last look: a table has outgrown the plan.
const OUTGROWN: u64 = u64::MAX;

/// A plan of a statement.
pub(crate) struct Plan {
    /// The tables whose rows it reads or changes, each once. Nodes and actions name one by its
    /// place here.
    pub(crate) tables: Vec<ObjectNo>,
    /// What gives the rows.
    pub(crate) frame: FramePlan,
    /// What is done with them.
    pub(crate) action: Action,
    /// The columns of what the statement gives: of a query, or of RETURNING. Empty: it gives
    /// nothing.
    pub(crate) columns: Vec<OutputColumn>,
    /// The kinds of its parameters; unknown for one that may be of any kind.
    pub(crate) binds: Vec<Kind>,
    /// What it rests on.
    pub(crate) basis: Basis,
    /// How many levels are in work at once while it runs.
    pub(crate) levels: usize,
}

impl Plan {
    /// Whether rows are what the statement is about, and not what it changes.
    pub(crate) fn is_query(&self) -> bool {
        matches!(self.action, Action::Query | Action::Lock(_))
    }

    /// The stack that a run takes at most (rule SQ69).
    #[inline]
    pub(crate) fn stack(&self) -> usize {
        stack::to_run(self.levels)
    }
}

/// A plan is dropped by whoever has it last, on a stack that may be short.
impl Drop for Plan {
    fn drop(&mut self) {
        if self.levels > LEVELS_FEW {
            let frame = std::mem::replace(&mut self.frame, FramePlan::empty());
            let action = std::mem::replace(&mut self.action, Action::Query);
            stack::dropped(self.levels, (frame, action));
        }
    }
}

/// What a plan rests on.
pub(crate) struct Basis {
    /// The generation of the dictionary, read before the statement was bound.
    pub(crate) generation: u64,
    /// The objects that it read.
    pub(crate) objects: BTreeSet<ObjectId>,
    /// The blocks that each table whose rows it reads was taken to have.
    sizes: BTreeMap<ObjectNo, f64>,
    /// A later generation in which the plan was found to hold.
    checked: Shared64,
    /// When the sizes were looked at last, or [`OUTGROWN`].
    looked: Guess,
}

impl Basis {
    /// A plan rests on these objects, as they were in this generation, and on tables of so many
    /// blocks.
    pub(crate) fn new(
        generation: u64,
        objects: BTreeSet<ObjectId>,
        sizes: BTreeMap<ObjectNo, f64>,
    ) -> Basis {
        let (checked, looked) = (Shared64::new(generation), Guess::default());
        Basis { generation, objects, sizes, checked, looked }
    }

    /// Notes that the sizes were looked at in this moment.
    pub(crate) fn note_looked(&self, now: Timestamp) {
        self.looked.store(now.as_nanos());
    }

    /// Whether a table has outgrown the plan (rule SQ36). `blocks_of` says how many blocks a table
    /// has now, none if it isn't there any more or nobody can say; it is asked once in
    /// [`SIZES_HOLD`], whoever asks this. Once it is so it stays so.
    #[inline]
    pub(crate) fn is_outgrown<E>(
        &self,
        now: Timestamp,
        blocks_of: impl FnMut(ObjectNo) -> Result<Option<u32>, E>,
    ) -> Result<bool, E> {
        match self.looked.load() {
            OUTGROWN => Ok(true),
            looked if now.since(Timestamp::from_nanos(looked)) < SIZES_HOLD => Ok(false),
            _ => self.look_at_sizes(now, blocks_of),
        }
    }

    #[cold]
    fn look_at_sizes<E>(
        &self,
        now: Timestamp,
        mut blocks_of: impl FnMut(ObjectNo) -> Result<Option<u32>, E>,
    ) -> Result<bool, E> {
        // First of all: others needn't look meanwhile.
        self.note_looked(now);
        for (object, then) in &self.sizes {
            // What isn't there any more is found out by `holds`.
            if blocks_of(*object)?.is_some_and(|blocks| has_outgrown(*then, blocks.into())) {
                self.looked.store(OUTGROWN);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether none of the objects has changed since. Asked after the statement has its snapshot:
    /// so the plan holds for all that the snapshot sees (rule SQ30).
    #[inline]
    pub(crate) fn holds(&self, catalog: &Catalog, session: &Session) -> bool {
        let now = catalog.generation(session);
        now == self.checked.load(session) || self.holds_in(now, catalog, session)
    }

    #[cold]
    fn holds_in(&self, now: u64, catalog: &Catalog, session: &Session) -> bool {
        let is_as_before = |object: &ObjectId| {
            catalog.version(*object, session).is_some_and(|version| version <= self.generation)
        };
        let holds = self.objects.iter().all(is_as_before);
        if holds {
            self.checked.store(now, session);
        }
        holds
    }
}

/// What a statement does with its rows.
pub(crate) enum Action {
    /// It gives them.
    Query,
    /// It locks rows of tables, and gives the rows when all are locked.
    Lock(LockAction),
    Insert(InsertAction),
    Update(UpdateAction),
    Delete(DeleteAction),
    Merge(MergeAction),
}

/// Rows that are locked.
pub(crate) struct LockAction {
    pub(crate) tables: Vec<LockedColumn>,
    pub(crate) if_held: LockRows,
    /// Of the rows that are locked; a row that is passed by doesn't count.
    pub(crate) cut: Cut,
    /// The columns of the output are the first `width` of the root's; then come the addresses.
    pub(crate) width: usize,
}

/// A table of which rows are locked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LockedColumn {
    /// The table's place among those of the plan.
    pub(crate) table: usize,
    /// The column of the root with the addresses.
    pub(crate) column: usize,
}

/// INSERT. The root has a column for each of the table, in the table's order.
pub(crate) struct InsertAction {
    pub(crate) table: usize,
    pub(crate) on_conflict: Option<OnConflict>,
    /// Over the columns of the row as the table holds it.
    pub(crate) returning: Option<Returning>,
    /// Whether the rows come from a query and not from VALUES.
    pub(crate) is_of_query: bool,
    /// Whether the hint APPEND asks for the direct path.
    pub(crate) appends: bool,
}

/// UPDATE. The first column of the root is the row's address, and behind it come the new values of
/// `columns`.
pub(crate) struct UpdateAction {
    pub(crate) table: usize,
    pub(crate) columns: Vec<usize>,
    /// Whether the root gives each row of the table once at most: no other table is joined. Where
    /// this isn't known it is false.
    pub(crate) each_once: bool,
    /// Over the root's row, in which the new values are as the table holds them.
    pub(crate) returning: Option<Returning>,
}

/// DELETE. The first column of the root is the row's address.
pub(crate) struct DeleteAction {
    pub(crate) table: usize,
    /// Over the root's row.
    pub(crate) returning: Option<Returning>,
}

/// MERGE. The root has the address of the table's row, or NULL; TRUE if there is a row of the
/// source, or NULL; and then the columns of both.
pub(crate) struct MergeAction {
    pub(crate) table: usize,
    pub(crate) branches: Vec<MergeBranch>,
    /// Over the root's row, with the table's columns as they are afterwards.
    pub(crate) returning: Option<Returning>,
    /// Of each column of the table, the number in the root's row, if it is there.
    pub(crate) target: Vec<Option<usize>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan of a table of ten blocks, made ten seconds after the beginning of the world.
    fn basis() -> Basis {
        let sizes = BTreeMap::from([(ObjectNo::new(7), 10.0)]);
        let basis = Basis::new(1, BTreeSet::new(), sizes);
        basis.note_looked(Timestamp::from_nanos(10_000_000_000));
        basis
    }

    /// Whether it is outgrown after so many milliseconds, with a table of so many blocks, and how
    /// often these were looked at.
    fn asked(basis: &Basis, ms: u64, blocks: Option<u32>) -> (bool, u32) {
        let now = Timestamp::from_nanos((10_000 + ms) * 1_000_000);
        let mut looks = 0;
        let found = basis.is_outgrown(now, |object| {
            assert_eq!(object, ObjectNo::new(7));
            looks += 1;
            Ok::<_, ()>(blocks)
        });
        (found.expect("nothing is refused"), looks)
    }

    #[test]
    fn a_table_outgrows_a_plan_at_ten_times_its_size() {
        let basis = basis();
        assert_eq!(asked(&basis, 1_000, Some(99)), (false, 1));
        assert_eq!(asked(&basis, 2_000, Some(3)), (false, 1), "it may be smaller");
        assert_eq!(asked(&basis, 3_000, None), (false, 1), "that is for others to find out");
        assert_eq!(asked(&basis, 4_000, Some(100)), (true, 1));
    }

    /// Rule SQ36: a run of a microsecond can't afford a look.
    #[test]
    fn sizes_are_looked_at_once_a_second() {
        let basis = basis();
        assert_eq!(asked(&basis, 999, Some(1_000)), (false, 0));
        assert_eq!(asked(&basis, 1_000, Some(20)), (false, 1));
        assert_eq!(asked(&basis, 1_001, Some(1_000)), (false, 0));
        assert_eq!(asked(&basis, 1_999, Some(1_000)), (false, 0));
        assert_eq!(asked(&basis, 2_000, Some(1_000)), (true, 1));
        assert_eq!(asked(&basis, 2_001, Some(10)), (true, 0), "all who have the plan are told");
    }

    /// A look that is refused isn't the last one.
    #[test]
    fn a_refused_look_is_tried_again() {
        let basis = basis();
        let refused = basis.is_outgrown(Timestamp::from_nanos(11_000_000_000), |_| Err("gone"));
        assert_eq!(refused, Err("gone"));
        assert_eq!(asked(&basis, 2_000, Some(100)), (true, 1));
    }

    #[test]
    fn a_plan_without_tables_is_never_outgrown() {
        let basis = Basis::new(1, BTreeSet::new(), BTreeMap::new());
        let long_after = Timestamp::from_nanos(u64::MAX - 1);
        let found = basis.is_outgrown(long_after, |_| Err("asked"));
        assert_eq!(found, Ok(false));
    }
}
