//! The tables of debit-credit, and filling them.
//!
//! | table    | key    | rows                  | columns                                          |
//! |----------|--------|-----------------------|--------------------------------------------------|
//! | branch   | number | few: hot              | number, balance, filler                          |
//! | teller   | number | 10 a branch           | number, balance, filler                          |
//! | account  | number | half of the data      | number, balance, filler                          |
//! | stock    | number | half of the data      | number, quantity, filler; for mass updates       |
//! | history  |        | one a transaction     | session, number, account, teller, branch, amount |
//!
//! Rows are as long as TPC-B asks (100 bytes, history 50). Numbers go from 0 without gaps.
//! Tables are made and filled by SQL (`texts`). They are opened and counted by the embedded API, as
//! the audit reads them.
//!
//! There are no foreign keys: they would change the work that the lab measures, and its
//! measurements are compared with earlier ones. Order entry has constraints of every kind.

use std::ops::{ControlFlow, Range};

use database::{Bounds, Connection, Direction, Error, ErrorKind, IndexId, Row, Table, Value};

use crate::texts::debit_credit as texts;

/// Rows of one loading transaction.
const LOAD_BATCH: u64 = 500;

/// Places of columns in tables whose rows have numbers.
pub(crate) mod column {
    pub(crate) const NUMBER: usize = 0;
    pub(crate) const BALANCE: usize = 1;
}

/// The numbers of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scale {
    /// Branches.
    pub branches: u64,
    /// Tellers.
    pub tellers: u64,
    /// Accounts.
    pub accounts: u64,
    /// Articles in stock, for mass updates.
    pub stock: u64,
}

impl Scale {
    /// Rows of 100 bytes that fit into a MiB of 8 KiB blocks.
    const ROWS_PER_MIB: u64 = 9_200;
    /// Bytes of blocks that a row takes at most, with its key's entry and what inserts leave free.
    const BYTES_PER_ROW: u64 = 160;

    /// This many MiB of rows, half of them accounts and half of them stock.
    pub const fn of_mib(mib: u64) -> Scale {
        let rows = mib * Scale::ROWS_PER_MIB;
        Scale { branches: 64, tellers: 640, accounts: rows / 2, stock: rows / 2 }
    }

    /// Rows in all.
    pub const fn rows(&self) -> u64 {
        self.branches + self.tellers + self.accounts + self.stock
    }

    /// Bytes of blocks that all rows take, with their keys.
    pub const fn bytes(&self) -> u64 {
        self.rows() * Scale::BYTES_PER_ROW
    }
}

/// The tables, open.
pub struct Tables {
    pub(crate) branch: Table,
    pub(crate) teller: Table,
    pub(crate) account: Table,
    pub(crate) stock: Table,
    pub(crate) history: Table,
    scale: Scale,
}

impl Tables {
    /// The tables of a database that was loaded. History is made last, so a load that was cut off
    /// has none.
    pub fn open(connection: &mut Connection<'_>) -> Result<Tables, Error> {
        Tables::open_all(connection).map_err(|stop| unloaded(Load::DebitCredit, stop, connection))
    }

    fn open_all(connection: &mut Connection<'_>) -> Result<Tables, Error> {
        let mut numbered = |name: &str| {
            let table = connection.table(name)?;
            count(connection, &table).map(|count| (table, count))
        };
        let ((branch, branches), (teller, tellers)) = (numbered("branch")?, numbered("teller")?);
        let ((account, accounts), (stock, articles)) = (numbered("account")?, numbered("stock")?);
        let history = connection.table("history")?;
        let scale = Scale { branches, tellers, accounts, stock: articles };
        Ok(Tables { branch, teller, account, stock, history, scale })
    }

    /// The numbers of rows.
    pub fn scale(&self) -> Scale {
        self.scale
    }
}

/// The load whose tables are opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    DebitCredit,
    OrderEntry,
}

