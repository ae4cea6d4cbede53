//! A table, as an application holds it: by its number, whatever is done to its definition.
//!
//! Callers: applications.

use std::sync::{Arc, Weak};

use catalog::place_of;
use os::Session;
use relation::{IndexDefinition, IndexId, Relation, TableDefinition};
use stop::{RefusalKind, Stop};

use crate::database::Shared;

/// A table. Columns keep their places whatever is added or renamed. Holds nothing open.
#[derive(Clone)]
pub struct Table {
    definition: Arc<TableDefinition>,
    primary: Option<IndexId>,
    /// The catalog has it, as long as the database is open.
    relation: Weak<Relation>,
    /// The database that it is of.
    database: Weak<Shared>,
}

impl Table {
    pub(crate) fn new(relation: &Arc<Relation>, shared: &Arc<Shared>) -> Table {
        let relation = (Arc::clone(relation.definition()), Arc::downgrade(relation));
        Table::of(relation, shared)
    }

    /// A table that was just made: it is opened when it is used, so that nothing can fail now.
    pub(crate) fn made(definition: Arc<TableDefinition>, shared: &Arc<Shared>) -> Table {
        Table::of((definition, Weak::new()), shared)
    }

    fn of(
        (definition, relation): (Arc<TableDefinition>, Weak<Relation>),
        shared: &Arc<Shared>,
    ) -> Table {
        let primary = definition.indexes.iter().find(|index| index.primary);
        let primary = primary.map(IndexDefinition::id);
        let database = Arc::downgrade(shared);
        Table { definition, primary, relation, database }
    }

    /// Its name, as it was when it was asked for.
    pub fn name(&self) -> &str {
        &self.definition().name
    }

    /// What it was when it was asked for.
    pub fn definition(&self) -> &TableDefinition {
        &self.definition
    }

    /// The place of a column, by its name.
    pub fn column(&self, name: &str) -> Result<usize, Stop> {
        place_of(self.definition(), name)
    }

    /// The index of this name, which may be that of its constraint.
    pub fn index(&self, name: &str) -> Result<IndexId, Stop> {
        let found = self.definition().indexes.iter().find(|index| index.name == name);
        found.map(IndexDefinition::id).ok_or_else(|| {
            let message = format!("table {} has no index {name}", self.name());
            Stop::refuse(RefusalKind::NotFound, message)
        })
    }

    /// Its primary key's index.
    pub fn primary(&self) -> Option<IndexId> {
        self.primary
    }

    /// The relation as it is now; an error if the database has been shut or has halted.
    pub(crate) fn current(
        &self,
        shared: &Arc<Shared>,
        session: &Session,
    ) -> Result<Arc<Relation>, Stop> {
        if self.database.as_ptr() != Arc::as_ptr(shared) {
            return Err(self.of_another());
        }
        shared.instance.halt().check(session)?;
        match self.relation.upgrade().filter(|relation| !relation.is_stale(session)) {
            Some(relation) => Ok(relation),
            None => self.look_up(shared, session),
        }
    }

    /// How many columns the table had when it was asked for.
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

    /// The relation of another definition.
    #[cold]
    fn look_up(&self, shared: &Shared, session: &Session) -> Result<Arc<Relation>, Stop> {
        let found = shared.catalog.relation_of(self.definition.object, session);
        found.map_err(|stop| match stop.refusal() {
            // A number is never given again: what has gone stays away.
            Some(RefusalKind::DefinitionChanged) => {
                let message = format!("table {} was dropped; make it again", self.name());
                Stop::refuse(RefusalKind::NotFound, message)
            }
            Some(kind) => {
                Stop::refuse(kind, format!("table {} can't be used any more: {stop}", self.name()))
            }
            None => stop,
        })
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
