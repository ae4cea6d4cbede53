//! What the engine is held against: a journal of what sessions were told, an oracle that compares it
//! with what is found after a crash, and the sweep that crashes everywhere.
//!
//! ```text
//!   load ──▶ simulated machine ──power cut at operation n──▶ every file system that can be left
//!    │                                                              │ each
//!    └─▶ journal (outlives the crash) ───▶ oracle ◀── reopened ◀────┤
//!                                                                   └▶ cut again during recovery
//! ```
//!
//! Only tests use this crate. It builds the engine with its sabotage switches, so that each check is
//! shown to be able to fail.

#![forbid(unsafe_code)]

mod journal;
mod load;
mod oracle;
mod sweep;

pub use journal::{Change, Journal, Outcome};
pub use load::{Load, Shape, TABLE};
pub use oracle::{Violation, check};
pub use sweep::{Sweep, Tally, create};
