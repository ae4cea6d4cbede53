//! Powers, exponentials and logarithms of NUMBERs.
//!
//! They are computed with the 38 digits that a NUMBER has and rounded to 32, so that what the
//! rounding of the steps leaves in the last digits isn't seen: `ln(exp(2))` is 2. A power with a
//! whole exponent keeps all 38.
//!
//! Invariants
//!   * a result of 1e122 or more is refused, and one too small for 128 places is 0
//!
//! Callers: `arithmetic`, `functions`.
//! Sources: the series of e^x, and Halley's iteration for the logarithm.

use stop::SqlState;
use value::{Number, NumberFault};

use crate::Fault;
use crate::arithmetic::{negative_to_fraction, zero_to_negative};

/// The digits of a result that isn't exact.
const DIGITS: i32 = 32;
/// The places behind the point of a logarithm: e^y is known to 37, whatever y is.
const PLACES: i32 = 36;
/// The exponents of e whose powers are NUMBERs: e^281 is above 1e122, and e^-296 below 1e-128.
const EXPONENT_MAX: i64 = 281;
const EXPONENT_MIN: i64 = -296;
/// e, with 38 digits.
const E: Constant =
    Constant { digits: 27_182_818_284_590_452_353_602_874_713_526_624_978, scale: 37 };
/// The natural logarithm of 10, with 38 digits.
const LN_10: Constant =
    Constant { digits: 23_025_850_929_940_456_840_179_914_546_843_642_076, scale: 37 };

/// A number that is known.
struct Constant {
    digits: i128,
    scale: i32,
}

impl Constant {
    fn get(&self) -> Number {
        Number::from_parts(self.digits, self.scale).expect("38 digits")
    }
}

fn one() -> Number {
    Number::from(1)
}

/// Rounds to [`DIGITS`] digits.
fn shortened(number: Number) -> Result<Number, NumberFault> {
    let digits = number.coefficient().unsigned_abs().checked_ilog10().map_or(0, |log| log + 1);
    // The first digit stands at 10^(digits - 1 - scale).
    number.round(DIGITS - digits.cast_signed() + number.scale())
}

/// `base` to the power of `exponent`.
pub(crate) fn power(base: Number, exponent: Number) -> Result<Number, Fault> {
    if base.is_zero() && exponent.is_negative() {
        return Err(zero_to_negative());
    }
    if exponent.truncate(0) == exponent {
        return Ok(whole_power(base, exponent)?);
    }
    if base.is_negative() {
        return Err(negative_to_fraction());
    }
    if base.is_zero() {
        return Ok(Number::ZERO);
    }
    Ok(shortened(e_to(exponent.checked_mul(ln_of(base)?)?)?)?)
}

/// The power with a whole exponent, by squares.
fn whole_power(base: Number, exponent: Number) -> Result<Number, NumberFault> {
    let size = base.abs();
    let is_odd = exponent.checked_rem(Number::from(2))? != Number::ZERO;
    let signed = |number: Number| if base.is_negative() && is_odd { -number } else { number };
    if size == one() || (base.is_zero() && !exponent.is_zero()) {
        return Ok(signed(size));
    }
    // Beyond that the power of every number other than 0 and 1 is out of range, or too small.
    let times = exponent.abs().to_i64().filter(|times| *times < 1 << 40);
    let grows = (size > one()) != exponent.is_negative();
    let out_of_range = if grows { Err(NumberFault::Overflow) } else { Ok(Number::ZERO) };
    let Some(mut times) = times else { return out_of_range };
    // A number below 1 has small powers, of which few digits are known: its inverse is raised.
    let inverts_first = exponent.is_negative() && size < one();
    let start = if inverts_first { one().checked_div(size)? } else { size };
    let (mut result, mut square) = (one(), start);
    loop {
        if times & 1 == 1 {
            result = match result.checked_mul(square) {
                Ok(product) => product,
                Err(_) => return out_of_range,
            };
        }
        times >>= 1;
        if times == 0 {
            break;
        }
        square = match square.checked_mul(square) {
            Ok(square) => square,
            Err(_) => return out_of_range,
        };
    }
    let inverts_last = exponent.is_negative() && !inverts_first;
    Ok(signed(if inverts_last { one().checked_div(result)? } else { result }))
}

/// e to the power of a number.
pub(crate) fn exp(exponent: Number) -> Result<Number, Fault> {
    Ok(shortened(e_to(exponent)?)?)
}

/// e^x = e^n · e^(x - n), n being the nearest whole number.
fn e_to(exponent: Number) -> Result<Number, NumberFault> {
    let whole = match exponent.to_i64() {
        Some(whole) if whole > EXPONENT_MAX => return Err(NumberFault::Overflow),
        Some(whole) if whole >= EXPONENT_MIN => whole,
        None if !exponent.is_negative() => return Err(NumberFault::Overflow),
        _ => return Ok(Number::ZERO),
    };
    let rest = exponent.checked_sub(Number::from(whole))?;
    // 1 + x/1 (1 + x/2 (1 + x/3 (...))): with |x| up to 1/2, 30 terms give 40 digits.
    let mut sum = one();
    for term in (1..=30).rev() {
        sum = one().checked_add(rest.checked_mul(sum)?.checked_div(Number::from(term))?)?;
    }
    // In halves, for e^281 is too large where e^281 / 2 isn't.
    let half = whole / 2;
    let part = whole_power(E.get(), Number::from(half))?.checked_mul(sum)?;
    whole_power(E.get(), Number::from(whole - half))?.checked_mul(part)
}

