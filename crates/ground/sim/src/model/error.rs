//! What can be wrong with a model's file, told to the person who wrote it.
//!
//! Each message names the file's subject (disk model, machine), the key, what was found and what
//! is allowed.
//!
//! Callers: `reader`, and through it everyone who parses parameters.

use std::fmt;

/// Why a text is not a set of parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelError {
    /// The text is not TOML; the message of the TOML reader has line and column.
    Syntax {
        /// What was being read: "disk model", "machine" or "cost list".
        subject: &'static str,
        /// Where and why the TOML reader stopped.
        reason: String,
    },
    /// No model of this name comes with the program.
    UnknownName {
        /// What was being looked up.
        subject: &'static str,
        /// The name that was asked for.
        name: String,
        /// The names that exist.
        known: Vec<&'static str>,
    },
    /// The `kind` is none of those that there is a model for.
    UnknownKind {
        /// The kind that the file asks for.
        kind: String,
        /// The kinds that exist.
        known: Vec<&'static str>,
    },
    /// A key that must be there is not.
    MissingKey {
        /// What was being read, with its name if it has given one.
        subject: String,
        /// The key that is missing.
        key: &'static str,
    },
    /// A key that means nothing for this kind of model.
    UnknownKey {
        /// What was being read.
        subject: String,
        /// The key that nobody asked for.
        key: String,
        /// All keys that this kind of file has.
        known: Vec<&'static str>,
    },
    /// A value of the wrong type.
    WrongType {
        /// What was being read.
        subject: String,
        /// Whose value it is.
        key: &'static str,
        /// What it should be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// A number outside the range in which the model makes sense.
    OutOfRange {
        /// What was being read.
        subject: String,
        /// Whose value it is.
        key: &'static str,
        /// What it is.
        value: f64,
        /// The least that is allowed.
        low: f64,
        /// The most that is allowed.
        high: f64,
    },
    /// Values that are each allowed, but not together.
    Inconsistent {
        /// What was being read.
        subject: String,
        /// Which keys, and what would have to hold.
        reason: String,
    },
}

impl std::error::Error for ModelError {}

impl fmt::Display for ModelError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelError::Syntax { subject, reason } => {
                write!(out, "the {subject} is not valid TOML: {}", reason.trim_end())
            }
            ModelError::UnknownName { subject, name, known } => {
                write!(out, "no {subject} is called \"{name}\"; there are: {}", known.join(", "))
            }
            ModelError::UnknownKind { kind, known } => {
                let known = known.join(", ");
                write!(out, "no disk model is of kind \"{kind}\"; kinds are: {known}")
            }
            ModelError::MissingKey { subject, key } => {
                write!(out, "{subject}: the key `{key}` is missing")
            }
            ModelError::UnknownKey { subject, key, known } => {
                write!(out, "{subject}: unknown key `{key}`; its keys are: {}", known.join(", "))
            }
            ModelError::WrongType { subject, key, expected, found } => {
                write!(out, "{subject}: `{key}` must be {expected}, not {found}")
            }
            ModelError::OutOfRange { subject, key, value, low, high } => {
                write!(out, "{subject}: `{key}` = {value} must lie between {low} and {high}")
            }
            ModelError::Inconsistent { subject, reason } => write!(out, "{subject}: {reason}"),
        }
    }
}
