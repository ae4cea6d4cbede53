//! Frames: what runs with slots of its own, and what belongs to it beside its tree.
//!
//! ```text
//!   statement's frame: slots │ subqueries ──▶ a subquery's frame: slots │ subqueries ──▶ …
//!                              calls │ shared queries
//! ```
//!
//! Callers: `bind` makes frames, `rewrite` empties some of them into others, `plan` plans them.

use std::collections::BTreeSet;

use expression::{Expression, Kind};

use super::{HostCall, Logical};

/// What runs with slots of its own: the statement, or a subquery in an expression.
#[derive(Clone, Debug, Default)]
pub(crate) struct FrameParts {
    /// The number of the statement's parameters, which are the first slots of each frame.
    pub(crate) binds: usize,
    /// The kinds of its slots.
    pub(crate) slots: Vec<Kind>,
    /// Its subqueries, by the numbers that its expressions know them by.
    pub(crate) subqueries: Vec<Subplan>,
    /// What its expressions ask of the connection, by place.
    pub(crate) calls: Vec<HostCall>,
    /// The queries that are computed once, by number.
    pub(crate) shared: Vec<SharedQuery>,
}

/// A subquery in an expression.
#[derive(Clone, Debug)]
pub(crate) struct Subplan {
    /// Its rows.
    pub(crate) logical: Logical,
    /// Its own frame.
    pub(crate) frame: FrameParts,
    /// The slots of its frame that the arguments of a question go into, in their order.
    pub(crate) arguments: Vec<usize>,
    /// Whether a question to it became a join.
    pub(crate) is_join: bool,
}

/// A query that is computed once, however often its rows are read.
#[derive(Clone, Debug)]
pub(crate) struct SharedQuery {
    pub(crate) logical: Logical,
    /// How many nodes read it.
    pub(crate) uses: usize,
    /// Whether the statement says MATERIALIZED, or NOT MATERIALIZED.
    pub(crate) said: Option<bool>,
    /// Whether its rows, or those of a query that it reads, may differ from one run to the next.
    pub(crate) is_volatile: bool,
    /// Whether it, or a query that it reads, may read a row outside. May say yes where none does.
    pub(crate) reads_row: bool,
    /// Whether it, or a query that it reads, does.
    pub(crate) reads_outside: bool,
}

impl FrameParts {
    /// Whether the rows of a tree of this frame may differ from one run to the next, with the same
    /// slots. Queries that are computed once count if they are computed anew for each run
    /// (`and_shared`).
    pub(crate) fn is_volatile(&self, logical: &Logical, and_shared: bool) -> bool {
        if let (Logical::Shared { number, .. }, true) = (logical, and_shared) {
            return self.shared.get(*number).is_some_and(|query| query.is_volatile);
        }
        let mut is = false;
        logical.each_expression(&mut |one| {
            is |= super::is_volatile(one);
            one.walk(&mut |part| {
                if let Expression::Subquery(subquery) = part
                    && let Some(Subplan { logical, frame, .. }) =
                        self.subqueries.get(subquery.number)
                {
                    // It has a frame of its own, and computes what it reads by itself.
                    is = is || frame.is_volatile(logical, true);
                }
            });
        });
        is || logical.inputs().any(|input| self.is_volatile(input, and_shared))
    }

    /// Whether a tree of this frame, of a statement with this many parameters, reads a row outside
    /// of the tree: a slot that it doesn't set.
    pub(crate) fn reads_outside(&self, logical: &Logical, binds: usize) -> bool {
        let mut own = BTreeSet::new();
        logical.add_set_slots(&mut own);
        self.reads_shared_outside(logical)
            || logical.reads_slots(&|slot| slot >= binds && !own.contains(&slot))
    }

    fn reads_shared_outside(&self, logical: &Logical) -> bool {
        if let Logical::Shared { number, .. } = logical {
            return self.shared.get(*number).is_some_and(|query| query.reads_outside);
        }
        logical.inputs().any(|input| self.reads_shared_outside(input))
    }

    /// Whether a tree of this frame, of a statement with this many parameters, may read a row
    /// outside. May say yes where it doesn't.
    pub(crate) fn reads_row(&self, logical: &Logical, binds: usize) -> bool {
        let reads = match logical {
            Logical::Shared { number, .. } => {
                self.shared.get(*number).is_some_and(|query| query.reads_row)
            }
            _ => false,
        };
        reads
            || logical.reads_own_slots(&|slot| slot >= binds)
            || logical.inputs().any(|input| self.reads_row(input, binds))
    }
}
