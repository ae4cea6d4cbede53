//! Whole numbers of 256 bits, for a product or an aligned sum of two numbers of 38 digits.
//!
//! Invariants
//!   * no operation overflows for the operands that `arithmetic` gives: at most 77 digits, below
//!     1.15e77
//!
//! Callers: `arithmetic`.
//! Sources: Knuth, The Art of Computer Programming 2, 4.3.1, for products and short division.

const HALF: u32 = 64;

/// The powers of ten from 0 to 38.
pub(crate) const POW10: [u128; 39] = {
    let mut table = [1; 39];
    let mut i = 1;
    while i < table.len() {
        table[i] = table[i - 1] * 10;
        i += 1;
    }
    table
};

/// The most digits that one short division removes.
const CHUNK: u32 = 19;

/// The number of decimal digits; 0 has none.
pub(crate) fn digits(value: u128) -> u32 {
    value.checked_ilog10().map_or(0, |log| log + 1)
}

/// 10 to the power of `exponent`, at most 38.
pub(crate) fn pow10(exponent: u32) -> u128 {
    POW10[exponent as usize]
}

/// An unsigned number of 256 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Wide {
    high: u128,
    low: u128,
}

impl Wide {
    /// The product of two numbers below 2^127, or of any number with one below 2^64.
    pub(crate) fn product(a: u128, b: u128) -> Wide {
        let (a1, a0) = split(a);
        let (b1, b0) = split(b);
        // The sum is below 2^128 because of the bounds of the factors.
        let middle = a1 * b0 + a0 * b1;
        let (low, carry) = (a0 * b0).overflowing_add(middle << HALF);
        Wide { high: a1 * b1 + (middle >> HALF) + u128::from(carry), low }
    }

    pub(crate) fn narrow(value: u128) -> Wide {
        Wide { high: 0, low: value }
    }

    /// The number in 128 bits, if it fits.
    pub(crate) fn to_u128(self) -> Option<u128> {
        (self.high == 0).then_some(self.low)
    }

    pub(crate) fn times(self, by: u64) -> Wide {
        let low = Wide::product(self.low, by.into());
        Wide { high: low.high + self.high * u128::from(by), low: low.low }
    }

    pub(crate) fn plus(self, other: u128) -> Wide {
        let (low, carry) = self.low.overflowing_add(other);
        Wide { high: self.high + u128::from(carry), low }
    }

    /// The difference, which must not be below zero.
    pub(crate) fn minus(self, other: u128) -> Wide {
        let (low, borrow) = self.low.overflowing_sub(other);
        Wide { high: self.high - u128::from(borrow), low }
    }

    pub(crate) fn digits(self) -> u32 {
        match self.to_u128() {
            Some(value) => digits(value),
            None => 38 + self.without_digits(38).digits(),
        }
    }

    /// The number without its last `count` digits.
    pub(crate) fn without_digits(self, count: u32) -> Wide {
        let (mut rest, mut left) = (self, count);
        while left > 0 && rest != Wide::narrow(0) {
            let chunk = left.min(CHUNK);
            rest = rest.divide_short(10_u64.pow(chunk)).0;
            left -= chunk;
        }
        rest
    }

    /// The quotient and the remainder of a division by a 64-bit number.
    pub(crate) fn divide_short(self, by: u64) -> (Wide, u64) {
        let by = u128::from(by);
        let mut rest = 0;
        let mut half = |limb: u128| {
            let sum = (rest << HALF) | limb;
            rest = sum % by;
            sum / by
        };
        let [(h1, h0), (l1, l0)] = [split(self.high), split(self.low)];
        let high = (half(h1) << HALF) | half(h0);
        let low = (half(l1) << HALF) | half(l0);
        (Wide { high, low }, u64::try_from(rest).expect("less than a divisor of 64 bits"))
    }

    /// The quotient, rounded down, of a division by a number below 2^127.
    pub(crate) fn divide(self, by: u128) -> Wide {
        if let Ok(short) = u64::try_from(by) {
            return self.divide_short(short).0;
        }
        // The division goes bit by bit: a remainder below 2^127 can be doubled.
        let (mut quotient, mut rest) = (Wide { high: 0, low: 0 }, self.high % by);
        quotient.high = self.high / by;
        for bit in (0..u128::BITS).rev() {
            rest = (rest << 1) | (self.low >> bit & 1);
            if rest >= by {
                rest -= by;
                quotient.low |= 1 << bit;
            }
        }
        quotient
    }

    /// The remainder of a division by a number below 2^127.
    pub(crate) fn remainder(self, by: u128) -> u128 {
        let mut rest = self.high % by;
        for bit in (0..u128::BITS).rev() {
            rest = (rest << 1) | (self.low >> bit & 1);
            if rest >= by {
                rest -= by;
            }
        }
        rest
    }

    /// The square root, rounded half up, of a number of 75 or 76 digits.
    pub(crate) fn root(self) -> u128 {
        // A bound from above: Newton's steps fall to the root from there, in fewer than ten steps,
        // for the first guess is right to 15 digits.
        let estimate = (self.high as f64 * 2_f64.powi(128)).sqrt();
        let mut root = (estimate * 1.000_001) as u128 + 1;
        loop {
            let quotient = self.divide(root).to_u128().expect("about as long as the root");
            let next = (root + quotient) / 2;
            if next >= root {
                break;
            }
            root = next;
        }
        // (root + 1/2)² = root² + root + 1/4: above that, the next number is nearer.
        let square = Wide::product(root, root);
        if self > square.plus(root) { root + 1 } else { root }
    }
}

fn split(value: u128) -> (u128, u128) {
    (value >> HALF, value & u128::from(u64::MAX))
}
