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
    why: Box<Why>,
}

/// What a misfit says.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Why {
    /// The whole message.
    Said(String),
    /// A value and its column.
    Value(MisfitValue),
}

/// A value that a column can't hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MisfitValue {
    /// The name of the column.
    pub column: String,
    /// The name and the type of the column.
    pub target: String,
    /// The value, as a message shows it (VA12).
    pub shown: String,
    /// Why the column can't hold the value, and what to do.
    pub because: String,
    /// Whether the value is a text.
    pub is_text: bool,
}

impl Misfit {
    pub(crate) fn new(kind: MisfitKind, message: String) -> Misfit {
        Misfit { kind, why: Box::new(Why::Said(message)) }
    }

    pub(crate) fn of_value(kind: MisfitKind, value: MisfitValue) -> Misfit {
        Misfit { kind, why: Box::new(Why::Value(value)) }
    }

    /// The kind of the misfit.
    pub fn kind(&self) -> MisfitKind {
        self.kind
    }

    /// The value, if the misfit is about a value and its column.
    pub fn value(&self) -> Option<&MisfitValue> {
        match &*self.why {
            Why::Said(_) => None,
            Why::Value(value) => Some(value),
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.why {
            Why::Said(message) => f.write_str(message),
            Why::Value(MisfitValue { target, shown, because, .. }) => {
                write!(f, "column {target} can't hold {shown}: {because}")
            }
        }
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
