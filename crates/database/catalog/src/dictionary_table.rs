//! The dictionary's own tables: their names and columns. They are relations of built-in
//! definitions.
//!
//! | table | one row for each | key |
//! |---|---|---|
//! | `_tables` | table | object |
//! | `_columns` | column | table, place |
//! | `_indexes` | index | object |
//! | `_index_columns` | column of an index | index, place |
//! | `_constraints` | CHECK or FOREIGN KEY | table, place |
//! | `_constraint_columns` | column of a FOREIGN KEY | table, place of the constraint, place |
//! | `_sequences` | sequence | object |
//! | `_texts` | view, external table, comment, expression | kind, object, place |
//! | `_statistics` | table, column or index with statistics | table, kind, number |
//!
//! The last two come with version 2 of the dictionary; a row of `_tables` says the version
//! (`dictionary_version`).
//!
//! Invariants (rule DC1)
//!   * a table of the dictionary has the segments `_x` and `_x_key`; the segment of the index of
//!     the last table of version 1 is made permanent last: where it isn't, there is no dictionary
//!     (DC10)
//!   * a table's columns never change: a version has tables, and each has its columns for ever
//!
//! Callers: `store`; `rows`; `dictionary_check`; `verify`, which reads the tables without opening
//! them.

use ids::{ObjectNo, Scn};
use relation::{ColumnDefinition, IndexColumn, IndexDefinition, TableDefinition};
use value::Type;

use crate::dictionary_version::DICTIONARY_VERSION_FIRST;

/// A table of the dictionary.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DictionaryTable {
    /// Tables.
    Tables,
    /// Columns of tables.
    Columns,
    /// Indexes.
    Indexes,
    /// Columns of indexes.
    IndexColumns,
    /// CHECK and FOREIGN KEY.
    Constraints,
    /// Columns of a FOREIGN KEY.
    ConstraintColumns,
    /// Sequences.
    Sequences,
    /// Things that are a text: views, external tables, comments, expressions.
    Texts,
    /// Statistics of tables, columns and indexes.
    Statistics,
}

/// The number of tables of the first version.
const FIRST: usize = 7;

