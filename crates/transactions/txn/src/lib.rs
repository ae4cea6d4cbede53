//! Transactions: begin, commit, roll back; snapshots; who has which row, and who waits.
//!
//! ```text
//!   none ── first change ──▶ active ── commit record ──▶ committed ──durable──▶ ended
//!                              └── rollback: pop, take back, … ───────────────▶ ended
//! ```
//!
//! Rows are locked in their blocks: a slot names an entry of the block's list of interested
//! transactions, and is locked as long as that one is active. Rules TX1 to TX21 are in the README.
//!
//! * [`Transactions`]: begin, commit, roll back, snapshots.
//! * [`Interest`]: a transaction's entry in a block that it changes.
//! * [`View`]: what a read sees; [`Transactions::make_consistent`]: a block as a view sees it.
//! * [`Active`]: who is active, and who waits for whom.
//!
//! Callers: `access`, `instance`, `recovery`.

#![forbid(unsafe_code)]

mod active;
mod consistent;
mod ends;
mod interest;
mod keeper;
mod locks;
mod retention;
mod snapshots;
mod take_back;
mod taken;
mod transaction;
mod waited;

pub use active::{Active, Fate};
pub use consistent::{Gone, Own, View};
pub use interest::{
    Asked, Interest, NoRoom, Unsure, apply_interest, apply_interest_back, split_interest_back,
};
pub use locks::{
    LockHeld, LockMark, LockName, LockNames, LockWaiting, LockWanted, Locks, Patience, RowWait,
    RowWanted, TableMode,
};
pub use transaction::{Savepoint, Snapshot, Transaction, Transactions};
