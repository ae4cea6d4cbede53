//! A value as a number, so that it can be told how far between two others it lies.
//!
//! Callers: `histogram`.
//! Source: PostgreSQL's `convert_to_scalar`.

use value::Value;

/// The number of bytes of a text that decide.
const BYTES: usize = 8;

/// How far `value` lies between `low` and `high`, 0 to 1; a half where that can't be told.
pub(super) fn place_between(low: Value<'_>, value: Value<'_>, high: Value<'_>) -> f64 {
    let numbers = match (low, value, high) {
        (Value::Text(low), Value::Text(value), Value::Text(high)) => {
            Some(of_bytes([low.as_bytes(), value.as_bytes(), high.as_bytes()]))
        }
        (Value::Bytes(low), Value::Bytes(value), Value::Bytes(high)) => {
            Some(of_bytes([low, value, high]))
        }
        _ => number(low).zip(number(value)).zip(number(high)).map(|((a, b), c)| [a, b, c]),
    };
    match numbers {
        Some([low, value, high]) if high > low && (high - low).is_finite() => {
            ((value - low) / (high - low)).clamp(0.0, 1.0)
        }
        _ => 0.5,
    }
}

/// A value as a number; none if it isn't one of those that lie on a line.
pub(super) fn number(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Int(int) => Some(int as f64),
        Value::Number(number) => Some(number.to_f64()),
        Value::Double(double) => Some(double),
        Value::Boolean(is) => Some(f64::from(u8::from(is))),
        Value::Date(day) => Some(f64::from(day.days()) * 86_400e6),
        Value::Timestamp(moment) => Some(moment.us() as f64),
        _ => None,
    }
}

/// The bytes behind what all three begin with, as digits of a number.
fn of_bytes(texts: [&[u8]; 3]) -> [f64; 3] {
    let [low, value, high] = texts;
    let shared = low.iter().zip(value).zip(high).take_while(|((a, b), c)| a == b && b == c).count();
    texts.map(|text| {
        let digits = text[shared..].iter().take(BYTES);
        digits
            .fold((0.0, 1.0 / 256.0), |(sum, unit), byte| {
                (sum + f64::from(*byte) * unit, unit / 256.0)
            })
            .0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_a_place_between_two_others() {
        let place = |low, value, high| place_between(low, value, high);
        assert_eq!(place(Value::Int(0), Value::Int(25), Value::Int(100)), 0.25);
        assert_eq!(place(Value::Int(5), Value::Int(5), Value::Int(5)), 0.5);
        let text = place(Value::Text("item-a"), Value::Text("item-m"), Value::Text("item-z"));
        assert!((0.4..0.6).contains(&text), "{text}");
        assert_eq!(place(Value::Null, Value::Int(1), Value::Int(2)), 0.5);
        assert_eq!(place(Value::Int(0), Value::Int(-9), Value::Int(10)), 0.0);
    }
}
