//! The names of tables, indexes and rows in messages about locks.
//!
//! Callers: the lock manager, through the embedded API, when a session is refused a lock.

use access::RowAddress;
use ids::ObjectNo;
use os::Session;
use txn::{LockName, RowWait, RowWanted};

use crate::Catalog;

impl Catalog {
    /// The name of a user's table, or of an index and its table. Reads nothing from disk.
    ///
    /// A table is locked by its own number; rows and keys by that of their segment, which changes
    /// with a TRUNCATE. Both are from one series, in which no number is given twice.
    pub fn lock_name(&self, object: u32, session: &Session) -> Option<LockName> {
        let dictionary = self.dictionary.shared(session);
        let wanted = ObjectNo::new(object);
        let is_it = |object: ObjectNo, segment: ObjectNo| object == wanted || segment == wanted;
        dictionary.tables().find_map(|table| {
            if is_it(table.object, table.segment) {
                return Some(LockName::Table(table.name.clone()));
            }
            let index = table.indexes.iter().find(|index| is_it(index.object, index.segment))?;
            Some(LockName::Index(index.name.clone(), table.name.clone()))
        })
    }

    /// The primary key of a row that is waited for, as it was committed last, with the names of its
    /// columns. None if the table has no primary key, or the row can't be read now. Never waits for
    /// a lock, nor for a statement that changes the table.
    pub fn lock_key(&self, wanted: &RowWanted, session: &Session) -> Option<String> {
        if wanted.what != RowWait::Row {
            return None;
        }
        let relation = {
            let dictionary = self.dictionary.shared(session);
            let segment = ObjectNo::new(wanted.object);
            let table = dictionary.tables().find(|table| table.segment == segment)?;
            let entry = dictionary.entry(table.object)?;
            entry.relation.clone().filter(|_| !entry.changing)?
        };
        let primary = relation.definition().indexes.iter().find(|index| index.primary)?;
        let columns: Vec<usize> = primary.columns.iter().map(|column| column.column).collect();
        let snapshot = self.transactions.snapshot(None, session).ok()?;
        let view = self.transactions.view_of(&snapshot, None);
        let address = RowAddress { block: wanted.block, slot: wanted.slot };
        let mut key = String::new();
        let mut look = |row: value::RowView<'_>| {
            key = relation.columns_text(columns.iter().copied(), &row);
        };
        relation.fetch(view, address, &mut look, session).ok()??;
        Some(key)
    }
}
