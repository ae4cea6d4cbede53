//! Reading rows as a view sees them: by a key, or all of them.
//!
//! A view serves an index and the rows alike: what the one says of its moment is true of the other.
//!
//! Callers: whoever executes statements.

use std::ops::Bound;

use access::{Direction, Index, RowAddress};
use os::Session;
use stop::Stop;
use txn::View;
use value::{Misreads, RowView, Value, key_push, key_successor};

use crate::Relation;
use crate::range::SearchValue;
use crate::scratch::{KEPT_BYTES, Scratch, shrink};

impl Relation {
    /// Looks at the row with this key in an index, as the view sees it: under its block's latch if
    /// it can be, so that `look` only computes. The key has a value for each column of the index;
    /// of several rows it is one. None if there is no such row.
    pub fn get<T>(
        &self,
        index: usize,
        key: &[Value<'_>],
        view: View,
        look: &mut dyn FnMut(RowAddress, RowView<'_>) -> T,
        scratch: &mut Scratch,
        session: &Session,
    ) -> Result<Option<T>, Stop> {
        match self.find(index, key, view, scratch, session)? {
            Some(address) => self.fetch_entry(index, address, view, look, session).map(Some),
            None => Ok(None),
        }
    }

    /// Where the row with this key is; of several it is one. NULL finds NULL, as in a range.
    pub fn find(
        &self,
        index: usize,
        key: &[Value<'_>],
        view: View,
        scratch: &mut Scratch,
        session: &Session,
    ) -> Result<Option<RowAddress>, Stop> {
        let open = &self.indexes()[index];
        self.check_index_view(open, view)?;
        let Some(has_null) = self.make_key(index, key, &mut scratch.key)? else {
            return Ok(None);
        };
        let found = match has_null && self.index_definition(index).unique {
            false => open.index.find(view, &scratch.key, session),
            true => first_with_null(&open.index, &scratch.key, view, session),
        };
        shrink(&mut scratch.key, KEPT_BYTES);
        self.check_there(session)?;
        found
    }

    /// Looks at the row at an address that was found as of the same view. None if there is none.
    pub fn fetch<T>(
        &self,
        view: View,
        address: RowAddress,
        look: &mut dyn FnMut(RowView<'_>) -> T,
        session: &Session,
    ) -> Result<Option<T>, Stop> {
        self.check_view(view)?;
        let misreads = Misreads::default();
        let mut look = |row: &[u8]| self.row_for(row, &misreads).map(&mut *look);
        let looked = self.heap().fetch(view, address, &mut look, session);
        self.check_there(session)?;
        let looked = looked?.transpose()?;
        self.check_misreads(&misreads).map(|()| looked)
    }

    /// Visits every row as the view sees it, in the order of their blocks, under their latches if
    /// it can be, so that `visit` only computes.
    pub fn scan(
        &self,
        view: View,
        visit: &mut dyn FnMut(RowAddress, RowView<'_>),
        session: &Session,
    ) -> Result<(), Stop> {
        self.check_view(view)?;
        let (mut damaged, misreads) = (Ok(()), Misreads::default());
        let mut visit = |address, row: &[u8]| match self.row_for(row, &misreads) {
            Ok(row) => visit(address, row),
            Err(stop) => damaged = Err(stop),
        };
        let scanned = self.heap().visit(view, &mut visit, session);
        self.check_there(session)?;
        scanned.and(damaged)?;
        self.check_misreads(&misreads)
    }

    /// Looks at a row of which an index has an entry.
    pub(crate) fn fetch_entry<T>(
        &self,
        index: usize,
        address: RowAddress,
        view: View,
        look: &mut dyn FnMut(RowAddress, RowView<'_>) -> T,
        session: &Session,
    ) -> Result<T, Stop> {
        let found = self.fetch(view, address, &mut |row| look(address, row), session)?;
        found.ok_or_else(|| self.row_is_missing(address, Some(index)))
    }

    /// Makes the key of these values, and says whether one of them is NULL; none if no row can have
    /// it.
    fn make_key(
        &self,
        number: usize,
        values: &[Value<'_>],
        key: &mut Vec<u8>,
    ) -> Result<Option<bool>, Stop> {
        let columns = &self.indexes()[number].columns;
        self.check_key_length(number, values.len())?;
        key.clear();
        let mut has_null = false;
        for (of, value) in columns.iter().zip(values) {
            let SearchValue::Exact(value) = self.search_value(of.column, *value)? else {
                return Ok(None);
            };
            has_null |= value.is_null();
            key_push(value, of.direction, of.nulls, key);
        }
        Ok(Some(has_null))
    }
}

/// The row of the first entry of a unique index that begins with this key, which has a NULL. The
/// row's address follows the key there (RL4).
#[cold]
fn first_with_null(
    index: &Index,
    key: &[u8],
    view: View,
    session: &Session,
) -> Result<Option<RowAddress>, Stop> {
    let mut end = key.to_vec();
    assert!(key_successor(&mut end), "a column of a key isn't all 0xff (rule value/V7)");
    let range = (Bound::Included(key), Bound::Excluded(&end[..]));
    let mut entries = index.cursor(range, Direction::Ascending, view);
    let first = entries.next(session)?;
    Ok(first.map(|(_, row)| row))
}
