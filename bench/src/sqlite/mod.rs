//! SQLite, in this process, at its best for durable commits and for threads.
//!
//! ```text
//!   .cargo/config.toml ── how it is compiled; `build` refuses another build
//!        │
//!   Sqlite ─┬─ writer    one connection under one mutex, for all threads that write
//!           ├─ readers   a connection for each thread that reads, each with a cache of its own
//!           └─ checkpoint  the WAL into the database, when the race says so
//! ```
//!
//! WAL with `synchronous=FULL`: each commit is synced. There is one writer at a time in SQLite
//! whatever one does, so writers queue for one connection in the application: its page cache stays
//! valid, where a second connection would have to read again what the first one changed, and
//! nobody sleeps in a busy handler. Connections stay open from run to run and are warm.
//!
//! The WAL isn't checkpointed within a commit but by [`Sqlite::checkpoint`]: its callers say
//! whether that is timed. It keeps its length (`RESTART`, not `TRUNCATE`), for a sync of a file
//! that grows costs the file system a commit of its own.
//!
//! Callers: races.
//! Sources: SQLite's documentation of compile-time options, `PRAGMA synchronous`, write-ahead
//! logging and memory-mapped I/O.

mod build;
mod drive;
mod items;
mod tpcb;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use rusqlite::Connection;

use crate::{Error, Result};

pub use drive::Load;
pub use items::{Batches, Item};
pub use tpcb::{Choice, TpcbRows};

/// How much of the database is read by way of a mapping instead of a copy: all of it.
const MMAP_BYTES: i64 = 1 << 30;

/// A database of SQLite's.
pub struct Sqlite {
    path: PathBuf,
    cache_bytes: u64,
    build: String,
    writer: Mutex<Connection>,
    readers: Vec<Mutex<Connection>>,
}

impl Sqlite {
    /// A new database in this folder, with connections for so many threads that read. Refused if
    /// SQLite isn't compiled as it is at its best.
    pub fn create(directory: &Path, cache_bytes: u64, readers: u32) -> Result<Sqlite> {
        let path = directory.join("rival.sqlite");
        let writer = connect(&path, cache_bytes)?;
        let build = build::check(&writer)?;
        let readers = (0..readers).map(|_| connect(&path, cache_bytes).map(Mutex::new));
        let readers = readers.collect::<Result<_>>()?;
        Ok(Sqlite { path, cache_bytes, build, writer: Mutex::new(writer), readers })
    }

    /// Version and settings, in words.
    pub fn settings(&self) -> Vec<String> {
        vec![
            format!("SQLite {}, compiled with {}", rusqlite::version(), self.build),
            format!(
                "SQLite: journal_mode=WAL, synchronous=FULL, wal_autocheckpoint=0, mmap_size={} \
                 MiB, cache_size={} MiB a connection, SQLITE_OPEN_NOMUTEX; one connection writes, \
                 under a mutex of the application; each thread that reads has one",
                MMAP_BYTES >> 20,
                self.cache_bytes >> 20
            ),
        ]
    }

    /// Brings all of the WAL into the database, durably; the next commit begins the WAL again from
    /// its front.
    pub fn checkpoint(&self) -> Result<()> {
        let busy: i64 =
            self.writer().query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| row.get(0))?;
        match busy {
            0 => Ok(()),
            _ => Err(Error::Failed("SQLite didn't checkpoint: a connection reads".into())),
        }
    }

    /// Makes the WAL so long that no commit of a run makes it longer, and checkpoints it: adds one
    /// to a column in all rows of a table and takes it away again. (A page that an update leaves as
    /// it was isn't written.)
    pub fn lengthen_wal(&self, bytes: u64, table: &str, column: &str) -> Result<()> {
        let wal = self.path.with_extension("sqlite-wal");
        while std::fs::metadata(&wal).map_or(0, |found| found.len()) < bytes {
            for change in ["+ 1", "- 1"] {
                let text = format!("UPDATE {table} SET {column} = {column} {change}");
                if self.writer().execute(&text, [])? == 0 {
                    let what = format!("{table} has no rows to lengthen the WAL with");
                    return Err(Error::Refused(what));
                }
            }
        }
        self.checkpoint()
    }

    fn writer(&self) -> MutexGuard<'_, Connection> {
        self.writer.lock().expect("a thread that writes doesn't panic")
    }

    fn reader(&self, number: u64) -> MutexGuard<'_, Connection> {
        let number = usize::try_from(number).expect("threads are few");
        self.readers[number].lock().expect("a thread that reads doesn't panic")
    }
}

/// A connection without a mutex: the application sees to it that one thread at a time has it.
fn connect(path: &Path, cache_bytes: u64) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "mmap_size", MMAP_BYTES)?;
    let kib = i64::try_from(cache_bytes >> 10).unwrap_or(i64::MAX);
    connection.pragma_update(None, "cache_size", -kib)?;
    Ok(connection)
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Error {
        Error::Failed(format!("SQLite: {error}"))
    }
}
