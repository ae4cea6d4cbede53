//! Relations, on an instance in the simulated world: against a map, with sessions that meet on keys
//! and on both sides of foreign keys.
#![forbid(unsafe_code)]

mod arrays;
mod basic;
mod common;
mod constraints;
mod cursors;
mod failpoints;
mod model;
mod races;
mod shop;
mod storm;
mod whole;
