//! Recovery: what happens between a crash and the next opening.
//!
//! ```text
//!   read redo to its end, ─▶ make the end ─▶ repair torn ─▶ apply  ─▶ write all, ─▶ checkpoint :=
//!   apply it in buffers      durable         blocks         the rest  sync          start of the
//!         │                                                   │                     next log
//!         └──── fb_rcv0: read redo, bring blocks ─▶ batches ──┘
//! ```
//!
//! Rules RC1 to RC22 are in README.md. Caller: `instance`, at opening.
//! Sources: PostgreSQL's and Oracle's crash recovery; ARIES (Mohan et al. 1992), for repeating
//! history before undoing.

#![forbid(unsafe_code)]

mod ahead;
mod apply;
mod batch_queue;
mod gate;
mod progress;
mod recover;
mod roll;

pub use progress::Progress;
pub use recover::{Layout, Recovered, recover};
