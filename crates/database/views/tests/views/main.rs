//! The views of a small database on a simulated disk.

#![forbid(unsafe_code)]

mod common;
mod dictionary;
mod numbers;
mod pg;
mod sessions;
mod sql;
