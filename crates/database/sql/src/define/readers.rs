//! Views that read a table which gets another column, or one of another name; views that read a
//! view which is replaced.
//!
//! ```text
//!   ALTER TABLE t ADD COLUMN c ─▶ each view that reads t ─ bound as t will be ─▶ does it read c?
//!   CREATE OR REPLACE VIEW v ──▶ each view that reads v ─ bound as v will be ─▶ new columns?
//! ```
//!
//! A view is kept as a text, and a text may name columns without their tables, or mean all of them.
//! `SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE a = 1)` asks for t's column a, and once u
//! has one of that name, for u's. So a view that would read the new column is told of, and the
//! table, or the view that is there, stays as it is.
//!
//! Invariant: a view gives after ALTER TABLE what it gave before, and after CREATE OR REPLACE VIEW
//! what the new view has in the columns that it read.
//!
//! Callers: `alter`, `view`.

use std::collections::BTreeSet;
use std::sync::Arc;

use catalog::{Dependency, ObjectId, ViewDefinition, ViewSpec};
use ids::ObjectNo;
use relation::{ColumnDefinition, TableDefinition};
use sqlparser::ast::Query as SqlQuery;
use stop::{RefusalKind, SqlState, Stop};
use value::Type;

use super::view::{columns_of, dependencies, of_all};
use crate::bind::OutputColumn;
use crate::dictionary::{Dictionary, info_of};
use crate::engine::Frame;
use crate::names::Name;
use crate::refuse::refuse;
use crate::schema::{Found, Schema, ViewInfo};

/// What a block is taken to have: nothing is planned.
const BLOCK_BYTES: u32 = 8192;

/// The dictionary, in which one table or view is as it will be.
struct Altered<'a> {
    dictionary: Dictionary<'a>,
    object: ObjectId,
    after: Found,
}

impl Schema for Altered<'_> {
    fn find(&self, name: &Name) -> Result<Option<Found>, Stop> {
        let found = self.dictionary.find(name)?;
        let object = match &found {
            Some(Found::Table(table)) => Some(ObjectId::Table(table.object())),
            Some(Found::View(view)) => Some(ObjectId::View(view.object)),
            Some(Found::Virtual(_)) | None => None,
        };
        Ok(match object == Some(self.object) {
            true => Some(self.after.clone()),
            false => found,
        })
    }

    fn sequence(&self, name: &str) -> Result<Option<ObjectNo>, Stop> {
        self.dictionary.sequence(name)
    }

    fn names(&self) -> Vec<String> {
        self.dictionary.names()
    }
}

/// A change of a table or a view, and what it might do to views.
struct Change<'c> {
    /// The change in words.
    what: &'c str,
    /// The dictionary as it will be.
    altered: Altered<'c>,
    /// Finds what a query reads.
    read_by: fn(&dyn Schema, &SqlQuery) -> Result<Vec<Dependency>, Stop>,
    /// Whether a view has to be looked at.
    concerns: &'c dyn Fn(&ViewDefinition) -> bool,
    /// Whether what a view will read is something that it doesn't read now.
    is_new: &'c dyn Fn(&ViewDefinition, &Dependency) -> bool,
}

