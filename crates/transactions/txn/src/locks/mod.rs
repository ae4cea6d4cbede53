//! Locks that are waited for: of tables, and the ends of other transactions.
//!
//! ```text
//!                          nobody is met                     somebody is met
//!   lock_table ───────────▶ seat (its own cache lines) ─────▶ queues: one latch for the instance
//!   wait_for_end ───────────────────────────────────────────▶   tables, waits, circles
//!   ended ────────────────▶ seat ── others wait for it ─────▶
//! ```
//!
//! A row has no lock here: it names the transaction that changed it, and whoever wants it waits for
//! the end of that one. A table has one. Nearly all of them are RS and RX, which all go together:
//! these a transaction keeps at its own seat, and looks at no table. Only while somebody has or
//! wants a table in a mode that RX doesn't go with, is the table *watched*: then what seats know of
//! it is collected, and all that ask for it come to the queues.
//!
//! Rules TX are in the README. Callers: `access`, `instance`.
//!
//! Sources: Oracle Database Concepts, "Data Concurrency and Consistency", for modes, conversion and
//! what is reported; PostgreSQL's `lmgr/README`, "Fast Path Locking", for weak modes that look at
//! no shared table.

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
