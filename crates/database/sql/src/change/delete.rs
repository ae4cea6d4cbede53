//! DELETE.
//!
//! A row that comes several times, because others are joined, is deleted once.
//!
//! Callers: `change`.

use std::ops::ControlFlow;

use relation::{Done, Flow, StatementKind, Work};
use rowsource::BATCH_ROWS_MAX;
use stop::Stop;

use super::feed::Feed;
use super::insert::TABLE;
use super::returned::Returned;
use super::update::address_of;
use super::{Changed, Ground};
use crate::plan::DeleteAction;

/// Runs a DELETE.
pub(super) fn run<'g>(
    ground: Ground<'g>,
    feed: &mut Feed<'g>,
    action: &DeleteAction,
    work: &mut Work<'_>,
) -> Result<Changed, Stop> {
    let mut returned = Returned::new(action.returning.as_ref(), ground.host);
    let relation = ground.relation(action.table);
    let rows = relation.statement(StatementKind::Delete, work, &mut |statement| {
        let env = ground.env(statement.view())?;
        returned.restart();
        let mut count = 0;
        feed.each(env, BATCH_ROWS_MAX, &mut |batch, with| {
            for row in batch.iter() {
                if statement.delete(TABLE, address_of(row))? == Done::Changed {
                    count += 1;
                    returned.give(&row, with)?;
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        returned.finish()?;
        Ok(Flow::Done(count))
    })?;
    Ok(Changed { rows, returned: returned.end() })
}
