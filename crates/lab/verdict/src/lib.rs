//! The verdict: rows of runs in, a page of text or a line of JSON out.
//!
//! ```text
//!   rows ──▶ Pairs ──▶ headline     is it real? does it matter?
//!                 ├──▶ commits      are any lost?
//!                 ├──▶ processes    what did each process of the instance use? (like ps)
//!                 ├──▶ time_table   where does a transaction's time go, and the difference?
//!                 ├──▶ load         load profile per second and per transaction
//!                 └──▶ origin       how to reproduce; what to be wary of
//! ```
//!
//! * [`Question`]: what the user asked: from which difference on it matters, and how it was run.
//! * [`Report`]: the answer; [`Report::text`] for people, [`Report::json`] for programs.
//! * [`compare`]: the comparison alone, for runs under other assumptions.
//!
//! Each section is a struct that serializes as it is and has a `text`: one fact, two forms. Rules
//! V1 to V7 are in the README. Callers: the binary's `lab`.

#![forbid(unsafe_code)]

mod apportion;
mod commits;
mod headline;
mod load;
mod number;
mod origin;
mod pairs;
mod processes;
mod report;
mod table;
mod time_table;
mod warnings;

pub use report::{NothingToReport, Question, Report, Sensitivity, compare};
