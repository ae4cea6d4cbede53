//! The dictionary's own tables: what they are called, and their columns. They are relations as any
//! other, of definitions that are built in.
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
//!
//! Invariants (rule DC1)
//!   * a table of the dictionary has the segments `_x` and `_x_key`; the segment of the last one's
//!     index is made permanent last: where it isn't, there is no dictionary
//!   * columns are only ever added at the end
//!
//! Callers: `store`, `rows`, `look`; the check of a whole database, which reads them without
//! opening it.

use ids::{ObjectNo, Scn};
use relation::{ColumnDefinition, Default, IndexColumn, IndexDefinition, TableDefinition};
use value::{Direction, NullsPlace, OwnedValue, Type};

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
}

/// A column of one: name, type, and whether it may be NULL.
type StoredColumn = (&'static str, Type, bool);

const NO: bool = false;
const NULL: bool = true;

impl DictionaryTable {
    /// All of them; the segment of the last one's index is made permanent last.
    pub const ALL: [DictionaryTable; 7] = [
        Self::Tables,
        Self::Columns,
        Self::Indexes,
        Self::IndexColumns,
        Self::Constraints,
        Self::ConstraintColumns,
        Self::Sequences,
    ];

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
        }
    }

    /// The name of its only index, and of the segment of that.
    pub fn index_name(self) -> String {
        format!("{}_key", self.name())
    }

    /// So many of its first columns are its key: whole numbers.
    pub(crate) fn key_columns(self) -> usize {
        match self {
            Self::Tables | Self::Indexes | Self::Sequences => 1,
            Self::Columns | Self::IndexColumns | Self::Constraints => 2,
            Self::ConstraintColumns => 3,
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
        }
    }

    /// Its definition, with its rows and its index in these segments.
    pub fn definition(self, table: ObjectNo, index: ObjectNo) -> TableDefinition {
        let column = |(name, kind, nullable): &StoredColumn| ColumnDefinition {
            name: (*name).into(),
            kind: *kind,
            not_null: !nullable,
            default: Default::Constant(OwnedValue::NULL),
            missing: OwnedValue::NULL,
        };
        let ascending = |column| IndexColumn {
            column,
            direction: Direction::Ascending,
            nulls: NullsPlace::Last,
        };
        let key = IndexDefinition {
            object: index,
            name: self.index_name(),
            segment: index,
            columns: (0..self.key_columns()).map(ascending).collect(),
            unique: true,
            primary: true,
            since: Scn::ZERO,
        };
        TableDefinition {
            object: table,
            name: self.name().into(),
            segment: table,
            truncated: Scn::ZERO,
            promised: Scn::ZERO,
            columns: self.columns().iter().map(column).collect(),
            indexes: vec![key],
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            referenced_by: Vec::new(),
        }
    }
}
