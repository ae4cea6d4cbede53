//! Columns and constraints of tables.
//!
//! Callers: `table`, `alter`.

use std::collections::BTreeSet;

use catalog::{ColumnSpec, ConstraintSpec, DefaultSpec, ForeignKeySpec, Rule, SequenceOptions};
use expression::Expression;
use relation::OnDelete;
use sqlparser::ast::{Expr, Ident};
use stop::{SqlState, Stop};
use syntax::{
    Bound as SequenceBound, ColumnDefinition, Constraint, ConstraintRule, TypeName, Written,
};
use value::{OwnedValue, Type};

use crate::bind::{Binder, CheckedColumn, Query, Statement};
use crate::check;
use crate::engine::Frame;
use crate::logical::Logical;
use crate::names::{Name, fold};
use crate::refuse::refuse;

/// Whether a default is evaluated when it is defined: for the rows that are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Present {
    /// There are no rows.
    NoRows,
    /// Rows that are there have its value.
    Rows,
}

impl Frame<'_> {
    /// What is said of a column.
    pub(super) fn column_spec(
        &mut self,
        column: &ColumnDefinition,
        present: Present,
        text: &str,
    ) -> Result<ColumnSpec, Stop> {
        let name = fold(&column.name);
        let kind = stored(column.kind, &name)?;
        let default = match (&column.identity, &column.default) {
            (Some(identity), None) => DefaultSpec::Identity {
                always: identity.always,
                options: sequence_options(&identity.options)?,
            },
            (None, Some(default)) => self.default_spec(default, &name, kind, present, text)?,
            (None, None) => DefaultSpec::Constant(OwnedValue::NULL),
            (Some(_), Some(_)) => {
                let message = format!("column {name} can't have both a default and an identity");
                return Err(refuse(SqlState::SYNTAX_ERROR, message));
            }
        };
        Ok(ColumnSpec { name, kind, not_null: column.not_null, default })
    }

    /// A default: a constant, or an expression that is kept as a text.
    pub(super) fn default_spec(
        &mut self,
        written: &Written<Expr>,
        name: &str,
        kind: Type,
        present: Present,
        text: &str,
    ) -> Result<DefaultSpec, Stop> {
        let value = self.default_bound(&written.tree, name, kind, text)?;
        if let Expression::Constant(value) = value {
            let fitted = kind.fit(name, value.get()).map_err(Stop::from)?;
            return Ok(DefaultSpec::Constant(fitted.to_owned()));
        }
        let present = match present {
            Present::NoRows => OwnedValue::NULL,
            Present::Rows => {
                let values = self.values_of(std::slice::from_ref(&written.tree), &[], text)?;
                let value = values.first().map_or(value::Value::Null, OwnedValue::get);
                kind.fit(name, value).map_err(Stop::from)?.to_owned()
            }
        };
        Ok(DefaultSpec::Expression { text: written.text.clone(), present })
    }

    /// The expression of a default, as its column takes it.
    pub(super) fn default_bound(
        &self,
        expr: &Expr,
        name: &str,
        kind: Type,
        text: &str,
    ) -> Result<Expression, Stop> {
        let dictionary = self.ground().dictionary();
        let bound = Binder::new(&dictionary, 0).default_alone(expr, name, kind);
        let bound = bound.map_err(|refused| refused.within(text))?;
        let Statement::Query(Query { logical: Logical::Values { rows, .. }, .. }) = bound.statement
        else {
            unreachable!("a default is one row of one value")
        };
        Ok(rows.iter().flatten().next().cloned().expect("it has one value"))
    }

    /// What is said of a constraint of a table with these columns.
    pub(super) fn constraint_spec(
        &self,
        constraint: &Constraint,
        table: &str,
        columns: &[Option<CheckedColumn<'_>>],
        text: &str,
    ) -> Result<ConstraintSpec, Stop> {
        let name = constraint.name.as_ref().map(fold);
        let rule = match &constraint.rule {
            ConstraintRule::Key { tablespace: Some(tablespace), .. } => {
                let message = format!(
                    "the index of a constraint is in the tablespace of its table; leave USING \
                     INDEX TABLESPACE {tablespace} out"
                );
                return Err(refuse(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            ConstraintRule::Key { is_primary: true, columns, .. } => {
                Rule::PrimaryKey(folded(columns))
            }
            ConstraintRule::Key { columns, .. } => Rule::Unique(folded(columns)),
            ConstraintRule::Check(written) => {
                let condition = check::bound(&written.tree, table, columns)
                    .map_err(|refused| refused.within(text))?;
                let mut places = BTreeSet::new();
                condition.columns(&mut places);
                let named = places.into_iter().filter_map(|place| columns[place]);
                Rule::CheckExpression {
                    text: written.text.clone(),
                    columns: named.map(|column| column.name.to_string()).collect(),
                }
            }
            ConstraintRule::ForeignKey { columns, table, referenced, on_delete } => {
                Rule::ForeignKey(ForeignKeySpec {
                    columns: folded(columns),
                    references: Name::of_users(table)?,
                    referenced_columns: folded(referenced),
                    on_delete: match on_delete {
                        syntax::OnDelete::NoAction => OnDelete::NoAction,
                        syntax::OnDelete::Cascade => OnDelete::Cascade,
                        syntax::OnDelete::SetNull => OnDelete::SetNull,
                    },
                })
            }
        };
        Ok(ConstraintSpec { name, rule })
    }
}

/// The type of a column.
pub(crate) fn stored(kind: TypeName, column: &str) -> Result<Type, Stop> {
    match kind {
        TypeName::Stored(kind) => Ok(kind),
        TypeName::Interval => {
            let message = format!(
                "column {column} can't be of type interval: no column holds spans of time; keep a \
                 number of seconds or of days"
            );
            Err(refuse(SqlState::FEATURE_NOT_SUPPORTED, message))
        }
    }
}

/// The names of columns.
pub(super) fn folded(names: &[Ident]) -> Vec<String> {
    names.iter().map(fold).collect()
}

/// How a new sequence counts.
pub(super) fn sequence_options(written: &syntax::SequenceOptions) -> Result<SequenceOptions, Stop> {
    let bound = |bound: Option<SequenceBound>| match bound {
        Some(SequenceBound::At(value)) => Some(value),
        Some(SequenceBound::OfType) | None => None,
    };
    Ok(SequenceOptions {
        start: written.start,
        increment: written.increment,
        min: bound(written.min),
        max: bound(written.max),
        cycles: written.cycles.unwrap_or(false),
        cache: written.cache.map(cache_of).transpose()?,
    })
}

/// The number of values of a sequence's range.
pub(super) fn cache_of(written: u64) -> Result<u32, Stop> {
    u32::try_from(written).map_err(|_| {
        let message = format!("CACHE {written} is too much: a sequence keeps fewer than 2^32");
        refuse(SqlState::INVALID_PARAMETER_VALUE, message)
    })
}
