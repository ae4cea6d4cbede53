//! Literals: numbers, texts, dates, spans of time.
//!
//! A number without a point that 64 bits hold is a whole number, any other a NUMBER, and one with
//! an exponent a NUMBER too, as in PostgreSQL. One that no NUMBER holds is a double. A text in
//! quotes takes the kind of what it meets.
//!
//! Callers: `expression`.

use std::borrow::Cow;

use expression::{CastTo, Kind, Typed, build};
use sqlparser::ast::{
    DataType, DateTimeField, Expr, Interval, TimezoneInfo, TypedString, Value as Literal,
};
use stop::{SqlState, Stop};
use syntax::TypeName;
use value::{Interval as Span, Number, NumberFault, Part, Value};

use super::Binder;
use crate::refuse::{At, Bind, Placed, Refused};

impl Binder<'_> {
    /// A literal, or a parameter.
    pub(super) fn literal(&mut self, literal: &Literal) -> Bind<Typed> {
        match literal {
            Literal::Null => Ok(Typed::null()),
            Literal::Boolean(is) => Ok(Typed::value(Value::Boolean(*is))),
            Literal::Number(digits, _) => number(digits),
            Literal::SingleQuotedString(text)
            | Literal::EscapedStringLiteral(text)
            | Literal::UnicodeStringLiteral(text)
            | Literal::NationalStringLiteral(text)
            | Literal::TripleSingleQuotedString(text)
            | Literal::SingleQuotedRawStringLiteral(text) => Ok(Typed::literal(text)),
            Literal::DollarQuotedString(text) => Ok(Typed::literal(&text.value)),
            Literal::QuoteDelimitedStringLiteral(text)
            | Literal::NationalQuoteDelimitedStringLiteral(text) => Ok(Typed::literal(&text.value)),
            Literal::HexStringLiteral(digits) => bytes(digits),
            Literal::Placeholder(name) => self.parameter(name),
            other => {
                let what = format!("the literal {other}");
                Err(Refused::unsupported(At::NOWHERE, &what, "write texts as 'text'"))
            }
        }
    }

    /// A parameter of the statement. A kind that it has met before isn't kept: it may meet another.
    fn parameter(&self, name: &str) -> Bind<Typed> {
        let number = syntax::bind_number(name).filter(|number| (1..=self.binds).contains(number));
        match number {
            Some(number) => Ok(Typed::slot(number - 1, Kind::Unknown)),
            None => {
                let message = format!("there is no parameter {name}");
                Err(Refused::new(SqlState::UNDEFINED_PARAMETER, At::NOWHERE, message))
            }
        }
    }

    /// `DATE '2026-11-22'`: a text of a type that is written before it.
    pub(super) fn typed_string(&mut self, written: &TypedString) -> Bind<Typed> {
        cast_as(self.literal(&written.value.value)?, &written.data_type)
    }

    /// `INTERVAL '1 day'`, `INTERVAL '1' DAY`, `INTERVAL '1-2' YEAR TO MONTH`. What is below the
    /// last field is cut off.
    pub(super) fn interval(&mut self, written: &Interval) -> Bind<Typed> {
        let value = self.expression(&written.value)?;
        let Some(first) = &written.leading_field else {
            return Ok(value.cast(CastTo::Kind(Kind::Interval))?);
        };
        let text = match &*written.value {
            Expr::Value(literal) => match &literal.value {
                Literal::SingleQuotedString(text) => text.clone(),
                Literal::Number(digits, _) => digits.clone(),
                _ => return Err(not_an_interval()),
            },
            _ => return Err(not_an_interval()),
        };
        let last = written.last_field.as_ref();
        let span = span_of(text.trim(), first, last).ok_or_else(not_an_interval)?;
        let is_seconds = *first == DateTimeField::Second;
        let precision = written.leading_precision.filter(|_| is_seconds);
        let span = match written.fractional_seconds_precision.or(precision) {
            Some(digits) => with_digits(span, digits),
            None => span,
        };
        Ok(Typed::value(Value::Interval(span)))
    }
}

