//! What a call of an aggregate has taken of a group: row by row, or kept until the end, where it
//! takes the rows of a group in an order of its own (rule RS15).
//!
//! ```text
//!   AtOnce   accumulator ◀── row, row, row …
//!   Kept     key, arguments │ key, arguments │ …  ──the group is over──▶ in order ──▶ accumulator
//! ```
//!
//! Invariants
//!   * of equal keys the row that came first is taken first
//!   * NULLs aren't kept: no aggregate that minds the order counts them
//!
//! Callers: `calls`; the sources that group have one for each call and group.

use expression::{Accumulator, Aggregate, Fault, Rows};
use stop::SqlState;
use value::{BYTES_MAX, OwnedValue, Value, key_push};

use crate::calls::ARGUMENTS_MAX;
use crate::order::as_kind;
use crate::{AggregateCall, CallKey};

/// What a call has taken of a group.
#[derive(Debug)]
pub(crate) enum CallState {
    /// All rows until now.
    AtOnce(Accumulator),
    /// None yet.
    Kept(Box<KeptRows>),
}

impl CallState {
    /// The state of a new group.
    pub(crate) fn new(call: &AggregateCall) -> CallState {
        match call.order.is_empty() {
            true => CallState::AtOnce(Accumulator::new(call.aggregate)),
            false => CallState::Kept(Box::new(KeptRows::new(call.aggregate))),
        }
    }

    /// Takes the arguments of a row. `key` is what it is sorted by, if the call has an order of its
    /// own.
    pub(crate) fn add(
        &mut self,
        arguments: [Value<'_>; ARGUMENTS_MAX],
        key: &[u8],
    ) -> Result<(), Fault> {
        match self {
            CallState::AtOnce(accumulator) => accumulator.add(arguments[0], arguments[1]),
            CallState::Kept(kept) => kept.add(arguments, key),
        }
    }

    /// The bytes of memory that it takes besides its own size.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = match self {
            CallState::AtOnce(accumulator) => accumulator.bytes(),
            CallState::Kept(kept) => kept.bytes(),
        };
        bytes as u64
    }

    /// The result.
    pub(crate) fn finish(&self) -> Result<OwnedValue, Fault> {
        match self {
            CallState::AtOnce(accumulator) => accumulator.finish(),
            CallState::Kept(kept) => kept.finish(),
        }
    }
}

/// The rows of a group that are taken in order at its end.
#[derive(Debug)]
pub(crate) struct KeptRows {
    aggregate: Aggregate,
    /// The keys of the rows, one after the other, and where each ends.
    keys: Vec<u8>,
    ends: Vec<usize>,
    /// The arguments of the rows.
    arguments: Rows,
    /// The bytes of the texts among them: together they become one.
    text_bytes: usize,
}

impl KeptRows {
    fn new(aggregate: Aggregate) -> KeptRows {
        KeptRows {
            aggregate,
            keys: Vec::new(),
            ends: Vec::new(),
            arguments: Rows::new(ARGUMENTS_MAX),
            text_bytes: 0,
        }
    }

    fn add(&mut self, arguments: [Value<'_>; ARGUMENTS_MAX], key: &[u8]) -> Result<(), Fault> {
        if arguments[0].is_null() {
            return Ok(());
        }
        let bytes = |value: &Value<'_>| match value {
            Value::Text(text) => text.len(),
            _ => 0,
        };
        self.text_bytes += arguments.iter().map(bytes).sum::<usize>();
        if self.text_bytes > BYTES_MAX {
            let say =
                format!("a text can't have {} bytes: {BYTES_MAX} is the most", self.text_bytes);
            return Err(Fault::new(SqlState::PROGRAM_LIMIT_EXCEEDED, say));
        }
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len());
        self.arguments.push(arguments);
        Ok(())
    }

    fn bytes(&self) -> usize {
        if self.ends.is_empty() {
            return 0;
        }
        let ends = self.ends.capacity() * size_of::<usize>();
        size_of::<KeptRows>() + self.keys.capacity() + ends + self.arguments.bytes()
    }

    fn key(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.keys[start..self.ends[row]]
    }

    fn finish(&self) -> Result<OwnedValue, Fault> {
        let mut order: Vec<usize> = (0..self.ends.len()).collect();
        order.sort_by(|one, other| self.key(*one).cmp(self.key(*other)));
        let mut accumulator = Accumulator::new(self.aggregate);
        for row in order {
            accumulator.add(self.arguments.get(row, 0), self.arguments.get(row, 1))?;
        }
        accumulator.finish()
    }
}

impl CallKey {
    /// Appends a value of this part of an order to a row's key.
    pub(crate) fn push(&self, value: Value<'_>, key: &mut Vec<u8>) {
        key_push(as_kind(value, self.kind), self.direction, self.nulls, key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows come in the order of their keys, and those with equal keys as they came.
    #[test]
    fn kept_rows_are_taken_in_the_order_of_their_keys() {
        let mut kept = KeptRows::new(Aggregate::StringAgg);
        assert_eq!((kept.bytes(), kept.finish().expect("none is NULL")), (0, OwnedValue::NULL));
        let rows = [("b", "x"), ("a", "y"), ("", "z"), ("b", "w"), ("a", "v")];
        for (key, text) in rows {
            let arguments = [Value::Text(text), Value::Text("-")];
            kept.add(arguments, key.as_bytes()).expect("short");
        }
        kept.add([Value::Null, Value::Text("-")], b"").expect("it isn't kept");
        assert!(kept.bytes() > size_of::<KeptRows>());
        let found = kept.finish().expect("short");
        assert_eq!(found.get(), Value::Text("z-y-v-x-w"));
    }
}
