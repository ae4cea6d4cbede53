//! Reads keys back: the values that a key was made of.
//!
//! ```text
//!   keys of several entries ── decode, column after column ──▶ parts │ texts │ bytes
//!                                                                      │
//!                                                 values ◀─────────────┘ UTF-8? once for all
//! ```
//!
//! Texts and bytes don't lie in a key as they are, so they are put together in a buffer first, and
//! values borrow from that.
//!
//! Invariants (rule VA30 in the README)
//!   * decoding is total: bytes that no key has are `DamagedKey`, never a panic
//!   * a value comes back in the form in which a row gives it, but -0 as 0, and a NaN as any NaN
//!
//! Callers: reads of an index that don't look at its rows.

use std::ops::Range;

use super::{
    Direction, END, HIGH_ESCAPE, LOW_ESCAPE, MIDDLE, NULL_FIRST, NULL_LAST, NullOrdering,
    TEXT_SHIFT, number,
};
use crate::number::pow10;
use crate::{DamagedKey, Date, Digits, Number, Timestamp, Type, Value};

/// Decodes keys. First it is given the columns of one or several keys, in their order; then it has
/// their values.
#[derive(Debug, Default)]
pub struct KeyDecoder {
    parts: Vec<Part>,
    texts: Vec<u8>,
    bytes: Vec<u8>,
}

/// A column that was decoded.
#[derive(Debug)]
enum Part {
    Plain(Value<'static>),
    /// Where the text lies in `texts`.
    Text(Range<usize>),
    /// Where the binary value lies in `bytes`.
    Bytes(Range<usize>),
}

/// The values of columns that were decoded.
#[derive(Clone, Copy, Debug)]
pub struct KeyValues<'a> {
    parts: &'a [Part],
    texts: &'a str,
    bytes: &'a [u8],
}

/// The rest of a key, from the beginning of a column on.
struct KeyReader<'k> {
    left: &'k [u8],
    /// All ones if the column's bytes are inverted.
    mask: u8,
}

const ENDS: DamagedKey = DamagedKey { what: "it ends before its columns do" };

impl KeyDecoder {
    /// Forgets the columns that were decoded, and keeps the memory.
    pub fn clear(&mut self) {
        self.parts.clear();
        self.texts.clear();
        self.bytes.clear();
    }

    /// The number of bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        let parts = self.parts.capacity() * size_of::<Part>();
        parts + self.texts.capacity() + self.bytes.capacity()
    }

    /// Decodes the column at the beginning of a key, and returns the rest of the key. Of a key that
    /// an index has, all columns are decoded in their order, each with its type.
    pub fn decode<'k>(
        &mut self,
        key: &'k [u8],
        direction: Direction,
        nulls: NullOrdering,
        kind: Type,
    ) -> Result<&'k [u8], DamagedKey> {
        let (first, behind) = key.split_first().ok_or(ENDS)?;
        let null = match nulls {
            NullOrdering::First => NULL_FIRST,
            NullOrdering::Last => NULL_LAST,
        };
        if *first == null {
            self.parts.push(Part::Plain(Value::Null));
            return Ok(behind);
        }
        let mask = if direction == Direction::Descending { u8::MAX } else { 0 };
        let mut reader = KeyReader { left: key, mask };
        let part = match kind {
            Type::Varchar(_) | Type::Char(_) | Type::Text => self.text(&mut reader)?,
            Type::Bytea => self.binary(&mut reader)?,
            _ => Part::Plain(reader.plain(kind)?),
        };
        self.parts.push(part);
        Ok(reader.left)
    }

    /// The values of all columns that were decoded since the last `clear`.
    pub fn values(&self) -> Result<KeyValues<'_>, DamagedKey> {
        let texts = str::from_utf8(&self.texts);
        let texts = texts.map_err(|_| DamagedKey { what: "a text isn't UTF-8" })?;
        Ok(KeyValues { parts: &self.parts, texts, bytes: &self.bytes })
    }

    fn text(&mut self, reader: &mut KeyReader<'_>) -> Result<Part, DamagedKey> {
        let (mask, from) = (reader.mask, self.texts.len());
        let end = reader.left.iter().position(|byte| (byte ^ mask) == END).ok_or(ENDS)?;
        let (text, left) = reader.left.split_at(end);
        self.texts.extend(text.iter().map(|byte| (byte ^ mask).wrapping_sub(TEXT_SHIFT)));
        reader.left = &left[1..];
        Ok(Part::Text(from..self.texts.len()))
    }

    fn binary(&mut self, reader: &mut KeyReader<'_>) -> Result<Part, DamagedKey> {
        let from = self.bytes.len();
        loop {
            let escape = reader.byte()?;
            let byte = match escape {
                END => return Ok(Part::Bytes(from..self.bytes.len())),
                LOW_ESCAPE | HIGH_ESCAPE => reader.byte()?,
                byte => byte,
            };
            let is_sound = match escape {
                LOW_ESCAPE => byte <= LOW_ESCAPE,
                HIGH_ESCAPE => byte >= HIGH_ESCAPE,
                _ => (LOW_ESCAPE..HIGH_ESCAPE).contains(&byte),
            };
            if !is_sound {
                return Err(DamagedKey { what: "a byte isn't escaped as it should be" });
            }
            self.bytes.push(byte);
        }
    }
}

