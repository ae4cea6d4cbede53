//! A statement that changes definitions, from its locks to its end (rules DC2 to DC6).
//!
//! ```text
//!   lock tables ─▶ look again ─▶ segments made, temporary, and filled ─▶ one at a time:
//!      │                                                                    │
//!      │   ┌──────────── segments kept, rows written, relations stale ◀─────┘
//!      │   └─▶ committed durably ─▶ dictionary in memory ─▶ old segments dropped
//!      └─ whatever fails before the commit: rolled back, new segments dropped
//! ```
//!
//! Invariants
//!   * a statement is one transaction of its own
//!   * a segment that was made here is in a committed row, or dropped, or left to the next opening
//!
//! Callers: `create`, `alter`, `drop`.

use std::sync::Arc;

use access::Index;
use ids::{ObjectNo, Scn, TxnId};
use os::Session;
use redo::CommitMode;
use relation::{ColumnDefinition, Relation, TableDefinition};
use space::{Holds, NAMED_BY_NUMBER};
use stop::{RefusalKind, Stop};
use txn::{LockWait, RowRequest, RowWait, RowWanted, TableMode, Transaction, View};

use crate::Catalog;
use crate::dictionary::{Dictionary, Edit};
use crate::dictionary_table::DictionaryTable;
use crate::draft::{Draft, renumber};
use crate::rows::{self, Rows, key_of};
use crate::store::corrupt;

/// A statement under way.
pub(crate) struct Statement<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) session: &'a Session,
    pub(crate) lock_wait: LockWait,
    transaction: Transaction,
    id: TxnId,
    /// Segments that it has made.
    made: Vec<ObjectNo>,
    /// Whether its changes have been committed.
    is_done: bool,
}

impl Catalog {
    /// Runs a statement; what it leaves if it fails is taken back.
    pub(crate) fn run<T>(
        &self,
        lock_wait: LockWait,
        session: &Session,
        body: impl FnOnce(&mut Statement<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let mut transaction = Transaction::new();
        let id = match self.transactions.prepare(&mut transaction, 0, session) {
            Ok(id) => id,
            Err(stop) => {
                // It may have begun before it found no room for undo.
                self.transactions.rollback(transaction, session)?;
                return Err(stop);
            }
        };
        let made = Vec::new();
        let mut statement =
            Statement { catalog: self, session, lock_wait, transaction, id, made, is_done: false };
        let result = body(&mut statement);
        let Statement { transaction, made, is_done, .. } = statement;
        if is_done {
            return result;
        }
        self.transactions.rollback(transaction, session)?;
        self.drop_segments(&made, session);
        result
    }

    /// Drops segments that nobody names any more. What can't be dropped now is by the next opening,
    /// for a permanent one that no row names is dropped then (DC3).
    fn drop_segments(&self, segments: &[ObjectNo], session: &Session) {
        for segment in segments {
            if let Err(stop) = self.space.drop_segment(*segment, session) {
                let line = format!("segment {segment} is left to the next opening: {stop}");
                session.os().notice(&line);
            }
        }
    }
}

impl Statement<'_> {
    /// Locks the table of this name, and says what it is now that nobody else changes it.
    pub(crate) fn lock(
        &mut self,
        name: &str,
        mode: TableMode,
    ) -> Result<Arc<TableDefinition>, Stop> {
        loop {
            let found = self.read(|dictionary| dictionary.table(name).cloned())?;
            self.lock_object(found.object, mode)?;
            let now = self.read(|dictionary| dictionary.table(name).cloned())?;
            if now.object == found.object {
                return Ok(now);
            }
        }
    }

    /// Locks a table that another one refers to, or is referred to by.
    pub(crate) fn lock_object(&mut self, table: ObjectNo, mode: TableMode) -> Result<(), Stop> {
        let locks = self.catalog.transactions.locks();
        locks.lock_table(self.id, table.get(), mode, self.lock_wait, self.session)?;
        // The statement that had the lock before gave it up when it committed, and replaces the
        // definition only then.
        let is_changing =
            |dictionary: &Dictionary| dictionary.entry(table).is_some_and(|entry| entry.changing);
        if self.read(is_changing) {
            drop(self.catalog.row_cache_lock.hold(table.get().into(), self.session));
        }
        Ok(())
    }

    /// Asks the dictionary.
    pub(crate) fn read<T>(&self, ask: impl FnOnce(&Dictionary) -> T) -> T {
        ask(&self.catalog.dictionary.shared(self.session))
    }

