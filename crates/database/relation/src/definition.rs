//! What a table is: columns, indexes, constraints; as values, wherever they come from.
//!
//! Names are compared as they are written: who folds case (SQL) has done so. An object's number is
//! that of its first segment and stays for its life; the segment in which its rows are now may be
//! another, after a truncate (Oracle's OBJECT_ID and DATA_OBJECT_ID).
//!
//! Callers: `relation`, the catalog, and who makes tables.

use ids::{ObjectNo, Scn};
use value::{Direction, NullsPlace, OwnedValue, Type};

use crate::Condition;

/// A table.
#[derive(Clone, Debug)]
pub struct TableDefinition {
    /// Its number, for locks and for whoever refers to it.
    pub object: ObjectNo,
    /// Its name.
    pub name: String,
    /// The segment in which its rows are.
    pub segment: ObjectNo,
    /// Snapshots below this don't see what was there before a truncate: they are too old.
    pub truncated: Scn,
    /// Snapshots below this may see rows that break what the definition says of rows (NOT NULL,
    /// CHECK): they are too old.
    pub promised: Scn,
    /// In the order of their places in rows; none is ever taken out, and one that was dropped has
    /// lost its name.
    pub columns: Vec<ColumnDefinition>,
    /// All its indexes, those of constraints too.
    pub indexes: Vec<IndexDefinition>,
    /// Conditions that no row may break.
    pub checks: Vec<NamedCondition>,
    /// Rows of other tables that have to be there.
    pub foreign_keys: Vec<ForeignKey>,
    /// Foreign keys of other tables, or its own, that point to this one.
    pub referenced_by: Vec<ForeignKey>,
}

/// A column.
#[derive(Clone, Debug)]
pub struct ColumnDefinition {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: Type,
    /// NULL is refused.
    pub not_null: bool,
    /// What a row gets that doesn't say.
    pub default: Default,
    /// What rows have that were there before the column was added (rule value/VA4).
    pub missing: OwnedValue,
}

/// What the name of a dropped column begins with, which a user's can't.
const DROPPED: char = '#';

impl ColumnDefinition {
    /// What becomes of it when it is dropped, at this place: it keeps its type, for rows have
    /// values there still, and nothing else.
    #[must_use]
    pub fn dropped(&self, place: usize) -> ColumnDefinition {
        ColumnDefinition {
            name: format!("{DROPPED}{place}"),
            kind: self.kind,
            not_null: false,
            default: Default::Constant(OwnedValue::NULL),
            missing: OwnedValue::NULL,
        }
    }

    /// Whether it was dropped. What rows have there means nothing any more.
    pub fn is_dropped(&self) -> bool {
        is_dropped(&self.name)
    }
}

/// Whether a column of this name was dropped.
pub fn is_dropped(name: &str) -> bool {
    name.starts_with(DROPPED)
}

/// What a row gets in a column that isn't named.
#[derive(Clone, Debug)]
pub enum Default {
    /// This; NULL if nothing was said.
    Constant(OwnedValue),
    /// The next number of a sequence; `always`: no other is taken (`GENERATED ALWAYS AS IDENTITY`).
    Identity {
        /// The sequence's number.
        sequence: ObjectNo,
        /// Whether giving a value is refused.
        always: bool,
    },
}

/// An index.
#[derive(Clone, Debug)]
pub struct IndexDefinition {
    /// Its number.
    pub object: ObjectNo,
    /// Its name, which is also that of the constraint that it holds.
    pub name: String,
    /// The segment in which its entries are.
    pub segment: ObjectNo,
    /// Columns, first to last.
    pub columns: Vec<IndexColumn>,
    /// No two rows have the same key, unless a column of it is NULL.
    pub unique: bool,
    /// It is the primary key's.
    pub primary: bool,
    /// Snapshots below this can't use it: what they would see isn't in it.
    pub since: Scn,
}

/// Names an index for as long as it exists. The place of an index among those of its table moves
/// when an earlier one is dropped; its identifier doesn't, and is never given to another index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IndexId(ObjectNo);

impl IndexDefinition {
    /// What names this index across calls (RL14).
    pub fn id(&self) -> IndexId {
        IndexId(self.object)
    }
}

/// A column of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexColumn {
    /// Which column of the table.
    pub column: usize,
    /// Ascending or descending.
    pub direction: Direction,
    /// Where NULLs are.
    pub nulls: NullsPlace,
}

/// A CHECK.
#[derive(Clone, Debug)]
pub struct NamedCondition {
    /// The constraint's name.
    pub name: String,
    /// A row is refused for which this is false; unknown is no reason.
    pub condition: Condition,
}

/// A FOREIGN KEY: columns of `table` whose values, if none is NULL, are the key of a row of
/// `references`. Both have an index: the one to look for the row that is referred to, the other for
/// rows that refer to it.
#[derive(Clone, Debug)]
pub struct ForeignKey {
    /// The constraint's name.
    pub name: String,
    /// The table that refers.
    pub table: ObjectNo,
    /// Its columns.
    pub columns: Vec<usize>,
    /// An index of `table` that begins with these columns.
    pub index: ObjectNo,
    /// The table that is referred to.
    pub references: ObjectNo,
    /// Columns of that one, in the same order: exactly those of a unique index.
    pub referenced_columns: Vec<usize>,
    /// That unique index.
    pub referenced_index: ObjectNo,
    /// What happens to rows that refer to a row that is deleted.
    pub on_delete: OnDelete,
}

/// What a delete does to rows that refer to the row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnDelete {
    /// It is refused while there are any.
    NoAction,
    /// They are deleted too.
    Cascade,
    /// Their columns become NULL.
    SetNull,
}
