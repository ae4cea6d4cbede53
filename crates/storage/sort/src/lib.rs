//! Work areas: sorts of any size and spools of rows, in memory that all of them share.
//!
//! ```text
//!   push ──▶ chunk │ chunk │ … each sorted when it is full
//!              └───────┴── all full: merged ──▶ run │ run │ …     in one temporary file
//!                                                └─────┴── too many? merged into one, and again
//!   next_row ◀──── merge of the chunks, or of the runs
//! ```
//!
//! Why chunks and not replacement selection, whose runs are twice as long: that moves through all
//! its memory with every row, needs memory that is given back row by row, and saves only a merge
//! pass that at today's sizes of memory isn't needed anyway. A chunk is sorted in the processor's
//! cache, by the first eight bytes of the keys as long as these differ. The merge of runs on disk
//! also merges chunks in memory.
//!
//! A spool keeps rows as they come, for hash joins and groups whose rows don't fit in memory. It is
//! written and read by the same code as a run.
//!
//! Rules ST are in the README.
//!
//! * [`SortState`]: takes rows in any order; [`Sorter`]: with its session, within one call.
//! * [`SortedState`]: gives them in order; [`Sorted`]: with its session, within one call.
//! * [`SpoolFile`], [`Spool`], [`SpoolReader`]: rows in the order in which they came.
//! * [`Budget`], [`Grant`]: the memory for work areas of an instance, and that of one of them.
//! * [`SortConfig`]: memory and directory.
//!
//! Callers: index builds; the row sources of SQL. Sources: Nyberg et al., AlphaSort (SIGMOD '94),
//! for chunks of the cache's size and prefixes of keys; Knuth, volume 3, 5.4.1, for the tree of
//! losers; Graefe, Implementing Sorting in Database Systems (ACM Computing Surveys, 2006), for the
//! rest. Oracle's `sort_area_size`, `pga_aggregate_target` and its waits.

#![forbid(unsafe_code)]

mod budget;
mod chunk;
mod config;
mod merge;
mod passes;
mod record;
mod run;
mod run_reader;
mod run_writer;
mod sorted;
mod sorter;
mod space;
mod spool;
mod temp_file;

pub use budget::{Budget, BudgetReading, GRANT_BYTES_MIN, Grant};
pub use config::{RECORD_BYTES_MAX, SORT_AREA_BYTES_MAX, SORT_AREA_BYTES_MIN, SortConfig};
pub use sorted::{Sorted, SortedState};
pub use sorter::{SortState, Sorter};
pub use spool::{Spool, SpoolFile, SpoolReader, SpoolShape};
