//! Order entry: warehouses that take orders, deliver and are paid, as TPC-C has it.
//!
//! Not a TPC-C result, and can't be one: sessions don't think, and have no terminals. What it is
//! for: transactions of many statements over nine tables with indexes, conflicts, aborts, deletes
//! and rows that grow; and thirteen conditions that hold of the tables at every moment, which an
//! audit checks after crashes.
//!
//! Callers: `forebay load`, the kill loop, tests.
//! Source: TPC Benchmark C, revision 5.11.

mod conditions;
mod load;
mod random;
mod schema;
mod statements;
mod transactions;

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use database::{Bounds, Connection, Database, Direction, Table};
use os::Session;
use stop::{RefusalKind, Stop};
use value::Value;

use crate::Audit;
use crate::drive::{Drive, Run, Turns, Watch, drive};
use crate::sql_client::SqlClient;
use crate::tables::primary;
use crate::texts::order_entry as texts;
use random::Random;
use schema::column;
use statements::Statements;
use transactions::Client;

pub use conditions::conditions;
pub use load::{Scale, load};
pub use schema::Tables;

impl Scale {
    /// The scale of the tables that are there.
    pub fn of(connection: &mut Connection<'_>) -> Result<Scale, Stop> {
        let tables = Tables::open(connection)?;
        let warehouses = last(connection, &tables.warehouse, &[], column::W_ID)?;
        let items = last(connection, &tables.item, &[], column::I_ID)?;
        let first = [Value::Int(1), Value::Int(1)];
        let customers = last(connection, &tables.customer, &first, column::C_ID)?;
        match (warehouses, customers, items) {
            (Some(warehouses), Some(customers), Some(items)) => {
                Ok(Scale { warehouses, customers, items })
            }
            _ => {
                let message = "the tables of order entry are empty; load them into a new database";
                Err(Stop::refuse(RefusalKind::WrongState, message))
            }
        }
    }
}

/// The last number of a table's key, among the rows whose key begins with these values.
fn last(
    connection: &mut Connection<'_>,
    table: &Table,
    before: &[Value<'_>],
    column: usize,
) -> Result<Option<i64>, Stop> {
    let mut last = None;
    let primary = primary(table)?;
    connection.range(table, primary, &Bounds::equal(before), Direction::Descending, |row| {
        last = row.get_i64(column);
        ControlFlow::Break(())
    })?;
    Ok(last)
}

/// The order-entry load: how many sessions, how long, and at which isolation level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// How many sessions work, and how long.
    pub drive: Drive,
    /// Seeds the choice of rows.
    pub seed: u64,
    /// The percentage of transactions that run at serializable.
    pub serializable: u32,
}

/// Runs the five transactions on the tables that [`load`] made.
pub fn run(
    database: &Database,
    plan: Plan,
    watch: Watch<'_>,
    session: &Session,
) -> Result<Run, Stop> {
    let Plan { drive: sessions, seed, serializable } = plan;
    let scale = {
        let mut connection = database.connect_with(session);
        let scale = Scale::of(&mut connection)?;
        let first = sessions.first_session;
        begin_sessions(&mut connection, first..first + sessions.sessions)?;
        scale
    };
    let database = database.clone();
    let client = move |turns: &mut Turns, session: &Session| {
        let mut connection = database.connect_with(session);
        let number = turns.number;
        let random = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(number.into()));
        let session_row = number.into();
        let mut sql = SqlClient::new(&mut connection)?;
        let statements = Statements::prepare(&mut sql)?;
        let mut client =
            Client { sql, statements, scale, random, session: session_row, serializable };
        while turns.next(session) {
            if let Some(done) = client.work()? {
                if done.is_committed {
                    turns.acknowledge();
                }
                turns.timed(done.name, session);
            }
        }
        Ok(())
    };
    drive(sessions, seed, Arc::new(client), watch, session)
}

/// Inserts for each session the row in which it counts its commits: all of them, or none.
fn begin_sessions(connection: &mut Connection<'_>, numbers: Range<u32>) -> Result<(), Stop> {
    let add = connection.prepare(texts::ADD_SESSIONS)?;
    let range = [i64::from(numbers.start), i64::from(numbers.end) - 1].map(Value::Int);
    connection.execute_prepared(&add, &range).map(drop)
}

/// The lowest number above those of all earlier sessions.
pub fn next_session(connection: &mut Connection<'_>) -> Result<u32, Stop> {
    let tables = Tables::open(connection)?;
    let last = last(connection, &tables.acknowledged, &[], column::A_SESSION)?;
    Ok(last.map_or(0, |last| u32::try_from(last + 1).unwrap_or(u32::MAX)))
}

/// The lowest of these numbers that an earlier session has had; none if none has.
pub fn used_session(
    connection: &mut Connection<'_>,
    numbers: Range<u32>,
) -> Result<Option<u32>, Stop> {
    let tables = Tables::open(connection)?;
    for number in numbers {
        let key = [Value::Int(number.into())];
        if connection.get(&tables.acknowledged, &key, |_| ())?.is_some() {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

/// Checks the tables against the thirteen conditions and against `acknowledged`: each session with
/// the number of its commits. A breach of a condition is a line of `unbalanced`.
pub fn audit(connection: &mut Connection<'_>, acknowledged: &[(u32, u64)]) -> Result<Audit, Stop> {
    let tables = Tables::open(connection)?;
    let mut counts = BTreeMap::new();
    connection.scan(&tables.acknowledged, |row| {
        counts.insert(row.get_i64(column::A_SESSION), row.get_i64(column::A_COMMITS));
    })?;
    let mut audit = Audit::default();
    for (session, told) in acknowledged {
        let there = counts.get(&Some(i64::from(*session))).copied().flatten().unwrap_or(0);
        let all = u64::try_from(there).unwrap_or(0);
        audit.compare(*session, *told, all.min(*told), all);
    }
    let scale = Scale::of(connection)?;
    audit.unbalanced = conditions(connection, scale)?;
    Ok(audit)
}
