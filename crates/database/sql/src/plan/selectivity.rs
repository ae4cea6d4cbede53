//! Which part of rows a condition leaves.
//!
//! Conditions are taken to have nothing to do with one another, but for two bounds of one column,
//! which are a range. A parameter isn't looked at: its value is taken to be any (rule SQ34).
//!
//! Callers: `access`, `block`, `tree`.

use std::ops::Bound;

use expression::{Comparison, Expression};
use value::Value;

use super::columns::ColumnInfo;
use crate::rewrite::reads_no_row;
use crate::statistics::{BETWEEN_DEFAULT, RANGE_DEFAULT};

/// How many different values a column has of which nothing is known.
pub(super) const DISTINCT_UNKNOWN: f64 = 200.0;
/// What an equality leaves of which nothing is known.
const EQUAL_UNKNOWN: f64 = 0.005;
/// What a condition leaves of which nothing is known.
const UNKNOWN: f64 = 0.333;
/// What a LIKE leaves, with a text before its first sign, and without one.
const LIKE_PREFIX: f64 = 0.02;
const LIKE_ANY: f64 = 0.1;
/// The least part that is believed.
const LEAST: f64 = 1e-9;

/// The part of rows for which all of these conditions hold.
pub(super) fn of_all<'e>(
    conditions: impl IntoIterator<Item = &'e Expression>,
    columns: &[ColumnInfo],
) -> f64 {
    let (mut part, mut ranges): (f64, Vec<Range<'_>>) = (1.0, Vec::new());
    for condition in conditions {
        match range_of(condition) {
            Some(range) => match ranges.iter_mut().find(|one| one.column == range.column) {
                Some(one) => one.narrow(range),
                None => ranges.push(range),
            },
            None => part *= of_one(condition, columns),
        }
    }
    for range in ranges {
        part *= range.part(&columns[range.column]);
    }
    part.clamp(LEAST, 1.0)
}

/// Bounds of a column.
struct Range<'e> {
    column: usize,
    from: Bound<Option<Value<'e>>>,
    to: Bound<Option<Value<'e>>>,
}

impl<'e> Range<'e> {
    fn narrow(&mut self, other: Range<'e>) {
        if !matches!(other.from, Bound::Unbounded) {
            self.from = other.from;
        }
        if !matches!(other.to, Bound::Unbounded) {
            self.to = other.to;
        }
    }

    fn part(&self, column: &ColumnInfo) -> f64 {
        let is_open = |bound: &Bound<Option<Value<'_>>>| matches!(bound, Bound::Unbounded);
        let guess = match is_open(&self.from) || is_open(&self.to) {
            true => RANGE_DEFAULT,
            false => BETWEEN_DEFAULT,
        };
        let known = |bound: Bound<Option<Value<'e>>>| match bound {
            Bound::Unbounded => Some(Bound::Unbounded),
            Bound::Included(value) => value.map(Bound::Included),
            Bound::Excluded(value) => value.map(Bound::Excluded),
        };
        let bounds = known(self.from).zip(known(self.to));
        let found = bounds.and_then(|(from, to)| column.statistics()?.fraction_within(from, to));
        found.unwrap_or(guess)
    }
}

/// The range that a comparison of a column with a value says.
fn range_of(condition: &Expression) -> Option<Range<'_>> {
    let Compared { column, comparison, value } = compared(condition)?;
    let value = value.constant();
    let (from, to) = match comparison {
        Comparison::Less => (Bound::Unbounded, Bound::Excluded(value)),
        Comparison::LessOrEqual => (Bound::Unbounded, Bound::Included(value)),
        Comparison::Greater => (Bound::Excluded(value), Bound::Unbounded),
        Comparison::GreaterOrEqual => (Bound::Included(value), Bound::Unbounded),
        Comparison::Equal | Comparison::NotEqual => return None,
    };
    Some(Range { column, from, to })
}

/// A comparison of a column with something that reads no row.
pub(super) struct Compared<'e> {
    pub(super) column: usize,
    pub(super) comparison: Comparison,
    pub(super) value: &'e Expression,
}

/// The column that a condition compares with a value, with the column on the left.
pub(super) fn compared(condition: &Expression) -> Option<Compared<'_>> {
    let Expression::Compare { comparison, left, right } = condition else { return None };
    match (&**left, &**right) {
        (Expression::Column(column), value) if reads_no_row(value) => {
            Some(Compared { column: *column, comparison: *comparison, value })
        }
        (value, Expression::Column(column)) if reads_no_row(value) => {
            Some(Compared { column: *column, comparison: comparison.swapped(), value })
        }
        _ => None,
    }
}

