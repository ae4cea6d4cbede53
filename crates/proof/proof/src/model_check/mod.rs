//! The model check: sessions that do anything at random to typed tables, through the front door.
//! All that they are told is held against a model of versions; crashes come between.
//!
//! ```text
//!   round:  open ─▶ sessions ── each call, and what it came to ──▶ log ──▶ end ──▶ judge
//!             ▲                                                              │
//!             └──── the disk as power cut, kill or shutdown left it ◀────────┘
//! ```
//!
//! The tables refer to each other and to themselves, have several indexes, and few keys, so that
//! rows come and go and come again. Nothing of the engine is asked but what an application can ask;
//! only a commit's SCN is known. `judge` says how that is enough.
//!
//! Sessions call the API, or say what they want as SQL text ([`By`]): definitions and statements,
//! that is, for transactions begin and end by the API, which tells the SCN of a commit.
//!
//! A seed decides everything: database, tables, sessions, schedule, endings. Rule PF10 is
//! in the README.
//!
//! * [`ModelCheck`]: what is run; [`ModelTally`]: what came up.
//!
//! Callers: the tests, and the example `model_check` for long runs.

mod aged;
mod ask;
mod bed;
mod call;
mod cancel;
mod cell;
mod client;
mod draw;
mod judge;
mod known;
mod plan;
mod resized;
mod schema;
mod sql;
mod tally;
mod ticket;

use std::fmt;

use stop::Failpoints;

use crate::{By, Violation};
pub(crate) use plan::Plan;
pub use tally::ModelTally;

/// One run.
#[derive(Clone, Copy, Debug)]
pub struct ModelCheck {
    /// Decides everything else.
    pub seed: u64,
    /// What all sessions do together, about.
    pub operations: u64,
    /// How often the database is opened.
    pub rounds: u32,
    /// Whether the engine is broken on purpose.
    pub failpoints: Failpoints,
    /// Whether calls are cancelled, and have little time, at random moments.
    pub cancels: bool,
    /// How sessions ask for what they do.
    pub by: By,
}

impl ModelCheck {
    /// A run of a second or less. Half of the seeds go by SQL.
    pub fn of(seed: u64) -> ModelCheck {
        let (failpoints, by) = (Failpoints::NONE, By::of_seed(seed, plan::SPECIAL_ONE_IN));
        ModelCheck { seed, operations: 2_000, rounds: 4, failpoints, cancels: false, by }
    }

    /// Runs it. What is wrong is told with the line that repeats it.
    pub fn run(&self) -> Result<ModelTally, Violation> {
        bed::run(self).map_err(|Violation(what)| {
            let ModelCheck { seed, by, .. } = *self;
            let cancels = if self.cancels { " cancels" } else { "" };
            Violation(format!(
                "{what}\nto repeat it: cargo run --profile proof -p proof --example model_check -- \
                 {seed} {} --by {by}{cancels}",
                seed + 1
            ))
        })
    }
}

impl fmt::Display for ModelCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "model check of seed {} by {}", self.seed, self.by)
    }
}
