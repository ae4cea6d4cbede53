//! Statements as values: what a session asks, and what it was told.
//!
//! Callers: `draw` makes them, `call` has the engine do them, `judge` says what must come of them.

use std::cmp::Ordering;
use std::ops::Bound;

use database::{Error, ErrorKind};

use super::cell::{Cell, Row};

/// A column of an index.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyColumn {
    pub(super) column: usize,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}

/// An index, as the session that uses it knows it.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) name: String,
    pub(super) columns: Vec<KeyColumn>,
    pub(super) unique: bool,
}

/// Which keys of an index.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) equal: Vec<Cell>,
    pub(super) from: Bound<Cell>,
    pub(super) to: Bound<Cell>,
}

/// Which rows.
#[derive(Clone, Debug)]
pub(super) enum Selection {
    All,
    Key(Path, Vec<Cell>),
    Range(Path, Span),
}

/// Of these those whose number in a column leaves this rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filter {
    pub(super) column: usize,
    pub(super) divisor: i64,
    pub(super) rest: i64,
}

/// Rows that a statement is about.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) selection: Selection,
    pub(super) filter: Option<Filter>,
}

/// What a column becomes.
#[derive(Clone, Debug)]
pub(super) enum New {
    Value(Cell),
    /// So much more.
    Plus(i64),
}

/// What becomes of rows that others have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum IfHeld {
    Wait,
    WaitFor(u64),
    NoWait,
    Skip,
}

/// What a statement asks for.
#[derive(Clone, Debug)]
pub(super) enum Act {
    /// Rows are read, up to so many; a range up or down.
    Read {
        target: Target,
        descending: bool,
        limit: usize,
    },
    Insert(Vec<Row>),
    Update(Target, Vec<(usize, New)>),
    Delete(Target),
    Lock {
        target: Target,
        if_held: IfHeld,
        limit: u64,
    },
}

/// A statement.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) table: usize,
    pub(super) act: Act,
    /// Columns that the session knew of.
    pub(super) width: usize,
    /// When the session looked the table up.
    pub(super) since: u64,
    /// The row, from 0, at which the closure of an update panics.
    pub(super) panics_at: Option<u64>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub(super) enum Told {
    Rows(Vec<Row>),
    Count(u64),
    Refused(ErrorKind, String),
    /// The session's own closure has panicked.
    Panicked,
    /// The engine gave what can't be.
    Damaged(String),
}

impl Told {
    pub(super) fn refused(stop: &Error) -> Option<Told> {
        stop.refusal().map(|kind| Told::Refused(kind, stop.to_string()))
    }
}

impl Path {
    /// The order of the index.
    pub(super) fn order(&self, a: &Row, b: &Row) -> Ordering {
        for of in &self.columns {
            let (a, b) = (&a[of.column], &b[of.column]);
            let order = match (a.is_null(), b.is_null()) {
                (true, true) => Ordering::Equal,
                (true, false) if of.nulls_first => Ordering::Less,
                (true, false) => Ordering::Greater,
                (false, true) if of.nulls_first => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) if of.descending => b.cmp(a),
                (false, false) => a.cmp(b),
            };
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }
}

impl Span {
    fn has(&self, path: &Path, row: &Row) -> bool {
        let mut pairs = path.columns.iter().zip(&self.equal);
        if pairs.any(|(of, sought)| row[of.column] != *sought) {
            return false;
        }
        if matches!((&self.from, &self.to), (Bound::Unbounded, Bound::Unbounded)) {
            return true;
        }
        let next = &row[path.columns[self.equal.len()].column];
        let is_from = match &self.from {
            Bound::Unbounded => true,
            Bound::Included(from) => next >= from,
            Bound::Excluded(from) => next > from,
        };
        let is_to = match &self.to {
            Bound::Unbounded => true,
            Bound::Included(to) => next <= to,
            Bound::Excluded(to) => next < to,
        };
        !next.is_null() && is_from && is_to
    }
}

impl Selection {
    pub(super) fn has(&self, row: &Row) -> bool {
        match self {
            Selection::All => true,
            Selection::Key(path, key) => {
                path.columns.iter().zip(key).all(|(of, sought)| row[of.column] == *sought)
            }
            Selection::Range(path, span) => span.has(path, row),
        }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Selection::All => None,
            Selection::Key(path, _) | Selection::Range(path, _) => Some(path),
        }
    }
}

impl Filter {
    /// Whether the row is meant, which a NULL never is.
    pub(super) fn has(&self, value: Option<i64>) -> bool {
        value.is_some_and(|value| value.rem_euclid(self.divisor) == self.rest)
    }
}

impl Target {
    pub(super) fn has(&self, row: &Row) -> bool {
        let meant = |filter: &Filter| filter.has(row[filter.column].int());
        self.selection.has(row) && self.filter.as_ref().is_none_or(meant)
    }
}

impl Act {
    pub(super) fn target(&self) -> Option<&Target> {
        match self {
            Act::Read { target, .. }
            | Act::Update(target, _)
            | Act::Delete(target)
            | Act::Lock { target, .. } => Some(target),
            Act::Insert(_) => None,
        }
    }
}

impl Act {
    /// Of a lock: what becomes of rows that others have.
    pub(super) fn if_held(&self) -> Option<IfHeld> {
        match self {
            Act::Lock { if_held, .. } => Some(*if_held),
            Act::Read { .. } | Act::Insert(_) | Act::Update(..) | Act::Delete(_) => None,
        }
    }

    /// Whether others may have to end before it does.
    pub(super) fn can_wait(&self) -> bool {
        !matches!(self, Act::Read { .. } | Act::Lock { if_held: IfHeld::NoWait, .. })
    }
}

/// What an update makes of a row.
pub(super) fn changed(row: &Row, set: &[(usize, New)], kept: impl Fn(usize, &Cell) -> Cell) -> Row {
    let mut cells = row.to_vec();
    for (column, new) in set {
        cells[*column] = match new {
            New::Value(cell) => kept(*column, cell),
            New::Plus(more) => match row[*column] {
                Cell::Int(int) => Cell::Int(int + more),
                ref other => other.clone(),
            },
        };
    }
    cells.into()
}
