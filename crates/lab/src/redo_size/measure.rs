//! The measuring: sizes in the order of a lot, once in each round.
//!
//! Callers: `run`.

use access::{Inserter, RowAddress, RowMut, Table};
use instance::{Creation, Instance, Parameters, Transaction};
use os::Session;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use space::Column;
use stop::Stop;
use waits::{Nanos, Statistic};

const MIB: u64 = 1 << 20;
const ROW: [Column; 2] = [Column::Number, Column::Bytes(92)];
/// Enough that a row isn't changed again before its block has left everybody's mind.
const ROWS: u64 = 16_384;
/// Rows of one transaction of the loading.
const LOAD_BATCH: u64 = 1_000;
/// What an update of one row costs on a modelled machine beside what the engine charges: as
/// measured here. So redo comes at some 150 MB/s there as well.
const UPDATE: Nanos = Nanos::from_micros(2);

/// Which sizes, and how often each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// The smallest, and the distance of one from the next, in bytes of redo.
    pub step: u64,
    /// How many there are.
    pub count: u64,
    /// How often each is measured.
    pub rounds: u32,
}

impl Sizes {
    /// To 4.5 MB: four falls.
    pub const HERE: Sizes = Sizes { step: MIB / 16, count: 72, rounds: 9 };
    /// A model doesn't scatter that much.
    pub const MODELLED: Sizes = Sizes { step: MIB / 16, count: 72, rounds: 3 };
    /// As small as it still means something, for tests.
    pub const TINY: Sizes = Sizes { step: MIB / 10, count: 33, rounds: 1 };
}

/// What was measured.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    /// Of each size, the redo of its transaction in bytes.
    pub(super) redo: Vec<f64>,
    /// Of each round, the time of each size's commit in us.
    pub(super) rounds: Vec<Vec<f64>>,
}

/// Who is told of progress, and who says when to stop.
pub(super) struct Told<'a> {
    pub(super) tell: &'a mut dyn FnMut(&str),
    pub(super) to_stop: &'a dyn Fn() -> bool,
}

pub(super) fn creation() -> Creation {
    Creation { data_bytes: 64 * MIB, ..Creation::default() }
}

/// The whole table stays in the cache, and a third of the log buffer is more than any size: the
/// rule of a megabyte is the only one that anybody meets.
pub(super) fn parameters() -> Parameters {
    Parameters { db_cache_size: 96 * MIB, log_buffer: 16 * MIB, ..Parameters::default() }
}

/// Measures in an open instance. None if it was told to stop.
pub(super) fn measure(
    instance: &Instance,
    sizes: Sizes,
    seed: u64,
    told: Told<'_>,
    session: &Session,
) -> Result<Option<Measured>, Stop> {
    let (table, rows) = load(instance, session)?;
    let mut bench = Bench { instance, table, rows, next: 0, per_row: 0.0, session };
    bench.calibrate()?;
    let mut order: Vec<usize> = (0..sizes.count as usize).collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut measured = Measured { redo: vec![0.0; order.len()], rounds: Vec::new() };
    for round in 0..sizes.rounds {
        (told.tell)(&format!("round {} of {}", round + 1, sizes.rounds));
        order.shuffle(&mut random);
        let mut times = vec![0.0; order.len()];
        for at in &order {
            if (told.to_stop)() {
                return Ok(None);
            }
            let (redo, took) = bench.transaction((*at as u64 + 1) * sizes.step)?;
            times[*at] = took.0 as f64 / 1e3;
            measured.redo[*at] += redo as f64 / f64::from(sizes.rounds);
        }
        measured.rounds.push(times);
    }
    Ok(Some(measured))
}

fn load(instance: &Instance, session: &Session) -> Result<(Table, Vec<RowAddress>), Stop> {
    let table = instance.create_table("rows", &ROW, session)?;
    let (mut inserter, mut rows) = (Inserter::default(), Vec::new());
    while (rows.len() as u64) < ROWS {
        let mut transaction = Transaction::new();
        for _ in 0..LOAD_BATCH.min(ROWS - rows.len() as u64) {
            rows.push(table.insert(&mut transaction, &mut inserter, |_| {}, session)?);
        }
        instance.commit(transaction, session)?;
    }
    instance.checkpoint(session)?;
    Ok((table, rows))
}

struct Bench<'a> {
    instance: &'a Instance,
    table: Table,
    rows: Vec<RowAddress>,
    next: usize,
    /// Bytes of redo that the update of one row makes.
    per_row: f64,
    session: &'a Session,
}

impl Bench<'_> {
    fn calibrate(&mut self) -> Result<(), Stop> {
        let mut transaction = Transaction::new();
        let before = self.redo();
        self.update(&mut transaction, LOAD_BATCH)?;
        self.per_row = (self.redo() - before) as f64 / LOAD_BATCH as f64;
        self.instance.commit(transaction, self.session)
    }

    /// Makes so much redo and commits: how much it was, and how long the commit took.
    fn transaction(&mut self, bytes: u64) -> Result<(u64, Nanos), Stop> {
        let mut transaction = Transaction::new();
        let before = self.redo();
        self.update(&mut transaction, (bytes as f64 / self.per_row).round() as u64)?;
        let redo = self.redo() - before;
        let begin = self.session.now();
        self.instance.commit(transaction, self.session)?;
        Ok((redo, self.session.now().since(begin)))
    }

    fn update(&mut self, transaction: &mut Transaction, rows: u64) -> Result<(), Stop> {
        for _ in 0..rows {
            // Never the value that the row has: nothing would be changed.
            self.next += 1;
            let value = self.next as i64;
            let change = |row: &mut RowMut<'_>| {
                row.set_number(0, value);
                row.set_bytes(1, &[(value % 251) as u8; 92]);
            };
            let row = self.rows[self.next % self.rows.len()];
            let found = self.table.update(transaction, row, change, self.session)?;
            assert!(found, "every row was inserted");
            // The log writer comes to run while this goes on.
            self.session.charge_nanos(UPDATE);
            self.session.relax(u32::MAX);
        }
        Ok(())
    }

    /// Of everybody: but nobody else makes any to speak of.
    fn redo(&self) -> u64 {
        self.session.os().totals().statistic(Statistic::RedoSize)
    }
}
