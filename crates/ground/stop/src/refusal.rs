//! The refusal of a statement: a kind for the program, and a message for the user (rule K1).

use std::fmt;

use os::{Cause, Error};
use value::{Damaged, Misfit};

/// The kind of a refusal, as far as a caller would act on it.
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
    /// The bytes on disk aren't what the engine wrote there.
    Corrupt,
    /// The database is in a state in which the operation isn't allowed.
    WrongState,
    /// The device or the operating system refused.
    Io,
}

/// A refusal. Its message is one line: what failed, on what, what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    kind: RefusalKind,
    message: String,
}

impl Refusal {
    /// A refusal of this kind.
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Refusal {
        Refusal { kind, message: message.into() }
    }

    /// The kind of the refusal.
    pub fn kind(&self) -> RefusalKind {
        self.kind
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

/// A value that doesn't fit its column or its type.
impl From<Misfit> for Refusal {
    fn from(misfit: Misfit) -> Refusal {
        Refusal::new(RefusalKind::Invalid, misfit.to_string())
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
        Refusal::new(kind, error.to_string())
    }
}
