//! The faults of a model's file, reported to its author.
//!
//! Each message names the file's subject (disk model, machine), the key, the value found and the
//! values allowed.
//!
//! Callers: `reader`, and through it all code that parses parameters.

use std::fmt;

/// The reason why a text is not a set of parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelError {
    /// The text is not TOML; the message of the TOML reader has line and column.
    Syntax {
        /// The subject of the text: "disk model", "machine" or "cost list".
        subject: &'static str,
        /// The position and the reason at which the TOML reader stopped.
        reason: String,
    },
    /// No model of this name comes with the program.
    UnknownName {
        /// The subject that was looked up.
        subject: &'static str,
        /// The name that was asked for.
        name: String,
        /// The names that exist.
        known: Vec<&'static str>,
    },
    /// There is no model for the `kind`.
    UnknownKind {
        /// The kind that the file asks for.
        kind: String,
        /// The kinds that exist.
        known: Vec<&'static str>,
    },
    /// A required key is missing.
    MissingKey {
        /// The subject of the text, with its name if it has given one.
        subject: String,
        /// The key that is missing.
        key: &'static str,
    },
    /// A key is unknown for this kind of model.
    UnknownKey {
        /// The subject of the text.
        subject: String,
        /// The unknown key.
        key: String,
        /// All keys that this kind of file has.
        known: Vec<&'static str>,
    },
    /// A value of the wrong type.
    WrongType {
        /// The subject of the text.
        subject: String,
        /// The key of the value.
        key: &'static str,
        /// The expected type.
        expected: &'static str,
        /// The type found.
        found: String,
    },
    /// A number is outside the range in which the model makes sense.
    OutOfRange {
        /// The subject of the text.
        subject: String,
        /// The key of the value.
        key: &'static str,
        /// The value.
        value: f64,
        /// The least allowed value.
        low: f64,
        /// The largest allowed value.
        high: f64,
    },
    /// Values are each allowed, but not together.
    Inconsistent {
        /// The subject of the text.
        subject: String,
        /// The keys, and the condition that they should meet.
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
