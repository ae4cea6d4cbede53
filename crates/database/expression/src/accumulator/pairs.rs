//! Aggregates of pairs: how two numbers of a row go together.
//!
//! Beside both sums the sums of the squared deviations from the means are kept, and that of their
//! products: they don't cancel, as sums of squares would.
//!
//! Callers: `accumulator`.
//! Sources: Youngs and Cramer, as for the variance; PostgreSQL's `float8_regr_accum`, for what is
//! refused and what is NULL.

use value::Value;

use crate::row_bytes::{read_value, write_value};
use crate::{Fault, OfPairs, arithmetic};

/// What is known of the pairs so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pairs {
    x: f64,
    y: f64,
    /// The sums of squared deviations, and of their products.
    xx: f64,
    yy: f64,
    xy: f64,
}

impl Pairs {
    /// Takes a pair, which is the one of number `count`.
    pub(super) fn add(&mut self, y: f64, x: f64, count: i64) -> Result<(), Fault> {
        let was_finite = self.x.is_finite() && self.y.is_finite();
        let is_finite = was_finite && x.is_finite() && y.is_finite();
        self.x += x;
        self.y += y;
        let count = count as f64;
        if count > 1.0 {
            let (far_x, far_y) = (x * count - self.x, y * count - self.y);
            let scale = 1.0 / (count * (count - 1.0));
            self.xx += far_x * far_x * scale;
            self.yy += far_y * far_y * scale;
            self.xy += far_x * far_y * scale;
        }
        self.check(is_finite)
    }

    /// Takes what another state has of `more` pairs; this one has `count`.
    pub(super) fn merge(&mut self, other: &Pairs, count: i64, more: i64) -> Result<(), Fault> {
        let sums = [self.x, self.y, other.x, other.y];
        let is_finite = sums.iter().all(|sum| sum.is_finite());
        let (count, more) = (count as f64, more as f64);
        let far_x = self.x / count - other.x / more;
        let far_y = self.y / count - other.y / more;
        let scale = count * more / (count + more);
        self.x += other.x;
        self.y += other.y;
        self.xx += other.xx + far_x * far_x * scale;
        self.yy += other.yy + far_y * far_y * scale;
        self.xy += other.xy + far_x * far_y * scale;
        self.check(is_finite)
    }

    /// Refuses what overflowed; infinite values have no deviations.
    fn check(&mut self, of_finite: bool) -> Result<(), Fault> {
        for sum in [self.x, self.y, self.xx, self.yy, self.xy] {
            arithmetic::finite(sum, of_finite)?;
        }
        for (of, deviations) in [(self.x, &mut self.xx), (self.y, &mut self.yy)] {
            if !of.is_finite() || !deviations.is_finite() {
                *deviations = f64::NAN;
            }
        }
        if !self.x.is_finite() || !self.y.is_finite() || !self.xy.is_finite() {
            self.xy = f64::NAN;
        }
        Ok(())
    }

