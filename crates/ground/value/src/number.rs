//! Exact decimals of up to 38 digits: NUMBER.
//!
//! ```text
//!   value = magnitude × 10^-scale, negative or not        10.50 = 1050 × 10^-2
//! ```
//!
//! Invariants
//!   * the magnitude is below 10^38, the absolute value below 10^122; the scale is at most 128
//!   * zero is never negative and has scale 0
//!   * trailing zeros don't count: 1.0 and 1.00 are equal, hash and compare alike, and are written
//!     `1`; they are kept in memory, so that a column of NUMBER(10,2) is read and added without a
//!     division
//!
//! The range is a little narrower than Oracle's (1e-130 to 1e126). It covers every NUMBER(p,s) that
//! can be declared, and leaves room in the first byte of a key for NULL.
//!
//! Callers: `value`, `fit`, `row`, `key`; SQL for arithmetic.
//! Sources: Oracle Database SQL Language Reference, "NUMBER Data Type", for digits and rounding.

mod arithmetic;
mod text;
mod wide;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Neg;

use wide::digits;
pub(crate) use wide::{POW10, pow10};

/// The most digits of a number.
pub(crate) const DIGITS_MAX: u32 = 38;
/// The most digits behind the point.
pub(crate) const SCALE_MAX: i32 = 128;
/// The exponent of the range: the absolute value of a number is below 10^122.
const EXPONENT_MAX: i32 = 122;
/// The lowest scale, that of one digit and 121 zeros.
pub(crate) const SCALE_MIN: i32 = 1 - EXPONENT_MAX;

/// An exact decimal number.
#[derive(Clone, Copy)]
pub struct Number {
    // Two halves, so that a number has 24 bytes and not 32.
    low: u64,
    high: u64,
    scale: i16,
    negative: bool,
}

/// The reason why a calculation or a conversion gives no number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NumberFault {
    /// The result would be 1e122 or more.
    Overflow,
    /// The divisor is zero.
    DivisionByZero,
    /// The text, or the floating-point value, isn't a number.
    NotANumber,
}

impl fmt::Display for NumberFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NumberFault::Overflow => "the number is too large: NUMBER goes to 1e122",
            NumberFault::DivisionByZero => "a number can't be divided by zero",
            NumberFault::NotANumber => {
                "not a number: write digits, with a sign, a point or an exponent such as -12.5e3"
            }
        })
    }
}

impl std::error::Error for NumberFault {}

impl Number {
    /// Zero.
    pub const ZERO: Number = Number { low: 0, high: 0, scale: 0, negative: false };

    /// `coefficient` × 10^-`scale`: 1050 and 2 give 10.50. It is rounded if it has more than 38
    /// digits.
    pub fn from_parts(coefficient: i128, scale: i32) -> Result<Number, NumberFault> {
        let magnitude = coefficient.unsigned_abs();
        Number::rounded(coefficient < 0, wide::Wide::narrow(magnitude), scale)
    }

    /// A number of parts that already hold the invariants.
    #[inline]
    pub(crate) fn sound(negative: bool, magnitude: u128, scale: i32) -> Number {
        debug_assert!(magnitude < POW10[38] && scale <= SCALE_MAX);
        if magnitude == 0 {
            return Number::ZERO;
        }
        let (low, high) = (magnitude as u64, (magnitude >> 64) as u64);
        let scale = i16::try_from(scale).expect("a scale lies between -121 and 128");
        Number { low, high, scale, negative }
    }

    /// The digits without sign and point.
    #[inline]
    pub(crate) fn magnitude(self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }

    /// The digits with their sign, without the point.
    #[inline]
    pub fn coefficient(self) -> i128 {
        let magnitude = i128::try_from(self.magnitude()).expect("38 digits fit");
        if self.negative { -magnitude } else { magnitude }
    }

    /// The number of digits behind the point. If negative, the number of zeros that follow the
    /// digits.
    #[inline]
    pub fn scale(self) -> i32 {
        self.scale.into()
    }

    /// Whether the number is below zero.
    pub fn is_negative(self) -> bool {
        self.negative
    }

    /// Whether the number is zero.
    #[inline]
    pub fn is_zero(self) -> bool {
        self.low == 0 && self.high == 0
    }

    /// The number without its sign.
    #[must_use]
    pub fn abs(self) -> Number {
        Number { negative: false, ..self }
    }

    /// The same number without trailing zeros. This is the form that is stored and hashed.
    #[must_use]
    pub fn canonical(self) -> Number {
        let (mut magnitude, mut scale) = (self.magnitude(), self.scale());
        if magnitude == 0 {
            return self;
        }
        // A number has no more trailing decimal zeros than binary ones.
        let mut step = 32;
        while step > 0 {
            while magnitude.trailing_zeros() >= step && magnitude.is_multiple_of(pow10(step)) {
                (magnitude, scale) = (magnitude / pow10(step), scale - step as i32);
            }
            step /= 2;
        }
        Number::sound(self.negative, magnitude, scale)
    }

