//! Variance and standard deviation.
//!
//! Of exact numbers the sums of the distances from the first value and of their squares are kept,
//! exactly as long as they have 38 digits. The squares of large values themselves have more, and
//! what is left of them when they cancel would be wrong. Of doubles the sum and the sum of squared
//! deviations are kept, which don't cancel.
//!
//! Callers: `accumulator`.

use value::{Number, Value};

use super::wrong_kind;
use crate::row_bytes::{array, read_value, write_value};
use crate::{Aggregate, Fault};

/// What is known of the values so far.
#[derive(Clone, Debug)]
pub(super) enum Spread {
    /// No value yet.
    None,
    Exact(Exact),
    Floating(Floating),
}

/// Of whole numbers and NUMBERs.
#[derive(Clone, Debug)]
pub(super) struct Exact {
    count: i64,
    /// The value from which distances count: one of the values.
    first: Number,
    /// The sum of the distances, and that of their squares.
    sum: Number,
    squares: Number,
}

/// Of doubles.
#[derive(Clone, Debug)]
pub(super) struct Floating {
    count: i64,
    sum: f64,
    /// The sum of the squared deviations from the mean.
    deviations: f64,
}

impl Spread {
    pub(super) fn add(&mut self, value: Value<'_>) -> Result<(), Fault> {
        match value {
            Value::Int(int) => self.add_exact(int.into()),
            Value::Number(number) => self.add_exact(number),
            Value::Double(double) => match self {
                Spread::None => {
                    // NaN and infinities have no deviation from their mean.
                    let deviations = if double.is_finite() { 0.0 } else { f64::NAN };
                    *self = Spread::Floating(Floating { count: 1, sum: double, deviations });
                    Ok(())
                }
                Spread::Floating(floating) => floating.add(double),
                Spread::Exact(_) => Err(wrong_kind(value)),
            },
            _ => Err(wrong_kind(value)),
        }
    }

    fn add_exact(&mut self, number: Number) -> Result<(), Fault> {
        if let Spread::None = self {
            *self = Spread::Exact(Exact::from(number));
        }
        match self {
            Spread::Exact(exact) => exact.add(number),
            _ => Err(wrong_kind(Value::Number(number))),
        }
    }

    pub(super) fn merge(&mut self, other: &Spread) -> Result<(), Fault> {
        match (&mut *self, other) {
            (_, Spread::None) => Ok(()),
            (Spread::None, other) => {
                *self = other.clone();
                Ok(())
            }
            (Spread::Exact(exact), Spread::Exact(more)) => exact.merge(more),
            (Spread::Floating(floating), Spread::Floating(more)) => floating.merge(more),
            _ => unreachable!("values of one column are of one kind"),
        }
    }

    /// The result; NULL of a sample of one.
    pub(super) fn finish(&self, aggregate: Aggregate) -> Result<Value<'static>, Fault> {
        let is_sample = matches!(aggregate, Aggregate::VarSamp | Aggregate::StddevSamp);
        let is_root = matches!(aggregate, Aggregate::StddevPop | Aggregate::StddevSamp);
        match self {
            Spread::None => Ok(Value::Null),
            Spread::Exact(Exact { count: 1, .. }) | Spread::Floating(Floating { count: 1, .. })
                if is_sample =>
            {
                Ok(Value::Null)
            }
            Spread::Exact(exact) => {
                let variance = exact.variance(is_sample)?;
                let root = || variance.checked_sqrt().expect("a variance isn't below zero");
                Ok(Value::Number(if is_root { root() } else { variance }))
            }
            Spread::Floating(floating) => {
                let by = floating.count - i64::from(is_sample);
                let variance = floating.deviations / by as f64;
                Ok(Value::Double(if is_root { variance.sqrt() } else { variance }))
            }
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Spread::None => out.extend(0_i64.to_le_bytes()),
            Spread::Exact(exact) => {
                out.extend(exact.count.to_le_bytes());
                write_value(Value::Number(exact.first), out);
                write_value(Value::Number(exact.sum), out);
                write_value(Value::Number(exact.squares), out);
            }
            Spread::Floating(floating) => {
                out.extend(floating.count.to_le_bytes());
                write_value(Value::Double(floating.sum), out);
                write_value(Value::Double(floating.deviations), out);
            }
        }
    }

    pub(super) fn read(rest: &mut &[u8]) -> Option<Spread> {
        let count = i64::from_le_bytes(array(rest)?);
        if count == 0 {
            return Some(Spread::None);
        }
        match (read_value(rest)?, read_value(rest)?) {
            (Value::Number(first), Value::Number(sum)) => {
                let Value::Number(squares) = read_value(rest)? else { return None };
                Some(Spread::Exact(Exact { count, first, sum, squares }))
            }
            (Value::Double(sum), Value::Double(deviations)) => {
                Some(Spread::Floating(Floating { count, sum, deviations }))
            }
            _ => None,
        }
    }
}

