//! Typed tables: rows with their indexes and constraints kept together.
//!
//! ```text
//!   catalog ── TableDefinition ──▶ Relation ── RowLayout ──▶ Heap      rows
//!                                     │  └──── encode_key ──▶ Index    one or more
//!                                     └── NOT NULL, CHECK, UNIQUE, FOREIGN KEY
//! ```
//!
//! The catalog keeps definitions in tables that are relations too; so this crate knows nothing of
//! where a definition comes from.
//!
//! Callers: `catalog`, the embedded API, SQL.

#![forbid(unsafe_code)]

mod condition;
mod definition;

pub use condition::{Comparison, Condition, Operand, Truth};
pub use definition::{
    ColumnDefinition, Default, ForeignKey, IndexColumn, IndexDefinition, NamedCondition, OnDelete,
    TableDefinition,
};
