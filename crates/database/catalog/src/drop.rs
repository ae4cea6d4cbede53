//! DROP, of one object or of several.
//!
//! Segments are dropped when the commit is durable and the dictionary in memory was replaced
//! (DC17). A reader that still uses them, by an older definition, is refused when it comes to a
//! block that isn't the table's any more (rule access/AC15).
//!
//! Invariant: the objects of a statement go together, in one edit, or nothing of it is done (DC45).
//!
//! Callers: the embedded API; SQL; `view_statements`, `external_statements`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ids::ObjectNo;
use os::Session;
use relation::{ForeignKey, IndexDefinition, TableDefinition};
use stop::{RefusalKind, Stop};
use txn::{LockWait, TableMode};

use crate::dictionary::Dictionary;
use crate::edit::Edit;
use crate::external_statements::add_external;
use crate::statement::Statement;
use crate::{Catalog, ObjectId, names};

/// Tables by their numbers.
pub(crate) type Tables = BTreeMap<ObjectNo, Arc<TableDefinition>>;

/// Adds to an edit that the object of this name is dropped.
pub(crate) type AddDropped = fn(&mut Edit, &str, &Dictionary) -> Result<ObjectId, Stop>;

/// What DROP does about what depends on its objects, and about names that nothing has.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Dropping {
    /// Whether foreign keys that refer to one of the objects, and views that read one, go too.
    pub cascade: bool,
    /// Whether a name that no object has is passed over. One that an object of another kind has is
    /// refused.
    pub if_exists: bool,
}

impl Dropping {
    /// Of objects that have to be there.
    pub(crate) fn with(cascade: bool) -> Dropping {
        Dropping { cascade, if_exists: false }
    }
}

