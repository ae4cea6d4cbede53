//! UPDATE.
//!
//! ```text
//!   source row:  address │ new values │ the columns that were found
//!                            └ computed before, outside of latches (rule SQ52)
//! ```
//!
//! A row that comes several times, because others are joined, is updated by the first of them, as
//! in PostgreSQL.
//!
//! Callers: `change`.

use std::ops::ControlFlow;

use access::RowAddress;
use expression::{Evaluation, RowOf, Rows};
use relation::{Done, Flow, RowChange, StatementKind, StatementWork, Work};
use rowsource::BATCH_ROWS_MAX;
use stop::Stop;
use value::Value;

use super::feed::Feed;
use super::insert::{TABLE, values_of};
use super::returned::Returned;
use super::{Changed, Ground};
use crate::plan::UpdateAction;
use crate::run::address_in;

/// The column of the first new value, behind the address.
const FIRST: usize = 1;

/// Runs an UPDATE.
pub(super) fn run<'g>(
    ground: Ground<'g>,
    feed: &mut Feed<'g>,
    action: &UpdateAction,
    work: &mut Work<'_>,
) -> Result<Changed, Stop> {
    let kind = match feed.is_of_one_row() {
        true => StatementKind::UpdateOne,
        false => StatementKind::Update,
    };
    let mut returned = Returned::new(action.returning.as_ref(), ground.host);
    let rows = ground.relation(action.table).statement(kind, work, &mut |statement| {
        let env = ground.env(statement.view())?;
        returned.restart();
        let mut count = 0;
        feed.each(env, BATCH_ROWS_MAX, &mut |batch, with| {
            count += match action.each_once && !returned.is_wanted() {
                true => update_together(statement, &action.columns, batch)?,
                false => update_each(statement, &action.columns, batch, &mut returned, with)?,
            };
            Ok(ControlFlow::Continue(()))
        })?;
        returned.finish()?;
        Ok(Flow::Done(count))
    })?;
    Ok(Changed { rows, returned: returned.end() })
}

/// Updates rows that the statement meets once, those of a block together.
fn update_together(
    statement: &mut StatementWork<'_, '_>,
    columns: &[usize],
    batch: &Rows,
) -> Result<u64, Stop> {
    let rows: Vec<RowAddress> = batch.iter().map(address_of).collect();
    statement
        .update_many(TABLE, &rows, &mut |place, _, new| set_columns(new, columns, batch.row(place)))
}

/// Updates rows one by one, and gives them back if that is wanted.
fn update_each(
    statement: &mut StatementWork<'_, '_>,
    columns: &[usize],
    batch: &Rows,
    returned: &mut Returned<'_>,
    with: &Evaluation<'_>,
) -> Result<u64, Stop> {
    let mut count = 0;
    for row in batch.iter() {
        let mut change =
            |_: &value::RowView<'_>, new: &mut RowChange<'_>| set_columns(new, columns, row);
        if statement.update(TABLE, address_of(row), &mut change)? == Done::Already {
            continue;
        }
        count += 1;
        if returned.is_wanted() {
            let new = statement.new_row(TABLE)?;
            let mut shown: Vec<Value<'_>> = values_of(row, batch.width());
            for (number, column) in columns.iter().enumerate() {
                shown[FIRST + number] = new.get(*column)?;
            }
            returned.give(&shown, with)?;
        }
    }
    Ok(count)
}

/// Sets columns to new values. The binder gives a column that is GENERATED ALWAYS no value but its
/// sequence's.
fn set_columns(new: &mut RowChange<'_>, columns: &[usize], row: RowOf<'_>) -> Result<(), Stop> {
    let mut values = columns.iter().enumerate();
    values.try_for_each(|(number, column)| new.set_generated(*column, row.get(FIRST + number)))
}

/// The address in the first column of a row.
pub(super) fn address_of(row: RowOf<'_>) -> RowAddress {
    address_in(row.get(0)).expect("a row of the table that is changed has an address")
}