/// The refusal for a missing table, with advice: which load the database has, or that its load was
/// cut off.
pub(crate) fn unloaded(load: Load, stop: Error, connection: &Connection<'_>) -> Error {
    if stop.refusal() != Some(ErrorKind::NotFound) {
        return stop;
    }
    // A table that only the other load has.
    let (what, others, advice) = match load {
        Load::DebitCredit => (
            "debit-credit",
            "warehouse",
            "The database is of the load of order entry: give --order-entry",
        ),
        Load::OrderEntry => (
            "order entry",
            "branch",
            "The database is of the debit-credit load: leave --order-entry out",
        ),
    };
    let advice = match connection.table(others) {
        Ok(_) => advice,
        Err(_) => {
            "The database was made for something else, or its load was cut off before its end; \
             then remove the database and create it again"
        }
    };
    let message = format!("cannot open the tables of {what}: {stop}. {advice}");
    Error::refuse(ErrorKind::WrongState, message)
}

/// The index of a table's primary key, which every table of a load is made with.
pub(crate) fn primary(table: &Table) -> Result<IndexId, Error> {
    table.primary().ok_or_else(|| {
        let message = format!(
            "cannot read table {}: its primary key is gone; load the tables into a new database",
            table.definition().name
        );
        Error::refuse(ErrorKind::WrongState, message)
    })
}

/// One more than the last number: the number of rows.
fn count(connection: &mut Connection<'_>, table: &Table) -> Result<u64, Error> {
    let (mut last, primary) = (None, primary(table)?);
    connection.range(table, primary, &Bounds::equal(&[]), Direction::Descending, |row| {
        last = Some(number(&row, column::NUMBER));
        ControlFlow::Break(())
    })?;
    Ok(last.map_or(0, |last| last as u64 + 1))
}

/// A column that is a number and never NULL.
pub(crate) fn number(row: &Row<'_>, column: usize) -> i64 {
    row.get_i64(column).expect("the columns of debit-credit are numbers, and NOT NULL")
}

/// The lowest number above those of all sessions that have left history.
pub fn next_session(connection: &mut Connection<'_>) -> Result<u32, Error> {
    let mut next = 0;
    let history = connection.table("history");
    let history = history.map_err(|stop| unloaded(Load::DebitCredit, stop, connection))?;
    connection.scan(&history, |row| next = next.max(number(&row, 0) + 1))?;
    Ok(u32::try_from(next).unwrap_or(u32::MAX))
}

/// The lowest of these numbers under which a session has left history; none if none has.
pub fn used_session(
    connection: &mut Connection<'_>,
    numbers: Range<u32>,
) -> Result<Option<u32>, Error> {
    let mut used: Option<u32> = None;
    let history = connection.table("history");
    let history = history.map_err(|stop| unloaded(Load::DebitCredit, stop, connection))?;
    connection.scan(&history, |row| {
        let number = u32::try_from(number(&row, 0)).ok().filter(|number| numbers.contains(number));
        used = used.into_iter().chain(number).min();
    })?;
    Ok(used)
}

/// Makes the tables and fills them. `progress` is told the rows done and the rows in all, and
/// returns whether to go on; if not, the rows loaded so far stay and the result is false.
pub fn load(
    connection: &mut Connection<'_>,
    scale: Scale,
    mut progress: impl FnMut(u64, u64) -> bool,
) -> Result<bool, Error> {
    let numbered = [
        (texts::BRANCH, scale.branches),
        (texts::TELLER, scale.tellers),
        (texts::ACCOUNT, scale.accounts),
        (texts::STOCK, scale.stock),
    ];
    let mut done = 0;
    for (table, rows) in numbered {
        connection.execute(table.create, &[])?;
        let fill = connection.prepare(table.fill)?;
        let mut next = 0;
        while next < rows {
            let end = rows.min(next + LOAD_BATCH);
            // A statement by itself is a transaction.
            let range = [next, end - 1].map(|number| Value::Int(number as i64));
            connection.execute_prepared(&fill, &range)?;
            (next, done) = (end, done + end - next);
            if !progress(done, scale.rows()) {
                return Ok(false);
            }
        }
    }
    // Without statistics a mass update would look at the whole table.
    connection.execute(texts::ANALYZE, &[])?;
    connection.execute(texts::CREATE_HISTORY, &[])?;
    Ok(true)
}
