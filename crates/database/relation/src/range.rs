//! Ranges of an index by values of its columns, up or down.
//!
//! ```text
//!   index (a, b, c)      a = 1                           equal [1]
//!                        a = 1 and b > 5                 equal [1], from Excluded(5)
//!                        a = 1 order by b desc           equal [1], Descending
//! ```
//!
//! A search value needn't fit its column: in whole numbers `n > 2.5` becomes `n >= 3` (RL29).
//!
//! Callers: `range_state`; `search`.

use std::cmp::Ordering;
use std::ops::Bound;

use access::{Direction, IndexRange};
use stop::Stop;
use txn::View;
use value::{KeyRange, MisfitKind, Type, Value, key_push, key_successor};

use crate::{IndexColumn, Relation};

/// A range of an index's keys.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<'v> {
    /// Values of the index's first columns; NULL finds NULLs, as IS NULL does.
    pub equal: &'v [Value<'v>],
    /// The lower bound of the next column. If there is a bound, NULLs aren't in the range.
    pub from: Bound<Value<'v>>,
    /// The upper bound of that column.
    pub to: Bound<Value<'v>>,
}

impl<'v> Bounds<'v> {
    /// All keys that begin with these values.
    pub fn equal(equal: &'v [Value<'v>]) -> Bounds<'v> {
        Bounds { equal, from: Bound::Unbounded, to: Bound::Unbounded }
    }
}

