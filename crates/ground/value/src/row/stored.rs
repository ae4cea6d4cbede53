//! The bytes of one column in a row.
//!
//! Invariants
//!   * reading is total: bytes that aren't the form of a value are `Err`, never a panic
//!   * a value has one form
//!
//! Callers: `row` and its parts. The table of forms stands in `row`.

use crate::number::{SCALE_MIN, pow10};
use crate::{Date, Digits, Number, Timestamp, Type, Value};

/// The width of a column; none if the type has no fixed width.
pub(super) fn width(kind: Type) -> Option<u16> {
    Some(match kind {
        Type::SmallInt => 2,
        Type::Integer | Type::Date => 4,
        Type::BigInt | Type::Double | Type::Timestamp => 8,
        Type::Boolean => 1,
        Type::Number(Some(digits)) => match digits.precision() {
            0..=2 => 1,
            3..=4 => 2,
            5..=9 => 4,
            10..=18 => 8,
            _ => 16,
        },
        Type::Number(None) | Type::Varchar(_) | Type::Char(_) | Type::Text | Type::Bytea => {
            return None;
        }
    })
}

/// The number of bytes of a value without fixed width; NULL has none.
///
/// # Panics When the column can't hold it.
#[inline]
pub(super) fn variable_length(kind: Type, value: Value<'_>) -> usize {
    match (kind, value) {
        (Type::Varchar(_) | Type::Char(_) | Type::Text, Value::Text(text)) => text.len(),
        (Type::Bytea, Value::Bytes(bytes)) => bytes.len(),
        (Type::Number(None), Value::Number(number)) => FreeNumber::of(number).bytes().len(),
        (_, Value::Null) => 0,
        _ => wrong(kind, value),
    }
}

/// Writes a value other than NULL to `bytes`, which is as wide as the type.
///
/// # Panics When the column can't hold it.
#[inline]
pub(super) fn write_fixed(kind: Type, value: Value<'_>, bytes: &mut [u8]) {
    match (kind, value) {
        (Type::BigInt, Value::Int(int)) => bytes.copy_from_slice(&int.to_le_bytes()),
        (Type::Integer, Value::Int(int)) => match i32::try_from(int) {
            Ok(int) => bytes.copy_from_slice(&int.to_le_bytes()),
            Err(_) => wrong(kind, value),
        },
        (Type::SmallInt, Value::Int(int)) => match i16::try_from(int) {
            Ok(int) => bytes.copy_from_slice(&int.to_le_bytes()),
            Err(_) => wrong(kind, value),
        },
        (Type::Number(Some(digits)), Value::Number(number)) => {
            match number.at_scale(digits.scale().into()).filter(|it| has_room(digits, *it)) {
                Some(it) => bytes.copy_from_slice(&it.to_le_bytes()[..bytes.len()]),
                None => wrong(kind, value),
            }
        }
        (Type::Double, Value::Double(double)) => bytes.copy_from_slice(&double.to_le_bytes()),
        (Type::Boolean, Value::Boolean(is)) => bytes[0] = is.into(),
        (Type::Date, Value::Date(day)) => bytes.copy_from_slice(&day.days().to_le_bytes()),
        (Type::Timestamp, Value::Timestamp(moment)) => {
            bytes.copy_from_slice(&moment.us().to_le_bytes());
        }
        _ => wrong(kind, value),
    }
}

#[cold]
fn wrong(kind: Type, value: Value<'_>) -> ! {
    panic!("a column of {kind} was given {value}, which was not made to fit it first")
}

fn has_room(digits: Digits, coefficient: i128) -> bool {
    coefficient.unsigned_abs() < pow10(digits.precision().into())
}

