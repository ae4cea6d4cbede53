//! Fits a value to a column: converts it to what the column's type holds, or refuses it.
//!
//! | column | what it takes | what is done |
//! |---|---|---|
//! | SMALLINT, INTEGER, BIGINT | whole, decimal, floating | rounded half away from zero; range |
//! | NUMBER(p,s) | the same | rounded to s places as in Oracle; p digits |
//! | NUMBER, DOUBLE PRECISION | the same | NUMBER refuses NaN and infinities |
//! | VARCHAR(n), TEXT | text | length |
//! | CHAR(n) | text | trailing blanks are taken off; length of the rest |
//! | DATE, TIMESTAMP | either | a timestamp's day; a day's midnight |
//! | BYTEA, BOOLEAN | their own | length |
//!
//! NULL goes into every column: whether a column may be NULL is a constraint and not its type.
//!
//! Callers: inserts and updates, before the row is encoded.
//! Sources: Oracle Database SQL Language Reference for NUMBER; PostgreSQL's `bpchar` for CHAR.

use crate::number::pow10;
use crate::{BYTES_MAX, Digits, Misfit, MisfitKind, MisfitValue, Number, Timestamp, Type, Value};

/// The most characters of a value that a message shows.
const SHOWN_CHARS: usize = 40;

impl Type {
    /// Whether a column of this type holds the value as it is. A quick look at what is usual, which
    /// may say no where [`Type::fit`] would return the same value.
    #[inline]
    pub fn holds(self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Type::BigInt, Value::Int(_))
            | (Type::Double, Value::Double(_))
            | (Type::Number(None), Value::Number(_))
            | (Type::Date, Value::Date(_))
            | (Type::Timestamp, Value::Timestamp(_))
            | (Type::Boolean, Value::Boolean(_)) => true,
            (Type::Integer, Value::Int(int)) => i32::try_from(*int).is_ok(),
            (Type::SmallInt, Value::Int(int)) => i16::try_from(*int).is_ok(),
            (Type::Number(Some(digits)), Value::Number(number)) => {
                let is_short = number.magnitude() < pow10(digits.precision().into());
                // Zero has no places.
                is_short && (number.scale() == i32::from(digits.scale()) || number.is_zero())
            }
            // A character has a byte at least.
            (Type::Varchar(chars), Value::Text(text)) => text.len() <= chars.get() as usize,
            (Type::Text, Value::Text(text)) => text.len() <= BYTES_MAX,
            _ => false,
        }
    }

    /// Returns the value as a column of this type holds it. A refusal names `column`.
    pub fn fit<'a>(self, column: &str, value: Value<'a>) -> Result<Value<'a>, Misfit> {
        let fitted = match (self, value) {
            (_, Value::Null) => Ok(Value::Null),
            (Type::SmallInt | Type::Integer | Type::BigInt, _) => self.fit_int(value),
            (Type::Number(digits), _) => fit_number(digits, value),
            (Type::Double, Value::Int(int)) => Ok(Value::Double(int as f64)),
            (Type::Double, Value::Number(number)) => Ok(Value::Double(number.to_f64())),
            (Type::Double, Value::Double(_)) | (Type::Boolean, Value::Boolean(_)) => Ok(value),
            (Type::Varchar(chars), Value::Text(text)) => fit_chars(text, chars.get()),
            (Type::Char(chars), Value::Text(text)) => {
                fit_chars(text.trim_end_matches(' '), chars.get())
            }
            (Type::Text, Value::Text(text)) => fit_bytes(value, text.len()),
            (Type::Bytea, Value::Bytes(bytes)) => fit_bytes(value, bytes.len()),
            (Type::Date, Value::Date(_)) => Ok(value),
            (Type::Date, Value::Timestamp(moment)) => Ok(Value::Date(moment.date())),
            (Type::Timestamp, Value::Timestamp(_)) => Ok(value),
            (Type::Timestamp, Value::Date(day)) => Ok(Value::Timestamp(Timestamp::midnight(day))),
            _ => Err(Why::Kind),
        };
        fitted.map_err(|why| self.misfit(column, value, why))
    }

    fn fit_int(self, value: Value<'_>) -> Result<Value<'_>, Why> {
        let (low, high) = match self {
            Type::SmallInt => (i16::MIN.into(), i16::MAX.into()),
            Type::Integer => (i32::MIN.into(), i32::MAX.into()),
            _ => (i64::MIN, i64::MAX),
        };
        let int = match value {
            Value::Int(int) => Some(int),
            Value::Number(number) => number.to_i64(),
            Value::Double(double) => whole(double),
            _ => return Err(Why::Kind),
        };
        let within = int.filter(|int| (low..=high).contains(int));
        within.map(Value::Int).ok_or(Why::Whole(low, high))
    }

    fn misfit(self, column: &str, value: Value<'_>, why: Why) -> Misfit {
        let (kind, because) = match why {
            Why::Kind => {
                let because = format!("it is {}; give a value of this type", value.kind());
                (MisfitKind::Kind, because)
            }
            Why::Whole(low, high) => {
                (MisfitKind::Range, format!("give a number from {low} to {high}"))
            }
            Why::Digits(digits) => {
                let before = i32::from(digits.precision()) - i32::from(digits.scale());
                let places = digits.scale();
                let because = format!(
                    "rounded to {places} places, its absolute value must be below 1e{before}; give \
                     a smaller number or make the column wider"
                );
                (MisfitKind::Range, because)
            }
            Why::Decimal => (MisfitKind::Range, "give a finite number below 1e122".to_string()),
            Why::Chars { has, max } => {
                let because =
                    format!("it has {has} characters; shorten it to {max} or widen the column");
                (MisfitKind::Length, because)
            }
            Why::Bytes(has) => {
                let because = format!("it has {has} bytes; shorten it to {BYTES_MAX}");
                (MisfitKind::Length, because)
            }
        };
        let value = MisfitValue {
            column: column.to_string(),
            target: format!("{column} {self}"),
            shown: shown(value),
            because,
            is_text: matches!(value, Value::Text(_)),
        };
        Misfit::of_value(kind, value)
    }
}

