//! A DDL statement, from its locks to its end (rules DC2 to DC6, DC13 to DC25).
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
//!   * a segment that was made here is named by a committed row, or dropped, or left to the next
//!     opening
//!   * a segment that this transaction puts rows into is permanent before (DC39)
//!
//! Callers: `create`, `alter`, `drop`, and the other files of statements.

use std::sync::Arc;

use access::Index;
use ids::{ObjectNo, Scn, TxnId};
use os::Session;
use redo::CommitMode;
use relation::{ColumnDefinition, Relation, TableDefinition};
use space::{Holds, NAMED_BY_NUMBER};
use stop::{RefusalKind, Stop};
use txn::{LockWait, RowRequest, RowWait, RowWanted, TableMode, Transaction, View};

use crate::dictionary::Dictionary;
use crate::draft::{Draft, renumber};
use crate::drop::segments_of;
use crate::edit::Edit;
use crate::store::corrupt;
use crate::{Catalog, DICTIONARY_VERSION_FIRST};

/// A DDL statement under way.
pub(crate) struct Statement<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) session: &'a Session,
    pub(crate) lock_wait: LockWait,
    pub(crate) transaction: Transaction,
    id: TxnId,
    /// The segments that it has made.
    made: Vec<ObjectNo>,
    /// Those of them that are permanent already.
    kept: Vec<ObjectNo>,
    /// The table that gets a CHECK.
    pub(crate) checked: Option<ObjectNo>,
    /// Whether its changes are committed.
    is_done: bool,
}

