//! Reading rows as a view sees them: by a key, or all of them.
//!
//! A view serves an index and the rows alike: what the one says of its moment is true of the other.
//!
//! Callers: whoever executes statements.

use access::RowAddress;
use os::Session;
use stop::Stop;
use txn::View;
use value::{Misreads, RowView, Value};

use crate::Relation;
use crate::keys::push_key;
use crate::range::Sought;
use crate::scratch::Scratch;

impl Relation {
    /// Looks at the row with this key in an index, as the view sees it: under its block's latch if
    /// it can be, so that `look` only computes. The key has a value for each column of the index;
    /// of several rows it is one. None if there is no such row.
    pub fn get<T>(
        &self,
        (index, key): (usize, &[Value<'_>]),
        view: View,
        look: &mut dyn FnMut(RowAddress, RowView<'_>) -> T,
        scratch: &mut Scratch,
        session: &Session,
    ) -> Result<Option<T>, Stop> {
        match self.find((index, key), view, scratch, session)? {
            Some(address) => self.fetch_entry((index, address), view, look, session).map(Some),
            None => Ok(None),
        }
    }

    /// Where the row with this key is.
    pub fn find(
        &self,
        (index, key): (usize, &[Value<'_>]),
        view: View,
        scratch: &mut Scratch,
        session: &Session,
    ) -> Result<Option<RowAddress>, Stop> {
        let open = &self.indexes()[index];
        self.check_index_view(open, view)?;
        if !self.make_key((index, key), &mut scratch.key)? {
            return Ok(None);
        }
        let found = open.index.find(view, &scratch.key, session);
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
        (index, address): (usize, RowAddress),
        view: View,
        look: &mut dyn FnMut(RowAddress, RowView<'_>) -> T,
        session: &Session,
    ) -> Result<T, Stop> {
        let found = self.fetch(view, address, &mut |row| look(address, row), session)?;
        found.ok_or_else(|| self.row_is_missing(address, Some(index)))
    }

    /// Makes the key of these values; false if no row can have it.
    pub(crate) fn make_key(
        &self,
        (number, values): (usize, &[Value<'_>]),
        key: &mut Vec<u8>,
    ) -> Result<bool, Stop> {
        let columns = &self.indexes()[number].columns;
        if values.len() != columns.len() {
            return Err(self.wrong_key(number, values.len()));
        }
        key.clear();
        for (of, value) in columns.iter().zip(values) {
            let Sought::Exact(value) = self.sought(of.column, *value)? else {
                return Ok(false);
            };
            let of = std::slice::from_ref(of);
            push_key(of, |_| Ok(value), key).expect("a value that is given isn't damaged");
        }
        Ok(true)
    }
}
