//! INSERT.
//!
//! ```text
//!   one row, nothing given back ─▶ values ─▶ the relation, without a snapshot
//!   many rows of a query, into an empty table, or with the hint APPEND ─▶ `load`
//!   ON CONFLICT ─▶ `conflict`
//!   else: rows in batches; one by one if they are given back
//! ```
//!
//! Callers: `change`.

use std::ops::ControlFlow;

use expression::{NoRow, RowOf, Rows};
use relation::{Flow, StatementKind, StatementWork, Work};
use rowsource::BATCH_ROWS_MAX;
use stop::Stop;
use value::Value;

use super::feed::Feed;
use super::returned::{Returned, all_of};
use super::{Changed, Ground, conflict, load};
use crate::plan::InsertAction;

/// The place of the table in its statement.
pub(super) const TABLE: usize = 0;

/// Runs an INSERT.
pub(super) fn run<'g>(
    ground: Ground<'g>,
    feed: &mut Feed<'g>,
    action: &InsertAction,
    work: &mut Work<'_>,
) -> Result<Changed, Stop> {
    if let Some(on_conflict) = &action.on_conflict {
        return conflict::run(ground, feed, action, on_conflict, work);
    }
    if action.returning.is_none() {
        if feed.written().is_some() {
            return insert_written(ground, feed, action, work);
        }
        if load::is_right(ground, action, work)? {
            return load::run(ground, feed, action, work);
        }
    }
    let mut returned = Returned::new(action.returning.as_ref(), ground.host);
    let relation = ground.relation(action.table);
    let rows = relation.statement(StatementKind::Insert, work, &mut |statement| {
        let env = ground.env(statement.view())?;
        returned.restart();
        let mut count = 0;
        feed.each(env, BATCH_ROWS_MAX, &mut |batch, with| {
            if !returned.is_wanted() {
                count += insert_batch(statement, batch)?;
                return Ok(ControlFlow::Continue(()));
            }
            for row in batch.iter() {
                statement.insert(TABLE, &values_of(row, batch.width()))?;
                returned.give(&all_of(&statement.new_row(TABLE)?)?, with)?;
                count += 1;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        returned.finish()?;
        Ok(Flow::Done(count))
    })?;
    Ok(Changed { rows, returned: returned.end() })
}

/// Inserts the one row that is written out. It needs no snapshot.
fn insert_written<'g>(
    ground: Ground<'g>,
    feed: &mut Feed<'g>,
    action: &InsertAction,
    work: &mut Work<'_>,
) -> Result<Changed, Stop> {
    let written = feed.written().expect("the caller has asked");
    let relation = ground.relation(action.table);
    feed.evaluate(|with| {
        let mut values = Vec::with_capacity(written.len());
        for expression in written {
            values.push(expression.evaluate(&NoRow, with)?);
        }
        relation.insert(work, &values)
    })?;
    Ok(Changed { rows: 1, returned: None })
}

/// Inserts the rows of a batch together.
fn insert_batch(statement: &mut StatementWork<'_, '_>, batch: &Rows) -> Result<u64, Stop> {
    let width = batch.width();
    let mut values: Vec<Value<'_>> = Vec::with_capacity(batch.len() * width);
    for row in batch.iter() {
        values.extend((0..width).map(|column| row.get(column)));
    }
    statement.insert_many(TABLE, values.chunks(width.max(1)), &mut |_| ())
}

/// The values of a row.
pub(super) fn values_of(row: RowOf<'_>, width: usize) -> Vec<Value<'_>> {
    (0..width).map(|column| row.get(column)).collect()
}
