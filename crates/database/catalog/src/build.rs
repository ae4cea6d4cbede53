//! Filling an index of a table that has rows: their keys are sorted within a bound of memory, and
//! the index is built from the leaves up (DC16).
//!
//! ```text
//!   rows, block by block ─▶ keys ─▶ sort (crate `sort`) ─▶ in order; equal neighbours? refused
//!                                                            └─▶ IndexBuilder
//! ```
//!
//! Invariants
//!   * a table lock keeps changes out, so a view sees all rows (DC5)
//!   * it takes the sort's area and the keys of one block's rows of memory
//!
//! Callers: `create`, `alter`.

use access::{IndexBuilder, RowAddress};
use ids::Dba;
use os::Session;
use relation::{Relation, TableDefinition, ordered_bytes, split_sorted};
use sort::Sorter;
use stop::{Refusal, RefusalKind, Stop};
use txn::View;
use value::{Damaged, RowView};
use waits::LongWork;

use crate::Catalog;

/// The keys and the addresses of one block's rows.
#[derive(Default)]
struct Keys {
    bytes: Vec<u8>,
    /// The end of each key in the bytes.
    ends: Vec<usize>,
}

impl Catalog {
    /// Fills an index of the table with entries for the rows that the view sees, and returns how
    /// many.
    pub(crate) fn fill(
        &self,
        table: &Relation,
        index: usize,
        view: View,
        session: &Session,
    ) -> Result<u64, Stop> {
        let halt = self.space.changes().halt();
        let config = self.config.sort.clone();
        let mut sorter = Sorter::new(&self.config.disk, config, halt, session)?;
        let mut keys = Keys::default();
        let mut pushed = 0;
        each_block(table, view, session, |block| {
            keys.read(table, index, block, view, session)?;
            pushed += keys.ends.len() as u64;
            keys.iter().try_for_each(|key| sorter.push(key, &[]))
        })?;
        let mut sorted = sorter.finish()?;
        let work = session.begin_work(LongWork::IndexBuild, pushed);
        let mut builder = IndexBuilder::new(table.index(index), session);
        let unique = table.definition().indexes[index].unique;
        let mut last: Option<(Vec<u8>, RowAddress)> = None;
        while let Some((bytes, _)) = sorted.next_row()? {
            let (key, address) = split_sorted(bytes);
            if unique {
                match &mut last {
                    Some((before, row)) if before == key => {
                        return Err(duplicate(table, index, *row, address, view, session));
                    }
                    Some((before, row)) => {
                        before.clear();
                        before.extend_from_slice(key);
                        *row = address;
                    }
                    None => last = Some((key.to_vec(), address)),
                }
            }
            builder.add(key, address)?;
            work.done(1);
        }
        builder.finish()
    }
}

/// Calls `each` for the blocks of a table; each is brought into the cache with its neighbours.
pub(crate) fn each_block(
    table: &Relation,
    view: View,
    session: &Session,
    mut each: impl FnMut(Dba) -> Result<(), Stop>,
) -> Result<(), Stop> {
    assert!(table.definition().truncated <= view.scn, "a lock keeps truncates out");
    table.heap().through_cache(&mut |block| each(block).map(|()| true), session).map(drop)
}

impl Keys {
    /// Reads the keys of a block's rows. Under the block's latch keys are made, and nothing waits.
    fn read(
        &mut self,
        table: &Relation,
        index: usize,
        block: Dba,
        view: View,
        session: &Session,
    ) -> Result<(), Stop> {
        self.bytes.clear();
        self.ends.clear();
        let mut read = Ok(());
        let mut visit = |address, row: &[u8]| {
            let pushed = RowView::new(table.layout(), row)
                .map_err(|damaged| unreadable(table.definition(), address, &damaged))
                .and_then(|row| table.push_entry_key(index, address, &row, &mut self.bytes));
            self.bytes.extend(ordered_bytes(address));
            self.ends.push(self.bytes.len());
            read = std::mem::replace(&mut read, Ok(())).and(pushed);
        };
        table.heap().visit_block(view, block, &mut visit, session)?;
        read
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}

/// The refusal of two rows with one key, which it names.
fn duplicate(
    table: &Relation,
    index: usize,
    one: RowAddress,
    other: RowAddress,
    view: View,
    session: &Session,
) -> Stop {
    let definition = table.definition();
    let index = &definition.indexes[index];
    let columns = || index.columns.iter().map(|of| of.column);
    let mut look = |row: RowView<'_>| table.columns_text(columns(), &row);
    let key = match table.fetch(view, other, &mut look, session) {
        Ok(key) => key.unwrap_or_default(),
        Err(stop) => return stop,
    };
    let message = format!(
        "cannot make unique index {}: the rows {one} and {other} of table {} have the same key",
        index.name, definition.name
    );
    let refusal = Refusal::new(RefusalKind::UniqueViolation, message).detail(key);
    let refusal = refusal.hint("change or delete one of them");
    refusal.table(&definition.name).constraint(&index.name).into()
}

/// The refusal of a row that can't be read.
pub(crate) fn unreadable(table: &TableDefinition, row: RowAddress, damaged: &Damaged) -> Stop {
    let message =
        format!("cannot read row {row} of table {}: {damaged}; verify the database", table.name);
    Stop::refuse(RefusalKind::Corrupt, message)
}
