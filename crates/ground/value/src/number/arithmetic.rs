//! Sums, products and quotients. Each is exact and then rounded once, to 38 digits, half away from
//! zero.
//!
//! Callers: SQL; `parse` and the casts for the rounding.
//! Sources: as `number`.

use super::wide::{POW10, Wide, digits, pow10};
use super::{DIGITS_MAX, EXPONENT_MAX, Number, NumberFault, SCALE_MAX};

/// From this scale on whatever 38 digits have is within the range.
const SCALE_OF_ANY: i32 = DIGITS_MAX as i32 - EXPONENT_MAX;

impl Number {
    /// The sum.
    pub fn checked_add(self, other: Number) -> Result<Number, NumberFault> {
        if self.scale == other.scale
            && let Some(sum) = self.coefficient().checked_add(other.coefficient())
            && sum.unsigned_abs() < POW10[38]
            && (self.scale() >= SCALE_OF_ANY
                || digits(sum.unsigned_abs()) as i32 - self.scale() <= EXPONENT_MAX)
        {
            return Ok(Number::sound(sum < 0, sum.unsigned_abs(), self.scale()));
        }
        if self.is_zero() {
            return Ok(other);
        }
        if other.is_zero() {
            return Ok(self);
        }
        let (coarse, fine) = if self.scale <= other.scale { (self, other) } else { (other, self) };
        add_aligned(coarse, fine)
    }

    /// The difference.
    pub fn checked_sub(self, other: Number) -> Result<Number, NumberFault> {
        self.checked_add(-other)
    }

    /// The product.
    pub fn checked_mul(self, other: Number) -> Result<Number, NumberFault> {
        let product = Wide::product(self.magnitude(), other.magnitude());
        Number::rounded(self.negative != other.negative, product, self.scale() + other.scale())
    }

    /// The quotient.
    pub fn checked_div(self, other: Number) -> Result<Number, NumberFault> {
        if other.is_zero() {
            return Err(NumberFault::DivisionByZero);
        }
        if self.is_zero() {
            return Ok(Number::ZERO);
        }
        let (a, b) = (self.magnitude(), other.magnitude());
        // The zeros give the quotient 39 or 40 digits. That is more than are kept, so the remainder
        // of the division can't change the rounding. The dividend stays below 10^77.
        let zeros = DIGITS_MAX + 1 + digits(b) - digits(a);
        let first = zeros.min(DIGITS_MAX - digits(a));
        let second = (zeros - first).min(DIGITS_MAX);
        let last = u64::from(zeros - first > second) * 9 + 1;
        let dividend = Wide::product(a * pow10(first), pow10(second)).times(last);
        let scale = self.scale() - other.scale() + zeros as i32;
        Number::rounded(self.negative != other.negative, dividend.divide(b), scale)
    }

    /// What is left of a division without a fraction: `a - b * trunc(a / b)`, exactly. It has the
    /// sign of this number.
    pub fn checked_rem(self, other: Number) -> Result<Number, NumberFault> {
        if other.is_zero() {
            return Err(NumberFault::DivisionByZero);
        }
        let (a, b) = (self.magnitude(), other.magnitude());
        let scale = self.scale().max(other.scale());
        let (up, up_other) = (scale.abs_diff(self.scale()), scale.abs_diff(other.scale()));
        let rest = if up_other > 0 {
            // A divisor that is longer than any number is larger than this one.
            let unit = POW10.get(up_other as usize);
            unit.and_then(|unit| b.checked_mul(*unit)).map_or(a, |b| a % b)
        } else {
            let mut rest = a % b;
            for step in (0..up).step_by(19) {
                let zeros = 10_u64.pow((up - step).min(19));
                rest = Wide::narrow(rest).times(zeros).remainder(b);
            }
            rest
        };
        Number::rounded(self.negative, Wide::narrow(rest), scale)
    }

