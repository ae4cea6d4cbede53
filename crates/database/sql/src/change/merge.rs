//! MERGE.
//!
//! ```text
//!   source row:  address or NULL │ TRUE or NULL │ the source's row and the table's
//!
//!   address, TRUE   matched                  the first WHEN of this kind whose conditions hold
//!   NULL, TRUE      not matched by target    says what is done
//!   address, NULL   not matched by source
//! ```
//!
//! Invariant: a row of the table is changed once; a second row of the source for it is refused
//! (21000).
//!
//! Callers: `change`.

use std::ops::ControlFlow;

use access::RowAddress;
use expression::{Evaluation, RowOf};
use relation::{Done, Flow, StatementKind, StatementWork, Work};
use rowsource::BATCH_ROWS_MAX;
use stop::Stop;
use value::{RowView, Value};

use super::conflict::update;
use super::feed::Feed;
use super::insert::{TABLE, values_of};
use super::returned::Returned;
use super::{Changed, Ground, second_time};
use crate::bind::{MergeBranch, MergeRows};
use crate::plan::MergeAction;
use crate::run::address_in;

/// Runs a MERGE.
pub(super) fn run<'g>(
    ground: Ground<'g>,
    feed: &mut Feed<'g>,
    action: &MergeAction,
    work: &mut Work<'_>,
) -> Result<Changed, Stop> {
    let mut returned = Returned::new(action.returning.as_ref(), ground.host);
    let relation = ground.relation(action.table);
    let rows = relation.statement(StatementKind::Merge, work, &mut |statement| {
        let env = ground.env(statement.view())?;
        returned.restart();
        let mut count = 0;
        feed.each(env, BATCH_ROWS_MAX, &mut |batch, with| {
            for row in batch.iter() {
                let address = address_in(row.get(0));
                let Some(branch) = branch_of(&action.branches, address, row, with)? else {
                    continue;
                };
                let Some(left) = act(statement, branch, address, row, with)? else { continue };
                count += 1;
                if returned.is_wanted() {
                    let new = match left {
                        Left::NewRow => Some(statement.new_row(TABLE)?),
                        Left::Nothing => None,
                    };
                    let width = batch.width();
                    returned.give(&shown(row, width, &action.target, new.as_ref())?, with)?;
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        returned.finish()?;
        Ok(Flow::Done(count))
    })?;
    Ok(Changed { rows, returned: returned.end() })
}

/// The first WHEN that is about the row, and whose conditions hold.
fn branch_of<'b>(
    branches: &'b [MergeBranch],
    address: Option<RowAddress>,
    row: RowOf<'_>,
    with: &Evaluation<'_>,
) -> Result<Option<&'b MergeBranch>, Stop> {
    let rows = match (address, row.get(1)) {
        (Some(_), Value::Null) => MergeRows::NotMatchedBySource,
        (Some(_), _) => MergeRows::Matched,
        (None, _) => MergeRows::NotMatchedByTarget,
    };
    'branches: for branch in branches.iter().filter(|branch| branch.rows == rows) {
        for condition in &branch.conditions {
            if condition.truth(&row, with)? != Some(true) {
                continue 'branches;
            }
        }
        return Ok(Some(branch));
    }
    Ok(None)
}

/// What a change has left of the table's row.
enum Left {
    /// The row as it is now.
    NewRow,
    /// Nothing: it was deleted, and is shown as it was.
    Nothing,
}

/// Does what a WHEN says. Returns none if that is nothing.
fn act(
    statement: &mut StatementWork<'_, '_>,
    branch: &MergeBranch,
    address: Option<RowAddress>,
    row: RowOf<'_>,
    with: &Evaluation<'_>,
) -> Result<Option<Left>, Stop> {
    use crate::bind::MergeAction::{Delete, Insert, Nothing, Update};
    let own = || address.expect("a WHEN MATCHED is about a row of the table");
    let (done, left) = match &branch.action {
        Nothing => return Ok(None),
        Update(set) => (update(statement, own(), set, &row, with)?, Left::NewRow),
        Delete => (statement.delete(TABLE, own())?, Left::Nothing),
        Insert(expressions) => {
            let mut values = Vec::with_capacity(expressions.len());
            for expression in expressions {
                values.push(expression.evaluate(&row, with)?);
            }
            statement.insert(TABLE, &values)?;
            (Done::Changed, Left::NewRow)
        }
    };
    match done {
        Done::Changed => Ok(Some(left)),
        Done::Already => Err(second_time("MERGE")),
    }
}

/// The source's row with the table's columns as they are now.
fn shown<'v>(
    row: RowOf<'v>,
    width: usize,
    target: &[Option<usize>],
    new: Option<&RowView<'v>>,
) -> Result<Vec<Value<'v>>, Stop> {
    let mut shown = values_of(row, width);
    if let Some(new) = new {
        for (place, number) in target.iter().enumerate() {
            if let Some(number) = number {
                shown[*number] = new.get(place)?;
            }
        }
    }
    Ok(shown)
}
