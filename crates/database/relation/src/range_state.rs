//! Ranges of an index on the way through them, and between calls: by rows, or by keys alone.
//!
//! ```text
//!   begin_range ──▶ RangeState: a fence, and the entries of a leaf at hand
//!                      │
//!                      ├─ range_next         the next row
//!                      ├─ range_rows_next    the rows of the entries at hand, in their order
//!                      ├─ range_keys_next    the values in their keys, without a look at the rows
//!                      └─ range_count_next   how many entries the next leaf has
//! ```
//!
//! Callers: `search`; the embedded API; SQL.

use access::{Direction, IndexRange, RowAddress};
use os::Session;
use stop::{RefusalKind, Stop};
use txn::View;
use value::{DamagedKey, KeyDecoder, RowView, Value};

use crate::keys::address_bytes;
use crate::range::Bounds;
use crate::scratch::emptied;
use crate::{IndexId, Relation};

/// A range of an index, between two calls. It borrows nothing, and has no pin and no latch (RL70).
#[derive(Debug)]
pub struct RangeState {
    index: IndexId,
    view: View,
    /// The view that the next call takes instead: own changes behind that call may make it wrong.
    renewed: Option<View>,
    /// None if no key can lie in the range.
    range: Option<IndexRange>,
    /// The most rows that one call gives.
    most: usize,
    keys: KeyDecoder,
    /// A buffer.
    values: Vec<Value<'static>>,
}

/// The rows in a range of an index, found one after the other.
pub struct Rows<'a> {
    relation: &'a Relation,
    state: RangeState,
}

impl RangeState {
    pub(crate) fn new(index: IndexId, view: View, range: Option<IndexRange>) -> RangeState {
        let (keys, values) = (KeyDecoder::default(), Vec::new());
        RangeState { index, view, renewed: None, range, most: usize::MAX, keys, values }
    }

    /// The state with a bound for the rows of one call: a caller that needs few doesn't get those
    /// of a whole leaf. One row at least comes.
    #[must_use]
    pub fn at_most(self, rows: usize) -> RangeState {
        RangeState { most: rows.max(1), ..self }
    }

    /// Has the next call take the view of the same snapshot, as it is now. Without this the state
    /// sees the same entries, but copies each block that its own transaction has changed.
    ///
    /// # Panics
    /// When it is the view of another snapshot.
    pub fn renew(&mut self, view: View) {
        assert_eq!(view.scn, self.view.scn, "a range has one snapshot");
        self.renewed = Some(view);
    }

    /// The view of this call.
    fn take_view(&mut self) -> View {
        self.renewed.take().unwrap_or(self.view)
    }

    /// The range, of which entries are at hand.
    fn at_hand(&mut self) -> &mut IndexRange {
        self.range.as_mut().expect("a range without keys has no entries at hand")
    }
}

impl Relation {
    /// Begins a search through a range of an index that goes on from call to call. The caller keeps
    /// the view's snapshot in use until it has ended; if its transaction changes rows meanwhile,
    /// the view is that of a kept snapshot (rule txn/TX51). `Ascending` is the order of the index,
    /// whatever the directions of its columns are. Nothing is read yet.
    pub fn begin_range(
        &self,
        index: usize,
        bounds: &Bounds<'_>,
        direction: Direction,
        view: View,
    ) -> Result<RangeState, Stop> {
        let range = self.index_range(index, bounds, direction, view)?;
        Ok(RangeState::new(self.indexes()[index].id, view.for_later(), range))
    }