/// Reads the value in `bytes`, which is as wide as the type.
#[inline]
pub(super) fn read_fixed(kind: Type, bytes: &[u8]) -> Result<Value<'static>, &'static str> {
    Ok(match kind {
        Type::SmallInt | Type::Integer | Type::BigInt => Value::Int(read_int(bytes)),
        Type::Number(Some(digits)) => {
            let (has_room, negative, magnitude) = match <[u8; 16]>::try_from(bytes) {
                Ok(bytes) => {
                    let coefficient = i128::from_le_bytes(bytes);
                    let has_room = has_room(digits, coefficient);
                    (has_room, coefficient < 0, coefficient.unsigned_abs())
                }
                Err(_) => {
                    // Up to 18 digits: the bound has 64 bits too.
                    let (int, below) = (read_int(bytes), pow10(digits.precision().into()) as u64);
                    (int.unsigned_abs() < below, int < 0, int.unsigned_abs().into())
                }
            };
            if !has_room {
                return Err("more digits than the column has");
            }
            Value::Number(Number::sound(negative, magnitude, digits.scale().into()))
        }
        Type::Double => Value::Double(f64::from_bits(read_int(bytes) as u64)),
        Type::Boolean => match bytes {
            [0] => Value::Boolean(false),
            [1] => Value::Boolean(true),
            _ => return Err("neither true nor false"),
        },
        Type::Date => {
            let days = i32::try_from(read_int(bytes)).ok().and_then(Date::from_days);
            Value::Date(days.ok_or("a day outside the calendar")?)
        }
        Type::Timestamp => {
            let moment = Timestamp::from_us(read_int(bytes));
            Value::Timestamp(moment.ok_or("a timestamp outside the calendar")?)
        }
        _ => return Err("no column of fixed width"),
    })
}

/// Reads a whole number of 1, 2, 4 or 8 bytes.
#[inline]
pub(super) fn read_int(bytes: &[u8]) -> i64 {
    match *bytes {
        [a, b, c, d, e, f, g, h] => i64::from_le_bytes([a, b, c, d, e, f, g, h]),
        [a, b, c, d] => i32::from_le_bytes([a, b, c, d]).into(),
        [a, b] => i16::from_le_bytes([a, b]).into(),
        [a] => i8::from_le_bytes([a]).into(),
        _ => 0,
    }
}

/// Reads the value in these bytes of a column without fixed width.
#[inline]
pub(super) fn read_variable(kind: Type, bytes: &[u8]) -> Result<Value<'_>, &'static str> {
    match kind {
        Type::Varchar(_) | Type::Char(_) | Type::Text => {
            str::from_utf8(bytes).map(Value::Text).map_err(|_| "a text that isn't UTF-8")
        }
        Type::Bytea => Ok(Value::Bytes(bytes)),
        Type::Number(None) => FreeNumber::read(bytes).map(Value::Number).ok_or("no number"),
        _ => Err("no column of variable width"),
    }
}

/// The stored form of a number in a column without a fixed scale.
pub(super) struct FreeNumber {
    bytes: [u8; 17],
    length: usize,
}

impl FreeNumber {
    pub(super) fn of(number: Number) -> FreeNumber {
        let number = number.canonical();
        let (mut bytes, mut length) = ([0; 17], 0);
        if !number.is_zero() {
            let scale = number.scale() - SCALE_MIN + 1;
            bytes[0] = u8::try_from(scale).expect("scales are -121 to 128");
            let coefficient = number.coefficient();
            bytes[1..].copy_from_slice(&coefficient.to_le_bytes());
            // The sign takes one bit.
            let bits = i128::BITS - (coefficient ^ (coefficient >> 127)).leading_zeros() + 1;
            length = 1 + bits.div_ceil(8) as usize;
        }
        FreeNumber { bytes, length }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn read(bytes: &[u8]) -> Option<Number> {
        let Some((scale, low)) = bytes.split_first() else {
            return Some(Number::ZERO);
        };
        let sign = low.last()? >> 7;
        let mut coefficient = [if sign == 1 { 0xff } else { 0 }; 16];
        coefficient.get_mut(..low.len())?.copy_from_slice(low);
        let scale = i32::from(*scale) + SCALE_MIN - 1;
        let number = Number::from_parts(i128::from_le_bytes(coefficient), scale).ok()?;
        // A number has one form, so other bytes were never written.
        (FreeNumber::of(number).bytes() == bytes).then_some(number)
    }
}
