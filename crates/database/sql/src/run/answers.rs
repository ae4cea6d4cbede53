//! Answers to ANY and ALL, in three-valued logic, and the values of a subquery's rows that are kept
//! for them.
//!
//! ```text
//!   x < ANY (rows)   true if it holds for one; else unknown if it is for one; else false
//!   x < ALL (rows)   not (x >= ANY (rows))
//!   x IN (rows)      x = ANY (rows)          x NOT IN (rows)   x <> ALL (rows)
//! ```
//!
//! Invariants
//!   * of no rows, ANY is false and ALL is true, also for NULL
//!   * kept values give the same answers as the rows (rule SQ41)
//!
//! Callers: `subquery`.

use std::cmp::Ordering;

use expression::{Comparison, RowOf};
use value::{OwnedValue, Value};

/// The comparison of values with a row, one by one. A row of several columns is equal if all are.
pub(super) fn compare(
    comparison: Comparison,
    tested: &[Value<'_>],
    row: RowOf<'_>,
) -> Option<bool> {
    let one = |place: usize| {
        let order = tested[place].compare(row.get(place));
        order.map(|order| comparison.holds(order))
    };
    if let [_] = tested {
        return one(0);
    }
    let decides = match comparison {
        // `=` holds if it holds for all columns, `<>` if it holds for one.
        Comparison::Equal => false,
        Comparison::NotEqual => true,
        _ => return ordered(comparison, tested, row),
    };
    let mut is_known = true;
    for place in 0..tested.len() {
        match one(place) {
            Some(is) if is == decides => return Some(decides),
            Some(_) => {}
            None => is_known = false,
        }
    }
    is_known.then_some(!decides)
}

/// The same by `<` and its like: the first columns that differ decide, and one that may do so.
fn ordered(comparison: Comparison, tested: &[Value<'_>], row: RowOf<'_>) -> Option<bool> {
    let mut order = Ordering::Equal;
    for (place, tested) in tested.iter().enumerate() {
        order = tested.compare(row.get(place))?;
        if order.is_ne() {
            break;
        }
    }
    Some(comparison.holds(order))
}

/// Whether a comparison holds for one row, or for all, as far as rows were seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    /// What one row decides: true for ANY, false for ALL.
    decides: bool,
    is_known: bool,
    is_decided: bool,
}

impl Verdict {
    pub(super) fn any() -> Verdict {
        Verdict { decides: true, is_known: true, is_decided: false }
    }

    pub(super) fn all() -> Verdict {
        Verdict { decides: false, ..Verdict::any() }
    }

    /// Takes the comparison with another row. Returns whether no further row matters.
    pub(super) fn take(&mut self, holds: Option<bool>) -> bool {
        match holds {
            Some(is) => self.is_decided |= is == self.decides,
            None => self.is_known = false,
        }
        self.is_decided
    }

    /// The answer.
    pub(super) fn answer(self) -> Option<bool> {
        match (self.is_decided, self.is_known) {
            (true, _) => Some(self.decides),
            (false, true) => Some(!self.decides),
            (false, false) => None,
        }
    }
}

/// The values of a subquery of one column.
#[derive(Debug, Default)]
pub(super) struct ValueSet {
    /// The values other than NULL, each once, in rising order.
    sorted: Vec<OwnedValue>,
    has_null: bool,
}

impl ValueSet {
    /// The set of these values.
    pub(super) fn of(mut values: Vec<OwnedValue>) -> ValueSet {
        let all = values.len();
        values.retain(|value| !value.get().is_null());
        let has_null = values.len() < all;
        values.sort_by(|one, other| order(one.get(), other.get()));
        values.dedup_by(|one, other| order(one.get(), other.get()).is_eq());
        ValueSet { sorted: values, has_null }
    }

    /// Whether the comparison holds for one of the values.
    pub(super) fn any(&self, comparison: Comparison, tested: Value<'_>) -> Option<bool> {
        let (Some(first), Some(last)) = (self.sorted.first(), self.sorted.last()) else {
            return if self.has_null { None } else { Some(false) };
        };
        if tested.is_null() {
            return None;
        }
        let holds = |value: &OwnedValue| comparison.holds(order(tested, value.get()));
        let is = match comparison {
            Comparison::Equal => {
                self.sorted.binary_search_by(|value| order(value.get(), tested)).is_ok()
            }
            // One of the two ends has it if any value does.
            _ => holds(first) || holds(last),
        };
        match is {
            true => Some(true),
            false if self.has_null => None,
            false => Some(false),
        }
    }

    /// Whether the comparison holds for all values.
    pub(super) fn all(&self, comparison: Comparison, tested: Value<'_>) -> Option<bool> {
        self.any(comparison.negated(), tested).map(|is| !is)
    }
}

/// The order of two values of kinds that can be compared.
fn order(one: Value<'_>, other: Value<'_>) -> Ordering {
    one.compare(other).unwrap_or(Ordering::Equal)
}

/// Whether two values are the same in every respect: 0.0 and -0.0 are equal, and not the same.
pub(super) fn is_same(one: Value<'_>, other: Value<'_>) -> bool {
    match (one, other) {
        (Value::Double(one), Value::Double(other)) => one.to_bits() == other.to_bits(),
        (one, other) => {
            std::mem::discriminant(&one) == std::mem::discriminant(&other) && one == other
        }
    }
}

#[cfg(test)]
mod tests {
    use expression::Rows;

    use super::*;

    const ALL: [Comparison; 6] = [
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ];

    fn rows_of(values: &[Value<'_>]) -> Rows {
        let mut rows = Rows::new(1);
        values.iter().for_each(|value| rows.push([*value]));
        rows
    }

    fn over_rows(
        mut verdict: Verdict,
        comparison: Comparison,
        tested: Value<'_>,
        rows: &Rows,
    ) -> Option<bool> {
        for row in rows.iter() {
            if verdict.take(compare(comparison, &[tested], row)) {
                break;
            }
        }
        verdict.answer()
    }

    /// Kept values answer as the rows do, with NULL and without, for every comparison.
    #[test]
    fn kept_values_give_the_answers_of_the_rows() {
        let contents: [&[Value<'_>]; 6] = [
            &[],
            &[Value::Null],
            &[Value::Int(3)],
            &[Value::Int(5), Value::Int(1), Value::Int(5)],
            &[Value::Int(5), Value::Null, Value::Int(1)],
            &[Value::Double(2.5), Value::Int(2)],
        ];
        let tested = [0, 1, 2, 3, 5, 9].map(Value::Int);
        for content in contents {
            let rows = rows_of(content);
            let set = ValueSet::of(content.iter().copied().map(Value::to_owned).collect());
            for value in tested.into_iter().chain([Value::Null, Value::Double(2.5)]) {
                for comparison in ALL {
                    let any = over_rows(Verdict::any(), comparison, value, &rows);
                    assert_eq!(
                        set.any(comparison, value),
                        any,
                        "{value} {comparison} any {content:?}"
                    );
                    let all = over_rows(Verdict::all(), comparison, value, &rows);
                    assert_eq!(
                        set.all(comparison, value),
                        all,
                        "{value} {comparison} all {content:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_row_is_equal_if_all_of_its_columns_are() {
        let mut rows = Rows::new(2);
        rows.push([Value::Int(1), Value::Null]);
        rows.push([Value::Int(1), Value::Int(2)]);
        let equal = |tested: [i64; 2], row: usize| {
            compare(Comparison::Equal, &tested.map(Value::Int), rows.row(row))
        };
        assert_eq!((equal([1, 2], 0), equal([2, 2], 0)), (None, Some(false)));
        assert_eq!((equal([1, 2], 1), equal([1, 3], 1)), (Some(true), Some(false)));
        let unequal = compare(Comparison::NotEqual, &[2, 2].map(Value::Int), rows.row(0));
        assert_eq!(unequal, Some(true));
    }

    #[test]
    fn a_zero_and_its_negative_are_equal_and_not_the_same() {
        assert!(!is_same(Value::Double(0.0), Value::Double(-0.0)));
        assert!(!is_same(Value::Int(1), Value::Double(1.0)));
        assert!(is_same(Value::Text("a"), Value::Text("a")) && is_same(Value::Null, Value::Null));
    }
}
