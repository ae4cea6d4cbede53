//! Rows in bulk: inserted one by one, by arrays or by a load, looked up by key, all of them
//! updated.
//!
//! | column   | what                                |
//! |----------|-------------------------------------|
//! | id       | the key, from 1                     |
//! | category | id modulo 1,000                     |
//! | amount   | 0, and one more with each update    |
//! | note     | text, so that a row has 100 bytes   |
//!
//! All is done by the embedded API; lookups also by prepared SQL, to be compared with it and with
//! others' SQL.
//!
//! Callers: races `insert`, `lookup`, `update`, and those of SQL; tests.

use std::sync::Arc;

use database::{
    ColumnSpec, Connection, CursorRow, Database, Prepared, Row, Selection, Table, TableSpec,
};
use os::Session;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use stop::Stop;
use value::{Type, Value};

use crate::drive::{Drive, Run, Turns, Watch, drive};
use crate::sql_client::{Level, SqlClient, Way};
use crate::texts::bulk as texts;

/// The note of each row, which makes it about 100 bytes long.
pub const NOTE: &str = "........................................................................";
/// The number of values of the column `category`.
pub const CATEGORIES: i64 = 1_000;
/// Lookups of a turn, between two readings of the clock; with [`Scope::Transaction`] a turn is one
/// transaction.
pub const LOOKUPS_A_TURN: u64 = 1_000;

/// A table of such rows.
#[derive(Clone)]
pub struct Bulk {
    table: Table,
}

/// How rows are inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Batches {
    /// Rows of a statement; a statement of one row is a plain insert.
    pub statement: usize,
    /// Rows of a transaction.
    pub transaction: usize,
}

/// The snapshot that lookups see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Each lookup has a snapshot of its own.
    Statement,
    /// [`LOOKUPS_A_TURN`] lookups share one.
    Transaction,
}

/// What is looked up, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lookups {
    /// By the embedded API or by SQL.
    pub way: Way,
    /// The snapshots.
    pub scope: Scope,
    /// Keys are from 1 to this.
    pub rows: i64,
}

/// How many lookups a second these were.
pub fn lookups_a_second(run: &Run) -> f64 {
    run.throughput() * LOOKUPS_A_TURN as f64
}

/// The text by which lookups are made in SQL.
pub const LOOKUP_TEXT: &str = texts::LOOKUP;

impl Bulk {
    /// Makes a table without rows.
    pub fn create(connection: &mut Connection<'_>, name: &str) -> Result<Bulk, Stop> {
        let column = |name, kind| ColumnSpec::new(name, kind).not_null();
        let spec = TableSpec::new(name)
            .column(column("id", Type::BigInt))
            .column(column("category", Type::BigInt))
            .column(column("amount", Type::BigInt))
            .column(column("note", Type::varchar(100)?))
            .primary_key(["id"]);
        Ok(Bulk { table: connection.create_table(&spec)? })
    }

