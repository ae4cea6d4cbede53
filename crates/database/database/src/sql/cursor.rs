//! The rows of a query, as an application reads them.
//!
//! ```text
//!   query ─▶ Cursor, which borrows its connection: row by row, or as an iterator of owned rows
//!   open ──▶ OpenCursor, which doesn't: several can be read side by side, batch by batch
//! ```
//!
//! Invariants
//!   * rows come in batches that grow: the first row of a query comes soon
//!   * a `Cursor` that is dropped is closed; an `OpenCursor` is closed by its connection, at the
//!     end of the transaction in which it was opened at the latest (DB112)
//!
//! Callers: applications.

use ::sql::{Columns, CursorNo, OutputColumn as Column};
use expression::Rows;
use stop::Stop;
use value::{OwnedValue, Value};

use super::Within;
use super::from_value::{ColumnIndex, FromValue, converted};
use crate::connection::Connection;

/// The rows of the first batch; each batch behind it has four times as many, up to the most.
pub(super) const FIRST_ROWS: usize = 32;
const ROWS_MAX: usize = 1_024;

/// Some rows of a result.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// None before it has rows.
    pub(super) columns: Option<Columns>,
    pub(super) rows: Rows,
}

impl Batch {
    /// The columns.
    pub fn columns(&self) -> &[Column] {
        self.columns.as_ref().and_then(Columns::get).unwrap_or_default()
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A row, by its number from 0.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row(&self, number: usize) -> CursorRow<'_> {
        assert!(number < self.len(), "a batch of {} rows has no row {number}", self.len());
        CursorRow { batch: self, number }
    }

    /// The rows, in their order.
    pub fn iter(&self) -> impl Iterator<Item = CursorRow<'_>> {
        (0..self.len()).map(|number| CursorRow { batch: self, number })
    }

    /// Takes all rows out, for others with these columns.
    pub(super) fn restart(&mut self, columns: &Columns) {
        self.columns = Some(columns.clone());
        self.rows.set_width(columns.width());
    }
}

/// A row of a result.
#[derive(Clone, Copy, Debug)]
pub struct CursorRow<'r> {
    batch: &'r Batch,
    number: usize,
}

impl<'r> CursorRow<'r> {
    /// The columns.
    pub fn columns(self) -> &'r [Column] {
        self.batch.columns()
    }

    /// The value of a column, by its place from 0.
    ///
    /// # Panics When there is no such column.
    pub fn value(self, place: usize) -> Value<'r> {
        self.batch.rows.get(self.number, place)
    }

    /// The value of a column, by its place from 0 or by its name, as a type of Rust. Refused if it
    /// can't be held exactly, and NULL unless an `Option` is asked for.
    ///
    /// ```
    /// # use database::{Database, Options, Value};
    /// # fn main() -> Result<(), database::Error> {
    /// # let scratch = std::env::temp_dir().join(format!("forebay-sql-{}", std::process::id()));
    /// # let database = Database::create(&scratch, &Options::default())?;
    /// let mut connection = database.connect("app");
    /// connection.execute("create table account (id bigint primary key, owner text)", &[])?;
    /// connection.execute("insert into account values ($1, $2)", &[Value::Int(1), Value::Null])?;
    /// let mut cursor = connection.query("select * from account where id = $1", &[Value::Int(1)])?;
    /// let row = cursor.next_row()?.expect("there is an account 1");
    /// assert_eq!(row.get::<i64>("id")?, 1);
    /// assert_eq!(row.get::<Option<&str>>("owner")?, None);
    /// # drop(cursor);
    /// # drop(connection);
    /// # database.shutdown()?;
    /// # std::fs::remove_dir_all(&scratch).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn get<T: FromValue<'r>>(self, column: impl ColumnIndex) -> Result<T, Stop> {
        let columns = self.columns();
        let mut names = columns.iter().map(|column| column.name.as_str());
        let place = column.place(&mut names)?;
        converted(self.value(place), &columns[place].name)
    }

    /// All values, which borrow nothing.
    pub fn to_owned(self) -> Vec<OwnedValue> {
        (0..self.columns().len()).map(|place| self.value(place).to_owned()).collect()
    }
}

/// A cursor that borrows nothing. Its connection reads it ([`Connection::fetch`]).
#[derive(Clone, Debug)]
pub struct OpenCursor {
    pub(super) columns: Columns,
    /// The number of its connection.
    pub(super) connection: u64,
    /// None: all its rows came when it was opened.
    pub(super) number: Option<CursorNo>,
}

impl OpenCursor {
    /// The columns; none if the statement gives no rows.
    pub fn columns(&self) -> &[Column] {
        self.columns.get().unwrap_or_default()
    }
}

/// The rows of a query, while its connection isn't used for anything else. As an iterator it gives
/// rows that borrow nothing.
#[must_use = "the rows of a query are there to be read"]
pub struct Cursor<'c, 's> {
    pub(super) connection: &'c mut Connection<'s>,
    pub(super) within: Within,
    pub(super) open: OpenCursor,
    pub(super) batch: Batch,
    /// The number of the next row in the batch.
    pub(super) at: usize,
    /// The most rows of the next batch.
    pub(super) most: usize,
}

impl Cursor<'_, '_> {
    /// The columns.
    pub fn columns(&self) -> &[Column] {
        self.open.columns()
    }

    /// The next row, which stays until the next call; none behind the last.
    pub fn next_row(&mut self) -> Result<Option<CursorRow<'_>>, Stop> {
        while self.at == self.batch.len() {
            if self.open.number.is_none() {
                return Ok(None);
            }
            self.at = 0;
            self.most = (self.most * 4).min(ROWS_MAX);
            let Cursor { connection, within, open, batch, most, .. } = self;
            let goes_on = connection.fetch_within(*within, open, *most, batch);
            if !matches!(goes_on, Ok(true)) {
                open.number = None;
            }
            goes_on?;
        }
        self.at += 1;
        Ok(Some(self.batch.row(self.at - 1)))
    }

    /// All rows that are left.
    pub fn all(mut self) -> Result<Vec<Vec<OwnedValue>>, Stop> {
        let mut rows = Vec::new();
        while let Some(row) = self.next_row()? {
            rows.push(row.to_owned());
        }
        Ok(rows)
    }
}

impl Iterator for Cursor<'_, '_> {
    type Item = Result<Vec<OwnedValue>, Stop>;

    fn next(&mut self) -> Option<Result<Vec<OwnedValue>, Stop>> {
        self.next_row().map(|row| row.map(CursorRow::to_owned)).transpose()
    }
}

impl Drop for Cursor<'_, '_> {
    fn drop(&mut self) {
        // What it has is given back; a halt is returned by the next call.
        if self.open.number.is_some() {
            let _ = self.connection.close_within(self.within, &self.open);
        }
        self.connection.keep_spare(std::mem::take(&mut self.batch.rows));
    }
}
