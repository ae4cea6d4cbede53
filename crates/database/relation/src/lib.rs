//! Typed tables: a relation keeps the rows, the index entries and the constraints of one table
//! together.
//!
//! ```text
//!   catalog ── TableDefinition ──▶ Relation ── RowLayout ──▶ Heap      rows
//!                                     │  └──── encode_key ──▶ Index    one or more
//!                                     └── NOT NULL, CHECK, UNIQUE, FOREIGN KEY
//! ```
//!
//! * [`Relation`]: a table that is open: get, range and scan; insert, update, delete and lock.
//! * [`Work`]: what a statement works with: its transaction, session, buffers and other relations.
//! * [`Relations`]: finds other relations, for foreign keys.
//! * [`TableDefinition`] and its parts: what a table is, as values.
//! * [`Condition`]: what a CHECK says, in three-valued logic.
//! * [`CheckCompiler`], [`Predicate`]: CHECKs that are expressions of SQL, which SQL evaluates.
//!
//! The life of a statement is in `statement` (rules RL10, RL19 to RL22): it locks the table, takes
//! a snapshot, finds its rows, has a `RowOperation` (`update`, `delete`) done to each, and ends by
//! doing what foreign keys ask for (`foreign`, rules RL6 to RL9 and RL31 to RL37). `insert`, `load`
//! and `lock` are the statements that aren't row operations. `read` and `range` change nothing.
//!
//! The dictionary's own tables are relations too, so this crate doesn't know where a definition
//! comes from. Rules RL1 to RL54 and RL80 are in the README.
//!
//! Callers: `catalog`; the embedded API; SQL.

#![forbid(unsafe_code)]

mod change;
mod condition;
mod definition;
mod delete;
mod entry;
mod expression;
mod foreign;
mod insert;
mod insert_keys;
mod keys;
mod load;
mod loaded_keys;
mod lock;
mod misuse;
mod range;
mod read;
mod relation;
mod scratch;
mod search;
mod sort_key;
mod statement;
mod update;

pub use change::RowChange;
pub use condition::{Comparison, Condition, Operand, Truth};
pub use definition::{
    CheckExpression, ColumnDefinition, Default, ForeignKey, IndexColumn, IndexDefinition, IndexId,
    NamedCondition, OnDelete, TableDefinition, is_dropped,
};
pub use expression::{CheckCompiler, NoExpressions, Predicate};
pub use load::{KeySort, Load};
pub use lock::{ForUpdate, IfHeld};
pub use range::{Bounds, Rows};
pub use relation::Relation;
pub use scratch::{Relations, Scratch, Work};
pub use search::Selection;
pub use sort_key::{ordered_bytes, split_sorted};
