//! The dictionary in memory: tables, sequences, views and external tables, by number and by name;
//! comments and statistics.
//!
//! ```text
//!   definition ──(first asked for)──▶ opened ──(DDL, about to commit)──▶ changing ──▶ replaced
//! ```
//!
//! Invariants
//!   * it says what the committed rows of the dictionary say; a definition that is about to change
//!     is `changing` from before the commit until it was replaced (DC17)
//!   * tables, sequences, views and external tables share one name space, indexes and constraints
//!     another
//!   * all that a view reads is there
//!
//! Callers: all of this crate, under the catalog's latch (DC8).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ids::ObjectNo;
use os::Session;
use relation::{ForeignKey, Relation, TableDefinition};
use stop::{RefusalKind, Stop};

use crate::definition_names::index_names;
use crate::edit::Edit;
use crate::names;
use crate::sequence::Sequence;
use crate::texts::CommentOn;
use crate::{ExternalDefinition, ObjectId, TableStatistics, ViewDefinition};

/// The dictionary in memory.
#[derive(Default)]
pub(crate) struct Dictionary {
    pub(crate) tables: BTreeMap<ObjectNo, TableEntry>,
    pub(crate) sequences: BTreeMap<ObjectNo, Arc<Sequence>>,
    pub(crate) views: BTreeMap<ObjectNo, Arc<ViewDefinition>>,
    pub(crate) externals: BTreeMap<ObjectNo, Arc<ExternalDefinition>>,
    pub(crate) comments: BTreeMap<CommentOn, String>,
    pub(crate) statistics: BTreeMap<ObjectNo, Arc<TableStatistics>>,
    names: BTreeMap<String, ObjectId>,
    index_names: BTreeSet<String>,
    /// The generation in which each object changed last; none for those that haven't since the
    /// opening (DC40).
    changed: BTreeMap<ObjectId, u64>,
    /// The objects other than tables that a statement changes which is about to commit.
    changing: BTreeSet<ObjectId>,
}

/// A table.
pub(crate) struct TableEntry {
    pub(crate) definition: Arc<TableDefinition>,
    /// The open table, once it was asked for.
    pub(crate) relation: Option<Arc<Relation>>,
    /// Whether a statement that changes it is about to commit.
    pub(crate) changing: bool,
}

impl Dictionary {
    /// Adds a table that was read or made.
    pub(crate) fn add_table(&mut self, definition: TableDefinition) {
        let object = definition.object;
        self.names.insert(definition.name.clone(), ObjectId::Table(object));
        self.index_names.extend(index_names(&definition).map(str::to_string));
        let definition = Arc::new(definition);
        self.tables.insert(object, TableEntry { definition, relation: None, changing: false });
    }

    fn remove_table(&mut self, object: ObjectNo) {
        let Some(entry) = self.tables.remove(&object) else { return };
        self.names.remove(&entry.definition.name);
        for name in index_names(&entry.definition) {
            self.index_names.remove(name);
        }
    }

    pub(crate) fn add_sequence(&mut self, sequence: Arc<Sequence>) {
        let definition = sequence.definition();
        self.names.insert(definition.name.clone(), ObjectId::Sequence(definition.object));
        self.sequences.insert(definition.object, sequence);
    }

    pub(crate) fn add_view(&mut self, view: ViewDefinition) {
        self.names.insert(view.name.clone(), ObjectId::View(view.object));
        self.views.insert(view.object, Arc::new(view));
    }

    pub(crate) fn add_external(&mut self, external: ExternalDefinition) {
        self.names.insert(external.name.clone(), ObjectId::External(external.object));
        self.externals.insert(external.object, Arc::new(external));
    }

    fn remove_sequence(&mut self, sequence: &Sequence) {
        self.names.remove(&sequence.definition().name);
        self.sequences.remove(&sequence.definition().object);
    }

    pub(crate) fn entry(&self, object: ObjectNo) -> Option<&TableEntry> {
        self.tables.get(&object)
    }

