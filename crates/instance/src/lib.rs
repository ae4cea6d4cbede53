//! An instance: a database's files, open, with memory and background processes.
//!
//! ```text
//!   create ──▶ open ──▶ work … ──┬── shutdown ──▶ shut
//!               ▲                └── abort, halt, crash ──┐
//!               └──────────────── recovery ◀──────────────┘
//!
//!   fb_lgwr   writes redo that nobody waits for
//!   fb_dbw0…  write dirty blocks
//!   fb_ckpt   moves the checkpoint
//! ```
//!
//! Rules IN1 to IN5 are in the README.
//!
//! * [`Instance`]: create, open, begin, commit, roll back, checkpoint, shut down, abort.
//! * [`Parameters`], [`Creation`]: what can be chosen. [`CommitMode`]: and for each commit.

#![forbid(unsafe_code)]

mod checkpointer;
mod create;
mod gate;
mod open;
mod parameters;

pub use open::{Instance, Opened};
pub use parameters::{Creation, Parameters, Sabotage};
pub use redo::{CommitLogging, CommitMode, CommitWait};
pub use txn::Transaction;