impl Exact {
    /// No value yet, with distances from this one.
    fn from(first: Number) -> Exact {
        Exact { count: 0, first, sum: Number::ZERO, squares: Number::ZERO }
    }

    fn add(&mut self, number: Number) -> Result<(), Fault> {
        let far = number.checked_sub(self.first)?;
        self.count += 1;
        self.sum = self.sum.checked_add(far)?;
        self.squares = self.squares.checked_add(far.checked_mul(far)?)?;
        Ok(())
    }

    /// Σ(x - a) = Σ(x - b) + n (b - a), and Σ(x - a)² = Σ(x - b)² + (b - a) (Σ(x - b) + Σ(x - a)).
    fn merge(&mut self, more: &Exact) -> Result<(), Fault> {
        let apart = more.first.checked_sub(self.first)?;
        let sum = more.sum.checked_add(apart.checked_mul(Number::from(more.count))?)?;
        let squares = apart.checked_mul(more.sum.checked_add(sum)?)?.checked_add(more.squares)?;
        self.count += more.count;
        self.sum = self.sum.checked_add(sum)?;
        self.squares = self.squares.checked_add(squares)?;
        Ok(())
    }

    /// (n Σd² - (Σd)²) / (n n), and n (n - 1) for a sample, d being the distances.
    fn variance(&self, is_sample: bool) -> Result<Number, Fault> {
        let count = Number::from(self.count);
        let of_squares = self.squares.checked_mul(count)?;
        let over = of_squares.checked_sub(self.sum.checked_mul(self.sum)?)?;
        // What is below zero was left by the rounding to 38 digits.
        if over.is_negative() {
            return Ok(Number::ZERO);
        }
        let under = count.checked_mul(Number::from(self.count - i64::from(is_sample)))?;
        Ok(over.checked_div(under)?)
    }
}

impl Floating {
    fn add(&mut self, double: f64) -> Result<(), Fault> {
        self.count += 1;
        let count = self.count as f64;
        self.sum += double;
        let far = double * count - self.sum;
        self.deviations += far * far / (count * (count - 1.0));
        self.check(double.is_finite())
    }

    fn merge(&mut self, more: &Floating) -> Result<(), Fault> {
        let (count, other) = (self.count as f64, more.count as f64);
        let far = self.sum / count - more.sum / other;
        let is_finite = self.sum.is_finite() && more.sum.is_finite();
        self.deviations += more.deviations + count * other * far * far / (count + other);
        self.count += more.count;
        self.sum += more.sum;
        self.check(is_finite)
    }

    /// Refuses what overflowed; infinite values have no deviations.
    fn check(&mut self, of_finite: bool) -> Result<(), Fault> {
        if self.sum.is_finite() && self.deviations.is_finite() {
            return Ok(());
        }
        if of_finite && !self.deviations.is_nan() {
            return Err(Fault::out_of_range("double precision"));
        }
        self.deviations = f64::NAN;
        Ok(())
    }
}
