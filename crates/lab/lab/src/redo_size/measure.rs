//! The measuring: sizes in the order of a lot, once in each round.
//!
//! Callers: `run`.

use database::{
    ColumnSpec, Connection, Database, Row, RowChange, Table, TableSpec, Tx, Type, Value,
};
use experiment::Commits;
use instance::{Creation, Parameters};
use os::Session;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use stop::Stop;
use waits::{Nanos, Statistic};

use crate::linux::Chosen;

const MIB: u64 = 1 << 20;
/// With id and n a row of 100 bytes.
const FILLER_BYTES: u16 = 84;
/// Rows of the table: enough that a row is changed again only much later.
pub(super) const ROWS: u64 = 16_384;
pub(super) const TABLE: &str = "rows";
/// Rows of one transaction of the loading.
const LOAD_BATCH: u64 = 1_000;
/// CPU of an update of one row that a modelled machine is charged beside the engine's own charges,
/// as measured here. So redo is made at some 150 MB/s there too.
const UPDATE: Nanos = Nanos::from_micros(2);

/// The amounts of redo, and how many times each is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// The smallest, and the distance of one from the next, in bytes of redo.
    pub step: u64,
    /// How many sizes there are.
    pub count: u64,
    /// How many times each is measured.
    pub rounds: u32,
}

impl Sizes {
    /// To 4.5 MB: four falls.
    pub const HERE: Sizes = Sizes { step: MIB / 16, count: 72, rounds: 9 };
    /// For a model, which scatters less.
    pub const MODELLED: Sizes = Sizes { step: MIB / 16, count: 72, rounds: 3 };
    /// The smallest that still shows teeth, for tests.
    pub const TINY: Sizes = Sizes { step: MIB / 13, count: 53, rounds: 1 };
}

/// The measured curve, and what is known of the instance.
pub(super) struct Measured {
    pub(super) curve: Points,
    pub(super) commits: Commits,
    pub(super) chosen: Chosen,
}

/// The measured curve.
#[derive(Clone, Debug, Default)]
pub(super) struct Points {
    /// Of each size, the redo of its transaction in bytes.
    pub(super) redo: Vec<f64>,
    /// Of each round, the time of each size's commit in us.
    pub(super) rounds: Vec<Vec<f64>>,
}

pub(super) fn creation() -> Creation {
    Creation { data_bytes: 64 * MIB, ..Creation::default() }
}

/// The whole table stays in the cache, and a third of the log buffer is more than any size: LGWR
/// writes for no other reason than a megabyte.
pub(super) fn parameters() -> Parameters {
    Parameters { db_cache_size: 96 * MIB, log_buffer: 16 * MIB, ..Parameters::default() }
}

/// After each acknowledged commit, the number that the last changed row got.
pub(super) type Acknowledged = Vec<u64>;

/// Measures in an open instance. None if it was told to stop.
pub(super) fn measure(
    database: &Database,
    sizes: Sizes,
    seed: u64,
    tell: &mut dyn FnMut(&str),
    told_to_stop: &dyn Fn() -> bool,
    session: &Session,
) -> Result<Option<(Points, Acknowledged)>, Stop> {
    let connection = database.connect_with(session);
    let table = connection.table(TABLE)?;
    let acknowledged = Vec::new();
    let mut bench = Bench { connection, table, next: 0, per_row: 0.0, acknowledged, session };
    bench.calibrate()?;
    let mut order: Vec<usize> = (0..sizes.count as usize).collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut measured = Points { redo: vec![0.0; order.len()], rounds: Vec::new() };
    for round in 0..sizes.rounds {
        tell(&format!("round {} of {}", round + 1, sizes.rounds));
        order.shuffle(&mut random);
        let mut times = vec![0.0; order.len()];
        for at in &order {
            if told_to_stop() {
                return Ok(None);
            }
            let (redo, took) = bench.transaction((*at as u64 + 1) * sizes.step)?;
            times[*at] = took.0 as f64 / 1e3;
            measured.redo[*at] += redo as f64 / f64::from(sizes.rounds);
        }
        measured.rounds.push(times);
    }
    Ok(Some((measured, bench.acknowledged)))
}

pub(super) fn load(connection: &mut Connection<'_>) -> Result<(), Stop> {
    let column = |name: &str, kind| ColumnSpec::new(name, kind).not_null();
    let spec = TableSpec::new(TABLE)
        .column(column("id", Type::BigInt))
        .column(column("n", Type::BigInt))
        .column(column("filler", Type::char(FILLER_BYTES)?))
        .primary_key(["id"]);
    let table = connection.create_table(&spec)?;
    for first in (0..ROWS).step_by(LOAD_BATCH as usize) {
        let mut tx = connection.begin();
        for id in first..ROWS.min(first + LOAD_BATCH) {
            let row = [Value::Int(id as i64), Value::Int(0), Value::Text(&filler_of(0))];
            tx.insert(&table, &row)?;
        }
        tx.commit()?;
    }
    Ok(())
}

/// A filler that differs in every byte from those of the numbers before and after.
pub(super) fn filler_of(number: u64) -> String {
    let letter = b'a' + (number % 26) as u8;
    char::from(letter).to_string().repeat(FILLER_BYTES.into())
}

struct Bench<'a> {
    connection: Connection<'a>,
    table: Table,
    next: u64,
    /// Bytes of redo that the update of one row makes.
    per_row: f64,
    acknowledged: Acknowledged,
    session: &'a Session,
}

impl Bench<'_> {
    fn calibrate(&mut self) -> Result<(), Stop> {
        let before = redo(self.session);
        let mut tx = self.connection.begin();
        update(&mut tx, &self.table, &mut self.next, LOAD_BATCH, self.session)?;
        self.per_row = (redo(self.session) - before) as f64 / LOAD_BATCH as f64;
        tx.commit()?;
        self.acknowledged.push(self.next);
        Ok(())
    }

    /// Makes this much redo and commits. Returns the redo, and how long the commit took.
    fn transaction(&mut self, bytes: u64) -> Result<(u64, Nanos), Stop> {
        let session = self.session;
        let (rows, before) = ((bytes as f64 / self.per_row).round() as u64, redo(session));
        let mut tx = self.connection.begin();
        update(&mut tx, &self.table, &mut self.next, rows, session)?;
        let (made, begin) = (redo(session) - before, session.now());
        tx.commit()?;
        let took = session.now().since(begin);
        self.acknowledged.push(self.next);
        Ok((made, took))
    }
}

/// Changes `rows` rows by key, beginning after the last one that was changed.
fn update(
    tx: &mut Tx<'_, '_>,
    table: &Table,
    next: &mut u64,
    rows: u64,
    session: &Session,
) -> Result<(), Stop> {
    for _ in 0..rows {
        // Never the values that the row has: nothing would be changed.
        *next += 1;
        let (number, filler) = (*next as i64, filler_of(*next));
        let change = |_: &Row<'_>, change: &mut RowChange<'_>| {
            change.set(1, Value::Int(number))?;
            change.set(2, Value::Text(&filler))
        };
        let found = tx.update(table, &[Value::Int((*next % ROWS) as i64)], change)?;
        assert!(found, "every row was inserted");
        // The log writer comes to run while this goes on.
        session.charge_nanos(UPDATE);
        session.relax(u32::MAX);
    }
    Ok(())
}

/// Bytes of redo of all sessions; the others make hardly any.
fn redo(session: &Session) -> u64 {
    session.os().totals().statistic(Statistic::RedoSize)
}