/// A column of such a table: name, type, and whether it may be NULL.
type StoredColumn = (&'static str, Type, bool);

const NO: bool = false;
const NULL: bool = true;

/// The columns of the tables of version 2.
const TEXTS: &[StoredColumn] = &[
    ("kind", Type::BigInt, NO),
    ("object", Type::BigInt, NO),
    ("place", Type::BigInt, NO),
    ("name", Type::Text, NULL),
    ("text", Type::Text, NO),
    ("details", Type::Bytea, NULL),
];
const STATISTICS: &[StoredColumn] = &[
    ("table_object", Type::BigInt, NO),
    ("kind", Type::BigInt, NO),
    ("number", Type::BigInt, NO),
    ("content", Type::Bytea, NO),
];

impl DictionaryTable {
    /// All of them, each version's behind those of the versions before.
    pub const ALL: [DictionaryTable; 9] = [
        Self::Tables,
        Self::Columns,
        Self::Indexes,
        Self::IndexColumns,
        Self::Constraints,
        Self::ConstraintColumns,
        Self::Sequences,
        Self::Texts,
        Self::Statistics,
    ];

    /// The tables of a dictionary of this version. Of the first version, the segment of the last
    /// one's index is made permanent last (DC10).
    pub fn of(version: u32) -> &'static [DictionaryTable] {
        let all: &'static [DictionaryTable] = &Self::ALL;
        if version > DICTIONARY_VERSION_FIRST { all } else { &all[..FIRST] }
    }

    /// The tables that aren't in a dictionary of this version yet.
    pub(crate) fn after(version: u32) -> &'static [DictionaryTable] {
        let all: &'static [DictionaryTable] = &Self::ALL;
        &all[Self::of(version).len()..]
    }

    /// The first version that has the table.
    pub fn since(self) -> u32 {
        let is_first = Self::of(DICTIONARY_VERSION_FIRST).contains(&self);
        if is_first { DICTIONARY_VERSION_FIRST } else { DICTIONARY_VERSION_FIRST + 1 }
    }

    /// The name of the table and of its segment.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tables => "_tables",
            Self::Columns => "_columns",
            Self::Indexes => "_indexes",
            Self::IndexColumns => "_index_columns",
            Self::Constraints => "_constraints",
            Self::ConstraintColumns => "_constraint_columns",
            Self::Sequences => "_sequences",
            Self::Texts => "_texts",
            Self::Statistics => "_statistics",
        }
    }

    /// The name of its only index, and of that index's segment.
    pub fn index_name(self) -> String {
        format!("{}_key", self.name())
    }

    /// The number of its first columns that are its key, all whole numbers.
    pub(crate) fn key_columns(self) -> usize {
        match self {
            Self::Tables | Self::Indexes | Self::Sequences => 1,
            Self::Columns | Self::IndexColumns | Self::Constraints => 2,
            Self::ConstraintColumns | Self::Texts | Self::Statistics => 3,
        }
    }

    pub(crate) fn columns(self) -> &'static [StoredColumn] {
        match self {
            Self::Tables => &[
                ("object", Type::BigInt, NO),
                ("name", Type::Text, NO),
                ("segment", Type::BigInt, NO),
            ],
            Self::Columns => &[
                ("table_object", Type::BigInt, NO),
                ("place", Type::BigInt, NO),
                ("name", Type::Text, NO),
                ("type", Type::Bytea, NO),
                ("not_null", Type::Boolean, NO),
                ("default_value", Type::Bytea, NULL),
                ("identity_sequence", Type::BigInt, NULL),
                ("identity_always", Type::Boolean, NO),
                ("missing_value", Type::Bytea, NULL),
            ],
            Self::Indexes => &[
                ("object", Type::BigInt, NO),
                ("table_object", Type::BigInt, NO),
                ("place", Type::BigInt, NO),
                ("name", Type::Text, NO),
                ("segment", Type::BigInt, NO),
                ("is_unique", Type::Boolean, NO),
                ("is_primary", Type::Boolean, NO),
            ],
            Self::IndexColumns => &[
                ("index_object", Type::BigInt, NO),
                ("place", Type::BigInt, NO),
                ("column_place", Type::BigInt, NO),
                ("is_descending", Type::Boolean, NO),
                ("nulls_first", Type::Boolean, NO),
            ],
            Self::Constraints => &[
                ("table_object", Type::BigInt, NO),
                ("place", Type::BigInt, NO),
                ("name", Type::Text, NO),
                ("condition", Type::Bytea, NULL),
                ("index_object", Type::BigInt, NULL),
                ("references_object", Type::BigInt, NULL),
                ("references_index", Type::BigInt, NULL),
                ("on_delete", Type::BigInt, NULL),
            ],
            Self::ConstraintColumns => &[
                ("table_object", Type::BigInt, NO),
                ("constraint_place", Type::BigInt, NO),
                ("place", Type::BigInt, NO),
                ("column_place", Type::BigInt, NO),
                ("references_column", Type::BigInt, NO),
            ],
            Self::Sequences => &[
                ("object", Type::BigInt, NO),
                ("name", Type::Text, NO),
                ("start_value", Type::BigInt, NO),
                ("increment", Type::BigInt, NO),
                ("min_value", Type::BigInt, NO),
                ("max_value", Type::BigInt, NO),
                ("cycles", Type::Boolean, NO),
                ("cache", Type::BigInt, NO),
                ("next_value", Type::BigInt, NULL),
            ],
            Self::Texts => TEXTS,
            Self::Statistics => STATISTICS,
        }
    }

    /// Its definition, with rows and index in these segments.
    pub fn definition(self, table: ObjectNo, index: ObjectNo) -> TableDefinition {
        let key = IndexDefinition {
            object: index,
            name: self.index_name(),
            segment: index,
            columns: (0..self.key_columns()).map(IndexColumn::ascending).collect(),
            unique: true,
            primary: true,
            since: Scn::ZERO,
        };
        let columns = self.columns().iter();
        let columns =
            columns.map(|(name, kind, nullable)| ColumnDefinition::new(name, *kind, !nullable));
        TableDefinition {
            columns: columns.collect(),
            indexes: vec![key],
            ..TableDefinition::new(table, self.name(), table)
        }
    }
}
