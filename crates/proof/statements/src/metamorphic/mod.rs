//! Answers that have to agree with each other, whatever they are: checks that need no rival.
//!
//! | check | what has to agree |
//! |---|---|
//! | `partition` | the rows of a query, and those of three: where p, where not p, where p is null |
//! | `counted` | how many rows pass a condition, and how often it is true of the rows without it |
//! | `ways` | a statement by each join method, with and without indexes, with memory for ten rows |
//!
//! The first was described as ternary logic partitioning, the second as NoREC. Both ask the same of
//! different parts of the engine: a filter near a table or an index on one side, an expression that
//! is computed for a row on the other.
//!
//! Rules RA7 to RA9 are in the README.
//!
//! Callers: the test `metamorphic`; the example of that name for many seeds.
//! Sources: M. Rigger and Z. Su, "Finding Bugs in Database Systems via Query Partitioning" (OOPSLA
//! 2020) and "Detecting Optimization Bugs in Database Engines via Non-optimizing Reference Engine
//! Construction" (ESEC/FSE 2020).

mod counted;
mod partition;
mod run;
mod ways;

pub use run::{Breach, Checked, Metamorphic};
pub use ways::{PLANS, Way};
