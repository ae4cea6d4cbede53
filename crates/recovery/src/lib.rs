//! Recovery: what happens between a crash and the next opening.
//!
//! ```text
//!   read redo ─▶ repair torn ─▶ replay from ─▶ write all, ─▶ checkpoint := start
//!   to its end   blocks         checkpoint      sync          of the next log
//! ```
//!
//! Rules RC1 to RC5 are in the README. Caller: `instance`, at opening.
//! Sources: PostgreSQL's and Oracle's crash recovery; ARIES (Mohan et al. 1992), for repeating
//! history before undoing.

#![forbid(unsafe_code)]

mod gate;
mod recover;

pub use recover::{Layout, Recovered, recover};
