//! Transactions: begin, commit, roll back; snapshots; who has which row, and who waits.
//!
//! ```text
//!   none ── first change ──▶ active ── commit record ──▶ committed ──durable──▶ ended
//!                              └── rollback: pop, take back, … ───────────────▶ ended
//! ```
//!
//! Rows are locked in their blocks: a slot names an entry of the block's list of interested
//! transactions, and is locked as long as that one is active. What a transaction has changed is in
//! its undo, from where it is taken back and read as it was. Rules TX, UN and BL are in the README.
//!
//! * [`Transactions`]: begin, commit, roll back, snapshots.
//! * [`OwnItlEntry`]: a transaction's entry in a block that it changes.
//! * [`View`]: what a read sees; [`Transactions::make_consistent`]: a block as a view sees it.
//! * [`Active`]: who is active, and who waits for whom.
//! * [`undo`]: undo segments, their rings of blocks, and transaction tables.
//! * [`block`]: the bytes that blocks of tables and indexes have in common, with the list.
//!
//! Callers: `access`, `instance`, `recovery`.

#![forbid(unsafe_code)]

mod active;
pub mod block;
mod consistent;
mod ends;
mod itl;
mod locks;
mod needed;
mod retention;
mod snapshots;
mod take_back;
mod taken;
mod transaction;
pub mod undo;
mod waited;

pub use active::Active;
pub use consistent::{CrCopy, OwnChanges, UndoGone, View};
pub use itl::{
    ItlAllocation, NoRoom, OwnItlEntry, apply_itl_back, apply_itl_change, split_itl_back,
};
pub use locks::{
    LockHeld, LockName, LockNames, LockWait, LockWaiting, LockWanted, Locks, RowRequest, RowWait,
    RowWanted, TableMode,
};
pub use transaction::{Savepoint, Snapshot, Transaction, Transactions};
