//! What came of a text that may be a statement of any kind, for whoever doesn't know it before.
//!
//! Callers: shells and servers.

use ::sql::Outcome;
use stop::Stop;
use value::Value;

use super::cursor::{Batch, FIRST_ROWS, OpenCursor};
use super::{Done, Which, Within, owned};
use crate::connection::Connection;

/// What came of a statement: what it has done, and its rows if it gives some.
#[derive(Debug)]
pub struct Answer {
    /// What it has done.
    pub done: Done,
    /// Its first rows.
    pub first: Batch,
    /// Where its other rows come from, by [`Connection::fetch`]; none if there are no others.
    pub cursor: Option<OpenCursor>,
}

impl Answer {
    /// Whether it gives rows, be it none.
    pub fn gives_rows(&self) -> bool {
        self.first.columns.as_ref().is_some_and(|columns| columns.get().is_some())
    }
}

impl Connection<'_> {
    /// Runs a statement of any kind with these values for its parameters (DB114). Rows that are
    /// left stay to be fetched, as those of [`Connection::open`].
    ///
    /// ```
    /// # use database::{Database, Options};
    /// # fn main() -> Result<(), database::Error> {
    /// # let scratch = std::env::temp_dir().join(format!("forebay-any-{}", std::process::id()));
    /// # let database = Database::create(&scratch, &Options::default())?;
    /// # let mut connection = database.connect("app");
    /// for text in ["create table note (n bigint)", "select * from note"] {
    ///     let mut answer = connection.answer(text, &[])?;
    ///     if !answer.gives_rows() {
    ///         println!("{}", answer.done.tag());
    ///         continue;
    ///     }
    ///     answer.first.iter().for_each(|row| println!("{row:?}"));
    ///     if let Some(cursor) = &answer.cursor {
    ///         while connection.fetch(cursor, 1_000, &mut answer.first)? {}
    ///     }
    /// }
    /// # drop(connection);
    /// # database.shutdown()?;
    /// # std::fs::remove_dir_all(&scratch).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn answer(&mut self, text: &str, values: &[Value<'_>]) -> Result<Answer, Stop> {
        let (within, mut rows) = (Within::Connection, self.sql.spare.take().unwrap_or_default());
        let outcome =
            self.run(within, &Which::Text(text), &owned(values), FIRST_ROWS, &mut rows)?;
        let Outcome { tag, rows: count, columns, cursor, notice } = outcome;
        let cursor = cursor.map(|number| self.open_cursor(columns.clone(), Some(number)));
        let done = Done { tag, rows: count, notice };
        Ok(Answer { done, first: Batch { columns: Some(columns), rows }, cursor })
    }

    /// Whether a text has begun a transaction that hasn't ended.
    pub fn has_open_transaction(&self) -> bool {
        self.sql.is_open()
    }
}