/// The reason why a value doesn't fit.
enum Why {
    Kind,
    Whole(i64, i64),
    Digits(Digits),
    Decimal,
    Chars { has: usize, max: u16 },
    Bytes(usize),
}

/// The double rounded half away from zero; none if it has more than 64 bits.
fn whole(double: f64) -> Option<i64> {
    let rounded = double.round();
    // 2^63 is a double, and the smallest one that is too large.
    let limit = -(i64::MIN as f64);
    (rounded >= -limit && rounded < limit).then_some(rounded as i64)
}

fn fit_number(digits: Option<Digits>, value: Value<'_>) -> Result<Value<'_>, Why> {
    let number = match value {
        Value::Int(int) => Number::from(int),
        Value::Number(number) => number,
        Value::Double(double) => Number::from_f64(double).map_err(|_| Why::Decimal)?,
        _ => return Err(Why::Kind),
    };
    let Some(digits) = digits else {
        return Ok(Value::Number(number));
    };
    let scale = digits.scale().into();
    let rounded = number.round(scale).ok().and_then(|number| number.at_scale(scale));
    let below = pow10(digits.precision().into());
    let coefficient = rounded
        .filter(|coefficient| coefficient.unsigned_abs() < below)
        .ok_or(Why::Digits(digits))?;
    Ok(Value::Number(Number::sound(coefficient < 0, coefficient.unsigned_abs(), scale)))
}

fn fit_chars(text: &str, max: u16) -> Result<Value<'_>, Why> {
    // A text has no more characters than bytes, so most texts need not be counted.
    if text.len() <= max.into() {
        return Ok(Value::Text(text));
    }
    let has = text.chars().count();
    if has <= max.into() { Ok(Value::Text(text)) } else { Err(Why::Chars { has, max }) }
}

