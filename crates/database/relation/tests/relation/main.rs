//! Relations, on an instance in the simulated world: against a map, with sessions that meet on keys
//! and on both sides of foreign keys.
#![forbid(unsafe_code)]

mod arrays;
mod basic;
mod common;
mod constraints;
mod cursors;
mod driver;
mod failpoints;
mod late_keys;
mod model;
mod races;
mod shop;
mod storm;
mod upsert;
mod whole;
