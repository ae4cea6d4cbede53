//! INSERT ... ON CONFLICT.
//!
//! ```text
//!   row ─ its key is there? ──no──▶ inserted
//!              │ yes
//!              ├─ DO NOTHING ─▶ passed by
//!              └─ DO UPDATE ─┬─ it was there when the statement began ─▶ filter, update
//!                            ├─ it came since ─▶ the statement begins again
//!                            └─ the statement has made it ─▶ refused (21000)
//! ```
//!
//! Invariant: expressions see the row that is there, and behind it the row that was to be inserted
//! as the table would hold it (`excluded`).
//!
//! Callers: `insert`.

use std::ops::ControlFlow;

use access::RowAddress;
use expression::{Evaluation, Rows};
use relation::{
    Conflict, Done, Flow, InsertAttempt, KeyOrigin, Relation, StatementKind, StatementWork, Work,
};
use rowsource::BATCH_ROWS_MAX;
use stop::Stop;

use super::feed::Feed;
use super::insert::{TABLE, values_of};
use super::returned::{Returned, all_of};
use super::{Changed, Ground, second_time};
use crate::bind::{Assigned, ConflictAction, OnConflict};
use crate::plan::InsertAction;

/// What refusals call the statement.
const NAME: &str = "INSERT ... ON CONFLICT DO UPDATE";

/// What became of a row whose key is there.
enum Met {
    /// Nothing was done.
    Passed,
    /// The row that is there was updated.
    Updated,
    /// The statement is to begin again.
    Again,
}

/// Runs an INSERT with ON CONFLICT.
pub(super) fn run<'g>(
    ground: Ground<'g>,
    feed: &mut Feed<'g>,
    action: &InsertAction,
    on_conflict: &OnConflict,
    work: &mut Work<'_>,
) -> Result<Changed, Stop> {
    let relation = ground.relation(action.table);
    let index = on_conflict.index.map(|index| relation.place_of(index)).transpose()?;
    let mut returned = Returned::new(action.returning.as_ref(), ground.host);
    let rows = relation.statement(StatementKind::Upsert, work, &mut |statement| {
        let env = ground.env(statement.view())?;
        returned.restart();
        let (mut count, mut again) = (0, false);
        feed.each(env, BATCH_ROWS_MAX, &mut |batch, with| {
            for row in batch.iter() {
                let values = values_of(row, batch.width());
                let done = match statement.insert_or_conflict(TABLE, &values, index)? {
                    InsertAttempt::Inserted(_) => true,
                    InsertAttempt::Conflict(met) => {
                        match meet(relation, statement, met, &on_conflict.action, with)? {
                            Met::Passed => false,
                            Met::Updated => true,
                            Met::Again => {
                                again = true;
                                return Ok(ControlFlow::Break(()));
                            }
                        }
                    }
                };
                if done {
                    count += 1;
                    if returned.is_wanted() {
                        returned.give(&all_of(&statement.new_row(TABLE)?)?, with)?;
                    }
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        if again {
            return Ok(Flow::Again);
        }
        returned.finish()?;
        Ok(Flow::Done(count))
    })?;
    Ok(Changed { rows, returned: returned.end() })
}

/// Does what ON CONFLICT says about a row whose key another one has.
fn meet(
    relation: &Relation,
    statement: &mut StatementWork<'_, '_>,
    met: Conflict,
    action: &ConflictAction,
    with: &Evaluation<'_>,
) -> Result<Met, Stop> {
    let ConflictAction::Update { set, filter } = action else { return Ok(Met::Passed) };
    match met.origin {
        KeyOrigin::Own => return Err(second_time(NAME)),
        KeyOrigin::Since => return Ok(Met::Again),
        KeyOrigin::Before => {}
    }
    let Some(both) = both_rows(relation, statement, met.row)? else { return Ok(Met::Again) };
    let row = both.row(0);
    for condition in filter {
        if condition.truth(&row, with)? != Some(true) {
            return Ok(Met::Passed);
        }
    }
    match update(statement, met.row, set, &row, with)? {
        Done::Changed => Ok(Met::Updated),
        Done::Already => Err(second_time(NAME)),
    }
}

/// The row that is there, and behind it the one that was to be inserted; none if the view doesn't
/// show the row.
fn both_rows(
    relation: &Relation,
    statement: &StatementWork<'_, '_>,
    there: RowAddress,
) -> Result<Option<Rows>, Stop> {
    let width = relation.layout().columns();
    let mut both = Rows::new(2 * width);
    let excluded = all_of(&statement.new_row(TABLE)?)?;
    let (view, session) = (statement.view(), statement.session());
    let copied = relation.fetch(
        view,
        there,
        &mut |row| {
            all_of(&row).map(|values| both.push(values.into_iter().chain(excluded.iter().copied())))
        },
        session,
    )?;
    Ok(copied.transpose()?.map(|()| both))
}

/// Sets columns of a row. The new values are computed before.
pub(super) fn update(
    statement: &mut StatementWork<'_, '_>,
    address: RowAddress,
    set: &[Assigned],
    row: &dyn expression::Row,
    with: &Evaluation<'_>,
) -> Result<Done, Stop> {
    let mut values = Vec::with_capacity(set.len());
    for assigned in set {
        values.push(assigned.value.evaluate(row, with)?);
    }
    statement.update(TABLE, address, &mut |_, new| {
        let mut columns = set.iter().zip(&values);
        // A column that is GENERATED ALWAYS is given no value but its sequence's.
        columns.try_for_each(|(assigned, value)| new.set_generated(assigned.column, *value))
    })
}
