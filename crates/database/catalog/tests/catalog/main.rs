//! The catalog of a small database on a simulated disk.

mod alter;
mod common;
mod concurrent;
mod crash;
mod faults;
mod sequences;
mod tables;
