//! How a session of a load does what it has decided to do: by calls of the API, or as SQL text.
//!
//! ```text
//!   client: draws, journal ──▶ Hands ─┬─ ByApi: a `Tx`, keys and closures
//!           ◀── rows as told ─────────┴─ BySql: BEGIN, statements with RETURNING, COMMIT
//! ```
//!
//! Invariants
//!   * what is told of a statement is told at once: nothing that a power cut could hit lies between
//!     its end and that
//!   * a refused call has left nothing but locks
//!
//! Callers: `client`.

mod api;
mod sql;

use database::CommitMode;
use stop::Stop;

pub(crate) use api::ByApi;
pub(crate) use sql::BySql;

use crate::Content;

/// A row as a statement has shown it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ShownRow {
    pub(crate) id: i64,
    pub(crate) content: Content,
}

/// A row that a statement has changed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Change {
    /// Its key before.
    pub(crate) id: i64,
    /// What it was, if the statement has shown that.
    pub(crate) before: Option<Content>,
    pub(crate) after: Content,
}

/// Which rows of a table a statement is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Which<'w> {
    All,
    /// The one with this key.
    Key(i64),
    /// Those with this code, by its index.
    Code(&'w str),
}

/// What rows become; whose change it is says the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Set {
    /// All of them this version, and so the same unique key.
    Version { version: i64, parent: Parent },
    /// Each another version, with the unique key that it has.
    SameKeys,
    /// This version, under another primary key.
    Moved { to: i64, version: i64 },
}

/// What a row refers to from then on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Parent {
    /// What it did.
    Kept,
    Is(Option<i64>),
}

/// How rows are locked that others may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Taking {
    Waiting,
    NoWait,
    /// The first ones that are free, so many at most.
    Free(u64),
}

/// A transaction under way.
pub(crate) trait Hands {
    /// The next value of the sequence of tickets.
    fn next_ticket(&mut self) -> Result<i64, Stop>;

    /// Leaves the mark of the transaction of this number.
    fn mark(&mut self, number: usize, ticket: Option<i64>) -> Result<(), Stop>;

    /// Inserts a row with this key; none: the table has an identity column. Returns the key.
    fn insert(&mut self, table: usize, id: Option<i64>, content: Content) -> Result<i64, Stop>;

    /// Inserts rows by one statement; into new blocks, if that is wanted.
    fn insert_many(&mut self, table: usize, rows: &[ShownRow], loads: bool) -> Result<(), Stop>;

    /// Changes rows by one statement, of which the transaction of this number is the writer.
    fn update(
        &mut self,
        table: usize,
        which: Which<'_>,
        set: Set,
        writer: usize,
    ) -> Result<Vec<Change>, Stop>;

    /// Deletes rows by one statement, and returns their keys.
    fn delete(&mut self, table: usize, which: Which<'_>) -> Result<Vec<i64>, Stop>;

    /// Locks rows of a table, and shows them.
    fn lock(&mut self, table: usize, taking: Taking) -> Result<Vec<ShownRow>, Stop>;

    /// A row as the transaction sees it.
    fn get(&mut self, table: usize, id: i64) -> Result<Option<Content>, Stop>;

    /// Makes the savepoint, or makes it anew at this point.
    fn savepoint(&mut self) -> Result<(), Stop>;

    /// Goes back to the savepoint.
    fn go_back(&mut self) -> Result<(), Stop>;

    fn commit(self: Box<Self>, mode: CommitMode) -> Result<(), Stop>;

    fn roll_back(self: Box<Self>) -> Result<(), Stop>;

    /// Forgets the transaction: its connection has it open.
    fn leave(self: Box<Self>);
}
