//! The data dictionary: which tables, indexes, constraints and sequences there are, kept in tables
//! of its own; the statements that change it; and values of sequences.
//!
//! ```text
//!   CREATE, ALTER, DROP, TRUNCATE                       statements: name ─▶ Arc<Relation>
//!        │ spec                                                     ▲
//!        ▼                                                          │ a latch, shared
//!      draft ──▶ statement: locks, segments, index builds ──▶ dictionary in memory
//!                    │ one transaction                              ▲ read at opening
//!                    ▼                                              │
//!                  rows ──────────▶ store: _tables, _columns, _indexes …
//! ```
//!
//! * [`Catalog`]: the open dictionary; gives relations, sequences and lists of what there is.
//! * [`TableSpec`], [`IndexSpec`], [`Alteration`], [`SequenceOptions`]: what DDL statements say.
//! * [`DictionaryCheck`]: checks the dictionary's rows without believing them.
//! * [`TableView`], [`SequenceView`]: what there is, as values.
//!
//! Each DDL statement (`create`, `alter`, `drop`) runs as a `statement`, whose order of locks,
//! commit and publication is that of the README: rules DC1 to DC30. What was decided, and why:
//! decision 0007.
//!
//! Callers: the embedded API; SQL; tools.

#![forbid(unsafe_code)]

mod alter;
mod build;
mod bytes;
mod catalog;
mod checks;
mod compose;
mod contradictions;
mod create;
mod dictionary;
mod dictionary_check;
mod dictionary_table;
mod draft;
mod drop;
mod fill;
mod generated_names;
mod lock_names;
mod names;
mod rows;
mod sequence;
mod sequence_definition;
mod spec;
mod statement;
mod store;
mod views;

pub use catalog::{Catalog, CatalogConfig, CatalogOpened};
pub use dictionary_check::{DictionaryCheck, DictionaryContents, DictionaryFault};
pub use dictionary_table::DictionaryTable;
pub use draft::{INDEX_COLUMNS_MAX, INDEXES_MAX, place_of};
pub use fill::FilledRow;
pub use names::NAME_BYTES_MAX;
pub use sequence::Sequence;
pub use sequence_definition::{SequenceDefinition, SequenceOptions};
pub use spec::{
    Alteration, ColumnSpec, ConstraintSpec, DefaultSpec, ForeignKeySpec, IndexColumnSpec,
    IndexSpec, Rule, TableSpec,
};
pub use views::{IndexView, SequenceView, TableView};
