//! The bytes of a row that is spilled, and of one value of an aggregate that is.
//!
//! ```text
//!   length of the rest │ a tag and its bytes │ a tag and its bytes │ …
//!   u32                │ one for each column
//! ```
//!
//! | tag | value | bytes |
//! |---:|---|---|
//! | 0 | NULL | |
//! | 1 | whole number | 8 |
//! | 2, 3 | NUMBER | scale 2, coefficient 8 or 16 |
//! | 4 | double | 8 |
//! | 5, 6 | text, bytes | length 4, then as many |
//! | 7, 8 | false, true | |
//! | 9, 10 | date, timestamp | 4, 8 |
//! | 11 | interval | months 4, days 4, microseconds 8 |
//!
//! All numbers are little-endian. The bytes live in temporary files only, so their form may change.
//!
//! Invariants
//!   * a value is read back as it was, scale of a NUMBER and sign of a zero included
//!   * reading is total: any bytes are a row, or `Damaged`
//!
//! Callers: `rows`, `accumulator`.

use value::{Damaged, Date, Interval, Number, Timestamp, Value};

const NULL: u8 = 0;
const INT: u8 = 1;
const NUMBER_SHORT: u8 = 2;
const NUMBER_LONG: u8 = 3;
const DOUBLE: u8 = 4;
const TEXT: u8 = 5;
const BYTES: u8 = 6;
const FALSE: u8 = 7;
const TRUE: u8 = 8;
const DATE: u8 = 9;
const TIMESTAMP: u8 = 10;
const INTERVAL: u8 = 11;

/// The bytes of the length in front of a row.
const LENGTH: usize = 4;

/// Appends a row of these values.
pub(crate) fn write<'v>(values: impl Iterator<Item = Value<'v>>, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend([0; LENGTH]);
    for value in values {
        write_value(value, out);
    }
    let length = u32::try_from(out.len() - start - LENGTH);
    let length = length.expect("a row of a statement has less than 4 GiB");
    out[start..start + LENGTH].copy_from_slice(&length.to_le_bytes());
}

/// The length of the row at the beginning of `bytes`; none if they end before it does.
pub(crate) fn length(bytes: &[u8]) -> Option<usize> {
    let rest = u32::from_le_bytes(*bytes.first_chunk::<LENGTH>()?);
    let length = LENGTH.checked_add(usize::try_from(rest).ok()?)?;
    (length <= bytes.len()).then_some(length)
}

/// Reads the row that is exactly `bytes`, and gives its `width` values to `each`.
pub(crate) fn read(
    bytes: &[u8],
    width: usize,
    each: &mut dyn FnMut(Value<'_>),
) -> Result<(), Damaged> {
    let damaged = |what| Damaged { column: None, what };
    if length(bytes) != Some(bytes.len()) {
        return Err(damaged("its length isn't the one that it says"));
    }
    let mut rest = &bytes[LENGTH..];
    for column in 0..width {
        let column = u16::try_from(column).ok();
        let value = read_value(&mut rest);
        each(value.ok_or(Damaged { column, what: "no value of a spilled row" })?);
    }
    if rest.is_empty() { Ok(()) } else { Err(damaged("it has more columns than its reader")) }
}

/// Appends one value.
pub(crate) fn write_value(value: Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(NULL),
        Value::Int(int) => {
            out.push(INT);
            out.extend(int.to_le_bytes());
        }
        Value::Number(number) => write_number(number, out),
        Value::Double(double) => {
            out.push(DOUBLE);
            out.extend(double.to_bits().to_le_bytes());
        }
        Value::Text(text) => {
            out.push(TEXT);
            write_bytes(text.as_bytes(), out);
        }
        Value::Bytes(bytes) => {
            out.push(BYTES);
            write_bytes(bytes, out);
        }
        Value::Boolean(is) => out.push(if is { TRUE } else { FALSE }),
        Value::Date(day) => {
            out.push(DATE);
            out.extend(day.days().to_le_bytes());
        }
        Value::Timestamp(moment) => {
            out.push(TIMESTAMP);
            out.extend(moment.us().to_le_bytes());
        }
        Value::Interval(span) => {
            out.push(INTERVAL);
            out.extend(span.months().to_le_bytes());
            out.extend(span.days().to_le_bytes());
            out.extend(span.us().to_le_bytes());
        }
    }
}

fn write_number(number: Number, out: &mut Vec<u8>) {
    let scale = i16::try_from(number.scale()).expect("a scale lies between -121 and 128");
    let coefficient = number.coefficient();
    match i64::try_from(coefficient) {
        Ok(short) => {
            out.push(NUMBER_SHORT);
            out.extend(scale.to_le_bytes());
            out.extend(short.to_le_bytes());
        }
        Err(_) => {
            out.push(NUMBER_LONG);
            out.extend(scale.to_le_bytes());
            out.extend(coefficient.to_le_bytes());
        }
    }
}

fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    let length = u32::try_from(bytes.len()).expect("a text has at most 1 GiB");
    out.extend(length.to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Takes one value from the beginning of `rest`; none if there is no value.
pub(crate) fn read_value<'b>(rest: &mut &'b [u8]) -> Option<Value<'b>> {
    let [tag] = array(rest)?;
    Some(match tag {
        NULL => Value::Null,
        INT => Value::Int(i64::from_le_bytes(array(rest)?)),
        NUMBER_SHORT => {
            let scale = i16::from_le_bytes(array(rest)?);
            let coefficient = i64::from_le_bytes(array(rest)?);
            Value::Number(Number::from_parts(coefficient.into(), scale.into()).ok()?)
        }
        NUMBER_LONG => {
            let scale = i16::from_le_bytes(array(rest)?);
            let coefficient = i128::from_le_bytes(array(rest)?);
            Value::Number(Number::from_parts(coefficient, scale.into()).ok()?)
        }
        DOUBLE => Value::Double(f64::from_bits(u64::from_le_bytes(array(rest)?))),
        TEXT => Value::Text(str::from_utf8(read_bytes(rest)?).ok()?),
        BYTES => Value::Bytes(read_bytes(rest)?),
        FALSE => Value::Boolean(false),
        TRUE => Value::Boolean(true),
        DATE => Value::Date(Date::from_days(i32::from_le_bytes(array(rest)?))?),
        TIMESTAMP => Value::Timestamp(Timestamp::from_us(i64::from_le_bytes(array(rest)?))?),
        INTERVAL => {
            let months = i32::from_le_bytes(array(rest)?);
            let days = i32::from_le_bytes(array(rest)?);
            Value::Interval(Interval::new(months, days, i64::from_le_bytes(array(rest)?)))
        }
        _ => return None,
    })
}

fn read_bytes<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = u32::from_le_bytes(array(rest)?);
    let (taken, left) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = left;
    Some(taken)
}

/// Takes `N` bytes from the beginning of `rest`.
pub(crate) fn array<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, left) = rest.split_first_chunk::<N>()?;
    *rest = left;
    Some(*taken)
}
