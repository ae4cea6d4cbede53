//! A session's transactions: statements on typed tables, and what it was told of them.
//!
//! A statement's rows are noted when it has returned: its transaction has them locked from then on,
//! so that the journal has the changes of a row in their order. What is refused leaves nothing.
//!
//! Callers: `load`.

use std::collections::BTreeMap;

use database::{
    Bounds, CommitMode, Connection, ErrorKind, ForUpdate, Row, RowChange, Savepoint, Selection,
    Table, Tx, Value,
};
use instance::CommitWait;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use stop::Stop;

use crate::journal::{Content, Journal, Numbers, Outcome, RowId, Told};
use crate::tables::{
    COLUMNS, Derived, ID, MARK, NOTES, SAME_KEYS, SCRATCH, TABLES, VERSION, WRITER, by_code,
    code_of, read,
};
use crate::{Load, tables};

/// Keys are of so few that they come again.
pub(crate) const KEYS: i64 = 12;

/// What happened, in a tally.
pub(crate) const REFUSED: &str = "a statement refused by a constraint";
pub(crate) const OBSTRUCTED: &str = "a transaction in another's way";
pub(crate) const WENT_BACK: &str = "a rollback to a savepoint";
pub(crate) const SERIALIZABLE: &str = "a serializable transaction committed";
pub(crate) const MANY: &str = "several rows changed by a statement";
pub(crate) const LOADED: &str = "rows loaded into new blocks";
pub(crate) const REINSERTED: &str = "a key inserted again";
pub(crate) const LOCKED: &str = "rows read for update";
pub(crate) const KEY_CHANGED: &str = "a primary key changed";

/// What becomes of a transaction by a refusal.
pub(crate) enum Refused {
    /// The statement has left nothing, and the transaction may go on.
    Statement,
    /// It is rolled back.
    Transaction,
}

/// What may happen; the rest ends the load.
pub(crate) fn refused(stop: Stop, journal: &Journal) -> Result<Refused, Stop> {
    use ErrorKind as Kind;
    match stop.refusal() {
        Some(
            Kind::UniqueViolation
            | Kind::ForeignKeyViolation
            | Kind::CheckViolation
            | Kind::NotNullViolation,
        ) => {
            journal.note(REFUSED);
            Ok(Refused::Statement)
        }
        Some(
            Kind::Deadlock
            | Kind::Serialization
            | Kind::SnapshotTooOld
            | Kind::Busy
            | Kind::LockTimeout
            | Kind::DefinitionChanged
            | Kind::NoSpace,
        ) => {
            journal.note(OBSTRUCTED);
            Ok(Refused::Transaction)
        }
        _ => Err(stop),
    }
}

/// A transaction of a session.
pub(crate) struct Doing<'a, 'c, 's> {
    load: &'a Load,
    /// Which session it is.
    session: u32,
    number: usize,
    random: &'a mut Xoshiro256PlusPlus,
    journal: &'a Journal,
    tables: &'a [Table],
    mark: &'a Table,
    tx: Tx<'c, 's>,
    is_serializable: bool,
    savepoint: Option<(Savepoint, usize)>,
    /// The row that it changed last.
    last: Option<RowId>,
}

/// The tables as they are now.
pub(crate) fn tables_of(connection: &Connection<'_>) -> Result<(Vec<Table>, Table), Stop> {
    let tables = TABLES.iter().map(|shape| connection.table(shape.name));
    Ok((tables.collect::<Result<_, _>>()?, connection.table(MARK)?))
}

/// What sessions are and share.
pub(crate) struct Who<'a> {
    pub(crate) load: &'a Load,
    pub(crate) session: u32,
    pub(crate) journal: &'a Journal,
    pub(crate) random: &'a mut Xoshiro256PlusPlus,
}

