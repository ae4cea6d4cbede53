//! Reads one flat TOML text key by key, so that each fault is told by the name of its key.
//!
//! A parameter's key and range stand once, at the line that takes it. [`Reader::finish`] refuses
//! every key that wasn't taken: a misspelt key is never silently a default, and there are no
//! defaults.
//!
//! Callers: `parameters`, `machine`, `costs`, and the `from_reader` of each model.

use std::ops::RangeInclusive;

use toml::{Table, Value};

use super::error::ModelError;

/// A text that is being read as parameters.
pub(super) struct Reader {
    subject: String,
    table: Table,
    known: Vec<&'static str>,
}

impl Reader {
    /// Starts on `text`, which describes a `subject` ("disk model", "machine", "cost list").
    pub(super) fn new(subject: &'static str, text: &str) -> Result<Reader, ModelError> {
        let table: Table = text
            .parse()
            .map_err(|error| ModelError::Syntax { subject, reason: format!("{error}") })?;
        let subject = match table.get("name") {
            Some(Value::String(name)) => format!("{subject} \"{name}\""),
            _ => subject.to_owned(),
        };
        Ok(Reader { subject, table, known: Vec::new() })
    }

    /// Takes a text that isn't empty.
    pub(super) fn text(&mut self, key: &'static str) -> Result<String, ModelError> {
        match self.take(key)? {
            Value::String(text) if !text.trim().is_empty() => Ok(text),
            other => Err(self.wrong_type(key, "a text that isn't empty", &other)),
        }
    }

    /// Takes a number within `range`; a whole number will do.
    pub(super) fn number(
        &mut self,
        key: &'static str,
        range: RangeInclusive<f64>,
    ) -> Result<f64, ModelError> {
        let value = match self.take(key)? {
            Value::Float(value) => value,
            Value::Integer(value) => value as f64,
            other => return Err(self.wrong_type(key, "a number", &other)),
        };
        let (low, high) = (*range.start(), *range.end());
        if range.contains(&value) {
            return Ok(value);
        }
        Err(ModelError::OutOfRange { subject: self.subject.clone(), key, value, low, high })
    }

    /// Takes a whole number within `range`.
    pub(super) fn whole(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<u64, ModelError> {
        let found = match self.take(key)? {
            Value::Integer(found) => found,
            other => return Err(self.wrong_type(key, "a whole number", &other)),
        };
        if let Some(value) = u64::try_from(found).ok().filter(|value| range.contains(value)) {
            return Ok(value);
        }
        let (low, high) = (*range.start() as f64, *range.end() as f64);
        let subject = self.subject.clone();
        Err(ModelError::OutOfRange { subject, key, value: found as f64, low, high })
    }

    /// Takes a value of true or false.
    pub(super) fn flag(&mut self, key: &'static str) -> Result<bool, ModelError> {
        match self.take(key)? {
            Value::Boolean(flag) => Ok(flag),
            other => Err(self.wrong_type(key, "true or false", &other)),
        }
    }

    /// Takes twenty numbers within `range`, none below the one before it.
    pub(super) fn ascending(
        &mut self,
        key: &'static str,
        range: RangeInclusive<f64>,
    ) -> Result<[f64; 20], ModelError> {
        let found = self.take(key)?;
        let number = |value: &Value| match value {
            Value::Float(value) => Some(*value),
            Value::Integer(value) => Some(*value as f64),
            _ => None,
        };
        let list = found.as_array().map(Vec::as_slice).unwrap_or_default();
        let numbers: Vec<f64> = list.iter().filter_map(number).collect();
        match <[f64; 20]>::try_from(numbers) {
            Ok(numbers) if numbers.is_sorted() && numbers.iter().all(|it| range.contains(it)) => {
                Ok(numbers)
            }
            _ => Err(self.wrong_type(key, "a list of 20 ascending numbers", &found)),
        }
    }

    /// An error about several keys that don't fit together.
    pub(super) fn inconsistent(&self, reason: String) -> ModelError {
        ModelError::Inconsistent { subject: self.subject.clone(), reason }
    }

    /// Refuses the first key that wasn't taken.
    pub(super) fn finish(self) -> Result<(), ModelError> {
        match self.table.into_iter().next() {
            None => Ok(()),
            Some((key, _)) => {
                Err(ModelError::UnknownKey { subject: self.subject, key, known: self.known })
            }
        }
    }

    fn take(&mut self, key: &'static str) -> Result<Value, ModelError> {
        self.known.push(key);
        let missing = || ModelError::MissingKey { subject: self.subject.clone(), key };
        self.table.remove(key).ok_or_else(missing)
    }

    fn wrong_type(&self, key: &'static str, expected: &'static str, value: &Value) -> ModelError {
        let subject = self.subject.clone();
        ModelError::WrongType { subject, key, expected, found: words(value) }
    }
}

/// A value in the words of its author.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => format!("\"{text}\""),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(flag) => flag.to_string(),
        Value::Datetime(_) => "a date".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Table(_) => "a table".to_owned(),
    }
}
