//! A sum of numbers or of spans.
//!
//! Whole numbers are summed in 128 bits, which no number of rows fills. NUMBERs of one scale are
//! summed in 128 bits as long as they have 38 digits, and give what `Number::checked_add` gives.
//!
//! Callers: `accumulator`.

use value::{Interval, Number, Value};

use super::wrong_kind;
use crate::arithmetic::{finite, span_too_long};
use crate::row_bytes::{array, read_value, write_value};
use crate::{Fault, Rows};

/// A sum, of the kind of its values.
#[derive(Clone, Debug)]
pub(super) enum Sum {
    /// No value yet.
    None,
    Whole(i128),
    /// A NUMBER of so many places, not below 0: units × 10^-places, of 38 digits at most.
    Units {
        units: i128,
        places: i32,
    },
    /// Any other NUMBER.
    Number(Number),
    Double(f64),
    Span(Interval),
}

/// The first byte of a sum of whole numbers, whose 16 bytes follow. A value's first byte is
/// smaller.
const WHOLE: u8 = u8::MAX;

/// Units of more than 38 digits are rounded.
const UNITS_BELOW: u128 = 10_u128.pow(38);

impl Sum {
    #[inline]
    pub(super) fn add(&mut self, value: Value<'_>) -> Result<(), Fault> {
        match (&mut *self, value) {
            (Sum::Units { units, places }, Value::Number(number)) => {
                if number.scale() == *places
                    && let Some(sum) = units.checked_add(number.coefficient())
                    && sum.unsigned_abs() < UNITS_BELOW
                {
                    *units = sum;
                    return Ok(());
                }
                // It has no places of its own.
                if number.is_zero() {
                    return Ok(());
                }
            }
            (Sum::Whole(sum), Value::Int(int)) => {
                *sum += i128::from(int);
                return Ok(());
            }
            _ => {}
        }
        self.add_other(value)
    }

    /// Adds what isn't like the values before it.
    fn add_other(&mut self, value: Value<'_>) -> Result<(), Fault> {
        *self = match (&*self, value) {
            (Sum::None, Value::Int(int)) => Sum::Whole(int.into()),
            (Sum::None, Value::Number(number)) => Sum::of(number),
            (Sum::None, Value::Double(double)) => Sum::Double(double),
            (Sum::None, Value::Interval(span)) => Sum::Span(span),
            (Sum::Double(sum), Value::Double(double)) => Sum::Double(added(*sum, double)?),
            (Sum::Span(sum), Value::Interval(span)) => {
                Sum::Span(sum.checked_add(span).ok_or_else(span_too_long)?)
            }
            (sum, Value::Int(int)) => Sum::of(sum.number(value)?.checked_add(int.into())?),
            (sum, Value::Number(number)) => Sum::of(sum.number(value)?.checked_add(number)?),
            _ => return Err(wrong_kind(value)),
        };
        Ok(())
    }

    /// Adds a column of these rows. Returns how many of its values aren't NULL.
    pub(super) fn add_column(&mut self, rows: &Rows, column: usize) -> Result<i64, Fault> {
        let mut count = 0;
        for row in rows.iter() {
            let value = row.get(column);
            if !value.is_null() {
                self.add(value)?;
                count += 1;
            }
        }
        Ok(count)
    }

    /// The sum of this NUMBER alone.
    fn of(number: Number) -> Sum {
        match number.scale() {
            places @ 0.. => Sum::Units { units: number.coefficient(), places },
            _ => Sum::Number(number),
        }
    }

    /// The sum as a NUMBER, to which this value is to be added. Refused if it is of another kind.
    fn number(&self, value: Value<'_>) -> Result<Number, Fault> {
        match self.total()? {
            Value::Number(sum) => Ok(sum),
            _ => Err(wrong_kind(value)),
        }
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
            Sum::Units { units, places } => Value::Number(number_of(*units, *places)),
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
            Sum::Units { units, places } => {
                write_value(Value::Number(number_of(*units, *places)), out);
            }
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
            Value::Number(sum) => Sum::of(sum),
            Value::Double(sum) => Sum::Double(sum),
            Value::Interval(sum) => Sum::Span(sum),
            _ => return None,
        })
    }
}

/// The NUMBER of these units, of which there are 38 digits at most.
fn number_of(units: i128, places: i32) -> Number {
    Number::from_parts(units, places).expect("38 digits without zeros behind them are in range")
}

/// The sum of two doubles; refused if it is infinite and they aren't.
fn added(a: f64, b: f64) -> Result<f64, Fault> {
    finite(a + b, a.is_finite() && b.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        text.parse().expect("a number")
    }

    /// A sum in units has the digits, and the places, of one that is added up as NUMBERs.
    #[test]
    fn units_give_what_numbers_give() {
        let most = "99999999999999999999999999999999999999";
        let columns: [&[&str]; 8] = [
            &["1.50", "2.25", "-3.75", "0.00", "12.00"],
            &["0.00", "0.5", "0.00", "1.25", "-1.75", "0.125", "3"],
            &["1e3", "2.5", "1e3"],
            &["12.5", "1e5", "1e100"],
            &[most, "1", "-1", "0.5", most],
            &["-0.00000001", most, most, "0.00000001"],
            &["9e121", "-9e121", "0.01"],
            &["1e-128", "1e-128", "5"],
        ];
        for column in columns {
            let (mut sum, mut expected) = (Sum::None, Number::ZERO);
            for text in column {
                let value = number(text);
                sum.add(Value::Number(value)).expect("in range");
                expected = expected.checked_add(value).expect("in range");
                let total = sum.total().expect("in range");
                let Value::Number(total) = total else { panic!("{total} is no NUMBER") };
                assert_eq!(format!("{total:?}"), format!("{expected:?}"), "{column:?}");
                let mut bytes = Vec::new();
                sum.write(&mut bytes);
                let read = Sum::read(&mut &bytes[..]).expect("it was written");
                assert_eq!(read.total().expect("in range"), Value::Number(expected));
            }
        }
    }

    #[test]
    fn whole_numbers_and_numbers_are_added_and_other_kinds_are_refused() {
        let mut sum = Sum::None;
        for value in [Value::Int(7), Value::Number(number("0.5")), Value::Int(-2)] {
            sum.add(value).expect("in range");
        }
        assert_eq!(sum.total().expect("in range"), Value::Number(number("5.5")));
        for value in [Value::Double(1.0), Value::Text("1"), Value::Boolean(true)] {
            assert!(sum.add(value).is_err(), "{value}");
        }
        let mut sum = Sum::Double(1.0);
        assert!(sum.add(Value::Int(1)).is_err(), "the binder makes one kind of them");
    }
}
