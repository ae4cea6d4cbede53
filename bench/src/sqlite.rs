//! SQLite, in this process, as its users run it when they want durable commits.
//!
//! WAL with `synchronous=FULL`: each commit is synced. A connection for each thread, statements
//! prepared once, `BEGIN IMMEDIATE` so that nobody is refused in the middle, a busy timeout instead
//! of an error.
//!
//! Callers: races.
//! Source: SQLite's documentation of `PRAGMA synchronous` and of write-ahead logging.

use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

use crate::{Error, Result};

/// Who waits for the one writer waits so long at most.
const BUSY: Duration = Duration::from_secs(60);
/// Rows of one loading transaction.
const BATCH: i64 = 10_000;

/// A database of SQLite's.
pub struct Sqlite {
    path: PathBuf,
    cache_bytes: u64,
}

/// What one TPC-B transaction is about: account, teller, branch, amount.
pub type Choice = [i64; 4];

/// A row of `item`: id, category, amount, note.
pub type Item<'a> = (i64, i64, i64, &'a str);

/// How much there is of TPC-B.
#[derive(Clone, Copy, Debug)]
pub struct TpcbRows {
    /// Branches.
    pub branches: i64,
    /// Tellers.
    pub tellers: i64,
    /// Accounts.
    pub accounts: i64,
}

impl Sqlite {
    /// A new database in this folder.
    pub fn create(directory: &Path, cache_bytes: u64) -> Result<Sqlite> {
        let made = Sqlite { path: directory.join("rival.sqlite"), cache_bytes };
        made.connect()?;
        Ok(made)
    }

    /// Version and settings, in words.
    pub fn settings(&self) -> Vec<String> {
        vec![
            format!("SQLite {}", rusqlite::version()),
            format!(
                "journal_mode=WAL, synchronous=FULL, cache of {} MiB a connection, \
                 wal_autocheckpoint at its default, a connection a thread, prepared statements, \
                 BEGIN IMMEDIATE",
                self.cache_bytes >> 20
            ),
        ]
    }

    fn connect(&self) -> Result<Connection> {
        let connection = Connection::open(&self.path)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        let kib = i64::try_from(self.cache_bytes >> 10).unwrap_or(i64::MAX);
        connection.pragma_update(None, "cache_size", -kib)?;
        Ok(connection)
    }

