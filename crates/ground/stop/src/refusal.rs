//! The refusal of a statement: a kind for the engine, an SQLSTATE for clients, and text for people
//! (rules K1, K23 to K25).
//!
//! ```text
//!   kind ──▶ what the engine does: begin again, wait, take back
//!   state ─▶ what a client does
//!   MESSAGE: DETAIL; HINT             values of rows in the detail alone
//!   table, column, constraint; position in the statement's text
//! ```
//!
//! Callers: every crate of the engine makes refusals; front ends show them.

use std::fmt;

use os::{Cause, Error};
use value::{Damaged, Misfit, MisfitKind};

use crate::SqlState;

/// The kind of a refusal, as far as the engine or an application would act on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefusalKind {
    /// The tablespace, the directory or the disk is full, or memory is exhausted.
    NoSpace,
    /// Waiting for the lock would close a cycle of waiting transactions.
    Deadlock,
    /// Undo that a read or a change needs was overwritten.
    SnapshotTooOld,
    /// A row was changed since the transaction's snapshot. The transaction has to be restarted.
    Serialization,
    /// Another transaction has the lock, and the statement doesn't wait (`NOWAIT`).
    Busy,
    /// Another transaction kept the lock for as long as the statement waits (`WAIT n`).
    LockTimeout,
    /// Every buffer of the cache stayed in use for as long as a session waits for one.
    NoBuffer,
    /// The row, the segment or the file doesn't exist.
    NotFound,
    /// The object exists already.
    AlreadyExists,
    /// A value or a parameter isn't valid.
    Invalid,
    /// Another row has the same key of a primary key or UNIQUE.
    UniqueViolation,
    /// A NOT NULL column was given NULL.
    NotNullViolation,
    /// A CHECK is false for the row.
    CheckViolation,
    /// A row refers to a missing row, or other rows refer to it.
    ForeignKeyViolation,
    /// The table's definition has changed since the statement was prepared.
    DefinitionChanged,
    /// The statement was cancelled, or has had its time.
    Cancelled,
    /// The bytes on disk aren't what the engine wrote there.
    Corrupt,
    /// The database is in a state in which the operation isn't allowed.
    WrongState,
    /// The device or the operating system refused.
    Io,
}

impl RefusalKind {
    /// The SQLSTATE of a refusal of this kind that names no other.
    pub const fn state(self) -> SqlState {
        match self {
            RefusalKind::NoSpace => SqlState::DISK_FULL,
            RefusalKind::Deadlock => SqlState::DEADLOCK_DETECTED,
            RefusalKind::SnapshotTooOld => SqlState::SNAPSHOT_TOO_OLD,
            RefusalKind::Serialization => SqlState::SERIALIZATION_FAILURE,
            RefusalKind::Busy | RefusalKind::LockTimeout => SqlState::LOCK_NOT_AVAILABLE,
            RefusalKind::NoBuffer => SqlState::INSUFFICIENT_RESOURCES,
            RefusalKind::NotFound => SqlState::UNDEFINED_OBJECT,
            RefusalKind::AlreadyExists => SqlState::DUPLICATE_OBJECT,
            RefusalKind::Invalid => SqlState::INVALID_PARAMETER_VALUE,
            RefusalKind::UniqueViolation => SqlState::UNIQUE_VIOLATION,
            RefusalKind::NotNullViolation => SqlState::NOT_NULL_VIOLATION,
            RefusalKind::CheckViolation => SqlState::CHECK_VIOLATION,
            RefusalKind::ForeignKeyViolation => SqlState::FOREIGN_KEY_VIOLATION,
            RefusalKind::DefinitionChanged | RefusalKind::WrongState => {
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE
            }
            RefusalKind::Cancelled => SqlState::QUERY_CANCELED,
            RefusalKind::Corrupt => SqlState::DATA_CORRUPTED,
            RefusalKind::Io => SqlState::IO_ERROR,
        }
    }
}

/// A refusal. What it says is kept apart, so that results stay small.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    kind: RefusalKind,
    parts: Box<RefusalParts>,
}

/// What a refusal says. A part that a refusal doesn't have is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefusalParts {
    /// The SQLSTATE.
    pub state: SqlState,
    /// What failed, on what. Without values of rows (K24).
    pub message: String,
    /// More of what failed, with values of rows.
    pub detail: Option<String>,
    /// What to do, if the message doesn't say it.
    pub hint: Option<String>,
    /// The table, without a schema.
    pub table: Option<String>,
    /// The column of the table.
    pub column: Option<String>,
    /// The constraint, or the index that keeps it.
    pub constraint: Option<String>,
    /// The character of the statement's text that the refusal is about, from 1.
    pub position: Option<u32>,
}

