//! Definitions: what a table, its columns, indexes and constraints are, as values.
//!
//! Names are compared byte by byte; SQL folds their case before. An object keeps the number of its
//! first segment for life, though a truncate gives it another segment (Oracle's OBJECT_ID and
//! DATA_OBJECT_ID).
//!
//! Callers: `relation`; the catalog; programs that make tables.

use ids::{ObjectNo, Scn};
use value::{Direction, NullOrdering, OwnedValue, Type};

use crate::Condition;

/// What a table is.
#[derive(Clone, Debug)]
pub struct TableDefinition {
    /// The table's number, by which it is locked and referred to.
    pub object: ObjectNo,
    /// Its name.
    pub name: String,
    /// The segment that has its rows now.
    pub segment: ObjectNo,
    /// The commit of the last truncate: an older snapshot is too old for the table (RL26).
    pub truncated: Scn,
    /// The commit of the last new NOT NULL or CHECK: an older snapshot may see rows that break it,
    /// and is too old for the table (RL26).
    pub promised: Scn,
    /// The columns, in the order of their places in rows. A dropped column keeps its place and
    /// loses its name.
    pub columns: Vec<ColumnDefinition>,
    /// All indexes, those of constraints included.
    pub indexes: Vec<IndexDefinition>,
    /// The CHECK constraints that are conditions.
    pub checks: Vec<NamedCondition>,
    /// The CHECK constraints that are expressions (RL80).
    pub expressions: Vec<CheckExpression>,
    /// The foreign keys of this table.
    pub foreign_keys: Vec<ForeignKey>,
    /// The foreign keys that refer to this table, its own included.
    pub referenced_by: Vec<ForeignKey>,
}

impl TableDefinition {
    /// A table without columns, whose rows are in this segment.
    pub fn new(object: ObjectNo, name: &str, segment: ObjectNo) -> TableDefinition {
        TableDefinition {
            object,
            name: name.into(),
            segment,
            truncated: Scn::ZERO,
            promised: Scn::ZERO,
            columns: Vec::new(),
            indexes: Vec::new(),
            checks: Vec::new(),
            expressions: Vec::new(),
            foreign_keys: Vec::new(),
            referenced_by: Vec::new(),
        }
    }
}

/// What a column is.
#[derive(Clone, Debug)]
pub struct ColumnDefinition {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub kind: Type,
    /// Whether NULL is refused.
    pub not_null: bool,
    /// The value of a row that is inserted without one.
    pub default: Default,
    /// The value of rows from before the column was added (rule value/VA4).
    pub missing: OwnedValue,
}

/// The first character of a dropped column's name; a user's name can't begin with it.
const DROPPED: char = '#';

impl ColumnDefinition {
    /// A column without a default.
    pub fn new(name: &str, kind: Type, not_null: bool) -> ColumnDefinition {
        let default = Default::Constant(OwnedValue::NULL);
        ColumnDefinition { name: name.into(), kind, not_null, default, missing: OwnedValue::NULL }
    }

    /// The column as it is after it was dropped, at this place. It keeps its type, because rows
    /// still have values there.
    #[must_use]
    pub fn dropped(&self, place: usize) -> ColumnDefinition {
        ColumnDefinition::new(&format!("{DROPPED}{place}"), self.kind, false)
    }

    /// Whether the column was dropped. Values that rows have there mean nothing any more.
    pub fn is_dropped(&self) -> bool {
        is_dropped(&self.name)
    }
}

/// Whether this is the name of a dropped column.
pub fn is_dropped(name: &str) -> bool {
    name.starts_with(DROPPED)
}

/// The value of a column that an insert doesn't name.
#[derive(Clone, Debug)]
pub enum Default {
    /// A constant; NULL if no default was given.
    Constant(OwnedValue),
    /// The next number of a sequence (`GENERATED … AS IDENTITY`).
    Identity {
        /// The sequence's number.
        sequence: ObjectNo,
        /// Whether an insert that gives a value is refused (`GENERATED ALWAYS`).
        always: bool,
    },
    /// The value of an expression of SQL, of which this is the text. The caller of an insert
    /// evaluates it.
    Expression(String),
}