/// The part of rows for which a condition holds.
pub(super) fn of_one(condition: &Expression, columns: &[ColumnInfo]) -> f64 {
    let part = match condition {
        Expression::Constant(value) => match value.get() {
            Value::Boolean(true) => 1.0,
            _ => 0.0,
        },
        Expression::And(parts) => of_all(parts, columns),
        Expression::Or(parts) => {
            let none = parts.iter().map(|part| 1.0 - of_one(part, columns)).product::<f64>();
            1.0 - none
        }
        Expression::Not(inner) => 1.0 - of_one(inner, columns),
        Expression::IsNull { value, negated } => {
            let nulls = column(value, columns).and_then(|it| it.statistics());
            let nulls = nulls.map_or(0.01, |known| known.nulls);
            if *negated { 1.0 - nulls } else { nulls }
        }
        Expression::InList { value, list, negated, .. } => {
            let each = list.iter().map(|one| equal(column(value, columns), one.constant()));
            let any = each.sum::<f64>().min(1.0);
            if *negated { 1.0 - any } else { any }
        }
        Expression::Like { pattern, negated, .. } => {
            let begins = match pattern.constant() {
                Some(Value::Text(text)) => !text.starts_with(['%', '_']),
                _ => false,
            };
            let like = if begins { LIKE_PREFIX } else { LIKE_ANY };
            if *negated { 1.0 - like } else { like }
        }
        Expression::Compare { comparison, left, right } => match compared(condition) {
            Some(Compared { column, comparison, value }) => {
                of_comparison(&columns[column], comparison, value.constant())
            }
            None => of_columns(*comparison, left, right, columns),
        },
        Expression::IsDistinct { negated: true, .. } => EQUAL_UNKNOWN,
        Expression::IsDistinct { negated: false, .. } => 1.0 - EQUAL_UNKNOWN,
        _ => UNKNOWN,
    };
    part.clamp(LEAST, 1.0)
}

fn column<'c>(expression: &Expression, columns: &'c [ColumnInfo]) -> Option<&'c ColumnInfo> {
    match expression {
        Expression::Column(column) => columns.get(*column),
        _ => None,
    }
}

/// The part of rows whose column is equal to a value, which may not be known yet.
fn equal(column: Option<&ColumnInfo>, value: Option<Value<'_>>) -> f64 {
    match (column.and_then(ColumnInfo::statistics), value) {
        (Some(known), Some(value)) => known.fraction_equal(value),
        (Some(known), None) => known.fraction_of_any(),
        (None, _) => EQUAL_UNKNOWN,
    }
}

fn of_comparison(column: &ColumnInfo, comparison: Comparison, value: Option<Value<'_>>) -> f64 {
    match comparison {
        Comparison::Equal => equal(Some(column), value),
        Comparison::NotEqual => 1.0 - equal(Some(column), value),
        _ => RANGE_DEFAULT,
    }
}

/// The part of pairs whose two sides compare so.
fn of_columns(
    comparison: Comparison,
    left: &Expression,
    right: &Expression,
    columns: &[ColumnInfo],
) -> f64 {
    let of_equal = || match (column(left, columns), column(right, columns)) {
        (Some(left), Some(right)) => of_join(left, right),
        (Some(one), None) | (None, Some(one)) => equal(Some(one), None),
        (None, None) => EQUAL_UNKNOWN,
    };
    match comparison {
        Comparison::Equal => of_equal(),
        Comparison::NotEqual => 1.0 - of_equal(),
        _ => RANGE_DEFAULT,
    }
}

/// The part of pairs in which two columns are equal: each value of the one that has fewer is taken
/// to be one of the other's.
pub(super) fn of_join(left: &ColumnInfo, right: &ColumnInfo) -> f64 {
    let known = |column: &ColumnInfo| match column.statistics() {
        Some(known) => (known.distinct.max(1.0), known.nulls),
        None => (DISTINCT_UNKNOWN, 0.0),
    };
    let ((of_left, left_nulls), (of_right, right_nulls)) = (known(left), known(right));
    (1.0 - left_nulls) * (1.0 - right_nulls) / of_left.max(of_right)
}
