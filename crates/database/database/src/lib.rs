//! The embedded API: a database in a directory, used from within this process.
//!
//! ```
//! use database::{ColumnSpec, Database, Options, TableSpec, Type, Value};
//!
//! # fn main() -> Result<(), database::Error> {
//! # let scratch = std::env::temp_dir().join(format!("forebay-doc-{}", std::process::id()));
//! # let directory = &scratch;
//! let database = Database::create(directory, &Options::default())?;
//! let mut connection = database.connect("app");
//! let spec = TableSpec::new("account")
//!     .column(ColumnSpec::new("id", Type::BigInt).not_null())
//!     .column(ColumnSpec::new("owner", Type::varchar(80)?))
//!     .column(ColumnSpec::new("balance", Type::number(12, 2)?).not_null())
//!     .primary_key(["id"]);
//! let account = connection.create_table(&spec)?;
//!
//! // A transaction: all of it or nothing, and durable when `commit` returns.
//! let mut tx = connection.begin();
//! tx.insert(&account, &[Value::Int(1), Value::Text("Ann"), Value::Int(100)])?;
//! tx.insert(&account, &[Value::Int(2), Value::Text("Bob"), Value::Int(0)])?;
//! tx.commit()?;
//!
//! // Rows are looked at where they are: nothing is copied that isn't asked for.
//! let owner = connection.get(&account, &[Value::Int(2)], |row| {
//!     row.get_text(1).map(|owner| owner.unwrap_or_default().to_string())
//! })?;
//! assert_eq!(owner.expect("there is an account 2")?, "Bob");
//! # drop(connection);
//! database.shutdown()?;
//! # std::fs::remove_dir_all(&scratch).ok();
//! # Ok(())
//! # }
//! ```
//!
//! * [`Database`]: create, open, connect, shut down.
//! * [`Connection`]: a session on a thread; tables, definitions, reads outside of transactions.
//! * [`Tx`]: a transaction: insert, by names of columns too; update, delete, get, range, scan; rows
//!   read and locked ([`ForUpdate`]); savepoints, commit.
//! * [`Statistics`]: what a session has counted and waited for.
//! * [`Table`]: by name; numbers of columns, which stay, and identifiers of indexes.
//!
//! What fails says what, on what, and what to do ([`Error`]); nothing of the statement is left, and
//! the transaction goes on. Who isn't patient asks [`Error::refusal`] for the kind.
//!
//! Callers: applications; the loads, the lab.

#![forbid(unsafe_code)]

mod connection;
mod database;
mod definition;
mod table;
mod under_way;
mod work;

pub use access::{Direction, RowAddress};
pub use catalog::{
    Alteration, Catalog, ColumnSpec, ConstraintSpec, DefaultSpec, ForeignKeySpec, IndexColumnSpec,
    IndexSpec, Rule, SequenceOptions, TableSpec,
};
pub use connection::Connection;
pub use database::{Database, Options};
pub use ids::{BlockSize, ObjectNo, Scn};
pub use instance::{
    CommitLeader, CommitLogging, CommitMode, CommitWait, Creation, DataFileSpec, Instance,
    LogChange, LogGroupSpec, LogStatus, LogView, Parameters, ProcessAffinity, ProcessPatterns,
    Progress, TablespaceSpec, say_moved,
};
pub use os::probe::DurableWrite;
pub use os::{Disk, FilesystemIo, Session};
pub use relation::{
    Bounds, ColumnDefinition, Comparison, Condition, Default as ColumnDefault, ForUpdate,
    ForeignKey, IfHeld, IndexColumn, IndexDefinition, IndexId, NamedCondition, OnDelete, Operand,
    RowChange, TableDefinition, Truth,
};
pub use stop::{HaltCause, Refusal, RefusalKind as ErrorKind, Stop as Error};
pub use table::Table;
pub use txn::LockWait;
pub use value::{
    Chars, Damaged, Date, Digits, Direction as IndexDirection, Misfit, MisfitKind, NullsPlace,
    Number, NumberFault, OwnedValue, RowView as Row, Timestamp, Type, Value,
};
pub use waits::{Nanos, Statistic, Totals as Statistics, WaitEvent};
pub use work::{NewRow, Savepoint, Tx, is_worth_repeating};

/// Which rows a statement is about.
pub type Which<'v> = relation::Which<'v, IndexId>;
