//! The plan of a statement: the plan of its frame, what is done with the rows, and what it all
//! rests on.
//!
//! ```text
//!   Plan ── tables, by their numbers
//!    ├── frame:  what gives the rows (`FramePlan`)
//!    ├── action: give the rows │ lock them │ INSERT │ UPDATE │ DELETE │ MERGE
//!    └── basis:  the objects that were read, and the generation of the dictionary
//! ```
//!
//! Invariants
//!   * a plan owns all that it has, and borrows nothing: sessions share it
//!   * a table is named by its number, an index by its identifier, never by a place (rule SQ31)
//!   * a plan is never changed: when what it rests on has changed, another one is made
//!
//! Callers: `cache` makes plans; `run` and `change` run them; `explain` shows them.

use std::collections::BTreeSet;

use catalog::{Catalog, ObjectId};
use expression::Kind;
use ids::ObjectNo;
use latch::Shared64;
use os::Session;
use rowsource::Cut;

use super::node::FramePlan;
use crate::bind::{LockRows, MergeBranch, OnConflict, OutputColumn, Returning};

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
}

impl Plan {
    /// Whether rows are what the statement is about, and not what it changes.
    pub(crate) fn is_query(&self) -> bool {
        matches!(self.action, Action::Query | Action::Lock(_))
    }
}

/// What a plan rests on.
pub(crate) struct Basis {
    /// The generation of the dictionary, read before the statement was bound.
    pub(crate) generation: u64,
    /// The objects that it read.
    pub(crate) objects: BTreeSet<ObjectId>,
    /// A later generation in which the plan was found to hold.
    checked: Shared64,
}

impl Basis {
    /// A plan rests on these objects, as they were in this generation.
    pub(crate) fn new(generation: u64, objects: BTreeSet<ObjectId>) -> Basis {
        Basis { generation, objects, checked: Shared64::new(generation) }
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
