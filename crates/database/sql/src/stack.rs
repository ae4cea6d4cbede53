//! The stack that statements need: their trees, plans and row sources are as deep as what was
//! written, and each level takes a part of the thread's stack.
//!
//! ```text
//!   read, bind, rewrite, plan, define ─▶ always with MAKING: limits bound what that takes
//!   run, fetch, close                 ─▶ by the levels of the plan: most run where they are
//!   drop                              ─▶ the same
//! ```
//!
//! The figures are those of a build without optimisation, where a level of the parser takes up to
//! some 200 KiB, and one of a run a few: what is optimised takes a tenth. They are bounds and not
//! measures, so a figure that is too large costs another stack, mapped and unmapped again: some
//! microseconds, and the first touch of its pages.
//!
//! Invariant: what walks a tree that a statement's text has made runs with a stack of this module,
//! or below one that does (rule SQ69).
//!
//! Callers: whatever makes, runs or drops what was made of a text.

use os::STACK_ASKED_MAX;
pub(crate) use os::with_stack;

/// What making something of a text takes at most: 64 levels of the parser, 400 of the binder, as
/// many of joins, views and set operations.
pub(crate) const MAKING: usize = STACK_ASKED_MAX;

/// What the query of a view takes while another one is bound: the views within it ask for the same.
pub(crate) const VIEW: usize = 24 << 20;

/// What a run takes beside its levels, and each of them.
const RUN: usize = 256 << 10;
const RUN_LEVEL: usize = 16 << 10;

/// What dropping takes beside the levels, and each of them.
const DROP: usize = 32 << 10;
const DROP_LEVEL: usize = 2 << 10;

/// The levels that are dropped without asking how much stack is left.
pub(crate) const LEVELS_FEW: usize = 16;

/// The most levels of a statement's tree: those of the text, and some for each.
const TREE_LEVELS_MAX: usize = 8 * syntax::TREE_DEPTH_MAX;

/// The stack that a run of so many levels takes at most.
#[inline]
pub(crate) fn to_run(levels: usize) -> usize {
    levels.saturating_mul(RUN_LEVEL).saturating_add(RUN).min(STACK_ASKED_MAX)
}

/// Drops what has so many levels.
pub(crate) fn dropped<T>(levels: usize, value: T) {
    let bytes = levels.saturating_mul(DROP_LEVEL).saturating_add(DROP).min(STACK_ASKED_MAX);
    with_stack(bytes, || drop(value));
}

/// Drops what was read of a text. It has no more levels than the text has bytes.
pub(crate) fn dropped_tree<T>(text: &str, tree: T) {
    dropped(text.len().min(TREE_LEVELS_MAX), tree);
}
