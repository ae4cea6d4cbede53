//! A sum of numbers or of spans.
//!
//! Whole numbers are summed in 128 bits, which no number of rows fills.
//!
//! Callers: `accumulator`.

use value::{Interval, Number, Value};

use super::wrong_kind;
use crate::Fault;
use crate::arithmetic::{finite, span_too_long};
use crate::row_bytes::{array, read_value, write_value};

/// A sum, of the kind of its values.
#[derive(Clone, Debug)]
pub(super) enum Sum {
    /// No value yet.
    None,
    Whole(i128),
    Number(Number),
    Double(f64),
    Span(Interval),
}

/// The first byte of a sum of whole numbers, whose 16 bytes follow. A value's first byte is
/// smaller.
const WHOLE: u8 = u8::MAX;

impl Sum {
    pub(super) fn add(&mut self, value: Value<'_>) -> Result<(), Fault> {
        *self = match (&*self, value) {
            (Sum::None, Value::Int(int)) => Sum::Whole(int.into()),
            (Sum::None, Value::Number(number)) => Sum::Number(number),
            (Sum::None, Value::Double(double)) => Sum::Double(double),
            (Sum::None, Value::Interval(span)) => Sum::Span(span),
            (Sum::Whole(sum), Value::Int(int)) => Sum::Whole(sum + i128::from(int)),
            (Sum::Whole(sum), Value::Number(number)) => {
                Sum::Number(Number::from_parts(*sum, 0)?.checked_add(number)?)
            }
            (Sum::Number(sum), Value::Number(number)) => Sum::Number(sum.checked_add(number)?),
            (Sum::Number(sum), Value::Int(int)) => Sum::Number(sum.checked_add(int.into())?),
            (Sum::Double(sum), Value::Double(double)) => Sum::Double(added(*sum, double)?),
            (Sum::Span(sum), Value::Interval(span)) => {
                Sum::Span(sum.checked_add(span).ok_or_else(span_too_long)?)
            }
            _ => return Err(wrong_kind(value)),
        };
        Ok(())
    }

    pub(super) fn merge(&mut self, other: &Sum) -> Result<(), Fault> {
        if let (Sum::Whole(sum), Sum::Whole(more)) = (&mut *self, other) {
            *sum += more;
            return Ok(());
        }
        match other {
            Sum::None => Ok(()),
            other => self.add(other.total()?),
        }
    }

    /// The sum as a value.
    pub(super) fn total(&self) -> Result<Value<'static>, Fault> {
        Ok(match self {
            Sum::None => Value::Null,
            Sum::Whole(sum) => Value::Number(Number::from_parts(*sum, 0)?),
            Sum::Number(sum) => Value::Number(*sum),
            Sum::Double(sum) => Value::Double(*sum),
            Sum::Span(sum) => Value::Interval(*sum),
        })
    }

    /// The mean of `count` values.
    pub(super) fn mean(&self, count: i64) -> Result<Value<'static>, Fault> {
        Ok(match self.total()? {
            Value::Number(sum) => Value::Number(sum.checked_div(Number::from(count))?),
            Value::Double(sum) => Value::Double(sum / count as f64),
            Value::Interval(sum) => {
                Value::Interval(sum.checked_div(count as f64).ok_or_else(span_too_long)?)
            }
            other => other,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Sum::Whole(sum) => {
                out.push(WHOLE);
                out.extend(sum.to_le_bytes());
            }
            Sum::None => write_value(Value::Null, out),
            Sum::Number(sum) => write_value(Value::Number(*sum), out),
            Sum::Double(sum) => write_value(Value::Double(*sum), out),
            Sum::Span(sum) => write_value(Value::Interval(*sum), out),
        }
    }

    pub(super) fn read(rest: &mut &[u8]) -> Option<Sum> {
        if rest.first() == Some(&WHOLE) {
            let [_] = array(rest)?;
            return Some(Sum::Whole(i128::from_le_bytes(array(rest)?)));
        }
        Some(match read_value(rest)? {
            Value::Null => Sum::None,
            Value::Number(sum) => Sum::Number(sum),
            Value::Double(sum) => Sum::Double(sum),
            Value::Interval(sum) => Sum::Span(sum),
            _ => return None,
        })
    }
}

/// The sum of two doubles; refused if it is infinite and they aren't.
fn added(a: f64, b: f64) -> Result<f64, Fault> {
    finite(a + b, a.is_finite() && b.is_finite())
}
