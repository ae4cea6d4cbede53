//! Values as texts by patterns, and back: TO_CHAR, TO_DATE, TO_TIMESTAMP, TO_NUMBER.
//!
//! Callers: the table of functions. Sources: as `value`'s patterns and `number_pattern`.

use stop::SqlState;
use value::{Number, PatternFault, Timestamp, Value, format_moment, parse_moment};

use super::number_pattern::{self, NumberPattern, Unread};
use super::{Entry, entry, unexpected};
use crate::arithmetic::double_of;
use crate::cast;
use crate::{Evaluation, Fault, Kind};

const TEXT: Kind = Kind::Text;
const NUMBER: Kind = Kind::Number;
const DOUBLE: Kind = Kind::Double;
const DATE: Kind = Kind::Date;
const TIMESTAMP: Kind = Kind::Timestamp;

/// The most bytes of a pattern.
const PATTERN_BYTES_MAX: usize = 4_096;

/// The most bytes of a number that is read by a pattern.
const NUMBER_BYTES_MAX: usize = 4_096;

/// The microseconds of a day.
const DAY_US: i64 = 86_400_000_000;

pub(super) const TABLE: &[Entry] = &[
    entry("to_char", &[TIMESTAMP, TEXT], TEXT, moment_to_char),
    entry("to_char", &[Kind::Interval, TEXT], TEXT, interval_to_char),
    entry("to_char", &[NUMBER, TEXT], TEXT, number_to_char),
    entry("to_char", &[Kind::Whole, TEXT], TEXT, number_to_char),
    entry("to_char", &[DOUBLE, TEXT], TEXT, number_to_char),
    entry("to_char", &[Kind::Unknown], TEXT, to_char),
    entry("to_date", &[TEXT, TEXT], DATE, to_date),
    entry("to_date", &[TEXT], DATE, plain_date),
    entry("to_timestamp", &[TEXT, TEXT], TIMESTAMP, to_timestamp),
    entry("to_timestamp", &[DOUBLE], TIMESTAMP, epoch_to_timestamp),
    entry("to_timestamp", &[TEXT], TIMESTAMP, plain_timestamp),
    entry("to_number", &[TEXT, TEXT], NUMBER, to_number),
    entry("to_number", &[TEXT], NUMBER, plain_number),
];

fn moment_to_char<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Timestamp(moment), Value::Text(pattern)] = *arguments else {
        unexpected(arguments)
    };
    check_pattern(pattern)?;
    let mut text = with.arena.writer();
    format_moment(pattern, moment, &mut text).expect("a text takes whatever is written");
    Ok(Value::Text(text.into_bump_str()))
}

/// A span of less than a day is written as a time of day is.
fn interval_to_char<'a>(
    arguments: &[Value<'a>],
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let [Value::Interval(span), Value::Text(pattern)] = *arguments else { unexpected(arguments) };
    let is_time = span.months() == 0 && span.days() == 0 && (0..DAY_US).contains(&span.us());
    let moment = Timestamp::from_us(Timestamp::MIN.us() + if is_time { span.us() } else { 0 });
    let Some(moment) = moment.filter(|_| is_time) else {
        let say = "to_char writes intervals from 0 to below 24 hours only";
        return Err(Fault::new(SqlState::FEATURE_NOT_SUPPORTED, say)
            .showing(Value::Interval(span))
            .with_hint("write longer ones with CAST, or their parts with EXTRACT"));
    };
    moment_to_char(&[Value::Timestamp(moment), Value::Text(pattern)], with)
}

/// A value as a CAST to TEXT writes it.
fn to_char<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [value] = *arguments else { unexpected(arguments) };
    Ok(Value::Text(cast::as_text(value, with)))
}

fn number_to_char<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [value, Value::Text(pattern)] = *arguments else { unexpected(arguments) };
    if let Value::Double(double) = value
        && !double.is_finite()
    {
        return Err(Fault::out_of_range("number").showing(value));
    }
    let pattern = pattern_of(pattern)?;
    let number = cast::number(value)?;
    let mut text = with.arena.writer();
    number_pattern::write(&pattern, number, &mut text)?;
    Ok(Value::Text(text.into_bump_str()))
}

