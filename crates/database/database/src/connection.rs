//! A connection: one session of the database, on the thread that made it.
//!
//! Callers: applications; loads.

use std::ops::{ControlFlow, Deref};
use std::sync::Arc;
use std::time::Duration;

use access::Direction;
use instance::{Connected, LockWaits};
use os::{CancelHandle, Session};
use relation::{Bounds, IndexId, Relation, Scratch};
use stop::Stop;
use txn::{LockWait, Transaction, View};
use value::{RowView, Value};
use waits::{Nanos, Totals};

use crate::database::Shared;
use crate::sql::OfSql;
use crate::table::{Relations, Table, no_primary_key};
use crate::under_way::UnderWay;
use crate::work::{OpenTransaction, Tx, is_worth_repeating};

/// How often [`Connection::transact`] tries a transaction that conflicts with others.
const TRIES: u32 = 10;

/// One session of the database. It stays on the thread that made it (DB1).
pub struct Connection<'s> {
    /// Dropped before `shared`, to which they belong.
    pub(crate) relations: Relations,
    pub(crate) shared: Arc<Shared>,
    /// By this reference the database counts its connections.
    _counted: Arc<()>,
    /// By this reference the instance lists its connected sessions.
    _connected: Arc<Connected>,
    pub(crate) session: Held<'s>,
    pub(crate) scratch: Scratch,
    /// The lock wait of DDL.
    pub(crate) ddl_lock_wait: LockWait,
    /// The open transactions. The last one is the `Tx`'s; the connection owns it, so that it ends
    /// even if the `Tx` is forgotten (DB20). Those before it were dropped within a closure of
    /// another statement, where they couldn't be rolled back (DB11).
    pub(crate) open: Vec<OpenTransaction>,
    /// The lock wait of statements of transactions.
    lock_wait: LockWait,
    /// How long each statement may take.
    pub(crate) statement_timeout: Option<Nanos>,
    /// SQL's own: settings, cursors, the transaction that a text has begun.
    pub(crate) sql: OfSql,
}

/// A session: the connection's own, or the caller's.
pub(crate) enum Held<'s> {
    Own(Box<Session>),
    Of(&'s Session),
}

impl Deref for Held<'_> {
    type Target = Session;

    fn deref(&self) -> &Session {
        match self {
            Held::Own(session) => session,
            Held::Of(session) => session,
        }
    }
}