/// A search value, as its column would hold it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SearchValue<'v> {
    /// The column holds the value itself.
    Exact(Value<'v>),
    /// The column can't hold the value. This one is next to it, and greater or less.
    Near(Value<'v>, Ordering),
    /// The value is greater, or less, than any that the column holds.
    Beyond(Ordering),
}

impl Relation {
    /// The range of an index's entries within these bounds; none if no key can lie in it. Refused
    /// if the view is too old for the index.
    pub(crate) fn index_range(
        &self,
        index: usize,
        bounds: &Bounds<'_>,
        direction: Direction,
        view: View,
    ) -> Result<Option<IndexRange>, Stop> {
        let open = &self.indexes()[index];
        self.check_index_view(open, view)?;
        let is_bounded = !matches!((bounds.from, bounds.to), (Bound::Unbounded, Bound::Unbounded));
        let columns = bounds.equal.len() + usize::from(is_bounded);
        if columns > open.columns.len() {
            return Err(self.wrong_key(index, columns));
        }
        let keys = self.keys_between(&open.columns, bounds)?;
        Ok(keys.map(|KeyRange { lower, upper }| {
            let to = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            IndexRange::new((Bound::Included(&lower[..]), to), direction)
        }))
    }

    /// The keys between these bounds; none if there can be none.
    fn keys_between(
        &self,
        columns: &[IndexColumn],
        bounds: &Bounds<'_>,
    ) -> Result<Option<KeyRange>, Stop> {
        let mut first = Vec::new();
        let equal = bounds.equal.iter().copied();
        if self.push_search_key(columns, equal, &mut first)?.is_none() {
            return Ok(None);
        }
        if matches!((bounds.from, bounds.to), (Bound::Unbounded, Bound::Unbounded)) {
            let mut end = first.clone();
            let upper = key_successor(&mut end).then_some(end);
            return Ok(Some(KeyRange { lower: first, upper }));
        }
        let of = columns[bounds.equal.len()];
        let from = self.bound(of.column, bounds.from, Ordering::Less)?;
        let to = self.bound(of.column, bounds.to, Ordering::Greater)?;
        let (Some(from), Some(to)) = (from, to) else { return Ok(None) };
        let (low, high) = match of.direction {
            value::Direction::Ascending => (from, to),
            value::Direction::Descending => (to, from),
        };
        let push = |value, before: &[u8]| {
            let mut key = before.to_vec();
            key_push(value, of.direction, of.nulls, &mut key);
            key
        };
        let behind = |mut key: Vec<u8>| {
            assert!(key_successor(&mut key), "a column of a key isn't all 0xff (rule value/VA7)");
            key
        };
        let lower = match low {
            Bound::Included(value) => push(value, &first),
            Bound::Excluded(value) => behind(push(value, &first)),
            // Where NULLs come first, the range begins behind them.
            Bound::Unbounded => behind(push_null(of, value::NullOrdering::First, &first)),
        };
        let upper = match high {
            Bound::Included(value) => behind(push(value, &first)),
            Bound::Excluded(value) => push(value, &first),
            Bound::Unbounded => push_null(of, value::NullOrdering::Last, &first),
        };
        Ok(Some(KeyRange { lower, upper: Some(upper) }))
    }

    /// A bound whose value the column can hold; none if nothing lies within it. `outward` says on
    /// which side of the bound values are outside.
    fn bound<'v>(
        &self,
        column: usize,
        bound: Bound<Value<'v>>,
        outward: Ordering,
    ) -> Result<Option<Bound<Value<'v>>>, Stop> {
        let (value, is_included) = match bound {
            Bound::Unbounded => return Ok(Some(Bound::Unbounded)),
            Bound::Included(value) => (value, true),
            Bound::Excluded(value) => (value, false),
        };
        if value.is_null() {
            return Ok(None);
        }
        Ok(match self.search_value(column, value)? {
            SearchValue::Exact(value) if is_included => Some(Bound::Included(value)),
            SearchValue::Exact(value) => Some(Bound::Excluded(value)),
            SearchValue::Near(near, order) if order == outward => Some(Bound::Excluded(near)),
            SearchValue::Near(near, _) => Some(Bound::Included(near)),
            SearchValue::Beyond(order) if order == outward => Some(Bound::Unbounded),
            SearchValue::Beyond(_) => None,
        })
    }

    /// Appends the key of values for the first of these columns. Returns whether one of them is
    /// NULL; none if no row can have such values.
    #[inline]
    pub(crate) fn push_search_key<'v>(
        &self,
        columns: &[IndexColumn],
        values: impl Iterator<Item = Value<'v>>,
        key: &mut Vec<u8>,
    ) -> Result<Option<bool>, Stop> {
        let mut has_null = false;
        for (of, value) in columns.iter().zip(values) {
            let SearchValue::Exact(value) = self.search_value(of.column, value)? else {
                return Ok(None);
            };
            has_null |= value.is_null();
            key_push(value, of.direction, of.nulls, key);
        }
        Ok(Some(has_null))
    }

    /// A value as the column would hold it. Refused if it is of a kind that the column doesn't
    /// have.
    #[inline]
    pub(crate) fn search_value<'v>(
        &self,
        column: usize,
        value: Value<'v>,
    ) -> Result<SearchValue<'v>, Stop> {
        let of = &self.definition().columns[column];
        let fitted = match (of.kind, value) {
            (Type::BigInt, Value::Int(_)) | (_, Value::Null) => {
                return Ok(SearchValue::Exact(value));
            }
            (Type::Varchar(_) | Type::Text, Value::Text(_)) => {
                return Ok(SearchValue::Exact(value));
            }
            (Type::Char(_), Value::Text(_)) => {
                return Ok(SearchValue::Exact(of.kind.as_compared(value)));
            }
            (Type::Number(_), _) => Type::Number(None).fit(&of.name, value),
            _ => of.kind.fit(&of.name, value),
        };
        match fitted {
            Ok(fitted) => Ok(match fitted.compare(value) {
                None | Some(Ordering::Equal) => SearchValue::Exact(fitted),
                Some(order) => SearchValue::Near(fitted, order),
            }),
            Err(misfit) if misfit.kind() == MisfitKind::Range => {
                let order = value.compare(Value::Int(0)).unwrap_or(Ordering::Greater);
                Ok(SearchValue::Beyond(order))
            }
            Err(misfit) => Err(self.misfit(&misfit)),
        }
    }
}

/// The key `before` with a NULL behind it, in this place of NULLs.
fn push_null(of: IndexColumn, place: value::NullOrdering, before: &[u8]) -> Vec<u8> {
    let mut key = before.to_vec();
    key_push(Value::Null, of.direction, place, &mut key);
    key
}
