//! Transactions: begin, commit, roll back; row and table locks; undo; snapshots and consistent
//! reads.
//!
//! ```text
//!   none ── first change ──▶ active ── commit record ──▶ committed ──durable──▶ ended
//!                              └── rollback: take back, pop, … ───────────────▶ ended
//! ```
//!
//! Row locks are in the blocks: a slot names an ITL entry of its block, and is locked as long as
//! the entry's transaction is active. Table locks are in memory. A change's undo record takes the
//! change back, in the block for a rollback, in a copy of it for a consistent read. Rules TX, UN
//! and BL are in the README.
//!
//! * [`Transactions`]: begin, commit, roll back, snapshots. [`Transaction`]: one session's.
//!   [`KeptSnapshot`]: a snapshot between calls.
//! * [`Locks`]: table locks, and waits for the ends of transactions.
//! * [`OwnItlEntry`]: a transaction's entry in a block that it changes.
//! * [`View`]: what a read sees; [`Transactions::make_consistent`]: a block as a view sees it.
//! * [`Active`]: which transactions are active, and when the last ones ended.
//! * [`TransactionSeen`]: an active transaction, for views.
//! * [`undo`]: undo segments, their rings of blocks, and transaction tables.
//! * [`block`]: the bytes that blocks with rows or keys have in common, ITL included.
//!
//! Callers: `access`, `relation`, `catalog`, `instance`, `verify`.

#![forbid(unsafe_code)]

mod active;
pub mod block;
mod consistent;
mod ends;
mod itl;
mod kept;
mod locks;
mod needed;
mod overwritten;
mod retention;
mod seen;
mod snapshots;
mod take_back;
mod transaction;
pub mod undo;
mod waited;

pub use active::Active;
pub use consistent::{CrCopy, OwnChanges, UndoGone, View};
pub use itl::{
    ItlAllocation, NoRoom, OwnItlEntry, apply_itl_back, apply_itl_change, split_itl_back,
};
pub use kept::KeptSnapshot;
pub use locks::{
    LockHeld, LockName, LockNames, LockWait, LockWaiting, LockWanted, Locks, RowRequest, RowWait,
    RowWanted, TableMode,
};
pub use seen::{TransactionSeen, TransactionState};
pub use transaction::{Savepoint, Snapshot, Transaction, Transactions};