impl<'s> Connection<'s> {
    pub(crate) fn new(shared: Arc<Shared>, session: Held<'s>) -> Connection<'s> {
        let (_counted, open) = (Arc::clone(&shared.connections), Vec::new());
        let LockWaits { locks: lock_wait, definitions: ddl_lock_wait } =
            shared.instance.lock_waits();
        let (relations, scratch) = (Relations::default(), Scratch::default());
        let sql = OfSql::new(session.number(), lock_wait, ddl_lock_wait);
        let _connected = shared.instance.connect(&session);
        Connection {
            relations,
            shared,
            _counted,
            _connected,
            session,
            scratch,
            ddl_lock_wait,
            open,
            lock_wait,
            statement_timeout: None,
            sql,
        }
    }

    /// Begins a statement: a call of the session.
    #[inline]
    fn begin_statement(&self) -> Result<UnderWay, Stop> {
        UnderWay::begin(self.statement_timeout, &self.session)
    }

    /// Rolls back the open transactions, also those of forgotten `Tx`s (DB20). Within a closure of
    /// a statement this is refused, and they stay open (DB11).
    pub(crate) fn end_open(&mut self) -> Result<(), Stop> {
        if self.open.is_empty() && !self.sql.is_open() {
            return Ok(());
        }
        let _statement = self.begin_statement()?;
        self.end_all()
    }

    /// Begins a statement outside of transactions. Open ones are rolled back first.
    pub(crate) fn begin_alone(&mut self) -> Result<UnderWay, Stop> {
        let statement = self.begin_statement()?;
        self.end_all().map(|()| statement)
    }

    /// Begins a statement of the open transaction, if there is one. Transactions before it, which
    /// were dropped within a closure, are rolled back first (DB11).
    pub(crate) fn begin_within(&mut self) -> Result<UnderWay, Stop> {
        let statement = self.begin_statement()?;
        if self.open.len() > 1 {
            self.end_forgotten()?;
        }
        Ok(statement)
    }

    /// Rolls back all but the last open transaction. The caller has begun a statement.
    #[cold]
    pub(crate) fn end_forgotten(&mut self) -> Result<(), Stop> {
        let last = self.open.pop();
        let ended = self.end_embedded();
        self.open.extend(last);
        ended
    }

    /// Rolls back all open transactions, that of SQL too. The caller has begun a statement.
    fn end_all(&mut self) -> Result<(), Stop> {
        let ended = self.end_sql();
        ended.and(self.end_embedded())
    }

    /// Rolls back the open transactions of `Tx`s. The caller has begun a statement.
    pub(crate) fn end_embedded(&mut self) -> Result<(), Stop> {
        if self.open.is_empty() {
            return Ok(());
        }
        self.before_tx_ends();
        let Connection { shared, session, open, .. } = self;
        let end = |open: OpenTransaction| shared.instance.rollback(open.transaction, session);
        // All are rolled back, and the first error is returned.
        open.drain(..).map(end).fold(Ok(()), Result::and)
    }

    fn begin_as(&mut self, mut transaction: Transaction) -> Tx<'_, 's> {
        transaction.set_lock_wait(self.lock_wait);
        self.open.push(OpenTransaction::of(transaction));
        Tx { connection: self }
    }

    /// The session, with its account of time.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// A handle by which any thread cancels a statement of this connection (DB97). It may outlive
    /// the connection.
    ///
    /// ```
    /// use database::ErrorKind;
    /// # use database::{ColumnSpec, Database, Options, TableSpec, Type, Value};
    /// # fn main() -> Result<(), database::Error> {
    /// # let scratch = std::env::temp_dir().join(format!("forebay-cancel-{}", std::process::id()));
    /// # let database = Database::create(&scratch, &Options::default())?;
    /// # let mut connection = database.connect("app");
    /// # let spec = TableSpec::new("note").column(ColumnSpec::new("n", Type::BigInt));
    /// # let note = connection.create_table(&spec)?;
    /// let handle = connection.cancel_handle();
    /// assert!(!handle.cancel_running(), "no statement runs");
    /// let mut tx = connection.begin();
    /// let loaded = tx.load(&note, |load| {
    ///     // As another thread would do it, such as one that listens to the keyboard.
    ///     handle.cancel_running();
    ///     (0..100_000).try_for_each(|n| load.push(&[Value::Int(n)]))
    /// });
    /// assert_eq!(loaded.expect_err("cancelled").refusal(), Some(ErrorKind::Cancelled));
    /// tx.insert(&note, &[Value::Int(1)])?; // the next statement isn't cancelled
    /// tx.commit()?;
    /// # drop(connection);
    /// # database.shutdown()?;
    /// # std::fs::remove_dir_all(&scratch).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn cancel_handle(&self) -> CancelHandle {
        self.session.cancel_handle()
    }

    /// Sets how long each statement may take from now on; none, as at first, is no limit. One that
    /// takes longer is refused as if it were cancelled (DB98). Commits and rollbacks are ended by
    /// nothing.
    pub fn set_statement_timeout(&mut self, timeout: Option<Duration>) {
        let nanos = |timeout: Duration| u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        self.statement_timeout = timeout.map(|timeout| Nanos(nanos(timeout)));
    }

