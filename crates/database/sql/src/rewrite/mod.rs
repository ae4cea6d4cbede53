//! A tree of operations made better without knowing how much there is of anything: what is true of
//! every table.
//!
//! ```text
//!   inline ─▶ fold ─▶ unnest ─▶ push ─▶ pull ─▶ prune
//!      │        │        │        │       │       └ columns that nobody asks for aren't read
//!      │        │        │        │       └ inner joins come next to one another
//!      │        │        │        └ conditions go down; outer joins become inner ones
//!      │        │        └ IN and EXISTS become joins
//!      │        └ constants are computed
//!      └ a query of WITH that is read once stands where it is read
//! ```
//!
//! Invariants
//!   * a rewritten tree gives the same rows, in the same order if it has one, for every content of
//!     its tables (rule SQ20)
//!   * an expression that may differ from one evaluation to the next is never evaluated twice, and
//!     stays above or below what it was above or below (rule SQ21)
//!
//! Callers: `plan`; `define`, for what a view reads.
//! Sources: Galindo-Legaria and Joshi, Orthogonal Optimization of Subqueries (SIGMOD 2001), for
//! joins of subqueries and outer joins; PostgreSQL's `prepjointree.c`.

mod conditions;
mod equality;
mod fold;
mod inline;
mod prune;
mod pull;
mod push;
mod unnest;

#[cfg(test)]
mod tests;

use crate::logical::{FrameParts, Logical};

pub(crate) use conditions::{columns_of, reads_no_row, reads_only, shifted};
pub(crate) use equality::equal_columns;

/// Rewrites the tree of a frame, and those of its subqueries.
pub(crate) fn rewrite(logical: Logical, frame: &mut FrameParts) -> Logical {
    let mut logical = inline::inline(logical, frame);
    fold::fold(&mut logical);
    logical = unnest::unnest(logical, frame);
    for subplan in &mut frame.subqueries {
        let inner = std::mem::replace(&mut subplan.logical, Logical::one_row());
        subplan.logical = rewrite(inner, &mut subplan.frame);
    }
    for number in 0..frame.shared.len() {
        let shared = std::mem::replace(&mut frame.shared[number].logical, Logical::one_row());
        frame.shared[number].logical = shared_query(shared, frame);
    }
    prune::prune_all(pull::pull(push::push(logical, Vec::new())))
}

/// Rewrites a query that is computed once; those that it reads stay as they are.
fn shared_query(mut logical: Logical, frame: &mut FrameParts) -> Logical {
    fold::fold(&mut logical);
    let logical = unnest::unnest(logical, frame);
    prune::prune_all(pull::pull(push::push(logical, Vec::new())))
}

/// The tree of a frame, and those of its subqueries, without columns that nobody asks for, and else
/// as they were bound.
pub(crate) fn pruned(logical: Logical, frame: &mut FrameParts) -> Logical {
    for subplan in &mut frame.subqueries {
        let inner = std::mem::replace(&mut subplan.logical, Logical::one_row());
        subplan.logical = pruned(inner, &mut subplan.frame);
    }
    for shared in &mut frame.shared {
        let inner = std::mem::replace(&mut shared.logical, Logical::one_row());
        shared.logical = prune::prune_all(inner);
    }
    prune::prune_all(logical)
}
