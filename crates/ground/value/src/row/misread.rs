//! What a caller's closure asks of a row that the row can't answer (rule VA10).
//!
//! Callers: `view`, which notes it; whoever gives rows to closures of others, and refuses the
//! statement.

use std::cell::Cell;

use crate::Type;

/// A question about a column that has no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Misread {
    /// The column, from 0.
    pub column: usize,
    /// What is wrong with the question.
    pub why: MisreadKind,
}

/// What is wrong with a question about a column.
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
    /// The first one; none if every question had an answer.
    pub fn first(&self) -> Option<Misread> {
        self.0.get()
    }

    pub(super) fn note(&self, misread: Misread) {
        self.0.set(self.0.get().or(Some(misread)));
    }
}