impl Catalog {
    /// Drops a table, its indexes and the sequences of its identity columns. Refused while other
    /// tables refer to it or views read it, unless `cascade` drops their foreign keys and the
    /// views. An external table is dropped too; its file stays.
    pub fn drop_table(
        &self,
        name: &str,
        cascade: bool,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<(), Stop> {
        self.drop_tables(&[name], Dropping::with(cascade), lock_wait, session).map(drop)
    }

    /// Drops several tables together, which may refer to each other. Returns how many names were
    /// passed over.
    pub fn drop_tables(
        &self,
        names: &[&str],
        how: Dropping,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<usize, Stop> {
        self.run(lock_wait, session, |statement| {
            let (mut tables, mut externals, mut missing) = (Tables::new(), Vec::new(), 0);
            for name in names {
                let named = statement.read(|dictionary| dictionary.named(name));
                if let Some(ObjectId::External(_)) = named {
                    externals.push(*name);
                    continue;
                }
                let locked = statement.lock(name, TableMode::Exclusive);
                match statement.read(|dictionary| dictionary.if_there(name, how, locked))? {
                    Some(table) => drop(tables.insert(table.object, table)),
                    None => missing += 1,
                }
            }
            if tables.is_empty() && externals.is_empty() {
                return Ok(missing);
            }
            Ok(missing + statement.drop_tables(&tables, &externals, how)?)
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
            let tables = Tables::from([(object, table)]);
            statement.drop_tables(&tables, &[], Dropping::with(cascade)).map(drop)
        })
    }

    /// Drops an index. Refused if it is a primary key's, or a foreign key needs it.
    pub fn drop_index(
        &self,
        name: &str,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<(), Stop> {
        self.drop_indexes(&[name], Dropping::default(), lock_wait, session).map(drop)
    }

    /// Drops several indexes together, of one table or of several; `cascade` drops the foreign keys
    /// that need one of them too. Returns how many names were passed over, because no index has
    /// them.
    pub fn drop_indexes(
        &self,
        names: &[&str],
        how: Dropping,
        lock_wait: LockWait,
        session: &Session,
    ) -> Result<usize, Stop> {
        self.run(lock_wait, session, |statement| {
            let (mut tables, mut found, mut missing) = (Tables::new(), BTreeSet::new(), 0);
            for name in names {
                match statement.lock_table_of_index(name) {
                    Ok(table) => {
                        found.insert(*name);
                        tables.insert(table.object, table);
                    }
                    Err(stop) if how.if_exists && stop.refusal() == Some(RefusalKind::NotFound) => {
                        missing += 1;
                    }
                    Err(stop) => return Err(stop),
                }
            }
            if !tables.is_empty() {
                statement.drop_indexes(&tables, &found, how.cascade)?;
            }
            Ok(missing)
        })
    }

    /// Drops a sequence. Refused if it is an identity column's, or a view reads it.
    pub fn drop_sequence(&self, name: &str, session: &Session) -> Result<(), Stop> {
        self.drop_sequences(&[name], Dropping::default(), session).map(drop)
    }

    /// Drops several sequences together. Returns how many names were passed over.
    pub fn drop_sequences(
        &self,
        names: &[&str],
        how: Dropping,
        session: &Session,
    ) -> Result<usize, Stop> {
        self.drop_unlocked(names, how, add_sequence, session)
    }

    /// Drops objects that have no lock (DC35), all of one kind. Returns how many names were passed
    /// over.
    pub(crate) fn drop_unlocked(
        &self,
        names: &[&str],
        how: Dropping,
        add: AddDropped,
        session: &Session,
    ) -> Result<usize, Stop> {
        self.run(LockWait::Forever, session, |statement| {
            let is_none_there =
                |dictionary: &Dictionary| !names.iter().any(|name| dictionary.has_name(name));
            if how.if_exists && statement.read(is_none_there) {
                return Ok(names.len());
            }
            let mut missing = 0;
            let edit = |dictionary: &Dictionary| {
                let mut edit = Edit::default();
                missing = dictionary.drop_named(&mut edit, names, how, add)?;
                Ok::<_, Stop>(edit)
            };
            statement.publish(edit, &[])?;
            Ok(missing)
        })
    }
}

impl Dictionary {
    /// What was found by a name; none if no object has the name and that is passed over.
    fn if_there<T>(
        &self,
        name: &str,
        how: Dropping,
        found: Result<T, Stop>,
    ) -> Result<Option<T>, Stop> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(stop) => {
                let is_unknown = stop.refusal() == Some(RefusalKind::NotFound);
                match how.if_exists && is_unknown && !self.has_name(name) {
                    true => Ok(None),
                    false => Err(stop),
                }
            }
        }
    }

    /// Adds to an edit that objects which have no lock are dropped, with the views that read them.
    /// Returns how many names were passed over.
    fn drop_named(
        &self,
        edit: &mut Edit,
        names: &[&str],
        how: Dropping,
        add: AddDropped,
    ) -> Result<usize, Stop> {
        let (mut objects, mut missing) = (BTreeMap::new(), 0);
        for name in names {
            let added = add(edit, name, self);
            match self.if_there(name, how, added)? {
                Some(object) => {
                    objects.insert(object, *name);
                }
                None => missing += 1,
            }
        }
        // By now the edit has all of them, so none is in the way of another.
        for (object, name) in objects {
            let what = format!("drop {} {name}", object.kind());
            self.drop_dependents(edit, object, how.cascade, &what)?;
        }
        Ok(missing)
    }

    /// Adds to an edit what goes with tables: the sequences of their identity columns, as they are
    /// now, and the views that read either.
    fn drop_along(&self, edit: &mut Edit, tables: &Tables, cascade: bool) -> Result<(), Stop> {
        for table in tables.values() {
            let what = format!("drop table {}", table.name);
            self.drop_dependents(edit, ObjectId::Table(table.object), cascade, &what)?;
            for sequence in table.columns.iter().filter_map(|column| column.default.sequence()) {
                edit.dropped_sequences.push(Arc::clone(self.sequence_of(sequence)?));
                self.drop_dependents(edit, ObjectId::Sequence(sequence), cascade, &what)?;
            }
        }
        Ok(())
    }
}

fn add_sequence(edit: &mut Edit, name: &str, dictionary: &Dictionary) -> Result<ObjectId, Stop> {
    let sequence = dictionary.sequence(name)?;
    let object = sequence.object();
    let has = |table: &&Arc<TableDefinition>| {
        let mut sequences = table.columns.iter().map(|of| of.default.sequence());
        sequences.any(|sequence| sequence == Some(object))
    };
    if let Some(table) = dictionary.tables().find(has) {
        let message = format!(
            "cannot drop sequence {name}: it is that of an identity column of table {}",
            table.name
        );
        return Err(names::needed(message));
    }
    if !edit.drops_sequence(object) {
        edit.dropped_sequences.push(Arc::clone(sequence));
    }
    Ok(ObjectId::Sequence(object))
}

impl Statement<'_> {
    /// Drops tables that are locked, and external tables of these names. Returns how many of the
    /// names were passed over.
    fn drop_tables(
        &mut self,
        tables: &Tables,
        externals: &[&str],
        how: Dropping,
    ) -> Result<usize, Stop> {
        let cascade = how.cascade;
        // It says so before it waits for other tables.
        self.read(|dictionary| dictionary.drop_along(&mut Edit::default(), tables, cascade))?;
        let (mut edit, mut drops, mut missing) = (Edit::default(), Vec::new(), 0);
        for table in tables.values() {
            let others = |key: &&ForeignKey| !tables.contains_key(&key.table);
            let keys: Vec<_> = table.referenced_by.iter().filter(others).cloned().collect();
            let what = format!("drop table {}", table.name);
            self.without_keys(&mut edit, &keys, cascade, &what)?;
        }
        for table in tables.values() {
            self.lock_referenced(table)?;
        }
        for (object, table) in tables {
            self.wait_for_dead_transactions(table)?;
            edit.tables.insert(*object, None);
            drops.extend(segments_of(table));
        }
        let edit = |dictionary: &Dictionary| {
            dictionary.drop_along(&mut edit, tables, cascade)?;
            missing = dictionary.drop_named(&mut edit, externals, how, add_external)?;
            Ok::<_, Stop>(edit)
        };
        self.publish(edit, &drops)?;
        Ok(missing)
    }

