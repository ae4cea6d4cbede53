//! A race: ours and a rival, run in turn, and what may be claimed of the difference.
//!
//! ```text
//!   Race ── Workload ── pairs ──▶ named metrics of each run
//!                │                    │ a case picks one metric
//!                └── Case ────────────▼
//!                          ratio (> 1: ours is better), 95 % interval, goal, verdict
//!                                     │
//!                                     ▼ table for people, one JSON line for programs
//! ```
//!
//!   * [`pairs`]: the order of the runs and their figures
//!   * [`case`]: from paired figures to a ratio and a verdict
//!   * `build`: another build of ours as the rival: what did a change cost?
//!   * [`terms`]: what a reader has to know before the figures mean anything
//!   * [`report`]: the table
//!   * [`line`]: the JSON line, written and read
//!   * [`run`]: a whole race from header to last line
//!
//! Rules
//!   * At least ten pairs, in ABBA order, so that a drift of the machine hits both alike (RM2).
//!   * The ratio is above 1 where ours is better, whichever way the metric points.
//!   * `met` is true where the interval's lower end reaches the goal, false where its upper end is
//!     below it, and "undecided" between (RM2).
//!   * The last line on standard output is the JSON line; progress goes to standard error.

mod build;
pub mod case;
pub mod line;
pub mod pairs;
pub mod report;
pub mod run;
pub mod terms;

pub use case::{Case, CaseResult};
pub use line::{Ahead, CaseLine, Line};
pub use pairs::{Metrics, PAIRS_MIN, Samples, Side, Turn, metric, run_pairs};
pub use report::Outcome;
pub use run::{Plan, Race, Workload};
pub use terms::Terms;
