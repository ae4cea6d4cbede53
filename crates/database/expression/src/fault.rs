//! Why an expression can't be typed or has no value: a state for clients, a message for people.
//!
//! Invariants
//!   * a message says what failed and holds no value of a row; values stand in the detail alone
//!     (rule stop/K24)
//!   * what a subquery stopped with, a halt too, goes through an expression as it is
//!
//! Callers: all of this crate; SQL, which adds the position in the statement.
//! Sources: PostgreSQL's table of SQLSTATEs, whose codes these are.

use std::fmt;

use stop::{Refusal, RefusalKind, SqlState, Stop};
use value::{NumberFault, Value, shown};

/// A refusal of an expression, or what a subquery in it stopped with.
#[derive(Clone)]
pub struct Fault(Stop);

const _: () = assert!(size_of::<Result<Value<'_>, Fault>>() == size_of::<Value<'_>>());

impl Fault {
    /// A fault with this SQLSTATE.
    #[cold]
    pub fn new(state: SqlState, message: impl Into<String>) -> Fault {
        let refusal = Refusal::new(RefusalKind::Invalid, message);
        Fault(Stop::Refused(refusal.with_state(state)))
    }

    /// The same fault with a detail, which may show values of rows.
    #[must_use]
    pub fn with_detail(self, detail: impl Into<String>) -> Fault {
        Fault(self.0.map_refusal(|refusal| refusal.detail(detail)))
    }

    /// The same fault, whose detail shows this value.
    #[must_use]
    pub fn showing(self, value: Value<'_>) -> Fault {
        self.with_detail(format!("the value is {}", shown(value)))
    }

    /// The same fault with a hint: what to do.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Fault {
        Fault(self.0.map_refusal(|refusal| refusal.hint(hint)))
    }

    /// The SQLSTATE.
    pub fn state(&self) -> SqlState {
        self.0.state()
    }

    /// A number outside of the range of `what`.
    #[cold]
    pub(crate) fn out_of_range(what: &str) -> Fault {
        Fault::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("{what} out of range"))
    }

    /// A division by zero.
    #[cold]
    pub(crate) fn division_by_zero() -> Fault {
        Fault::new(SqlState::DIVISION_BY_ZERO, "division by zero")
    }

    /// A value that the function doesn't take.
    #[cold]
    pub(crate) fn parameter(message: impl Into<String>) -> Fault {
        Fault::new(SqlState::INVALID_PARAMETER_VALUE, message)
    }

    /// A moment outside of the calendar.
    #[cold]
    pub(crate) fn outside_calendar(what: &str) -> Fault {
        Fault::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("{what} out of range"))
            .with_hint("the calendar has the years 1 to 9999")
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.state(), self.0)
    }
}

impl std::error::Error for Fault {}

impl From<NumberFault> for Fault {
    #[cold]
    fn from(fault: NumberFault) -> Fault {
        match fault {
            NumberFault::DivisionByZero => Fault::division_by_zero(),
            NumberFault::Overflow => {
                Fault::out_of_range("number").with_hint("a number goes up to 1e122, with 38 digits")
            }
            NumberFault::NotANumber => Fault::out_of_range("number")
                .with_hint("NaN and infinities are values of DOUBLE PRECISION only"),
        }
    }
}

impl From<Stop> for Fault {
    fn from(stop: Stop) -> Fault {
        Fault(stop)
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        fault.0
    }
}
