//! The check of a whole database: every block, free space, segments, undo, heaps and indexes, the
//! dictionary, and tables against their indexes.
//!
//! ```text
//!   closed: files, read only ──┐                      ┌──▶ findings, one line each, as they come
//!                              ├──▶ Source ──▶ checks ┤
//!   open:   cache, latches ────┘                      └──▶ report: what was looked at, counts
//! ```
//!
//! Both use the same checks, which believe nothing: the crate that owns a block's layout (`space`,
//! `txn`, `access`, `catalog`) checks its bytes first, and only what has passed is used (VF5).
//! Rules VF1 to VF51 are in the README.
//!
//! * [`closed`], [`open`]: the check of a database that is shut, or of one that sessions work on.
//! * [`Task`]: a check that is asked for; [`Pair`]: an index and its heap, unknown to the
//!   dictionary.
//! * [`Finding`], [`Kind`]: a fault, and the advice; [`Report`]: the counts at the end.
//!
//! Callers: `forebay verify`; tests that hold a database against itself.

#![forbid(unsafe_code)]

mod blocks;
mod closed;
mod control;
mod dictionary;
mod finding;
mod foreign;
mod heap;
mod index;
mod live;
mod pairs;
mod report;
mod rings;
mod segments;
mod sequences;
mod source;
mod typed;

pub use closed::closed;
pub use finding::{Finding, Kind};
pub use live::open;
pub use pairs::Pair;
pub use report::{Progress, Report, TOLD_MAX, Task};
