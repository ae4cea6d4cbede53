//! The fraction of rows whose column lies below a value, or between two.
//!
//! ```text
//!   bounds   b0 ────── b1 ────── b2 ────── b3      each part has equally many rows
//!                          ▲ value: one part and some of the next
//! ```
//!
//! Callers: `plan`, for predicates.

use std::cmp::Ordering;
use std::ops::Bound;

use value::{OwnedValue, Value};

use super::ColumnStatistics;
use super::scalar::place_between;

/// The fraction of rows that a comparison with a value of which nothing is known leaves.
pub(crate) const RANGE_DEFAULT: f64 = 1.0 / 3.0;

/// The fraction of rows between two bounds of which nothing is known.
pub(crate) const BETWEEN_DEFAULT: f64 = 0.005;

/// The fraction of rows that are taken to lie in a range beyond all values that are known: a
/// hundredth of a part of a histogram (as in PostgreSQL).
const BEYOND_DEFAULT: f64 = 0.0001;

impl ColumnStatistics {
    /// The fraction of all rows whose value lies within these bounds; none if nothing is known of
    /// the column's values.
    pub(crate) fn fraction_within(
        &self,
        from: Bound<Value<'_>>,
        to: Bound<Value<'_>>,
    ) -> Option<f64> {
        if self.bounds.len() < 2 && self.common.is_empty() {
            return None;
        }
        let above = match to {
            Bound::Unbounded => 1.0,
            Bound::Included(value) => self.part_below(value, true)?,
            Bound::Excluded(value) => self.part_below(value, false)?,
        };
        let below = match from {
            Bound::Unbounded => 0.0,
            Bound::Included(value) => self.part_below(value, false)?,
            Bound::Excluded(value) => self.part_below(value, true)?,
        };
        let common: f64 = self.common.iter().map(|one| one.fraction).sum();
        let others = (1.0 - self.nulls - common).max(0.0);
        let within = |value: Value<'_>| {
            is_within(value, from, Ordering::Less) && is_within(value, to, Ordering::Greater)
        };
        let met = self.common.iter().filter(|one| within(one.value.get()));
        let met: f64 = met.map(|one| one.fraction).sum();
        let found = met + others * (above - below).max(0.0);
        Some(found.max(self.fraction_beyond(from, to)).clamp(0.0, 1.0))
    }

    /// The fraction of rows in a range that lies beyond all values that are known; 0 for another
    /// range. Above a column that rises with its rows are half of those that came since.
    fn fraction_beyond(&self, from: Bound<Value<'_>>, to: Bound<Value<'_>>) -> f64 {
        let are_outside = |bound: Bound<Value<'_>>, outward: Ordering| {
            let common = self.common.iter().map(|one| one.value.get());
            let mut known = common.chain(self.bounds.iter().map(OwnedValue::get));
            known.all(|value| !is_within(value, bound, outward))
        };
        let is_above = are_outside(from, Ordering::Less);
        if !is_above && !are_outside(to, Ordering::Greater) {
            return 0.0;
        }
        // Of a few values it isn't known whether they rise.
        let rises = is_above && self.bounds.len() > 1;
        let newer = if rises { self.newer * self.correlation.max(0.0) / 2.0 } else { 0.0 };
        (1.0 - self.nulls) * newer.max(BEYOND_DEFAULT)
    }

    /// The part of the values outside the common ones that are below this one, 0 to 1. None if it
    /// can't be compared with them.
    fn part_below(&self, value: Value<'_>, or_equal: bool) -> Option<f64> {
        if self.bounds.len() < 2 {
            return Some(0.5);
        }
        let parts = (self.bounds.len() - 1) as f64;
        // The number of bounds that are below the value, or equal to it.
        let mut passed = 0;
        for bound in &self.bounds {
            match bound.get().compare(value)? {
                Ordering::Less => passed += 1,
                Ordering::Equal if or_equal => passed += 1,
                _ => break,
            }
        }
        if passed == 0 {
            return Some(0.0);
        }
        if passed == self.bounds.len() {
            return Some(1.0);
        }
        let (low, high) = (self.bounds[passed - 1].get(), self.bounds[passed].get());
        Some(((passed - 1) as f64 + place_between(low, value, high)) / parts)
    }
}

/// Whether a value is on the inner side of a bound; `outward` says where the outer one is.
fn is_within(value: Value<'_>, bound: Bound<Value<'_>>, outward: Ordering) -> bool {
    match bound {
        Bound::Unbounded => true,
        Bound::Included(at) => value.compare(at).is_some_and(|order| order != outward),
        Bound::Excluded(at) => value.compare(at).is_some_and(|order| order == outward.reverse()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::CommonValue;
    use value::Type;

    fn column() -> ColumnStatistics {
        let bounds = [0, 10, 20, 40, 80].map(|bound| Value::Int(bound).to_owned());
        ColumnStatistics {
            distinct: 80.0,
            bounds: bounds.to_vec(),
            common: vec![CommonValue { value: Value::Int(15).to_owned(), fraction: 0.5 }],
            ..ColumnStatistics::guessed(Type::BigInt, 1e6)
        }
    }

    fn within(from: Bound<Value<'_>>, to: Bound<Value<'_>>) -> f64 {
        column().fraction_within(from, to).expect("known")
    }

    #[test]
    fn a_range_has_its_parts_of_the_histogram_and_its_common_values() {
        use Bound::{Excluded, Included, Unbounded};
        let int = |value| Value::Int(value);
        assert!((within(Unbounded, Excluded(int(10))) - 0.125).abs() < 1e-9);
        assert!((within(Unbounded, Included(int(20))) - 0.75).abs() < 1e-9);
        assert!((within(Included(int(60)), Unbounded) - 0.0625).abs() < 1e-9);
        assert!(within(Excluded(int(15)), Included(int(15))) < 1e-9);
        assert_eq!(within(Unbounded, Unbounded), 1.0);
    }

    #[test]
    fn beyond_the_known_values_are_those_of_rows_that_came_since() {
        use Bound::{Excluded, Included, Unbounded};
        let int = |value| Value::Int(value);
        assert_eq!(within(Included(int(200)), Unbounded), BEYOND_DEFAULT);
        assert_eq!(within(Included(int(200)), Excluded(int(300))), BEYOND_DEFAULT);
        assert_eq!(within(Unbounded, Excluded(int(-5))), BEYOND_DEFAULT);
        let grown = ColumnStatistics { correlation: 1.0, newer: 0.5, ..column() };
        assert_eq!(grown.fraction_within(Excluded(int(80)), Unbounded), Some(0.25));
        assert_eq!(grown.fraction_within(Unbounded, Excluded(int(-5))), Some(BEYOND_DEFAULT));
    }

    #[test]
    fn nothing_is_said_of_values_that_are_not_known() {
        let column = ColumnStatistics::guessed(Type::BigInt, 100.0);
        assert_eq!(column.fraction_within(Bound::Unbounded, Bound::Included(Value::Int(1))), None);
    }
}
