//! SELECT ... FOR UPDATE.
//!
//! ```text
//!   source row:  what is given │ an address for each table whose rows are locked
//!
//!   locked as the view has shown them ─▶ kept ─▶ given when all are locked
//!       │ held by another: waits, is refused, or passes by (SKIP LOCKED)
//! ```
//!
//! Invariants
//!   * LIMIT and OFFSET count rows that were locked; one that was passed by doesn't count
//!   * a row is given as it is locked: if another has changed it since the view, the statement
//!     begins again, or passes by it
//!
//! Callers: `change`.

use std::ops::ControlFlow;

use access::RowAddress;
use expression::{Evaluation, Expression, NoRow, RowOf};
use relation::{Flow, IfHeld, Locked, Relation, Statement, StatementKind, StatementWork, Work};
use rowsource::Cut;
use stop::{SqlState, Stop};
use txn::LockWait;
use value::Value;
use waits::Nanos;

use super::feed::Feed;
use super::returned::Returned;
use super::{Changed, Ground};
use crate::bind::LockRows;
use crate::plan::{LockAction, LockedColumn};
use crate::refuse::refuse;
use crate::run::address_in;

/// The rows of the first batch: a consumer of a queue wants few.
const FIRST_ROWS: usize = 16;

/// How many rows are passed over, and how many are given at most.
#[derive(Clone, Copy)]
struct CutRows {
    offset: u64,
    count: u64,
}

/// A column with addresses, and the place of their table in the statement.
struct Locks {
    columns: Vec<LockedPlace>,
    if_held: IfHeld,
    /// The rows that were locked last: neighbours are often the same.
    last: Vec<Option<RowAddress>>,
}

#[derive(Clone, Copy)]
struct LockedPlace {
    column: usize,
    place: usize,
}