    /// Transactions that were active when the instance stopped have no locks: before segments are
    /// dropped that they may have changed, they have to be rolled back (rule space/SP15). All of
    /// them together are waited for as long as one lock.
    pub(crate) fn wait_for_dead_transactions(
        &mut self,
        table: &TableDefinition,
    ) -> Result<(), Stop> {
        let transactions = &self.catalog.transactions;
        let header = self.catalog.space.segment(table.segment, self.session)?;
        let block = header.ok_or_else(|| corrupt("a table has no segment"))?.header;
        let wanted = RowWanted { what: RowWait::Row, object: table.object.get(), block, slot: 0 };
        let (lock_wait, began) = (self.lock_wait, self.session.now());
        let request = RowRequest { waiter: self.id, wanted, lock_wait, began };
        for dead in &self.catalog.dead {
            if transactions.active().is_active(*dead, self.session) {
                transactions.wait_for(&[*dead], &request, self.session)?;
            }
        }
        Ok(())
    }

    /// Makes the segments that the table needs and hasn't: those of its first indexes where
    /// `of_indexes` says, in order, and all others in this tablespace. The indexes that were made,
    /// by their places.
    pub(crate) fn make_segments(
        &mut self,
        table: &mut TableDefinition,
        tablespace: &str,
        of_indexes: &[String],
    ) -> Result<Vec<usize>, Stop> {
        let (space, session) = (&self.catalog.space, self.session);
        if Draft::is_new(table.segment) {
            let what = (NAMED_BY_NUMBER, Holds::Table);
            let segment = space.create_temporary(tablespace, what, session)?.object;
            self.made.push(segment);
            match Draft::is_new(table.object) {
                true => renumber(table, table.object, segment),
                false => table.segment = segment,
            }
        }
        let mut places = Vec::new();
        for place in 0..table.indexes.len() {
            let index = &table.indexes[place];
            if !Draft::is_new(index.segment) {
                continue;
            }
            let what = (NAMED_BY_NUMBER, index.unique);
            let transactions = &self.catalog.transactions;
            let tablespace = of_indexes.get(place).map_or(tablespace, String::as_str);
            let made = Index::create_temporary(tablespace, what, space, transactions, session)?;
            let segment = made.segment().object;
            self.made.push(segment);
            match Draft::is_new(index.object) {
                true => renumber(table, index.object, segment),
                false => table.indexes[place].segment = segment,
            }
            places.push(place);
        }
        Ok(places)
    }

    /// The table of a definition that isn't in the dictionary yet.
    pub(crate) fn open(&self, table: &TableDefinition) -> Result<Relation, Stop> {
        let (space, transactions) = (&self.catalog.space, &self.catalog.transactions);
        Relation::open(Arc::new(table.clone()), space, transactions, self.session)
    }

    /// Looks at rows as they are: `look` is given a view of what is committed, while a lock of the
    /// table keeps changes out.
    pub(crate) fn with_view<T>(
        &self,
        look: impl FnOnce(View) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let transactions = &self.catalog.transactions;
        let snapshot = transactions.snapshot(None, self.session)?;
        look(transactions.view_of(&snapshot, None))
    }

    /// Commits what `edit` says, has everybody know it, and then drops the segments `drops`.
    pub(crate) fn publish(
        &mut self,
        edit: impl FnOnce(&Dictionary) -> Result<Edit, Stop>,
        drops: &[ObjectNo],
    ) -> Result<(), Stop> {
        self.publish_and_ask(edit, drops, |_| ())
    }

