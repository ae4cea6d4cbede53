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
    let logical = inline_all(logical, frame);
    rewritten(logical, frame)
}

/// Puts queries of WITH where they are read, in all frames: what a subquery computes once by then
/// reads no row, so its frame may become a part of the one outside.
fn inline_all(logical: Logical, frame: &mut FrameParts) -> Logical {
    for subplan in &mut frame.subqueries {
        let inner = std::mem::replace(&mut subplan.logical, Logical::no_rows(0));
        subplan.logical = inline_all(inner, &mut subplan.frame);
    }
    inline::inline(logical, frame)
}

/// Rewrites a tree in which queries of WITH stand where they are read.
fn rewritten(mut logical: Logical, frame: &mut FrameParts) -> Logical {
    fold::fold(&mut logical);
    logical = unnest::unnest(logical, frame);
    for number in 0..frame.shared.len() {
        let mut shared = std::mem::replace(&mut frame.shared[number].logical, Logical::no_rows(0));
        fold::fold(&mut shared);
        let shared = unnest::unnest_shared(shared, frame);
        frame.shared[number].logical = prune::prune_all(pull::pull(push::push(shared, Vec::new())));
    }
    // One that became a join has nothing left to do, and those within it are in this frame by now:
    // each level of nesting would double the work.
    let asked = unnest::asked_in(&logical, frame);
    for (number, subplan) in frame.subqueries.iter_mut().enumerate() {
        if !subplan.is_join || asked.contains(&number) {
            let inner = std::mem::replace(&mut subplan.logical, Logical::no_rows(0));
            subplan.logical = rewritten(inner, &mut subplan.frame);
        }
    }
    prune::prune_all(pull::pull(push::push(logical, Vec::new())))
}

/// The tree of a frame, and those of its subqueries, without columns that nobody asks for, and else
/// as they were bound.
pub(crate) fn pruned(logical: Logical, frame: &mut FrameParts) -> Logical {
    for subplan in &mut frame.subqueries {
        let inner = std::mem::replace(&mut subplan.logical, Logical::no_rows(0));
        subplan.logical = pruned(inner, &mut subplan.frame);
    }
    for shared in &mut frame.shared {
        let inner = std::mem::replace(&mut shared.logical, Logical::no_rows(0));
        shared.logical = prune::prune_all(inner);
    }
    prune::prune_all(logical)
}