impl Refusal {
    /// A refusal of this kind, with the kind's SQLSTATE.
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Refusal {
        let parts = RefusalParts {
            state: kind.state(),
            message: message.into(),
            detail: None,
            hint: None,
            table: None,
            column: None,
            constraint: None,
            position: None,
        };
        Refusal { kind, parts: Box::new(parts) }
    }

    /// The kind of the refusal.
    pub fn kind(&self) -> RefusalKind {
        self.kind
    }

    /// The SQLSTATE.
    pub fn state(&self) -> SqlState {
        self.parts.state
    }

    /// All that the refusal says, part by part.
    pub fn parts(&self) -> &RefusalParts {
        &self.parts
    }

    /// The same with this SQLSTATE.
    #[must_use]
    pub fn with_state(mut self, state: SqlState) -> Refusal {
        self.parts.state = state;
        self
    }

    /// The same with this detail, the only part that may have values of rows (K24).
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Refusal {
        self.parts.detail = Some(detail.into());
        self
    }

    /// The same with this hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Refusal {
        self.parts.hint = Some(hint.into());
        self
    }

    /// The same about this table.
    #[must_use]
    pub fn table(mut self, name: impl Into<String>) -> Refusal {
        self.parts.table = Some(name.into());
        self
    }

    /// The same about this column.
    #[must_use]
    pub fn column(mut self, name: impl Into<String>) -> Refusal {
        self.parts.column = Some(name.into());
        self
    }

    /// The same about this constraint.
    #[must_use]
    pub fn constraint(mut self, name: impl Into<String>) -> Refusal {
        self.parts.constraint = Some(name.into());
        self
    }

    /// The same about this character of the statement's text, counted from 1.
    #[must_use]
    pub fn at(mut self, position: u32) -> Refusal {
        self.parts.position = Some(position);
        self
    }

    /// The same about no character of the statement's text: it arose in another text.
    #[must_use]
    pub fn elsewhere(mut self) -> Refusal {
        self.parts.position = None;
        self
    }

    /// The same with this text before its message.
    #[must_use]
    pub fn led_by(mut self, lead: &str) -> Refusal {
        self.parts.message.insert_str(0, lead);
        self
    }

    /// The same with this text behind what it says.
    #[must_use]
    pub fn saying(mut self, more: &str) -> Refusal {
        let parts = &mut *self.parts;
        if let Some(hint) = &mut parts.hint {
            *hint = format!("{hint}; {more}");
        } else if parts.detail.is_some() {
            parts.hint = Some(more.to_string());
        } else {
            parts.message = format!("{}; {more}", parts.message);
        }
        self
    }
}

/// `MESSAGE: DETAIL; HINT`, in one line unless the message or the detail has several. A detail of
/// several lines comes last: `MESSAGE: HINT. DETAIL` (K25).
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RefusalParts { message, detail, hint, .. } = &*self.parts;
        f.write_str(message)?;
        match (detail, hint) {
            (None, None) => Ok(()),
            (None, Some(hint)) => write!(f, "; {hint}"),
            (Some(detail), None) => write!(f, ": {detail}"),
            (Some(detail), Some(hint)) if detail.contains('\n') => write!(f, ": {hint}. {detail}"),
            (Some(detail), Some(hint)) => write!(f, ": {detail}; {hint}"),
        }
    }
}

impl std::error::Error for Refusal {}

/// A value that doesn't fit its column or its type. The value is in the detail.
impl From<Misfit> for Refusal {
    fn from(misfit: Misfit) -> Refusal {
        let state = match misfit.kind() {
            MisfitKind::Kind if misfit.value().is_some_and(|value| value.is_text) => {
                SqlState::INVALID_TEXT_REPRESENTATION
            }
            MisfitKind::Kind => SqlState::DATATYPE_MISMATCH,
            MisfitKind::Range => SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            MisfitKind::Length => SqlState::STRING_DATA_RIGHT_TRUNCATION,
            MisfitKind::Type => SqlState::INVALID_PARAMETER_VALUE,
        };
        let refusal = match misfit.value() {
            None => Refusal::new(RefusalKind::Invalid, misfit.to_string()),
            Some(value) => {
                let message = format!("column {} can't hold the value", value.target);
                let refusal = Refusal::new(RefusalKind::Invalid, message);
                refusal.detail(&value.shown).hint(&value.because).column(&value.column)
            }
        };
        refusal.with_state(state)
    }
}

