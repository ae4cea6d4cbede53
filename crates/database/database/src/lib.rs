//! The embedded API: a database in a directory, used from within this process.
//!
//! ```
//! use database::{ColumnSpec, Database, Options, TableSpec, Type, Value};
//!
//! # fn main() -> Result<(), database::Error> {
//! # let scratch = std::env::temp_dir().join(format!("forebay-doc-{}", std::process::id()));
//! # let directory = &scratch;
//! let database = Database::open_or_create(directory, &Options::default())?;
//! let mut connection = database.connect("app");
//! let spec = TableSpec::new("account")
//!     .column(ColumnSpec::new("id", Type::BigInt))
//!     .column(ColumnSpec::new("owner", Type::Text))
//!     .primary_key(["id"]);
//! let account = connection.create_table(&spec)?;
//! let mut tx = connection.begin();
//! tx.insert(&account, &[Value::Int(1), Value::Text("Ann")])?;
//! tx.commit()?; // durable
//! let owner = connection.get(&account, &[Value::Int(1)], |row| {
//!     row.get_text(1).map(|owner| owner.unwrap_or_default().to_string())
//! })?;
//! assert_eq!(owner.expect("there is an account 1")?, "Ann");
//! # drop(connection);
//! database.shutdown()?;
//! # std::fs::remove_dir_all(&scratch).ok();
//! # Ok(())
//! # }
//! ```
//!
//! * [`Database`]: create, open, connect, shut down; [`Options`], [`Notices`].
//! * [`Connection`]: a session on a thread; tables, definitions, reads outside of transactions.
//! * [`Tx`]: a transaction: insert, load, update, delete, get, range, scan; rows locked
//!   ([`ForUpdate`]); savepoints, commit. [`Savepoint`], [`NewRow`], [`Load`].
//! * [`Table`]: a table by its number, with the numbers of its columns and indexes.
//! * SQL: [`Connection::execute`], [`Connection::query`], [`Connection::prepare`]; [`Cursor`],
//!   [`CursorRow`], [`FromValue`]; [`OpenCursor`] and [`Batch`] for several at a time;
//!   [`Connection::answer`] for a text of any kind.
//! * [`Error`]: refused ([`ErrorKind`] says why, nothing was changed) or halted.
//!
//! Rules DB1 to DB117 are in the README: threads, isolation, retries, drops, halts, limits, memory.
//!
//! Callers: applications; the loads, the lab.

#![forbid(unsafe_code)]

mod connection;
mod database;
mod definition;
mod sql;
mod system;
mod table;
mod under_way;
mod work;

pub use crate::sql::{
    Answer, Batch, ColumnIndex, CopySink, CopySource, Cursor, CursorRow, Done, FromValue,
    OpenCursor, Prepared,
};
pub use connection::Connection;
pub use database::{Database, Notices, Options};
pub use table::Table;
pub use work::{NewRow, Savepoint, Tx, is_worth_repeating};

// What the signatures of these name, so that a program needs this crate alone.
#[doc(inline)]
pub use ::sql::{Columns, OutputColumn as Column};
#[doc(inline)]
pub use access::{Direction, RowAddress};
#[doc(inline)]
pub use catalog::{
    Alteration, Catalog, CatalogOpened, ColumnSpec, ColumnStatistics, ConstraintSpec, DefaultSpec,
    Dependency, ExternalColumn, ExternalDefinition, ExternalSpec, ForeignKeySpec, IndexColumnSpec,
    IndexSpec, IndexStatistics, IndexView, ObjectId, Restart, Rule, SequenceAlteration,
    SequenceBound, SequenceDefinition, SequenceOptions, SequenceView, TableSpec, TableStatistics,
    TableView, ViewDefinition, ViewSpec,
};
#[doc(inline)]
pub use expression::Kind;
#[doc(inline)]
pub use ids::{BlockSize, ObjectNo, Scn};
#[doc(inline)]
pub use instance::{
    Allowed, Changeable, CommitLeader, CommitLogging, CommitMode, CommitWait, Creation,
    DataFileSpec, Instance, LockWaits, LogChange, LogGroupSpec, LogStatus, LogView, Opened,
    ParameterInfo, Parameters, ProcessAffinity, ProcessPatterns, Progress, Recovered,
    TablespaceSpec, say_moved,
};
#[doc(inline)]
pub use os::probe::DurableWrite;
#[doc(inline)]
pub use os::{CallNo, CancelHandle, Disk, FilesystemIo, Session};
#[doc(inline)]
pub use relation::{
    Bounds, CheckExpression, ColumnDefinition, Comparison, Condition, Default as ColumnDefault,
    ForUpdate, ForeignKey, IfHeld, IndexColumn, IndexDefinition, IndexId, Load, NamedCondition,
    OnDelete, Operand, RowChange, TableDefinition, Truth,
};
#[doc(inline)]
pub use stop::{
    Failpoints, HaltCause, Refusal, RefusalKind as ErrorKind, RefusalParts, SqlState, Stop as Error,
};
#[doc(inline)]
pub use txn::LockWait;
#[doc(inline)]
pub use value::{
    Chars, Damaged, Date, Digits, Direction as IndexDirection, Interval, Misfit, MisfitKind,
    MisfitValue, NullOrdering, Number, NumberFault, OwnedValue, RowView as Row, Timestamp, Type,
    Value,
};
#[doc(inline)]
pub use waits::{Nanos, Statistic, Totals as Statistics, WaitEvent};

/// Which rows a statement is about.
pub type Selection<'v> = relation::Selection<'v, IndexId>;

/// The example of the project's first page, compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../../README.md")]
struct FirstPage;