impl Frame<'_> {
    /// Refuses to add a column that a view would read. One that the table has is the catalog's to
    /// refuse.
    pub(super) fn check_added(
        &self,
        table: &TableDefinition,
        column: &str,
        kind: Type,
    ) -> Result<(), Stop> {
        if table.columns.iter().any(|of| of.name == column) {
            return Ok(());
        }
        let mut after = table.clone();
        after.columns.push(ColumnDefinition::new(column, kind, false));
        let place = after.columns.len() - 1;
        self.check_column(after, place, &format!("add column {column} to table {}", table.name))
    }

    /// Refuses to give a column a name by which a view would read it. A name that isn't there, or
    /// is there already, is the catalog's to refuse.
    pub(super) fn check_renamed(
        &self,
        table: &TableDefinition,
        from: &str,
        to: &str,
    ) -> Result<(), Stop> {
        let place = table.columns.iter().position(|of| of.name == from);
        let is_taken = table.columns.iter().any(|of| of.name == to);
        let Some(place) = place.filter(|_| !is_taken) else { return Ok(()) };
        let mut after = table.clone();
        after.columns[place].name = to.into();
        let what = format!("rename column {from} of table {} to {to}", table.name);
        self.check_column(after, place, &what)
    }

    /// Refuses to do `what` if a view would read the column at this place of the table as it will
    /// be, and doesn't do so now. A view that reads a column that is dropped is the catalog's to
    /// tell of.
    fn check_column(&self, after: TableDefinition, place: usize, what: &str) -> Result<(), Stop> {
        let object = ObjectId::Table(after.object);
        let dropped = after.columns.iter().enumerate().filter(|(_, column)| column.is_dropped());
        let looked_at: Vec<usize> =
            dropped.map(|(place, _)| place).chain(std::iter::once(place)).collect();
        let info = info_of(Arc::new(after), None, 1, BLOCK_BYTES);
        let dictionary = self.ground().dictionary();
        self.check_readers(&Change {
            what,
            altered: Altered { dictionary, object, after: Found::Table(Arc::new(info)) },
            read_by: of_all,
            concerns: &|view| !looked_at.iter().any(|place| view.reads_column(object, *place)),
            is_new: &|_, read| read.object == object && read.columns.contains(&place),
        })
    }

    /// Returns the places of the columns that have values of another kind than in the view that is
    /// replaced: the catalog refuses them, as it refuses other names, if a view reads them. Refused
    /// if a view would read a column that is new. The new view gives these columns, and reads these
    /// objects.
    pub(super) fn check_replaced(
        &self,
        spec: &ViewSpec,
        given: &[OutputColumn],
        objects: &BTreeSet<ObjectId>,
    ) -> Result<Vec<usize>, Stop> {
        let before = match self.catalog.view(&spec.name, self.session) {
            Ok(before) => before,
            // There is none, or something else has the name, which is the catalog's to refuse.
            Err(stop) if stop.refusal() == Some(RefusalKind::NotFound) => return Ok(Vec::new()),
            Err(stop) => return Err(stop),
        };
        let object = ObjectId::View(before.object);
        let dictionary = self.ground().dictionary();
        let query = syntax::parse_query(&before.text).map_err(Stop::from)?;
        let columns = match columns_of(&dictionary, &query) {
            Ok(columns) => columns,
            Err(halted @ Stop::Halted(_)) => return Err(halted),
            // It can't be read now, nor can the views that read it.
            Err(_) => return Ok(Vec::new()),
        };
        let pairs = columns.iter().zip(given).enumerate();
        let retyped = pairs.filter(|(_, (old, new))| old.kind != new.kind);
        let retyped: Vec<usize> = retyped.map(|(place, _)| place).collect();
        let has_new = spec.columns.iter().any(|name| !before.columns.contains(name));
        // One that would read itself is the catalog's to refuse.
        if !has_new || objects.contains(&object) {
            return Ok(retyped);
        }
        let is_other = |place: &usize| {
            retyped.contains(place) || before.columns.get(*place) != spec.columns.get(*place)
        };
        let after = ViewInfo {
            object: before.object,
            name: spec.name.clone(),
            columns: spec.columns.clone(),
            query: spec.text.clone(),
        };
        self.check_readers(&Change {
            what: &format!("replace view {}", spec.name),
            altered: Altered { dictionary, object, after: Found::View(Arc::new(after)) },
            read_by: dependencies,
            concerns: &|reader| {
                let mut read = reader.depends_on.iter().filter(|read| read.object == object);
                read.all(|read| !read.columns.iter().any(is_other))
            },
            is_new: &|reader, read| {
                let is_new = |place: &usize| !reader.reads_column(object, *place);
                read.object == object && read.columns.iter().any(is_new)
            },
        })?;
        Ok(retyped)
    }

    /// Refuses a change if a view would read behind it what it doesn't read now.
    fn check_readers(&self, change: &Change<'_>) -> Result<(), Stop> {
        let Change { what, altered, read_by, concerns, is_new } = change;
        for view in self.catalog.views(self.session) {
            if !view.reads(altered.object) || !concerns(&view) {
                continue;
            }
            let query = syntax::parse_query(&view.text).map_err(Stop::from)?;
            // A view that can't be read now gives nothing that could become another thing.
            if read_by(&altered.dictionary, &query).is_err() {
                continue;
            }
            match read_by(altered, &query) {
                Ok(read) if !read.iter().any(|read| is_new(&view, read)) => {}
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
