//! Keys: bytes that compare as the values do, column after column.
//!
//! The first byte of a column says what follows. It is never 0x00 or 0xff, so that there is room
//! below and above any prefix of whole columns. All bytes of a descending column are inverted.
//!
//! | what | bytes |
//! |---|---|
//! | NULL before, after all values | `01`, `fe` |
//! | whole number ≥ 0 | `80` + n, then its n bytes, highest first |
//! | whole number < 0 | `7f` - n, then the n lowest bytes of its two's complement |
//! | NUMBER 0 | `80` |
//! | NUMBER > 0 | `c1` + exponent of 100, digits of base 100, each + 1, `00` |
//! | NUMBER < 0 | `3e` - exponent of 100, digits of base 100, each 101 - it, `66` |
//! | DOUBLE PRECISION | `80`, then 8 bytes: the sign bit turned, below zero all bits |
//! | text | each byte of the UTF-8 + 3, then `02` |
//! | BYTEA | bytes; 0 to 3 follow a `03`, 253 to 255 an `fd`; then `02` |
//! | BOOLEAN | `03` false, `04` true |
//! | DATE, TIMESTAMP | their whole number |
//! | a span (only in sorts) | `80`, then 16 bytes: its microseconds, the sign bit turned |
//!
//! Invariants (rules VA6 to VA8 in the README)
//!   * of two keys of the same columns neither is the beginning of the other, unless they are equal
//!   * equal values have equal bytes: 1.0 and 1.00, 0.0 and -0.0, every NaN
//!
//! Callers: indexes; sorts.
//! Sources: Oracle's internal form of NUMBER; FoundationDB's tuple layer, for whole numbers. UTF-8
//! has no byte above 0xf4: adding 3 leaves room for the end, and no byte need be escaped.

mod decode;
mod number;
mod range;

pub use decode::{KeyDecoder, KeyValues};
pub use range::{KeyRange, key_successor};

use crate::Value;
use crate::value::sortable;

/// The sort direction of a key column.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// Small values come first.
    Ascending,
    /// Large values come first.
    Descending,
}

/// The position of NULLs in the sort order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NullOrdering {
    /// NULLs come before all values.
    First,
    /// NULLs come after all values.
    Last,
}

impl NullOrdering {
    /// Oracle's default: last if ascending, first if descending.
    pub fn of(direction: Direction) -> NullOrdering {
        match direction {
            Direction::Ascending => NullOrdering::Last,
            Direction::Descending => NullOrdering::First,
        }
    }
}

const NULL_FIRST: u8 = 0x01;
const NULL_LAST: u8 = 0xfe;
/// The end of texts and binary values. It is lower than every encoded byte.
const END: u8 = 0x02;
const TEXT_SHIFT: u8 = 3;
/// The escape of low bytes: it precedes each byte up to and including itself.
const LOW_ESCAPE: u8 = 0x03;
/// The escape of high bytes: it precedes each byte from itself on.
const HIGH_ESCAPE: u8 = 0xfd;
/// The middle of the range of first bytes, which whole numbers and doubles use.
const MIDDLE: u8 = 0x80;

/// Appends the key of these columns to `out`.
#[inline]
pub fn encode_key(columns: &[(Value<'_>, Direction, NullOrdering)], out: &mut Vec<u8>) {
    for (value, direction, nulls) in columns {
        key_push(*value, *direction, *nulls, out);
    }
}

/// Appends one column of a key to `out`.
#[inline]
pub fn key_push(value: Value<'_>, direction: Direction, nulls: NullOrdering, out: &mut Vec<u8>) {
    let start = out.len();
    match value {
        Value::Null => {
            out.push(match nulls {
                NullOrdering::First => NULL_FIRST,
                NullOrdering::Last => NULL_LAST,
            });
            return;
        }
        Value::Int(int) => push_int(int, out),
        Value::Number(number) => number::push(number, out),
        Value::Double(double) => {
            out.push(MIDDLE);
            out.extend_from_slice(&highest_first(sortable(double)));
        }
        Value::Text(text) => {
            push_text(text, out);
            out.push(END);
        }
        Value::Bytes(bytes) => push_bytes(bytes, out),
        Value::Boolean(is) => out.push(LOW_ESCAPE + u8::from(is)),
        Value::Date(day) => push_int(day.days().into(), out),
        Value::Timestamp(moment) => push_int(moment.us(), out),
        Value::Interval(span) => {
            let turned = (span.span() as u128) ^ (1 << 127);
            out.push(MIDDLE);
            out.extend_from_slice(&highest_first((turned >> 64) as u64));
            out.extend_from_slice(&highest_first(turned as u64));
        }
    }
    if direction == Direction::Descending {
        invert(&mut out[start..]);
    }
}

fn invert(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = !*byte;
    }
}

#[inline]
fn push_int(int: i64, out: &mut Vec<u8>) {
    // In a number below zero, only the bytes that aren't all ones are significant.
    let magnitude = (int ^ (int >> 63)) as u64;
    let bytes = u64::BITS.div_ceil(8) - magnitude.leading_zeros() / 8;
    let first = if int < 0 { MIDDLE - 1 - bytes as u8 } else { MIDDLE + bytes as u8 };
    // All nine bytes are appended and the insignificant ones are truncated, which is cheaper than a
    // copy of unknown length.
    let shifted = (int as u64).checked_shl(u64::BITS - 8 * bytes).unwrap_or(0);
    let mut encoded = [first, 0, 0, 0, 0, 0, 0, 0, 0];
    encoded[1..].copy_from_slice(&highest_first(shifted));
    out.extend_from_slice(&encoded);
    out.truncate(out.len() - (8 - bytes as usize));
}

#[expect(clippy::big_endian_bytes, reason = "keys compare byte by byte, the highest first")]
fn highest_first(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// Appends the encoded bytes of a text, without the end.
#[inline]
fn push_text(text: &str, out: &mut Vec<u8>) {
    out.extend(text.as_bytes().iter().map(|byte| byte.wrapping_add(TEXT_SHIFT)));
}

fn push_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() + 1);
    for byte in bytes {
        match byte {
            ..=LOW_ESCAPE => out.extend_from_slice(&[LOW_ESCAPE, *byte]),
            HIGH_ESCAPE.. => out.extend_from_slice(&[HIGH_ESCAPE, *byte]),
            _ => out.push(*byte),
        }
    }
    out.push(END);
}
