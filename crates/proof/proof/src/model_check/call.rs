//! Statements as the engine does them, through a transaction of a connection: by the API, or as SQL
//! text.
//!
//! Callers: `client`.

use std::ops::{Bound, ControlFlow};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use database::{
    Bounds, Direction, Error, ForUpdate, IndexId, Load, Nanos, Row as RowView, RowChange,
    Selection as EngineSelection, Table, Tx, Value,
};

use super::ask::{Act, Ask, IfHeld, New, Path, Selection, Span, Target, Told};
use super::cell::{Cell, Row, of_values, read};
use super::schema::Schema;
use super::sql;
use crate::By;

/// How a session asks for what it does.
#[derive(Clone, Copy, Debug)]
pub(super) struct How<'a> {
    pub(super) by: By,
    /// Whether several rows are loaded rather than inserted.
    pub(super) loads: bool,
    /// Whether a text has its values written out, and not bound.
    pub(super) literals: bool,
    pub(super) schema: &'a Schema,
}

/// The index as the table's holder finds it.
fn place(table: &Table, path: &Path) -> Result<IndexId, Error> {
    table.index(&path.name)
}

fn bound(bound: &Bound<Cell>) -> Bound<Value<'_>> {
    match bound {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(cell) => Bound::Included(cell.value()),
        Bound::Excluded(cell) => Bound::Excluded(cell.value()),
    }
}

fn values(cells: &[Cell]) -> Vec<Value<'_>> {
    cells.iter().map(Cell::value).collect()
}

/// Rows that were read; or what was wrong with one.
#[derive(Default)]
pub(super) struct Read {
    rows: Vec<Row>,
    damaged: Option<String>,
}

impl Read {
    fn row(&mut self, row: &RowView<'_>) {
        self.add(read(row, &Schema::later()));
    }

    /// A row of these values.
    pub(super) fn values(&mut self, values: &[Value<'_>]) {
        self.add(of_values(values, &Schema::later()));
    }

    fn add(&mut self, row: Result<Row, String>) {
        match row {
            Ok(row) => self.rows.push(row),
            Err(what) => self.damaged = Some(what),
        }
    }

    pub(super) fn told(self) -> Told {
        match self.damaged {
            Some(what) => Told::Damaged(what),
            None => Told::Rows(self.rows),
        }
    }
}

/// With which an update's closure panics.
struct Panics;

/// Does a statement. A refusal, or the session's own panic, is what was told as well; what halts is
/// handed on.
pub(super) fn call(
    tx: &mut Tx<'_, '_>,
    table: &Table,
    ask: &Ask,
    how: &How<'_>,
) -> Result<Told, Error> {
    let called = || match how.by {
        By::Api => called(tx, table, ask, how.loads),
        By::Sql => sql::called(tx, ask, how),
    };
    match catch_unwind(AssertUnwindSafe(called)) {
        Ok(Ok(told)) => Ok(told),
        Ok(Err(stop)) => Told::refused(&stop).ok_or(stop),
        Err(payload) if payload.is::<Panics>() => Ok(Told::Panicked),
        Err(payload) => resume_unwind(payload),
    }
}

fn called(tx: &mut Tx<'_, '_>, table: &Table, ask: &Ask, loads: bool) -> Result<Told, Error> {
    match &ask.act {
        Act::Read { target, descending, limit } => {
            reads(tx, table, &target.selection, *descending, *limit)
        }
        Act::Insert(rows) => {
            let rows: Vec<Vec<Value<'_>>> =
                rows.iter().map(|row| values(&row[..ask.width])).collect();
            match rows.as_slice() {
                [row] => tx.insert(table, row).map(|_| Told::Count(1)),
                rows if loads => {
                    let push =
                        |load: &mut Load<'_, '_>| rows.iter().try_for_each(|row| load.push(row));
                    tx.load(table, push).map(Told::Count)
                }
                rows => tx.insert_many(table, rows.iter().map(Vec::as_slice)).map(Told::Count),
            }
        }
        Act::Update(target, set) => with(table, target, |selection, filter| {
            let mut rows = 0..;
            let change = |row: &RowView<'_>, new: &mut RowChange<'_>| {
                if rows.next() == ask.panics_at {
                    resume_unwind(Box::new(Panics));
                }
                update(row, new, set)
            };
            tx.update_where(table, selection, filter, change).map(Told::Count)
        }),
        Act::Delete(target) => with(table, target, |selection, filter| {
            tx.delete_where(table, selection, filter).map(Told::Count)
        }),
        Act::Lock { target, if_held, limit } => with(table, target, |selection, filter| {
            let how = match if_held {
                IfHeld::Wait => ForUpdate::wait(),
                IfHeld::WaitFor(micros) => ForUpdate::wait_for(Nanos::from_micros(*micros)),
                IfHeld::NoWait => ForUpdate::nowait(),
                IfHeld::Skip => ForUpdate::skip_locked(),
            };
            let mut all = Read::default();
            tx.lock_where(table, selection, filter, how.limit(*limit), |row| all.row(&row))?;
            Ok(all.told())
        }),
    }
}

fn reads(
    tx: &mut Tx<'_, '_>,
    table: &Table,
    selection: &Selection,
    descending: bool,
    limit: usize,
) -> Result<Told, Error> {
    let mut all = Read::default();
    match selection {
        Selection::All => tx.scan(table, |row| all.row(&row))?,
        Selection::Key(path, key) => {
            let index = place(table, path)?;
            tx.get_by(table, index, &values(key), |row| all.row(&row))?;
        }
        Selection::Range(path, span) => {
            let (index, equal) = (place(table, path)?, values(&span.equal));
            let bounds = bounds(span, &equal);
            let direction = if descending { Direction::Descending } else { Direction::Ascending };
            let look = |row: RowView<'_>| {
                all.row(&row);
                if all.rows.len() >= limit {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            };
            tx.range(table, index, &bounds, direction, look)?;
        }
    }
    Ok(all.told())
}

fn bounds<'v>(span: &'v Span, equal: &'v [Value<'v>]) -> Bounds<'v> {
    Bounds { equal, from: bound(&span.from), to: bound(&span.to) }
}

/// A condition that rows have to meet.
type RowFilter<'f> = Option<&'f mut dyn FnMut(&RowView<'_>) -> bool>;

/// Does `act` with the rows that are meant, as the engine has them said.
fn with<T>(
    table: &Table,
    target: &Target,
    act: impl FnOnce(EngineSelection<'_>, RowFilter<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let (equal, key);
    let selection = match &target.selection {
        Selection::All => EngineSelection::All,
        Selection::Key(path, sought) => {
            key = values(sought);
            EngineSelection::Key(place(table, path)?, &key)
        }
        Selection::Range(path, span) => {
            equal = values(&span.equal);
            EngineSelection::Range(place(table, path)?, bounds(span, &equal))
        }
    };
    let Some(filter) = target.filter else { return act(selection, None) };
    act(selection, Some(&mut |row: &RowView<'_>| filter.has(row.get_i64(filter.column))))
}

fn update(row: &RowView<'_>, new: &mut RowChange<'_>, set: &[(usize, New)]) -> Result<(), Error> {
    for (column, value) in set {
        match value {
            New::Value(cell) => new.set(*column, cell.value())?,
            New::Plus(more) => {
                if let Some(int) = row.get_i64(*column) {
                    new.set(*column, Value::Int(int + more))?;
                }
            }
        }
    }
    Ok(())
}
