//! What statements say, as values: names of columns as users write them, nothing numbered yet.
//!
//! Callers: whoever makes and alters tables; `draft` turns them into definitions.

use relation::{Condition, OnDelete};
use value::{Direction, NullsPlace, OwnedValue, Type};

use crate::SequenceOptions;

/// CREATE TABLE.
#[derive(Clone, Debug)]
pub struct TableSpec {
    /// Its name.
    pub name: String,
    /// Where it lies, and the indexes of its constraints; else in the default tablespace.
    pub tablespace: Option<String>,
    /// Its columns.
    pub columns: Vec<ColumnSpec>,
    /// Its constraints, but for NOT NULL.
    pub constraints: Vec<ConstraintSpec>,
}

/// A column.
#[derive(Clone, Debug)]
pub struct ColumnSpec {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: Type,
    /// NULL is refused.
    pub not_null: bool,
    /// What a row gets that doesn't say.
    pub default: DefaultSpec,
}

/// What a row gets in a column that it doesn't name.
#[derive(Clone, Debug)]
pub enum DefaultSpec {
    /// This value; NULL is as if nothing was said.
    Constant(OwnedValue),
    /// The next number of a sequence that is made with the column, and goes with it.
    Identity {
        /// No other value is taken.
        always: bool,
        /// How it counts. What isn't said is as for any sequence, and it ends where the column's
        /// type does.
        options: SequenceOptions,
    },
}

/// A constraint.
#[derive(Clone, Debug)]
pub struct ConstraintSpec {
    /// Its name; one is made if there is none.
    pub name: Option<String>,
    /// What it says.
    pub rule: Rule,
}

/// What a constraint says.
#[derive(Clone, Debug)]
pub enum Rule {
    /// No two rows are alike in these columns, and none is NULL.
    PrimaryKey(Vec<String>),
    /// No two rows are alike in these columns, unless one of them is NULL.
    Unique(Vec<String>),
    /// No row for which this is false. Columns are meant by their places in the table.
    Check(Condition),
    /// Rows of a table that have to be there.
    ForeignKey(ForeignKeySpec),
}

/// A FOREIGN KEY.
#[derive(Clone, Debug)]
pub struct ForeignKeySpec {
    /// The columns that refer.
    pub columns: Vec<String>,
    /// The table that they refer to.
    pub references: String,
    /// Columns of that one; none is its primary key.
    pub referenced_columns: Vec<String>,
    /// What happens to rows that refer to a row that is deleted.
    pub on_delete: OnDelete,
}

/// CREATE INDEX.
#[derive(Clone, Debug)]
pub struct IndexSpec {
    /// Its name.
    pub name: String,
    /// Of this table.
    pub table: String,
    /// Its columns, first to last.
    pub columns: Vec<IndexColumnSpec>,
    /// No two rows have the same key, unless a column of it is NULL.
    pub unique: bool,
    /// Where it lies; else where its table does.
    pub tablespace: Option<String>,
}

/// A column of an index.
#[derive(Clone, Debug)]
pub struct IndexColumnSpec {
    /// Its name.
    pub name: String,
    /// Ascending or descending.
    pub direction: Direction,
    /// Where NULLs are; else where the direction has them ([`NullsPlace::of`]).
    pub nulls: Option<NullsPlace>,
}

/// ALTER TABLE.
#[derive(Clone, Debug)]
pub enum Alteration {
    /// Another column, behind the others. Rows that are there aren't rewritten.
    AddColumn(ColumnSpec),
    /// A column goes, which no index and no constraint has. Others keep their places; what rows
    /// have there stays in them, and nobody finds it by a name.
    DropColumn(String),
    /// The table has another name.
    RenameTable(String),
    /// A column has another name.
    RenameColumn {
        /// As it is called now.
        from: String,
        /// As it will be.
        to: String,
    },
    /// A constraint or an index has another name.
    RenameConstraint {
        /// As it is called now.
        from: String,
        /// As it will be.
        to: String,
    },
    /// Rows that don't name the column get this from now on; NULL drops the default.
    SetDefault {
        /// The column.
        column: String,
        /// The value.
        value: OwnedValue,
    },
    /// No row may have NULL there; looked for first.
    SetNotNull(String),
    /// NULL is a value of the column.
    DropNotNull(String),
    /// Another constraint, which the rows that are there keep.
    AddConstraint(ConstraintSpec),
    /// A constraint goes.
    DropConstraint {
        /// Its name.
        name: String,
        /// With the foreign keys that refer to it.
        cascade: bool,
    },
}
