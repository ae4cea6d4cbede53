//! The direct path: many rows of a query go into new blocks, and their keys are inserted sorted.
//!
//! It is taken if the hint APPEND asks for it, and for many rows into a table that has no blocks
//! yet. The table is locked against other changes until the transaction ends. If another
//! transaction has it locked, the load waits only if the hint asked for it: else rows go the usual
//! way.
//!
//! Invariant: a load doesn't begin again, for it chooses no rows of its table. So it has one view,
//! taken before.
//!
//! Callers: `insert`; CREATE TABLE AS.

use std::ops::ControlFlow;
use std::rc::Rc;

use expression::Rows;
use os::Session;
use relation::{Load, Relation, Scratch, Work};
use rowsource::BATCH_ROWS_MAX;
use stop::{RefusalKind, Stop};
use txn::{LockWait, TableMode, Transaction};
use value::{OwnedValue, Value};

use super::feed::Feed;
use super::{Changed, Ground};
use crate::plan::InsertAction;
use crate::run::{Host, Opened, Ran};

/// From about this many rows on the direct path is worth its lock.
const ROWS_MANY: f64 = 10_000.0;

/// Whether an INSERT of a query takes the direct path. If it does so by itself, the table is locked
/// for it now.
pub(super) fn is_right(
    ground: Ground<'_>,
    action: &InsertAction,
    work: &mut Work<'_>,
) -> Result<bool, Stop> {
    if !action.is_of_query || action.appends {
        return Ok(action.is_of_query);
    }
    let expected = ground.opened.plan().frame.root.estimate.rows;
    let relation = ground.relation(action.table);
    if expected < ROWS_MANY || !is_new(relation, work.session)? {
        return Ok(false);
    }
    let (object, mode) = (relation.definition().object.get(), TableMode::ShareRowExclusive);
    let transactions = ground.host.instance.transactions();
    let no_wait = LockWait::NoWait;
    match transactions.lock_table(work.transaction, object, mode, no_wait, work.session) {
        Ok(()) => Ok(true),
        Err(stop) if stop.refusal() == Some(RefusalKind::Busy) => Ok(false),
        Err(stop) => Err(stop),
    }
}

/// Whether a table has no block but its header, and so no row.
fn is_new(relation: &Relation, session: &Session) -> Result<bool, Stop> {
    let runs = relation.heap().runs(session)?;
    Ok(runs.iter().map(|run| u64::from(run.count)).sum::<u64>() <= 1)
}

/// Runs an INSERT by the direct path.
pub(super) fn run<'g>(
    ground: Ground<'g>,
    feed: &mut Feed<'g>,
    action: &InsertAction,
    work: &mut Work<'_>,
) -> Result<Changed, Stop> {
    let rows = load(ground, feed, ground.relation(action.table), work)?;
    Ok(Changed { rows, returned: None })
}

/// Loads the rows of a feed into a table.
fn load<'g>(
    ground: Ground<'g>,
    feed: &mut Feed<'g>,
    relation: &Relation,
    work: &mut Work<'_>,
) -> Result<u64, Stop> {
    let session = work.session;
    let transactions = ground.host.instance.transactions();
    let snapshot = transactions.keep_snapshot(Some(work.transaction), session)?;
    // It shows what the transaction did before, also once the load has changed more.
    let view = snapshot.view(Some(work.transaction)).for_later();
    let known = relation.layout().columns();
    let loaded = relation.load(work, known, ground.host.catalog.key_sort(), |load| {
        let env = ground.env(view)?;
        feed.each(env, BATCH_ROWS_MAX, &mut |batch, _| {
            push(load, batch)?;
            Ok(ControlFlow::Continue(()))
        })
    });
    snapshot.close(session);
    loaded
}

fn push(load: &mut Load<'_, '_>, batch: &Rows) -> Result<(), Stop> {
    let width = batch.width();
    let mut values: Vec<Value<'_>> = Vec::with_capacity(width);
    for row in batch.iter() {
        values.clear();
        values.extend((0..width).map(|column| row.get(column)));
        load.push(&values)?;
    }
    Ok(())
}

/// Fills a table that was just made with the rows of a query, which has its columns. Returns their
/// number.
pub(crate) fn fill(
    opened: &Rc<Opened>,
    binds: &[OwnedValue],
    relation: &Relation,
    host: &Host<'_>,
    transaction: &mut Transaction,
    scratch: &mut Scratch,
) -> Result<Ran<u64>, Stop> {
    let ground = Ground::of(opened, host);
    let mut feed = Feed::new(ground, binds);
    let (relations, session) = (host.catalog, host.session);
    let mut work = Work { transaction, scratch, relations, session };
    let done = load(ground, &mut feed, relation, &mut work);
    feed.close(None);
    opened.ran(done, host)
}
