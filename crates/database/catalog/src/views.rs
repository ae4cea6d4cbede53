//! Lists of tables and sequences, as values for tools and views.
//!
//! Callers: tools; SQL's views of the dictionary.

use std::sync::Arc;

use ids::ObjectNo;
use os::Session;
use relation::TableDefinition;
use stop::{RefusalKind, Stop};

use crate::store::corrupt;
use crate::{Catalog, SequenceDefinition};

/// A table with its size.
#[derive(Clone, Debug)]
pub struct TableView {
    /// The table's definition.
    pub definition: Arc<TableDefinition>,
    /// The number of blocks for rows that were handed out.
    pub blocks: u32,
    /// Its indexes with their sizes, in the order of the definition.
    pub indexes: Vec<IndexView>,
}

/// An index with its size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexView {
    /// The index's number.
    pub object: ObjectNo,
    /// Its name.
    pub name: String,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// Whether it is unique.
    pub unique: bool,
    /// The number of blocks that were handed out.
    pub blocks: u32,
}

/// A sequence and its next value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SequenceView {
    /// The definition of the sequence.
    pub definition: SequenceDefinition,
    /// The next value, unless the instance stops before; none if the sequence is at its end.
    pub next: Option<i64>,
}

impl Catalog {
    /// All tables with their sizes, in the order of their names. A table that is dropped meanwhile
    /// is left out.
    pub fn tables(&self, session: &Session) -> Result<Vec<TableView>, Stop> {
        let views = self.definitions(session).into_iter();
        let views = views.map(|definition| self.table_view(definition, session));
        let all: Result<Vec<TableView>, Stop> = views.filter_map(Result::transpose).collect();
        let mut all = all?;
        // A table may have been renamed meanwhile.
        all.sort_by(|one, other| one.definition.name.cmp(&other.definition.name));
        Ok(all)
    }

    /// All definitions, in the order of their tables' names.
    pub fn definitions(&self, session: &Session) -> Vec<Arc<TableDefinition>> {
        let mut all: Vec<_> = self.dictionary.shared(session).tables().cloned().collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    /// The view of a table. If a segment of its definition has gone, its newest definition is
    /// taken. None if the table was dropped meanwhile.
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

    /// The view of a table by this definition. None if a segment isn't there any more.
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

    /// The number of blocks of a segment that were handed out. None if it isn't there any more.
    fn blocks(&self, segment: ObjectNo, session: &Session) -> Result<Option<u32>, Stop> {
        let Some(segment) = self.space.segment(segment, session)? else { return Ok(None) };
        let runs = match self.space.blocks(segment.header, session) {
            Err(stop) if stop.refusal() == Some(RefusalKind::NotFound) => return Ok(None),
            runs => runs?,
        };
        Ok(Some(runs.iter().map(|run| run.count).sum()))
    }

    /// All sequences, in the order of their names.
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
