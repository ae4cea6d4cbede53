//! What a statement changes in the dictionary, as one value: in memory it replaces what was there,
//! on disk it is the difference of rows (DC2).
//!
//! Callers: statements, which make edits; `dictionary`, which completes and applies them;
//! `statement`, which writes their rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ids::ObjectNo;
use os::Session;
use relation::TableDefinition;
use stop::Stop;

use crate::alter_sequence::AlteredSequence;
use crate::dictionary::Dictionary;
use crate::dictionary_table::DictionaryTable;
use crate::rows::{self, Rows, key_of};
use crate::sequence::Sequence;
use crate::statistics::of_statistics;
use crate::texts::{self, CommentOn};
use crate::{ExternalDefinition, ObjectId, TableStatistics, ViewDefinition};

/// What a statement changes in the dictionary. Where a thing has none, it is dropped.
#[derive(Default)]
pub(crate) struct Edit {
    /// The new definitions of tables.
    pub(crate) tables: BTreeMap<ObjectNo, Option<TableDefinition>>,
    pub(crate) new_sequences: Vec<Arc<Sequence>>,
    /// The sequences that are dropped, or altered.
    pub(crate) dropped_sequences: Vec<Arc<Sequence>>,
    /// The sequences that are altered. Each becomes a new one when the old one gives no values any
    /// more.
    pub(crate) altered_sequences: Vec<AlteredSequence>,
    pub(crate) views: BTreeMap<ObjectNo, Option<ViewDefinition>>,
    pub(crate) externals: BTreeMap<ObjectNo, Option<ExternalDefinition>>,
    pub(crate) comments: BTreeMap<CommentOn, Option<String>>,
    /// Statistics by their tables.
    pub(crate) statistics: BTreeMap<ObjectNo, Option<TableStatistics>>,
}

impl Edit {
    /// An edit of one table.
    pub(crate) fn of(table: TableDefinition) -> Edit {
        Edit { tables: BTreeMap::from([(table.object, Some(table))]), ..Edit::default() }
    }

    /// The objects whose plans are made again: those that change, and those with new statistics.
    pub(crate) fn objects(&self) -> BTreeSet<ObjectId> {
        let tables = self.tables.keys().chain(self.statistics.keys());
        let views = self.views.keys().map(|object| ObjectId::View(*object));
        let externals = self.externals.keys().map(|object| ObjectId::External(*object));
        let sequences = self.new_sequences.iter().chain(&self.dropped_sequences);
        let sequences = sequences.map(|sequence| ObjectId::Sequence(sequence.object()));
        let tables = tables.map(|object| ObjectId::Table(*object));
        tables.chain(views).chain(externals).chain(sequences).collect()
    }

    /// Whether this is a sequence that goes, and doesn't come back altered.
    pub(crate) fn drops_sequence(&self, object: ObjectNo) -> bool {
        let has = |all: &[Arc<Sequence>]| all.iter().any(|one| one.object() == object);
        let mut altered = self.altered_sequences.iter();
        has(&self.dropped_sequences)
            && !has(&self.new_sequences)
            && !altered.any(|one| one.definition.object == object)
    }

    /// Makes the altered sequences, which begin where the old ones give no more values. Refused if
    /// one would begin outside of its new bounds.
    pub(crate) fn make_altered(&mut self, session: &Session) -> Result<(), Stop> {
        for altered in std::mem::take(&mut self.altered_sequences) {
            self.new_sequences.push(altered.make(session)?);
        }
        Ok(())
    }

    /// The rows that there are of what is edited, and those that there are to be.
    pub(crate) fn rows(&self, dictionary: &Dictionary) -> EditedRows {
        let (mut old, mut new) = (Rows::new(), Rows::new());
        for (object, table) in &self.tables {
            if let Some(entry) = dictionary.entry(*object) {
                rows::of_table(&entry.definition, &mut old);
            }
            table.iter().for_each(|table| rows::of_table(table, &mut new));
        }
        for (object, view) in &self.views {
            dictionary.view_of(*object).iter().for_each(|view| texts::of_view(view, &mut old));
            view.iter().for_each(|view| texts::of_view(view, &mut new));
        }
        for (object, external) in &self.externals {
            let before = dictionary.external_of(*object);
            before.iter().for_each(|one| texts::of_external(one, &mut old));
            external.iter().for_each(|one| texts::of_external(one, &mut new));
        }
        for (on, comment) in &self.comments {
            let before = dictionary.comment(*on);
            before.iter().for_each(|comment| texts::of_comment(*on, comment, &mut old));
            comment.iter().for_each(|comment| texts::of_comment(*on, comment, &mut new));
        }
        for (table, statistics) in &self.statistics {
            let before = dictionary.statistics(*table);
            before.iter().for_each(|one| of_statistics(*table, one, &mut old));
            statistics.iter().for_each(|one| of_statistics(*table, one, &mut new));
        }
        EditedRows { old, new }
    }

    /// Adds the rows of sequences, which are asked without latches.
    pub(crate) fn add_sequences(&self, rows: &mut EditedRows, session: &Session) {
        let row_of = |sequence: &Arc<Sequence>| {
            let row = rows::of_sequence(sequence.definition(), sequence.stored(session));
            let table = DictionaryTable::Sequences;
            ((table, key_of(table, &row)), row)
        };
        rows.old.extend(self.dropped_sequences.iter().map(row_of));
        rows.new.extend(self.new_sequences.iter().map(row_of));
    }
}

/// The rows of the dictionary that an edit replaces, and those that take their places.
pub(crate) struct EditedRows {
    pub(crate) old: Rows,
    pub(crate) new: Rows,
}

impl EditedRows {
    /// The first version of the dictionary that has the tables of the new rows.
    pub(crate) fn version(&self) -> Option<u32> {
        self.new.keys().map(|(table, _)| table.since()).max()
    }
}
