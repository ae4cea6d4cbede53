//! The check of a whole database: every block, free space, segments, undo, heaps and indexes, the
//! dictionary, and tables against their indexes.
//!
//! ```text
//!   closed: files, read only ──┐                      ┌──▶ findings, one line each, as they come
//!                              ├──▶ Source ──▶ checks ┤
//!   open:   cache, latches ────┘                      └──▶ report: what was looked at, counts
//! ```
//!
//! The checks are the same for both, and believe nothing: what a block says is looked at by the
//! crate that knows its layout (`space`, `undo`, `block`, `access`, `catalog`), and only what has
//! passed there is used. Rules VF1 to VF16 are in the README.
//!
//! * [`closed`], [`open`]: the check of a database that is shut, or of one that others work on.
//! * [`Task`]: what is asked for; [`Pair`]: an index and the heap that it must agree with.
//! * [`Finding`], [`Kind`]: what is wrong, and what to do; [`Report`]: what there was.
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
pub use report::{Progress, Report, Task};