    /// The square root; none of a number below zero.
    pub fn checked_sqrt(self) -> Option<Number> {
        if self.is_zero() {
            return Some(Number::ZERO);
        }
        if self.negative {
            return None;
        }
        // The zeros give the radicand 75 or 76 digits, and the root 38; half the scale must be
        // whole.
        let zeros = 2 * DIGITS_MAX - digits(self.magnitude());
        let zeros = zeros - u32::from((self.scale() + zeros as i32) % 2 != 0);
        let first = zeros.min(DIGITS_MAX - digits(self.magnitude()));
        let radicand = Wide::product(self.magnitude() * pow10(first), pow10(zeros - first));
        let root = radicand.root();
        let scale = (self.scale() + zeros as i32) / 2;
        Number::rounded(false, Wide::narrow(root), scale).ok()
    }

    /// The largest whole number that isn't above this one.
    pub fn floor(self) -> Result<Number, NumberFault> {
        let whole = self.truncate(0);
        let below = self.negative && whole != self;
        if below { whole.checked_sub(Number::from(1)) } else { Ok(whole) }
    }

    /// The smallest whole number that isn't below this one.
    pub fn ceil(self) -> Result<Number, NumberFault> {
        Ok(-(-self).floor()?)
    }

    /// `magnitude` × 10^-`scale`, rounded once to a number.
    pub(super) fn rounded(
        negative: bool,
        magnitude: Wide,
        scale: i32,
    ) -> Result<Number, NumberFault> {
        let too_many = magnitude.digits() as i32 - DIGITS_MAX as i32;
        let drop = too_many.max(scale.saturating_sub(SCALE_MAX)).max(0);
        let kept = match u32::try_from(drop).expect("not below zero") {
            0 => magnitude,
            drop => {
                let (kept, last) = magnitude.without_digits(drop - 1).divide_short(10);
                kept.plus(u128::from(last >= 5))
            }
        };
        let kept = kept.to_u128().expect("38 digits are left, or the next power of ten");
        let (kept, scale) = match kept {
            0 => return Ok(Number::ZERO),
            kept if kept == POW10[38] => (POW10[37], scale.saturating_sub(drop + 1)),
            kept => (kept, scale.saturating_sub(drop)),
        };
        if (digits(kept) as i32).saturating_sub(scale) > EXPONENT_MAX {
            return Err(NumberFault::Overflow);
        }
        Ok(Number::sound(negative, kept, scale))
    }
}

/// The sum of two numbers other than zero, where `fine` has at least as many places behind the
/// point.
fn add_aligned(coarse: Number, fine: Number) -> Result<Number, NumberFault> {
    // The coarse number is given all the digits that it can have, and then 38 more.
    let room = DIGITS_MAX - digits(coarse.magnitude());
    let gap = fine.scale().abs_diff(coarse.scale());
    let (up, gap) = (room.min(gap), gap - room.min(gap));
    let leading = coarse.magnitude() * pow10(up);
    let zeros = gap.min(DIGITS_MAX);
    let leading = Wide::product(leading, pow10(zeros));
    let scale = coarse.scale() + (up + zeros) as i32;
    // The digits of the fine number below that are cut off. The fact that there were any counts
    // below.
    let cut = POW10.get((gap - zeros) as usize);
    let trailing = cut.map_or(0, |unit| fine.magnitude() / unit);
    let is_cut = cut.is_none_or(|unit| !fine.magnitude().is_multiple_of(*unit));
    if coarse.negative == fine.negative {
        return Number::rounded(coarse.negative, leading.plus(trailing), scale);
    }
    // Subtracting a fraction more than `trailing`, rounded down, leaves one less.
    let taken = trailing + u128::from(is_cut);
    if leading >= Wide::narrow(taken) {
        return Number::rounded(coarse.negative, leading.minus(taken), scale);
    }
    let leading = leading.to_u128().expect("it is less than a number of 38 digits");
    Number::rounded(fine.negative, Wide::narrow(trailing - leading), scale)
}
