//! The errors of this crate: a value that doesn't fit its column, a damaged row, a damaged key.
//!
//! Callers: `fit` and `row` make them; the layers that store and read rows report them to users.

use std::fmt;

/// Why a value was refused, as far as a caller would act on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MisfitKind {
    /// The value has another kind than the column, such as a text for a number.
    Kind,
    /// The number or moment is outside the range of the type.
    Range,
    /// The text, binary value or row is too long.
    Length,
    /// The type can't be declared like this, such as `VARCHAR(0)`.
    Type,
}

/// A value that doesn't fit its column. Its message is one line: what failed, on what, what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misfit {
    kind: MisfitKind,
    message: String,
}

impl Misfit {
    pub(crate) fn new(kind: MisfitKind, message: String) -> Misfit {
        Misfit { kind, message }
    }

    /// The kind of the misfit.
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
    /// The column that is damaged, from 0; none if the damage is in the row as a whole.
    pub column: Option<u16>,
    /// The fault in the bytes.
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

/// A key's bytes aren't what [`key_push`](crate::key_push) writes for columns of these types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DamagedKey {
    /// The fault in the bytes.
    pub what: &'static str,
}

impl fmt::Display for DamagedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the key is damaged: {}", self.what)
    }
}

impl std::error::Error for DamagedKey {}
