//! Indexes, on an instance in the simulated world: against a map, with sessions that split under
//! each other's scans, and with the power cut at every operation.
#![forbid(unsafe_code)]

mod common;
mod concurrent;
mod crash;
mod current;
mod lists;
mod many;
mod model;
mod older;
mod shape;
mod shortcuts;
mod storm;
mod turnover;
mod unique;
