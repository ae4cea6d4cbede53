//! Which part of rows a condition leaves.
//!
//! Conditions are taken to have nothing to do with one another, but for two bounds of one column,
//! which are a range, and for the columns of an index that knows how many keys it has (`access`). A
//! parameter isn't looked at: its value is taken to be any (rule SQ34).
//!
//! Callers: `access`, `block`, `tree`.

use std::ops::Bound;

use expression::{Comparison, DEFAULT_ESCAPE, Expression, LikePrefix, escape_of, like_prefix};
use value::Value;

use super::columns::ColumnInfo;
use super::sargable::successor;
use crate::rewrite::reads_no_row;
use crate::statistics::{BETWEEN_DEFAULT, RANGE_DEFAULT};

/// How many different values a column has of which nothing is known.
pub(super) const DISTINCT_UNKNOWN: f64 = 200.0;
/// What an equality leaves of which nothing is known.
const EQUAL_UNKNOWN: f64 = 0.005;
/// What a condition leaves of which nothing is known.
const UNKNOWN: f64 = 0.333;
/// What a LIKE in which case doesn't count leaves, with a text before its first sign; and any LIKE
/// without one.
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
            false => between_unknown(Some(column)),
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

/// The part of rows between two bounds of which nothing is known. Of a large table it is as many
/// rows as the root of all: who names both bounds doesn't ask for more because there are more.
fn between_unknown(column: Option<&ColumnInfo>) -> f64 {
    let origin = column.and_then(|column| column.origin.as_ref());
    let rows = origin.map_or(1.0, |origin| origin.table.statistics.rows.max(1.0));
    BETWEEN_DEFAULT.min(1.0 / rows.sqrt())
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
        Expression::Column(_) => {
            let known = column(condition, columns).and_then(ColumnInfo::statistics);
            known.map_or(UNKNOWN, |known| known.fraction_equal(Value::Boolean(true)))
        }
        Expression::IsNull { value, negated } => {
            let known = column(value, columns).and_then(ColumnInfo::statistics);
            let nulls = known.map_or(0.01, |known| known.nulls);
            if *negated { 1.0 - nulls } else { nulls }
        }
        Expression::InList { value, list, negated, .. } => {
            let column = column(value, columns);
            let each = list.iter().map(|one| equal(column, one.constant()));
            let any = each.sum::<f64>().min(1.0);
            if *negated { others(column, any) } else { any }
        }
        Expression::Like { value, pattern, escape, ignore_case, negated } => {
            let column = column(value, columns);
            let like = of_like(column, pattern, escape.as_deref(), *ignore_case);
            if *negated { others(column, like) } else { like }
        }
        Expression::Compare { comparison, left, right } => match compared(condition) {
            Some(Compared { column, comparison, value }) => {
                let column = &columns[column];
                let equal = || equal(Some(column), value.constant());
                match (comparison, range_of(condition)) {
                    (_, Some(range)) => range.part(column),
                    (Comparison::NotEqual, None) => others(Some(column), equal()),
                    (_, None) => equal(),
                }
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

/// The part of rows for which the opposite holds of what holds for this part: neither does where
/// the column is NULL.
fn others(column: Option<&ColumnInfo>, part: f64) -> f64 {
    let known = column.and_then(ColumnInfo::statistics);
    1.0 - part - known.map_or(0.0, |known| known.nulls)
}

/// The part of rows whose column is like a pattern.
fn of_like(
    column: Option<&ColumnInfo>,
    pattern: &Expression,
    escape: Option<&Expression>,
    ignore_case: bool,
) -> f64 {
    let Some(LikePrefix { prefix, is_whole, .. }) = begin_of(pattern, escape) else {
        return LIKE_ANY;
    };
    // Texts without letters are the same in any case.
    let ignore_case = ignore_case && prefix.chars().any(char::is_alphabetic);
    if is_whole && !ignore_case {
        return equal(column, Some(Value::Text(&prefix)));
    }
    if prefix.is_empty() {
        return LIKE_ANY;
    }
    if ignore_case {
        return LIKE_PREFIX;
    }
    let next = successor(&prefix);
    let to = match &next {
        Some(next) => Bound::Excluded(Value::Text(next)),
        None => Bound::Unbounded,
    };
    let known = column.and_then(ColumnInfo::statistics);
    let found = known.and_then(|known| {
        let part = known.fraction_within(Bound::Included(Value::Text(&prefix)), to)?;
        Some(part.max(known.fraction_of_any()))
    });
    found.unwrap_or_else(|| between_unknown(column))
}

/// What a pattern that is known begins with.
fn begin_of(pattern: &Expression, escape: Option<&Expression>) -> Option<LikePrefix> {
    let escape = match escape.map(Expression::constant) {
        None => Some(DEFAULT_ESCAPE),
        Some(Some(Value::Text(escape))) => escape_of(escape).ok()?,
        Some(_) => return None,
    };
    match pattern.constant() {
        Some(Value::Text(pattern)) => like_prefix(pattern, escape).ok(),
        _ => None,
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::plan::columns::Origin;
    use crate::schema::TableInfo;
    use crate::statistics::{ColumnStatistics, CommonValue, TableStatistics};
    use expression::Kind;
    use ids::ObjectNo;
    use relation::{ColumnDefinition, TableDefinition};
    use value::Type;

    /// A column of a table of a million rows.
    fn column_with(kind: Type, statistics: ColumnStatistics) -> ColumnInfo {
        let number = ObjectNo::new(1);
        let mut definition = TableDefinition::new(number, "t", number);
        definition.columns.push(ColumnDefinition::new("a", kind, false));
        let statistics = TableStatistics { rows: 1e6, blocks: 1e4, columns: vec![statistics] };
        let table = TableInfo { definition: Arc::new(definition), statistics, indexes: Vec::new() };
        let origin = Origin { table: Arc::new(table), alias: Arc::from("t"), place: 0 };
        ColumnInfo { kind: Kind::from(kind), origin: Some(origin) }
    }

    /// Numbers from 0 to 1,000, NULL in a tenth of the rows, and 7 in a fifth.
    fn numbers() -> ColumnInfo {
        let seven = CommonValue { value: Value::Int(7).to_owned(), fraction: 0.2 };
        column_with(
            Type::BigInt,
            ColumnStatistics {
                distinct: 1_000.0,
                nulls: 0.1,
                common: vec![seven],
                bounds: (0..=10).map(|part| Value::Int(part * 100).to_owned()).collect(),
                ..ColumnStatistics::guessed(Type::BigInt, 1e6)
            },
        )
    }

    fn names() -> ColumnInfo {
        let bounds = ["Aa", "Ba", "Ca", "Da", "Ea", "Fa", "Ga", "Ha", "Ia", "Ja", "Ka"];
        column_with(
            Type::Text,
            ColumnStatistics {
                distinct: 1e5,
                bounds: bounds.map(|bound| Value::Text(bound).to_owned()).to_vec(),
                ..ColumnStatistics::guessed(Type::Text, 1e6)
            },
        )
    }

    fn compare(comparison: Comparison, value: Value<'_>) -> Expression {
        Expression::Compare {
            comparison,
            left: Box::new(Expression::Column(0)),
            right: Box::new(Expression::from(value)),
        }
    }

    fn like(pattern: &str, negated: bool) -> Expression {
        Expression::Like {
            value: Box::new(Expression::Column(0)),
            pattern: Box::new(Expression::from(Value::Text(pattern))),
            escape: None,
            ignore_case: false,
            negated,
        }
    }

    #[track_caller]
    fn is(condition: &Expression, column: ColumnInfo, wanted: f64) {
        let found = of_one(condition, &[column]);
        assert!((found - wanted).abs() < 1e-3, "{found} and not {wanted}");
    }

    #[test]
    fn a_range_within_or_and_not_is_looked_up_too() {
        // A tenth of the seven tenths that aren't common.
        let below = compare(Comparison::Less, Value::Int(100));
        let above = compare(Comparison::Greater, Value::Int(900));
        is(&below, numbers(), 0.07 + 0.2);
        is(&above, numbers(), 0.07);
        is(&Expression::Or(vec![above.clone(), above.clone()]), numbers(), 0.135_1);
        is(&Expression::Not(Box::new(above)), numbers(), 0.93);
    }

    #[test]
    fn what_is_unequal_is_not_null() {
        is(&compare(Comparison::NotEqual, Value::Int(7)), numbers(), 0.7);
        let list = vec![Expression::from(Value::Int(7))];
        let value = Box::new(Expression::Column(0));
        let not_in = Expression::InList { value, list, negated: true, sorted: true };
        is(&not_in, numbers(), 0.7);
        let nulls = ColumnStatistics { nulls: 0.5, ..ColumnStatistics::guessed(Type::Text, 1e6) };
        is(&like("x%", true), column_with(Type::Text, nulls), 0.499);
    }

    #[test]
    fn a_text_that_begins_so_is_a_range_of_the_histogram() {
        is(&like("C%", false), names(), 0.1);
        is(&like("B%d", false), names(), 0.1);
        is(&like("Cab", false), names(), 1e-5);
        is(&like("%C", false), names(), LIKE_ANY);
        // A pattern without signs is a text, also an empty one, whatever is said of signs and case.
        is(&like("", false), names(), 1e-5);
        is(&like("", true), names(), 1.0 - 1e-5);
        let with = |pattern: &str, sign: &str, ignores: bool| match like(pattern, false) {
            Expression::Like { value, pattern, negated, .. } => {
                let escape = Some(Box::new(Expression::from(Value::Text(sign))));
                Expression::Like { value, pattern, escape, ignore_case: ignores, negated }
            }
            other => other,
        };
        is(&with("C!%", "!", false), names(), 1e-5);
        is(&with("C!%%", "!", false), names(), 0.000_5);
        is(&with("1-2", "!", true), names(), 1e-5);
        is(&with("Cab", "!", true), names(), LIKE_PREFIX);
        // Without a histogram as a range of which nothing is known.
        let guess = ColumnStatistics::guessed(Type::Text, 1e6);
        is(&like("C%", false), column_with(Type::Text, guess), 0.001);
    }

    #[test]
    fn a_boolean_is_a_condition_by_itself() {
        let often = CommonValue { value: Value::Boolean(true).to_owned(), fraction: 0.9 };
        let known = ColumnStatistics {
            common: vec![often],
            ..ColumnStatistics::guessed(Type::Boolean, 1e6)
        };
        is(&Expression::Column(0), column_with(Type::Boolean, known), 0.9);
    }

    #[test]
    fn between_values_that_are_not_known_lie_few_rows_of_a_large_table() {
        let bound = |comparison| Expression::Compare {
            comparison,
            left: Box::new(Expression::Column(0)),
            right: Box::new(Expression::Slot(0)),
        };
        let both = [bound(Comparison::GreaterOrEqual), bound(Comparison::Less)];
        assert!((of_all(&both, &[numbers()]) - 0.001).abs() < 1e-9);
        assert!((of_all(&both[..1], &[numbers()]) - RANGE_DEFAULT).abs() < 1e-9);
    }
}
