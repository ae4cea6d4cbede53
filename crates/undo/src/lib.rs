//! Undo segments: transaction tables, and stacks of undo records.
//!
//! ```text
//!   segment header ─ table block               slot: state, sequence, first, current
//!                      │ slot 0 ─▶ undo block ─next─▶ undo block ─next─▶ …
//!                      │ slot 1 ─▶ undo block          ▲
//!                      │ …                             current: the newest record is in here
//! ```
//!
//! A record is the change that takes a change back. Pushing is part of the group that changes,
//! popping of the group that takes back (UN2): the stack always holds exactly what is still to be
//! taken back. Rules UN1 to UN5 are in the README.
//!
//! Callers: `txn`.
//! Sources: Oracle's undo segments, for tables with slots and sequences (wraps).

#![forbid(unsafe_code)]

mod apply;
mod log;
mod segment;

pub use apply::LAYER;
pub use log::{UndoChange, UndoLog};
pub use segment::{Ended, Undo};