    /// Locks the table that has the index of this name, and returns its definition.
    pub(crate) fn lock_table_of_index(&mut self, name: &str) -> Result<Arc<TableDefinition>, Stop> {
        let look = |dictionary: &Dictionary| dictionary.table_of_index(name).cloned();
        loop {
            let found = self.read(look)?;
            // The table is locked by its number, because its name may change before the lock is
            // granted.
            self.lock_object(found.object, TableMode::Exclusive)?;
            let now = self.read(look)?;
            if now.object == found.object {
                return Ok(now);
            }
        }
    }

    /// Drops the indexes of these names, whose tables are locked.
    fn drop_indexes(
        &mut self,
        tables: &Tables,
        names: &BTreeSet<&str>,
        cascade: bool,
    ) -> Result<(), Stop> {
        let is_named = |index: &&IndexDefinition| names.contains(index.name.as_str());
        for table in tables.values() {
            let mut dropped = table.indexes.iter().filter(is_named);
            if let Some(index) = dropped.find(|index| index.primary) {
                let message = format!(
                    "cannot drop index {}: it is that of the primary key of table {}; drop the \
                     constraint",
                    index.name, table.name
                );
                return Err(names::needed(message));
            }
        }
        for table in tables.values() {
            self.lock_referenced(table)?;
        }
        let (mut edit, mut drops) = (Edit::default(), Vec::new());
        if cascade {
            for table in tables.values() {
                let keys = keys_that_need(table, &is_named);
                self.without_keys(&mut edit, &keys, true, "drop an index")?;
            }
        }
        for (object, table) in tables {
            self.wait_for_dead_transactions(table)?;
            let dropped: Vec<&IndexDefinition> = table.indexes.iter().filter(is_named).collect();
            // By now it may have lost foreign keys.
            let edited = edit.tables.remove(object).flatten();
            let edited = edited.unwrap_or_else(|| TableDefinition::clone(table));
            edit.tables.insert(*object, Some(without_indexes(edited, &dropped, cascade)?));
            drops.extend(dropped.iter().map(|index| index.segment));
        }
        self.publish(|_| Ok(edit), &drops)
    }

