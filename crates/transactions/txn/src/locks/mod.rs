//! Locks that are waited for: table locks, and the ends of other transactions.
//!
//! ```text
//!                          no other is met                   another is met
//!   lock_table ───────────▶ seat (its own cache lines) ─────▶ queues: one latch for the instance
//!   wait_for_end ───────────────────────────────────────────▶   tables, waits, cycles
//!   ended ────────────────▶ seat ── others wait for it ─────▶
//! ```
//!
//! A row has no lock here: its block names the transaction that has it locked, and other sessions
//! wait for the end of that one. A table has a lock. Nearly all modes are RS and RX, which go
//! together: a transaction keeps these at its own seat and looks at no table. Only while a
//! transaction has or wants a table in a stronger mode, the table is *watched*: its modes are
//! collected from the seats, and all requests for it come to the queues (TX12).
//!
//! Rules TX are in the README. Callers: `transaction`; `relation` and `catalog`, for tables.
//!
//! Sources: Oracle Database Concepts, "Data Concurrency and Consistency", for modes, conversion and
//! messages; PostgreSQL's `lmgr/README`, "Fast Path Locking", for weak modes that look at no shared
//! table.

mod check;
mod deadlock;
mod manager;
mod mode;
mod queues;
mod seat;
mod table;
mod views;
mod waiting;
mod wanted;

pub use deadlock::{LockName, LockNames};
pub use manager::Locks;
pub use mode::TableMode;
pub use views::{LockHeld, LockWaiting};
pub use wanted::{LockWait, LockWanted, RowRequest, RowWait, RowWanted};
