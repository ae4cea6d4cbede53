//! The data dictionary: which tables, indexes, constraints, sequences, views and external tables
//! there are, with comments and statistics, kept in tables of its own; the statements that change
//! it; and values of sequences.
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
//! * [`Catalog`]: the open dictionary; gives relations, sequences, views and lists of what there
//!   is; says in which generation each has changed.
//! * [`TableSpec`], [`IndexSpec`], [`ViewSpec`], [`TableAlterations`], [`SequenceOptions`]: what
//!   DDL statements say.
//! * [`ViewDefinition`], [`ExternalDefinition`], [`TableStatistics`]: what is kept for SQL.
//! * [`DictionaryCheck`]: checks the dictionary's rows without believing them.
//! * [`TableView`], [`SequenceView`]: what there is, as values.
//!
//! What is kept for SQL is a text, and nothing here understands it: queries of views, expressions
//! of DEFAULTs and CHECKs, options of external tables.
//!
//! Each DDL statement (`create`, `alter`, `drop`, `truncate`, …) makes an `edit` and
//! runs as a `statement`, whose order of locks, commit and publication is that of the README: rules
//! DC1 to DC46. What was decided, and why: decisions 0007 and 0015.
//!
//! Callers: the embedded API; SQL; tools.

#![forbid(unsafe_code)]

mod alter;
mod alter_sequence;
mod altered;
mod annotations;
mod build;
mod bytes;
mod catalog;
mod checks;
mod compose;
mod contradictions;
mod create;
mod definition_names;
mod dependents;
mod dictionary;
mod dictionary_check;
mod dictionary_table;
mod dictionary_version;
mod draft;
mod draft_parts;
mod drop;
mod edit;
mod external_definition;
mod external_statements;
mod fill;
mod generated_names;
mod lock_names;
mod names;
mod object_id;
mod rows;
mod sequence;
mod sequence_definition;
mod set_type;
mod spec;
mod statement;
mod statistics;
mod store;
mod text_contradictions;
mod texts;
mod truncate;
mod view_definition;
mod view_statements;
mod views;

pub use alter::TableAlterations;
pub use catalog::{Catalog, CatalogConfig, CatalogOpened};
pub use definition_names::place_of;
pub use dictionary_check::{DictionaryCheck, DictionaryContents, DictionaryFault};
pub use dictionary_table::DictionaryTable;
pub use dictionary_version::{DICTIONARY_VERSION, DICTIONARY_VERSION_FIRST};
pub use draft::{INDEX_COLUMNS_MAX, INDEXES_MAX};
pub use drop::Dropping;
pub use external_definition::{ExternalColumn, ExternalDefinition};
pub use fill::FilledRow;
pub use names::NAME_BYTES_MAX;
pub use object_id::{ObjectId, SCHEMA};
pub use sequence::Sequence;
pub use sequence_definition::{SequenceDefinition, SequenceOptions};
pub use set_type::Convert;
pub use spec::{
    Alteration, ColumnSpec, ConstraintSpec, DefaultSpec, ExternalSpec, ForeignKeySpec,
    IndexColumnSpec, IndexSpec, Restart, Rule, SequenceAlteration, SequenceBound, TableSpec,
    ViewSpec,
};
pub use statistics::{ColumnStatistics, IndexStatistics, TableStatistics};
pub use texts::TEXT_BYTES_MAX;
pub use truncate::Truncation;
pub use view_definition::{Dependency, ViewDefinition};
pub use views::{IndexView, SequenceView, TableView};