/// The moment that a text says by a pattern.
fn moment_by(arguments: &[Value<'_>]) -> Result<Timestamp, Fault> {
    let [Value::Text(text), Value::Text(pattern)] = *arguments else { unexpected(arguments) };
    check_pattern(pattern)?;
    parse_moment(pattern, text).map_err(|fault| {
        let state = match fault {
            PatternFault::Text(_) => SqlState::INVALID_DATETIME_FORMAT,
            PatternFault::Range(_) => SqlState::DATETIME_FIELD_OVERFLOW,
            PatternFault::Pattern(_) => SqlState::FEATURE_NOT_SUPPORTED,
        };
        Fault::new(state, fault.to_string()).showing(Value::Text(text))
    })
}

fn to_date<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    Ok(Value::Date(moment_by(arguments)?.date()))
}

fn to_timestamp<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    moment_by(arguments).map(Value::Timestamp)
}

/// The moment so many seconds after 1970.
fn epoch_to_timestamp<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let seconds = arguments.first().and_then(|value| double_of(*value));
    let us = (seconds.unwrap_or(f64::NAN) * 1e6).round_ties_even();
    // Far less than 2^63: what is a moment is checked behind it.
    let moment = (us.abs() < 1e18).then(|| Timestamp::from_us(us as i64)).flatten();
    moment.map(Value::Timestamp).ok_or_else(|| Fault::outside_calendar("timestamp"))
}

/// A text as a CAST reads it.
fn read_as<'a>(
    arguments: &[Value<'a>],
    kind: Kind,
    with: &Evaluation<'a>,
) -> Result<Value<'a>, Fault> {
    let [text] = *arguments else { unexpected(arguments) };
    cast::cast(text, crate::CastTo::Kind(kind), with)
}

fn plain_date<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    read_as(arguments, DATE, with)
}

fn plain_timestamp<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    read_as(arguments, TIMESTAMP, with)
}

fn plain_number<'a>(arguments: &[Value<'a>], with: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    read_as(arguments, NUMBER, with)
}

fn to_number<'a>(arguments: &[Value<'a>], _: &Evaluation<'a>) -> Result<Value<'a>, Fault> {
    let [Value::Text(text), Value::Text(pattern)] = *arguments else { unexpected(arguments) };
    let pattern = pattern_of(pattern)?;
    let read = match text.len() <= NUMBER_BYTES_MAX {
        true => number_pattern::read(&pattern, text),
        false => Err(Unread::NotANumber),
    };
    let digits = match read {
        Ok(digits) => digits,
        Err(Unread::TooLarge) => {
            let say = "the number has more digits before the point than the pattern";
            let fault = Fault::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, say);
            return Err(fault.showing(Value::Text(text)));
        }
        Err(Unread::NotANumber) => return Err(not_of_pattern(text)),
    };
    let number: Option<Number> = digits.parse().ok();
    number.map(Value::Number).ok_or_else(|| not_of_pattern(text))
}

#[cold]
fn not_of_pattern(text: &str) -> Fault {
    let say = "the text isn't a number of this pattern";
    Fault::new(SqlState::INVALID_TEXT_REPRESENTATION, say).showing(Value::Text(text))
}

/// Refuses a pattern that is longer than any sound one: work and result grow with it.
fn check_pattern(pattern: &str) -> Result<(), Fault> {
    if pattern.len() <= PATTERN_BYTES_MAX {
        return Ok(());
    }
    let say = format!("a pattern has {PATTERN_BYTES_MAX} bytes at most");
    Err(Fault::new(SqlState::PROGRAM_LIMIT_EXCEEDED, say))
}

/// A pattern of a number.
fn pattern_of(pattern: &str) -> Result<NumberPattern, Fault> {
    check_pattern(pattern)?;
    NumberPattern::parse(pattern).map_err(unreadable)
}

/// A pattern of a number that means nothing.
#[cold]
fn unreadable(what: &'static str) -> Fault {
    Fault::new(SqlState::SYNTAX_ERROR, what)
}
