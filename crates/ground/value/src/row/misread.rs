//! Questions of a caller's closure that the row can't answer (rule VA10).
//!
//! Callers: `view` notes them; a layer that gives rows to users' closures refuses the statement.

use std::cell::Cell;

use crate::Type;

/// A question about a column that has no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Misread {
    /// The column, from 0.
    pub column: usize,
    /// The reason why it has no answer.
    pub why: MisreadKind,
}

/// The reason why a question about a column has no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MisreadKind {
    /// The table has no such column.
    NoColumn,
    /// The column was dropped.
    Dropped,
    /// A whole number was asked for, of a column of this type.
    NotInteger(Type),
    /// A text was asked for, of a column of this type.
    NotText(Type),
}

/// The first misread of one or several rows.
#[derive(Debug, Default)]
pub struct Misreads(Cell<Option<Misread>>);

impl Misreads {
    /// The first misread; none if every question had an answer.
    pub fn first(&self) -> Option<Misread> {
        self.0.get()
    }

    pub(super) fn note(&self, misread: Misread) {
        self.0.set(self.0.get().or(Some(misread)));
    }
}
