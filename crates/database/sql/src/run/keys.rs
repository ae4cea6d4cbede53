//! What is looked for in an index: a search, with its values.
//!
//! ```text
//!   a IN (1, 2) AND b = $1 AND c > 5        equal: {1, 2}, {$1}; from c > 5
//!
//!   ranges, one after the other:  1, $1, c > 5 │ 2, $1, c > 5
//! ```
//!
//! Invariants
//!   * NULL finds nothing, unless the search says IS NULL
//!   * values of a list come in the order of the index, and each once, as the column compares them:
//!     so no row is found twice
//!
//! Callers: `index`, `short`.

use std::cmp::Ordering;
use std::ops::Bound;

use expression::{Evaluation, Expression, Fault, NoRow};
use value::{Number, OwnedValue, Type, Value};

use crate::plan::{KeyPart, Search};

/// A column of an index, as a search sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchedColumn {
    pub(super) kind: Type,
    /// Whether the values rise in the direction in which the index is read.
    pub(super) rises: bool,
}

/// A search with its values.
#[derive(Debug)]
pub(super) struct Keys {
    /// The values of each of the first columns: one, or those of a list.
    equal: Vec<Vec<OwnedValue>>,
    from: Bound<OwnedValue>,
    to: Bound<OwnedValue>,
    /// Which value of each list is next.
    at: Vec<usize>,
    is_over: bool,
}

impl Keys {
    /// The values of a search in an index of these columns. Expressions read slots alone.
    pub(super) fn evaluate(
        search: &Search,
        columns: &[SearchedColumn],
        with: &Evaluation<'_>,
    ) -> Result<Keys, Fault> {
        let mut keys = Keys {
            equal: Vec::with_capacity(search.equal.len()),
            from: bound(&search.from, with)?,
            to: bound(&search.to, with)?,
            at: vec![0; search.equal.len()],
            is_over: false,
        };
        for (part, column) in search.equal.iter().zip(columns) {
            let mut values = match part {
                KeyPart::Null => vec![OwnedValue::NULL],
                KeyPart::Equal(value) => not_null(std::slice::from_ref(value), with)?,
                KeyPart::AnyOf(values) => not_null(values, with)?,
            };
            if values.len() > 1 {
                in_order(&mut values, *column);
            }
            keys.is_over |= values.is_empty();
            keys.equal.push(values);
        }
        keys.is_over |= is_null(&keys.from) || is_null(&keys.to);
        if search.not_null && !search.is_bounded() {
            // A bound below all values leaves NULLs out (relation's `Bounds`).
            let kind = columns[search.equal.len()].kind;
            keys.from = Bound::Included(lowest(kind).to_owned());
        }
        Ok(keys)
    }

    /// Whether there is no further range.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Puts the values of the next range's equal columns into `into`.
    pub(super) fn equal<'k>(&'k self, into: &mut Vec<Value<'k>>) {
        into.extend(self.equal.iter().zip(&self.at).map(|(values, at)| values[*at].get()));
    }

    /// The lower bound of the next column.
    pub(super) fn from(&self) -> Bound<Value<'_>> {
        self.from.as_ref().map(OwnedValue::get)
    }

    /// The upper bound of the next column.
    pub(super) fn to(&self) -> Bound<Value<'_>> {
        self.to.as_ref().map(OwnedValue::get)
    }

    /// Goes on to the next range: the last list turns first.
    pub(super) fn advance(&mut self) {
        for (at, values) in self.at.iter_mut().zip(&self.equal).rev() {
            *at += 1;
            if *at < values.len() {
                return;
            }
            *at = 0;
        }
        self.is_over = true;
    }
}

/// The values of these expressions other than NULL.
fn not_null(expressions: &[Expression], with: &Evaluation<'_>) -> Result<Vec<OwnedValue>, Fault> {
    let mut values = Vec::with_capacity(expressions.len());
    for expression in expressions {
        let value = expression.evaluate(&NoRow, with)?;
        if !value.is_null() {
            values.push(value.to_owned());
        }
    }
    Ok(values)
}

fn bound(of: &Bound<Expression>, with: &Evaluation<'_>) -> Result<Bound<OwnedValue>, Fault> {
    let value = |of: &Expression| of.evaluate(&NoRow, with).map(|value| value.to_owned());
    Ok(match of {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(of) => Bound::Included(value(of)?),
        Bound::Excluded(of) => Bound::Excluded(value(of)?),
    })
}

fn is_null(bound: &Bound<OwnedValue>) -> bool {
    match bound {
        Bound::Included(value) | Bound::Excluded(value) => value.get().is_null(),
        Bound::Unbounded => false,
    }
}