    /// Inserts the rows with these keys, in their order; durable when it returns.
    pub fn insert(
        &self,
        connection: &mut Connection<'_>,
        ids: std::ops::Range<i64>,
        batches: Batches,
    ) -> Result<(), Stop> {
        let rows: Vec<[Value<'_>; 4]> = ids.map(row).collect();
        for transaction in rows.chunks(batches.transaction) {
            let mut tx = connection.begin();
            for statement in transaction.chunks(batches.statement) {
                match statement {
                    [row] => drop(tx.insert(&self.table, row)?),
                    rows => drop(tx.insert_many(&self.table, rows.iter().map(|row| &row[..]))?),
                }
            }
            tx.commit()?;
        }
        Ok(())
    }

    /// Loads the rows with these keys by one statement, and commits; durable when it returns.
    pub fn load(
        &self,
        connection: &mut Connection<'_>,
        ids: std::ops::Range<i64>,
    ) -> Result<u64, Stop> {
        let mut tx = connection.begin();
        let count =
            tx.load(&self.table, |load| ids.map(row).try_for_each(|row| load.push(&row)))?;
        tx.commit()?;
        Ok(count)
    }

    /// Adds one to the amount of every row, by one statement, and commits. Returns their number.
    pub fn update_all(&self, connection: &mut Connection<'_>) -> Result<u64, Stop> {
        let mut tx = connection.begin();
        let count = tx.update_where(&self.table, Selection::All, None, |row, change| {
            change.set(2, Value::Int(row.get_i64(2).unwrap_or(0) + 1))
        })?;
        tx.commit()?;
        Ok(count)
    }

    /// The number of rows, and the sum of their amounts.
    pub fn sums(&self, connection: &mut Connection<'_>) -> Result<(u64, i64), Stop> {
        let mut sums = (0, 0);
        connection.scan(&self.table, |row| {
            sums = (sums.0 + 1, sums.1 + row.get_i64(2).unwrap_or(0));
        })?;
        Ok(sums)
    }

    /// Runs lookups by random keys of 1 to `rows`, in turns of [`LOOKUPS_A_TURN`]. By SQL they are
    /// made in the table `item`.
    pub fn run_lookups(
        &self,
        database: &Database,
        lookups: Lookups,
        plan: Drive,
        seed: u64,
        session: &Session,
    ) -> Result<Run, Stop> {
        let (bulk, database) = (self.clone(), database.clone());
        let client = move |turns: &mut Turns, session: &Session| {
            let mut connection = database.connect_with(session);
            let mut ids = Ids::new(seed, turns.number.into(), lookups.rows);
            let sum = match lookups.way {
                Way::Api => bulk.look_up(&mut connection, &mut ids, lookups.scope, turns, session),
                Way::Sql => {
                    look_up_by_sql(&mut connection, &mut ids, lookups.scope, turns, session)
                }
            };
            std::hint::black_box(sum?);
            Ok(())
        };
        drive(plan, seed, Arc::new(client), Watch::default(), session)
    }

    fn look_up(
        &self,
        connection: &mut Connection<'_>,
        ids: &mut Ids,
        scope: Scope,
        turns: &mut Turns,
        session: &Session,
    ) -> Result<i64, Stop> {
        let mut sum = 0;
        while turns.next(session) {
            sum += self.turn_of_lookups(connection, ids, scope)?;
            turns.acknowledge();
        }
        Ok(sum)
    }

    fn turn_of_lookups(
        &self,
        connection: &mut Connection<'_>,
        ids: &mut Ids,
        scope: Scope,
    ) -> Result<i64, Stop> {
        let mut sum = 0;
        match scope {
            Scope::Statement => {
                for _ in 0..LOOKUPS_A_TURN {
                    sum += connection.get(&self.table, &ids.next_key(), looked)?.unwrap_or(0);
                }
            }
            Scope::Transaction => {
                let mut tx = connection.begin_serializable()?;
                for _ in 0..LOOKUPS_A_TURN {
                    sum += tx.get(&self.table, &ids.next_key(), looked)?.unwrap_or(0);
                }
                tx.commit()?;
            }
        }
        Ok(sum)
    }
}

fn look_up_by_sql(
    connection: &mut Connection<'_>,
    ids: &mut Ids,
    scope: Scope,
    turns: &mut Turns,
    session: &Session,
) -> Result<i64, Stop> {
    let mut sql = SqlClient::new(connection)?;
    let lookup = sql.prepare(texts::LOOKUP)?;
    let mut sum = 0;
    while turns.next(session) {
        sum += turn_by_sql(&mut sql, &lookup, ids, scope)?;
        turns.acknowledge();
    }
    Ok(sum)
}

fn turn_by_sql(
    sql: &mut SqlClient<'_, '_>,
    lookup: &Prepared,
    ids: &mut Ids,
    scope: Scope,
) -> Result<i64, Stop> {
    let mut sum = 0;
    if scope == Scope::Transaction {
        sql.begin(Level::Serializable)?;
    }
    for _ in 0..LOOKUPS_A_TURN {
        sum += sql.first(lookup, &ids.next_key(), looked_at)?.unwrap_or(0);
    }
    if scope == Scope::Transaction {
        sql.commit()?;
    }
    Ok(sum)
}

/// The result of a lookup by SQL, which is that of the API.
fn looked_at(row: CursorRow<'_>) -> Result<i64, Stop> {
    Ok(row.get::<i64>(0)? + row.get::<&str>(1)?.len() as i64)
}

/// The result of a lookup: the amount plus the length of the note.
fn looked(row: Row<'_>) -> i64 {
    let note = row.get_text(3).ok().flatten().map_or(0, str::len);
    row.get_i64(2).unwrap_or(0) + note as i64
}

/// The row with this key.
fn row(id: i64) -> [Value<'static>; 4] {
    [Value::Int(id), Value::Int(id % CATEGORIES), Value::Int(0), Value::Text(NOTE)]
}

/// Random keys, the same for every system that is raced.
pub struct Ids {
    random: Xoshiro256PlusPlus,
    most: i64,
}

impl Ids {
    /// The keys of one thread, from 1 to `most`.
    pub fn new(seed: u64, thread: u64, most: i64) -> Ids {
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(thread);
        Ids { random: Xoshiro256PlusPlus::seed_from_u64(seed), most }
    }

    fn next_key(&mut self) -> [Value<'static>; 1] {
        [Value::Int(self.next_id())]
    }

    /// The next key.
    pub fn next_id(&mut self) -> i64 {
        self.random.random_range(1..=self.most)
    }
}