/// A value as one of this type. Moments may have fewer digits than columns do.
pub(super) fn cast_as(value: Typed, to: &DataType) -> Bind<Typed> {
    let zone_is_none =
        |zone: &TimezoneInfo| matches!(zone, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone);
    match to {
        DataType::Timestamp(Some(digits @ 0..=5), zone) if zone_is_none(zone) => {
            let moment = value.cast(CastTo::Kind(Kind::Timestamp))?;
            let digits = i64::try_from(*digits).expect("five at most");
            Ok(build::call("timestamp", vec![moment, Typed::value(Value::Int(digits))])?)
        }
        to => Ok(value.cast(cast_to(to)?)?),
    }
}

/// What a CAST to this type makes.
fn cast_to(written: &DataType) -> Bind<CastTo> {
    match syntax::type_of(written).map_err(Stop::from)? {
        TypeName::Stored(of) => Ok(CastTo::Type(of)),
        TypeName::Interval => Ok(CastTo::Kind(Kind::Interval)),
    }
}

fn not_an_interval() -> Refused {
    let message = "this isn't an interval: write INTERVAL '1 day', INTERVAL '1' DAY or \
                   INTERVAL '1-2' YEAR TO MONTH";
    Refused::new(SqlState::INVALID_DATETIME_FORMAT, At::NOWHERE, message)
}

/// The span that a text with fields is; none if it is none, or there are no such fields.
fn span_of(text: &str, first: &DateTimeField, last: Option<&DateTimeField>) -> Option<Span> {
    let first = match first {
        // No span has weeks: they are days.
        DateTimeField::Week(_) | DateTimeField::Weeks if last.is_none() => {
            return Span::parse(&format!("{text} week"));
        }
        first => field(first)?,
    };
    let Some(last) = last else { return Span::parse_fields(text, first, first) };
    let last = field(last)?;
    let is_range = match first {
        Part::Year => last == Part::Month,
        Part::Day => matches!(last, Part::Hour | Part::Minute | Part::Second),
        Part::Hour => matches!(last, Part::Minute | Part::Second),
        Part::Minute => last == Part::Second,
        _ => false,
    };
    is_range.then(|| Span::parse_fields(&with_sign(text), first, last)).flatten()
}

/// A field that a span has.
fn field(written: &DateTimeField) -> Option<Part> {
    use DateTimeField as F;
    Some(match written {
        F::Year | F::Years => Part::Year,
        F::Month | F::Months => Part::Month,
        F::Day | F::Days => Part::Day,
        F::Hour | F::Hours => Part::Hour,
        F::Minute | F::Minutes => Part::Minute,
        F::Second | F::Seconds => Part::Second,
        _ => return None,
    })
}

/// A text in which the sign before the days is that of the time too, as in the standard: `-1 2:03`
/// is one day, two hours and three minutes less.
fn with_sign(text: &str) -> Cow<'_, str> {
    let is_plain = |text: &str| text.bytes().all(|c| c.is_ascii_digit() || b":. ".contains(&c));
    match text.strip_prefix('-').and_then(|rest| rest.split_once(' ')) {
        Some((days, time)) if is_plain(days) && is_plain(time) => {
            Cow::Owned(format!("-{days} -{}", time.trim_start()))
        }
        _ => Cow::Borrowed(text),
    }
}

/// A span whose seconds are rounded to so many digits.
fn with_digits(span: Span, digits: u64) -> Span {
    let unit = (digits..6).fold(1, |unit: i64, _| unit * 10);
    let us = span.us().saturating_add(span.us().signum() * (unit / 2)) / unit * unit;
    Span::new(span.months(), span.days(), us)
}

/// A number as it is written.
fn number(digits: &str) -> Bind<Typed> {
    if let Ok(whole) = digits.parse::<i64>() {
        return Ok(Typed::value(Value::Int(whole)));
    }
    let read: Result<Number, NumberFault> = digits.parse();
    if let Some(double) = beyond_numbers(digits, read) {
        return Ok(Typed::value(Value::Double(double)));
    }
    let number = read.map_err(expression::Fault::from).placed_at(At::NOWHERE)?;
    Ok(Typed::value(Value::Number(number)))
}