/// A row's bytes that no version of the engine can have written.
impl From<Damaged> for Refusal {
    fn from(damaged: Damaged) -> Refusal {
        Refusal::new(RefusalKind::Corrupt, format!("{damaged}; verify the database"))
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        let kind = match error.cause() {
            Cause::NotFound => RefusalKind::NotFound,
            Cause::AlreadyExists => RefusalKind::AlreadyExists,
            Cause::InUse => RefusalKind::WrongState,
            Cause::SameFile => RefusalKind::Corrupt,
            Cause::NoMemory | Cause::NoSpace | Cause::FileTooLarge => RefusalKind::NoSpace,
            Cause::Invalid => RefusalKind::Invalid,
            _ => RefusalKind::Io,
        };
        let state = match error.cause() {
            Cause::NotFound => SqlState::UNDEFINED_FILE,
            Cause::AlreadyExists => SqlState::DUPLICATE_FILE,
            Cause::InUse => SqlState::OBJECT_IN_USE,
            Cause::NoMemory => SqlState::OUT_OF_MEMORY,
            Cause::TooManyFiles => SqlState::INSUFFICIENT_RESOURCES,
            _ => kind.state(),
        };
        Refusal::new(kind, error.to_string()).with_state(state)
    }
}

#[cfg(test)]
mod tests {
    use value::{Type, Value};

    use super::*;

    #[test]
    fn what_a_refusal_says_is_one_line_of_its_parts() {
        let refusal = Refusal::new(RefusalKind::CheckViolation, "a row breaks check c");
        assert_eq!(refusal.to_string(), "a row breaks check c");
        assert_eq!(refusal.state(), SqlState::CHECK_VIOLATION);
        let hinted = refusal.clone().hint("give another value");
        assert_eq!(hinted.to_string(), "a row breaks check c; give another value");
        let detailed = refusal.clone().detail("k = 1");
        assert_eq!(detailed.to_string(), "a row breaks check c: k = 1");
        let both = detailed.hint("give another value");
        assert_eq!(both.to_string(), "a row breaks check c: k = 1; give another value");
        let long = both.detail("The rows:\n1\n2");
        assert_eq!(long.to_string(), "a row breaks check c: give another value. The rows:\n1\n2");
        let led = refusal.led_by("once more: ").table("t").column("k").constraint("c").at(7);
        let RefusalParts { message, table, column, constraint, position, .. } = led.parts();
        assert_eq!(message, "once more: a row breaks check c");
        let named = [table, column, constraint].map(|name| name.as_deref().unwrap_or_default());
        assert_eq!((named, *position), (["t", "k", "c"], Some(7)));
    }

    /// Text that is added comes last, whatever parts there are.
    #[test]
    fn what_is_added_comes_last() {
        let plain = Refusal::new(RefusalKind::NoSpace, "it is full");
        assert_eq!(plain.clone().saying("make room").to_string(), "it is full; make room");
        let detailed = plain.clone().detail("9 of 9");
        assert_eq!(detailed.saying("make room").to_string(), "it is full: 9 of 9; make room");
        let hinted = plain.hint("drop a table");
        assert_eq!(hinted.saying("or wait").to_string(), "it is full; drop a table; or wait");
    }

    /// The value of a row is in the detail, and nowhere else (K24).
    #[test]
    fn a_value_that_does_not_fit_is_in_the_detail() {
        let refused = |kind: Type, value| Refusal::from(kind.fit("C", value).expect_err("no"));
        let range = refused(Type::SmallInt, Value::Int(40_000));
        assert_eq!(range.parts().message, "column C SMALLINT can't hold the value");
        assert_eq!(range.parts().detail.as_deref(), Some("40000"));
        assert_eq!(range.parts().column.as_deref(), Some("C"));
        assert_eq!(
            range.to_string(),
            "column C SMALLINT can't hold the value: 40000; give a number from -32768 to 32767"
        );
        assert_eq!(range.state(), SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
        let text = refused(Type::Date, Value::Text("soon"));
        assert_eq!(text.state(), SqlState::INVALID_TEXT_REPRESENTATION);
        let truth = refused(Type::Date, Value::Boolean(true));
        assert_eq!(truth.state(), SqlState::DATATYPE_MISMATCH);
    }

    /// A result that may be a refusal is moved about everywhere.
    #[test]
    fn a_refusal_is_small() {
        assert!(size_of::<Refusal>() <= 16);
        assert!(size_of::<crate::Stop>() <= 24);
    }
}