fn fit_bytes(value: Value<'_>, bytes: usize) -> Result<Value<'_>, Why> {
    if bytes <= BYTES_MAX { Ok(value) } else { Err(Why::Bytes(bytes)) }
}

/// A value as a message shows it: on one line, and shortened.
pub fn shown(value: Value<'_>) -> String {
    let text = match value {
        // A gigabyte isn't written out only to be discarded.
        Value::Text(text) => {
            let end = text.char_indices().nth(SHOWN_CHARS + 1).map_or(text.len(), |(at, _)| at);
            Value::Text(&text[..end]).to_string()
        }
        Value::Bytes(bytes) => Value::Bytes(&bytes[..bytes.len().min(SHOWN_CHARS)]).to_string(),
        other => other.to_string(),
    };
    let mut line = String::new();
    for (i, c) in text.chars().enumerate() {
        match c {
            _ if i == SHOWN_CHARS => {
                line += "…";
                break;
            }
            c if c.is_control() => line.extend(c.escape_default()),
            c => line.push(c),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Date;

    fn number(text: &str) -> Value<'static> {
        Value::Number(text.parse().expect("a number"))
    }

    fn decimal(precision: u32, scale: i32) -> Type {
        Type::number(precision, scale).expect("may be declared")
    }

    fn refused(one: Type, value: Value<'_>) -> (MisfitKind, String) {
        let misfit = one.fit("C", value).expect_err("doesn't fit");
        (misfit.kind(), misfit.to_string())
    }

    /// The table in Oracle's documentation, and its cases of scales beyond the precision.
    #[test]
    fn numbers_round_to_the_scale_and_are_refused_beyond_the_precision_as_in_oracle() {
        let stored = [
            ("7456123.89", decimal(9, 0), "7456124"),
            ("7456123.89", decimal(9, 2), "7456123.89"),
            ("7456123.89", decimal(9, 1), "7456123.9"),
            ("7456123.89", decimal(7, -2), "7456100"),
            (".01234", decimal(4, 5), "0.01234"),
            (".000127", decimal(4, 5), "0.00013"),
            (".00000123", decimal(2, 7), "0.0000012"),
            ("-0.005", decimal(4, 2), "-0.01"),
            ("99.994", decimal(4, 2), "99.99"),
            ("49", decimal(1, -2), "0"),
        ];
        for (text, one, holds) in stored {
            let found = one.fit("C", number(text)).expect("it fits").to_string();
            assert_eq!(found, holds, "{text} in {one}");
        }
        for (text, one) in [
            ("7456123.89", decimal(6, 0)),
            ("99.995", decimal(4, 2)),
            (".1", decimal(4, 5)),
            ("950", decimal(1, -2)),
            ("1e121", decimal(38, 127)),
        ] {
            assert_eq!(refused(one, number(text)).0, MisfitKind::Range, "{text} in {one}");
        }
    }

    #[test]
    fn a_refusal_names_column_type_value_and_what_to_do() {
        let say = "column C NUMBER(4,2) can't hold 123.456: rounded to 2 places, its absolute \
                   value must be below 1e2; give a smaller number or make the column wider";
        assert_eq!(refused(decimal(4, 2), number("123.456")), (MisfitKind::Range, say.into()));
        let say = "column C SMALLINT can't hold 40000: give a number from -32768 to 32767";
        assert_eq!(refused(Type::SmallInt, Value::Int(40_000)), (MisfitKind::Range, say.into()));
        let say = "column C VARCHAR(3) can't hold 'a\\nbc': it has 4 characters; shorten it to 3 \
                   or widen the column";
        let three = Type::varchar(3).expect("may be declared");
        assert_eq!(refused(three, Value::Text("a\nbc")), (MisfitKind::Length, say.into()));
        let say = "column C DATE can't hold TRUE: it is a truth value; give a value of this type";
        assert_eq!(refused(Type::Date, Value::Boolean(true)), (MisfitKind::Kind, say.into()));
        let long = "é".repeat(100_000);
        assert!(refused(three, Value::Text(&long)).1.chars().count() < 150);
    }

    #[test]
    fn whole_columns_round_half_away_from_zero_and_refuse_what_is_out_of_range() {
        let holds = |one: Type, value| one.fit("C", value).ok();
        assert_eq!(holds(Type::Integer, number("2.5")), Some(Value::Int(3)));
        assert_eq!(holds(Type::Integer, Value::Double(-2.5)), Some(Value::Int(-3)));
        assert_eq!(holds(Type::Integer, Value::Int(1 << 31)), None);
        assert_eq!(holds(Type::SmallInt, number("-32768.4")), Some(Value::Int(-32768)));
        assert_eq!(holds(Type::BigInt, Value::Double(9.3e18)), None);
        assert_eq!(holds(Type::BigInt, Value::Double(f64::NAN)), None);
        assert_eq!(
            holds(Type::BigInt, Value::Double(-(2_f64.powi(63)))),
            Some(Value::Int(i64::MIN))
        );
        assert_eq!(holds(Type::BigInt, number("9223372036854775807.5")), None);
        assert_eq!(holds(Type::Number(None), Value::Double(f64::INFINITY)), None);
        assert_eq!(holds(Type::Number(None), Value::Double(0.1)), Some(number("0.1")));
        assert_eq!(holds(Type::Double, number("0.1")), Some(Value::Double(0.1)));
    }

    #[test]
    fn lengths_are_counted_in_characters_and_trailing_blanks_of_char_do_not_count() {
        let (varchar, char) = (Type::varchar(3), Type::char(3));
        let (varchar, char) = (varchar.expect("may be declared"), char.expect("may be declared"));
        assert!(varchar.fit("C", Value::Text("äöü")).is_ok());
        assert!(varchar.fit("C", Value::Text("a   ")).is_err());
        assert_eq!(char.fit("C", Value::Text("é     ")), Ok(Value::Text("é")));
        assert!(char.fit("C", Value::Text("abc d")).is_err());
    }

    #[test]
    fn what_a_column_holds_as_it_is_is_what_it_is_fitted_to() {
        let types = [
            Type::SmallInt,
            Type::Integer,
            Type::BigInt,
            Type::Double,
            Type::Boolean,
            Type::varchar(3).expect("may be declared"),
            Type::Text,
            decimal(5, 2),
            Type::Number(None),
        ];
        let values = [
            Value::Null,
            Value::Int(40_000),
            Value::Double(f64::NAN),
            Value::Boolean(true),
            Value::Text("äöü"),
            Value::Text("abc"),
            Value::Text("abcd"),
            number("1.50"),
            number("1.5"),
            number("1000.00"),
            number("0.00"),
        ];
        let mut held = 0;
        for (one, value) in types.iter().flat_map(|one| values.map(|value| (*one, value))) {
            if one.holds(&value) {
                let fitted = one.fit("C", value).expect("it is held");
                assert_eq!(format!("{fitted:?}"), format!("{value:?}"));
                held += 1;
            }
        }
        // One of each type, but none of SMALLINT, 3 texts, 2 of NUMBER(5,2) and 4 of NUMBER.
        assert_eq!(held, 14);
    }

    #[test]
    fn dates_and_timestamps_go_into_each_other_and_null_into_all() {
        let moment = Timestamp::parse("2026-11-22 13:19:28").expect("a timestamp");
        let day = Date::parse("2026-11-22").expect("a day");
        let (date, midnight) = (Value::Date(day), Value::Timestamp(Timestamp::midnight(day)));
        assert_eq!(Type::Date.fit("C", Value::Timestamp(moment)), Ok(date));
        assert_eq!(Type::Timestamp.fit("C", date), Ok(midnight));
        for one in [Type::SmallInt, Type::Number(None), Type::Text, Type::Bytea, Type::Date] {
            assert_eq!(one.fit("C", Value::Null), Ok(Value::Null));
        }
    }
}
