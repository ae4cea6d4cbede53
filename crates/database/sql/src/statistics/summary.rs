//! From the values of a sample to what is said of their column.
//!
//! Callers: `sample`.
//! Sources: as the module's.

use std::cmp::Ordering;

use value::{OwnedValue, Value};

use super::sample::SampledRow;
use super::{ColumnStatistics, CommonValue, PARTS_MAX};

/// A value counts as common if it is this many times as frequent as the mean.
const COMMON_TIMES: f64 = 1.25;

/// Equal values of the sample, next to each other when it is sorted.
struct Run<'s> {
    value: Value<'s>,
    count: usize,
}

/// A column of which nothing was sampled.
pub(super) fn unknown() -> ColumnStatistics {
    ColumnStatistics {
        distinct: super::DISTINCT_DEFAULT,
        nulls: 0.0,
        width: 8.0,
        correlation: 0.0,
        common: Vec::new(),
        bounds: Vec::new(),
        newer: 0.0,
    }
}

/// What the rows of a sample, in the order of their places, say of the column at this place among
/// those sampled. The table has `all` rows.
pub(super) fn of_column(rows: &[SampledRow], place: usize, all: f64) -> ColumnStatistics {
    if rows.is_empty() {
        return ColumnStatistics { distinct: 1.0, ..unknown() };
    }
    let values: Vec<Value<'_>> = rows.iter().map(|row| row.values[place].value.get()).collect();
    let mut order: Vec<usize> = (0..rows.len()).filter(|row| !values[*row].is_null()).collect();
    order.sort_by(|a, b| values[*a].compare(values[*b]).unwrap_or(Ordering::Equal).then(a.cmp(b)));
    let sampled = rows.len() as f64;
    let nulls = 1.0 - order.len() as f64 / sampled;
    let bytes: f64 = rows.iter().map(|row| f64::from(row.values[place].bytes)).sum();
    let runs = runs(&order, &values);
    let distinct = distinct(&runs, order.len() as f64, all * (1.0 - nulls));
    let common = common(&runs, sampled, distinct);
    let bounds = bounds(&runs, &common);
    ColumnStatistics {
        distinct,
        nulls,
        width: bytes / sampled,
        correlation: correlation(&order),
        common,
        bounds,
        newer: 0.0,
    }
}

fn runs<'s>(order: &[usize], values: &[Value<'s>]) -> Vec<Run<'s>> {
    let mut runs: Vec<Run<'s>> = Vec::new();
    for row in order {
        match runs.last_mut() {
            Some(run) if run.value == values[*row] => run.count += 1,
            _ => runs.push(Run { value: values[*row], count: 1 }),
        }
    }
    runs
}

