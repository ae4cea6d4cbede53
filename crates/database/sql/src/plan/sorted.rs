//! Orders of rows: which one a node gives, and whether it is the one that is wanted.
//!
//! ```text
//!   wanted:  order by a, b          given: index (x, a, b), x = 5     yes: x is the same for all
//!                                          index (a, c, b)            no
//! ```
//!
//! Callers: `access`, `block`, `tree`, `aggregate`.

use expression::Expression;
use rowsource::SortKey as SourceKey;
use value::{Direction, NullOrdering};

use super::columns::ColumnInfo;
use crate::logical::SortKey;

/// The order in which a node gives its rows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Order {
    /// Columns that decide, one after the other.
    pub(super) keys: Vec<OrderKey>,
    /// Columns that have one value in all rows.
    pub(super) constant: Vec<usize>,
}

/// A column that decides an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OrderKey {
    pub(super) column: usize,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
    /// Whether no row has NULL there, so that it doesn't matter where NULLs come.
    pub(super) no_nulls: bool,
}

impl Order {
    /// No order.
    pub(super) fn none() -> Order {
        Order::default()
    }

    /// The order in the other direction.
    pub(super) fn reversed(&self) -> Order {
        let reverse = |key: &OrderKey| OrderKey {
            descending: !key.descending,
            nulls_first: !key.nulls_first,
            ..*key
        };
        Order { keys: self.keys.iter().map(reverse).collect(), constant: self.constant.clone() }
    }

    /// The order with other numbers of columns; it ends before a column that has none.
    pub(super) fn over(&self, place: &dyn Fn(usize) -> Option<usize>) -> Order {
        let mut keys = Vec::with_capacity(self.keys.len());
        for key in &self.keys {
            let Some(column) = place(key.column) else { break };
            keys.push(OrderKey { column, ..*key });
        }
        let constant = self.constant.iter().filter_map(|column| place(*column)).collect();
        Order { keys, constant }
    }

    /// Whether rows in this order are in the wanted one.
    pub(super) fn satisfies(&self, wanted: &[OrderKey]) -> bool {
        let mut own = self.keys.iter();
        wanted.iter().all(|wanted| {
            if self.constant.contains(&wanted.column) {
                return true;
            }
            own.next().is_some_and(|own| {
                own.column == wanted.column
                    && own.descending == wanted.descending
                    && (own.no_nulls || own.nulls_first == wanted.nulls_first)
            })
        })
    }

    /// Whether rows that are equal in all of these columns follow one another.
    pub(super) fn groups(&self, columns: &[usize]) -> bool {
        let is_left = |column: &&usize| !self.constant.contains(column);
        let mut left: Vec<usize> = columns.iter().filter(is_left).copied().collect();
        for key in &self.keys {
            if left.is_empty() {
                break;
            }
            match left.iter().position(|column| *column == key.column) {
                Some(at) => drop(left.swap_remove(at)),
                None => return false,
            }
        }
        left.is_empty()
    }
}

/// The columns of an order that is wanted; none if it is by something that isn't a column.
pub(super) fn wanted_of(keys: &[SortKey]) -> Option<Vec<OrderKey>> {
    let column = |key: &SortKey| match key.value {
        Expression::Column(column) => Some(OrderKey {
            column,
            descending: key.descending,
            nulls_first: key.nulls_first,
            no_nulls: false,
        }),
        _ => None,
    };
    keys.iter().map(column).collect()
}

/// The keys of a sort by these columns of its input.
pub(super) fn source_keys(keys: &[OrderKey], columns: &[ColumnInfo]) -> Vec<SourceKey> {
    let key = |key: &OrderKey| SourceKey {
        column: key.column,
        kind: columns[key.column].kind,
        direction: direction_of(key.descending),
        nulls: nulls_of(key.nulls_first),
    };
    keys.iter().map(key).collect()
}

/// The direction as sources know it.
pub(super) fn direction_of(descending: bool) -> Direction {
    if descending { Direction::Descending } else { Direction::Ascending }
}

/// Where NULLs come, as sources know it.
pub(super) fn nulls_of(nulls_first: bool) -> NullOrdering {
    if nulls_first { NullOrdering::First } else { NullOrdering::Last }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(column: usize, descending: bool) -> OrderKey {
        OrderKey { column, descending, nulls_first: descending, no_nulls: false }
    }

    #[test]
    fn an_order_may_be_longer_and_has_columns_that_are_the_same_for_all_rows() {
        let own = Order { keys: vec![key(1, false), key(2, false)], constant: vec![0] };
        assert!(own.satisfies(&[key(1, false)]));
        assert!(own.satisfies(&[key(0, true), key(1, false), key(2, false)]));
        assert!(!own.satisfies(&[key(2, false)]));
        assert!(!own.satisfies(&[key(1, true)]));
        assert!(own.reversed().satisfies(&[key(1, true), key(2, true)]));
        let nulls_first = OrderKey { nulls_first: true, ..key(1, false) };
        assert!(!own.satisfies(&[nulls_first]));
    }

    #[test]
    fn groups_are_together_whichever_of_their_columns_comes_first() {
        let own = Order { keys: vec![key(1, false), key(2, false)], constant: vec![0] };
        assert!(own.groups(&[2, 1]) && own.groups(&[1, 0]) && own.groups(&[]));
        assert!(!own.groups(&[2]) && !own.groups(&[1, 3]));
    }
}
