//! SQLite's side of races `insert` and `lookup`: a table with a primary key.
//!
//! Callers: those races.

use std::fmt::Write;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Statement};

use super::Sqlite;
use super::drive::{Load, drive};
use crate::Result;

/// A row of `item`: id, category, amount, note.
pub type Item<'a> = (i64, i64, i64, &'a str);

/// How rows are inserted.
#[derive(Clone, Copy, Debug)]
pub struct Batches {
    /// Rows of a statement.
    pub statement: usize,
    /// Rows of a transaction.
    pub transaction: usize,
}

impl Sqlite {
    /// Makes the table that rows are inserted into and looked up in.
    pub fn create_items(&self) -> Result<()> {
        Ok(self.writer().execute_batch(
            "CREATE TABLE item (id INTEGER PRIMARY KEY, category INTEGER NOT NULL,
                                amount INTEGER NOT NULL, note TEXT NOT NULL)",
        )?)
    }

    /// Inserts rows by prepared statements; durable when it returns.
    pub fn insert_items(&self, rows: &[Item<'_>], batches: Batches) -> Result<()> {
        let writer = self.writer();
        for transaction in rows.chunks(batches.transaction) {
            writer.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
            insert(&writer, transaction, batches.statement)?;
            writer.prepare_cached("COMMIT")?.execute([])?;
        }
        Ok(())
    }

    /// Reads all rows by each connection that reads, so that they are in its cache.
    pub fn warm_items(&self) -> Result<()> {
        for number in 0..self.readers.len() as u64 {
            let reader = self.reader(number);
            let text = "SELECT sum(amount + length(note)) FROM item";
            let _: Option<i64> = reader.query_row(text, [], |row| row.get(0))?;
        }
        Ok(())
    }

    /// Lookups by the threads of the load; how many a second. A turn is so many lookups, in one
    /// transaction or each by itself; `choose` makes a thread's choices.
    pub fn run_lookups<C: FnMut() -> i64>(
        &self,
        load: Load,
        per_turn: u64,
        in_transaction: bool,
        choose: impl Fn(u64) -> C + Sync,
    ) -> Result<f64> {
        let turns = drive(load, |number| {
            let (mut choose, reader) = (choose(number), self.reader(number));
            move || {
                if in_transaction {
                    reader.prepare_cached("BEGIN")?.execute([])?;
                }
                let mut select =
                    reader.prepare_cached("SELECT amount, note FROM item WHERE id = ?")?;
                let mut sum = 0;
                for _ in 0..per_turn {
                    sum += select.query_row([choose()], |row| {
                        let note = match row.get_ref(1)? {
                            ValueRef::Text(bytes) => bytes.len(),
                            _ => 0,
                        };
                        Ok(row.get::<_, i64>(0)? + note as i64)
                    })?;
                }
                std::hint::black_box(sum);
                drop(select);
                if in_transaction {
                    reader.prepare_cached("COMMIT")?.execute([])?;
                }
                Ok(())
            }
        })?;
        Ok(turns * per_turn as f64)
    }
}

/// Inserts rows, so many a statement.
fn insert(connection: &Connection, rows: &[Item<'_>], per_statement: usize) -> Result<()> {
    let whole = rows.chunks_exact(per_statement);
    let rest = whole.remainder();
    let mut statement = connection.prepare_cached(&insert_text(per_statement))?;
    for rows in whole {
        insert_by(&mut statement, rows)?;
    }
    match rest {
        [] => Ok(()),
        rows => insert_by(&mut *connection.prepare_cached(&insert_text(rows.len()))?, rows),
    }
}

fn insert_text(rows: usize) -> String {
    let mut text = String::from("INSERT INTO item VALUES (?, ?, ?, ?)");
    for _ in 1..rows {
        let _ = write!(text, ", (?, ?, ?, ?)");
    }
    text
}

fn insert_by(statement: &mut Statement<'_>, rows: &[Item<'_>]) -> Result<()> {
    for (at, (id, category, amount, note)) in rows.iter().enumerate() {
        statement.raw_bind_parameter(4 * at + 1, id)?;
        statement.raw_bind_parameter(4 * at + 2, category)?;
        statement.raw_bind_parameter(4 * at + 3, amount)?;
        statement.raw_bind_parameter(4 * at + 4, note)?;
    }
    statement.raw_execute()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scratch;
    use std::time::Duration;

    #[test]
    fn rows_are_there_however_they_are_batched() {
        let scratch = Scratch::create(&std::env::temp_dir()).expect("it is writable");
        let sqlite = Sqlite::create(scratch.path(), 1 << 20, 2).expect("it is a fast build");
        sqlite.create_items().expect("it is new");
        let rows: Vec<Item<'_>> = (1..=1_003).map(|id| (id, id % 10, 0, "note")).collect();
        let (some, others) = rows.split_at(500);
        sqlite.insert_items(some, Batches { statement: 1, transaction: 100 }).expect("inserted");
        sqlite.insert_items(others, Batches { statement: 64, transaction: 200 }).expect("inserted");
        sqlite.lengthen_wal(8 << 20, "item", "amount").expect("there are rows");
        sqlite.warm_items().expect("it can be read");
        let load = Load {
            threads: 2,
            warm_up: Duration::from_millis(5),
            length: Duration::from_millis(20),
        };
        for in_transaction in [false, true] {
            // A row that isn't there is an error.
            let choose = |thread: u64| {
                let mut id = thread as i64;
                move || {
                    id = id % 1_003 + 1;
                    id
                }
            };
            let rate =
                sqlite.run_lookups(load, 100, in_transaction, choose).expect("all are there");
            assert!(rate > 0.0);
        }
        assert!(sqlite.lengthen_wal(u64::MAX, "item", "nothing").is_err());
    }
}
