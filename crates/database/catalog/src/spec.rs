//! Specs: what DDL statements say, as values, with names as users write them and nothing numbered
//! yet.
//!
//! Callers: programs that make and alter tables; `draft` turns specs into definitions.

use relation::{Condition, OnDelete};
use value::{Direction, NullOrdering, OwnedValue, Type};

use crate::SequenceOptions;

/// What CREATE TABLE says.
#[derive(Clone, Debug)]
pub struct TableSpec {
    /// Its name.
    pub name: String,
    /// The tablespace of the table and of its constraints' indexes; the default one if none is
    /// named.
    pub tablespace: Option<String>,
    /// The table's columns.
    pub columns: Vec<ColumnSpec>,
    /// The table's constraints, except NOT NULL.
    pub constraints: Vec<ConstraintSpec>,
}

/// What a statement says of a column.
#[derive(Clone, Debug)]
pub struct ColumnSpec {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub kind: Type,
    /// Whether NULL is refused.
    pub not_null: bool,
    /// The value of a row that is inserted without one.
    pub default: DefaultSpec,
}

/// The value of a column that an insert doesn't name.
#[derive(Clone, Debug)]
pub enum DefaultSpec {
    /// A constant; NULL is as if no default was given.
    Constant(OwnedValue),
    /// The next number of a sequence that is made and dropped with the column.
    Identity {
        /// Whether an insert that gives a value is refused.
        always: bool,
        /// How the sequence counts; by default it ends where the column's type does.
        options: SequenceOptions,
    },
}

/// What a statement says of a constraint.
#[derive(Clone, Debug)]
pub struct ConstraintSpec {
    /// The constraint's name; one is made up if there is none.
    pub name: Option<String>,
    /// The rule that it enforces.
    pub rule: Rule,
}

/// The rule that a constraint enforces.
#[derive(Clone, Debug)]
pub enum Rule {
    /// PRIMARY KEY: no two rows have the same values in these columns, and none is NULL.
    PrimaryKey(Vec<String>),
    /// UNIQUE: no two rows have the same values in these columns, unless one is NULL.
    Unique(Vec<String>),
    /// CHECK: the condition is false for no row. It names columns by their places in the table.
    Check(Condition),
    /// FOREIGN KEY: the row that a row refers to has to be there.
    ForeignKey(ForeignKeySpec),
}

/// What a statement says of a FOREIGN KEY.
#[derive(Clone, Debug)]
pub struct ForeignKeySpec {
    /// The child's columns.
    pub columns: Vec<String>,
    /// The parent's name.
    pub references: String,
    /// The parent's columns; none stands for its primary key.
    pub referenced_columns: Vec<String>,
    /// What a delete of a parent's row does to rows that refer to it.
    pub on_delete: OnDelete,
}

/// What CREATE INDEX says.
#[derive(Clone, Debug)]
pub struct IndexSpec {
    /// Its name.
    pub name: String,
    /// The name of its table.
    pub table: String,
    /// The columns of its key, first to last.
    pub columns: Vec<IndexColumnSpec>,
    /// Whether two rows can't have the same key, unless a column of it is NULL.
    pub unique: bool,
    /// The index's tablespace; that of its table if none is named.
    pub tablespace: Option<String>,
}

/// What a statement says of a column of an index.
#[derive(Clone, Debug)]
pub struct IndexColumnSpec {
    /// Its name.
    pub name: String,
    /// The direction of its order.
    pub direction: Direction,
    /// Whether NULLs come first or last; by default as [`NullOrdering::of`] the direction says.
    pub nulls: Option<NullOrdering>,
}

/// What ALTER TABLE says.
#[derive(Clone, Debug)]
pub enum Alteration {
    /// Adds a column behind the others. Existing rows aren't rewritten.
    AddColumn(ColumnSpec),
    /// Drops a column that no index and no constraint has. Other columns keep their places; values
    /// that rows have there are found by no name (DC26).
    DropColumn(String),
    /// Renames the table.
    RenameTable(String),
    /// Renames a column.
    RenameColumn {
        /// The present name.
        from: String,
        /// The new name.
        to: String,
    },
    /// Renames a constraint or an index.
    RenameConstraint {
        /// The present name.
        from: String,
        /// The new name.
        to: String,
    },
    /// Sets the default of a column for inserts from now on; NULL drops it.
    SetDefault {
        /// The column's name.
        column: String,
        /// The new default.
        value: OwnedValue,
    },
    /// Makes a column NOT NULL. Refused if a row has NULL there.
    SetNotNull(String),
    /// Allows NULL in a column.
    DropNotNull(String),
    /// Adds a constraint. Refused if an existing row breaks it.
    AddConstraint(ConstraintSpec),
    /// Drops a constraint.
    DropConstraint {
        /// Its name.
        name: String,
        /// Whether foreign keys that refer to it are dropped with it.
        cascade: bool,
    },
}
