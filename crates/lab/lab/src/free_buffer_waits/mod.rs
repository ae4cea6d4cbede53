//! `free-buffer-waits`: how do `filesystemio_options`, writers and I/O slaves go together, when
//! sessions change more than the cache holds?
//!
//! Fifteen sessions change every row of a table each, more blocks than there are buffers, with logs
//! that aren't switched. Sessions wait for writes only when they lack free buffers, so the number
//! of writes in flight decides. The experiment compares all cells of a table, not two settings, so
//! it isn't in `catalogue`.
//!
//! ```text
//!   turns ──each step──▶ run: restore, open, measure, crash, open again, audit ──▶ a row
//!                                                                                    │
//!                        report, text ◀── statements: pairs of cells of a round ◀────┘
//! ```
//!
//! * [`Matrix`], [`Setting`], [`Size`]: the request. [`run`] carries it out here, on a disk made
//!   slow, or on a model.
//! * [`Report`]: times, statements and profiles; as text or JSON. A row for each run goes to the
//!   follower.

mod asked;
mod audit;
mod measure;
mod report;
mod run;
mod setting;
mod text;

pub use measure::Size;
pub use report::Report;
pub use run::{Matrix, run};
pub use setting::Setting;

/// Its name on the command line.
pub const NAME: &str = "free-buffer-waits";
/// The question.
pub const QUESTION: &str =
    "which filesystemio_options, how many writers and I/O slaves, when the cache is too small?";
/// The disk that it is run on if none is named: slow to acknowledge, and does much at once.
pub const DISK: &str = "array";
