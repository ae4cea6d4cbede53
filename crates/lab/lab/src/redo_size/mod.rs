//! `redo-size`: how does the time of a commit depend on the redo since the last one?
//!
//! One session alone updates rows until it has made a given amount of redo, and commits; the commit
//! is timed. LGWR also writes redo at each megabyte, so the redo that a commit waits for falls back
//! there: the curve is a saw-tooth with that period. The experiment compares no two settings, so it
//! isn't in `catalogue`: the answer is a curve and a fit.
//!
//! * [`Curve`], [`Sizes`]: the request. [`run`] carries it out here or on a model.
//! * [`Report`]: the curve, the period with its interval; as text or JSON.

mod audit;
mod measure;
mod report;
mod run;

pub use measure::Sizes;
pub use report::Report;
pub use run::{Curve, run};

/// Its name on the command line.
pub const NAME: &str = "redo-size";
/// The question.
pub const QUESTION: &str = "how does the time of a commit depend on the redo since the last one?";