/// The natural logarithm.
pub(crate) fn ln(number: Number) -> Result<Number, Fault> {
    check_above_zero(number)?;
    Ok(shortened(ln_of(number)?.round(PLACES)?)?)
}

/// The logarithm of a number to base 10.
pub(crate) fn log10(number: Number) -> Result<Number, Fault> {
    check_above_zero(number)?;
    Ok(shortened(ln_of(number)?.checked_div(LN_10.get())?)?)
}

/// The logarithm of a number to a base.
pub(crate) fn log(base: Number, number: Number) -> Result<Number, Fault> {
    check_above_zero(base)?;
    check_above_zero(number)?;
    Ok(shortened(ln_of(number)?.checked_div(ln_of(base)?)?)?)
}

/// The natural logarithm of a number above zero: y + 2 (x - e^y) / (x + e^y) triples the digits of
/// a logarithm y that is nearly right.
fn ln_of(number: Number) -> Result<Number, NumberFault> {
    // ln x = ln (x / 10^n) + n ln 10: the mantissa lies between 0.3 and 3, so that nothing is lost
    // where both cancel each other, just below 1.
    let mut digits =
        number.coefficient().unsigned_abs().checked_ilog10().unwrap_or(0).cast_signed();
    let mut mantissa = Number::from_parts(number.coefficient(), digits)?;
    if mantissa > Number::from(3) {
        digits += 1;
        mantissa = Number::from_parts(number.coefficient(), digits)?;
    }
    let tens = Number::from(i64::from(digits - number.scale()));
    let mut found = Number::from_f64(mantissa.to_f64().ln())?;
    for _ in 0..2 {
        let power = e_to(found)?;
        let step = mantissa.checked_sub(power)?.checked_div(mantissa.checked_add(power)?)?;
        found = found.checked_add(step.checked_mul(Number::from(2))?)?;
    }
    found.checked_add(tens.checked_mul(LN_10.get())?)
}

/// Refuses the logarithm of what isn't above zero.
fn check_above_zero(number: Number) -> Result<(), Fault> {
    if number.is_negative() || number.is_zero() {
        return Err(no_logarithm(number.is_zero()));
    }
    Ok(())
}

/// Zero and numbers below it have no logarithm.
#[cold]
pub(crate) fn no_logarithm(of_zero: bool) -> Fault {
    let of = if of_zero { "zero" } else { "a negative number" };
    let say = format!("cannot take logarithm of {of}");
    Fault::new(SqlState::INVALID_ARGUMENT_FOR_LOGARITHM, say)
}

/// The square root.
pub(crate) fn sqrt(number: Number) -> Result<Number, Fault> {
    number.checked_sqrt().ok_or_else(no_root)
}

/// A number below zero has no square root.
#[cold]
pub(crate) fn no_root() -> Fault {
    let say = "cannot take square root of a negative number";
    Fault::new(SqlState::INVALID_ARGUMENT_FOR_POWER_FUNCTION, say)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        text.parse().expect("a number")
    }

    fn said(result: Result<Number, Fault>) -> String {
        result.map_or_else(|fault| fault.state().to_string(), |number| number.to_string())
    }

    #[test]
    fn powers_with_whole_exponents_are_exact() {
        let power = |base: &str, exponent: &str| said(power(number(base), number(exponent)));
        assert_eq!(power("1.5", "2"), "2.25");
        assert_eq!(power("3", "40"), "12157665459056928801");
        assert_eq!(power("-2", "3"), "-8");
        assert_eq!(power("2", "-2"), "0.25");
        assert_eq!(power("0", "0"), "1");
        assert_eq!(power("0", "5"), "0");
        assert_eq!(power("-1", "1000000000000000000000001"), "-1");
        assert_eq!(power("0", "-1"), "2201F");
        assert_eq!(power("-8", "0.5"), "2201F");
        assert_eq!(power("10", "122"), "22003");
        assert_eq!(power("10", "-200"), "0");
        assert_eq!(power("0.1", "1e30"), "0");
        assert_eq!(power("0.1", "-122"), "22003");
    }

    #[test]
    fn exponentials_and_logarithms_have_32_digits() {
        assert_eq!(said(exp(number("1"))), "2.7182818284590452353602874713527");
        assert_eq!(said(ln(number("2"))), "0.69314718055994530941723212145818");
        assert_eq!(said(log10(number("1000"))), "3");
        assert_eq!(said(log(number("2"), number("64"))), "6");
        assert_eq!(said(power(number("4"), number("0.5"))), "2");
        assert_eq!(said(exp(ln(number("2")).expect("above 0"))), "2");
        assert_eq!(said(exp(number("-0"))), "1");
        assert_eq!(said(ln(number("1"))), "0");
        assert_eq!(said(exp(number("1000"))), "22003");
        assert_eq!(said(exp(number("-1000"))), "0");
        assert_eq!(said(ln(number("0"))), "2201E");
        assert_eq!(said(ln(number("-1"))), "2201E");
        assert_eq!(said(ln(number("1e-128")))[..9], *"-294.7308");
        assert_eq!(said(sqrt(number("2"))), "1.4142135623730950488016887242096980786");
        assert_eq!(said(sqrt(number("-2"))), "2201F");
    }
}
