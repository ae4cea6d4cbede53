//! Locks that are waited for: modes, order, cycles, lock waits, halts; each in schedules bent by
//! seeds, and against a model.
#![forbid(unsafe_code)]

mod any;
mod common;
mod cycles;
mod endings;
mod failpoints;
mod model;
mod modes;
mod program;
mod races;
mod views;
