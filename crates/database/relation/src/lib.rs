//! Typed tables: rows with their indexes and constraints kept together.
//!
//! ```text
//!   catalog ── TableDefinition ──▶ Relation ── RowLayout ──▶ Heap      rows
//!                                     │  └──── encode_key ──▶ Index    one or more
//!                                     └── NOT NULL, CHECK, UNIQUE, FOREIGN KEY
//! ```
//!
//! * [`Relation`]: a table that is open: get, range, scan; insert, update, delete, lock.
//! * [`Work`]: for whom a statement works: transaction, session, buffers, other relations.
//! * [`Relations`]: how other relations are found, for foreign keys.
//! * [`TableDefinition`] and its parts: what a table is, as values.
//! * [`Condition`]: what a CHECK says, in three-valued logic.
//!
//! The catalog keeps definitions in tables that are relations too; so this crate knows nothing of
//! where a definition comes from. Rules RL1 to RL18 are in the README.
//!
//! Callers: `catalog`, the embedded API, SQL.

#![forbid(unsafe_code)]

mod change;
mod condition;
mod definition;
mod delete;
mod entry;
mod foreign;
mod insert;
mod keys;
mod lock;
mod misuse;
mod range;
mod read;
mod relation;
mod scratch;
mod statement;
mod update;

pub use change::RowChange;
pub use condition::{Comparison, Condition, Operand, Truth};
pub use definition::{
    ColumnDefinition, Default, ForeignKey, IndexColumn, IndexDefinition, IndexId, NamedCondition,
    OnDelete, TableDefinition, is_dropped,
};
pub use lock::{ForUpdate, IfHeld};
pub use range::{Bounds, Rows};
pub use relation::Relation;
pub use scratch::{Relations, Scratch, Work};
pub use statement::Which;