impl<'a, 'c, 's> Doing<'a, 'c, 's> {
    pub(crate) fn begin(
        who: Who<'a>,
        tables: &'a [Table],
        mark: &'a Table,
        connection: &'c mut Connection<'s>,
    ) -> Result<Doing<'a, 'c, 's>, Stop> {
        let Who { load, session, journal, random } = who;
        let is_serializable = load.serializable && random.random_range(0..3) == 0;
        let tx = match is_serializable {
            true => connection.begin_serializable()?,
            false => connection.begin(),
        };
        let number = journal.begin();
        let (savepoint, last) = (None, None);
        Ok(Doing {
            load,
            session,
            number,
            random,
            journal,
            tables,
            mark,
            tx,
            is_serializable,
            savepoint,
            last,
        })
    }

    fn one_in(&mut self, times: u32) -> bool {
        self.random.random_range(0..times) == 0
    }

    /// So many changes, with something else in the midst, and then its end.
    pub(crate) fn run(
        mut self,
        changes: u32,
        amidst: &mut dyn FnMut(u32) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mark_at = self.random.random_range(0..=changes);
        for at in 0..=changes {
            amidst(at)?;
            if at == mark_at
                && let Err(stop) = self.leave_mark()
            {
                refused(stop, self.journal)?;
                return self.roll_back();
            }
            if at == changes {
                break;
            }
            match self.step().map_err(|stop| refused(stop, self.journal)) {
                Ok(()) | Err(Ok(Refused::Statement)) => {}
                Err(Ok(Refused::Transaction)) => return self.roll_back(),
                Err(Err(stop)) => return Err(stop),
            }
        }
        if self.one_in(5) { self.roll_back() } else { self.commit() }
    }

    /// So many changes, and it stays open for ever.
    pub(crate) fn leave(mut self, changes: u32) -> Result<(), Stop> {
        for _ in 0..changes {
            match self.step().map_err(|stop| refused(stop, self.journal)) {
                Ok(()) | Err(Ok(_)) => {}
                Err(Err(stop)) => return Err(stop),
            }
        }
        std::mem::forget(self.tx);
        Ok(())
    }

    fn roll_back(self) -> Result<(), Stop> {
        self.journal.outcome(self.number, Outcome::RolledBack);
        self.tx.rollback()
    }

    fn commit(self) -> Result<(), Stop> {
        let mode = match self.load.commit_modes {
            true => CommitMode::ALL[self.random.random_range(0..CommitMode::ALL.len())],
            false => CommitMode::DURABLE,
        };
        let waits = mode.wait == CommitWait::Wait;
        if !waits {
            self.journal.waits_not(self.number);
        }
        self.journal.outcome(self.number, Outcome::CommitCalled);
        self.tx.commit_with(mode)?;
        let outcome = if waits { Outcome::Acknowledged } else { Outcome::Unawaited };
        self.journal.outcome(self.number, outcome);
        if self.is_serializable {
            self.journal.note(SERIALIZABLE);
        }
        Ok(())
    }

    /// By its mark the oracle knows that the transaction is there.
    fn leave_mark(&mut self) -> Result<(), Stop> {
        let mut ticket = None;
        if self.one_in(2) {
            let value = self.tx.next_value(Numbers::Ticket.name())?;
            self.journal.given(Numbers::Ticket, value);
            ticket = Some(value);
        }
        let value = ticket.map_or(Value::Null, Value::Int);
        self.tx.insert(self.mark, &[Value::Int(self.number as i64), value])?;
        if let Some(ticket) = ticket {
            self.journal.uses(self.number, Numbers::Ticket, ticket);
        }
        // What comes before isn't gone back to: the mark would go.
        self.savepoint = None;
        Ok(())
    }

    /// Perhaps a savepoint, or back to it; perhaps a read; and then a change.
    fn step(&mut self) -> Result<(), Stop> {
        if self.one_in(6) {
            self.savepoint = Some((self.tx.savepoint(), self.journal.changes(self.number)));
        } else if self.savepoint.is_some() && self.one_in(4) {
            self.go_back()?;
        }
        if self.one_in(3) {
            self.look()?;
        }
        let table = self.some_table();
        match self.random.random_range(0..20) {
            // Where rows are loaded, half of all inserts are loads.
            3..=5 if self.load.loads() => self.insert_many(table),
            0..=5 => self.insert(table),
            6 => self.insert_many(table),
            7..=10 => self.update_one(table),
            11 => self.change_key(table),
            12 | 13 => self.update_several(table),
            14..=17 => self.delete_one(table),
            18 => self.delete_several(table),
            _ => self.lock(table),
        }
    }

    fn go_back(&mut self) -> Result<(), Stop> {
        let (savepoint, changes) = self.savepoint.take().expect("there is one");
        self.journal.take_back(self.number, changes);
        self.journal.note(WENT_BACK);
        self.last = None;
        self.tx.rollback_to(savepoint)
    }

    /// One of the load's; only the first session has to do with the one that it truncates.
    fn some_table(&mut self) -> usize {
        let count = self.load.tables;
        let table = self.random.random_range(0..count);
        if table == SCRATCH && self.session != 0 { tables::ITEM } else { table }
    }

    /// A key of a row that is there, or of any.
    fn some_key(&mut self, table: usize) -> i64 {
        let (random, journal) = (&mut *self.random, self.journal);
        if random.random_range(0..6) > 0
            && let Some(id) = journal.some_row(table, |count| random.random_range(0..count))
        {
            return id;
        }
        random.random_range(1..=KEYS)
    }

    fn some_parent(&mut self, table: usize) -> Option<i64> {
        let (parent, _) = TABLES[table].refers?;
        let wants = self.random.random_range(0..3) > 0;
        wants.then(|| self.some_key(parent))
    }

    /// What a row is to be that is written now.
    fn some_content(&mut self, table: usize) -> Content {
        // Some break the CHECK, which says that versions are positive.
        let version = if self.one_in(25) { -1 } else { self.journal.version() };
        Content { version, writer: self.number, parent: self.some_parent(table) }
    }

    fn inserted(&mut self, row: RowId, content: Content) {
        if self.journal.had(row) {
            self.journal.note(REINSERTED);
        }
        self.journal.changed(self.number, row, content);
        self.last = Some(row);
    }

    fn insert(&mut self, table: usize) -> Result<(), Stop> {
        let content = self.some_content(table);
        let id = self.random.random_range(1..=KEYS);
        let derived = Derived::of(table, content);
        let values = derived.values(id, content);
        let named = COLUMNS.iter().copied().zip(values);
        let named: Vec<_> = match TABLES[table].is_identity {
            true => named.skip(1).collect(),
            false => named.collect(),
        };
        let row = self.tx.insert_named(&self.tables[table], &named)?;
        let id = row.identity.unwrap_or(id);
        if row.identity.is_some() {
            self.journal.given(Numbers::Identity, id);
            self.journal.uses(self.number, Numbers::Identity, id);
        }
        self.inserted((table, id), content);
        Ok(())
    }

    /// Several by one statement, where nobody adds columns.
    fn insert_many(&mut self, table: usize) -> Result<(), Stop> {
        if self.load.defines || TABLES[table].is_identity {
            return self.insert(table);
        }
        let first = self.random.random_range(1..=KEYS);
        let count = self.random.random_range(2..=4);
        let contents: Vec<_> =
            (first..first + count).map(|id| (id, self.some_content(table))).collect();
        let derived: Vec<_> =
            contents.iter().map(|(_, content)| Derived::of(table, *content)).collect();
        let values = contents.iter().zip(&derived);
        let values: Vec<_> = values.map(|((id, content), is)| is.values(*id, *content)).collect();
        let (tx, into) = (&mut self.tx, &self.tables[table]);
        if self.load.loads() {
            tx.load(into, |load| values.iter().try_for_each(|row| load.push(row)))?;
            self.journal.note(LOADED);
        } else {
            tx.insert_many(into, values.iter().map(|row| &row[..]))?;
            self.journal.note(MANY);
        }
        contents.into_iter().for_each(|(id, content)| self.inserted((table, id), content));
        Ok(())
    }

    fn update_one(&mut self, table: usize) -> Result<(), Stop> {
        // Often the row that was changed just before, a second time.
        let again = self.last.filter(|_| self.random.random_range(0..4) == 0);
        let (table, id) = again.unwrap_or_else(|| (table, self.some_key(table)));
        let key = [Value::Int(id)];
        let primary = self.tables[table].primary().expect("it has a primary key");
        self.update(table, Selection::Key(primary, &key), false)
    }

    /// Another primary key for a row, where keys aren't given by an identity column.
    fn change_key(&mut self, table: usize) -> Result<(), Stop> {
        if TABLES[table].is_identity {
            return self.update_one(table);
        }
        let (id, new) = (self.some_key(table), self.random.random_range(1..=KEYS));
        let (number, version) = (self.number, self.journal.version());
        let (mut seen, mut torn) = (None, None);
        let change = |row: &Row<'_>, change: &mut RowChange<'_>| {
            match read(table, row) {
                Ok((_, before)) => {
                    let after = Content { version, writer: number, parent: before.parent };
                    let derived = Derived::of(table, after);
                    for (column, value) in derived.values(new, after).into_iter().enumerate() {
                        change.set(column, value)?;
                    }
                    seen = Some((before, after));
                }
                Err(what) => torn = Some(what),
            }
            Ok(())
        };
        let key = [Value::Int(id)];
        let primary = self.tables[table].primary().expect("it has a primary key");
        let selection = Selection::Key(primary, &key);
        let count = self.tx.update_where(&self.tables[table], selection, None, change)?;
        assert_eq!(torn, None, "table {}", TABLES[table].name);
        if let (1, Some((before, after))) = (count, seen) {
            self.told((table, id), before);
            if new != id {
                self.journal.moved(number, (table, id));
                self.journal.note(KEY_CHANGED);
            }
            self.inserted((table, new), after);
        }
        Ok(())
    }

    fn update_several(&mut self, table: usize) -> Result<(), Stop> {
        let keeps_keys = self.one_in(2);
        if self.one_in(3) {
            return self.update(table, Selection::All, keeps_keys);
        }
        let code = code_of(self.random.random_range(0..7));
        let key = [Value::Text(&code)];
        let index = self.tables[table].index(&by_code(table))?;
        self.update(table, Selection::Range(index, Bounds::equal(&key)), keeps_keys)
    }

    /// With keys of their own, all rows of a statement would have the same; so where there may be
    /// several they keep their unique key, or the statement is refused.
    fn update(
        &mut self,
        table: usize,
        selection: Selection<'_>,
        keeps_keys: bool,
    ) -> Result<(), Stop> {
        let (number, version) = (self.number, self.journal.version());
        let parent = self.some_parent(table);
        let keeps_parent = keeps_keys || self.one_in(2);
        let (mut seen, mut torn) = (BTreeMap::new(), None);
        let change = |row: &Row<'_>, change: &mut RowChange<'_>| {
            let (id, before) = match read(table, row) {
                Ok(read) => read,
                Err(what) => {
                    torn = Some(what);
                    return Ok(());
                }
            };
            let version = if keeps_keys { before.version + SAME_KEYS } else { version };
            let parent = if keeps_parent { before.parent } else { parent };
            let after = Content { version, writer: number, parent };
            let derived = Derived::of(table, after);
            for (column, value) in derived.values(id, after).into_iter().enumerate() {
                let is_set = match keeps_keys {
                    true => matches!(column, VERSION | WRITER | NOTES),
                    false => column != ID,
                };
                if is_set {
                    change.set(column, value)?;
                }
            }
            seen.insert(id, (before, after));
            Ok(())
        };
        let count = self.tx.update_where(&self.tables[table], selection, None, change)?;
        assert_eq!(torn, None, "table {}", TABLES[table].name);
        if seen.len() as u64 != count {
            // It began again, and some rows weren't among those any more.
            let mut changed = BTreeMap::new();
            for (id, both) in seen {
                if self.row(table, id)? == Some(both.1) {
                    changed.insert(id, both);
                }
            }
            seen = changed;
        }
        assert_eq!(seen.len() as u64, count, "rows of {} that were changed", TABLES[table].name);
        if count > 1 {
            self.journal.note(MANY);
        }
        for (id, (before, after)) in seen {
            self.told((table, id), before);
            self.journal.changed(number, (table, id), after);
            self.last = Some((table, id));
        }
        Ok(())
    }

    fn delete_one(&mut self, table: usize) -> Result<(), Stop> {
        let id = self.some_key(table);
        if self.tx.delete(&self.tables[table], &[Value::Int(id)])? {
            self.deleted(table, id);
        }
        Ok(())
    }

    fn delete_several(&mut self, table: usize) -> Result<(), Stop> {
        let code = code_of(self.random.random_range(0..7));
        let key = [Value::Text(&code)];
        let index = self.tables[table].index(&by_code(table))?;
        let mut seen = BTreeMap::new();
        let mut filter = |row: &Row<'_>| {
            _ = seen.insert(row.get_i64(ID), ());
            true
        };
        let selection = Selection::Range(index, Bounds::equal(&key));
        let count = self.tx.delete_where(&self.tables[table], selection, Some(&mut filter))?;
        let mut deleted: Vec<i64> = seen.into_keys().flatten().collect();
        if deleted.len() as u64 != count {
            let mut gone = Vec::new();
            for id in deleted {
                let was_there = self.journal.is_now((table, id)).is_some();
                if was_there && self.row(table, id)?.is_none() {
                    gone.push(id);
                }
            }
            deleted = gone;
        }
        assert!(deleted.len() as u64 >= count, "rows of {} that were deleted", TABLES[table].name);
        if count > 1 {
            self.journal.note(MANY);
        }
        deleted.into_iter().for_each(|id| self.deleted(table, id));
        Ok(())
    }

    fn deleted(&mut self, table: usize, id: i64) {
        self.journal.deleted(self.number, (table, id));
        self.last = None;
    }

    fn lock(&mut self, table: usize) -> Result<(), Stop> {
        let how = [ForUpdate::wait(), ForUpdate::nowait(), ForUpdate::skip_locked().limit(2)];
        let how = how[self.random.random_range(0..how.len())];
        let (mut seen, mut torn) = (Vec::new(), None);
        let look = |row: Row<'_>| match read(table, &row) {
            Ok(row) => seen.push(row),
            Err(what) => torn = Some(what),
        };
        self.tx.lock_where(&self.tables[table], Selection::All, None, how, look)?;
        assert_eq!(torn, None, "table {}", TABLES[table].name);
        self.journal.note(LOCKED);
        seen.into_iter().for_each(|(id, content)| self.told((table, id), content));
        Ok(())
    }

    /// A row as the transaction sees it.
    fn row(&mut self, table: usize, id: i64) -> Result<Option<Content>, Stop> {
        let key = [Value::Int(id)];
        let found = self.tx.get(&self.tables[table], &key, |row| read(table, &row))?;
        Ok(found.map(|read| read.unwrap_or_else(|torn| panic!("{torn}")).1))
    }

    fn look(&mut self) -> Result<(), Stop> {
        let table = self.some_table();
        let id = self.some_key(table);
        if let Some(content) = self.row(table, id)? {
            self.told((table, id), content);
        }
        Ok(())
    }

    fn told(&self, row: RowId, content: Content) {
        let Content { version, writer, .. } = content;
        self.journal.told(Told { reader: Some(self.number), row, version, writer });
    }
}
