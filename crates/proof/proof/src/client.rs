//! A session's transactions: statements on typed tables, and what it was told of them.
//!
//! A statement's rows are noted when it has returned: its transaction has them locked from then on,
//! so that the journal has the changes of a row in their order. What is refused leaves nothing.
//!
//! What is done is decided here; [`Hands`] do it, by the API or by SQL text.
//!
//! Callers: `load`.

use database::{CommitMode, Connection, ErrorKind, Table};
use instance::CommitWait;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use stop::Stop;

use crate::hands::{ByApi, BySql, Change, Hands, Parent, Set, ShownRow, Taking, Which};
use crate::journal::{Content, Journal, Numbers, Outcome, RowId, Told};
use crate::tables::{MARK, SCRATCH, TABLES, code_of};
use crate::{By, Load, tables};

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
pub(crate) const SPOKEN: &str = "a transaction committed by SQL text";

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
pub(crate) struct Doing<'a> {
    load: &'a Load,
    /// Which session it is.
    session: u32,
    number: usize,
    random: &'a mut Xoshiro256PlusPlus,
    journal: &'a Journal,
    hands: Box<dyn Hands + 'a>,
    is_serializable: bool,
    /// How many changes there were at the savepoint, if there is one.
    savepoint: Option<usize>,
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

