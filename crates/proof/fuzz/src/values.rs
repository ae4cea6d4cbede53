//! The values that parameters have: the ends of each type, and what lies between.
//!
//! Callers: `play`; `generate`, for how many there are.

use database::{Date, Interval, Number, Timestamp, Value};

/// How many values there are.
pub(crate) const COUNT: u8 = 26;

/// A longer text: this file.
const LONG: &str = include_str!("values.rs");

/// The value of a number, whatever it is.
pub(crate) fn value_of(number: u8) -> Value<'static> {
    let decimal = |text: &str| -> Value<'static> {
        text.parse::<Number>().map_or(Value::Null, Value::Number)
    };
    match number % COUNT {
        0 => Value::Null,
        1 => Value::Int(0),
        2 => Value::Int(1),
        3 => Value::Int(-1),
        4 => Value::Int(7),
        5 => Value::Int(i64::MAX),
        6 => Value::Int(i64::MIN),
        7 => decimal("1.5"),
        8 => decimal("-99999999999999999999999999999999999999"),
        9 => decimal("1e-120"),
        10 => Value::Double(0.0),
        11 => Value::Double(f64::NAN),
        12 => Value::Double(f64::INFINITY),
        13 => Value::Double(f64::MIN_POSITIVE),
        14 => Value::Boolean(true),
        15 => Value::Boolean(false),
        16 => Value::Text(""),
        17 => Value::Text("a"),
        18 => Value::Text("é 日本\u{202e}\u{1f600} "),
        19 => Value::Text("2026-01-31 10:00:00"),
        20 => Value::Text(LONG),
        21 => Value::Bytes(&[0, 255, 10]),
        22 => Value::Date(Date::MAX),
        23 => Value::Timestamp(Timestamp::MIN),
        24 => Value::Interval(Interval::new(i32::MAX, i32::MIN, i64::MAX)),
        _ => Value::Interval(Interval::new(1, 1, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_another_one() {
        let all: Vec<String> = (0..COUNT).map(|number| format!("{:?}", value_of(number))).collect();
        for (place, value) in all.iter().enumerate() {
            assert!(!all[..place].contains(value), "{value}");
        }
    }
}
