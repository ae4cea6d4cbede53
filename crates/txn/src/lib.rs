//! Transactions: begin, commit, roll back; row locks with a wait.
//!
//! ```text
//!   none ── first change ──▶ active ── commit record ──▶ durable ──▶ ended
//!                              └── rollback: pop, take back, … ────▶ ended
//! ```
//!
//! There is no lock table: a row names the transaction that changed it last, and is locked as long
//! as that one is active. Rules TX1 to TX4 are in the README.
//!
//! Callers: `access`, `instance`, `recovery`.

#![forbid(unsafe_code)]

mod active;
mod locks;
mod transaction;

pub use active::Active;
pub use locks::{
    LockHeld, LockMark, LockWaiting, LockWanted, Locks, ObjectNames, Patience, RowWait, RowWanted,
    Sabotage, TableMode,
};
pub use transaction::{Transaction, Transactions};
