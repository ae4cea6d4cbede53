//! SQLite's side of race `tpcb`.
//!
//! Callers: that race.

use rusqlite::{Connection, params};

use super::Sqlite;
use super::drive::{Load, drive};
use crate::Result;

/// Rows of one loading transaction.
const BATCH: i64 = 10_000;

/// What one TPC-B transaction is about: account, teller, branch, amount.
pub type Choice = [i64; 4];

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
    /// Makes the tables of TPC-B and fills them; fillers are of so many bytes. Afterwards a WAL of
    /// `wal_bytes` is there already.
    pub fn load_tpcb(&self, rows: TpcbRows, filler: usize, wal_bytes: u64) -> Result<()> {
        let mut writer = self.writer();
        writer.execute_batch(
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
                let transaction = writer.transaction()?;
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
        drop(writer);
        self.checkpoint()?;
        self.lengthen_wal(wal_bytes, "accounts", "abalance")
    }

    /// TPC-B transactions by the threads of the load; how many a second. `choose` makes the choices
    /// of a thread.
    pub fn run_tpcb<C: FnMut() -> Choice>(
        &self,
        load: Load,
        choose: impl Fn(u64) -> C + Sync,
    ) -> Result<f64> {
        drive(load, |number| {
            let mut choose = choose(number);
            move || {
                let choice = choose();
                tpcb(&self.writer(), choice)
            }
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scratch;
    use std::time::Duration;

    #[test]
    fn threads_that_queue_for_the_writer_lose_nothing() {
        let scratch = Scratch::create(&std::env::temp_dir()).expect("it is writable");
        let sqlite = Sqlite::create(scratch.path(), 1 << 20, 0).expect("it is a fast build");
        let rows = TpcbRows { branches: 2, tellers: 20, accounts: 200 };
        sqlite.load_tpcb(rows, 72, 4 << 20).expect("the folder has room");
        let load = Load {
            threads: 4,
            warm_up: Duration::from_millis(5),
            length: Duration::from_millis(50),
        };
        let rate = sqlite.run_tpcb(load, |thread| {
            let mut next = thread as i64;
            move || {
                next += 7;
                [next % 200 + 1, next % 20 + 1, next % 2 + 1, next % 100]
            }
        });
        assert!(rate.expect("nobody is refused") > 0.0);
        sqlite.checkpoint().expect("nobody reads");
        let sum = |text: &str| -> i64 {
            sqlite.writer().query_row(text, [], |row| row.get(0)).expect("there are rows")
        };
        let history = sum("SELECT sum(delta) FROM history");
        assert!(history > 0);
        assert_eq!(sum("SELECT sum(abalance) FROM accounts"), history);
        assert_eq!(sum("SELECT sum(bbalance) FROM branches"), history);
    }
}