    /// The same. Asks the dictionary as this statement leaves it, before any other changes it.
    pub(crate) fn publish_and_ask<T>(
        &mut self,
        edit: impl FnOnce(&Dictionary) -> Result<Edit, Stop>,
        drops: &[ObjectNo],
        ask: impl FnOnce(&Dictionary) -> T,
    ) -> Result<T, Stop> {
        let (catalog, session) = (self.catalog, self.session);
        let changing = catalog.row_cache_lock.hold(0, session);
        let edit =
            self.read(|dictionary| edit(dictionary).and_then(|it| dictionary.complete(it)))?;
        for sequence in &edit.dropped_sequences {
            sequence.set_dropped(session);
        }
        let written = self.write(&edit);
        if let Err(stop) = written {
            edit.dropped_sequences.iter().for_each(|sequence| sequence.set_kept(session));
            return Err(stop);
        }
        catalog.dictionary.exclusive(session).begin_change(&edit, session);
        // From here on the transaction has ended, whatever comes of it (rule txn/TX4).
        let transaction = std::mem::take(&mut self.transaction);
        let committed = catalog.transactions.commit(transaction, CommitMode::DURABLE, session);
        let published = {
            let mut dictionary = catalog.dictionary.exclusive(session);
            match committed {
                Ok(scn) => {
                    let edit = self.dated(edit, &dictionary, scn);
                    Ok((dictionary.end_change(edit), ask(&dictionary)))
                }
                Err(stop) => {
                    dictionary.give_up_change(&edit);
                    edit.dropped_sequences.iter().for_each(|one| one.set_kept(session));
                    Err(stop)
                }
            }
        };
        drop(changing);
        let (replaced, answer) = published?;
        self.is_done = true;
        // Who reads a dropped index of a table that stays finds out by itself (DC6).
        for relation in &replaced {
            if drops.contains(&relation.definition().segment) {
                relation.set_gone(session);
            }
        }
        catalog.drop_segments(drops, session);
        Ok(answer)
    }

    /// Segments are kept first, then rows say so, in this order also in the redo (DC3).
    fn write(&mut self, edit: &Edit) -> Result<(), Stop> {
        let (catalog, session) = (self.catalog, self.session);
        for segment in &self.made {
            catalog.space.keep(*segment, session)?;
        }
        let (mut old, mut new) = (Rows::new(), Rows::new());
        self.read(|dictionary| {
            for (object, table) in &edit.tables {
                if let Some(entry) = dictionary.entry(*object) {
                    rows::of_table(&entry.definition, &mut old);
                }
                if let Some(table) = table {
                    rows::of_table(table, &mut new);
                }
            }
        });
        for sequence in &edit.dropped_sequences {
            let row = rows::of_sequence(sequence.definition(), sequence.stored(session));
            old.insert((DictionaryTable::Sequences, key_of(DictionaryTable::Sequences, &row)), row);
        }
        for sequence in &edit.new_sequences {
            let row = rows::of_sequence(sequence.definition(), sequence.stored(session));
            new.insert((DictionaryTable::Sequences, key_of(DictionaryTable::Sequences, &row)), row);
        }
        catalog.store.write(&mut self.transaction, &old, &new, session)
    }

    /// Snapshots from before the commit can't use what was made by it: a table after a truncate, an
    /// index of a table that was there, what is said of rows since (rule DC5).
    fn dated(&self, mut edit: Edit, dictionary: &Dictionary, scn: Option<Scn>) -> Edit {
        let Some(scn) = scn else { return edit };
        for (object, table) in &mut edit.tables {
            let (Some(table), Some(before)) = (table.as_mut(), dictionary.entry(*object)) else {
                continue;
            };
            if table.segment != before.definition.segment {
                table.truncated = scn;
            }
            if promises_more(table, &before.definition) {
                table.promised = scn;
            }
            let made = |index: &&mut relation::IndexDefinition| self.made.contains(&index.segment);
            table.indexes.iter_mut().filter(made).for_each(|index| index.since = scn);
        }
        edit
    }

    /// Where a segment lies.
    pub(crate) fn tablespace_of(&self, segment: ObjectNo) -> Result<String, Stop> {
        let (space, session) = (&self.catalog.space, self.session);
        let found = space.segment(segment, session)?;
        let file = found.ok_or_else(|| corrupt("a table has no segment"))?.header.file;
        for tablespace in space.tablespaces(session) {
            if space.files_of_tablespace(&tablespace.name, session)?.contains(&file) {
                return Ok(tablespace.name);
            }
        }
        let message = format!("no tablespace has file {file}, in which segment {segment} lies");
        Err(Stop::refuse(RefusalKind::Corrupt, message))
    }
}

/// Whether a definition says of rows what the one before it didn't, so that rows from before may
/// break it: NOT NULL of a column that has had no value in them, or a CHECK.
fn promises_more(table: &TableDefinition, before: &TableDefinition) -> bool {
    let is_new = |(place, column): (usize, &ColumnDefinition)| {
        column.not_null
            && match before.columns.get(place) {
                Some(before) => !before.not_null,
                None => column.missing.get().is_null(),
            }
    };
    table.checks.len() > before.checks.len() || table.columns.iter().enumerate().any(is_new)
}
