//! Where a table was measured, and by which program.
//!
//! Callers: `run` of each table; `rest`.

use experiment::{Origin, World};

use crate::RunOn;
use crate::linux::Chosen;

/// Where a table was measured, and what is quoted of the request.
pub(crate) struct Place {
    pub(crate) machine: String,
    pub(crate) is_modelled: bool,
    pub(crate) asynchronous_files: bool,
    pub(crate) chosen: Chosen,
    /// The commit that the program was built from.
    pub(crate) commit: String,
    /// The command line that asks for it again.
    pub(crate) command: String,
}

impl Place {
    /// What all rows share that were made here for this experiment, where it was asked for.
    pub(crate) fn origin(
        &self,
        experiment: &str,
        run_on: &RunOn,
        plan_seed: u64,
        work: String,
    ) -> Origin {
        let (world, machine) = match run_on {
            RunOn::ThisMachine(_) => (World::Linux, self.machine.clone()),
            RunOn::Model { machine, disk } => {
                (World::Simulated(machine.clone()), format!("model {machine} with disk {disk}"))
            }
        };
        let (experiment, commit) = (experiment.to_owned(), self.commit.clone());
        Origin { experiment, plan_seed, commit, machine, world, work }
    }
}
