//! `redo-size`: how does the time of a commit depend on the redo since the last one?
//!
//! One session and nobody beside it updates rows until it has made so much redo, and commits; the
//! commit is timed. Redo is also written in the background at each megabyte, so what a commit has
//! to wait for falls back there: the curve is a saw-tooth with that period. No two settings are
//! compared, so it isn't one of the experiments of `catalogue`: the answer is a curve and a fit.
//!
//! * [`Curve`], [`Sizes`]: what is asked. [`run`]: here or on a model.
//! * [`Found`]: the curve, the period with its interval; as text or JSON.

mod measure;
mod report;
mod run;

pub use measure::Sizes;
pub use report::Found;
pub use run::{Curve, run};

/// Its name on the command line.
pub const NAME: &str = "redo-size";
/// What it asks.
pub const QUESTION: &str = "how does the time of a commit depend on the redo since the last one?";