impl Catalog {
    /// Runs a statement. If it fails, it is rolled back and its segments are dropped (DC23).
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
                // The transaction may have begun before it found no room for undo.
                self.transactions.rollback(transaction, session)?;
                return Err(stop);
            }
        };
        let mut statement = Statement {
            catalog: self,
            session,
            lock_wait,
            transaction,
            id,
            made: Vec::new(),
            kept: Vec::new(),
            checked: None,
            is_done: false,
        };
        let result = body(&mut statement);
        let Statement { transaction, made, is_done, .. } = statement;
        if is_done {
            return result;
        }
        self.transactions.rollback(transaction, session)?;
        self.drop_segments(&made, session);
        result
    }

    /// Drops segments that no row names any more. One that can't be dropped now is dropped at the
    /// next opening, as a permanent segment that no row names (DC12).
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
    /// Locks the table of this name, and returns its definition, which stays from now on.
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

    /// Locks the table of this number.
    pub(crate) fn lock_object(&mut self, table: ObjectNo, mode: TableMode) -> Result<(), Stop> {
        let locks = self.catalog.transactions.locks();
        locks.lock_table(self.id, table.get(), mode, self.lock_wait, self.session)?;
        // The statement that had the lock before let it go as it committed, and replaces the
        // definition after that (DC18).
        let is_changing =
            |dictionary: &Dictionary| dictionary.entry(table).is_some_and(|entry| entry.changing);
        if self.read(is_changing) {
            drop(self.catalog.row_cache_lock.hold_in_call(table.get().into(), self.session)?);
        }
        Ok(())
    }

    /// Reads the dictionary in memory.
    pub(crate) fn read<T>(&self, ask: impl FnOnce(&Dictionary) -> T) -> T {
        ask(&self.catalog.dictionary.shared(self.session))
    }

    /// Waits for dead transactions, which have no locks: they have to be rolled back before
    /// segments are dropped that they may have changed (DC6). All of them together are waited for
    /// as long as one lock.
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

    /// Makes the segments that the table doesn't have yet: those of its first indexes in the
    /// tablespaces `of_indexes`, in order, and all others in `tablespace`. Returns the places of
    /// the indexes that were made.
    pub(crate) fn make_segments(
        &mut self,
        table: &mut TableDefinition,
        tablespace: &str,
        of_indexes: &[String],
    ) -> Result<Vec<usize>, Stop> {
        let (space, session) = (&self.catalog.space, self.session);
        if Draft::is_new(table.segment) {
            let segment =
                space.create_temporary(tablespace, NAMED_BY_NUMBER, Holds::Table, session)?.object;
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
            let transactions = &self.catalog.transactions;
            let tablespace = of_indexes.get(place).map_or(tablespace, String::as_str);
            let (name, unique) = (NAMED_BY_NUMBER, index.unique);
            let made =
                Index::create_temporary(tablespace, name, unique, space, transactions, session)?;
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

    /// Makes a segment permanent before it is named by a row, because this transaction is about to
    /// put rows into it (DC39).
    pub(crate) fn keep_early(&mut self, segment: ObjectNo) -> Result<(), Stop> {
        self.catalog.space.keep(segment, self.session)?;
        self.kept.push(segment);
        Ok(())
    }

    /// Opens a table by a definition that isn't published yet.
    pub(crate) fn open(&self, table: &TableDefinition) -> Result<Relation, Stop> {
        let Catalog { space, transactions, compiler, .. } = self.catalog;
        let definition = Arc::new(table.clone());
        Relation::open_with(definition, &**compiler, space, transactions, self.session)
    }

    /// Calls `look` with a view of what is committed now, while a table lock keeps changes out
    /// (DC14), and of the rows that this statement has written itself.
    pub(crate) fn with_view<T>(
        &self,
        look: impl FnOnce(View) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let transactions = &self.catalog.transactions;
        let snapshot = transactions.snapshot(None, self.session)?;
        look(transactions.view_of(&snapshot, Some(&self.transaction)).with_all_own())
    }

    /// The segments that nobody needs any more when one definition of a table is replaced by
    /// another: those of the old one, and those that were made here, without those of the new one.
    pub(crate) fn left_over(
        &self,
        before: &TableDefinition,
        after: &TableDefinition,
    ) -> Vec<ObjectNo> {
        let used = segments_of(after);
        let mut all = segments_of(before);
        all.extend(&self.made);
        all.retain(|segment| !used.contains(segment));
        all
    }

    /// Commits what `edit` says, replaces it in memory, and then drops the segments `drops` (DC17).
    pub(crate) fn publish(
        &mut self,
        edit: impl FnOnce(&Dictionary) -> Result<Edit, Stop>,
        drops: &[ObjectNo],
    ) -> Result<(), Stop> {
        self.publish_and_ask(edit, drops, |_| ())
    }

    /// Publishes an edit, and asks the dictionary as this statement leaves it, before any other
    /// changes it.
    pub(crate) fn publish_and_ask<T>(
        &mut self,
        edit: impl FnOnce(&Dictionary) -> Result<Edit, Stop>,
        drops: &[ObjectNo],
        ask: impl FnOnce(&Dictionary) -> T,
    ) -> Result<T, Stop> {
        let (catalog, session) = (self.catalog, self.session);
        let changing = catalog.row_cache_lock.hold_in_call(0, session)?;
        // From here to the drop of old segments a cancel comes too late (DC17).
        let _held = session.hold_off();
        let mut edit =
            self.read(|dictionary| edit(dictionary).and_then(|it| dictionary.complete(it)))?;
        for sequence in &edit.dropped_sequences {
            sequence.set_dropped(session);
        }
        let written = edit.make_altered(session).and_then(|()| self.write(&edit));
        if let Err(stop) = written {
            edit.dropped_sequences.iter().for_each(|sequence| sequence.set_kept(session));
            return Err(stop);
        }
        catalog.dictionary.exclusive(session).begin_change(&edit, session);
        catalog.next_generation(session);
        // From here on the transaction has ended, whatever the commit's result is (rule txn/TX4).
        let transaction = std::mem::take(&mut self.transaction);
        let committed = catalog.transactions.commit(transaction, CommitMode::DURABLE, session);
        let published = {
            let mut dictionary = catalog.dictionary.exclusive(session);
            // Who made a plan since the mark may have used an old definition.
            let generation = catalog.next_generation(session);
            match committed {
                Ok(scn) => {
                    let edit = self.dated(edit, &dictionary, scn);
                    Ok((dictionary.end_change(edit, generation), ask(&dictionary)))
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
        // A reader by a dropped index of a table that stays finds out at a block (DC22).
        for relation in &replaced {
            if drops.contains(&relation.definition().segment) {
                relation.set_gone(session);
            }
        }
        catalog.drop_segments(drops, session);
        Ok(answer)
    }

    /// Keeps segments, and then writes rows that name them, in this order also in the redo (DC3).
    /// If the rows are of tables that the dictionary doesn't have yet, it gets them first (DC33).
    fn write(&mut self, edit: &Edit) -> Result<(), Stop> {
        let (catalog, session) = (self.catalog, self.session);
        let mut rows = self.read(|dictionary| edit.rows(dictionary));
        edit.add_sequences(&mut rows, session);
        let is_new = |version: u32| {
            version > DICTIONARY_VERSION_FIRST && version > catalog.store.version(session)
        };
        if rows.version().is_some_and(is_new) {
            catalog.store.upgrade(catalog.ground(session))?;
        }
        for segment in self.made.iter().filter(|segment| !self.kept.contains(segment)) {
            catalog.space.keep(*segment, session)?;
        }
        catalog.store.write(&mut self.transaction, &rows.old, &rows.new, session)
    }

    /// Notes the commit's SCN in what older snapshots can't use: a truncated table, a new index, a
    /// new promise about rows (DC21).
    fn dated(&self, mut edit: Edit, dictionary: &Dictionary, scn: Option<Scn>) -> Edit {
        let Some(scn) = scn else { return edit };
        for (object, table) in &mut edit.tables {
            let (Some(table), Some(before)) = (table.as_mut(), dictionary.entry(*object)) else {
                continue;
            };
            if table.segment != before.definition.segment {
                table.truncated = scn;
            }
            if self.checked == Some(*object) || promises_more(table, &before.definition) {
                table.promised = scn;
            }
            let made = |index: &&mut relation::IndexDefinition| self.made.contains(&index.segment);
            table.indexes.iter_mut().filter(made).for_each(|index| index.since = scn);
        }
        edit
    }

    /// The tablespace of a segment.
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

/// Whether the columns of a definition promise of rows what the ones before didn't, so that older
/// rows may break it: NOT NULL of a column that has no value in them, or a type with fewer values.
fn promises_more(table: &TableDefinition, before: &TableDefinition) -> bool {
    let is_new = |(place, column): (usize, &ColumnDefinition)| match before.columns.get(place) {
        Some(before) => {
            (column.not_null && !before.not_null) || !column.kind.holds_all_of(before.kind)
        }
        None => column.not_null && column.missing.get().is_null(),
    };
    table.columns.iter().enumerate().any(is_new)
}