/// Puts the values of a list in the order of the index, each once.
fn in_order(values: &mut Vec<OwnedValue>, column: SearchedColumn) {
    let order = |one: &OwnedValue, other: &OwnedValue| {
        let (one, other) = (one.get(), other.get());
        let order = column.kind.as_compared(one).compare(column.kind.as_compared(other));
        order.unwrap_or(Ordering::Equal)
    };
    values.sort_by(order);
    values.dedup_by(|one, other| order(one, other).is_eq());
    if !column.rises {
        values.reverse();
    }
}

/// A value that no value of the type is below.
fn lowest(kind: Type) -> Value<'static> {
    match kind {
        Type::SmallInt | Type::Integer | Type::BigInt => Value::Int(i64::MIN),
        Type::Number(_) => {
            let lowest = Number::from_parts(1 - 10_i128.pow(38), -84);
            Value::Number(lowest.expect("38 digits and 84 zeros are a number"))
        }
        Type::Double => Value::Double(f64::NEG_INFINITY),
        Type::Varchar(_) | Type::Char(_) | Type::Text => Value::Text(""),
        Type::Bytea => Value::Bytes(&[]),
        Type::Boolean => Value::Boolean(false),
        Type::Date => Value::Date(value::Date::MIN),
        Type::Timestamp => Value::Timestamp(value::Timestamp::MIN),
    }
}

#[cfg(test)]
mod tests {
    use expression::Bare;

    use super::*;

    const BIGINT: SearchedColumn = SearchedColumn { kind: Type::BigInt, rises: true };

    fn constant(value: Value<'_>) -> Expression {
        Expression::from(value)
    }

    fn list(values: &[Value<'_>]) -> KeyPart {
        KeyPart::AnyOf(values.iter().map(|value| constant(*value)).collect())
    }

    fn search(equal: Vec<KeyPart>) -> Search {
        Search { equal, ..Search::all() }
    }

    fn ranges(search: &Search, columns: &[SearchedColumn]) -> Vec<Vec<OwnedValue>> {
        let bare = Bare::new();
        let mut keys = Keys::evaluate(search, columns, &bare.evaluation()).expect("constants");
        let mut found = Vec::new();
        while !keys.is_over() {
            let mut values = Vec::new();
            keys.equal(&mut values);
            found.push(values.iter().copied().map(Value::to_owned).collect());
            keys.advance();
        }
        found
    }

    fn owned(values: &[i64]) -> Vec<OwnedValue> {
        values.iter().map(|value| Value::Int(*value).to_owned()).collect()
    }

    #[test]
    fn lists_are_taken_in_the_order_of_the_index_and_each_value_once() {
        let three = [3, 1, 3, 2].map(Value::Int);
        let equal = vec![list(&[2, 1].map(Value::Int)), list(&three)];
        let falling = SearchedColumn { rises: false, ..BIGINT };
        let found = ranges(&search(equal), &[BIGINT, falling]);
        let expected = [[1, 3], [1, 2], [1, 1], [2, 3], [2, 2], [2, 1]];
        assert_eq!(found, expected.map(|values| owned(&values)));
    }

    /// Trailing blanks don't count in a CHAR: a row with the key would be found twice.
    #[test]
    fn values_that_a_column_takes_for_equal_are_one() {
        let chars = Type::char(5).expect("a length");
        let column = SearchedColumn { kind: chars, rises: true };
        let part = list(&["a ", "b", "a"].map(Value::Text));
        assert_eq!(ranges(&search(vec![part]), &[column]).len(), 2);
    }

    #[test]
    fn null_finds_nothing_unless_it_is_asked_for() {
        let null = || constant(Value::Null);
        assert!(ranges(&search(vec![KeyPart::Equal(null())]), &[BIGINT]).is_empty());
        assert!(ranges(&search(vec![list(&[Value::Null])]), &[BIGINT]).is_empty());
        let range = Search { from: Bound::Excluded(null()), ..Search::all() };
        assert!(ranges(&range, &[BIGINT]).is_empty());
        assert_eq!(ranges(&search(vec![KeyPart::Null]), &[BIGINT]), [[OwnedValue::NULL]]);
        assert_eq!(ranges(&Search::all(), &[BIGINT]).len(), 1);
    }

    #[test]
    fn a_search_that_leaves_null_out_has_a_bound_below_all_values() {
        let bare = Bare::new();
        let kinds = [Type::SmallInt, Type::Number(None), Type::Double, Type::Text, Type::Date];
        for kind in kinds {
            let column = SearchedColumn { kind, rises: true };
            let not_null = Search { not_null: true, ..Search::all() };
            let keys = Keys::evaluate(&not_null, &[column], &bare.evaluation()).expect("it is");
            assert!(!keys.is_over(), "{kind}");
            assert!(!matches!(keys.from(), Bound::Unbounded), "{kind}");
            assert!(matches!(keys.to(), Bound::Unbounded));
        }
    }
}
