//! What the shell asks of a database: the one seam between them.
//!
//! Callers: all of the shell; its tests put another one behind it.

use std::fmt;
use std::sync::Arc;

/// A database that runs statements for one session.
pub(crate) trait Backend {
    /// Runs one statement. Its rows come as they are asked for.
    fn run(&mut self, statement: &str) -> Result<Answer<'_>, Failure>;

    /// Runs a COPY FROM STDIN. `give` puts the next data into its argument, which is empty; if it
    /// stays empty, there are no more.
    fn copy_in(&mut self, statement: &str, give: &mut Give<'_>)
    -> Result<Answer<'static>, Failure>;

    /// Runs a COPY TO STDOUT. `take` takes whole lines; false: it wants no more.
    fn copy_out(
        &mut self,
        statement: &str,
        take: &mut Take<'_>,
    ) -> Result<Answer<'static>, Failure>;

    /// What `\d` and its like ask for, as rows.
    fn describe(&mut self, what: &Describe) -> Result<Answer<'_>, Failure>;

    /// The names that can be completed.
    fn names(&mut self) -> Names;

    /// Where the time of the last statement went, as text in 80 columns.
    fn last_profile(&mut self) -> Option<String>;

    /// Whether a transaction is open.
    fn transaction(&self) -> Transaction;

    /// A handle for another thread, on the statement that is run or described next.
    fn watch(&mut self) -> Arc<dyn Watch>;
}

/// Gives data.
pub(crate) type Give<'g> = dyn FnMut(&mut Vec<u8>) -> Result<(), Failure> + 'g;

/// Takes data.
pub(crate) type Take<'t> = dyn FnMut(&str) -> bool + 't;

/// Looks at a running statement from another thread, and ends it.
pub(crate) trait Watch: Send + Sync {
    /// Has the statement refused, unless it has ended. The session is the calling thread's.
    fn cancel(&self, session: &os::Session);

    /// What the statement has done so far and is at.
    fn doing(&self) -> Doing;
}

/// What a statement has done so far and is at.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Doing {
    /// The same in a few words.
    pub(crate) what: String,
    /// The share that is done, 0 to 1, of what it is at; none if that can't be known.
    pub(crate) share: Option<f64>,
}

/// What a statement gives.
pub(crate) enum Answer<'b> {
    /// Rows.
    Rows {
        /// Their columns.
        columns: Vec<Column>,
        /// The rows, each with as many values as there are columns.
        rows: Box<dyn Iterator<Item = Result<Row, Failure>> + 'b>,
    },
    /// Nothing but its name, perhaps with a number of rows: "INSERT 3".
    Done {
        /// The text.
        tag: String,
        /// What a person should know, though it was done.
        notice: Option<String>,
    },
}

/// A row's values; none for NULL.
pub(crate) type Row = Vec<Option<String>>;

/// A column of rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Column {
    /// Its name.
    pub(crate) name: String,
    /// Its type, as SQL writes it.
    pub(crate) kind: String,
    /// Whether values are numbers.
    pub(crate) right_aligned: bool,
}

/// Whether a transaction is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transaction {
    /// No.
    None,
    /// Yes.
    Open,
}

/// What `\d` and its like show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Describe {
    /// `\d`: everything.
    All,
    /// `\d name`: one object.
    Object(String),
    /// `\dt`, with a pattern or without.
    Tables(Option<String>),
    /// `\di`.
    Indexes(Option<String>),
    /// `\dv`.
    Views(Option<String>),
    /// `\ds`.
    Sequences(Option<String>),
}

/// Why a statement was refused.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Failure {
    /// The five characters that say which kind of failure it is.
    pub(crate) sqlstate: String,
    /// What failed, on what.
    pub(crate) message: String,
    /// More about it: values.
    pub(crate) detail: Option<String>,
    /// What to do.
    pub(crate) hint: Option<String>,
    /// The byte of the statement at which it is wrong.
    pub(crate) position: Option<usize>,
    /// Whether a statement that was cancelled had had its time, and nobody asked for its end.
    pub(crate) is_timeout: bool,
    /// Whether no statement can be run any more, because the instance has halted.
    pub(crate) is_final: bool,
}

/// SQLSTATE of a statement that was cancelled.
pub(crate) const CANCELLED: &str = "57014";

impl Failure {
    /// A failure of the shell's own.
    pub(crate) fn of_shell(message: impl fmt::Display) -> Failure {
        Failure { message: message.to_string(), ..Failure::default() }
    }

    /// A statement that was cancelled while no call of the database ran.
    pub(crate) fn cancelled() -> Failure {
        let message = "the statement was cancelled".into();
        Failure { sqlstate: CANCELLED.into(), message, ..Failure::default() }
    }

    /// Whether somebody has cancelled the statement.
    pub(crate) fn is_cancel(&self) -> bool {
        self.sqlstate == CANCELLED && !self.is_timeout
    }
}

impl From<syntax::SyntaxError> for Failure {
    fn from(error: syntax::SyntaxError) -> Failure {
        Failure {
            sqlstate: error.sqlstate().into(),
            message: error.message().into(),
            hint: error.hint().map(str::to_owned),
            position: error.position(),
            ..Failure::default()
        }
    }
}

/// The names that can be completed, in small letters where they need no quotes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Names {
    /// Tables and views of users.
    pub(crate) tables: Vec<TableNames>,
    /// Views of the system; those that need their schema have it in their names.
    pub(crate) system: Vec<TableNames>,
    /// Indexes, sequences, tablespaces.
    pub(crate) others: Vec<String>,
    /// Functions.
    pub(crate) functions: Vec<String>,
    /// Parameters.
    pub(crate) parameters: Vec<String>,
}

/// A table's name and those of its columns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct TableNames {
    /// The table's name.
    pub(crate) name: String,
    /// Its columns' names.
    pub(crate) columns: Vec<String>,
}
