//! Recovery: what happens between a crash and the next opening.
//!
//! ```text
//!   read redo ─▶ repair torn ─▶ replay from ─▶ write all, ─▶ checkpoint := start
//!   to its end   blocks         checkpoint      sync          of the next log
//!                                   │
//!              fb_rcv0: read redo, bring blocks ─▶ batches ─▶ apply
//! ```
//!
//! Rules RC1 to RC6 are in the README. Caller: `instance`, at opening.
//! Sources: PostgreSQL's and Oracle's crash recovery; ARIES (Mohan et al. 1992), for repeating
//! history before undoing.

#![forbid(unsafe_code)]

mod ahead;
mod gate;
mod line;
mod progress;
mod recover;

pub use progress::Progress;
pub use recover::{Layout, Recovered, recover};