impl Default {
    /// The sequence of an identity column.
    pub fn sequence(&self) -> Option<ObjectNo> {
        match self {
            Default::Constant(_) | Default::Expression(_) => None,
            Default::Identity { sequence, .. } => Some(*sequence),
        }
    }
}

/// What an index is.
#[derive(Clone, Debug)]
pub struct IndexDefinition {
    /// The index's number.
    pub object: ObjectNo,
    /// The name of the index, and of the constraint that it enforces.
    pub name: String,
    /// The segment that has its entries now.
    pub segment: ObjectNo,
    /// The columns of its key, first to last.
    pub columns: Vec<IndexColumn>,
    /// Whether two rows can't have the same key, unless a column of it is NULL.
    pub unique: bool,
    /// Whether it is the index of the primary key.
    pub primary: bool,
    /// The commit that made the index: an older snapshot can't use it (RL26).
    pub since: Scn,
}

/// An index's identifier for as long as the index exists, never given to another (RL14). The place
/// of an index among those of its table moves when an earlier one is dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IndexId(ObjectNo);

impl IndexDefinition {
    /// The identifier of this index (RL14).
    pub fn id(&self) -> IndexId {
        IndexId(self.object)
    }

    /// Whether its first columns are these, in this order.
    pub fn begins_with(&self, columns: &[usize]) -> bool {
        let first = self.columns.iter().map(|of| of.column).take(columns.len());
        first.eq(columns.iter().copied())
    }
}

/// A column of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexColumn {
    /// The column's place in the table.
    pub column: usize,
    /// The direction of its order.
    pub direction: Direction,
    /// Where NULLs come in its order.
    pub nulls: NullOrdering,
}

impl IndexColumn {
    /// An ascending column, with NULLs last.
    pub fn ascending(column: usize) -> IndexColumn {
        let direction = Direction::Ascending;
        IndexColumn { column, direction, nulls: NullOrdering::of(direction) }
    }
}

/// A CHECK constraint.
#[derive(Clone, Debug)]
pub struct NamedCondition {
    /// The constraint's name.
    pub name: String,
    /// A row for which this is false is refused; unknown is allowed.
    pub condition: Condition,
}

/// A CHECK constraint that is an expression of SQL. This crate knows its text and no more: what
/// evaluates it comes with the opening of the table (RL80).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckExpression {
    /// The constraint's name.
    pub name: String,
    /// The text of the expression.
    pub text: String,
    /// The columns that it reads, each once, in the table's order.
    pub columns: Vec<usize>,
}

/// A FOREIGN KEY: columns of `table` whose values, if none is NULL, are the key of a row of
/// `references`. Both tables have an index for it: the parent's to find the row that is referred
/// to, the child's to find rows that refer.
#[derive(Clone, Debug)]
pub struct ForeignKey {
    /// The constraint's name.
    pub name: String,
    /// The child: the table that refers.
    pub table: ObjectNo,
    /// The child's columns.
    pub columns: Vec<usize>,
    /// An index of the child that begins with these columns.
    pub index: ObjectNo,
    /// The parent: the table that is referred to.
    pub references: ObjectNo,
    /// The parent's columns, in the same order: exactly those of a unique index.
    pub referenced_columns: Vec<usize>,
    /// That unique index of the parent.
    pub referenced_index: ObjectNo,
    /// What a delete of a parent's row does to rows that refer to it.
    pub on_delete: OnDelete,
}

/// What the delete of a parent's row does to rows that refer to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnDelete {
    /// The delete is refused while there are such rows.
    NoAction,
    /// The rows are deleted too.
    Cascade,
    /// The columns of their foreign key become NULL.
    SetNull,
}