    /// Locks the tables that this one refers to in S, because their rows have to be checked in
    /// another way when its foreign keys change (DC5).
    pub(crate) fn lock_referenced(&mut self, table: &TableDefinition) -> Result<(), Stop> {
        let parents: BTreeSet<ObjectNo> =
            table.foreign_keys.iter().map(|key| key.references).collect();
        let others = parents.into_iter().filter(|parent| *parent != table.object);
        others.into_iter().try_for_each(|parent| self.lock_object(parent, TableMode::Share))
    }

    /// Locks the tables that have these foreign keys, and has the edit take the keys away. Refused
    /// unless `cascade` allows that.
    pub(crate) fn without_keys(
        &mut self,
        edit: &mut Edit,
        keys: &[ForeignKey],
        cascade: bool,
        what: &str,
    ) -> Result<(), Stop> {
        // The table that they refer to is locked, so they stay: no wait is needed to know.
        if let (Some(key), false) = (keys.first(), cascade) {
            let table = self.read(|dictionary| dictionary.table_of(key.table).cloned())?;
            let message = format!(
                "cannot {what}: foreign key {} of table {} refers to it; drop that first, or say \
                 CASCADE",
                key.name, table.name
            );
            return Err(names::needed(message));
        }
        for key in keys {
            self.lock_object(key.table, TableMode::Exclusive)?;
            let table = self.read(|dictionary| dictionary.table_of(key.table).cloned())?;
            let edited = edit.tables.remove(&key.table).flatten();
            let mut table = edited.unwrap_or_else(|| TableDefinition::clone(&table));
            table.foreign_keys.retain(|own| own.name != key.name);
            edit.tables.insert(key.table, Some(table));
        }
        Ok(())
    }
}

/// The segments of a table and its indexes.
pub(crate) fn segments_of(table: &TableDefinition) -> Vec<ObjectNo> {
    let indexes = table.indexes.iter().map(|index| index.segment);
    std::iter::once(table.segment).chain(indexes).collect()
}

/// The foreign keys that need one of the indexes of a table which are dropped: those that refer to
/// it, and the table's own that find no other index.
fn keys_that_need(
    table: &TableDefinition,
    is_dropped: &dyn Fn(&&IndexDefinition) -> bool,
) -> Vec<ForeignKey> {
    let dropped = |object: ObjectNo| {
        table.indexes.iter().any(|index| index.object == object && is_dropped(&index))
    };
    let to_it = table.referenced_by.iter().filter(|key| dropped(key.referenced_index));
    let has_other = |key: &ForeignKey| {
        let mut left = table.indexes.iter().filter(|index| !is_dropped(index));
        left.any(|index| index.begins_with(&key.columns))
    };
    let own = table.foreign_keys.iter().filter(|key| dropped(key.index) && !has_other(key));
    to_it.chain(own).cloned().collect()
}

/// The definition of a table without these indexes. Refused if a foreign key needs one of them,
/// unless those that did are gone already.
fn without_indexes(
    mut left: TableDefinition,
    dropped: &[&IndexDefinition],
    cascade: bool,
) -> Result<TableDefinition, Stop> {
    for index in dropped {
        let needed = remove_index(&mut left, index.object);
        let refers = |key: &&ForeignKey| !cascade && key.referenced_index == index.object;
        let used = left.referenced_by.iter().find(refers);
        if let Some(key) = needed.or(used.cloned()) {
            let message = format!(
                "cannot drop index {}: foreign key {} needs it; drop that first, or say CASCADE",
                index.name, key.name
            );
            return Err(names::needed(message));
        }
    }
    Ok(left)
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
