//! What the engine is held against: a journal of what sessions were told, an oracle that compares
//! it with what is found after a crash, and the sweep that crashes everywhere.
//!
//! ```text
//!   load ──▶ simulated machine ──▶ at each operation n: what a power cut there can leave
//!    │                                                   │ each
//!    └─▶ journal, as it is at n ───▶ oracle ◀── opened ◀─┤
//!                                                        └▶ at operations of the opening: again
//! ```
//!
//! Rules PF1 to PF5 are in the README. Only tests use this crate. It builds the engine with its
//! sabotage switches, so that each check is shown to be able to fail.
//!
//! * [`Sweep`]: one load, crashed everywhere; [`Tally`]: what was seen.
//! * [`Load`], [`Shape`]: what runs, in which database. [`Bases`]: databases to begin with.
//! * [`Journal`], [`Record`]: what sessions know. [`inspect`], [`compare`]: the oracle.

#![forbid(unsafe_code)]

mod journal;
mod load;
mod oracle;
mod shape;
mod sweep;
mod tally;

pub use journal::{Change, Entry, Happened, Journal, Outcome, Record, RowId, Told};
pub use load::Load;
pub use oracle::{Rows, Violation, compare, inspect};
pub use shape::{Bases, Shape};
pub use sweep::{Kind, Sweep};
pub use tally::Tally;
