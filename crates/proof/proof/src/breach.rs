//! What doesn't hold, and which check noticed it.
//!
//! Callers: the oracle and the checks; the tests, which ask that a broken engine is noticed by the
//! check that exists for it.

use std::fmt;

/// What doesn't hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation(pub String);

impl Violation {
    /// It was this check that noticed it.
    pub(crate) fn by(self, check: Check) -> Breach {
        Breach { check, violation: self }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The checks of the crash sweep and of histories. A broken engine that only [`Check::Runs`]
/// notices was noticed by itself (PF12).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Check {
    /// Nobody panics or hangs, and no session is stopped.
    Runs,
    /// What a crash left opens (PF1).
    Opens,
    /// An opened database agrees with itself: scans, indexes, constraints, space, undo (PF1).
    Agrees,
    /// No row is locked when it was opened (PF16).
    Unlocked,
    /// An opened database shuts (PF1).
    Shuts,
    /// `verify` finds nothing in a database that was shut (PF16).
    Verifies,
    /// Acknowledged transactions are there, and those that were rolled back aren't (PF1).
    Transactions,
    /// The rows are those that the transactions left which are there (PF1).
    Rows,
    /// What is defined is what the statements left which are there (PF11).
    Definitions,
    /// No sequence gives a value that is in use (PF11).
    Sequences,
    /// No commit is there that was called after one returned that is lost (PF2).
    CommitOrder,
    /// What sessions were told was written by transactions that survived (PF17).
    Told,
    /// Recovery that was cut comes to the same again (PF3).
    CutAgain,
    /// Recovery comes to the same bytes under every schedule (PF4).
    Schedules,
    /// A statement finds the rows that are there all the time.
    Statements,
    /// A history kept the level that each transaction was promised (PF7).
    History,
}

/// What doesn't hold, and who noticed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Breach {
    /// The check that noticed it.
    pub check: Check,
    /// What doesn't hold.
    pub violation: Violation,
}

impl Breach {
    /// The same, and where or when it is.
    pub(crate) fn with(self, context: impl fmt::Display) -> Breach {
        Violation(format!("{}\n{context}", self.violation)).by(self.check)
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (noticed by: {:?})", self.violation, self.check)
    }
}
