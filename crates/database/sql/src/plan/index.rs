//! An index, matched with what conditions say of its columns.
//!
//! ```text
//!   index (a, b, c)     a = 1 and b > 5 and c = 2     equal a; from b; c is left to the filter
//! ```
//!
//! Callers: `access`.

use std::ops::Bound;

use relation::{IndexDefinition, TableDefinition};
use value::NullOrdering;

use super::node::{KeyPart, Search};
use super::sargable::{Form, Sarg};
use super::sorted::{Order, OrderKey};
use crate::logical::Scan;

/// An index as a scan can use it.
pub(super) struct Matched {
    pub(super) search: Search,
    /// The conditions that the search says all of, by their places.
    pub(super) done: Vec<usize>,
    /// All conditions that the search uses.
    pub(super) used: Vec<usize>,
    /// Whether one row at most is found.
    pub(super) is_unique: bool,
    /// Whether it says what each of several columns is.
    pub(super) is_whole: bool,
    /// The order in which rows come, going up.
    pub(super) order: Order,
}

/// What an index does with these conditions.
pub(super) fn matched(
    index: &IndexDefinition,
    table: &TableDefinition,
    scan: &Scan,
    sargs: &[Sarg],
) -> Matched {
    let mut search = Search::all();
    let (mut done, mut used, mut order) = (Vec::new(), Vec::new(), Order::none());
    let column_of = |place: usize| scan.columns.iter().position(|one| one.place() == Some(place));
    let mut has_list = false;
    let mut columns = index.columns.iter();
    let mut behind = None;
    for of in columns.by_ref() {
        let column = column_of(of.column);
        let own = |sarg: &&Sarg| Some(sarg.column) == column;
        let key = sargs.iter().filter(own).find(|sarg| match &sarg.form {
            Form::Key(KeyPart::AnyOf(_)) => !has_list,
            Form::Key(_) => true,
            Form::Range(..) | Form::NotNull => false,
        });
        let Some(Sarg { form: Form::Key(part), condition, is_exact, .. }) = key else {
            behind = Some(of);
            break;
        };
        has_list |= matches!(part, KeyPart::AnyOf(_));
        search.equal.push(part.clone());
        if *is_exact {
            done.push(*condition);
        }
        used.push(*condition);
        if let (Some(column), false) = (column, matches!(part, KeyPart::AnyOf(_))) {
            order.constant.push(column);
        }
    }
    let has_nulls = |part: &KeyPart| matches!(part, KeyPart::Null | KeyPart::AnyOf(_));
    let is_unique = index.unique
        && search.equal.len() == index.columns.len()
        && !search.equal.iter().any(has_nulls);
    let is_whole = behind.is_none() && search.equal.len() > 1 && !has_list;
    if let Some(of) = behind {
        let column = column_of(of.column);
        for sarg in sargs.iter().filter(|sarg| Some(sarg.column) == column) {
            if narrow(&mut search, &sarg.form) {
                used.push(sarg.condition);
                if sarg.is_exact {
                    done.push(sarg.condition);
                }
            }
        }
        // Several ranges follow one another in the order of their values, not in the index's.
        if !has_list {
            let rest = std::iter::once(of).chain(columns);
            for of in rest {
                let Some(column) = column_of(of.column) else { break };
                let no_nulls = table.columns[of.column].not_null;
                order.keys.push(OrderKey {
                    column,
                    descending: of.direction == value::Direction::Descending,
                    nulls_first: of.nulls == NullOrdering::First,
                    no_nulls,
                });
            }
        }
    }
    Matched { search, done, used, is_unique, is_whole, order }
}

/// Narrows the range of the column behind the equal ones. Returns false if the form says nothing
/// new of it: then the filter looks.
fn narrow(search: &mut Search, form: &Form) -> bool {
    match form {
        Form::Key(_) => false,
        Form::NotNull => {
            search.not_null = true;
            true
        }
        Form::Range(from, to) => {
            let takes = |own: &Bound<_>, new: &Bound<_>| {
                matches!(new, Bound::Unbounded) || matches!(own, Bound::Unbounded)
            };
            if !takes(&search.from, from) || !takes(&search.to, to) {
                return false;
            }
            if !matches!(from, Bound::Unbounded) {
                search.from = from.clone();
            }
            if !matches!(to, Bound::Unbounded) {
                search.to = to.clone();
            }
            true
        }
    }
}
