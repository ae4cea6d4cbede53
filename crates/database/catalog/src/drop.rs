//! DROP and TRUNCATE.
//!
//! Segments go when the commit is durable and everybody knows (DC3). Who reads them still, by an
//! older definition, is refused when it comes to a block that isn't the table's any more (rule
//! access/AC15).
//!
//! Callers: whoever executes statements.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ids::ObjectNo;
use os::Session;
use relation::{Default, ForeignKey, IndexDefinition, TableDefinition};
use stop::{RefusalKind, Stop};
use txn::{LockWait, TableMode};

use crate::Catalog;
use crate::dictionary::{Dictionary, Edit};
use crate::draft::NEW_SEGMENT;
use crate::statement::Statement;

impl Catalog {
    /// Drops a table, its indexes and the sequences of its identity columns. Refused while other
    /// tables refer to it, unless `cascade` drops these constraints.
    pub fn drop_table(
        &self,
        name: &str,
        cascade: bool,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<(), Stop> {
        self.run(lock_wait, session, |statement| {
            let table = statement.lock(name, TableMode::Exclusive)?;
            let others = |key: &&ForeignKey| key.table != table.object;
            let keys: Vec<_> = table.referenced_by.iter().filter(others).cloned().collect();
            let what = format!("drop table {name}");
            let mut edit = statement.without_keys(&keys, cascade, &what)?;
            statement.lock_referenced(&table)?;
            statement.wait_for_dead_transactions(&table)?;
            edit.tables.insert(table.object, None);
            let identities = table.columns.iter().filter_map(|column| match column.default {
                Default::Identity { sequence, .. } => Some(sequence),
                Default::Constant(_) => None,
            });
            for sequence in identities {
                let sequence = self.sequence_of(sequence, session)?;
                edit.dropped_sequences.push(sequence);
            }
            statement.publish(|_| Ok(edit), &segments_of(&table))
        })
    }

    /// Takes all rows of a table away, and their space. Refused while other tables that refer to it
    /// have rows. Sequences go on. The table and each index stay in their tablespaces.
    pub fn truncate_table(
        &self,
        name: &str,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<(), Stop> {
        self.run(lock_wait, session, |statement| {
            let before = statement.lock(name, TableMode::Exclusive)?;
            let children: BTreeSet<ObjectNo> =
                before.referenced_by.iter().map(|key| key.table).collect();
            for object in children.into_iter().filter(|object| *object != before.object) {
                // Who has put in a row that refers to this table has it locked (rule DC5).
                if let Some(child) = statement.with_rows(object)? {
                    let message = format!(
                        "cannot truncate table {name}: table {} refers to it and has rows; \
                         truncate that one first, or drop the constraint",
                        child.name
                    );
                    return Err(Stop::refuse(RefusalKind::ForeignKeyViolation, message));
                }
            }
            statement.wait_for_dead_transactions(&before)?;
            let tablespace = statement.tablespace_of(before.segment)?;
            let of_index = |index: &IndexDefinition| statement.tablespace_of(index.segment);
            let of_indexes: Vec<String> =
                before.indexes.iter().map(of_index).collect::<Result<_, Stop>>()?;
            let mut table = TableDefinition::clone(&before);
            table.segment = NEW_SEGMENT;
            table.indexes.iter_mut().for_each(|index| index.segment = NEW_SEGMENT);
            let made = statement.make_segments(&mut table, &tablespace, &of_indexes);
            made.map_err(|stop| match stop.refusal() {
                Some(RefusalKind::NoSpace) => stop.saying(
                    "truncate needs room for empty segments before it gives the full ones back: \
                     drop an index of the table first, or the table",
                ),
                _ => stop,
            })?;
            statement.publish(|_| Ok(Edit::of(table)), &segments_of(&before))
        })
    }

    /// Drops an index. Refused for that of a primary key, and where a foreign key needs it.
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
                // By its number: its name may be another one when the lock is had.
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

    /// Drops a sequence. Refused for that of an identity column.
    pub fn drop_sequence(&self, name: &str, session: &Session) -> Result<(), Stop> {
        self.run(LockWait::Forever, session, |statement| {
            statement.publish(
                |dictionary| {
                    let sequence = Arc::clone(dictionary.sequence(name)?);
                    let object = sequence.object();
                    let uses = |default: &Default| {
                        matches!(default, Default::Identity { sequence, .. } if *sequence == object)
                    };
                    let has = |table: &&Arc<TableDefinition>| {
                        table.columns.iter().any(|column| uses(&column.default))
                    };
                    if let Some(table) = dictionary.tables().find(has) {
                        let message = format!(
                            "cannot drop sequence {name}: it is that of an identity column of \
                             table {}",
                            table.name
                        );
                        return Err(Stop::refuse(RefusalKind::WrongState, message));
                    }
                    Ok(Edit { dropped_sequences: vec![sequence], ..Edit::default() })
                },
                &[],
            )
        })
    }
}

impl Statement<'_> {
    /// Locks the tables that this one refers to against changes of rows, for these have to be
    /// looked at in another way when its foreign keys change (rule DC5).
    pub(crate) fn lock_referenced(&mut self, table: &TableDefinition) -> Result<(), Stop> {
        let parents: BTreeSet<ObjectNo> =
            table.foreign_keys.iter().map(|key| key.references).collect();
        let others = parents.into_iter().filter(|parent| *parent != table.object);
        others.into_iter().try_for_each(|parent| self.lock_object(parent, TableMode::Share))
    }

    /// The tables that have these foreign keys, locked, without them. Refused unless `cascade` says
    /// that they may go.
    pub(crate) fn without_keys(
        &mut self,
        keys: &[ForeignKey],
        cascade: bool,
        what: &str,
    ) -> Result<Edit, Stop> {
        let mut edit = Edit { tables: BTreeMap::new(), ..Edit::default() };
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
fn segments_of(table: &TableDefinition) -> Vec<ObjectNo> {
    let indexes = table.indexes.iter().map(|index| index.segment);
    std::iter::once(table.segment).chain(indexes).collect()
}

/// Takes an index out of a definition; foreign keys of the table that used it get another one that
/// begins with their columns. One that finds none is given back.
pub(crate) fn remove_index(table: &mut TableDefinition, index: ObjectNo) -> Option<ForeignKey> {
    table.indexes.retain(|one| one.object != index);
    let begins = |one: &IndexDefinition, columns: &[usize]| {
        let first = one.columns.iter().map(|of| of.column).take(columns.len());
        first.eq(columns.iter().copied())
    };
    for key in &mut table.foreign_keys {
        if key.index != index {
            continue;
        }
        match table.indexes.iter().find(|one| begins(one, &key.columns)) {
            Some(other) => key.index = other.object,
            None => return Some(key.clone()),
        }
    }
    None
}
