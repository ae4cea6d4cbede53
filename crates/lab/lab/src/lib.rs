//! The lab: built-in experiments, on this machine or on a model of one.
//!
//! ```text
//!   Experiment: settings A and B ─┐
//!   Form: sizes and lengths ──────┤
//!                                 ▼
//!   experiment::carry_out ──▶ Runner ── LinuxRunner: restore files, measure, audit
//!         │                         └── ModelRunner: the same in a simulated world
//!         ▼ rows
//!   experiment::Verdict
//! ```
//!
//! One built-in experiment compares nothing and gives a curve: [`redo_size`]; another compares all
//! cells of a table: [`free_buffer_waits`].
//!
//! Rules LB1 to LB50 are in the README. Callers: the binary's `lab`;
//! `cargo xbench validity`, which runs one setting in both worlds.

#![forbid(unsafe_code)]

mod catalogue;
mod checks;
mod crash;
mod form;
pub mod free_buffer_waits;
mod linux;
mod measure;
mod model;
pub mod redo_size;
mod repeat;
mod scratch;
mod session;

pub use catalogue::{EXPERIMENTS, Experiment};
pub use form::Form;
pub use model::Machine;
pub use repeat::{repeat_here, repeat_modelled};
pub use session::{Ending, Request, RunOn, run};
