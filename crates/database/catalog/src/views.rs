//! What there is, as values: for tools, and for views that show it.
//!
//! Callers: tools; SQL's views of the dictionary.

use std::sync::Arc;

use ids::ObjectNo;
use os::Session;
use relation::{OnDelete, TableDefinition};
use stop::{RefusalKind, Stop};

use crate::store::corrupt;
use crate::{Catalog, SequenceDefinition};

/// A table, with its size.
#[derive(Clone, Debug)]
pub struct TableView {
    /// What it is: columns, indexes and constraints, by name.
    pub definition: Arc<TableDefinition>,
    /// Blocks of its rows that were handed out.
    pub blocks: u32,
    /// Its indexes with their sizes, in the order of the definition.
    pub indexes: Vec<IndexView>,
}

/// An index, with its size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexView {
    /// Its number.
    pub object: ObjectNo,
    /// Its name.
    pub name: String,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// No two rows are alike there.
    pub unique: bool,
    /// Blocks that were handed out.
    pub blocks: u32,
}

/// A constraint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConstraintView {
    /// Its table's name.
    pub table: String,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: ConstraintKind,
    /// The columns that it is about, by name; of a CHECK those that it asks for.
    pub columns: Vec<String>,
}

/// What a constraint is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConstraintKind {
    /// PRIMARY KEY.
    PrimaryKey,
    /// UNIQUE, or a unique index.
    Unique,
    /// CHECK.
    Check,
    /// FOREIGN KEY.
    ForeignKey {
        /// The name of the table that it refers to.
        references: String,
        /// The columns there.
        columns: Vec<String>,
        /// What a delete there does.
        on_delete: OnDelete,
    },
}

/// A sequence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SequenceView {
    /// What it is.
    pub definition: SequenceDefinition,
    /// Its next value, if the instance goes on; none if it has no more.
    pub next: Option<i64>,
}

impl Catalog {
    /// Every table, by name, with sizes. A table that is dropped meanwhile isn't there.
    pub fn tables(&self, session: &Session) -> Result<Vec<TableView>, Stop> {
        let views = self.definitions(session).into_iter();
        let views = views.map(|definition| self.table_view(definition, session));
        let all: Result<Vec<TableView>, Stop> = views.filter_map(Result::transpose).collect();
        let mut all = all?;
        // One may have got another name meanwhile.
        all.sort_by(|one, other| one.definition.name.cmp(&other.definition.name));
        Ok(all)
    }

    /// Every definition, by the tables' names.
    pub fn definitions(&self, session: &Session) -> Vec<Arc<TableDefinition>> {
        let mut all: Vec<_> = self.dictionary.shared(session).tables().cloned().collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    /// A table by its newest definition, for a segment of another may have gone. None if it was
    /// dropped meanwhile.
    fn table_view(
        &self,
        mut definition: Arc<TableDefinition>,
        session: &Session,
    ) -> Result<Option<TableView>, Stop> {
        loop {
            if let Some(view) = self.view_by(&definition, session)? {
                return Ok(Some(view));
            }
            let dictionary = self.dictionary.shared(session);
            let Ok(newest) = dictionary.table_of(definition.object) else { return Ok(None) };
            if Arc::ptr_eq(newest, &definition) {
                let what = format!("a segment of table {} isn't there", definition.name);
                return Err(corrupt(&what));
            }
            definition = Arc::clone(newest);
        }
    }

    /// None if a segment isn't there any more.
    fn view_by(
        &self,
        definition: &Arc<TableDefinition>,
        session: &Session,
    ) -> Result<Option<TableView>, Stop> {
        let Some(blocks) = self.blocks(definition.segment, session)? else { return Ok(None) };
        let mut indexes = Vec::new();
        for index in &definition.indexes {
            let Some(blocks) = self.blocks(index.segment, session)? else { return Ok(None) };
            let columns = index.columns.iter().map(|of| of.column);
            indexes.push(IndexView {
                object: index.object,
                name: index.name.clone(),
                columns: column_names(definition, columns),
                unique: index.unique,
                blocks,
            });
        }
        Ok(Some(TableView { definition: Arc::clone(definition), blocks, indexes }))
    }

    /// None if the segment isn't there any more.
    fn blocks(&self, segment: ObjectNo, session: &Session) -> Result<Option<u32>, Stop> {
        let Some(segment) = self.space.segment(segment, session)? else { return Ok(None) };
        let runs = match self.space.blocks(segment.header, session) {
            Err(stop) if stop.refusal() == Some(RefusalKind::NotFound) => return Ok(None),
            runs => runs?,
        };
        Ok(Some(runs.iter().map(|run| run.count).sum()))
    }

    /// Every constraint but NOT NULL, by the tables' names.
    pub fn constraints(&self, session: &Session) -> Vec<ConstraintView> {
        let all = self.definitions(session);
        let mut found = Vec::new();
        for table in &all {
            let mut add = |name: &str, kind, columns| {
                let (table, name) = (table.name.clone(), name.to_string());
                found.push(ConstraintView { table, name, kind, columns });
            };
            for index in table.indexes.iter().filter(|index| index.unique) {
                let kind = match index.primary {
                    true => ConstraintKind::PrimaryKey,
                    false => ConstraintKind::Unique,
                };
                let columns = index.columns.iter().map(|of| of.column);
                add(&index.name, kind, column_names(table, columns));
            }
            for check in &table.checks {
                let columns = check.condition.columns().into_iter();
                add(&check.name, ConstraintKind::Check, column_names(table, columns));
            }
            for key in &table.foreign_keys {
                let parent = all.iter().find(|one| one.object == key.references);
                let Some(parent) = parent else { continue };
                let kind = ConstraintKind::ForeignKey {
                    references: parent.name.clone(),
                    columns: column_names(parent, key.referenced_columns.iter().copied()),
                    on_delete: key.on_delete,
                };
                add(&key.name, kind, column_names(table, key.columns.iter().copied()));
            }
        }
        found
    }

    /// Every sequence, by name.
    pub fn sequences(&self, session: &Session) -> Vec<SequenceView> {
        let all: Vec<_> = self.dictionary.shared(session).sequences().cloned().collect();
        let view = |sequence: &Arc<crate::Sequence>| SequenceView {
            definition: sequence.definition().clone(),
            next: sequence.peek(session),
        };
        let mut views: Vec<SequenceView> = all.iter().map(view).collect();
        views.sort_by(|one, other| one.definition.name.cmp(&other.definition.name));
        views
    }
}

fn column_names(table: &TableDefinition, places: impl Iterator<Item = usize>) -> Vec<String> {
    places.map(|place| table.columns[place].name.clone()).collect()
}
