//! SQL: statements as texts, with parameters; rows of queries.
//!
//! ```text
//!   execute(text, values) ─────────▶ Done: a word, a number of rows
//!   query(text, values) ───────────▶ Cursor: row by row, or an iterator
//!   open(text, values) ── fetch ───▶ Batch, of one of several cursors
//!   prepare(text) ─ execute_prepared, query_prepared
//! ```
//!
//! A transaction begins by BEGIN and ends by COMMIT or ROLLBACK, as statements; without BEGIN each
//! statement is one by itself. Statements of a [`Tx`] belong to that one, and can't end it.
//!
//! Invariants
//!   * each call is a statement of the session: it is cancelled and timed as any other (DB97, DB98)
//!   * a transaction that a text has begun is rolled back by `begin` and by every call that stands
//!     outside of transactions, as a forgotten `Tx` is (DB111)
//!
//! Callers: applications; the shell.

mod answer;
mod copy;
mod cursor;
mod from_value;
mod words;

use std::sync::atomic::{AtomicU64, Ordering};

use catalog::Alteration;
use expression::Rows;
use os::SessionNo;
use sql::{ClientEnd, Columns, CursorNo, Frame, Outcome, State, StateOptions};
use stop::{Refusal, RefusalKind, SqlState, Stop};
use txn::{LockWait, Transaction};
use value::{OwnedValue, Value};

pub use answer::Answer;
pub use cursor::{Batch, Cursor, CursorRow, OpenCursor};
pub use from_value::{ColumnIndex, FromValue};
pub use sql::{CopySink, CopySource, Prepared};

use crate::connection::Connection;
use crate::under_way::UnderWay;
use crate::work::{OPEN, Tx};
use cursor::FIRST_ROWS;
use words::check_ends_nothing;

/// The word for a statement that only reads, or locks, rows.
const QUERY: &str = "SELECT";

/// The stack that a statement has at least, whatever the thread was started with.
const STACK: usize = 512 << 10;

/// The most bytes of a batch that is kept for the next query.
const SPARE_BYTES_MAX: usize = 64 << 10;

/// The number of connections made in this process, by which a cursor knows its own.
static CONNECTIONS: AtomicU64 = AtomicU64::new(0);

/// SQL's own of a connection.
pub(crate) struct OfSql {
    state: State,
    /// The connection's number, which no other one of this process has.
    number: u64,
    /// The transaction that a statement has begun.
    transaction: Option<Transaction>,
    /// A batch that isn't in use.
    spare: Option<Rows>,
}

impl OfSql {
    /// Of a connection that has just begun, whose session has this number: `v$session.sid` is what
    /// `pg_backend_pid()` says (DB115).
    pub(crate) fn new(session: SessionNo, lock_wait: LockWait, ddl_lock_wait: LockWait) -> OfSql {
        let (user, number) = (views::names::USER.to_string(), i64::from(session.sid));
        let mut state = State::new(StateOptions { user, number, lock_wait, ddl_lock_wait });
        // A later session of the same number has dice of its own.
        let seed = u64::from(session.serial) << 32 | u64::from(session.sid);
        state.set_dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let number = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
        OfSql { state, number, transaction: None, spare: None }
    }

    /// Whether a statement has begun a transaction that hasn't ended.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.transaction.is_some()
    }

    /// Whether cursors are open.
    #[inline]
    pub(crate) fn has_cursors(&self) -> bool {
        self.state.open_cursors() > 0
    }
}

/// The transaction that a statement belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Within {
    /// The one that a text has begun, or else one of its own.
    Connection,
    /// That of the open `Tx`.
    Tx,
}

/// What a statement has done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Done {
    tag: &'static str,
    rows: u64,
    notice: Option<&'static str>,
}

impl Done {
    /// The word for it, such as `INSERT` or `CREATE TABLE`.
    pub fn tag(&self) -> &'static str {
        self.tag
    }

    /// How many rows it has inserted, updated, deleted, locked or found.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// What a user should know, though it was done.
    pub fn notice(&self) -> Option<&'static str> {
        self.notice
    }
}