/// Runs a SELECT FOR UPDATE.
pub(super) fn run<'g>(
    ground: Ground<'g>,
    feed: &mut Feed<'g>,
    action: &LockAction,
    work: &mut Work<'_>,
) -> Result<Changed, Stop> {
    let tables = tables_of(&action.tables);
    let relations: Vec<&Relation> = tables.iter().map(|table| ground.relation(*table)).collect();
    let if_held = if_held(action.if_held);
    let mut returned = Returned::of_rows(action.width, ground.host);
    let statement = Statement::over(&relations, StatementKind::Lock).waiting(if_held);
    let rows = statement.run(work, &mut |statement| {
        let env = ground.env(statement.view())?;
        returned.restart();
        let mut locks = Locks::new(&action.tables, &tables, if_held);
        let (mut cut, mut given, mut locked) = (None, 0, 0);
        feed.each(env, FIRST_ROWS, &mut |batch, with| {
            let CutRows { offset, count } = match cut {
                Some(cut) => cut,
                None => *cut.insert(read_cut(&action.cut, with)?),
            };
            for row in batch.iter() {
                if given == count {
                    return Ok(ControlFlow::Break(()));
                }
                if !locks.lock(statement, row)? {
                    continue;
                }
                locked += 1;
                if locked > offset {
                    returned.give_row((0..action.width).map(|column| row.get(column)))?;
                    given += 1;
                }
            }
            Ok(if given == count { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        // An empty answer isn't right as long as rows were passed by only because they are newer.
        let has_missed = given == 0 && statement.has_passed_newer();
        match statement.will_begin_again() || has_missed {
            true => Ok(Flow::Again),
            false => {
                returned.finish()?;
                Ok(Flow::Done(given))
            }
        }
    })?;
    Ok(Changed { rows, returned: Some(returned.end_rows()) })
}

/// The tables of the plan whose rows are locked, each once.
fn tables_of(columns: &[LockedColumn]) -> Vec<usize> {
    let mut tables: Vec<usize> = columns.iter().map(|locked| locked.table).collect();
    tables.sort_unstable();
    tables.dedup();
    tables
}

fn if_held(rows: LockRows) -> IfHeld {
    match rows {
        LockRows::Wait => IfHeld::Wait(LockWait::Forever),
        LockRows::NoWait => IfHeld::Wait(LockWait::NoWait),
        LockRows::Seconds(seconds) => IfHeld::Wait(LockWait::For(Nanos::from_secs(seconds))),
        LockRows::SkipLocked => IfHeld::Skip,
    }
}

impl Locks {
    fn new(columns: &[LockedColumn], tables: &[usize], if_held: IfHeld) -> Locks {
        let place = |table| tables.binary_search(&table).expect("it is one of them");
        let of = |locked: &LockedColumn| LockedPlace {
            column: locked.column,
            place: place(locked.table),
        };
        let columns: Vec<LockedPlace> = columns.iter().map(of).collect();
        Locks { last: vec![None; columns.len()], columns, if_held }
    }

    /// Locks the rows of a source's row. Returns false if one was passed by. The other side of an
    /// outer join has no row that could be locked.
    fn lock(
        &mut self,
        statement: &mut StatementWork<'_, '_>,
        row: RowOf<'_>,
    ) -> Result<bool, Stop> {
        for (of, last) in self.columns.iter().zip(&mut self.last) {
            let address = address_in(row.get(of.column));
            let Some(wanted) = address.filter(|_| address != *last) else { continue };
            if statement.lock(of.place, wanted, self.if_held)? == Locked::Passed {
                return Ok(false);
            }
            *last = address;
        }
        Ok(true)
    }
}

/// What LIMIT and OFFSET say.
fn read_cut(cut: &Cut, with: &Evaluation<'_>) -> Result<CutRows, Stop> {
    let limit = SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE;
    let count = rows_in(cut.count.as_ref(), "LIMIT", limit, with)?;
    let offset = SqlState::INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE;
    let offset = rows_in(cut.offset.as_ref(), "OFFSET", offset, with)?;
    Ok(CutRows { offset: offset.unwrap_or(0), count: count.unwrap_or(u64::MAX) })
}

fn rows_in(
    expression: Option<&Expression>,
    clause: &str,
    state: SqlState,
    with: &Evaluation<'_>,
) -> Result<Option<u64>, Stop> {
    let Some(expression) = expression else { return Ok(None) };
    match expression.evaluate(&NoRow, with)? {
        Value::Null => Ok(None),
        Value::Int(rows) => match u64::try_from(rows) {
            Ok(rows) => Ok(Some(rows)),
            Err(_) => Err(refuse(state, format!("{clause} can't be negative"))),
        },
        _ => Err(refuse(state, format!("{clause} has to be a whole number"))),
    }
}

#[cfg(test)]
mod tests {
    use expression::Bare;

    use super::*;

    #[test]
    fn a_table_that_is_there_twice_is_locked_once() {
        let locked = |table, column| LockedColumn { table, column };
        let columns = [locked(3, 0), locked(1, 1), locked(3, 2)];
        let tables = tables_of(&columns);
        assert_eq!(tables, [1, 3]);
        let locks = Locks::new(&columns, &tables, IfHeld::Skip);
        let places: Vec<usize> = locks.columns.iter().map(|of| of.place).collect();
        assert_eq!(places, [1, 0, 1]);
    }

    #[test]
    fn a_limit_is_a_number_that_is_not_negative_and_null_is_none() {
        let bare = Bare::new();
        let with = bare.evaluation();
        let cut = |count: Value<'_>| Cut { count: Some(Expression::from(count)), offset: None };
        let read = |count: Value<'_>| read_cut(&cut(count), &with);
        assert_eq!(read(Value::Int(3)).expect("a number").count, 3);
        assert_eq!(read(Value::Null).expect("no limit").count, u64::MAX);
        let state = read(Value::Int(-1)).err().expect("it is negative").state();
        assert_eq!(state, SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE);
    }
}
