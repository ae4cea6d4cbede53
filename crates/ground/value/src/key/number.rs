//! A NUMBER in a key: exponent and digits of base 100, as Oracle stores it.
//!
//! Invariants
//!   * no zeros at the end, so that a number has one form whatever its scale
//!   * the first byte is 0x02 to 0xfd: exponents of 100 are -64 to 60
//!
//! Callers: `key_push`; `decode`.

use crate::Number;
use crate::number::{POW10, SCALE_MAX};

const ZERO: u8 = 0x80;
const POSITIVE: i32 = 0xc1;
const NEGATIVE: i32 = 0x3e;
/// The end of the digits of a number below zero. It is higher than every digit.
const NEGATIVE_END: u8 = 102;
/// The most pairs that 38 digits take, when one pair lies half behind the point.
const PAIRS_MAX: usize = 20;
/// Ten to the power of 18: a chunk is divided in 64 bits.
const CHUNK: u128 = 1_000_000_000_000_000_000;

/// Appends the number.
pub(super) fn push(number: Number, out: &mut Vec<u8>) {
    if number.is_zero() {
        out.push(ZERO);
        return;
    }
    let (pairs, count, last_exponent) = pairs(number);
    let exponent = last_exponent + count as i32 - 1;
    let used = pairs[..count].iter().rev();
    // Zeros at the end of the number are the first of the pairs.
    let zeros = pairs.iter().take_while(|pair| **pair == 0).count();
    let digits = used.take(count - zeros);
    if number.is_negative() {
        out.push(first(NEGATIVE - exponent));
        out.extend(digits.map(|pair| 101 - pair));
        out.push(NEGATIVE_END);
    } else {
        out.push(first(POSITIVE + exponent));
        out.extend(digits.map(|pair| pair + 1));
        out.push(0);
    }
}

/// Reads a number, byte by byte, in the form without trailing zeros. None if no number has these
/// bytes.
pub(super) fn read<E>(mut byte: impl FnMut() -> Result<u8, E>) -> Result<Option<Number>, E> {
    let first = byte()?;
    if first == ZERO {
        return Ok(Some(Number::ZERO));
    }
    let is_negative = first < ZERO;
    let (exponent, end) = match is_negative {
        true => (NEGATIVE - i32::from(first), NEGATIVE_END),
        false => (i32::from(first) - POSITIVE, 0),
    };
    // The digits without the last pair, that pair, and the number of pairs.
    let (mut before, mut last, mut count) = (Some(0_u128), 0_u8, 0_i32);
    loop {
        let next = byte()?;
        if next == end {
            break;
        }
        let pair = if is_negative { 101_u8.checked_sub(next) } else { next.checked_sub(1) };
        before = before.and_then(|before| before.checked_mul(100)?.checked_add(last.into()));
        match pair.filter(|pair| *pair < 100 && count < PAIRS_MAX as i32) {
            Some(pair) => (last, count) = (pair, count + 1),
            None => return Ok(None),
        }
    }
    // The lower digit of the last pair may be a trailing zero.
    let (unit, digits, spare) = if last % 10 == 0 { (10, last / 10, 1) } else { (100, last, 0) };
    let magnitude = before.and_then(|before| before.checked_mul(unit)?.checked_add(digits.into()));
    let scale = 2 * (count - 1 - exponent) - spare;
    let magnitude = magnitude.filter(|it| (1..POW10[38]).contains(it) && scale <= SCALE_MAX);
    Ok(magnitude.map(|magnitude| Number::sound(is_negative, magnitude, scale)))
}

fn first(byte: i32) -> u8 {
    u8::try_from(byte).expect("exponents of 100 are -64 to 60")
}

/// The digits in pairs, the lowest first; the number of pairs; and the exponent of 100 of the
/// lowest.
fn pairs(number: Number) -> ([u8; PAIRS_MAX], usize, i32) {
    let (mut pairs, mut count) = ([0; PAIRS_MAX], 0);
    let (mut magnitude, scale) = (number.magnitude(), number.scale());
    let mut last_exponent = -scale.div_euclid(2);
    if scale.rem_euclid(2) == 1 {
        // The lowest digit is the upper half of its pair.
        pairs[0] = (magnitude % 10) as u8 * 10;
        (magnitude, count, last_exponent) = (magnitude / 10, 1, last_exponent - 1);
    }
    while magnitude != 0 {
        let (mut chunk, rest) = match u64::try_from(magnitude) {
            Ok(all) => (all, 0),
            Err(_) => ((magnitude % CHUNK) as u64, magnitude / CHUNK),
        };
        let full = if rest == 0 { 0 } else { count + 9 };
        while chunk != 0 || count < full {
            pairs[count] = (chunk % 100) as u8;
            (chunk, count) = (chunk / 100, count + 1);
        }
        magnitude = rest;
    }
    (pairs, count, last_exponent)
}
