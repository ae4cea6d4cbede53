//! The rows that a statement is about, found as of a view.
//!
//! Callers: `selected` and `lock`, for statements that change or lock rows.

use access::{Direction, RowAddress};
use ids::Dba;
use os::Session;
use stop::Stop;
use txn::View;
use value::{Misreads, RowView, Value};

use crate::range::Bounds;
use crate::{IndexId, Relation, StatementWork};

/// Selects the rows that a statement is about. An index is named by its place in the definition of
/// the relation, or, by a caller that keeps this across calls, by its [`IndexId`] (RL14).
#[derive(Clone, Copy, Debug)]
pub enum Selection<'v, I = usize> {
    /// The row with this key in a unique index: a value for each of its columns. If one of them is
    /// NULL, all rows that have the key (RL27).
    Key(I, &'v [Value<'v>]),
    /// The rows in a range of an index.
    Range(I, Bounds<'v>),
    /// All rows.
    All,
}

impl<'v> Selection<'v, IndexId> {
    /// The same selection with the index named by its place in this relation.
    pub fn within(self, relation: &Relation) -> Result<Selection<'v>, Stop> {
        Ok(match self {
            Selection::Key(index, key) => Selection::Key(relation.place_of(index)?, key),
            Selection::Range(index, bounds) => Selection::Range(relation.place_of(index)?, bounds),
            Selection::All => Selection::All,
        })
    }
}

impl<I> Selection<'_, I> {
    /// Whether one row at most is selected: with a NULL in the key they may be several (RL27).
    pub(crate) fn is_of_one_row(&self) -> bool {
        matches!(self, Selection::Key(_, key) if !key.iter().any(|value| value.is_null()))
    }
}

/// A condition that the rows of a statement also meet; none is met by all rows. It only computes,
/// and may be called again.
pub(crate) type Filter<'a> = Option<&'a mut (dyn FnMut(&RowView<'_>) -> bool + 'a)>;

/// A search for the rows of a statement.
pub(crate) struct RowSearch<'a, 'f> {
    pub(crate) selection: Selection<'a>,
    pub(crate) filter: &'a mut Filter<'f>,
    pub(crate) view: View,
    /// The direction of a search by an index range.
    pub(crate) direction: Direction,
    /// At most this many rows of an index range are visited together.
    pub(crate) batch_max: usize,
}

/// Is given rows that follow one another and lie in one block. Returns false to end the search.
pub(crate) type VisitRows<'a> =
    dyn FnMut(&mut StatementWork<'_, '_>, &[RowAddress]) -> Result<bool, Stop> + 'a;

impl Relation {
    /// Visits the rows that a statement's search finds: by a key, in the order of an index range,
    /// or block by block. Returns false if a visit ended it.
    pub(crate) fn visit_rows(
        &self,
        statement: &mut StatementWork<'_, '_>,
        search: RowSearch<'_, '_>,
        visit: &mut VisitRows<'_>,
    ) -> Result<bool, Stop> {
        let RowSearch { filter, view, direction, batch_max, .. } = search;
        let session = statement.session();
        match self.unique_rows(search.selection)? {
            Selection::Key(index, key) => {
                match self.find(index, key, view, statement.scratch(), session)? {
                    Some(row) if self.matches(filter, index, row, view, session)? => {
                        visit(statement, &[row])
                    }
                    _ => Ok(true),
                }
            }
            Selection::Range(index, bounds) => {
                let mut found = self.range(index, &bounds, direction, view)?;
                let mut rows: Vec<RowAddress> = Vec::new();
                while let Some(row) = found.next_address(session)? {
                    if !self.matches(filter, index, row, view, session)? {
                        continue;
                    }
                    if rows.last().is_some_and(|last| last.block != row.block) {
                        if !visit(statement, &rows)? {
                            return Ok(false);
                        }
                        rows.clear();
                    }
                    rows.push(row);
                    if rows.len() == batch_max {
                        if !visit(statement, &rows)? {
                            return Ok(false);
                        }
                        rows.clear();
                    }
                }
                visit(statement, &rows)
            }
            Selection::All => {
                self.check_view(view)?;
                let mut rows = Vec::new();
                let mut each = |block| {
                    rows.clear();
                    self.find_in_block(block, filter, view, &mut rows, session)?;
                    visit(statement, &rows)
                };
                self.heap().through_cache(&mut each, session)
            }
        }
    }

    /// The same rows, selected by a key only if one row at most can have it (RL27).
    fn unique_rows<'v>(&self, selection: Selection<'v>) -> Result<Selection<'v>, Stop> {
        let Selection::Key(index, key) = selection else { return Ok(selection) };
        self.check_unique(index)?;
        self.check_key_length(index, key.len())?;
        Ok(match selection.is_of_one_row() {
            true => selection,
            false => Selection::Range(index, Bounds::equal(key)),
        })
    }

    /// Whether a row that an index leads to meets the filter. Refused if the row isn't there
    /// (RL38).
    fn matches(
        &self,
        filter: &mut Filter<'_>,
        index: usize,
        row: RowAddress,
        view: View,
        session: &Session,
    ) -> Result<bool, Stop> {
        let Some(filter) = filter else { return Ok(true) };
        self.fetch_entry(index, row, view, &mut |_, row| filter(&row), session)
    }

    /// Appends the rows of a block that meet the filter.
    fn find_in_block(
        &self,
        block: Dba,
        filter: &mut Filter<'_>,
        view: View,
        rows: &mut Vec<RowAddress>,
        session: &Session,
    ) -> Result<(), Stop> {
        let (mut damaged, misreads) = (Ok(()), Misreads::default());
        let mut visit = |address, row: &[u8]| match filter {
            None => rows.push(address),
            Some(filter) => match self.row_for(row, &misreads) {
                Ok(row) if filter(&row) => rows.push(address),
                Ok(_) => {}
                Err(stop) => damaged = Err(stop),
            },
        };
        self.heap().visit_block(view, block, &mut visit, session)?;
        self.check_there(session)?;
        damaged?;
        self.check_misreads(&misreads)
    }
}