    /// The statistics and waits of this session since it began: `db block gets`, `consistent gets`,
    /// `CR blocks created` and all others, by Oracle's names. The cost of a statement is the
    /// difference of two readings (DB9).
    ///
    /// ```
    /// use database::Statistic;
    /// # use database::{ColumnSpec, Database, Options, TableSpec, Type, Value};
    /// # fn main() -> Result<(), database::Error> {
    /// # let scratch = std::env::temp_dir().join(format!("forebay-count-{}", std::process::id()));
    /// # let database = Database::create(&scratch, &Options::default())?;
    /// # let mut connection = database.connect("app");
    /// # let spec = TableSpec::new("account")
    /// #     .column(ColumnSpec::new("id", Type::BigInt))
    /// #     .column(ColumnSpec::new("balance", Type::BigInt))
    /// #     .primary_key(["id"]);
    /// # let account = connection.create_table(&spec)?;
    /// # let mut tx = connection.begin();
    /// # tx.insert(&account, &[Value::Int(1), Value::Int(100)])?;
    /// # tx.commit()?;
    /// let before = connection.statistics();
    /// connection.get(&account, &[Value::Int(1)], |row| row.get_i64(1))?;
    /// let cost = connection.statistics().since(&before);
    /// // A leaf of the index, which is still its root, and the row's block; no undo was needed.
    /// assert_eq!(cost.statistic(Statistic::ConsistentGets), 2);
    /// assert_eq!(cost.statistic(Statistic::CurrentGets), 0);
    /// assert_eq!(cost.statistic(Statistic::CrBlocksCreated), 0);
    /// # drop(connection);
    /// # database.shutdown()?;
    /// # std::fs::remove_dir_all(&scratch).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn statistics(&self) -> Totals {
        self.session.account().totals()
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Result<Table, Stop> {
        let _statement = self.begin_statement()?;
        self.shared.halt.check(&self.session)?;
        let found = self.shared.catalog.relation(name, &self.session)?;
        Ok(Table::new(&found, &self.shared))
    }

