//! LIKE in CREATE TABLE: the columns of another table, and what else is copied of it.
//!
//! Invariant: what is copied is the table as it is when the statement looks at it. It isn't locked,
//! and nothing of the new table depends on it afterwards.
//!
//! Callers: `table`.
//! Sources: PostgreSQL's documentation, "CREATE TABLE", LIKE.

use catalog::{
    ColumnSpec, ConstraintSpec, DefaultSpec, IndexColumnSpec, Rule, SequenceDefinition,
    SequenceOptions,
};
use relation::{ColumnDefinition, Default as ColumnDefault, IndexColumn, TableDefinition};
use stop::{SqlState, Stop};
use syntax::{Including, Like};
use value::OwnedValue;

use crate::engine::Frame;
use crate::names::Name;
use crate::refuse::refuse;

/// What a new table gets of another one. Nothing of it has a name yet but the columns.
pub(super) struct Copied {
    pub(super) columns: Vec<ColumnSpec>,
    pub(super) constraints: Vec<ConstraintSpec>,
    /// Indexes that no constraint makes.
    pub(super) indexes: Vec<CopiedIndex>,
}

/// An index that is to be made as another one is.
pub(super) struct CopiedIndex {
    pub(super) columns: Vec<IndexColumnSpec>,
    pub(super) unique: bool,
}

impl Frame<'_> {
    /// What is copied of a table.
    pub(super) fn copied(&self, like: &Like) -> Result<Copied, Stop> {
        let name = Name::of_users(&like.table)?;
        let table = self.catalog.table(&name, self.session)?;
        let mut columns = Vec::with_capacity(table.columns.len());
        for column in table.columns.iter().filter(|column| !column.is_dropped()) {
            columns.push(ColumnSpec {
                name: column.name.clone(),
                kind: column.kind,
                not_null: column.not_null,
                default: self.copied_default(column, like.including)?,
            });
        }
        let mut copied = Copied { columns, constraints: Vec::new(), indexes: Vec::new() };
        if like.including.constraints {
            copied.add_checks(&table)?;
        }
        if like.including.indexes {
            copied.add_indexes(&table);
        }
        Ok(copied)
    }

    /// The default of a column; NULL if it isn't copied.
    fn copied_default(
        &self,
        column: &ColumnDefinition,
        including: Including,
    ) -> Result<DefaultSpec, Stop> {
        Ok(match &column.default {
            ColumnDefault::Constant(value) if including.defaults => {
                DefaultSpec::Constant(value.clone())
            }
            ColumnDefault::Expression(text) if including.defaults => {
                // No row is there that has it.
                DefaultSpec::Expression { text: text.clone(), present: OwnedValue::NULL }
            }
            ColumnDefault::Identity { sequence, always } if including.identity => {
                let sequence = self.catalog.sequence_of(*sequence, self.session)?;
                let options = options_of(sequence.definition());
                DefaultSpec::Identity { always: *always, options }
            }
            _ => DefaultSpec::Constant(OwnedValue::NULL),
        })
    }
}

impl Copied {
    /// CHECKs with the texts that they have.
    fn add_checks(&mut self, table: &TableDefinition) -> Result<(), Stop> {
        if let Some(check) = table.checks.first() {
            let message = format!(
                "check {} of table {} was made by a program and has no text that could be copied; \
                 write the constraints out",
                check.name, table.name
            );
            return Err(refuse(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        for check in &table.expressions {
            let names = check.columns.iter().map(|place| table.columns[*place].name.clone());
            let (text, columns) = (check.text.clone(), names.collect());
            self.add(Rule::CheckExpression { text, columns });
        }
        Ok(())
    }

    /// Keys and other indexes.
    fn add_indexes(&mut self, table: &TableDefinition) {
        let name = |of: &IndexColumn| table.columns[of.column].name.clone();
        for index in &table.indexes {
            let is_rising = |of: &IndexColumn| *of == IndexColumn::ascending(of.column);
            let is_key = index.unique && index.columns.iter().all(is_rising);
            let names = || -> Vec<String> { index.columns.iter().map(name).collect() };
            if index.primary {
                self.add(Rule::PrimaryKey(names()));
            } else if is_key {
                self.add(Rule::Unique(names()));
            } else {
                let column = |of: &IndexColumn| IndexColumnSpec {
                    name: name(of),
                    direction: of.direction,
                    nulls: Some(of.nulls),
                };
                let columns = index.columns.iter().map(column).collect();
                self.indexes.push(CopiedIndex { columns, unique: index.unique });
            }
        }
    }

    fn add(&mut self, rule: Rule) {
        self.constraints.push(ConstraintSpec { name: None, rule });
    }
}

/// How a sequence counts that is as another one.
fn options_of(definition: &SequenceDefinition) -> SequenceOptions {
    let SequenceDefinition { start, increment, min, max, cycles, cache, .. } = *definition;
    SequenceOptions {
        start: Some(start),
        increment: Some(increment),
        min: Some(min),
        max: Some(max),
        cycles,
        cache: Some(cache),
    }
}