    /// The result for so many pairs, of which there is one at least.
    pub(super) fn finish(&self, of: OfPairs, count: i64) -> Value<'static> {
        let Pairs { x, y, xx, yy, xy } = *self;
        let number = count as f64;
        let found = match of {
            OfPairs::Count => return Value::Int(count),
            OfPairs::AvgX => Some(x / number),
            OfPairs::AvgY => Some(y / number),
            OfPairs::Sxx => Some(xx),
            OfPairs::Syy => Some(yy),
            OfPairs::Sxy => Some(xy),
            OfPairs::CovarPop => Some(xy / number),
            OfPairs::CovarSamp => (count > 1).then(|| xy / (number - 1.0)),
            OfPairs::Corr => (xx != 0.0 && yy != 0.0).then(|| xy / (xx * yy).sqrt()),
            OfPairs::Slope => (xx != 0.0).then(|| xy / xx),
            OfPairs::Intercept => (xx != 0.0).then(|| (y - x * xy / xx) / number),
            OfPairs::R2 if xx != 0.0 && yy == 0.0 => Some(1.0),
            OfPairs::R2 => (xx != 0.0).then(|| xy * xy / (xx * yy)),
        };
        found.map_or(Value::Null, Value::Double)
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        for sum in [self.x, self.y, self.xx, self.yy, self.xy] {
            write_value(Value::Double(sum), out);
        }
    }

    pub(super) fn read(rest: &mut &[u8]) -> Option<Pairs> {
        let mut sums = [0.0; 5];
        for sum in &mut sums {
            let Value::Double(read) = read_value(rest)? else { return None };
            *sum = read;
        }
        let [x, y, xx, yy, xy] = sums;
        Some(Pairs { x, y, xx, yy, xy })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIRS: [[f64; 2]; 5] =
        [[150.0, 10.0], [250.0, 20.0], [350.0, 30.0], [540.0, 80.0], [200.0, 100.0]];

    fn taken(pairs: &[[f64; 2]]) -> Pairs {
        let mut state = Pairs::default();
        for (number, [y, x]) in pairs.iter().enumerate() {
            state.add(*y, *x, number as i64 + 1).expect("small");
        }
        state
    }

    fn is_near(value: Value<'_>, expected: f64) {
        let Value::Double(found) = value else { panic!("{value:?}") };
        assert!((found - expected).abs() <= expected.abs() * 1e-12, "{found} {expected}");
    }

    /// The sums are PostgreSQL's for these pairs.
    #[test]
    fn pairs_go_together() {
        let all = taken(&PAIRS);
        for (of, expected) in [
            (OfPairs::AvgX, 48.0),
            (OfPairs::AvgY, 298.0),
            (OfPairs::Sxx, 6280.0),
            (OfPairs::Syy, 95_080.0),
            (OfPairs::Sxy, 8680.0),
            (OfPairs::CovarPop, 1736.0),
            (OfPairs::CovarSamp, 2170.0),
            (OfPairs::Slope, 8680.0 / 6280.0),
            (OfPairs::Intercept, (1490.0 - 240.0 * 8680.0 / 6280.0) / 5.0),
            (OfPairs::R2, 8680.0 * 8680.0 / (6280.0 * 95_080.0)),
        ] {
            is_near(all.finish(of, 5), expected);
        }
        is_near(all.finish(OfPairs::Corr, 5), 8680.0 / (6280.0_f64 * 95_080.0).sqrt());
        assert_eq!(all.finish(OfPairs::Count, 5), Value::Int(5));
    }

    #[test]
    fn states_of_pairs_are_spilled_and_merged() {
        let mut bytes = Vec::new();
        taken(&PAIRS[2..]).write(&mut bytes);
        let mut rest = &bytes[..];
        let read = Pairs::read(&mut rest).expect("it was written");
        let mut first = taken(&PAIRS[..2]);
        first.merge(&read, 2, 3).expect("small");
        is_near(first.finish(OfPairs::Sxy, 5), 8680.0);
        is_near(first.finish(OfPairs::Syy, 5), 95_080.0);
    }

    #[test]
    fn what_has_no_deviations_has_no_slope() {
        let one = taken(&PAIRS[..1]);
        for of in [OfPairs::CovarSamp, OfPairs::Corr, OfPairs::Slope, OfPairs::R2] {
            assert!(one.finish(of, 1).is_null(), "{of:?}");
        }
        is_near(taken(&[[7.0, 1.0], [7.0, 2.0]]).finish(OfPairs::R2, 2), 1.0);
        let infinite = taken(&[[7.0, 1.0], [f64::INFINITY, 2.0]]);
        assert!(matches!(infinite.finish(OfPairs::Syy, 2), Value::Double(is) if is.is_nan()));
        is_near(infinite.finish(OfPairs::Sxx, 2), 0.5);
        let mut huge = taken(&[[1e300, 1.0]]);
        assert!(huge.add(-1e300, 2.0, 2).is_err());
    }
}