/// The number of distinct values in the table (Haas and Stokes, Duj1), from those of `sampled` of
/// its `all` rows.
fn distinct(runs: &[Run<'_>], sampled: f64, all: f64) -> f64 {
    let found = runs.len() as f64;
    let once = runs.iter().filter(|run| run.count == 1).count() as f64;
    if found < 1.0 {
        return 1.0;
    }
    if sampled >= all {
        return found;
    }
    // No value was met twice: all are different.
    if once >= sampled {
        return all.max(1.0);
    }
    let estimate = sampled * found / (sampled - once + once * sampled / all);
    estimate.clamp(found, all.max(found)).round()
}

/// The values that are more common than others by far; all values, if they are few.
fn common(runs: &[Run<'_>], sampled: f64, distinct: f64) -> Vec<CommonValue> {
    let are_all = runs.len() <= PARTS_MAX && distinct <= runs.len() as f64;
    let mean = sampled / distinct.max(1.0);
    let least = if are_all { 1.0 } else { (mean * COMMON_TIMES).max(2.0) };
    let mut found: Vec<&Run<'_>> = runs.iter().filter(|run| run.count as f64 >= least).collect();
    // Equally common values stay in their order, so that the same sample says the same.
    found.sort_by_key(|value| std::cmp::Reverse(value.count));
    found.truncate(PARTS_MAX);
    let keep = |run: &Run<'_>| CommonValue {
        value: run.value.to_owned(),
        fraction: run.count as f64 / sampled,
    };
    found.into_iter().map(keep).collect()
}

/// The bounds of parts with equally many of the values that aren't common.
fn bounds(runs: &[Run<'_>], common: &[CommonValue]) -> Vec<OwnedValue> {
    let is_common = |run: &&Run<'_>| !common.iter().any(|one| one.value.get() == run.value);
    let others: Vec<&Run<'_>> = runs.iter().filter(is_common).collect();
    if others.len() < 2 {
        return Vec::new();
    }
    let total: usize = others.iter().map(|run| run.count).sum();
    let parts = PARTS_MAX.min(others.len() - 1);
    let mut bounds = vec![others[0].value.to_owned()];
    let (mut seen, mut next) = (0, 1);
    for run in &others {
        seen += run.count;
        while next < parts && seen * parts >= total * next {
            bounds.push(run.value.to_owned());
            next += 1;
        }
    }
    bounds.push(others[others.len() - 1].value.to_owned());
    bounds
}

/// The correlation of the values' order with that of the rows' places. `order` has the rows in the
/// order of their values.
fn correlation(order: &[usize]) -> f64 {
    let count = order.len() as f64;
    if order.len() < 2 {
        return 0.0;
    }
    // Ranks of places among the rows that have a value, which may be fewer than all.
    let mut by_place: Vec<usize> = order.to_vec();
    by_place.sort_unstable();
    let rank = |row: &usize| by_place.binary_search(row).map_or(0.0, |rank| rank as f64);
    let mean = (count - 1.0) / 2.0;
    let (mut product, mut square) = (0.0, 0.0);
    for (at, row) in order.iter().enumerate() {
        product += (at as f64 - mean) * (rank(row) - mean);
        square += (at as f64 - mean).powi(2);
    }
    (product / square).clamp(-1.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::sample::SampledValue;
    use access::RowAddress;
    use ids::Dba;

    fn rows(values: impl IntoIterator<Item = Value<'static>>) -> Vec<SampledRow> {
        let row = |(place, value): (usize, Value<'_>)| SampledRow {
            address: RowAddress { block: Dba::new(1, place as u32), slot: 0 },
            values: vec![SampledValue { value: value.to_owned(), bytes: 8 }],
        };
        values.into_iter().enumerate().map(row).collect()
    }

    #[test]
    fn a_key_in_the_order_of_its_rows_is_told_as_such() {
        let found = of_column(&rows((0..1_000).map(Value::Int)), 0, 1e6);
        assert_eq!(found.distinct, 1e6);
        assert!(found.correlation > 0.999, "{}", found.correlation);
        assert_eq!(found.bounds.len(), PARTS_MAX + 1);
        assert!(found.common.is_empty());
        let back = of_column(&rows((0..1_000).rev().map(Value::Int)), 0, 1e6);
        assert!(back.correlation < -0.999, "{}", back.correlation);
    }

    #[test]
    fn few_values_are_all_common_and_nulls_are_counted() {
        let values = (0..1_000).map(|n| match n % 4 {
            0 => Value::Null,
            1 => Value::Int(1),
            _ => Value::Int(2),
        });
        let found = of_column(&rows(values), 0, 1_000.0);
        assert_eq!((found.distinct, found.nulls), (2.0, 0.25));
        assert_eq!(found.common[0].fraction, 0.5);
        assert_eq!(found.common[1].fraction, 0.25);
        assert!(found.bounds.is_empty());
    }

    #[test]
    fn nothing_is_no_disaster() {
        assert_eq!(of_column(&[], 0, 0.0).distinct, 1.0);
        assert_eq!(of_column(&rows([Value::Null; 5]), 0, 5.0).nulls, 1.0);
    }
}
