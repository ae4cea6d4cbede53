//! Reading rows as a view sees them: one by its key or its address, or all of them.
//!
//! One view serves an index and the rows: what an entry says as of the view is true of the row
//! (RL2).
//!
//! Callers: the catalog; the embedded API; `search`, `lock` and `foreign`.

use std::ops::Bound;

use access::{Direction, EachRow, Index, RowAddress};
use os::Session;
use stop::Stop;
use txn::View;
use value::{Misreads, RowView, Value, key_successor};

use crate::Relation;
use crate::scratch::{KEPT_BYTES, Scratch, shrink};

impl Relation {
    /// Gives the row with this key in an index to `look`, as the view sees it, and returns what
    /// `look` does; none if there is no such row. The key has a value for each column of the index;
    /// of several rows that have it one is shown. `look` is called under the block's latch if
    /// possible, so it only computes.
    pub fn get<T>(
        &self,
        index: usize,
        key: &[Value<'_>],
        view: View,
        look: &mut dyn FnMut(RowAddress, RowView<'_>) -> T,
        scratch: &mut Scratch,
        session: &Session,
    ) -> Result<Option<T>, Stop> {
        let ahead = |address| self.heap().prefetch(address, session);
        match self.find_and(index, key, view, ahead, scratch, session)? {
            Some(address) => self.fetch_entry(index, address, view, look, session).map(Some),
            None => Ok(None),
        }
    }

    /// The address of a row with this key; of several rows it is one. NULL finds NULL (RL27).
    pub fn find(
        &self,
        index: usize,
        key: &[Value<'_>],
        view: View,
        scratch: &mut Scratch,
        session: &Session,
    ) -> Result<Option<RowAddress>, Stop> {
        self.find_and(index, key, view, |_| (), scratch, session)
    }

    /// As `find`; `ahead` is called as [`Index::find_and`] says.
    #[inline]
    fn find_and(
        &self,
        index: usize,
        key: &[Value<'_>],
        view: View,
        ahead: impl Fn(RowAddress),
        scratch: &mut Scratch,
        session: &Session,
    ) -> Result<Option<RowAddress>, Stop> {
        let open = &self.indexes()[index];
        self.check_index_view(open, view)?;
        self.check_key_length(index, key.len())?;
        scratch.key.clear();
        let values = key.iter().copied();
        let made = self.push_search_key(&open.columns, values, &mut scratch.key)?;
        let Some(has_null) = made else { return Ok(None) };
        let found = match has_null && self.index_definition(index).unique {
            false => open.index.find_and(view, &scratch.key, ahead, session),
            true => first_with_null(&open.index, &scratch.key, view, session),
        };
        shrink(&mut scratch.key, KEPT_BYTES);
        self.check_there(session)?;
        found
    }

    /// Gives the row at an address to `look`; none if there is none. The address was found as of
    /// the same view.
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

    /// Visits every row as the view sees it, block by block, under the block's latch if possible,
    /// so `visit` only computes.
    pub fn scan(
        &self,
        view: View,
        mut visit: impl FnMut(RowAddress, RowView<'_>),
        session: &Session,
    ) -> Result<(), Stop> {
        self.check_view(view)?;
        let (mut damaged, misreads) = (Ok(()), Misreads::default());
        let mut visit = EachRow::new(|address, row: &[u8]| match self.row_for(row, &misreads) {
            Ok(row) => visit(address, row),
            Err(stop) => damaged = Err(stop),
        });
        let scanned = self.heap().visit(view, &mut visit, session);
        self.check_there(session)?;
        scanned.and(damaged)?;
        self.check_misreads(&misreads)
    }

    /// Gives the row of an index entry to `look`. Refused if the row isn't there (RL38).
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

    /// Visits the rows of index entries, in this order. Refused if one isn't there (RL38).
    pub(crate) fn visit_entries(
        &self,
        index: usize,
        rows: &[RowAddress],
        view: View,
        visit: &mut dyn FnMut(RowAddress, RowView<'_>),
        session: &Session,
    ) -> Result<(), Stop> {
        let (mut damaged, misreads) = (Ok(()), Misreads::default());
        let mut visit = |address, row: &[u8]| match self.row_for(row, &misreads) {
            Ok(row) => visit(address, row),
            Err(stop) => damaged = Err(stop),
        };
        let missing = self.heap().visit_rows(view, rows, &mut visit, session);
        self.check_there(session)?;
        if let Some(row) = missing? {
            return Err(self.row_is_missing(row, Some(index)));
        }
        damaged?;
        self.check_misreads(&misreads)
    }
}

/// The row of the first entry of a unique index whose key begins with this one, which has a NULL.
/// The row's address follows the key there (RL4).
#[cold]
fn first_with_null(
    index: &Index,
    key: &[u8],
    view: View,
    session: &Session,
) -> Result<Option<RowAddress>, Stop> {
    let mut end = key.to_vec();
    assert!(key_successor(&mut end), "a column of a key isn't all 0xff (rule value/VA7)");
    let range = (Bound::Included(key), Bound::Excluded(&end[..]));
    let mut entries = index.cursor(range, Direction::Ascending, view);
    let first = entries.next(session)?;
    Ok(first.map(|(_, row)| row))
}