    /// The next value of a sequence, which no other call gets.
    ///
    /// ```
    /// # use database::{Database, Options, SequenceOptions};
    /// # fn main() -> Result<(), database::Error> {
    /// # let scratch = std::env::temp_dir().join(format!("forebay-next-{}", std::process::id()));
    /// # let database = Database::create(&scratch, &Options::default())?;
    /// # let mut connection = database.connect("app");
    /// let by_tens = SequenceOptions { increment: Some(10), ..SequenceOptions::default() };
    /// connection.create_sequence("ticket", &by_tens)?;
    /// assert_eq!(connection.next_value("ticket")?, 1);
    /// assert_eq!(connection.next_value("ticket")?, 11);
    /// # drop(connection);
    /// # database.shutdown()?;
    /// # std::fs::remove_dir_all(&scratch).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn next_value(&mut self, sequence: &str) -> Result<i64, Stop> {
        self.end_open()?;
        self.next_value_within(sequence)
    }

    pub(crate) fn next_value_within(&mut self, sequence: &str) -> Result<i64, Stop> {
        let _statement = self.begin_within()?;
        let (catalog, session) = (&self.shared.catalog, &*self.session);
        self.shared.halt.check(session)?;
        let sequence = catalog.sequence(sequence, session)?;
        catalog.next_value(&sequence, session)
    }

    /// Sets the lock wait of the transactions that begin from now on: the bound for each lock that
    /// a statement waits for (DB13). At first it is `lock_timeout`, as it was when the connection
    /// was made.
    ///
    /// With a bound, two connections of one thread can't wait for each other for ever.
    pub fn set_lock_wait(&mut self, lock_wait: LockWait) {
        self.lock_wait = lock_wait;
    }

    /// Begins a transaction at read committed: each statement sees what was committed when the
    /// statement began (DB28).
    pub fn begin(&mut self) -> Tx<'_, 's> {
        // A rollback that fails halts the instance, which the next call returns.
        let _ = self.end_open();
        self.begin_as(Transaction::new())
    }

    /// Begins a transaction at snapshot isolation: it sees what is committed now, and a change of a
    /// row that others have changed since is refused (DB29).
    pub fn begin_serializable(&mut self) -> Result<Tx<'_, 's>, Stop> {
        let _statement = self.begin_alone()?;
        self.shared.halt.check(&self.session)?;
        let transactions = self.shared.instance.transactions();
        let transaction = transactions.begin_serializable(&self.session)?;
        Ok(self.begin_as(transaction))
    }

    /// Does `work` in a transaction, which is committed if `work` succeeds, and else rolled back.
    /// An error after which a repetition may succeed ([`is_worth_repeating`]) repeats it, up to ten
    /// times (DB31).
    pub fn transact<T>(
        &mut self,
        mut work: impl FnMut(&mut Tx<'_, 's>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let mut tries = 1;
        loop {
            let mut tx = self.begin();
            match work(&mut tx) {
                Ok(done) => return tx.commit().map(|()| done),
                Err(stop) if is_worth_repeating(&stop) && tries < TRIES => tx.rollback()?,
                Err(stop) => return tx.rollback().and(Err(stop)),
            }
            tries += 1;
        }
    }

    /// Looks at the row with this primary key as it is now, outside of transactions.
    pub fn get<T>(
        &mut self,
        table: &Table,
        key: &[Value<'_>],
        look: impl FnMut(RowView<'_>) -> T,
    ) -> Result<Option<T>, Stop> {
        self.end_open()?;
        self.get_as(table, None, key, look)
    }

    /// Looks at rows in a range of an index, outside of transactions.
    pub fn range(
        &mut self,
        table: &Table,
        index: IndexId,
        bounds: &Bounds<'_>,
        direction: Direction,
        look: impl FnMut(RowView<'_>) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.end_open()?;
        self.range_as(table, index, bounds, direction, look)
    }

    /// Visits every row as it is now, outside of transactions.
    pub fn scan(&mut self, table: &Table, visit: impl FnMut(RowView<'_>)) -> Result<(), Stop> {
        self.end_open()?;
        self.scan_as(table, visit)
    }

    pub(crate) fn get_as<T>(
        &mut self,
        table: &Table,
        index: Option<IndexId>,
        key: &[Value<'_>],
        mut look: impl FnMut(RowView<'_>) -> T,
    ) -> Result<Option<T>, Stop> {
        let index = index.or_else(|| table.primary());
        let index = index.ok_or_else(|| no_primary_key(table.name(), "find"))?;
        self.read(table, |relation, view, scratch, session| {
            let index = relation.place_of(index)?;
            relation.get(index, key, view, &mut |_, row| look(row), scratch, session)
        })
    }

    pub(crate) fn range_as(
        &mut self,
        table: &Table,
        index: IndexId,
        bounds: &Bounds<'_>,
        direction: Direction,
        mut look: impl FnMut(RowView<'_>) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.read(table, |relation, view, _, session| {
            let index = relation.place_of(index)?;
            let mut rows = relation.range(index, bounds, direction, view)?;
            while let Some(going) = rows.next(&mut |_, row| look(row), session)? {
                if going.is_break() {
                    break;
                }
            }
            Ok(())
        })
    }

    pub(crate) fn scan_as(
        &mut self,
        table: &Table,
        mut visit: impl FnMut(RowView<'_>),
    ) -> Result<(), Stop> {
        self.read(table, |relation, view, _, session| {
            relation.scan(view, |_, row| visit(row), session)
        })
    }

    /// Does a statement that only reads, in the open transaction if there is one, as of a snapshot
    /// that is kept until the statement has ended. The relation is checked after the snapshot was
    /// taken: DDL makes it stale before it commits, so the snapshot sees nothing of later DDL
    /// (DB10).
    fn read<T>(
        &mut self,
        table: &Table,
        statement: impl FnOnce(&Relation, View, &mut Scratch, &Session) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let _statement = self.begin_within()?;
        let Connection { shared, session, relations, scratch, open, .. } = self;
        let session: &Session = session;
        let transaction = open.last().map(|open| &open.transaction);
        let transactions = shared.instance.transactions();
        loop {
            let relation = table.current(shared, relations, session)?;
            let snapshot = transactions.snapshot(transaction, session)?;
            if relation.is_stale(session) {
                continue;
            }
            let view = transactions.view_of(&snapshot, transaction);
            return statement(relation, view, scratch, session);
        }
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        // A rollback that fails halts the instance, which the next call returns.
        let _ = self.end_open();
        self.close_cursors();
        let is_left = self.open.iter().any(|open| open.transaction.id().is_some());
        assert!(
            !is_left || std::thread::panicking(),
            "a connection with an open transaction isn't dropped within a closure of a statement, \
             for its transaction can't be rolled back there (rule DB11)"
        );
    }
}