impl<'a> KeyValues<'a> {
    /// The value of the column that was decoded as the `number`th, from 0.
    ///
    /// # Panics
    /// When there is none.
    pub fn get(&self, number: usize) -> Result<Value<'a>, DamagedKey> {
        Ok(match &self.parts[number] {
            Part::Plain(value) => *value,
            // The texts together may be UTF-8, and the bytes of one of them none.
            Part::Text(range) => match self.texts.get(range.clone()) {
                Some(text) => Value::Text(text),
                None => return Err(DamagedKey { what: "a text isn't UTF-8" }),
            },
            Part::Bytes(range) => Value::Bytes(&self.bytes[range.clone()]),
        })
    }
}

impl KeyReader<'_> {
    fn byte(&mut self) -> Result<u8, DamagedKey> {
        let (first, left) = self.left.split_first().ok_or(ENDS)?;
        self.left = left;
        Ok(first ^ self.mask)
    }

    /// Reads a value that is neither a text nor binary.
    fn plain(&mut self, kind: Type) -> Result<Value<'static>, DamagedKey> {
        let value = match kind {
            Type::Number(digits) => {
                let number = number::read(|| self.byte())?;
                number.and_then(|number| as_in_row(number, digits)).map(Value::Number)
            }
            Type::Double => match self.byte()? {
                MIDDLE => Some(Value::Double(double(self.unsigned(8)?))),
                _ => None,
            },
            Type::Boolean => match self.byte()?.checked_sub(LOW_ESCAPE) {
                Some(0) => Some(Value::Boolean(false)),
                Some(1) => Some(Value::Boolean(true)),
                _ => None,
            },
            Type::Date => {
                let days = i32::try_from(self.int()?).ok();
                days.and_then(Date::from_days).map(Value::Date)
            }
            Type::Timestamp => Timestamp::from_us(self.int()?).map(Value::Timestamp),
            _ => Some(Value::Int(self.int()?)),
        };
        value.ok_or(DamagedKey { what: "a column has a value that its type hasn't" })
    }

    fn int(&mut self) -> Result<i64, DamagedKey> {
        let first = self.byte()?;
        let is_negative = first < MIDDLE;
        let bytes = if is_negative { MIDDLE - 1 - first } else { first - MIDDLE };
        let low = self.unsigned(bytes.min(9))?;
        // The bytes of a number below zero that aren't there are all ones.
        let high = if is_negative { u64::MAX.checked_shl(8 * u32::from(bytes)) } else { None };
        let int = (high.unwrap_or(0) | low) as i64;
        match bytes <= 8 && (int < 0) == is_negative {
            true => Ok(int),
            false => Err(DamagedKey { what: "a whole number has more than 64 bits" }),
        }
    }

    /// Reads a number of so many bytes, the highest first.
    fn unsigned(&mut self, bytes: u8) -> Result<u64, DamagedKey> {
        (0..bytes).try_fold(0, |number: u64, _| Ok(number << 8 | u64::from(self.byte()?)))
    }
}

/// The number as a row's column gives it: with the scale of the column.
fn as_in_row(number: Number, digits: Option<Digits>) -> Option<Number> {
    let Some(digits) = digits else { return Some(number) };
    let scale = digits.scale().into();
    let coefficient = number.at_scale(scale)?;
    let magnitude = coefficient.unsigned_abs();
    let has_room = magnitude < pow10(digits.precision().into());
    has_room.then(|| Number::sound(coefficient < 0, magnitude, scale))
}

/// The double that [`sortable`](crate::value::sortable) makes this number of.
fn double(sortable: u64) -> f64 {
    match sortable {
        u64::MAX => f64::NAN,
        _ if sortable >> 63 == 1 => f64::from_bits(sortable ^ 1 << 63),
        _ => f64::from_bits(!sortable),
    }
}
