//! The model check: sessions that do anything at random, each thing that they are told held against
//! the reference model; crashes between, and on.
//!
//! ```text
//!   round:  open ─▶ look at everything ─▶ sessions ── operations, checked one by one ──▶ end
//!             ▲                                                                           │
//!             └────────────── the disk as power cut, halt or shutdown left it ◀───────────┘
//! ```
//!
//! A key is a row's address, kept outside the engine with the number that the row itself carries;
//! so a row that is read where another was is known to be another one. Each writing of a row has a
//! number of its own, so no two versions are the same.
//!
//! A seed decides everything: database, sessions, schedule, endings. Rules PF8 and PF10 are in
//! the README.
//!
//! * [`ModelCheck`]: what is run; [`ModelTally`]: what came up.
//!
//! Callers: the tests, and the example `model_check` for long runs.

mod bed;
mod client;
mod known;
mod plan;
mod statement;
mod survivors;
mod tally;

use std::fmt;

use instance::Sabotage;

use crate::Violation;
pub(crate) use bed::base;
pub(crate) use client::heaps;
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
    pub sabotage: Sabotage,
}

impl ModelCheck {
    /// A run of a second or less.
    pub fn of(seed: u64) -> ModelCheck {
        ModelCheck { seed, operations: 3_000, rounds: 4, sabotage: Sabotage::NONE }
    }

    /// Runs it. What is wrong is told with the line that repeats it.
    pub fn run(&self) -> Result<ModelTally, Violation> {
        bed::run(self).map_err(|Violation(what)| {
            let seed = self.seed;
            Violation(format!(
                "{what}\nto repeat it: cargo run --release -p proof --example model_check -- \
                 {seed} {}",
                seed + 1
            ))
        })
    }
}

impl fmt::Display for ModelCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "model check of seed {}", self.seed)
    }
}
