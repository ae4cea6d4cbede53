//! Redo in the simulated world: appended, committed by many, cut off by power, read back.
#![forbid(unsafe_code)]

mod commits;
mod common;
mod credits;
mod ends;
mod failpoints;
mod flights;
mod flush;
mod halts;
mod members;
mod modes;
mod round_trip;
mod waits;
