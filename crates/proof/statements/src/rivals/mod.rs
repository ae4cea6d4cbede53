//! The programs that Forebay's answers are compared with.
//!
//! | rival | how it is asked |
//! |---|---|
//! | SQLite | in this process, by crate `rusqlite` |
//! | PostgreSQL | one long-lived `psql` with its input and output in our hands |
//!
//! SQLite's statements take microseconds so, and nothing has to be installed. Crate `postgres`
//! stands on tokio, which `deny.toml` refuses; psql comes with the server, and tells the SQLSTATE
//! of each statement.
//!
//! Rivals are asked outside of the simulation that Forebay runs in: its clock stands still while a
//! thread of it waits for another program.
//!
//! Callers: `differential`.

mod postgresql;
mod sqlite;

pub use postgresql::Postgresql;
pub use sqlite::Sqlite;

use crate::bed::Engine;

/// A program that runs cases.
pub trait Program: Engine {
    /// Takes away whatever an earlier case has left.
    ///
    /// # Errors
    /// What the program says, or that it has gone.
    fn clear(&mut self) -> Result<(), String>;

    /// Its name and version.
    fn version(&self) -> String;
}
