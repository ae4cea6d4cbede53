//! Conversions of values: CAST, and those that are put in by themselves.
//!
//! | to | from | how |
//! |---|---|---|
//! | whole | NUMBER, double | rounded half away from zero, as a column does (rule value/VA14) |
//! | whole, NUMBER, double, truth value, day, moment, span, bytes | text | read; or 22P02 |
//! | NUMBER | double | the shortest decimal that is this double and no other (rule value/VA11) |
//! | text | any | written; see `text` |
//! | VARCHAR(n), CHAR(n) | text | cut to n characters; CHAR without trailing blanks |
//! | day | moment | its day |
//! | moment | day | its midnight |
//! | truth value | whole | not 0 |
//!
//! Invariants
//!   * NULL stays NULL, and a value of the kind is taken as it is
//!   * which of these a statement may ask for is decided by `build`; here whatever has a meaning is
//!     done
//!
//! Callers: `evaluate`; `build`, for literals.
//! Sources: PostgreSQL's casts; where it rounds doubles half to even, a column here doesn't.

mod calendar;
mod text;

use std::num::{IntErrorKind, ParseIntError};

use stop::{SqlState, Stop};
use value::{Chars, Date, Interval, Number, NumberFault, Timestamp, Type, Value};

pub use text::write_text;

use crate::evaluate::check_length;
use crate::{CastTo, Evaluation, Fault, Kind};

/// The value as what a CAST makes of it.
pub(crate) fn cast<'a>(
    value: Value<'a>,
    to: CastTo,
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let made = to_kind(value, to.kind(), with)?;
    match to {
        CastTo::Kind(_) => Ok(made),
        CastTo::Type(of) => limited(made, of),
    }
}

/// The value that a text stands for where a column of this type is filled from a file. Unlike a
/// CAST it cuts nothing off: a text that is too long is refused. A refusal names `column`.
pub fn read_text<'a>(
    text: &'a str,
    of: Type,
    column: &str,
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Stop> {
    let value = to_kind(Value::Text(text), Kind::from(of), with)?;
    match of.holds(&value) {
        true => Ok(value),
        false => Ok(of.fit(column, value)?),
    }
}

/// The value as one of a kind.
fn to_kind<'a>(value: Value<'a>, kind: Kind, with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    match (kind, value) {
        (_, Value::Null) => Ok(Value::Null),
        (Kind::Unknown, _) => Ok(value),
        (Kind::Char, Value::Text(text)) => Ok(Value::Text(text.trim_end_matches(' '))),
        (Kind::Text, Value::Text(_)) => Ok(value),
        (Kind::Text | Kind::Char, _) => {
            if let Value::Bytes(bytes) = value {
                // Two digits for each.
                with.arena.check(bytes.len().saturating_mul(2).saturating_add(2))?;
            }
            Ok(Value::Text(as_text(value, with)))
        }
        (Kind::Bytes, Value::Bytes(_)) => Ok(value),
        (Kind::Bytes, Value::Text(text)) => bytes_of(text, with),
        (Kind::Whole, _) => whole(value).map(Value::Int),
        (Kind::Number, _) => number(value).map(Value::Number),
        (Kind::Double, _) => double(value).map(Value::Double),
        (Kind::Boolean, _) => truth(value).map(Value::Boolean),
        (Kind::Date, _) => date(value).map(Value::Date),
        (Kind::Timestamp, _) => timestamp(value).map(Value::Timestamp),
        (Kind::Interval, _) => interval(value).map(Value::Interval),
        (Kind::Bytes, _) => Err(impossible(value, kind)),
    }
}

/// A text of the value, in the arena unless the value is a text.
pub(crate) fn as_text<'a>(value: Value<'a>, with: &Evaluation<'a>) -> &'a str {
    if let Value::Text(text) = value {
        return text;
    }
    let mut text = with.arena.writer();
    write_text(value, &mut text).expect("a text takes whatever is written");
    text.into_bump_str()
}

/// A value within the limits of a type.
fn limited<'a>(value: Value<'a>, of: Type) -> Result<Value<'a>, Fault> {
    match (of, value) {
        (_, Value::Null) => Ok(Value::Null),
        (Type::Varchar(chars), Value::Text(text)) => Ok(Value::Text(cut(text, chars))),
        (Type::Char(chars), Value::Text(text)) => {
            Ok(Value::Text(cut(text, chars).trim_end_matches(' ')))
        }
        (Type::SmallInt | Type::Integer | Type::Number(Some(_)), _) => {
            of.fit("", value).map_err(|_| Fault::out_of_range(&of.to_string()).showing(value))
        }
        (Type::Text, Value::Text(text)) => check_length(text.len()).map(|()| value),
        _ => Ok(value),
    }
}

