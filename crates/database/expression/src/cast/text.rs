//! Values as texts and back, as PostgreSQL writes and reads them.
//!
//! | kind | text |
//! |---|---|
//! | truth value | `true`, `false` |
//! | whole, NUMBER | digits; a NUMBER keeps no zeros at its end: 20.50 is `20.5` |
//! | double | the shortest digits that are it; `1e+15` from there on, `1e-05` from there down |
//! | day, moment | `2026-11-27`, `2026-11-27 15:04:05.5` |
//! | span | `1 year 2 mons 3 days 04:05:06` |
//! | bytes | `\x00ff` |
//!
//! Invariants
//!   * what is written is read back as the same value
//!
//! Callers: `cast`; whoever shows results.

use std::fmt;

use value::{Date, Timestamp, Value};

use super::calendar;

/// The exponents between which a double is written without one.
const PLAIN_EXPONENTS: std::ops::Range<i32> = -4..15;

/// Writes a value as a CAST to TEXT does; NULL as nothing.
pub fn write_text(value: Value<'_>, out: &mut dyn fmt::Write) -> fmt::Result {
    match value {
        Value::Null => Ok(()),
        Value::Boolean(is) => out.write_str(if is { "true" } else { "false" }),
        Value::Int(int) => write!(out, "{int}"),
        Value::Number(number) => write!(out, "{number}"),
        Value::Double(double) => write_double(double, out),
        Value::Text(text) => out.write_str(text),
        Value::Bytes(bytes) => {
            out.write_str("\\x")?;
            bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
        }
        Value::Date(day) => write!(out, "{day}"),
        Value::Timestamp(moment) => write_moment(moment, out),
        Value::Interval(span) => write!(out, "{span}"),
    }
}

fn write_double(double: f64, out: &mut dyn fmt::Write) -> fmt::Result {
    if double.is_nan() {
        return out.write_str("NaN");
    }
    if double.is_infinite() {
        return out.write_str(if double > 0.0 { "Infinity" } else { "-Infinity" });
    }
    let text = format!("{double:e}");
    let (mantissa, exponent) = text.split_once('e').expect("this form has an exponent");
    let exponent: i32 = exponent.parse().expect("and it is a number");
    if PLAIN_EXPONENTS.contains(&exponent) {
        return write!(out, "{double}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    write!(out, "{mantissa}e{sign}{:02}", exponent.abs())
}

/// Writes a moment without zeros at the end of its fraction.
fn write_moment(moment: Timestamp, out: &mut dyn fmt::Write) -> fmt::Result {
    let text = moment.to_string();
    match text.contains('.') {
        true => out.write_str(text.trim_end_matches('0')),
        false => out.write_str(&text),
    }
}

/// Reads a day or a moment; `epoch` is the one from which they count. A day is its midnight; a zone
/// is passed over, as in PostgreSQL, for there are none here. A fraction of more than six digits is
/// rounded.
pub(super) fn read_moment(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let number = |part: &str| part.parse::<u32>().ok();
        let (year, month, day) = (number(&text[..4])?, number(&text[4..6])?, number(&text[6..])?);
        let day = Date::from_calendar(year.cast_signed(), month, day)?;
        return Some(Timestamp::midnight(day));
    }
    let Rounded { text, is_up } = rounded(without_zone(text));
    if text.eq_ignore_ascii_case("epoch") {
        return Timestamp::from_us(0);
    }
    let moment = Timestamp::parse(text).or_else(|| calendar::read(text))?;
    if is_up { Timestamp::from_us(moment.us() + 1) } else { Some(moment) }
}

/// A text with six digits of a second at most, and whether those behind them round up.
struct Rounded<'t> {
    text: &'t str,
    is_up: bool,
}

fn rounded(text: &str) -> Rounded<'_> {
    let digits = text.rfind('.').map_or("", |point| &text[point + 1..]);
    match digits.as_bytes() {
        [_, _, _, _, _, _, next, ..] if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Rounded { text: &text[..text.len() - digits.len() + 6], is_up: *next >= b'5' }
        }
        _ => Rounded { text, is_up: false },
    }
}

/// The text without `Z`, `UTC`, `+01` or `-01:30` behind a time of day.
fn without_zone(text: &str) -> &str {
    let Some(time) = text.find(':') else { return text };
    for zone in ["Z", "z", " UTC", " utc"] {
        if let Some(before) = text.strip_suffix(zone) {
            return before.trim_end();
        }
    }
    match text[time..].rfind(['+', '-']) {
        Some(at) if text[time + at + 1..].bytes().all(|b| b.is_ascii_digit() || b == b':') => {
            text[..time + at].trim_end()
        }
        _ => text,
    }
}

