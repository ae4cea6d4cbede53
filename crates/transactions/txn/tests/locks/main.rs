//! Locks that are waited for: modes, order, circles, lock wait, halts; each in schedules bent by
//! seeds, and against a model.
#![forbid(unsafe_code)]

mod any;
mod circles;
mod common;
mod endings;
mod failpoints;
mod model;
mod modes;
mod program;
mod races;
mod views;
