//! DROP.
//!
//! Segments are dropped when the commit is durable and the dictionary in memory was replaced
//! (DC17). A reader that still uses them, by an older definition, is refused when it comes to a
//! block that isn't the table's any more (rule access/AC15).
//!
//! Callers: the embedded API; SQL.

use std::collections::BTreeSet;
use std::sync::Arc;

use ids::ObjectNo;
use os::Session;
use relation::{ForeignKey, TableDefinition};
use stop::{RefusalKind, Stop};
use txn::{LockWait, TableMode};

use crate::dictionary::Dictionary;
use crate::edit::Edit;
use crate::statement::Statement;
use crate::{Catalog, ObjectId};

impl Catalog {
    /// Drops a table, its indexes and the sequences of its identity columns. Refused while other
    /// tables refer to it or views read it, unless `cascade` drops their foreign keys and the
    /// views.
    pub fn drop_table(
        &self,
        name: &str,
        cascade: bool,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<(), Stop> {
        self.run(lock_wait, session, |statement| {
            let table = statement.lock(name, TableMode::Exclusive)?;
            statement.drop_table(&table, cascade)
        })
    }

    /// Drops the table of this number, whatever it is called by now. Refused if it has gone.
    pub fn drop_table_of(
        &self,
        object: ObjectNo,
        cascade: bool,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<(), Stop> {
        self.run(lock_wait, session, |statement| {
            statement.lock_object(object, TableMode::Exclusive)?;
            let table = statement.read(|dictionary| dictionary.table_of(object).cloned())?;
            statement.drop_table(&table, cascade)
        })
    }

    /// Drops an index. Refused if it is a primary key's, or a foreign key needs it.
    pub fn drop_index(
        &self,
        name: &str,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<(), Stop> {
        self.run(lock_wait, session, |statement| {
            let table = loop {
                let look = |dictionary: &Dictionary| dictionary.table_of_index(name).cloned();
                let found = statement.read(look)?;
                // The table is locked by its number, because its name may change before the lock is
                // granted.
                statement.lock_object(found.object, TableMode::Exclusive)?;
                let now = statement.read(look)?;
                if now.object == found.object {
                    break now;
                }
            };
            let index = table.indexes.iter().find(|index| index.name == name);
            let index = index.expect("it was found").clone();
            if index.primary {
                let message = format!(
                    "cannot drop index {name}: it is that of the primary key of table {}; drop the \
                     constraint",
                    table.name
                );
                return Err(Stop::refuse(RefusalKind::WrongState, message));
            }
            statement.lock_referenced(&table)?;
            statement.wait_for_dead_transactions(&table)?;
            let mut left = TableDefinition::clone(&table);
            let needed = remove_index(&mut left, index.object);
            let used = table.referenced_by.iter().find(|key| key.referenced_index == index.object);
            if let Some(key) = needed.or(used.cloned()) {
                let message = format!(
                    "cannot drop index {name}: foreign key {} needs it; drop that first",
                    key.name
                );
                return Err(Stop::refuse(RefusalKind::WrongState, message));
            }
            statement.publish(|_| Ok(Edit::of(left)), &[index.segment])
        })
    }

    /// Drops a sequence. Refused if it is an identity column's, or a view reads it.
    pub fn drop_sequence(&self, name: &str, session: &Session) -> Result<(), Stop> {
        self.drop_sequence_with_views(name, false, session)
    }

    /// Drops a sequence, and with `cascade` the views that read it. Refused if it is an identity
    /// column's.
    pub fn drop_sequence_with_views(
        &self,
        name: &str,
        cascade: bool,
        session: &Session,
    ) -> Result<(), Stop> {
        self.run(LockWait::Forever, session, |statement| {
            statement.publish(
                |dictionary| {
                    let sequence = Arc::clone(dictionary.sequence(name)?);
                    let object = sequence.object();
                    let has = |table: &&Arc<TableDefinition>| {
                        let mut sequences = table.columns.iter().map(|of| of.default.sequence());
                        sequences.any(|sequence| sequence == Some(object))
                    };
                    if let Some(table) = dictionary.tables().find(has) {
                        let message = format!(
                            "cannot drop sequence {name}: it is that of an identity column of \
                             table {}",
                            table.name
                        );
                        return Err(Stop::refuse(RefusalKind::WrongState, message));
                    }
                    let mut edit = Edit { dropped_sequences: vec![sequence], ..Edit::default() };
                    let (object, what) =
                        (ObjectId::Sequence(object), format!("drop sequence {name}"));
                    dictionary.drop_dependents(&mut edit, object, cascade, &what)?;
                    Ok(edit)
                },
                &[],
            )
        })
    }
}

impl Statement<'_> {
    /// Drops a table that is locked.
    fn drop_table(&mut self, table: &TableDefinition, cascade: bool) -> Result<(), Stop> {
        let others = |key: &&ForeignKey| key.table != table.object;
        let keys: Vec<_> = table.referenced_by.iter().filter(others).cloned().collect();
        let what = format!("drop table {}", table.name);
        let object = ObjectId::Table(table.object);
        // It says so before it waits for other tables.
        let look = |dictionary: &Dictionary| {
            dictionary.drop_dependents(&mut Edit::default(), object, cascade, &what)
        };
        self.read(look)?;
        let mut edit = self.without_keys(&keys, cascade, &what)?;
        self.lock_referenced(table)?;
        self.wait_for_dead_transactions(table)?;
        edit.tables.insert(table.object, None);
        for sequence in table.columns.iter().filter_map(|column| column.default.sequence()) {
            edit.dropped_sequences.push(self.catalog.sequence_of(sequence, self.session)?);
        }
        let edit = |dictionary: &Dictionary| {
            dictionary.drop_dependents(&mut edit, object, cascade, &what)?;
            let sequences = edit.dropped_sequences.clone();
            for sequence in sequences {
                let object = ObjectId::Sequence(sequence.object());
                dictionary.drop_dependents(&mut edit, object, cascade, &what)?;
            }
            Ok::<_, Stop>(edit)
        };
        self.publish(edit, &segments_of(table))
    }

    /// Locks the tables that this one refers to in S, because their rows have to be checked in
    /// another way when its foreign keys change (DC5).
    pub(crate) fn lock_referenced(&mut self, table: &TableDefinition) -> Result<(), Stop> {
        let parents: BTreeSet<ObjectNo> =
            table.foreign_keys.iter().map(|key| key.references).collect();
        let others = parents.into_iter().filter(|parent| *parent != table.object);
        others.into_iter().try_for_each(|parent| self.lock_object(parent, TableMode::Share))
    }

    /// Locks the tables that have these foreign keys, and returns an edit that takes the keys away.
    /// Refused unless `cascade` allows that.
    pub(crate) fn without_keys(
        &mut self,
        keys: &[ForeignKey],
        cascade: bool,
        what: &str,
    ) -> Result<Edit, Stop> {
        let mut edit = Edit::default();
        for key in keys {
            self.lock_object(key.table, TableMode::Exclusive)?;
            let table = self.read(|dictionary| dictionary.table_of(key.table).cloned())?;
            if !cascade {
                let message = format!(
                    "cannot {what}: foreign key {} of table {} refers to it; drop that first, or \
                     say CASCADE",
                    key.name, table.name
                );
                return Err(Stop::refuse(RefusalKind::WrongState, message));
            }
            let edited = edit.tables.remove(&key.table).flatten();
            let mut table = edited.unwrap_or_else(|| TableDefinition::clone(&table));
            table.foreign_keys.retain(|own| own.name != key.name);
            edit.tables.insert(key.table, Some(table));
        }
        Ok(edit)
    }
}

/// The segments of a table and its indexes.
pub(crate) fn segments_of(table: &TableDefinition) -> Vec<ObjectNo> {
    let indexes = table.indexes.iter().map(|index| index.segment);
    std::iter::once(table.segment).chain(indexes).collect()
}

/// Removes an index from a definition. A foreign key of the table that used it gets another one
/// that begins with its columns; one that finds none is returned.
pub(crate) fn remove_index(table: &mut TableDefinition, index: ObjectNo) -> Option<ForeignKey> {
    table.indexes.retain(|one| one.object != index);
    for key in &mut table.foreign_keys {
        if key.index != index {
            continue;
        }
        match table.indexes.iter().find(|one| one.begins_with(&key.columns)) {
            Some(other) => key.index = other.object,
            None => return Some(key.clone()),
        }
    }
    None
}