/// Whether a text that is no moment has the form of one, so that the calendar lacks it.
pub(super) fn looks_like_moment(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_digit() || b"-: T.".contains(&byte);
    let text = text.trim();
    let dashes = text.bytes().filter(|byte| *byte == b'-').count();
    dashes == 2 && text.starts_with(|c: char| c.is_ascii_digit()) && text.bytes().all(is_part)
}

/// Reads bytes in PostgreSQL's two forms: `\x00ff`, or text with `\\` and `\377`.
pub(super) fn read_bytes(text: &str) -> Option<Vec<u8>> {
    if let Some(digits) = text.strip_prefix("\\x") {
        let digits: Vec<u8> = digits.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let pairs = digits.chunks(2).map(|pair| match *pair {
            [high, low] => u8::try_from(digit(high)? * 16 + digit(low)?).ok(),
            _ => None,
        });
        return pairs.collect();
    }
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        let (byte, behind) = match (first, behind) {
            (b'\\', [b'\\', behind @ ..]) => (b'\\', behind),
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', behind @ ..]) => {
                ((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'), behind)
            }
            (b'\\', _) => return None,
            (byte, behind) => (*byte, behind),
        };
        bytes.push(byte);
        rest = behind;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use value::Interval;

    fn written(value: Value<'_>) -> String {
        let mut text = String::new();
        write_text(value, &mut text).expect("a text takes it");
        text
    }

    #[test]
    fn doubles_are_written_as_in_postgresql() {
        let all = [
            (0.1, "0.1"),
            (1.0, "1"),
            (-0.0, "-0"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (123456789012345.0, "123456789012345"),
            (1.2345678901234568e17, "1.2345678901234568e+17"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e100, "1e+100"),
            (5e-324, "5e-324"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (double, text) in all {
            assert_eq!(written(Value::Double(double)), text);
        }
    }

    #[test]
    fn other_values_are_written_as_in_postgresql() {
        let moment = |text: &str| Value::Timestamp(Timestamp::parse(text).expect("a moment"));
        assert_eq!(written(moment("2026-11-27 15:04:05.500")), "2026-11-27 15:04:05.5");
        assert_eq!(written(moment("2026-11-27 15:04:00")), "2026-11-27 15:04:00");
        assert_eq!(written(Value::Bytes(&[0, 255])), "\\x00ff");
        assert_eq!(written(Value::Boolean(true)), "true");
        assert_eq!(written(Value::Interval(Interval::new(0, 1, 0))), "1 day");
        assert_eq!(written(Value::Null), "");
    }

    #[test]
    fn moments_are_read_with_zones_that_do_not_count() {
        let read = |text: &str| read_moment(text).map(|moment| moment.to_string());
        for text in ["2026-11-27 15:04:05", "2026-11-27T15:04:05Z", "2026-11-27 15:04:05+01"] {
            assert_eq!(read(text).as_deref(), Some("2026-11-27 15:04:05"), "{text}");
        }
        assert_eq!(read("2026-11-27 15:04:05-01:30").as_deref(), Some("2026-11-27 15:04:05"));
        assert_eq!(read("20261127").as_deref(), Some("2026-11-27 00:00:00"));
        assert_eq!(read(" Epoch ").as_deref(), Some("1970-01-01 00:00:00"));
        assert_eq!(read("Feb 10 17:32:01 1997 -0800").as_deref(), Some("1997-02-10 17:32:01"));
        assert_eq!(read("2026-13-01"), None);
        assert_eq!(read("20261327"), None);
        let noon = |fraction: &str| read(&format!("2026-11-27 12:00:00.{fraction}Z"));
        assert_eq!(noon("1234564999").as_deref(), Some("2026-11-27 12:00:00.123456"));
        assert_eq!(noon("123456500").as_deref(), Some("2026-11-27 12:00:00.123457"));
        assert_eq!(noon("9999999").as_deref(), Some("2026-11-27 12:00:01"));
        assert_eq!(read("9999-12-31 23:59:59.9999999"), None);
        assert_eq!(read("2026-11-27 12:00:00.123456x"), None);
        assert!(looks_like_moment("2026-13-01") && !looks_like_moment("tomorrow"));
    }

    #[test]
    fn bytes_are_read_in_both_forms() {
        assert_eq!(read_bytes("\\x00fF 10"), Some(vec![0, 255, 16]));
        assert_eq!(read_bytes("a\\\\b\\001"), Some(vec![b'a', b'\\', b'b', 1]));
        for text in ["\\x0", "\\xzz", "\\9", "\\400"] {
            assert_eq!(read_bytes(text), None, "{text}");
        }
    }
}
