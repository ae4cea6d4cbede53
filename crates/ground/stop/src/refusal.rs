//! A statement that can't be done, said to the one who asked (rule K1).

use std::fmt;

use os::{Cause, Error};
use value::{Damaged, Misfit};

/// Why something was refused, as far as a caller would act on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefusalKind {
    /// The tablespace, the directory or the disk is full, or there is no memory for it.
    NoSpace,
    /// Waiting for the lock would never end: two transactions wait for each other.
    Deadlock,
    /// What a read or a change needs to know of the past was overwritten.
    SnapshotTooOld,
    /// A row was changed since the transaction's snapshot: it has to be begun again.
    Serialization,
    /// Another transaction has the lock, and the statement doesn't wait (`NOWAIT`).
    Busy,
    /// Another transaction kept the lock for as long as the statement waits (`WAIT n`).
    LockTimeout,
    /// Every buffer of the cache stayed in use for as long as a session waits for one.
    NoBuffer,
    /// The row, the segment or the file isn't there.
    NotFound,
    /// It exists already.
    AlreadyExists,
    /// A value or a parameter that doesn't fit.
    Invalid,
    /// Another row has the same key of a primary key or UNIQUE.
    UniqueViolation,
    /// NULL in a column that may not be NULL.
    NotNullViolation,
    /// A row for which a CHECK is false.
    CheckViolation,
    /// A row that refers to none, or one that others refer to.
    ForeignKeyViolation,
    /// The table isn't any more what it was when the statement was prepared.
    DefinitionChanged,
    /// What is on disk isn't what was written there.
    Corrupt,
    /// The database is in a state in which this can't be done.
    WrongState,
    /// The device or the operating system refused.
    Io,
}

/// What failed, on what, what to do: one line.
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

    /// Why, as far as a caller would act on it.
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

/// A row whose bytes nobody can have written.
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
