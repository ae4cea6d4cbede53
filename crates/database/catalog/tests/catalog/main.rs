//! The catalog of a small database on a simulated disk.

mod alter;
mod altered;
mod annotations;
mod common;
mod concurrent;
mod crash;
mod expressions;
mod faults;
mod sequences;
mod several;
mod tables;
mod types;
mod version;
mod views;
