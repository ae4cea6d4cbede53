//! Experiments: the plan of runs, how they are carried out, the row of each, the verdict on all.
//!
//! ```text
//!   Plan ──steps──▶ carry_out ──each step──▶ Runner (the engine, elsewhere)
//!                      │  ▲                      │
//!            News ◀────┘  └──────── Run ◀────────┘  from report::SessionInterval
//!                                    │
//!                    rows: JSON, one a line ──▶ Verdict: text, JSON or HTML
//! ```
//!
//! * [`Plan`], [`Step`]: rounds of all settings in random order, with equals among them.
//! * [`Runner`], [`carry_out`]: makes one run; makes them all, until done or told to stop.
//! * [`Run`]: the row of one run, a JSON object.
//! * [`Question`], [`Verdict`]: what is asked, and the answer. [`compare`] is the comparison alone.
//!
//! Rules EX1 to EX29 and V1 to V38 are in the README. The room knows no engine: it opens no
//! database and makes no load. Callers: `lab`, `forebay lab`, the validity check.

#![forbid(unsafe_code)]

mod decision;
mod driver;
mod hash;
mod measure;
mod plan;
mod rounds;
mod row;
mod rows;
mod surroundings;
mod verdict;

pub use decision::{
    CovariateUse, Decision, Equals, Figure, ROUNDS_MIN, Rule, decide, foremost, is_decided, matters,
};
pub use driver::{End, Execution, News, Progress, Runner, carry_out, whole_rounds};
pub use hash::hash_of;
pub use measure::Measure;
pub use plan::{LEVELS_MAX, Level, Plan, PlanError, ROUNDS_ASKED_MAX, ROUNDS_MAX, RoundKind, Step};
pub use row::{Block, Commits, Identity, Latency, Measured, Origin, RATE, Run, World};
pub use rows::{
    Asked, Audit, Call, RowError, RowReader, Rows, Whole, before_resumed, corrupt_line, note_line,
    parse_rows,
};
pub use surroundings::Surroundings;
pub use verdict::carry_over::CarryOver;
pub use verdict::commits::commits_lost;
pub use verdict::slow::SlowEffect;
pub use verdict::{NoVerdict, Question, Sensitivity, Untried, Verdict, compare};
