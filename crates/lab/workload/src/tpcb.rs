//! TPC-B's transaction, by keys: three updates, a select, an insert, a durable commit.
//!
//! | table    | key | columns                                              |
//! |----------|-----|------------------------------------------------------|
//! | accounts | aid | bid, abalance, filler to 100 bytes                   |
//! | tellers  | tid | bid, tbalance, filler                                |
//! | branches | bid | bbalance, filler                                     |
//! | history  |     | tid, bid, aid, delta, mtime, filler                  |
//!
//! As pgbench has it (its `tpcb-like` script), with fewer accounts a branch: what is raced is work
//! and commits, not how long a load takes. pgbench declares no foreign keys unless it is asked to,
//! so these tables have none either: they would change the work that is raced.
//!
//! Transactions run by calls of the embedded API or by prepared SQL, with the same choices.
//!
//! Callers: races `tpcb` and `sql-tpcb`.
//! Source: TPC Benchmark B, revision 2.0; PostgreSQL's pgbench.

use std::sync::Arc;

use database::{ColumnSpec, Connection, Database, Prepared, Row, RowChange, Table, TableSpec};
use os::Session;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use stop::Stop;
use value::{Timestamp, Type, Value};

use crate::drive::{Drive, Run, Turns, Watch, drive};
use crate::sql_client::{Level, SqlClient, Way};
use crate::texts::tpcb as texts;

/// Tellers of a branch.
pub const TELLERS: i64 = 10;
/// Fillers, so that rows are about as long as the benchmark asks.
const FILLER: &str = "........................................................................";
const BATCH: usize = 1_000;

/// How much there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TpcbScale {
    /// Branches; each has ten tellers.
    pub branches: i64,
    /// Accounts in all.
    pub accounts: i64,
}

/// The tables, open.
pub struct Tpcb {
    accounts: Table,
    tellers: Table,
    branches: Table,
    history: Table,
    scale: TpcbScale,
}

/// One session's choices.
pub struct TpcbClient {
    random: Xoshiro256PlusPlus,
}

/// What a transaction is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TpcbChoice {
    /// The account.
    pub account: i64,
    /// The teller.
    pub teller: i64,
    /// The branch.
    pub branch: i64,
    /// What is paid.
    pub delta: i64,
}

