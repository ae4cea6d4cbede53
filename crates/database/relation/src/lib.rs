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
//!   [`ScanState`], [`RangeState`]: a scan and a range between calls.
//! * [`Work`]: what a statement works with: its transaction, session, buffers and other relations.
//! * [`Relations`]: finds other relations, for foreign keys.
//! * [`TableDefinition`] and its parts: what a table is, as values.
//! * [`Condition`]: what a CHECK says, in three-valued logic.
//! * [`CheckCompiler`], [`Predicate`]: CHECKs that are expressions of SQL, which SQL evaluates.
//!
//! * [`Statement`], [`StatementWork`]: the driver of statements whose rows are found elsewhere.
//!
//! The life of a statement is in `statement` (rules RL10, RL19 to RL22). One that chooses rows is
//! run by `driver` (rules RL56 to RL60): it locks its tables, takes a snapshot, has its body find
//! rows and change or lock each (`update`, `delete`, `insert`, `upsert`), and ends by inserting
//! late keys (`late_keys`, rule RL28) and doing what foreign keys ask for (`foreign`, rules RL6 to
//! RL9 and RL31 to RL37). `selected` and `lock` are its statements over one selection. `insert` and
//! `load` also have statements without a snapshot. `read`, `scan`, `range` and
//! `range_state` change nothing.
//!
//! The dictionary's own tables are relations too, so this crate doesn't know where a definition
//! comes from. Rules RL1 to RL80 are in the README.
//!
//! Callers: `catalog`; the embedded API; SQL.

#![forbid(unsafe_code)]

mod change;
mod condition;
mod definition;
mod delete;
mod driver;
mod entry;
mod expression;
mod foreign;
mod insert;
mod insert_keys;
mod kept_entries;
mod keys;
mod late_keys;
mod load;
mod loaded_keys;
mod lock;
mod misuse;
mod range;
mod range_state;
mod read;
mod relation;
mod scan;
mod scratch;
mod search;
mod selected;
mod sort_key;
mod statement;
mod update;
mod upsert;

pub use change::RowChange;
pub use condition::{Comparison, Condition, Operand, Truth};
pub use definition::{
    CheckExpression, ColumnDefinition, Default, ForeignKey, IndexColumn, IndexDefinition, IndexId,
    NamedCondition, OnDelete, TableDefinition, is_dropped,
};
pub use driver::{Done, Flow, Locked, Statement, StatementBody, StatementKind, StatementWork};
pub use expression::{CheckCompiler, NoExpressions, Predicate};
pub use load::{KeySort, Load};
pub use lock::{ForUpdate, IfHeld};
pub use range::Bounds;
pub use range_state::{RangeState, Rows};
pub use relation::Relation;
pub use scan::ScanState;
pub use scratch::{Relations, Scratch, Work};
pub use search::Selection;
pub use sort_key::{ordered_bytes, split_sorted};
pub use upsert::{Conflict, InsertAttempt, KeyOrigin};