/// The first characters of a text.
fn cut(text: &str, chars: Chars) -> &str {
    let most = usize::from(chars.get());
    // A text has no more characters than bytes.
    if text.len() <= most {
        return text;
    }
    let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

fn whole(value: Value<'_>) -> Result<i64, Fault> {
    let range = || Fault::out_of_range("bigint").showing(value);
    match value {
        Value::Int(int) => Ok(int),
        Value::Number(number) => number.to_i64().ok_or_else(range),
        Value::Double(double) => {
            let rounded = double.round();
            // 2^63 is a double, and the smallest one that is too large.
            let limit = -(i64::MIN as f64);
            let fits = rounded >= -limit && rounded < limit;
            fits.then_some(rounded as i64).ok_or_else(range)
        }
        Value::Boolean(is) => Ok(is.into()),
        Value::Text(text) => {
            if let Some(whole) = short_whole(text.as_bytes()) {
                return Ok(whole);
            }
            let digits = text.trim();
            digits.parse().map_err(|error: ParseIntError| match error.kind() {
                IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => range(),
                _ => unreadable(text, Kind::Whole),
            })
        }
        _ => Err(impossible(value, Kind::Whole)),
    }
}

/// The whole number of a text of a few digits, with a minus or without. None for any other text,
/// which may be a whole number all the same.
#[inline]
fn short_whole(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > SHORT_DIGITS_MAX {
        return None;
    }
    let mut whole = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        whole = whole * 10 + i64::from(digit);
    }
    Some(if is_negative { -whole } else { whole })
}

/// So many digits are always within 64 bits.
const SHORT_DIGITS_MAX: usize = 18;

/// The value as a NUMBER.
pub(crate) fn number(value: Value<'_>) -> Result<Number, Fault> {
    match value {
        Value::Number(number) => Ok(number),
        Value::Int(int) => Ok(Number::from(int)),
        Value::Double(double) => Ok(Number::from_f64(double)?),
        Value::Text(text) => text.parse().map_err(|fault| match fault {
            NumberFault::NotANumber => unreadable(text, Kind::Number),
            other => Fault::from(other).showing(value),
        }),
        _ => Err(impossible(value, Kind::Number)),
    }
}

/// The value as a double.
pub(crate) fn double(value: Value<'_>) -> Result<f64, Fault> {
    match value {
        Value::Double(double) => Ok(double),
        Value::Int(int) => Ok(int as f64),
        Value::Number(number) => Ok(number.to_f64()),
        Value::Text(text) => read_double(text.trim()).ok_or_else(|| {
            let is_number = text.parse::<Number>() != Err(NumberFault::NotANumber);
            match is_number {
                true => Fault::out_of_range("double precision").showing(value),
                false => unreadable(text, Kind::Double),
            }
        }),
        _ => Err(impossible(value, Kind::Double)),
    }
}

/// Reads a double; none if it is none, or if it is out of range.
fn read_double(text: &str) -> Option<f64> {
    let double: f64 = text.parse().ok()?;
    let has_digits = text.bytes().any(|byte| byte.is_ascii_digit());
    // Digits that overflow are read as infinite, and digits that underflow as zero.
    let mantissa = text.split(['e', 'E']).next().unwrap_or("");
    let is_zero = !mantissa.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    let is_exact = (double.is_finite() || !has_digits) && (double != 0.0 || is_zero);
    is_exact.then_some(double)
}

fn truth(value: Value<'_>) -> Result<bool, Fault> {
    match value {
        Value::Boolean(is) => Ok(is),
        Value::Int(int) => Ok(int != 0),
        Value::Text(text) => {
            let word = text.trim().to_ascii_lowercase();
            // A word may be cut short as long as it can be told from the others.
            let is = |full: &str, least: usize| word.len() >= least && full.starts_with(&word);
            if is("true", 1) || is("yes", 1) || is("on", 2) || word == "1" {
                Ok(true)
            } else if is("false", 1) || is("no", 1) || is("off", 2) || word == "0" {
                Ok(false)
            } else {
                Err(unreadable(text, Kind::Boolean))
            }
        }
        _ => Err(impossible(value, Kind::Boolean)),
    }
}