    /// Makes the tables of TPC-B and fills them; fillers are of so many bytes.
    pub fn load_tpcb(&self, rows: TpcbRows, filler: usize) -> Result<()> {
        let mut connection = self.connect()?;
        connection.execute_batch(
            "CREATE TABLE accounts (aid INTEGER PRIMARY KEY, bid INTEGER NOT NULL,
                                    abalance INTEGER NOT NULL, filler TEXT NOT NULL);
             CREATE TABLE tellers (tid INTEGER PRIMARY KEY, bid INTEGER NOT NULL,
                                   tbalance INTEGER NOT NULL, filler TEXT NOT NULL);
             CREATE TABLE branches (bid INTEGER PRIMARY KEY, bank INTEGER NOT NULL,
                                    bbalance INTEGER NOT NULL, filler TEXT NOT NULL);
             CREATE TABLE history (tid INTEGER NOT NULL, bid INTEGER NOT NULL,
                                   aid INTEGER NOT NULL, delta INTEGER NOT NULL,
                                   mtime INTEGER NOT NULL);",
        )?;
        let filler = ".".repeat(filler);
        for (table, count) in
            [("accounts", rows.accounts), ("tellers", rows.tellers), ("branches", rows.branches)]
        {
            let per_branch = (count / rows.branches).max(1);
            let mut next = 1;
            while next <= count {
                let transaction = connection.transaction()?;
                {
                    let text = format!("INSERT INTO {table} VALUES (?, ?, 0, ?)");
                    let mut insert = transaction.prepare(&text)?;
                    for number in next..=count.min(next + BATCH - 1) {
                        insert.execute(params![number, (number - 1) / per_branch + 1, filler])?;
                    }
                }
                transaction.commit()?;
                next += BATCH;
            }
        }
        connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
        Ok(())
    }

    /// TPC-B transactions by so many threads for so long; how many a second. `choose` makes the
    /// choices of a thread.
    pub fn run_tpcb<C: FnMut() -> Choice>(
        &self,
        threads: u64,
        length: Duration,
        choose: impl Fn(u64) -> C + Sync,
    ) -> Result<f64> {
        self.drive(threads, length, |number| {
            let mut choose = choose(number);
            move |connection: &Connection| tpcb(connection, choose())
        })
    }

    /// Makes the table that rows are inserted into and looked up in.
    pub fn create_items(&self) -> Result<()> {
        Ok(self.connect()?.execute_batch(
            "CREATE TABLE item (id INTEGER PRIMARY KEY, category INTEGER NOT NULL,
                                amount INTEGER NOT NULL, note TEXT NOT NULL)",
        )?)
    }

    /// Inserts rows, each by a statement, so many a transaction; durable when it returns.
    pub fn insert_items<'a>(
        &self,
        rows: impl ExactSizeIterator<Item = Item<'a>>,
        per_transaction: usize,
    ) -> Result<()> {
        let connection = self.connect()?;
        let mut insert = connection.prepare("INSERT INTO item VALUES (?, ?, ?, ?)")?;
        let count = rows.len();
        for (number, (id, category, amount, note)) in rows.enumerate() {
            if number % per_transaction == 0 {
                connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
            }
            insert.execute(params![id, category, amount, note])?;
            if (number + 1) % per_transaction == 0 || number + 1 == count {
                connection.prepare_cached("COMMIT")?.execute([])?;
            }
        }
        Ok(())
    }

    /// Lookups by so many threads for so long; how many a second. A turn is so many lookups, in one
    /// transaction or each by itself; `choose` makes a thread's choices.
    pub fn run_lookups<C: FnMut() -> i64>(
        &self,
        threads: u64,
        length: Duration,
        per_turn: u64,
        in_transaction: bool,
        choose: impl Fn(u64) -> C + Sync,
    ) -> Result<f64> {
        let turns = self.drive(threads, length, |number| {
            let mut choose = choose(number);
            move |connection: &Connection| {
                if in_transaction {
                    connection.prepare_cached("BEGIN")?.execute([])?;
                }
                let mut select =
                    connection.prepare_cached("SELECT amount, note FROM item WHERE id = ?")?;
                let mut sum = 0;
                for _ in 0..per_turn {
                    sum += select.query_row([choose()], |row| {
                        Ok(row.get::<_, i64>(0)? + row.get_ref(1)?.as_str()?.len() as i64)
                    })?;
                }
                std::hint::black_box(sum);
                if in_transaction {
                    connection.prepare_cached("COMMIT")?.execute([])?;
                }
                Ok(())
            }
        })?;
        Ok(turns * per_turn as f64)
    }

    /// Turns by so many threads, each with a connection, for so long; how many a second.
    fn drive<T: FnMut(&Connection) -> Result<()>>(
        &self,
        threads: u64,
        length: Duration,
        turns: impl Fn(u64) -> T + Sync,
    ) -> Result<f64> {
        let (done, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        let count = usize::try_from(threads).expect("threads are few");
        let begin = Barrier::new(count + 1);
        let mut elapsed = Duration::ZERO;
        std::thread::scope(|scope| {
            let work = |number: u64| {
                let prepared = self.connect();
                begin.wait();
                let connection = prepared?;
                let mut turn = turns(number);
                let mut mine = 0;
                while !stop.load(Ordering::Relaxed) {
                    turn(&connection)?;
                    mine += 1;
                }
                done.fetch_add(mine, Ordering::Relaxed);
                Ok::<(), Error>(())
            };
            let running: Vec<_> =
                (0..threads).map(|number| scope.spawn(move || work(number))).collect();
            begin.wait();
            let began = Instant::now();
            std::thread::sleep(length);
            stop.store(true, Ordering::Relaxed);
            let ended: Vec<_> = running.into_iter().map(|thread| thread.join()).collect();
            elapsed = began.elapsed();
            ended.into_iter().try_for_each(|ended| {
                ended.map_err(|_| Error::Failed("a thread of SQLite's panicked".into()))?
            })
        })?;
        Ok(done.load(Ordering::Relaxed) as f64 / elapsed.as_secs_f64())
    }
}

fn tpcb(connection: &Connection, [account, teller, branch, delta]: Choice) -> Result<()> {
    let run = |text: &str, of: &[&dyn rusqlite::ToSql]| -> Result<()> {
        connection.prepare_cached(text)?.execute(of)?;
        Ok(())
    };
    run("BEGIN IMMEDIATE", &[])?;
    run("UPDATE accounts SET abalance = abalance + ? WHERE aid = ?", &[&delta, &account])?;
    let _: i64 = connection
        .prepare_cached("SELECT abalance FROM accounts WHERE aid = ?")?
        .query_row([account], |row| row.get(0))?;
    run("UPDATE tellers SET tbalance = tbalance + ? WHERE tid = ?", &[&delta, &teller])?;
    run("UPDATE branches SET bbalance = bbalance + ? WHERE bid = ?", &[&delta, &branch])?;
    let history: [&dyn rusqlite::ToSql; 5] = [&teller, &branch, &account, &delta, &account];
    run("INSERT INTO history VALUES (?, ?, ?, ?, ?)", &history)?;
    run("COMMIT", &[])
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Error {
        Error::Failed(format!("SQLite: {error}"))
    }
}
