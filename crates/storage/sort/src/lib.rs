//! Sorts of any size, within a bound of memory: for index builds and ORDER BY.
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
//! Rules ST are in the README.
//!
//! * [`Sorter`]: takes rows in any order.
//! * [`Sorted`]: gives them in order.
//! * [`SortConfig`]: memory and directory.
//!
//! Callers: index builds; ORDER BY. Sources: Nyberg et al., AlphaSort (SIGMOD '94), for chunks of
//! the cache's size and prefixes of keys; Knuth, volume 3, 5.4.1, for the tree of losers; Graefe,
//! Implementing Sorting in Database Systems (ACM Computing Surveys, 2006), for the rest. Oracle's
//! `sort_area_size` and its waits.

#![forbid(unsafe_code)]

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
mod temp_file;

pub use config::{RECORD_BYTES_MAX, SORT_AREA_BYTES_MAX, SORT_AREA_BYTES_MIN, SortConfig};
pub use sorted::Sorted;
pub use sorter::Sorter;