impl TpcbClient {
    /// A session's, repeatable by its seed.
    pub fn new(seed: u64) -> TpcbClient {
        TpcbClient { random: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// What the next transaction is about; the same for every system that is raced.
    pub fn choose(&mut self, scale: TpcbScale) -> TpcbChoice {
        let mut up_to = |most: i64| self.random.random_range(1..=most);
        let (account, teller) = (up_to(scale.accounts), up_to(scale.branches * TELLERS));
        let branch = (teller - 1) / TELLERS + 1;
        TpcbChoice { account, teller, branch, delta: up_to(10_000) - 5_000 }
    }
}

impl Tpcb {
    /// Makes the tables and fills them.
    pub fn load(connection: &mut Connection<'_>, scale: TpcbScale) -> Result<Tpcb, Stop> {
        let mut make = |name: &str, columns: &[(&str, Type)], has_key: bool| {
            connection.create_table(&spec(name, columns, has_key))
        };
        let (int, filler) = (Type::BigInt, Type::varchar(100)?);
        let balances = |key: &'static str, of: &'static str, balance: &'static str| {
            [(key, int), (of, int), (balance, int), ("filler", filler)]
        };
        let tables = Tpcb {
            accounts: make("accounts", &balances("aid", "bid", "abalance"), true)?,
            tellers: make("tellers", &balances("tid", "bid", "tbalance"), true)?,
            branches: make("branches", &balances("bid", "bank", "bbalance"), true)?,
            history: make(
                "history",
                &[
                    ("tid", int),
                    ("bid", int),
                    ("aid", int),
                    ("delta", int),
                    ("mtime", Type::Timestamp),
                ],
                false,
            )?,
            scale,
        };
        let per_branch = (scale.accounts / scale.branches).max(1);
        fill(connection, &tables.accounts, scale.accounts, per_branch)?;
        fill(connection, &tables.tellers, scale.branches * TELLERS, TELLERS)?;
        fill(connection, &tables.branches, scale.branches, 1)?;
        Ok(tables)
    }

    /// How much there is.
    pub fn scale(&self) -> TpcbScale {
        self.scale
    }

    /// One transaction; its account's balance.
    pub fn transaction(
        &self,
        connection: &mut Connection<'_>,
        choice: TpcbChoice,
    ) -> Result<i64, Stop> {
        let TpcbChoice { account, teller, branch, delta } = choice;
        let mut tx = connection.begin();
        let pay = |row: &Row<'_>, change: &mut RowChange<'_>| {
            change.set(2, Value::Int(row.get_i64(2).unwrap_or(0) + delta))
        };
        tx.update(&self.accounts, &[Value::Int(account)], pay)?;
        let balance = tx.get(&self.accounts, &[Value::Int(account)], |row| row.get_i64(2))?;
        tx.update(&self.tellers, &[Value::Int(teller)], pay)?;
        tx.update(&self.branches, &[Value::Int(branch)], pay)?;
        let moment = moment_of(account);
        let [tid, bid, aid, delta] = [teller, branch, account, delta].map(Value::Int);
        tx.insert(&self.history, &[tid, bid, aid, delta, moment])?;
        tx.commit()?;
        Ok(balance.flatten().unwrap_or(0))
    }

    /// Runs transactions by the sessions of `plan`.
    pub fn run(
        self: &Arc<Self>,
        database: &Database,
        way: Way,
        plan: Drive,
        seed: u64,
        session: &Session,
    ) -> Result<Run, Stop> {
        let (tpcb, database) = (Arc::clone(self), database.clone());
        let client = move |turns: &mut Turns, session: &Session| {
            let mut connection = database.connect_with(session);
            let seed = seed.wrapping_mul(1_000_003).wrapping_add(turns.number.into());
            let choices = TpcbClient::new(seed);
            match way {
                Way::Api => tpcb.work(&mut connection, choices, turns, session),
                Way::Sql => work_by_sql(&mut connection, tpcb.scale, choices, turns, session),
            }
        };
        drive(plan, seed, Arc::new(client), Watch::default(), session)
    }

    fn work(
        &self,
        connection: &mut Connection<'_>,
        mut choices: TpcbClient,
        turns: &mut Turns,
        session: &Session,
    ) -> Result<(), Stop> {
        while turns.next(session) {
            self.transaction(connection, choices.choose(self.scale))?;
            turns.acknowledge();
        }
        Ok(())
    }

    /// The sums of all accounts, of all tellers, of all branches and of history: four equal sums.
    pub fn sums(&self, connection: &mut Connection<'_>) -> Result<[i64; 4], Stop> {
        let mut tx = connection.begin_serializable()?;
        let mut sums = [0; 4];
        let tables =
            [(&self.accounts, 2), (&self.tellers, 2), (&self.branches, 2), (&self.history, 3)];
        for (sum, (table, column)) in sums.iter_mut().zip(tables) {
            tx.scan(table, |row| *sum += row.get_i64(column).unwrap_or(0))?;
        }
        tx.rollback()?;
        Ok(sums)
    }
}

fn work_by_sql(
    connection: &mut Connection<'_>,
    scale: TpcbScale,
    mut choices: TpcbClient,
    turns: &mut Turns,
    session: &Session,
) -> Result<(), Stop> {
    let mut sql = SqlClient::new(connection)?;
    let statements = Statements::prepare(&mut sql)?;
    while turns.next(session) {
        statements.transaction(&mut sql, choices.choose(scale))?;
        turns.acknowledge();
    }
    Ok(())
}

/// What a session has prepared.
struct Statements {
    pay_account: Prepared,
    balance: Prepared,
    pay_teller: Prepared,
    pay_branch: Prepared,
    add_history: Prepared,
}

impl Statements {
    fn prepare(sql: &mut SqlClient<'_, '_>) -> Result<Statements, Stop> {
        Ok(Statements {
            pay_account: sql.prepare(texts::PAY_ACCOUNT)?,
            balance: sql.prepare(texts::BALANCE)?,
            pay_teller: sql.prepare(texts::PAY_TELLER)?,
            pay_branch: sql.prepare(texts::PAY_BRANCH)?,
            add_history: sql.prepare(texts::ADD_HISTORY)?,
        })
    }

    /// One transaction; its account's balance.
    fn transaction(&self, sql: &mut SqlClient<'_, '_>, choice: TpcbChoice) -> Result<i64, Stop> {
        let TpcbChoice { account, teller, branch, delta } = choice;
        let moment = moment_of(account);
        let [tid, bid, aid, delta] = [teller, branch, account, delta].map(Value::Int);
        sql.begin(Level::ReadCommitted)?;
        sql.execute(&self.pay_account, &[delta, aid])?;
        let balance = sql.first(&self.balance, &[aid], |row| row.get::<i64>(0))?;
        sql.execute(&self.pay_teller, &[delta, tid])?;
        sql.execute(&self.pay_branch, &[delta, bid])?;
        sql.execute(&self.add_history, &[tid, bid, aid, delta, moment])?;
        sql.commit()?;
        Ok(balance.unwrap_or(0))
    }
}

/// The moment of a row of history: any will do, and this is the same on all sides.
fn moment_of(account: i64) -> Value<'static> {
    Value::Timestamp(Timestamp::from_us(account).expect("a moment of 1970"))
}

fn spec(name: &str, columns: &[(&str, Type)], has_key: bool) -> TableSpec {
    let columns_of = |spec: TableSpec, (name, kind): &(&str, Type)| {
        spec.column(ColumnSpec::new(name, *kind).not_null())
    };
    let spec = columns.iter().fold(TableSpec::new(name), columns_of);
    if has_key { spec.primary_key([columns[0].0]) } else { spec }
}

fn fill(
    connection: &mut Connection<'_>,
    table: &Table,
    rows: i64,
    per_branch: i64,
) -> Result<(), Stop> {
    let numbers: Vec<i64> = (1..=rows).collect();
    for batch in numbers.chunks(BATCH) {
        let mut tx = connection.begin();
        for number in batch {
            let branch = (number - 1) / per_branch + 1;
            let row = [*number, branch, 0].map(Value::Int);
            tx.insert(table, &[&row[..], &[Value::Text(FILLER)]].concat())?;
        }
        tx.commit()?;
    }
    Ok(())
}
