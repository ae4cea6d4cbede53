//! `free-buffer-waits`: how do `filesystemio_options`, writers and I/O slaves go together, when
//! sessions change more than the cache holds?
//!
//! Fifteen sessions change every row of a table each, more blocks than there are buffers, with logs
//! that aren't switched. Nobody waits for the writes but for want of free buffers; what decides is
//! how many writes are on their way at once. No two settings are compared but all of a table, so it
//! isn't one of the experiments of `catalogue`: the answer is a time profile for each cell, and a
//! sentence on which cells more writers pay in.
//!
//! * [`Matrix`], [`Setting`], [`Size`]: what is asked. [`run`]: here, on a disk made slow, or on a
//!   model.
//! * [`Found`]: times and profiles; as text or JSON.

mod measure;
mod report;
mod run;
mod setting;

pub use measure::Size;
pub use report::Found;
pub use run::{Matrix, run};
pub use setting::Setting;

/// Its name on the command line.
pub const NAME: &str = "free-buffer-waits";
/// What it asks.
pub const QUESTION: &str =
    "which filesystemio_options, how many writers and I/O slaves, when the cache is too small?";
/// The disk that it is run on if none is named: slow to acknowledge, and does much at once.
pub const DISK: &str = "array";
