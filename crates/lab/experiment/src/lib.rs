//! Experiments: in which order to run what, how to carry it out, and the row that a run leaves.
//!
//! ```text
//!   Plan ──steps──▶ carry_out ──each step──▶ Runner (the engine, elsewhere)
//!                      │  ▲                      │
//!            News ◀────┘  └──────── Run ◀────────┘  from SessionInterval, Snapshot
//!                                    │
//!                               JSON, a row a line ──▶ crate verdict
//! ```
//!
//! * [`Plan`], [`Step`]: randomised pairs of setting A and B, with A/A pairs among them.
//! * [`Runner`], [`carry_out`]: who can run a step; and running them all, until done or told to
//!   stop.
//! * [`Run`]: what one run says about itself: one JSON object a row.
//! * [`Snapshot`], [`SessionInterval`]: how the wait interface's books come into a row.
//!
//! Rules E1 to E6 are in the README. This crate knows no engine: it neither opens a database nor
//! makes load. Callers: the binary's `lab`.

#![forbid(unsafe_code)]

mod driver;
mod hash;
mod plan;
mod row;
mod rows;
mod verdict;

pub use driver::{End, Execution, News, Progress, Runner, carry_out};
pub use hash::hash_of;
pub use plan::{PAIRS_MAX, PairKind, Place, Plan, PlanError, Side, Step};
pub use row::{Commits, Identity, Latency, Measured, Origin, Run, World};
pub use rows::{RowError, parse_rows};
pub use verdict::{NoVerdict, Question, Sensitivity, Verdict, compare};
