//! Completing a row from values for some of its columns: the others get their DEFAULT, or the next
//! number of their identity. A DEFAULT that is an expression is evaluated by the caller.
//!
//! Invariants
//!   * every refusal of the columns that are named comes before a number is taken; a later refusal
//!     leaves a gap, as a rollback does
//!
//! Callers: the embedded API; SQL.

use os::Session;
use relation::{Default, TableDefinition};
use stop::{RefusalKind, Stop};
use value::Value;

use crate::Catalog;

/// A row with a value for each column.
#[derive(Clone, Debug)]
pub struct FilledRow<'v> {
    /// The values, in the table's order.
    pub values: Vec<Value<'v>>,
    /// The number that an unnamed identity column got; of several, that of the first.
    pub identity: Option<i64>,
}

impl Catalog {
    /// Completes a row of this table from values by the places of their columns. Refused if there
    /// is no column at such a place, or another one has a DEFAULT that is an expression.
    pub fn fill_row<'v>(
        &self,
        table: &'v TableDefinition,
        given: &[(usize, Value<'v>)],
        session: &Session,
    ) -> Result<FilledRow<'v>, Stop> {
        self.fill_row_with(table, given, &mut |column, _| Err(expression(table, column)), session)
    }

    /// As [`Catalog::fill_row`]; `evaluate` gives the value of a DEFAULT that is an expression, by
    /// the place of its column and its text.
    pub fn fill_row_with<'v>(
        &self,
        table: &'v TableDefinition,
        given: &[(usize, Value<'v>)],
        evaluate: &mut dyn FnMut(usize, &'v str) -> Result<Value<'v>, Stop>,
        session: &Session,
    ) -> Result<FilledRow<'v>, Stop> {
        let mut values: Vec<Option<Value<'v>>> = vec![None; table.columns.len()];
        for (column, value) in given {
            if *column >= values.len() {
                return Err(no_column(table, *column));
            }
            if matches!(table.columns[*column].default, Default::Identity { always: true, .. }) {
                return Err(always(table, *column));
            }
            if values[*column].replace(*value).is_some() {
                return Err(twice(table, *column));
            }
        }
        let mut identity = None;
        let mut filled = Vec::with_capacity(values.len());
        for (place, (value, column)) in values.into_iter().zip(&table.columns).enumerate() {
            filled.push(match (value, &column.default) {
                (Some(value), _) => value,
                (None, Default::Constant(value)) => value.get(),
                (None, Default::Expression(text)) => evaluate(place, text)?,
                (None, Default::Identity { sequence, .. }) => {
                    let sequence = self.sequence_of(*sequence, session)?;
                    let number = self.next_value(&sequence, session)?;
                    identity = identity.or(Some(number));
                    Value::Int(number)
                }
            });
        }
        Ok(FilledRow { values: filled, identity })
    }
}

#[cold]
fn expression(table: &TableDefinition, column: usize) -> Stop {
    let message = format!(
        "cannot insert a row into table {} without a value for column {}: its DEFAULT is an \
         expression, which only SQL evaluates; give it a value",
        table.name, table.columns[column].name
    );
    Stop::refuse(RefusalKind::Invalid, message)
}

#[cold]
fn always(table: &TableDefinition, column: usize) -> Stop {
    let message = format!(
        "cannot give column {} of table {} a value: it is GENERATED ALWAYS AS IDENTITY; leave it \
         out",
        table.columns[column].name, table.name
    );
    Stop::refuse(RefusalKind::Invalid, message)
}

#[cold]
fn no_column(table: &TableDefinition, column: usize) -> Stop {
    let message = format!("table {} has no column {column}, counted from 0", table.name);
    Stop::refuse(RefusalKind::Invalid, message)
}

#[cold]
fn twice(table: &TableDefinition, column: usize) -> Stop {
    let message = format!(
        "cannot insert a row into table {}: it names column {} twice; name it once",
        table.name, table.columns[column].name
    );
    Stop::refuse(RefusalKind::Invalid, message)
}
