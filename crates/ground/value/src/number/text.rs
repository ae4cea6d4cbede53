//! Numbers as text: plain decimals are written, and an optional exponent is read.
//!
//! Callers: SQL and the wire; the messages of `fit`.

use std::fmt;
use std::str::FromStr;

use super::wide::Wide;
use super::{DIGITS_MAX, Number, NumberFault, SCALE_MAX};

/// The limit of exponents that are read; a larger one counts as infinite.
const EXPONENT_LIMIT: i64 = 1 << 30;

/// The most digits, with their point, of a text that is read in 64 bits.
const SHORT_BYTES_MAX: usize = 18;

/// Writes plain digits, no exponent, and no trailing zeros behind the point: `-0.05`, `1200`.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = self.canonical();
        let digits = one.magnitude().to_string();
        let text = match usize::try_from(one.scale()) {
            Ok(0) => digits,
            Ok(scale) if scale < digits.len() => {
                let (whole, fraction) = digits.split_at(digits.len() - scale);
                format!("{whole}.{fraction}")
            }
            Ok(scale) => format!("0.{}{digits}", "0".repeat(scale - digits.len())),
            Err(_) => digits + &"0".repeat(one.scale().unsigned_abs() as usize),
        };
        f.pad_integral(!one.negative, "", &text)
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}e{}", self.coefficient(), -self.scale())
    }
}

/// Parses text such as `-12.50e3`, with blanks around it. More than 38 digits are rounded.
impl FromStr for Number {
    type Err = NumberFault;

    fn from_str(text: &str) -> Result<Number, NumberFault> {
        match short(text.as_bytes()) {
            Some(number) => Ok(number),
            None => long(text),
        }
    }
}

/// The number of a text of a few digits, with a minus and a point or without. None for any other
/// text, which may be a number all the same.
#[inline]
fn short(text: &[u8]) -> Option<Number> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.len() > SHORT_BYTES_MAX {
        return None;
    }
    let (mut magnitude, mut point) = (0_u64, None);
    for (at, &byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => magnitude = magnitude * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() => point = Some(at),
            _ => return None,
        }
    }
    let count = digits.len() - usize::from(point.is_some());
    let places = point.map_or(0, |at| digits.len() - 1 - at);
    (count > 0).then(|| Number::sound(negative, magnitude.into(), places as i32))
}

/// The number of any text.
fn long(text: &str) -> Result<Number, NumberFault> {
    let text = text.trim();
    let (negative, text) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)?),
        None => (text, 0),
    };
    let (magnitude, next, scale) = read_digits(mantissa)?;
    let scale = scale - exponent;
    // Beyond this limit the scale alone decides. The limit keeps it within an i32.
    let scale = scale.clamp(-EXPONENT_LIMIT, EXPONENT_LIMIT);
    let scale = i32::try_from(scale).expect("clamped to 30 bits");
    // The first digit left out rounds, unless the scale makes digits before it round.
    let up = next >= 5 && scale <= SCALE_MAX;
    Number::rounded(negative, Wide::narrow(magnitude + u128::from(up)), scale)
}

/// The first 38 significant digits, the digit behind them, and the number of the 38 that are behind
/// the point.
fn read_digits(text: &str) -> Result<(u128, u8, i64), NumberFault> {
    let (mut magnitude, mut next, mut scale) = (0_u128, None, 0_i64);
    let (mut point, mut any, mut count) = (false, false, 0);
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' if count < DIGITS_MAX => {
                magnitude = magnitude * 10 + u128::from(byte - b'0');
                // Leading zeros don't count.
                count += u32::from(magnitude != 0);
                scale += i64::from(point);
                any = true;
            }
            b'0'..=b'9' => {
                next = next.or(Some(byte - b'0'));
                scale -= i64::from(!point);
            }
            b'.' if !point => point = true,
            _ => return Err(NumberFault::NotANumber),
        }
    }
    if any { Ok((magnitude, next.unwrap_or(0), scale)) } else { Err(NumberFault::NotANumber) }
}

fn read_exponent(text: &str) -> Result<i64, NumberFault> {
    let (negative, digits) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NumberFault::NotANumber);
    }
    let exponent = digits.parse().unwrap_or(EXPONENT_LIMIT).min(EXPONENT_LIMIT);
    Ok(if negative { -exponent } else { exponent })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts that are read in a short way are the numbers that they are by the long one, with as
    /// many places; of any other the short way says nothing.
    #[test]
    fn a_short_text_is_the_number_that_it_is_by_the_long_way() {
        let parts = ["", "0", "7", "00", "15", "007", "99999999", "123456789"];
        let mut short_ones = 0;
        let mut texts = Vec::new();
        for sign in ["", "-", "+", " "] {
            for whole in parts {
                for point in ["", ".", "..", "e", "-"] {
                    texts.extend(parts.map(|behind| format!("{sign}{whole}{point}{behind}")));
                }
            }
        }
        for text in texts {
            let shown = |number: Number| format!("{number:?}");
            let by_long = long(&text).map(shown);
            if let Some(number) = short(text.as_bytes()) {
                assert_eq!(Ok(shown(number)), by_long, "{text:?}");
                short_ones += 1;
            }
            assert_eq!(text.parse::<Number>().map(shown), by_long, "{text:?}");
        }
        assert!(short_ones > 200, "{short_ones} texts are short");
        for text in ["", "-", ".", "-.", "1e3", " 1", "+1", "1234567890123456789"] {
            assert!(short(text.as_bytes()).is_none(), "{text:?}");
        }
    }
}