    /// A search through a range of an index. The caller keeps the view's snapshot meanwhile.
    /// `Ascending` is the order of the index, whatever the directions of its columns are.
    pub fn range(
        &self,
        index: usize,
        bounds: &Bounds<'_>,
        direction: Direction,
        view: View,
    ) -> Result<Rows<'_>, Stop> {
        let range = self.index_range(index, bounds, direction, view)?;
        let state = RangeState::new(self.indexes()[index].id, view, range);
        Ok(Rows { relation: self, state })
    }

    /// Gives the next row of a range to `look`, under its block's latch if possible, so `look` only
    /// computes. None behind the last row. A call that is refused may be repeated, and gives the
    /// same row.
    pub fn range_next<T>(
        &self,
        state: &mut RangeState,
        look: &mut dyn FnMut(RowAddress, RowView<'_>) -> T,
        session: &Session,
    ) -> Result<Option<T>, Stop> {
        let view = state.take_view();
        let Some(place) = self.fill(state, view, session)? else { return Ok(None) };
        let range = state.at_hand();
        let rows = range.rows();
        if let [row, next, ..] = rows
            && row.block != next.block
        {
            self.heap().prefetch(*next, session);
        }
        let looked = self.fetch_entry(place, rows[0], view, look, session)?;
        range.pass(1);
        Ok(Some(looked))
    }

    /// Gives the next rows of a range to `visit`, in their order: those of the entries at hand, of
    /// one leaf at most. Rows that follow one another in one block are visited together, under its
    /// latch if possible, so `visit` only computes. False behind the last row. A call that is
    /// refused may be repeated, and then what it has shown comes again.
    pub fn range_rows_next(
        &self,
        state: &mut RangeState,
        visit: &mut dyn FnMut(RowAddress, RowView<'_>),
        session: &Session,
    ) -> Result<bool, Stop> {
        let (view, most) = (state.take_view(), state.most);
        let Some(place) = self.fill(state, view, session)? else { return Ok(false) };
        let range = state.at_hand();
        let count = range.rows().len().min(most);
        self.visit_entries(place, &range.rows()[..count], view, visit, session)?;
        range.pass(count);
        Ok(true)
    }

    /// Gives the next entries of a range to `look`, in their order, each with the values of the
    /// index's columns: as its row has them, but for types whose keys lose something (rule
    /// value/VA30). The rows aren't looked at: what the view sees of the index it sees of them
    /// (RL72). False behind the last entry. `look` runs without latches.
    pub fn range_keys_next(
        &self,
        state: &mut RangeState,
        look: &mut dyn FnMut(RowAddress, &[Value<'_>]),
        session: &Session,
    ) -> Result<bool, Stop> {
        let (view, most) = (state.take_view(), state.most);
        let Some(place) = self.fill(state, view, session)? else { return Ok(false) };
        let RangeState { range, keys, values: buffer, .. } = state;
        let range = range.as_mut().expect("there are entries at hand");
        let damaged = |damaged: DamagedKey| self.damaged_key(place, damaged);
        keys.clear();
        let mut count = 0;
        for entry in range.entries().take(most) {
            self.decode_entry(place, entry.key, entry.row, keys).map_err(damaged)?;
            count += 1;
        }
        let decoded = keys.values().map_err(damaged)?;
        let width = self.indexes()[place].columns.len();
        let mut values = emptied(std::mem::take(buffer));
        for (number, row) in range.rows()[..count].iter().enumerate() {
            values.clear();
            for column in number * width..(number + 1) * width {
                values.push(decoded.get(column).map_err(damaged)?);
            }
            look(*row, &values);
        }
        *buffer = emptied(values);
        range.pass(count);
        Ok(true)
    }

    /// The number of entries in the next leaf of a range, or of those at hand, which are passed.
    /// None behind the last leaf.
    pub fn range_count_next(
        &self,
        state: &mut RangeState,
        session: &Session,
    ) -> Result<Option<u64>, Stop> {
        let place = self.place_of(state.index)?;
        let open = &self.indexes()[place];
        let view = state.take_view();
        self.check_index_view(open, view)?;
        let Some(range) = &mut state.range else { return Ok(None) };
        let mut count = range.rows().len() as u64;
        if count > 0 {
            range.pass(range.rows().len());
            self.check_there(session)?;
            return Ok(Some(count));
        }
        let mut add = |_: &[u8], _: RowAddress| count += 1;
        let visited = open.index.visit_range(range, view, &mut add, session);
        self.check_there(session)?;
        Ok(visited?.then_some(count))
    }

    /// Has the next entries of a range at hand. Returns the place of the index; none behind the
    /// last entry.
    fn fill(
        &self,
        state: &mut RangeState,
        view: View,
        session: &Session,
    ) -> Result<Option<usize>, Stop> {
        let place = self.place_of(state.index)?;
        let open = &self.indexes()[place];
        self.check_index_view(open, view)?;
        let Some(range) = &mut state.range else { return Ok(None) };
        let filled = open.index.fill(range, view, session);
        self.check_there(session)?;
        Ok(filled?.then_some(place))
    }

    /// Decodes the columns of an entry's key.
    fn decode_entry(
        &self,
        place: usize,
        key: &[u8],
        row: RowAddress,
        keys: &mut KeyDecoder,
    ) -> Result<(), DamagedKey> {
        let mut left = key;
        for of in &self.indexes()[place].columns {
            let kind = self.definition().columns[of.column].kind;
            left = keys.decode(left, of.direction, of.nulls, kind)?;
        }
        // Behind a key with a NULL in a unique index comes the row's address (RL4).
        match left.is_empty() || left == address_bytes(row) {
            true => Ok(()),
            false => Err(DamagedKey { what: "it is longer than its columns" }),
        }
    }

    #[cold]
    fn damaged_key(&self, place: usize, damaged: DamagedKey) -> Stop {
        let message = format!(
            "cannot read index {} of table {}: {damaged}; drop the index and make it again",
            self.index_definition(place).name,
            self.definition().name
        );
        Stop::refuse(RefusalKind::Corrupt, message)
    }
}

impl Rows<'_> {
    /// Gives the next row to `look`, under its block's latch if possible, so `look` only computes.
    /// Returns none behind the last row.
    pub fn next<T>(
        &mut self,
        look: &mut dyn FnMut(RowAddress, RowView<'_>) -> T,
        session: &Session,
    ) -> Result<Option<T>, Stop> {
        self.relation.range_next(&mut self.state, look, session)
    }

    /// The address of the next row.
    pub fn next_address(&mut self, session: &Session) -> Result<Option<RowAddress>, Stop> {
        let view = self.state.take_view();
        if self.relation.fill(&mut self.state, view, session)?.is_none() {
            return Ok(None);
        }
        let range = self.state.at_hand();
        let row = range.rows()[0];
        range.pass(1);
        Ok(Some(row))
    }
}
