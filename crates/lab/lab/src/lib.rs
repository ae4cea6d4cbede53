//! The lab: built-in experiments, on this machine or on a model of one.
//!
//! ```text
//!   Experiment: a file (settings, load, design) ─┐
//!   Form: sizes and lengths ─────────────────────┤
//!                                                ▼
//!   session::run ──▶ Alternation: settings alternate in one running instance
//!         │     └──▶ carry_out ──▶ LinuxRunner: restore files, open, measure, audit
//!         │                    └─▶ ModelRunner: the same in a simulated world
//!         ▼ rows
//!   experiment::Verdict
//! ```
//!
//! Three built-in experiments have shapes of their own: [`redo_size`] gives a curve;
//! [`free_buffer_waits`] and [`block_size_scan`] compare all cells of a table (`cells`).
//!
//! Rules LB1 to LB87 are in the README. Callers: the binary's `lab`; `cargo xbench validity`, which
//! runs one setting in both worlds.

#![forbid(unsafe_code)]

mod again;
mod alternate;
mod before;
pub mod block_size_scan;
mod catalogue;
mod cells;
mod checks;
mod crash;
mod enough;
mod experiment_file;
mod form;
pub mod free_buffer_waits;
mod full;
mod lengths;
mod linux;
mod load;
mod measure;
mod model;
mod possible;
mod progress;
pub mod redo_size;
mod repeat;
mod schedule;
mod scratch;
mod session;
mod setting;
mod standstill;
#[cfg(test)]
mod tests;
mod watcher;

pub use again::report_again;
pub use alternate::{Blocks, CUT_SHORT};
pub use before::Before;
pub use catalogue::{BUILT_IN, TEMPLATE};
pub use experiment_file::{BUDGET, Design, Experiment, PER_CENTS, RATES};
pub use form::Form;
pub use lengths::{BLOCK_LENGTHS, BUDGETS, RUN_LENGTHS, WASHOUTS, parse_time};
pub use load::Load;
pub use model::Machine;
pub use repeat::{repeat_here, repeat_modelled};
pub use session::{Ending, Follower, Request, RunOn, run};
pub use setting::Setting;