    pub(crate) fn entry_mut(&mut self, object: ObjectNo) -> Option<&mut TableEntry> {
        self.tables.get_mut(&object)
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<TableDefinition>> {
        self.tables.values().map(|entry| &entry.definition)
    }

    pub(crate) fn sequences(&self) -> impl Iterator<Item = &Arc<Sequence>> {
        self.sequences.values()
    }

    /// The object of this name.
    pub(crate) fn named(&self, name: &str) -> Option<ObjectId> {
        self.names.get(name).copied()
    }

    /// The table of this name.
    pub(crate) fn table(&self, name: &str) -> Result<&Arc<TableDefinition>, Stop> {
        match self.named(name) {
            Some(ObjectId::Table(object)) => Ok(&self.tables[&object].definition),
            other => Err(self.unknown("table", name, other)),
        }
    }

    /// The view of this name.
    pub(crate) fn view(&self, name: &str) -> Result<&Arc<ViewDefinition>, Stop> {
        match self.named(name) {
            Some(ObjectId::View(object)) => Ok(&self.views[&object]),
            other => Err(self.unknown("view", name, other)),
        }
    }

    /// The view of this number.
    pub(crate) fn view_of(&self, object: ObjectNo) -> Option<&Arc<ViewDefinition>> {
        self.views.get(&object)
    }

    /// The external table of this name.
    pub(crate) fn external(&self, name: &str) -> Result<&Arc<ExternalDefinition>, Stop> {
        match self.named(name) {
            Some(ObjectId::External(object)) => Ok(&self.externals[&object]),
            other => Err(self.unknown("external table", name, other)),
        }
    }

    /// The external table of this number.
    pub(crate) fn external_of(&self, object: ObjectNo) -> Option<&Arc<ExternalDefinition>> {
        self.externals.get(&object)
    }

    /// The comment on an object or a column.
    pub(crate) fn comment(&self, on: CommentOn) -> Option<&String> {
        self.comments.get(&on)
    }

    /// The statistics of a table.
    pub(crate) fn statistics(&self, table: ObjectNo) -> Option<&Arc<TableStatistics>> {
        self.statistics.get(&table)
    }

    /// The table of this number.
    pub(crate) fn table_of(&self, object: ObjectNo) -> Result<&Arc<TableDefinition>, Stop> {
        let found = self.tables.get(&object).map(|entry| &entry.definition);
        found.ok_or_else(|| gone(object))
    }

    /// The sequence of this name.
    pub(crate) fn sequence(&self, name: &str) -> Result<&Arc<Sequence>, Stop> {
        match self.named(name) {
            Some(ObjectId::Sequence(object)) => Ok(&self.sequences[&object]),
            other => Err(self.unknown("sequence", name, other)),
        }
    }

    /// The sequence of this number.
    pub(crate) fn sequence_of(&self, object: ObjectNo) -> Result<&Arc<Sequence>, Stop> {
        let none = || {
            let message = format!("there is no sequence with number {object} any more");
            Stop::refuse(RefusalKind::NotFound, message)
        };
        self.sequences.get(&object).ok_or_else(none)
    }

    /// The table whose index has this name.
    pub(crate) fn table_of_index(&self, name: &str) -> Result<&Arc<TableDefinition>, Stop> {
        let has =
            |table: &&Arc<TableDefinition>| table.indexes.iter().any(|index| index.name == name);
        let indexes = self.tables().flat_map(|table| &table.indexes);
        let there = indexes.map(|index| index.name.as_str());
        let unknown = || names::unknown("index", name, "", there);
        self.tables().find(has).ok_or_else(unknown)
    }

    /// The refusal of a name that no object of this kind has; `other` has it, if there is one.
    fn unknown(&self, kind: &str, name: &str, other: Option<ObjectId>) -> Stop {
        if let Some(other) = other {
            return names::of_another(kind, name, other.kind());
        }
        let there = self.names.iter().filter(|(_, named)| named.kind() == kind);
        names::unknown(kind, name, "", there.map(|(name, _)| name.as_str()))
    }

    /// The names of all objects.
    pub(crate) fn all_names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    pub(crate) fn has_index_name(&self, name: &str) -> bool {
        self.index_names.contains(name)
    }

    /// Whether an index or a constraint of another table than this one has the name.
    pub(crate) fn has_index_name_beside(&self, table: ObjectNo, name: &str) -> bool {
        let is_own = |entry: &TableEntry| index_names(&entry.definition).any(|own| own == name);
        self.has_index_name(name) && !self.entry(table).is_some_and(is_own)
    }

    /// Refuses a name that an object has.
    pub(crate) fn check_free(&self, name: &str) -> Result<(), Stop> {
        match self.named(name) {
            None => Ok(()),
            Some(object) => Err(names::taken(object.kind(), name)),
        }
    }

    /// Adds to the edit what follows from it: tables that are referred to learn which foreign keys
    /// refer to them; comments and statistics go with what they are about. Refused if a name was
    /// taken meanwhile, or something that is referred to or read has gone.
    pub(crate) fn complete(&self, mut edit: Edit) -> Result<Edit, Stop> {
        let edited: BTreeSet<ObjectNo> = edit.tables.keys().copied().collect();
        let mut referred: BTreeSet<ObjectNo> = BTreeSet::new();
        for (object, table) in &edit.tables {
            let before = self.tables.get(object).map(|entry| &*entry.definition);
            let keys = [before, table.as_ref()].into_iter().flatten();
            let keys = keys.flat_map(|table| &table.foreign_keys);
            let parents: BTreeSet<ObjectNo> = keys.map(|key| key.references).collect();
            let is_new = |parent: &ObjectNo| !same_keys(before, table.as_ref(), *parent);
            referred.extend(parents.into_iter().filter(is_new));
        }
        for object in referred {
            if edit.tables.get(&object).is_some_and(Option::is_none) {
                continue;
            }
            let mut table = match edit.tables.remove(&object).flatten() {
                Some(table) => table,
                None => TableDefinition::clone(self.table_of(object)?),
            };
            table.referenced_by.retain(|key| !edited.contains(&key.table));
            let to_it = |key: &&ForeignKey| key.references == object;
            // A table that is edited only because others refer to it keeps its own foreign keys.
            let others = edit.tables.iter().filter(|(other, _)| edited.contains(other));
            let others = others.filter_map(|(_, one)| one.as_ref());
            let others = others.flat_map(|one| &one.foreign_keys);
            let own = if edited.contains(&object) { table.foreign_keys.clone() } else { vec![] };
            table.referenced_by.extend(others.chain(&own).filter(to_it).cloned());
            edit.tables.insert(object, Some(table));
        }
        self.check_references(&edit)?;
        self.check_names(&edit)?;
        self.check_dependencies(&edit)?;
        self.drop_comments(&mut edit);
        self.drop_statistics(&mut edit);
        Ok(edit)
    }

    /// Checks that every foreign key refers to an index that is there.
    fn check_references(&self, edit: &Edit) -> Result<(), Stop> {
        for table in edit.tables.values().flatten() {
            for key in &table.foreign_keys {
                let now = self.tables.get(&key.references).map(|entry| &*entry.definition);
                let parent = match edit.tables.get(&key.references) {
                    Some(parent) => parent.as_ref(),
                    None => now,
                };
                let has = |index: &relation::IndexDefinition| index.object == key.referenced_index;
                if !parent.is_some_and(|parent| parent.indexes.iter().any(has)) {
                    return Err(gone(key.references));
                }
            }
        }
        Ok(())
    }

    fn check_names(&self, edit: &Edit) -> Result<(), Stop> {
        let before = || edit.tables.keys().filter_map(|object| self.tables.get(object));
        let dropped = || edit.dropped_sequences.iter().map(|one| one.definition().name.as_str());
        let views = edit.views.keys().filter_map(|object| self.view_of(*object));
        let externals = edit.externals.keys().filter_map(|object| self.external_of(*object));
        let mut free: BTreeSet<&str> = before().map(|one| one.definition.name.as_str()).collect();
        free.extend(dropped());
        free.extend(views.map(|view| view.name.as_str()));
        free.extend(externals.map(|external| external.name.as_str()));
        let tables = edit.tables.values().flatten().map(|table| table.name.as_str());
        let sequences = edit.new_sequences.iter().map(|one| one.definition().name.as_str());
        let views = edit.views.values().flatten().map(|view| view.name.as_str());
        let externals = edit.externals.values().flatten().map(|one| one.name.as_str());
        let mut own = BTreeSet::new();
        for name in tables.chain(sequences).chain(views).chain(externals) {
            if !own.insert(name) || (self.has_name(name) && !free.contains(name)) {
                return Err(names::taken("a table, view or sequence", name));
            }
        }
        let free: BTreeSet<&str> = before().flat_map(|one| index_names(&one.definition)).collect();
        let mut own = BTreeSet::new();
        for name in edit.tables.values().flatten().flat_map(index_names) {
            if !own.insert(name) || (self.has_index_name(name) && !free.contains(name)) {
                return Err(names::taken("a constraint or index", name));
            }
        }
        Ok(())
    }

    /// Marks what is about to change: it isn't opened by the old definition any more, and open
    /// relations become stale before the statement's locks go (DC17).
    pub(crate) fn begin_change(&mut self, edit: &Edit, session: &Session) {
        for object in edit.tables.keys() {
            if let Some(entry) = self.tables.get_mut(object) {
                entry.changing = true;
                if let Some(relation) = &entry.relation {
                    relation.set_stale(session);
                }
            }
        }
        let is_no_table = |object: &ObjectId| !matches!(object, ObjectId::Table(_));
        self.changing.extend(edit.objects().into_iter().filter(is_no_table));
    }

    /// Whether a statement that changes the object is about to commit.
    pub(crate) fn is_changing(&self, object: ObjectId) -> bool {
        match object {
            ObjectId::Table(table) => self.entry(table).is_some_and(|entry| entry.changing),
            _ => self.changing.contains(&object),
        }
    }

    /// The generation in which an object changed last, 0 if it hasn't since the opening; none if it
    /// isn't there.
    pub(crate) fn version(&self, object: ObjectId) -> Option<u64> {
        let is_there = match object {
            ObjectId::Table(table) => self.tables.contains_key(&table),
            ObjectId::View(view) => self.views.contains_key(&view),
            ObjectId::Sequence(sequence) => self.sequences.contains_key(&sequence),
            ObjectId::External(external) => self.externals.contains_key(&external),
        };
        is_there.then(|| self.changed.get(&object).copied().unwrap_or(0))
    }

    /// Ends a change whose commit failed: the old definitions are opened anew (DC24).
    pub(crate) fn give_up_change(&mut self, edit: &Edit) {
        for object in edit.tables.keys() {
            if let Some(entry) = self.tables.get_mut(object) {
                (entry.changing, entry.relation) = (false, None);
            }
        }
        self.changing.clear();
    }

    /// Ends a change that was committed, in this generation. Returns the relations that were
    /// replaced.
    pub(crate) fn end_change(&mut self, edit: Edit, generation: u64) -> Vec<Arc<Relation>> {
        for object in edit.objects() {
            self.changed.insert(object, generation);
        }
        self.changing.clear();
        let all = edit.tables.keys();
        let replaced = all.filter_map(|object| self.tables.get_mut(object)?.relation.take());
        let replaced = replaced.collect();
        for object in edit.tables.keys() {
            self.remove_table(*object);
        }
        edit.tables.into_values().flatten().for_each(|table| self.add_table(table));
        edit.dropped_sequences.iter().for_each(|sequence| self.remove_sequence(sequence));
        edit.new_sequences.into_iter().for_each(|sequence| self.add_sequence(sequence));
        self.replace_others(edit.views, edit.externals);
        replace(&mut self.comments, edit.comments, |comment| comment);
        replace(&mut self.statistics, edit.statistics, Arc::new);
        let Dictionary { tables, views, sequences, externals, changed, .. } = self;
        changed.retain(|object, _| match object {
            ObjectId::Table(table) => tables.contains_key(table),
            ObjectId::View(view) => views.contains_key(view),
            ObjectId::Sequence(sequence) => sequences.contains_key(sequence),
            ObjectId::External(external) => externals.contains_key(external),
        });
        replaced
    }

    fn replace_others(
        &mut self,
        views: BTreeMap<ObjectNo, Option<ViewDefinition>>,
        externals: BTreeMap<ObjectNo, Option<ExternalDefinition>>,
    ) {
        for object in views.keys() {
            if let Some(view) = self.views.remove(object) {
                self.names.remove(&view.name);
            }
        }
        for object in externals.keys() {
            if let Some(external) = self.externals.remove(object) {
                self.names.remove(&external.name);
            }
        }
        views.into_values().flatten().for_each(|view| self.add_view(view));
        externals.into_values().flatten().for_each(|external| self.add_external(external));
    }
}

/// Whether the foreign keys to `parent` are the same in both definitions. A parent whose keys stay
/// isn't touched: the places of its keys may be in use, because it isn't locked (DC5).
fn same_keys(
    one: Option<&TableDefinition>,
    other: Option<&TableDefinition>,
    parent: ObjectNo,
) -> bool {
    let keys = |table: Option<&TableDefinition>| {
        let all = table.into_iter().flat_map(|table| &table.foreign_keys);
        let to_it = all.filter(|key| key.references == parent);
        let what = |key: &ForeignKey| {
            let columns = (key.columns.clone(), key.referenced_columns.clone());
            (key.name.clone(), key.index, key.referenced_index, columns, key.on_delete)
        };
        to_it.map(what).collect::<Vec<_>>()
    };
    keys(one) == keys(other)
}

/// Replaces things by others; where there is none, the thing goes.
fn replace<K: Ord, T, U>(
    there: &mut BTreeMap<K, T>,
    by: BTreeMap<K, Option<U>>,
    of: impl Fn(U) -> T,
) {
    for (key, one) in by {
        match one {
            Some(one) => drop(there.insert(key, of(one))),
            None => drop(there.remove(&key)),
        }
    }
}

fn gone(object: ObjectNo) -> Stop {
    let message = format!(
        "table {object}, or a key of it, was dropped meanwhile; look at the tables and try again"
    );
    Stop::refuse(RefusalKind::DefinitionChanged, message)
}
