//! Views that read a table which gets another column, or one of another name.
//!
//! ```text
//!   ALTER TABLE t ADD COLUMN c ─▶ each view that reads t ─ bound as t will be ─▶ does it read c?
//! ```
//!
//! A view is kept as a text, and a text may name columns without their tables, or mean all of them.
//! `SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE a = 1)` asks for t's column a, and once u
//! has one of that name, for u's. So a view that would read the new column is told of, and the
//! table stays as it is.
//!
//! Invariant: a view gives after ALTER TABLE what it gave before.
//!
//! Callers: `alter`.

use std::sync::Arc;

use catalog::{Dependency, ObjectId, ViewDefinition};
use ids::ObjectNo;
use relation::{ColumnDefinition, TableDefinition};
use stop::{SqlState, Stop};
use value::Type;

use super::view::of_all;
use crate::dictionary::{Dictionary, info_of};
use crate::engine::Frame;
use crate::names::Name;
use crate::refuse::refuse;
use crate::schema::{Found, Schema, TableInfo};

/// What a block is taken to have: nothing is planned.
const BLOCK_BYTES: u32 = 8192;

/// The dictionary, in which one table is as it will be.
struct Altered<'a> {
    dictionary: Dictionary<'a>,
    table: Arc<TableInfo>,
}

impl Schema for Altered<'_> {
    fn find(&self, name: &Name) -> Result<Option<Found>, Stop> {
        Ok(match self.dictionary.find(name)? {
            Some(Found::Table(table)) if table.object() == self.table.object() => {
                Some(Found::Table(Arc::clone(&self.table)))
            }
            found => found,
        })
    }

    fn sequence(&self, name: &str) -> Result<Option<ObjectNo>, Stop> {
        self.dictionary.sequence(name)
    }

    fn names(&self) -> Vec<String> {
        self.dictionary.names()
    }
}

impl Frame<'_> {
    /// Refuses to add a column that a view would read. One that the table has is the catalog's to
    /// refuse.
    pub(super) fn check_added(&self, table: &str, column: &str, kind: Type) -> Result<(), Stop> {
        let mut after = self.catalog.table(table, self.session)?.as_ref().clone();
        if after.columns.iter().any(|of| of.name == column) {
            return Ok(());
        }
        after.columns.push(ColumnDefinition::new(column, kind, false));
        let place = after.columns.len() - 1;
        self.check_readers(after, place, &format!("add column {column} to table {table}"))
    }

    /// Refuses to give a column a name by which a view would read it. A name that isn't there, or
    /// is there already, is the catalog's to refuse.
    pub(super) fn check_renamed(&self, table: &str, from: &str, to: &str) -> Result<(), Stop> {
        let mut after = self.catalog.table(table, self.session)?.as_ref().clone();
        let place = after.columns.iter().position(|of| of.name == from);
        let is_taken = after.columns.iter().any(|of| of.name == to);
        let Some(place) = place.filter(|_| !is_taken) else { return Ok(()) };
        after.columns[place].name = to.into();
        self.check_readers(after, place, &format!("rename column {from} of table {table} to {to}"))
    }

    /// Refuses to do `what` if a view would read the column at this place of the table as it will
    /// be, and doesn't do so now.
    fn check_readers(&self, after: TableDefinition, place: usize, what: &str) -> Result<(), Stop> {
        let object = ObjectId::Table(after.object);
        let is_new = |view: &ViewDefinition| !view.reads_column(object, place);
        let reads_it = |one: &Dependency| one.object == object && one.columns.contains(&place);
        let dictionary = self.ground().dictionary();
        let table = Arc::new(info_of(Arc::new(after), None, 1, BLOCK_BYTES));
        let altered = Altered { dictionary, table };
        for view in self.catalog.views(self.session) {
            if !view.reads(object) || !is_new(&view) {
                continue;
            }
            let query = syntax::parse_query(&view.text).map_err(Stop::from)?;
            // A view that can't be read now gives nothing that could become another thing.
            if of_all(&dictionary, &query).is_err() {
                continue;
            }
            match of_all(&altered, &query) {
                Ok(read) if !read.iter().any(reads_it) => {}
                Err(halted @ Stop::Halted(_)) => return Err(halted),
                Ok(_) | Err(_) => return Err(would_differ(what, &view.name)),
            }
        }
        Ok(())
    }
}

#[cold]
fn would_differ(what: &str, view: &str) -> Stop {
    let message = format!(
        "cannot {what}: view {view}, which doesn't say of which table its columns are, or reads \
         all columns, would give other rows than now"
    );
    let refused = refuse(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
    let hint = "choose another name, or drop the view and make it again behind the change";
    refused.map_refusal(|refusal| refusal.hint(hint))
}
