//! `forebay load`: a database with the tables of a load, work on it, and the audit afterwards.
//!
//! ```text
//!   create ──▶ run --acknowledge ──▶ power failure, kill -9 ──▶ audit --acknowledged
//! ```
//!
//! `run --acknowledge` prints each commit as soon as it is acknowledged, so that its reader knows
//! which commits `audit` must find again, whenever the power goes.
//!
//! * `create`, `filling`: a database, filled.
//! * `run`, `alter`, `result`: sessions at work, changes meanwhile, and what came of it.
//! * `audit`, `acknowledged`: the tables held against themselves and against what was printed.

mod acknowledged;
mod alter;
mod audit;
mod create;
mod filling;
mod result;
mod run;

pub(crate) use filling::chosen_by_load_create;

use clap::Subcommand;
use waits::SessionKind;

use crate::output::{CommandResult, start_world};

#[derive(Subcommand)]
pub(crate) enum Load {
    /// Makes a database with the tables, filled.
    Create(create::Create),
    /// Opens it and works on it.
    Run(run::Run),
    /// Opens it, recovers it if need be, and holds it against what was acknowledged.
    Audit(audit::Audit),
}

pub(crate) fn run(command: Load) -> CommandResult {
    let os = start_world("");
    let session = os.adopt("forebay", SessionKind::Foreground);
    // An audit changes nothing that could be left half done: a signal ends it at once, as it ends
    // every command that doesn't listen, and the next opening recovers.
    if !matches!(command, Load::Audit(_)) {
        os::linux::listen();
    }
    let disk = os::linux::disk();
    match command {
        Load::Create(create) => create.carry_out(&disk, &session),
        Load::Run(run) => run.carry_out(&disk, &session),
        Load::Audit(audit) => audit.carry_out(&disk, &session),
    }
}