impl<'a> Doing<'a> {
    pub(crate) fn begin<'s: 'a>(
        who: Who<'a>,
        tables: &'a [Table],
        mark: &'a Table,
        connection: &'a mut Connection<'s>,
    ) -> Result<Doing<'a>, Stop> {
        let Who { load, session, journal, random } = who;
        let is_serializable = load.serializable && random.random_range(0..3) == 0;
        let hands: Box<dyn Hands + 'a> = match load.by {
            By::Api => Box::new(ByApi::begin(is_serializable, tables, mark, journal, connection)?),
            By::Sql => Box::new(BySql::begin(is_serializable, connection)?),
        };
        let number = journal.begin();
        let (savepoint, last) = (None, None);
        Ok(Doing {
            load,
            session,
            number,
            random,
            journal,
            hands,
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
        self.hands.leave();
        Ok(())
    }

    fn roll_back(self) -> Result<(), Stop> {
        self.journal.outcome(self.number, Outcome::RolledBack);
        self.hands.roll_back()
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
        self.hands.commit(mode)?;
        let outcome = if waits { Outcome::Acknowledged } else { Outcome::Unawaited };
        self.journal.outcome(self.number, outcome);
        if self.is_serializable {
            self.journal.note(SERIALIZABLE);
        }
        if self.load.by == By::Sql {
            self.journal.note(SPOKEN);
        }
        Ok(())
    }

    /// By its mark the oracle knows that the transaction is there.
    fn leave_mark(&mut self) -> Result<(), Stop> {
        let mut ticket = None;
        if self.one_in(2) {
            let value = self.hands.next_ticket()?;
            self.journal.given(Numbers::Ticket, value);
            ticket = Some(value);
        }
        self.hands.mark(self.number, ticket)?;
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
            self.hands.savepoint()?;
            self.savepoint = Some(self.journal.changes(self.number));
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
        let changes = self.savepoint.take().expect("there is one");
        self.journal.take_back(self.number, changes);
        self.journal.note(WENT_BACK);
        self.last = None;
        self.hands.go_back()
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
        let is_given = !TABLES[table].is_identity;
        let id = self.hands.insert(table, is_given.then_some(id), content)?;
        if !is_given {
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
        let row = |id| ShownRow { id, content: self.some_content(table) };
        let rows: Vec<ShownRow> = (first..first + count).map(row).collect();
        let loads = self.load.loads();
        self.hands.insert_many(table, &rows, loads)?;
        self.journal.note(if loads { LOADED } else { MANY });
        rows.iter().for_each(|row| self.inserted((table, row.id), row.content));
        Ok(())
    }

    fn update_one(&mut self, table: usize) -> Result<(), Stop> {
        // Often the row that was changed just before, a second time.
        let again = self.last.filter(|_| self.random.random_range(0..4) == 0);
        let (table, id) = again.unwrap_or_else(|| (table, self.some_key(table)));
        self.update(table, Which::Key(id), false)
    }

    /// Another primary key for a row, where keys aren't given by an identity column.
    fn change_key(&mut self, table: usize) -> Result<(), Stop> {
        if TABLES[table].is_identity {
            return self.update_one(table);
        }
        let (id, to) = (self.some_key(table), self.random.random_range(1..=KEYS));
        let set = Set::Moved { to, version: self.journal.version() };
        for Change { id, before, after } in
            self.hands.update(table, Which::Key(id), set, self.number)?
        {
            self.told((table, id), before);
            if to != id {
                self.journal.moved(self.number, (table, id));
                self.journal.note(KEY_CHANGED);
            }
            self.inserted((table, to), after);
        }
        Ok(())
    }

    fn update_several(&mut self, table: usize) -> Result<(), Stop> {
        let keeps_keys = self.one_in(2);
        if self.one_in(3) {
            return self.update(table, Which::All, keeps_keys);
        }
        let code = code_of(self.random.random_range(0..7));
        self.update(table, Which::Code(&code), keeps_keys)
    }

    /// With keys of their own, all rows of a statement would have the same; so where there may be
    /// several they keep their unique key, or the statement is refused.
    fn update(&mut self, table: usize, which: Which<'_>, keeps_keys: bool) -> Result<(), Stop> {
        let version = self.journal.version();
        let parent = self.some_parent(table);
        let keeps_parent = keeps_keys || self.one_in(2);
        let set = match keeps_keys {
            true => Set::SameKeys,
            false if keeps_parent => Set::Version { version, parent: Parent::Kept },
            false => Set::Version { version, parent: Parent::Is(parent) },
        };
        let changed = self.hands.update(table, which, set, self.number)?;
        if changed.len() > 1 {
            self.journal.note(MANY);
        }
        for Change { id, before, after } in changed {
            self.told((table, id), before);
            self.journal.changed(self.number, (table, id), after);
            self.last = Some((table, id));
        }
        Ok(())
    }

    fn delete_one(&mut self, table: usize) -> Result<(), Stop> {
        let id = self.some_key(table);
        self.delete(table, Which::Key(id))
    }

    fn delete_several(&mut self, table: usize) -> Result<(), Stop> {
        let code = code_of(self.random.random_range(0..7));
        self.delete(table, Which::Code(&code))
    }

    fn delete(&mut self, table: usize, which: Which<'_>) -> Result<(), Stop> {
        let deleted = self.hands.delete(table, which)?;
        if deleted.len() > 1 {
            self.journal.note(MANY);
        }
        for id in deleted {
            self.journal.deleted(self.number, (table, id));
            self.last = None;
        }
        Ok(())
    }

    fn lock(&mut self, table: usize) -> Result<(), Stop> {
        let ways = [Taking::Waiting, Taking::NoWait, Taking::Free(2)];
        let taking = ways[self.random.random_range(0..ways.len())];
        let shown = self.hands.lock(table, taking)?;
        self.journal.note(LOCKED);
        shown.into_iter().for_each(|row| self.told((table, row.id), Some(row.content)));
        Ok(())
    }

    fn look(&mut self) -> Result<(), Stop> {
        let table = self.some_table();
        let id = self.some_key(table);
        let content = self.hands.get(table, id)?;
        self.told((table, id), content);
        Ok(())
    }

    /// What the session was told of a row, if it was told something.
    fn told(&self, row: RowId, content: Option<Content>) {
        let Some(Content { version, writer, .. }) = content else { return };
        self.journal.told(Told { reader: Some(self.number), row, version, writer });
    }
}
