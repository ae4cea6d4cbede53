//! Why an expression can't be typed or has no value: a state for clients, a message for people.
//!
//! Invariants
//!   * a message says what failed and holds no value of a row; values stand in the detail alone
//!   * a fault has the size of a pointer, for every evaluation may return one
//!
//! Callers: all of this crate; SQL, which adds the position in the statement.
//! Sources: PostgreSQL's table of SQLSTATEs, whose codes these are.

use std::fmt;

use stop::{RefusalKind, Stop};
use value::{NumberFault, Value, shown};

/// A refusal of an expression.
#[derive(Clone)]
pub struct Fault(Box<Cause>);

#[derive(Clone, Debug)]
enum Cause {
    /// The expression itself is at fault.
    Expression(Parts),
    /// A subquery failed for a reason of its own, which may be a halt.
    Below(Stop),
}

#[derive(Clone, Debug)]
struct Parts {
    sqlstate: &'static str,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
}

/// The SQLSTATEs that this crate refuses with.
pub mod sqlstate {
    /// A feature that isn't there.
    pub const FEATURE_NOT_SUPPORTED: &str = "0A000";
    /// A subquery that may return one row returned more.
    pub const CARDINALITY_VIOLATION: &str = "21000";
    /// A number outside of its type's range.
    pub const NUMERIC_VALUE_OUT_OF_RANGE: &str = "22003";
    /// A text that is no date, time or interval.
    pub const INVALID_DATETIME_FORMAT: &str = "22007";
    /// A date or time that the calendar doesn't have.
    pub const DATETIME_FIELD_OVERFLOW: &str = "22008";
    /// A negative length.
    pub const SUBSTRING_ERROR: &str = "22011";
    /// A division by zero.
    pub const DIVISION_BY_ZERO: &str = "22012";
    /// An interval that is too long.
    pub const INTERVAL_FIELD_OVERFLOW: &str = "22015";
    /// An ESCAPE that isn't one character, or is at the end of its pattern.
    pub const INVALID_ESCAPE_SEQUENCE: &str = "22025";
    /// A value that a function doesn't take.
    pub const INVALID_PARAMETER_VALUE: &str = "22023";
    /// The logarithm of what isn't above zero.
    pub const INVALID_ARGUMENT_FOR_LOGARITHM: &str = "2201E";
    /// A power that has no value.
    pub const INVALID_ARGUMENT_FOR_POWER: &str = "2201F";
    /// A text that isn't a value of the type.
    pub const INVALID_TEXT_REPRESENTATION: &str = "22P02";
    /// Two kinds for which the operator or function isn't defined.
    pub const UNDEFINED_FUNCTION: &str = "42883";
    /// Several functions that fit equally well.
    pub const AMBIGUOUS_FUNCTION: &str = "42725";
    /// Kinds that don't go together.
    pub const DATATYPE_MISMATCH: &str = "42804";
    /// Kinds of which one can't be made of the other.
    pub const CANNOT_COERCE: &str = "42846";
    /// A parameter whose kind can't be told.
    pub const INDETERMINATE_DATATYPE: &str = "42P18";
    /// A result that is too long.
    pub const PROGRAM_LIMIT_EXCEEDED: &str = "54000";
}

impl Fault {
    /// A fault with this SQLSTATE.
    #[cold]
    pub fn new(sqlstate: &'static str, message: impl Into<String>) -> Fault {
        let parts = Parts { sqlstate, message: message.into(), detail: None, hint: None };
        Fault(Box::new(Cause::Expression(parts)))
    }

    /// The same fault with a detail, which may show values of rows.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Fault {
        if let Cause::Expression(parts) = &mut *self.0 {
            parts.detail = Some(detail.into());
        }
        self
    }

    /// The same fault, whose detail shows this value.
    #[must_use]
    pub fn showing(self, value: Value<'_>) -> Fault {
        self.with_detail(format!("the value is {}", shown(value)))
    }

    /// The same fault with a hint: what to do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Fault {
        if let Cause::Expression(parts) = &mut *self.0 {
            parts.hint = Some(hint.into());
        }
        self
    }

    /// The SQLSTATE; none if a subquery stopped for a reason of its own.
    pub fn sqlstate(&self) -> Option<&'static str> {
        match &*self.0 {
            Cause::Expression(parts) => Some(parts.sqlstate),
            Cause::Below(_) => None,
        }
    }

    /// The message, on one line.
    pub fn message(&self) -> String {
        match &*self.0 {
            Cause::Expression(parts) => parts.message.clone(),
            Cause::Below(stop) => stop.to_string(),
        }
    }

    /// What the message leaves out.
    pub fn detail(&self) -> Option<&str> {
        match &*self.0 {
            Cause::Expression(parts) => parts.detail.as_deref(),
            Cause::Below(_) => None,
        }
    }

    /// What to do.
    pub fn hint(&self) -> Option<&str> {
        match &*self.0 {
            Cause::Expression(parts) => parts.hint.as_deref(),
            Cause::Below(_) => None,
        }
    }

    /// A number outside of the range of `what`.
    #[cold]
    pub(crate) fn out_of_range(what: &str) -> Fault {
        Fault::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, format!("{what} out of range"))
    }

    /// A division by zero.
    #[cold]
    pub(crate) fn division_by_zero() -> Fault {
        Fault::new(sqlstate::DIVISION_BY_ZERO, "division by zero")
    }

    /// A value that the function doesn't take.
    #[cold]
    pub(crate) fn parameter(message: impl Into<String>) -> Fault {
        Fault::new(sqlstate::INVALID_PARAMETER_VALUE, message)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Cause::Below(stop) => stop.fmt(f),
            Cause::Expression(parts) => {
                f.write_str(&parts.message)?;
                parts.detail.iter().try_for_each(|detail| write!(f, ": {detail}"))?;
                parts.hint.iter().try_for_each(|hint| write!(f, "; {hint}"))
            }
        }
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Cause::Below(stop) => stop.fmt(f),
            Cause::Expression(parts) => write!(f, "{} {self}", parts.sqlstate),
        }
    }
}

impl std::error::Error for Fault {}

impl From<NumberFault> for Fault {
    #[cold]
    fn from(fault: NumberFault) -> Fault {
        match fault {
            NumberFault::DivisionByZero => Fault::division_by_zero(),
            NumberFault::Overflow => Fault::out_of_range("number")
                .with_hint("a number goes up to 1e122, with 38 digits"),
            NumberFault::NotANumber => Fault::out_of_range("number")
                .with_hint("NaN and infinities are values of DOUBLE PRECISION only"),
        }
    }
}

/// What a subquery stopped with goes through the expression as it is.
impl From<Stop> for Fault {
    #[cold]
    fn from(stop: Stop) -> Fault {
        Fault(Box::new(Cause::Below(stop)))
    }
}

impl From<Fault> for Stop {
    #[cold]
    fn from(fault: Fault) -> Stop {
        // The message stands in front of its detail and its hint, as a person reads them.
        let text = fault.to_string();
        match *fault.0 {
            Cause::Below(stop) => stop,
            Cause::Expression(_) => Stop::refuse(RefusalKind::Invalid, text),
        }
    }
}
