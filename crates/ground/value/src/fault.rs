//! Why a value doesn't go into a column, and what is wrong with a row's bytes.
//!
//! Callers: `fit` and `row` make them; whoever stores and reads rows says them to people.

use std::fmt;

/// Why a value was refused, as far as a caller would act on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MisfitKind {
    /// A value of another kind, such as a text for a number.
    Kind,
    /// A number or a moment outside what the type can hold.
    Range,
    /// A text, binary value or row that is too long.
    Length,
    /// A type that can't be declared like this, such as `VARCHAR(0)`.
    Type,
}

/// A value that doesn't go into its column: what failed, on what, what to do, in one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misfit {
    kind: MisfitKind,
    message: String,
}

impl Misfit {
    pub(crate) fn new(kind: MisfitKind, message: String) -> Misfit {
        Misfit { kind, message }
    }

    /// Why, as far as a caller would act on it.
    pub fn kind(&self) -> MisfitKind {
        self.kind
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Misfit {}

/// A row's bytes aren't what [`RowLayout::encode`](crate::RowLayout::encode) wrote.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damaged {
    /// The column where it shows, from 0; none if it is the row as a whole.
    pub column: Option<u16>,
    /// What is wrong there.
    pub what: &'static str,
}

impl Damaged {
    pub(crate) fn row(what: &'static str) -> Damaged {
        Damaged { column: None, what }
    }

    pub(crate) fn column(column: usize, what: &'static str) -> Damaged {
        Damaged { column: u16::try_from(column).ok(), what }
    }
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            Some(column) => write!(f, "the row is damaged in column {column}: {}", self.what),
            None => write!(f, "the row is damaged: {}", self.what),
        }
    }
}

impl std::error::Error for Damaged {}
