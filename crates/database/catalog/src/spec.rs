//! Specs: what DDL statements say, as values, with names as users write them and nothing numbered
//! yet.
//!
//! Callers: programs that make and alter tables and other objects; `draft` turns specs of tables
//! into definitions.

use relation::{Condition, OnDelete};
use value::{Direction, NullOrdering, OwnedValue, Type};

use crate::{Dependency, ExternalColumn, SequenceOptions};

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
    /// Other indexes that it has from the beginning, in its tablespace; which table they name
    /// doesn't matter.
    pub indexes: Vec<IndexSpec>,
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
    /// An expression, evaluated for each row by whoever inserts it.
    Expression {
        /// Its text.
        text: String,
        /// Its value now. Rows that are there have it when the column is added to their table.
        present: OwnedValue,
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
    /// CHECK: the expression is false for no row.
    CheckExpression {
        /// Its text.
        text: String,
        /// The columns that it reads.
        columns: Vec<String>,
    },
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

/// What CREATE VIEW says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ViewSpec {
    /// Its name.
    pub name: String,
    /// The text of its query.
    pub text: String,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// The objects that its query reads, each once.
    pub depends_on: Vec<Dependency>,
    /// The dictionary's generation, as it was before the query was bound. If something that it
    /// reads has changed since, the statement is refused (*definition changed*): bind it again.
    pub bound_in: u64,
    /// Whether a view of this name is replaced.
    pub replace: bool,
    /// The places of the columns that have values of another kind than in the view that is
    /// replaced. While a view reads one of them, the statement is refused.
    pub retyped: Vec<usize>,
}

/// What CREATE EXTERNAL TABLE says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExternalSpec {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<ExternalColumn>,
    /// Location and options, as a text.
    pub options: String,
}

/// What ALTER SEQUENCE says; what it doesn't say stays.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SequenceAlteration {
    /// The first value, where a later RESTART begins.
    pub start: Option<i64>,
    /// The difference from one value to the next.
    pub increment: Option<i64>,
    /// The least value.
    pub min: Option<SequenceBound>,
    /// The greatest value.
    pub max: Option<SequenceBound>,
    /// Whether it begins again behind the last value.
    pub cycles: Option<bool>,
    /// The number of values of a range.
    pub cache: Option<u32>,
    /// Where it begins again at once.
    pub restart: Option<Restart>,
}

/// A bound of a sequence, as ALTER SEQUENCE says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SequenceBound {
    /// NO MINVALUE, NO MAXVALUE: the default of a new sequence.
    Default,
    /// This value.
    At(i64),
}

/// Where a sequence begins again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Restart {
    /// At its first value.
    AtStart,
    /// At this value.
    At(i64),
}

/// One thing that ALTER TABLE says.
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
    /// Makes an expression the default of a column for inserts from now on.
    SetDefaultExpression {
        /// The column's name.
        column: String,
        /// The text of the expression.
        text: String,
    },
    /// Gives a column another type. Its values are fitted to that, as those of an insert are, and
    /// one that doesn't fit has the statement refused. Rows are rewritten, unless the values have
    /// the same bytes (DC41).
    SetType {
        /// The column's name.
        column: String,
        /// The new type.
        kind: Type,
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

impl Alteration {
    /// Whether a column gets another type.
    pub(crate) fn sets_type(&self) -> bool {
        matches!(self, Alteration::SetType { .. })
    }
}
