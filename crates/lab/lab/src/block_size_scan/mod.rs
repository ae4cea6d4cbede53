//! `block-size-scan`: does the size of blocks matter to a scan, or the length of its reads?
//!
//! A table of 24 columns is loaded from a flat file, by an external table and CREATE TABLE AS, into
//! tablespaces of four block sizes. Then `select *` reads each of them, a hundred rows a fetch, by
//! an instance that was just opened. All of it goes through SQL. The experiment compares all cells
//! of a table, not two settings, so it isn't in `catalogue`.
//!
//! ```text
//!   file ─ external table ─ CREATE TABLE AS ─▶ web_returns_2k, _4k, _8k, _16k ─ crash ─ audit
//!                                                                                    │
//!   round: each block size, each length of reads ─▶ open, scan, shut ─▶ a row  ◀─────┘
//!                                                            │
//!   report ◀── statements, spread ◀──────────────────────────┘
//!      └◀───── one more scan of each table, traced ─▶ trace lines, TKPROF
//! ```
//!
//! * [`Scans`], [`Setting`], [`ReadSize`], [`Size`]: the request. [`run`] carries it out here or on
//!   a model.
//! * [`Report`]: the table, the spread between block sizes, statements, traces; as text or JSON. A
//!   row for each run goes to the follower.
//!
//! Source: Greg Rahn, "Automatic DB_FILE_MULTIBLOCK_READ_COUNT" (2008), whose experiment it is.

mod asked;
mod audit;
mod load;
mod measure;
mod report;
mod run;
mod setting;
mod text;
mod tkprof;
mod trace;
mod world;

pub use load::Size;
pub use report::Report;
pub use run::{Scans, run};
pub use setting::{ReadSize, Setting};

/// Its name on the command line.
pub const NAME: &str = "block-size-scan";
/// The question.
pub const QUESTION: &str = "does the block size matter to a scan, or the length of its reads?";
/// The difference that matters, in per cent, if nothing else is asked for.
pub const MATTERS: f64 = 5.0;
