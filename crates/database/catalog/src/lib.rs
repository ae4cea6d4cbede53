//! The data dictionary: what tables, indexes, constraints and sequences there are, in tables of its
//! own; and the statements that change it.
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
//! * [`Catalog`]: opened; asked for relations, sequences, and what there is.
//! * [`TableSpec`], [`IndexSpec`], [`Alteration`], [`SequenceOptions`]: what statements say.
//! * [`DictionaryCheck`]: the dictionary's rows, for who doesn't believe them.
//! * [`TableView`], [`ConstraintView`], [`SequenceView`]: what there is, as values.
//!
//! Rules DC1 to DC9 are in the README. What was decided, and why: decision 0007.
//!
//! Callers: the embedded API, SQL, tools.

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
pub use views::{ConstraintKind, ConstraintView, IndexView, SequenceView, TableView};
