//! A table that ALTER TABLE changes: its definition as the alterations so far leave it, and what
//! goes with that into one edit.
//!
//! ```text
//!   definition ─▶ alteration ─▶ alteration ─▶ … ─▶ last look, under the row cache lock ─▶ Edit
//!                     └─ rows are looked at, rewritten, put into indexes by the definition so far
//! ```
//!
//! Invariants
//!   * nobody else sees anything of it before the edit's commit (DC46)
//!   * what is in the way of the whole is found by a comparison of both definitions, and not
//!     alteration by alteration
//!
//! Callers: `alter`.

use std::sync::Arc;

use relation::{ColumnDefinition, TableDefinition};
use stop::Stop;

use crate::ObjectId;
use crate::alter::in_use;
use crate::dictionary::Dictionary;
use crate::edit::Edit;
use crate::generated_names::GeneratedNames;
use crate::sequence::Sequence;
use crate::set_type::check_identity;
use crate::statement::Statement;

/// A table that is locked, and being altered.
pub(crate) struct Altered {
    /// Its definition as it was when the table was locked.
    before: Arc<TableDefinition>,
    /// Its definition as the alterations so far leave it.
    pub(crate) table: TableDefinition,
    /// The other tables, which lose foreign keys.
    pub(crate) others: Edit,
    /// The names that were made up for its constraints.
    pub(crate) names: Vec<GeneratedNames>,
    /// The generation before the caller looked at the views that read it (DC44).
    seen_in: Option<u64>,
}

impl Altered {
    pub(crate) fn new(before: Arc<TableDefinition>, seen_in: Option<u64>) -> Altered {
        let table = TableDefinition::clone(&before);
        Altered { before, table, others: Edit::default(), names: Vec::new(), seen_in }
    }

    /// Has the list of foreign keys that refer to the table say what it says of its own ones.
    pub(crate) fn settle_own_keys(&mut self) {
        let TableDefinition { object, foreign_keys, referenced_by, .. } = &mut self.table;
        let object = *object;
        referenced_by.retain(|key| key.table != object);
        let to_itself = foreign_keys.iter().filter(|key| key.references == object);
        referenced_by.extend(to_itself.cloned());
    }

    /// Refuses what a view, a sequence or a name is in the way of.
    pub(crate) fn look(&self, dictionary: &Dictionary) -> Result<(), Stop> {
        let Altered { before, table, .. } = self;
        let (object, name) = (table.object, &before.name);
        if table.name != *name {
            dictionary.check_free(&table.name)?;
            dictionary.check_unread(ObjectId::Table(object), &format!("rename table {name}"))?;
        }
        for (place, (was, is)) in before.columns.iter().zip(&table.columns).enumerate() {
            let Some(what) = changed(was, is) else { continue };
            let what = format!("{what} of table {name}");
            dictionary.check_column_unread(object, place, &what)?;
            let Some(sequence) = was.default.sequence() else { continue };
            if is.is_dropped() {
                dictionary.check_unread(ObjectId::Sequence(sequence), &what)?;
            } else if is.kind != was.kind {
                // A sequence has no lock (DC5): it may be another one since rows were rewritten.
                check_identity(is, dictionary.sequence_of(sequence)?.definition(), name)?;
            }
        }
        match self.named_anew() {
            Some(what) => {
                dictionary.check_readers_seen(ObjectId::Table(object), self.seen_in, &what)
            }
            None => Ok(()),
        }
    }

    /// What gives the table a name of a column that it didn't have, in words for a message.
    fn named_anew(&self) -> Option<String> {
        let Altered { before, table, .. } = self;
        let mut columns = table.columns.iter().enumerate();
        columns.find_map(|(place, is)| match before.columns.get(place) {
            _ if is.is_dropped() => None,
            None => Some(format!("add column {} to table {}", is.name, before.name)),
            Some(was) if is.name != was.name => {
                Some(format!("rename column {} of table {}", was.name, before.name))
            }
            Some(_) => None,
        })
    }

    /// Refuses to leave a table without columns.
    fn check_columns(&self) -> Result<(), Stop> {
        match self.table.columns.iter().all(ColumnDefinition::is_dropped) {
            true => Err(in_use(&self.before.name, "it would have no column left; drop the table")),
            false => Ok(()),
        }
    }

    /// The sequences of identity columns that are dropped, as they are now.
    fn dropped_sequences(&self, dictionary: &Dictionary) -> Result<Vec<Arc<Sequence>>, Stop> {
        let pairs = self.before.columns.iter().zip(&self.table.columns);
        let dropped = pairs.filter(|(_, is)| is.is_dropped());
        let sequences = dropped.filter_map(|(was, _)| was.default.sequence());
        sequences.map(|sequence| dictionary.sequence_of(sequence).cloned()).collect()
    }

    /// The edit that does all of it.
    fn into_edit(self, dictionary: &Dictionary) -> Result<Edit, Stop> {
        self.look(dictionary)?;
        let dropped_sequences = self.dropped_sequences(dictionary)?;
        let Altered { mut table, others, names, .. } = self;
        for names in names {
            names.resolve(&mut table, &mut [], dictionary);
        }
        let mut edit = Edit { dropped_sequences, ..others };
        edit.tables.insert(table.object, Some(table));
        Ok(edit)
    }
}

/// What was done to a column that no view reads, in words for a message.
fn changed(was: &ColumnDefinition, is: &ColumnDefinition) -> Option<String> {
    let name = &was.name;
    match () {
        () if is.name == was.name && is.kind == was.kind => None,
        () if is.is_dropped() => Some(format!("drop column {name}")),
        () if is.name != was.name => Some(format!("rename column {name}")),
        () => Some(format!("change the type of column {name}")),
    }
}

impl Statement<'_> {
    /// Commits what was done to a table, and drops the segments that it has no more.
    pub(crate) fn publish_altered(&mut self, altered: Altered) -> Result<(), Stop> {
        altered.check_columns()?;
        let left_over = self.left_over(&altered.before, &altered.table);
        self.publish(|dictionary| altered.into_edit(dictionary), &left_over)
    }
}
