//! COPY with the caller at its other end (DB116).
//!
//! ```text
//!   copy_in("copy t from stdin csv", source) ─ bytes, as the source gives them ─▶ rows
//!   copy_out("copy t to stdout csv", sink)   ◀─ whole lines ─ rows
//! ```
//!
//! COPY FROM and TO a file of the server's machine is a statement as any other, for `execute`.
//!
//! Callers: applications; the server, for its copy messages.

use sql::{ClientEnd, CopySink, CopySource, FromSource, Outcome, ToSink};
use stop::Stop;

use super::{Done, Within};
use crate::connection::Connection;
use crate::work::Tx;

impl Connection<'_> {
    /// Runs a COPY FROM STDIN: `source` gives the bytes. What it says of an error is the refusal's
    /// message. A refused COPY leaves no row. See [`CopySource`]: `&mut &bytes[..]` is one.
    ///
    /// ```
    /// # use database::{Database, Options};
    /// # fn main() -> Result<(), database::Error> {
    /// # let scratch = std::env::temp_dir().join(format!("forebay-copy-{}", std::process::id()));
    /// # let database = Database::create(&scratch, &Options::default())?;
    /// # let mut connection = database.connect("app");
    /// connection.execute("create table account (id bigint primary key, balance bigint)", &[])?;
    /// let mut source = &b"id,balance\n1,100\n2,\n"[..];
    /// let copied = connection.copy_in("copy account from stdin csv header", &mut source)?;
    /// assert_eq!((copied.tag(), copied.rows()), ("COPY", 2));
    /// let mut lines = Vec::new();
    /// connection.copy_out("copy account to stdout", &mut lines)?;
    /// assert_eq!(lines, b"1\t100\n2\t\\N\n");
    /// # drop(connection);
    /// # database.shutdown()?;
    /// # std::fs::remove_dir_all(&scratch).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn copy_in(&mut self, text: &str, source: &mut dyn CopySource) -> Result<Done, Stop> {
        self.copy(Within::Connection, text, &FromSource::new(source))
    }

    /// Runs a COPY TO STDOUT: `sink` takes the bytes, whole lines at a time.
    pub fn copy_out(&mut self, text: &str, sink: &mut dyn CopySink) -> Result<Done, Stop> {
        self.copy(Within::Connection, text, &ToSink::new(sink))
    }

    fn copy(&mut self, within: Within, text: &str, client: &dyn ClientEnd) -> Result<Done, Stop> {
        let _statement = self.begin_call(within)?;
        let done = self.lend_with(within, Some(client), |frame| frame.run_copy(text));
        let Outcome { tag, rows, notice, .. } = done?;
        Ok(Done { tag, rows, notice })
    }
}

impl Tx<'_, '_> {
    /// Runs a COPY FROM STDIN of this transaction, as [`Connection::copy_in`].
    pub fn copy_in(&mut self, text: &str, source: &mut dyn CopySource) -> Result<Done, Stop> {
        self.connection.copy(Within::Tx, text, &FromSource::new(source))
    }

    /// Runs a COPY TO STDOUT of this transaction, as [`Connection::copy_out`].
    pub fn copy_out(&mut self, text: &str, sink: &mut dyn CopySink) -> Result<Done, Stop> {
        self.connection.copy(Within::Tx, text, &ToSink::new(sink))
    }
}
