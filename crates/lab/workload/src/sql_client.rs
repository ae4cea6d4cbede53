//! A session that works by SQL: its connection, and the statements by which transactions begin and
//! end.
//!
//! ```text
//!   prepare, once ─▶ Prepared
//!   begin ─▶ execute, first, each ─▶ commit | rollback
//! ```
//!
//! Invariants
//!   * everything is done by statements, also the begin and the end of transactions
//!   * what is left open is rolled back when the connection ends (rule DB111)
//!
//! Callers: debit-credit, order entry; TPC-B and lookups, where they run by SQL.

use database::{Connection, CursorRow, Prepared, Value};
use os::Session;
use stop::Stop;

use crate::texts;

/// A connection, with what it has prepared for all transactions.
pub(crate) struct SqlClient<'c, 's> {
    connection: &'c mut Connection<'s>,
    begin: Prepared,
    begin_serializable: Prepared,
    commit: Prepared,
    rollback: Prepared,
}

/// How statements are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// By calls of the embedded API.
    Api,
    /// By SQL that each session has prepared, BEGIN and COMMIT too.
    Sql,
}

/// The isolation level of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    ReadCommitted,
    Serializable,
}

impl<'c, 's> SqlClient<'c, 's> {
    pub(crate) fn new(connection: &'c mut Connection<'s>) -> Result<SqlClient<'c, 's>, Stop> {
        Ok(SqlClient {
            begin: connection.prepare(texts::BEGIN)?,
            begin_serializable: connection.prepare(texts::BEGIN_SERIALIZABLE)?,
            commit: connection.prepare(texts::COMMIT)?,
            rollback: connection.prepare(texts::ROLLBACK)?,
            connection,
        })
    }

    /// The session, with its clock.
    pub(crate) fn session(&self) -> &Session {
        self.connection.session()
    }

    /// Keeps a statement to be run again and again.
    pub(crate) fn prepare(&mut self, text: &str) -> Result<Prepared, Stop> {
        self.connection.prepare(text)
    }

    pub(crate) fn begin(&mut self, level: Level) -> Result<(), Stop> {
        let begin = match level {
            Level::ReadCommitted => &self.begin,
            Level::Serializable => &self.begin_serializable,
        };
        self.connection.execute_prepared(begin, &[]).map(drop)
    }

    pub(crate) fn commit(&mut self) -> Result<(), Stop> {
        self.connection.execute_prepared(&self.commit, &[]).map(drop)
    }

    /// Takes the open transaction back. Nothing happens if none is open, as behind a commit that
    /// was refused.
    pub(crate) fn rollback(&mut self) -> Result<(), Stop> {
        self.connection.execute_prepared(&self.rollback, &[]).map(drop)
    }

    /// Runs a statement. Returns how many rows it has changed.
    pub(crate) fn execute(
        &mut self,
        statement: &Prepared,
        values: &[Value<'_>],
    ) -> Result<u64, Stop> {
        self.connection.execute_prepared(statement, values).map(|done| done.rows())
    }

    /// Runs a statement, and looks at the first of the rows that it gives. None if it gives none.
    pub(crate) fn first<T>(
        &mut self,
        statement: &Prepared,
        values: &[Value<'_>],
        look: impl FnOnce(CursorRow<'_>) -> Result<T, Stop>,
    ) -> Result<Option<T>, Stop> {
        let mut cursor = self.connection.query_prepared(statement, values)?;
        match cursor.next_row()? {
            Some(row) => look(row).map(Some),
            None => Ok(None),
        }
    }

    /// Runs a query, and visits all of its rows.
    pub(crate) fn each(
        &mut self,
        statement: &Prepared,
        values: &[Value<'_>],
        mut visit: impl FnMut(CursorRow<'_>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut cursor = self.connection.query_prepared(statement, values)?;
        while let Some(row) = cursor.next_row()? {
            visit(row)?;
        }
        Ok(())
    }
}