    /// The coefficient at that scale; none if it would need rounding or more than 38 digits.
    pub fn at_scale(self, scale: i32) -> Option<i128> {
        let up = scale.saturating_sub(self.scale());
        let magnitude = self.magnitude();
        let scaled = if up == 0 || magnitude == 0 {
            magnitude
        } else if up > 0 {
            let up = u32::try_from(up).ok().filter(|up| *up <= DIGITS_MAX)?;
            magnitude.checked_mul(pow10(up)).filter(|m| *m < POW10[38])?
        } else {
            let down = up.unsigned_abs();
            let unit = POW10.get(down as usize).filter(|unit| magnitude.is_multiple_of(**unit))?;
            magnitude / unit
        };
        let scaled = i128::try_from(scaled).ok()?;
        Some(if self.negative { -scaled } else { scaled })
    }

    /// Rounds to `places` digits behind the point, half away from zero, as Oracle does. A negative
    /// `places` rounds before the point.
    pub fn round(self, places: i32) -> Result<Number, NumberFault> {
        if self.scale() <= places {
            return Ok(self);
        }
        let drop = self.scale().abs_diff(places);
        let magnitude = match drop {
            1..=DIGITS_MAX => {
                let kept = self.magnitude() / pow10(drop - 1);
                kept / 10 + u128::from(kept % 10 >= 5)
            }
            _ => 0,
        };
        if magnitude == 0 {
            return Ok(Number::ZERO);
        }
        Number::rounded(self.negative, wide::Wide::narrow(magnitude), places)
    }

    /// Truncates to `places` digits behind the point.
    #[must_use]
    pub fn truncate(self, places: i32) -> Number {
        if self.scale() <= places {
            return self;
        }
        let drop = self.scale().abs_diff(places);
        let magnitude = POW10.get(drop as usize).map_or(0, |unit| self.magnitude() / unit);
        if magnitude == 0 {
            return Number::ZERO;
        }
        Number::sound(self.negative, magnitude, places)
    }

    /// The whole number, rounded half away from zero; none if it has more than 64 bits.
    pub fn to_i64(self) -> Option<i64> {
        let whole = self.round(0).ok()?.at_scale(0)?;
        i64::try_from(whole).ok()
    }

    /// The nearest floating-point number.
    pub fn to_f64(self) -> f64 {
        // Both operands are exact, so the quotient is the nearest double.
        if self.high == 0 && self.low < 1 << 53 && (0..=22).contains(&self.scale) {
            let quotient = self.low as f64 / 10_f64.powi(self.scale.into());
            return if self.negative { -quotient } else { quotient };
        }
        let text = format!("{}e{}", self.coefficient(), -self.scale());
        text.parse().expect("digits and an exponent are a number")
    }

    /// Converts a floating-point number. A whole number of at most 38 digits is converted exactly;
    /// any other becomes the shortest decimal that reads back as the same double. So no two doubles
    /// become one decimal, and they keep their order (rule VA9).
    pub fn from_f64(value: f64) -> Result<Number, NumberFault> {
        if !value.is_finite() {
            return Err(NumberFault::NotANumber);
        }
        if value.fract() == 0.0 && value.abs() < WHOLE_BELOW {
            let whole = value as i128;
            return Ok(Number::sound(whole < 0, whole.unsigned_abs(), 0));
        }
        format!("{value:e}").parse()
    }

    /// The exponent e with 10^(e-1) ≤ |value| < 10^e.
    pub(crate) fn exponent(self) -> i32 {
        digits(self.magnitude()) as i32 - self.scale()
    }
}

/// The bound of whole doubles: 1e38 as a double is a little less than 10^38, so a double below it
/// has at most 38 digits.
const WHOLE_BELOW: f64 = 1e38;

impl From<i64> for Number {
    fn from(value: i64) -> Number {
        Number::sound(value < 0, value.unsigned_abs().into(), 0)
    }
}

impl Neg for Number {
    type Output = Number;

    fn neg(self) -> Number {
        Number { negative: !self.negative && !self.is_zero(), ..self }
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        let of_signs = other.negative.cmp(&self.negative);
        let magnitudes = || {
            if self.scale == other.scale {
                return self.magnitude().cmp(&other.magnitude());
            }
            if self.is_zero() || other.is_zero() {
                return other.is_zero().cmp(&self.is_zero());
            }
            self.exponent().cmp(&other.exponent()).then_with(|| {
                // Both have equally many digits before the point, so the one with fewer behind it
                // can be scaled up.
                let [a, b] = [self.magnitude(), other.magnitude()];
                let by = pow10(self.scale().abs_diff(other.scale()));
                if self.scale < other.scale { (a * by).cmp(&b) } else { a.cmp(&(b * by)) }
            })
        };
        of_signs.then_with(|| {
            let order = magnitudes();
            if self.negative { order.reverse() } else { order }
        })
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let one = self.canonical();
        (one.low, one.high, one.scale, one.negative).hash(state);
    }
}
