//! Lives of databases: several actors make, open, shut, kill, copy, delete and make again databases
//! in a few directories of one disk, and give them files under random spellings of few names.
//!
//! ```text
//!   round:  what lies there is looked at ─▶ actors, each step at random ─▶ end
//!             ▲                                                            │
//!             └──── the disk as power cut, kill or shutdown left it ◀──────┘
//! ```
//!
//! Databases meet in names: a file of one may lie in the directory of another, two creators may
//! want one directory, a copy lists the files of its original where those had absolute paths.
//! Nobody coordinates actors but where an administrator would: no file is taken away from a
//! database that is open or being opened, and none is copied from one.
//!
//! A database is *sound* as long as nobody has deleted a file of it, and no copy has been opened
//! that shares a file with it: of sound ones everything is known. What must hold is rule PF14 in
//! the README.
//!
//! * [`Lives`]: what is run; [`LivesTally`]: what came up.
//!
//! Callers: the tests, and the example `lives` for long runs.

mod actor;
mod administer;
mod bed;
mod files;
mod known;
mod life;
mod names;
mod tally;

use std::fmt;

use crate::Violation;
pub use tally::LivesTally;

/// One run.
#[derive(Clone, Copy, Debug)]
pub struct Lives {
    /// Decides everything else.
    pub seed: u64,
    /// What all actors do together, in each round.
    pub steps: u32,
    /// How often the machine is started.
    pub rounds: u32,
}

impl Lives {
    /// A run of a second or less.
    pub fn of(seed: u64) -> Lives {
        Lives { seed, steps: 120, rounds: 5 }
    }

    /// Runs it. What is wrong is told with the line that repeats it.
    pub fn run(&self) -> Result<LivesTally, Violation> {
        bed::run(self).map_err(|Violation(what)| {
            let seed = self.seed;
            Violation(format!(
                "{what}\nto repeat it: cargo run --profile proof -p proof --example lives -- \
                 {seed} {}",
                seed + 1
            ))
        })
    }
}

impl fmt::Display for Lives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lives of seed {}", self.seed)
    }
}
