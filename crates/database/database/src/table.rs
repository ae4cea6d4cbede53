//! A table, as an application holds it: by its number, whatever DDL does to its definition.
//!
//! Callers: applications.

use std::sync::{Arc, Weak};

use catalog::place_of;
use ids::ObjectNo;
use os::Session;
use relation::{IndexDefinition, IndexId, Relation, TableDefinition};
use stop::{RefusalKind, Stop};

use crate::database::Shared;

/// A table. Its columns keep their places whatever is added or renamed (DB4).
#[derive(Clone)]
pub struct Table {
    definition: Arc<TableDefinition>,
    primary: Option<IndexId>,
    /// The catalog owns the relation while the database is open.
    relation: Weak<Relation>,
    /// The database to which the table belongs.
    database: Weak<Shared>,
}

impl Table {
    pub(crate) fn new(relation: &Arc<Relation>, shared: &Arc<Shared>) -> Table {
        Table::of(Arc::clone(relation.definition()), Arc::downgrade(relation), shared)
    }

    /// A table that was just made. It is opened at its first use, so that nothing can fail now.
    pub(crate) fn made(definition: Arc<TableDefinition>, shared: &Arc<Shared>) -> Table {
        Table::of(definition, Weak::new(), shared)
    }

    fn of(
        definition: Arc<TableDefinition>,
        relation: Weak<Relation>,
        shared: &Arc<Shared>,
    ) -> Table {
        let primary = definition.indexes.iter().find(|index| index.primary);
        let primary = primary.map(IndexDefinition::id);
        let database = Arc::downgrade(shared);
        Table { definition, primary, relation, database }
    }

    /// The name that the table had when it was asked for.
    pub fn name(&self) -> &str {
        &self.definition().name
    }

    /// The definition that the table had when it was asked for.
    pub fn definition(&self) -> &TableDefinition {
        &self.definition
    }

    /// The place of a column, by its name.
    pub fn column(&self, name: &str) -> Result<usize, Stop> {
        place_of(self.definition(), name)
    }

    /// The index of this name. The index of a constraint has the constraint's name.
    pub fn index(&self, name: &str) -> Result<IndexId, Stop> {
        let found = self.definition().indexes.iter().find(|index| index.name == name);
        found.map(IndexDefinition::id).ok_or_else(|| {
            let message = format!("table {} has no index {name}", self.name());
            Stop::refuse(RefusalKind::NotFound, message)
        })
    }

    /// The index of the primary key.
    pub fn primary(&self) -> Option<IndexId> {
        self.primary
    }

    /// The current relation; an error if the database was shut or has halted.
    #[inline]
    pub(crate) fn current<'r>(
        &self,
        shared: &Arc<Shared>,
        relations: &'r mut Relations,
        session: &Session,
    ) -> Result<&'r Relation, Stop> {
        if self.database.as_ptr() != Arc::as_ptr(shared) {
            return Err(self.of_another());
        }
        shared.halt.check(session)?;
        let object = self.definition.object;
        let place = match relations.place_of(object, session) {
            Some(place) => place,
            None => {
                let found = self.relation.upgrade().filter(|found| !found.is_stale(session));
                relations.keep(object, found.map_or_else(|| self.look_up(shared, session), Ok)?)
            }
        };
        Ok(&relations.recent[place].1)
    }

    /// The number of columns that the table had when it was asked for.
    pub(crate) fn known(&self) -> usize {
        self.definition.columns.len()
    }

    #[cold]
    fn of_another(&self) -> Stop {
        let message = format!(
            "table {} is of another database, or of this one before it was opened again; ask the \
             connection for the table",
            self.name()
        );
        Stop::refuse(RefusalKind::Invalid, message)
    }

    /// Asks the catalog for the relation of the current definition.
    #[cold]
    fn look_up(&self, shared: &Shared, session: &Session) -> Result<Arc<Relation>, Stop> {
        let found = shared.catalog.relation_of(self.definition.object, session);
        found.map_err(|stop| match stop.refusal() {
            // Numbers are never given again, so a dropped table stays away.
            Some(RefusalKind::DefinitionChanged) => {
                let message = format!("table {} was dropped; make it again", self.name());
                Stop::refuse(RefusalKind::NotFound, message)
            }
            Some(RefusalKind::Cancelled) | None => stop,
            Some(_) => {
                let lead = format!("table {} can't be used any more: ", self.name());
                stop.map_refusal(|refusal| refusal.led_by(&lead))
            }
        })
    }
}

/// The relations that a connection has used last. With them a statement doesn't change the
/// reference count that all threads share (docs/log/database.md). A stale relation hinders nothing,
/// and goes when its table is used again.
#[derive(Default)]
pub(crate) struct Relations {
    /// At most [`RECENT`], in no order.
    recent: Vec<(ObjectNo, Arc<Relation>)>,
    /// The one that gives way next.
    next: usize,
}

/// The number of relations that are kept: enough for the tables of a transaction.
const RECENT: usize = 16;

impl Relations {
    /// The place of this table's relation; a stale one is dropped.
    #[inline]
    fn place_of(&mut self, object: ObjectNo, session: &Session) -> Option<usize> {
        let place = self.recent.iter().position(|(one, _)| *one == object)?;
        if self.recent[place].1.is_stale(session) {
            self.recent.swap_remove(place);
            return None;
        }
        Some(place)
    }

    /// Keeps a relation, and returns its place.
    fn keep(&mut self, object: ObjectNo, relation: Arc<Relation>) -> usize {
        if self.recent.len() < RECENT {
            self.recent.push((object, relation));
            return self.recent.len() - 1;
        }
        self.next = (self.next + 1) % RECENT;
        self.recent[self.next] = (object, relation);
        self.next
    }
}

#[cold]
pub(crate) fn no_primary_key(table: &str, what: &str) -> Stop {
    let message = format!(
        "cannot {what} a row of table {table} by its primary key: the table has none; name an \
         index"
    );
    Stop::refuse(RefusalKind::Invalid, message)
}