fn date(value: Value<'_>) -> Result<Date, Fault> {
    match value {
        Value::Date(day) => Ok(day),
        Value::Timestamp(moment) => Ok(moment.date()),
        Value::Text(text) => {
            text::read_moment(text).map(Timestamp::date).ok_or_else(|| no_moment(text, Kind::Date))
        }
        _ => Err(impossible(value, Kind::Date)),
    }
}

fn timestamp(value: Value<'_>) -> Result<Timestamp, Fault> {
    match value {
        Value::Timestamp(moment) => Ok(moment),
        Value::Date(day) => Ok(Timestamp::midnight(day)),
        Value::Text(text) => {
            text::read_moment(text).ok_or_else(|| no_moment(text, Kind::Timestamp))
        }
        _ => Err(impossible(value, Kind::Timestamp)),
    }
}

fn interval(value: Value<'_>) -> Result<Interval, Fault> {
    match value {
        Value::Interval(span) => Ok(span),
        Value::Text(text) => Interval::parse(text).ok_or_else(|| no_moment(text, Kind::Interval)),
        _ => Err(impossible(value, Kind::Interval)),
    }
}

fn bytes_of<'a>(text: &'a str, with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    if !text.contains('\\') {
        return Ok(Value::Bytes(text.as_bytes()));
    }
    with.arena.check(text.len())?;
    let bytes = text::read_bytes(text).ok_or_else(|| unreadable(text, Kind::Bytes))?;
    Ok(Value::Bytes(with.arena.copy(&bytes)))
}

/// A text that isn't a value of the kind.
#[cold]
fn unreadable(text: &str, kind: Kind) -> Fault {
    let say = format!("invalid input syntax for type {kind}");
    Fault::new(SqlState::INVALID_TEXT_REPRESENTATION, say).showing(Value::Text(text))
}

/// A text that is no day, moment or span.
#[cold]
fn no_moment(text: &str, kind: Kind) -> Fault {
    let (state, say) = match kind {
        Kind::Interval => {
            (SqlState::INVALID_DATETIME_FORMAT, "invalid input syntax for type interval".into())
        }
        _ if text::looks_like_moment(text) => {
            (SqlState::DATETIME_FIELD_OVERFLOW, format!("{kind} field value out of range"))
        }
        _ => (SqlState::INVALID_DATETIME_FORMAT, format!("invalid input syntax for type {kind}")),
    };
    let hint = match kind {
        Kind::Interval => "write it as '1 year 2 mons 3 days 04:05:06'",
        Kind::Date => "write it as '2026-11-27', in the years 1 to 9999",
        _ => "write it as '2026-11-27 15:04:05', in the years 1 to 9999",
    };
    Fault::new(state, say).showing(Value::Text(text)).with_hint(hint)
}

/// A value that can't become one of the kind; `build` refuses it before a row is read.
#[cold]
fn impossible(value: Value<'_>, kind: Kind) -> Fault {
    let say = format!("a value of kind {} can't be cast to {kind}", Kind::of(value));
    Fault::new(SqlState::CANNOT_COERCE, say)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text that is read in a short way is the number that the long way makes of it; of any other
    /// the short way says nothing.
    #[test]
    fn a_short_text_is_the_whole_number_that_it_is_by_the_long_way() {
        for digits in ["0", "7", "007", "123456", "2147483648", "999999999999999999"] {
            for text in [digits.to_string(), format!("-{digits}")] {
                assert_eq!(short_whole(text.as_bytes()), text.parse().ok(), "{text:?}");
            }
        }
        for text in ["", "-", "+1", " 1", "1 ", "1.0", "1e3", "--1", "1-", "1234567890123456789"] {
            assert_eq!(short_whole(text.as_bytes()), None, "{text:?}");
        }
        let read = |text| whole(Value::Text(text)).map_err(|fault| fault.state());
        assert_eq!(read(" +1234567890123456789 "), Ok(1_234_567_890_123_456_789));
        assert_eq!(read("9223372036854775808"), Err(SqlState::NUMERIC_VALUE_OUT_OF_RANGE));
        assert_eq!(read("1-"), Err(SqlState::INVALID_TEXT_REPRESENTATION));
    }
}
