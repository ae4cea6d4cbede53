//! TRUNCATE: tables get empty segments, and the full ones are dropped as by DROP (DC17).
//!
//! Invariant: the tables of a statement are emptied together, and their identities begin again with
//! that, or nothing of it is done.
//!
//! Callers: the embedded API; SQL.

use std::collections::BTreeSet;
use std::sync::Arc;

use ids::ObjectNo;
use os::Session;
use relation::{IndexDefinition, TableDefinition};
use stop::{RefusalKind, Stop};
use txn::{LockWait, TableMode};

use crate::Catalog;
use crate::alter_sequence::AlteredSequence;
use crate::dictionary::Dictionary;
use crate::draft::NEW_SEGMENT;
use crate::drop::{Tables, segments_of};
use crate::edit::Edit;
use crate::statement::Statement;

/// What TRUNCATE does beside emptying the tables that it names.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Truncation {
    /// Whether tables that refer to one of them are emptied too, and those that refer to these.
    pub cascade: bool,
    /// Whether the identities of all tables that are emptied begin again.
    pub restart_identity: bool,
}

impl Catalog {
    /// Removes all rows of a table, and frees their space. Refused while other tables that refer to
    /// it have rows. Sequences go on. The table and each index stay in their tablespaces.
    pub fn truncate_table(
        &self,
        name: &str,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<(), Stop> {
        self.truncate_tables(&[name], Truncation::default(), lock_wait, session)
    }

    /// Does the same with several tables together, which may refer to each other.
    pub fn truncate_tables(
        &self,
        names: &[&str],
        truncation: Truncation,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<(), Stop> {
        let Truncation { cascade, restart_identity } = truncation;
        self.run(lock_wait, session, |statement| {
            let mut tables = Tables::new();
            for name in names {
                let table = statement.lock(name, TableMode::Exclusive)?;
                tables.insert(table.object, table);
            }
            statement.look_at_children(&mut tables, cascade)?;
            let (mut edit, mut drops) = (Edit::default(), Vec::new());
            for (object, before) in &tables {
                statement.wait_for_dead_transactions(before)?;
                edit.tables.insert(*object, Some(statement.emptied(before)?));
                drops.extend(segments_of(before));
            }
            let restarted = |dictionary: &Dictionary| {
                if restart_identity {
                    tables.values().try_for_each(|one| restart(one, dictionary, &mut edit))?;
                }
                Ok::<_, Stop>(edit)
            };
            statement.publish(restarted, &drops)
        })
    }
}

impl Statement<'_> {
    /// Adds the tables that refer to these, if `cascade` allows it. Else refused if one has rows.
    fn look_at_children(&mut self, tables: &mut Tables, cascade: bool) -> Result<(), Stop> {
        let mut left: Vec<Arc<TableDefinition>> = tables.values().cloned().collect();
        while let Some(table) = left.pop() {
            let children: BTreeSet<ObjectNo> =
                table.referenced_by.iter().map(|key| key.table).collect();
            for object in children {
                if tables.contains_key(&object) {
                    continue;
                }
                if cascade {
                    self.lock_object(object, TableMode::Exclusive)?;
                    let child = self.read(|dictionary| dictionary.table_of(object).cloned())?;
                    tables.insert(object, Arc::clone(&child));
                    left.push(child);
                } else if let Some(child) = self.with_rows(object)? {
                    // A transaction that has put in a row that refers to this table has it locked
                    // (DC15).
                    let message = format!(
                        "cannot truncate table {}: table {} refers to it and has rows; truncate \
                         that one first, or drop the constraint",
                        table.name, child.name
                    );
                    return Err(Stop::refuse(RefusalKind::ForeignKeyViolation, message));
                }
            }
        }
        Ok(())
    }

    /// The definition of a table with new segments.
    fn emptied(&mut self, before: &TableDefinition) -> Result<TableDefinition, Stop> {
        let tablespace = self.tablespace_of(before.segment)?;
        let of_index = |index: &IndexDefinition| self.tablespace_of(index.segment);
        let of_indexes: Vec<String> =
            before.indexes.iter().map(of_index).collect::<Result<_, Stop>>()?;
        let mut table = before.clone();
        table.segment = NEW_SEGMENT;
        table.indexes.iter_mut().for_each(|index| index.segment = NEW_SEGMENT);
        let made = self.make_segments(&mut table, &tablespace, &of_indexes);
        made.map_err(|stop| match stop.refusal() {
            Some(RefusalKind::NoSpace) => stop.saying(
                "truncate needs room for empty segments before it gives the full ones back: drop \
                 an index of the table first, or the table",
            ),
            _ => stop,
        })?;
        Ok(table)
    }
}

/// Adds to the edit that the identities of a table begin again.
fn restart(table: &TableDefinition, dictionary: &Dictionary, edit: &mut Edit) -> Result<(), Stop> {
    for column in &table.columns {
        if let Some(sequence) = column.default.sequence() {
            let old = Arc::clone(dictionary.sequence_of(sequence)?);
            edit.altered_sequences.push(AlteredSequence::restarted(&old));
            edit.dropped_sequences.push(old);
        }
    }
    Ok(())
}