/// The double that digits stand for which a NUMBER can't hold: they would be refused, or lost
/// behind its last place, and a column of doubles would have another value than was written.
fn beyond_numbers(digits: &str, read: Result<Number, NumberFault>) -> Option<f64> {
    let double = digits.parse::<f64>().ok().filter(|double| double.is_finite())?;
    let is_beyond = match read {
        // Any number from there on has room for 38 digits.
        Ok(number) => double < 1e-90 && number.to_f64() != double,
        Err(fault) => fault == NumberFault::Overflow,
    };
    is_beyond.then_some(double)
}

/// Bytes, written as pairs of digits.
fn bytes(digits: &str) -> Bind<Typed> {
    let pair = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(text, 16).ok()
    };
    let all: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(pair).collect();
    match all {
        Some(bytes) if digits.len().is_multiple_of(2) => Ok(Typed::value(Value::Bytes(&bytes))),
        _ => {
            let message = format!("X'{digits}' isn't made of pairs of the digits 0 to F");
            Err(Refused::new(SqlState::SYNTAX_ERROR, At::NOWHERE, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_with_fields_ends_at_its_last_one() {
        use DateTimeField::{Day, Hour, Minute, Month, Second, Weeks, Year};
        let of = |text, first, last: Option<DateTimeField>| {
            span_of(text, &first, last.as_ref()).map(|span| span.to_string())
        };
        for (text, first, last, expected) in [
            ("5", Day, None, "5 days"),
            ("1.5", Hour, None, "01:00:00"),
            ("2 days 10:20:30", Hour, None, "2 days 10:00:00"),
            ("3", Weeks, None, "21 days"),
            ("-1-2", Year, Some(Month), "-1 years -2 mons"),
            ("1 year 2 mons 3 days", Year, Some(Month), "1 year 2 mons"),
            ("1 2", Day, Some(Hour), "1 day 02:00:00"),
            ("3 04:05:06.5", Day, Some(Second), "3 days 04:05:06.5"),
            ("2 days 10:20:30", Day, Some(Second), "2 days 10:20:30"),
            ("-1 2:03", Day, Some(Minute), "-1 days -02:03:00"),
            ("10:30", Minute, Some(Second), "00:10:30"),
            ("10:30:40", Hour, Some(Minute), "10:30:00"),
        ] {
            assert_eq!(of(text, first, last).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(of("x", Year, Some(Month)), None);
        assert_eq!(of("1 2", Day, Some(Minute)), None);
        assert_eq!(of("1", Month, Some(Day)), None);
        let span = Span::parse("00:00:01.2355").expect("a span");
        assert_eq!(with_digits(span, 3).to_string(), "00:00:01.236");
        assert_eq!(with_digits(span, 0).to_string(), "00:00:01");
        assert_eq!(with_digits(span, 9).to_string(), "00:00:01.2355");
    }

    #[test]
    fn a_number_is_whole_if_it_is_written_so_and_fits() {
        let kind = |digits| number(digits).expect("a number").kind;
        assert_eq!(kind("9223372036854775807"), Kind::Whole);
        assert_eq!(kind("9223372036854775808"), Kind::Number);
        assert_eq!(kind("1.0"), Kind::Number);
        assert_eq!(kind("1e3"), Kind::Number);
    }

    /// A column of doubles has what was written, though a literal is a NUMBER first.
    #[test]
    fn a_number_that_no_number_holds_is_a_double() {
        let value = |digits| match number(digits).expect("a number").expression {
            expression::Expression::Constant(value) => value,
            other => panic!("{digits}: {other:?}"),
        };
        for digits in ["1e122", "1.5e300", "1e-300", "5e-324", "1.23456789e-125"] {
            let double = Value::Double(digits.parse().expect("a double"));
            assert_eq!(value(digits).get(), double, "{digits}");
            assert_eq!(number(digits).expect("a number").kind, Kind::Double, "{digits}");
        }
        for digits in ["1e121", "1e-128", "1.25e-120", "0e-300", "1e-400", "0.1"] {
            assert_eq!(number(digits).expect("a number").kind, Kind::Number, "{digits}");
        }
        assert!(number("1e400").is_err());
    }
}