/// A statement that is to run: by its text, or prepared.
enum Which<'w> {
    Text(&'w str),
    Prepared(&'w Prepared),
}

impl<'s> Connection<'s> {
    /// Runs a statement with these values for its parameters `$1`, `$2`, or `?`. Rows that it gives
    /// are counted, and not shown.
    ///
    /// ```
    /// # use database::{Database, Options, Value};
    /// # fn main() -> Result<(), database::Error> {
    /// # let scratch = std::env::temp_dir().join(format!("forebay-exec-{}", std::process::id()));
    /// # let database = Database::create(&scratch, &Options::default())?;
    /// # let mut connection = database.connect("app");
    /// connection.execute("create table account (id bigint primary key, balance bigint)", &[])?;
    /// connection.execute("begin", &[])?;
    /// let two = [Value::Int(1), Value::Int(2)];
    /// let done = connection.execute("insert into account values ($1, 100), ($2, 0)", &two)?;
    /// assert_eq!((done.tag(), done.rows()), ("INSERT", 2));
    /// connection.execute("update account set balance = balance - 5 where id = $1", &two[..1])?;
    /// connection.execute("commit", &[])?;
    /// # drop(connection);
    /// # database.shutdown()?;
    /// # std::fs::remove_dir_all(&scratch).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn execute(&mut self, text: &str, values: &[Value<'_>]) -> Result<Done, Stop> {
        self.done(Within::Connection, &Which::Text(text), &owned(values))
    }

    /// As [`Connection::execute`], with values by the names of parameters such as `:id`. Each is
    /// given once; case and the colon make no difference.
    pub fn execute_named(
        &mut self,
        text: &str,
        values: &[(&str, Value<'_>)],
    ) -> Result<Done, Stop> {
        let (prepared, values) = self.by_name(Within::Connection, text, values)?;
        self.done(Within::Connection, &Which::Prepared(&prepared), &values)
    }

    /// Runs a query with these values for its parameters. Its rows are read from what this returns.
    pub fn query(&mut self, text: &str, values: &[Value<'_>]) -> Result<Cursor<'_, 's>, Stop> {
        self.cursor(Within::Connection, &Which::Text(text), &owned(values))
    }

    /// As [`Connection::query`], with values by the names of parameters.
    pub fn query_named(
        &mut self,
        text: &str,
        values: &[(&str, Value<'_>)],
    ) -> Result<Cursor<'_, 's>, Stop> {
        let (prepared, values) = self.by_name(Within::Connection, text, values)?;
        self.cursor(Within::Connection, &Which::Prepared(&prepared), &values)
    }

    /// Keeps a statement to be run again and again.
    pub fn prepare(&mut self, text: &str) -> Result<Prepared, Stop> {
        self.with_frame(Within::Connection, |frame| frame.prepare(text))
    }

    /// Runs a statement that is kept.
    pub fn execute_prepared(
        &mut self,
        prepared: &Prepared,
        values: &[Value<'_>],
    ) -> Result<Done, Stop> {
        self.done(Within::Connection, &Which::Prepared(prepared), &owned(values))
    }

    /// Runs a query that is kept.
    pub fn query_prepared(
        &mut self,
        prepared: &Prepared,
        values: &[Value<'_>],
    ) -> Result<Cursor<'_, 's>, Stop> {
        self.cursor(Within::Connection, &Which::Prepared(prepared), &owned(values))
    }

    /// Runs a query whose rows are read by [`Connection::fetch`], while the connection does other
    /// things. The end of its transaction closes it; outside of one it stays until its last row.
    pub fn open(&mut self, text: &str, values: &[Value<'_>]) -> Result<OpenCursor, Stop> {
        self.opened(Within::Connection, &Which::Text(text), &owned(values))
    }

    /// Puts the next rows of a cursor into `into`: at most `most`. Returns false if none come after
    /// these; then it is closed. A cursor of another connection is refused.
    pub fn fetch(
        &mut self,
        cursor: &OpenCursor,
        most: usize,
        into: &mut Batch,
    ) -> Result<bool, Stop> {
        self.fetch_within(Within::Connection, cursor, most, into)
    }

    fn fetch_within(
        &mut self,
        within: Within,
        cursor: &OpenCursor,
        most: usize,
        into: &mut Batch,
    ) -> Result<bool, Stop> {
        into.restart(&cursor.columns);
        let Some(number) = self.own_number(cursor)? else { return Ok(false) };
        self.with_frame(within, |frame| {
            frame.go_on(number);
            frame.fetch(number, most, &mut into.rows)
        })
    }

    /// Closes a cursor, if it is open. One of another connection is refused.
    pub fn close_cursor(&mut self, cursor: &OpenCursor) -> Result<(), Stop> {
        self.close_within(Within::Connection, cursor)
    }

    fn close_within(&mut self, within: Within, cursor: &OpenCursor) -> Result<(), Stop> {
        let Some(number) = self.own_number(cursor)? else { return Ok(()) };
        self.with_frame(within, |frame| {
            frame.close(number);
            Ok(())
        })
    }

    /// The number of a cursor of this connection, if it has rows that didn't come at once.
    fn own_number(&self, cursor: &OpenCursor) -> Result<Option<CursorNo>, Stop> {
        match cursor.connection == self.sql.number {
            true => Ok(cursor.number),
            false => Err(of_another_connection()),
        }
    }

    /// Begins a call. Transactions of forgotten `Tx`s are rolled back first.
    fn begin_call(&mut self, within: Within) -> Result<UnderWay, Stop> {
        let timeout = self.sql.state.statement_timeout().or(self.statement_timeout);
        let statement = UnderWay::begin(timeout, &self.session)?;
        match within {
            Within::Connection if !self.open.is_empty() => self.end_embedded()?,
            Within::Tx if self.open.len() > 1 => self.end_forgotten()?,
            _ => {}
        }
        Ok(statement)
    }

    /// Does `work` as a call, with what SQL borrows of the connection.
    fn with_frame<T>(
        &mut self,
        within: Within,
        work: impl FnOnce(&mut Frame<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let _statement = self.begin_call(within)?;
        self.lend(within, work)
    }

    /// Does `work` with what SQL borrows of the connection; a call is under way.
    fn lend<T>(
        &mut self,
        within: Within,
        work: impl FnOnce(&mut Frame<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        self.lend_with(within, None, work)
    }

    /// The same with the client's end of a COPY.
    fn lend_with<T>(
        &mut self,
        within: Within,
        client: Option<&dyn ClientEnd>,
        work: impl FnOnce(&mut Frame<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let Connection { shared, session, open, sql, .. } = self;
        let OfSql { state, transaction, .. } = sql;
        let mut of_tx = None;
        let transaction = match within {
            Within::Connection => transaction,
            Within::Tx => {
                let place = &mut open.last_mut().expect(OPEN).transaction;
                let transaction = Some(std::mem::take(place));
                &mut of_tx.insert(Taken { transaction, place }).transaction
            }
        };
        let mut frame = Frame {
            instance: &shared.instance,
            catalog: &shared.catalog,
            engine: &shared.engine,
            budget: shared.instance.work_areas(),
            session,
            state,
            transaction,
            client,
        };
        // Deep statements ask for more by themselves.
        os::with_stack(STACK, || work(&mut frame))
    }

    /// Runs a statement; its first rows come into `into`.
    fn run(
        &mut self,
        within: Within,
        which: &Which<'_>,
        values: &[OwnedValue],
        most: usize,
        into: &mut Rows,
    ) -> Result<Outcome, Stop> {
        let _statement = self.begin_call(within)?;
        self.run_within(within, which, values, most, into)
    }

    /// The same while a call is under way.
    fn run_within(
        &mut self,
        within: Within,
        which: &Which<'_>,
        values: &[OwnedValue],
        most: usize,
        into: &mut Rows,
    ) -> Result<Outcome, Stop> {
        if let (Within::Tx, Which::Text(text)) = (within, which) {
            check_ends_nothing(text)?;
        }
        self.lend(within, |frame| match which {
            Which::Text(text) => frame.run(text, values, most, into),
            Which::Prepared(prepared) => frame.execute(prepared, values, most, into),
        })
    }

    /// Runs a statement to its end, all in one call: a cancel and a time-out are about all of it.
    fn done(
        &mut self,
        within: Within,
        which: &Which<'_>,
        values: &[OwnedValue],
    ) -> Result<Done, Stop> {
        let _statement = self.begin_call(within)?;
        let mut rows = self.sql.spare.take().unwrap_or_default();
        let outcome = self.run_within(within, which, values, FIRST_ROWS, &mut rows)?;
        let Outcome { tag, rows: mut count, cursor, notice, .. } = outcome;
        match cursor {
            // What a query does besides, such as taking values of sequences, is done for all rows.
            Some(cursor) if tag == QUERY => {
                let (mut seen, mut goes_on) = (rows.len() as u64, true);
                while goes_on {
                    goes_on = self.lend(within, |frame| frame.fetch(cursor, 1_024, &mut rows))?;
                    seen += rows.len() as u64;
                }
                count = count.max(seen);
            }
            // A change is done and counted. Its rows aren't read: a cancel of that would tell of a
            // refusal.
            Some(cursor) => self.lend(within, |frame| {
                frame.close(cursor);
                Ok(())
            })?,
            None => {}
        }
        self.keep_spare(rows);
        Ok(Done { tag, rows: count, notice })
    }

    /// Runs a query, and opens a cursor on its rows.
    fn cursor(
        &mut self,
        within: Within,
        which: &Which<'_>,
        values: &[OwnedValue],
    ) -> Result<Cursor<'_, 's>, Stop> {
        let mut rows = self.sql.spare.take().unwrap_or_default();
        let outcome = self.run(within, which, values, FIRST_ROWS, &mut rows)?;
        let Outcome { columns, cursor: number, .. } = outcome;
        let open = self.open_cursor(columns.clone(), number);
        let batch = Batch { columns: Some(columns), rows };
        Ok(Cursor { connection: self, within, open, batch, at: 0, most: FIRST_ROWS })
    }

    /// Runs a query, and opens a cursor that borrows nothing.
    fn opened(
        &mut self,
        within: Within,
        which: &Which<'_>,
        values: &[OwnedValue],
    ) -> Result<OpenCursor, Stop> {
        let mut rows = Rows::default();
        let Outcome { columns, cursor: number, .. } =
            self.run(within, which, values, 0, &mut rows)?;
        Ok(self.open_cursor(columns, number))
    }

    /// A cursor of this connection.
    fn open_cursor(&self, columns: Columns, number: Option<CursorNo>) -> OpenCursor {
        OpenCursor { columns, connection: self.sql.number, number }
    }

    /// A statement that is kept, and its values in the order of its parameters.
    fn by_name(
        &mut self,
        within: Within,
        text: &str,
        values: &[(&str, Value<'_>)],
    ) -> Result<NamedValues, Stop> {
        let prepared = self.with_frame(within, |frame| frame.prepare(text))?;
        let mut ordered: Vec<Option<OwnedValue>> = vec![None; prepared.binds()];
        for (name, value) in values {
            let number = prepared
                .bind_named(name)
                .ok_or_else(|| parameter(format!("the statement has no parameter {name}")))?;
            if ordered[number - 1].replace((*value).to_owned()).is_some() {
                return Err(parameter(format!("parameter {name} is given twice")));
            }
        }
        let ordered: Option<Vec<OwnedValue>> = ordered.into_iter().collect();
        let ordered = ordered.ok_or_else(|| {
            parameter("the statement has a parameter that is given no value".to_string())
        })?;
        Ok((prepared, ordered))
    }

    /// Keeps a batch for the next query.
    pub(super) fn keep_spare(&mut self, rows: Rows) {
        if rows.bytes() <= SPARE_BYTES_MAX {
            self.sql.spare = Some(rows);
        }
    }

    /// Alters a table, as ALTER TABLE does. The caller has begun a statement.
    pub(crate) fn alter(
        &mut self,
        name: &str,
        alteration: &Alteration,
        wait: LockWait,
    ) -> Result<(), Stop> {
        self.lend(Within::Connection, |frame| frame.alter(name, alteration, wait))
    }

    /// Rolls back the transaction that a text has begun. The caller has begun a statement.
    pub(crate) fn end_sql(&mut self) -> Result<(), Stop> {
        if !self.sql.is_open() {
            return Ok(());
        }
        self.lend(Within::Connection, |frame| {
            frame.before_end();
            match frame.transaction.take() {
                Some(transaction) => frame.instance.rollback(transaction, frame.session),
                None => Ok(()),
            }
        })
    }

    /// Closes the cursors of the open `Tx`, which is ending. The caller has begun a statement.
    pub(crate) fn before_tx_ends(&mut self) {
        if self.sql.has_cursors() {
            let closed = self.lend(Within::Tx, |frame| {
                frame.before_end();
                Ok(())
            });
            closed.expect("closing cursors is not refused");
        }
    }

    /// Closes the cursors of the open `Tx` that have seen what a rollback to this savepoint takes
    /// back. The caller has begun a statement.
    pub(crate) fn before_tx_rolls_back_to(&mut self, savepoint: txn::Savepoint) {
        if self.sql.has_cursors() {
            let closed = self.lend(Within::Tx, |frame| {
                frame.before_rollback_to(savepoint);
                Ok(())
            });
            closed.expect("closing cursors is not refused");
        }
    }

    /// Closes all cursors: the connection ends.
    pub(crate) fn close_cursors(&mut self) {
        if self.sql.has_cursors() {
            let closed = self.lend(Within::Connection, |frame| {
                frame.close_all();
                Ok(())
            });
            closed.expect("closing cursors is not refused");
        }
    }
}

impl<'s> Tx<'_, 's> {
    /// Runs a statement of this transaction, as [`Connection::execute`]. One that would end the
    /// transaction is refused.
    pub fn execute(&mut self, text: &str, values: &[Value<'_>]) -> Result<Done, Stop> {
        self.connection.done(Within::Tx, &Which::Text(text), &owned(values))
    }

    /// Runs a query of this transaction, as [`Connection::query`].
    pub fn query(&mut self, text: &str, values: &[Value<'_>]) -> Result<Cursor<'_, 's>, Stop> {
        self.connection.cursor(Within::Tx, &Which::Text(text), &owned(values))
    }

    /// Runs a query whose rows are read by [`Tx::fetch`].
    pub fn open(&mut self, text: &str, values: &[Value<'_>]) -> Result<OpenCursor, Stop> {
        self.connection.opened(Within::Tx, &Which::Text(text), &owned(values))
    }

    /// Puts the next rows of a cursor into `into`, as [`Connection::fetch`]: of one of this
    /// transaction, or of one that was opened before it.
    pub fn fetch(
        &mut self,
        cursor: &OpenCursor,
        most: usize,
        into: &mut Batch,
    ) -> Result<bool, Stop> {
        self.connection.fetch_within(Within::Tx, cursor, most, into)
    }

    /// Closes a cursor, as [`Connection::close_cursor`].
    pub fn close_cursor(&mut self, cursor: &OpenCursor) -> Result<(), Stop> {
        self.connection.close_within(Within::Tx, cursor)
    }
}

/// The transaction of a `Tx` while SQL has it. The `Tx` gets it back when this is dropped, so also
/// in a panic; it goes on with another one if a text has ended its own.
struct Taken<'t> {
    transaction: Option<Transaction>,
    place: &'t mut Transaction,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *self.place = self.transaction.take().unwrap_or_default();
    }
}

/// A statement, and the values of its parameters.
type NamedValues = (Prepared, Vec<OwnedValue>);

fn owned(values: &[Value<'_>]) -> Vec<OwnedValue> {
    values.iter().copied().map(Value::to_owned).collect()
}

#[cold]
fn of_another_connection() -> Stop {
    let message = "the cursor is of another connection; read it by the one that opened it";
    let refusal = Refusal::new(RefusalKind::Invalid, message);
    refusal.with_state(SqlState::INVALID_CURSOR_STATE).into()
}

#[cold]
fn parameter(message: String) -> Stop {
    let refusal = Refusal::new(RefusalKind::Invalid, message);
    let refusal = refusal.hint("give each parameter one value, by its name");
    refusal.with_state(SqlState::UNDEFINED_PARAMETER).into()
}
