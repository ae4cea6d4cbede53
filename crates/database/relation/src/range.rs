//! Ranges of an index by values of its columns, up or down.
//!
//! ```text
//!   index (a, b, c)      a = 1                           equal [1]
//!                        a = 1 and b > 5                 equal [1], from Excluded(5)
//!                        a = 1 order by b desc           equal [1], Descending
//! ```
//!
//! A value that is looked for needn't fit its column: of `n > 2.5`, in whole numbers, becomes
//! `n >= 3`.
//!
//! Callers: whoever executes statements.

use std::cmp::Ordering;
use std::ops::Bound;

use access::{Cursor, RowAddress};
use os::Session;
use stop::Stop;
use txn::View;
use value::{KeyRange, MisfitKind, RowView, Type, Value, key_push, key_successor};

use crate::{IndexColumn, Relation};

/// Which keys of an index.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<'v> {
    /// Values of the index's first columns; NULL finds NULLs, as IS NULL does.
    pub equal: &'v [Value<'v>],
    /// From where on, in the next column. If there is a bound, NULLs aren't in the range.
    pub from: Bound<Value<'v>>,
    /// To where.
    pub to: Bound<Value<'v>>,
}

impl<'v> Bounds<'v> {
    /// All keys that begin with these values.
    pub fn equal(equal: &'v [Value<'v>]) -> Bounds<'v> {
        Bounds { equal, from: Bound::Unbounded, to: Bound::Unbounded }
    }
}

/// A value that is looked for, as its column would hold it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SearchValue<'v> {
    /// The same.
    Exact(Value<'v>),
    /// The column can't hold it; this is next to it, and greater or less.
    Near(Value<'v>, Ordering),
    /// It is greater, or less, than whatever the column holds.
    Beyond(Ordering),
}

/// Rows in a range of an index, on the way through it.
pub struct Rows<'a> {
    relation: &'a Relation,
    index: usize,
    /// None if the range is empty.
    cursor: Option<Cursor<'a>>,
    view: View,
}

impl Relation {
    /// Goes through a range of an index. The view's snapshot has to be kept meanwhile. `Ascending`
    /// is the order of the index, whatever the directions of its columns.
    pub fn range(
        &self,
        index: usize,
        bounds: &Bounds<'_>,
        direction: access::Direction,
        view: View,
    ) -> Result<Rows<'_>, Stop> {
        let open = &self.indexes()[index];
        self.check_index_view(open, view)?;
        let is_bounded = !matches!((bounds.from, bounds.to), (Bound::Unbounded, Bound::Unbounded));
        let columns = bounds.equal.len() + usize::from(is_bounded);
        if columns > open.columns.len() {
            return Err(self.wrong_key(index, columns));
        }
        let keys = self.keys_between(&open.columns, bounds)?;
        let cursor = keys.map(|KeyRange { lower, upper }| {
            let to = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            open.index.cursor((Bound::Included(&lower), to), direction, view)
        });
        Ok(Rows { relation: self, index, cursor, view })
    }

    /// The keys between these bounds; none if there can't be any.
    fn keys_between(
        &self,
        columns: &[IndexColumn],
        bounds: &Bounds<'_>,
    ) -> Result<Option<KeyRange>, Stop> {
        let mut first = Vec::new();
        for (of, value) in columns.iter().zip(bounds.equal) {
            let SearchValue::Exact(value) = self.search_value(of.column, *value)? else {
                return Ok(None);
            };
            key_push(value, of.direction, of.nulls, &mut first);
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
            assert!(key_successor(&mut key), "a column of a key isn't all 0xff (rule value/V7)");
            key
        };
        let lower = match low {
            Bound::Included(value) => push(value, &first),
            Bound::Excluded(value) => behind(push(value, &first)),
            // Behind NULLs that come first.
            Bound::Unbounded => behind(push_null(of, value::NullsPlace::First, &first)),
        };
        let upper = match high {
            Bound::Included(value) => behind(push(value, &first)),
            Bound::Excluded(value) => push(value, &first),
            Bound::Unbounded => push_null(of, value::NullsPlace::Last, &first),
        };
        Ok(Some(KeyRange { lower, upper: Some(upper) }))
    }

    /// A bound with a value that the column can hold; none if nothing lies within. `outward` is
    /// where values are that it shuts out.
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

    /// A value as the column would hold it. Refused if the column has values of another kind.
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

impl Rows<'_> {
    /// Looks at the next row, under its block's latch if it can be, so that `look` only computes.
    /// None behind the last one.
    pub fn next<T>(
        &mut self,
        look: &mut dyn FnMut(RowAddress, RowView<'_>) -> T,
        session: &Session,
    ) -> Result<Option<T>, Stop> {
        let Some(address) = self.next_address(session)? else { return Ok(None) };
        self.relation.fetch_entry(self.index, address, self.view, look, session).map(Some)
    }

    /// Where the next row is.
    pub fn next_address(&mut self, session: &Session) -> Result<Option<RowAddress>, Stop> {
        let Some(cursor) = &mut self.cursor else { return Ok(None) };
        let next = cursor.next(session).map(|next| next.map(|(_, row)| row));
        self.relation.check_there(session)?;
        next
    }
}

/// Where NULLs would be.
fn push_null(of: IndexColumn, place: value::NullsPlace, before: &[u8]) -> Vec<u8> {
    let mut key = before.to_vec();
    key_push(Value::Null, of.direction, place, &mut key);
    key
}
