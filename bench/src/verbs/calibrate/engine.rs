//! What the engine itself costs, between its latches, checksums, copies and system calls, by what
//! its users do: statements on a typed table, through the front door.
//!
//! ```text
//!   loop                                cost          what is taken off its CPU
//!   ──────────────────────────────────────────────────────────────────────────────────────────
//!   pin and unpin three blocks, as a    buffer_get    what the simulator charges for the loop
//!   find by a key does
//!   find a row by its key               row_read      the same, and its gets; both are read, the
//!                                                     entry and the row
//!   update a row, in a long transaction row_change    the same, its gets and what it reads
//!   read a block's rows by a range      (the next)    the same, and its gets: what a row and its
//!                                                     entry take that are read in order
//!   update a block's rows together      row_change_more  the same, gets, what it reads in order
//!                                                     and one row_change; each row but one
//!   update a row and commit             transaction   the same, its gets, what it reads and two
//!                                                     row_change: its row, and its table's lock
//! ```
//! One session, a table and its index in the cache, rows at random: more of them than a level-two
//! cache holds, as a session meets them. CPU is that outside waits. The same loops run in the
//! simulator with these five costs and those of `sql` at zero, and all others as they were measured
//! just now: what they cost there is charged already, so nothing is charged twice.
//!
//! Callers: `rounds`.

use std::ops::{Bound, ControlFlow};
use std::path::Path;

use database::{
    Bounds, ColumnSpec, Connection, Creation, Database, Direction, Options, Parameters, RowAddress,
    Selection, Table, TableSpec, Tx, Type, Value,
};
use format::REDO_BLOCK;
use os::probe::DurableWrite;
use os::{Cost, Disk, File, IoBuf, Session};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::Simulation;
use sim::model::CostList;
use stop::Stop;
use waits::WaitEvent;

use super::figure::Figure;
use sql::SqlLoops;

mod sql;

/// Rows of 100 bytes: 16 MiB.
const ROWS: u64 = 147_200;
const LOAD_BATCH: u64 = 500;
const CACHE_BYTES: u64 = 40 << 20;
/// Operations of a loop in a round.
const GETS: u32 = 2_000;
const FETCHES: u32 = 2_000;
const UPDATES: u32 = 500;
const GROUPS: u32 = 100;
const COMMITS: u32 = 40;
/// Rows changed before each of these.
const WARMING: u32 = 6;
/// In the simulator each turn costs the same, but for the rare.
const SIMULATED_ROUNDS: u32 = 5;

/// Rows that a turn reads, entries of the index among them: to find a row by its key, to update it
/// by its key, and for each row of a range that is read or updated.
const READS_TO_FETCH: f64 = 2.0;
const READS_TO_UPDATE: f64 = 1.0;
const READS_IN_RANGE: f64 = 2.0;
const READS_TO_UPDATE_IN_RANGE: f64 = 1.0;
/// What a transaction of one row is charged as changes of rows: the row, and the lock of its table,
/// which gives the transaction its name.
const CHANGES_TO_COMMIT: f64 = 2.0;
/// What makes a row 100 bytes long.
const FILLER_BYTES: usize = 80;

/// A database with a table in the cache.
pub(super) struct Engine {
    database: Database,
    table: Table,
    /// Where each row is: its key is its place.
    rows: Vec<RowAddress>,
    /// Beside the engine's: written as redo is.
    log: File,
    random: Xoshiro256PlusPlus,
    /// How many texts of SQL were made to be prepared.
    texts: u64,
}

/// What a turn of a loop took.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    cpu_ns: f64,
    gets: f64,
}

/// What the loops of a round took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Loops {
    get: Turn,
    fetch: Turn,
    update: Turn,
    range: Turn,
    /// Rows of a turn of `range`.
    rows_in_range: f64,
    together: Turn,
    /// Rows of a turn of `together`.
    rows_together: f64,
    commit: Turn,
    sql: SqlLoops,
}

impl Engine {
    pub(super) fn prepare(disk: &Disk, folder: &Path, session: &Session) -> Result<Engine, Stop> {
        let creation = Creation { data_bytes: 48 << 20, ..Creation::default() };
        let parameters = Parameters {
            db_cache_size: CACHE_BYTES,
            redo_write: Some(DurableWrite::DirectThenSync),
            ..Parameters::default()
        };
        let file_options = DurableWrite::DirectThenSync.file_options();
        let options = Options { creation, parameters, ..Options::default() };
        let database = Database::create_in(disk, folder, &options, session)?;
        let bytes = u64::from(COMMITS) * REDO_BLOCK.bytes() as u64;
        let filled = disk
            .create(&folder.join("beside"), bytes, file_options, session)
            .map_err(Stop::from)
            .and_then(|log| {
                fill(&mut database.connect_with(session)).map(|(table, rows)| (table, rows, log))
            });
        match filled {
            Ok((table, rows, log)) => {
                let random = Xoshiro256PlusPlus::seed_from_u64(1);
                Ok(Engine { database, table, rows, log, random, texts: 0 })
            }
            Err(stop) => {
                database.abort_by(session);
                Err(stop)
            }
        }
    }

    pub(super) fn close(self, session: &Session) -> Result<(), Stop> {
        self.database.shutdown_by(session)
    }

    /// Every loop once.
    pub(super) fn round(&mut self, session: &Session) -> Result<Loops, Stop> {
        let mut connection = self.database.connect_with(session);
        let get = self.turns(GETS, session, |engine, session| {
            // The first is always the same, as an index's root is.
            for row in [0, engine.row(), engine.row()] {
                let block = engine.rows[row].block;
                drop(engine.database.instance().cache().pin(block, session)?);
            }
            Ok(())
        })?;
        let fetch =
            self.turns(FETCHES, session, |engine, _| engine.fetch(&mut connection).map(drop))?;
        let mut rows_in_range = 0;
        let range = self.turns(GROUPS, session, |engine, _| {
            rows_in_range += engine.read_together(&mut connection)?;
            Ok(())
        })?;
        let sql = self.round_of_sql(session)?;
        let mut tx = connection.begin();
        // The first change gives the transaction its name.
        self.update(&mut tx)?;
        let update = self.turns(UPDATES, session, |engine, _| engine.update(&mut tx))?;
        let mut rows = 0;
        let together = self.turns(GROUPS, session, |engine, _| {
            rows += engine.update_together(&mut tx)?;
            Ok(())
        })?;
        tx.commit()?;
        drop(connection);
        let commit = self.commits(session)?;
        let each = |rows: u64| rows as f64 / f64::from(GROUPS);
        let (rows_in_range, rows_together) = (each(rows_in_range), each(rows));
        Ok(Loops { get, fetch, update, range, rows_in_range, together, rows_together, commit, sql })
    }

    fn fetch(&mut self, connection: &mut Connection<'_>) -> Result<i64, Stop> {
        let key = [Value::Int(self.row() as i64)];
        let read = connection.get(&self.table, &key, |row| row.get_i64(1))?;
        Ok(read.flatten().expect("every row was loaded, with a balance"))
    }

    /// The keys of the rows of one block, and how many they are.
    fn block_of_rows(&mut self) -> (Bounds<'static>, u64) {
        let row = self.row();
        let block = self.rows[row].block;
        let is_here = |address: &&RowAddress| address.block == block;
        let before = self.rows[..row].iter().rev().take_while(is_here).count();
        let behind = self.rows[row..].iter().take_while(is_here).count();
        let key = |row: usize| Value::Int(row as i64);
        let bounds = Bounds {
            equal: &[],
            from: Bound::Included(key(row - before)),
            to: Bound::Excluded(key(row + behind)),
        };
        (bounds, (before + behind) as u64)
    }

    /// Reads the rows of one block; how many.
    fn read_together(&mut self, connection: &mut Connection<'_>) -> Result<u64, Stop> {
        let (bounds, rows) = self.block_of_rows();
        let primary = self.table.primary().expect("it was made with one");
        let (mut read, mut sum) = (0, 0);
        connection.range(&self.table, primary, &bounds, Direction::Ascending, |row| {
            read += 1;
            sum += row.get_i64(1).expect("no balance is NULL");
            ControlFlow::Continue(())
        })?;
        std::hint::black_box(sum);
        assert_eq!(read, rows, "every row of the block was loaded");
        Ok(rows)
    }

    /// Changes the rows of one block; how many.
    fn update_together(&mut self, tx: &mut Tx<'_, '_>) -> Result<u64, Stop> {
        let (bounds, rows) = self.block_of_rows();
        let primary = self.table.primary().expect("it was made with one");
        let selection = Selection::Range(primary, bounds);
        let done = tx.update_where(&self.table, selection, None, |row, change| {
            change.set(1, balance_after(row.get_i64(1)))
        })?;
        assert_eq!(done, rows, "every row of the block was loaded");
        Ok(done)
    }

    /// What a transaction takes beyond a write and a sync as its redo's. Half of a commit's CPU is
    /// the kernel's, inside the wait; the same I/O beside each commit shows it better than the
    /// account can, which has looked into a few waits only.
    fn commits(&mut self, session: &Session) -> Result<Turn, Stop> {
        let mut block = IoBuf::zeroed(REDO_BLOCK.bytes());
        let (mut bare_ns, mut commits_ns) = (Vec::new(), Vec::new());
        let gets = |session: &Session| session.reading().totals.logical_reads();
        let mut counted = 0;
        // Long, and not committed before the end: it warms the caches, which a sleep leaves cold,
        // as the rows do that a transaction changes before it commits. Its rows are others, or the
        // session would wait for itself.
        let database = self.database.clone();
        let mut beside = database.connect_with(session);
        let mut connection = database.connect_with(session);
        let mut warming = beside.begin();
        let half = self.rows.len() / 2;
        for turn in 0..u64::from(COMMITS) {
            let began = session.thread_times().cpu;
            let waiting = || session.waiting(WaitEvent::LogFileSync);
            self.log.write_at(turn * REDO_BLOCK.bytes() as u64, &block, waiting())?;
            self.log.sync(waiting())?;
            bare_ns.push((session.thread_times().cpu.0 - began.0) as f64);
            for _ in 0..WARMING {
                let row = self.random.random_range(0..half);
                self.update_at(row, &mut warming)?;
            }
            let row = self.random.random_range(half..self.rows.len());
            let gets_before = gets(session);
            let between = session.thread_times().cpu;
            let mut tx = connection.begin();
            self.update_at(row, &mut tx)?;
            tx.commit()?;
            commits_ns.push((session.thread_times().cpu.0 - between.0) as f64);
            counted += gets(session) - gets_before;
            block[0] = block[0].wrapping_add(1);
        }
        warming.commit()?;
        let gets = counted as f64 / f64::from(COMMITS);
        Ok(Turn { cpu_ns: stats::median(&commits_ns) - stats::median(&bare_ns), gets })
    }

    /// The place of a row.
    fn row(&mut self) -> usize {
        self.random.random_range(0..self.rows.len())
    }

    fn update(&mut self, tx: &mut Tx<'_, '_>) -> Result<(), Stop> {
        let row = self.row();
        self.update_at(row, tx)
    }

    fn update_at(&mut self, row: usize, tx: &mut Tx<'_, '_>) -> Result<(), Stop> {
        let key = [Value::Int(row as i64)];
        let found = tx.update(&self.table, &key, |row, change| {
            change.set(1, balance_after(row.get_i64(1)))
        })?;
        assert!(found, "every row was loaded");
        Ok(())
    }

    /// What a turn of `work` takes, by so many.
    fn turns(
        &mut self,
        count: u32,
        session: &Session,
        mut work: impl FnMut(&mut Engine, &Session) -> Result<(), Stop>,
    ) -> Result<Turn, Stop> {
        let before = session.reading();
        for _ in 0..count {
            work(self, session)?;
        }
        let cpu_ns = session.time_account_since(&before).cpu_ns as f64;
        let totals = session.reading().totals.since(&before.totals);
        let gets = totals.logical_reads() as f64;
        Ok(Turn { cpu_ns: cpu_ns / f64::from(count), gets: gets / f64::from(count) })
    }
}

/// What a change makes of a balance.
fn balance_after(balance: Option<i64>) -> Value<'static> {
    Value::Int(balance.expect("no balance is NULL") + 999_983)
}

fn fill(connection: &mut Connection<'_>) -> Result<(Table, Vec<RowAddress>), Stop> {
    let spec = TableSpec::new("account")
        .column(ColumnSpec::new("id", Type::BigInt))
        .column(ColumnSpec::new("balance", Type::BigInt).not_null())
        .column(ColumnSpec::new("filler", Type::Bytea))
        .primary_key(["id"]);
    let table = connection.create_table(&spec)?;
    let mut rows = Vec::with_capacity(ROWS as usize);
    while (rows.len() as u64) < ROWS {
        let mut tx = connection.begin();
        for _ in 0..LOAD_BATCH.min(ROWS - rows.len() as u64) {
            let id = Value::Int(rows.len() as i64);
            let values = [id, Value::Int(0), Value::Bytes(&[0; FILLER_BYTES])];
            rows.push(tx.insert(&table, &values)?);
        }
        tx.commit()?;
    }
    Ok((table, rows))
}

/// The same loops in a simulated world, where `costs` are all that takes time: the medians.
pub(super) fn simulated(costs: &CostList) -> Result<Loops, String> {
    let mut simulation = Simulation::new(1);
    simulation.costs = costs.clone();
    let report = simulation.run(|world, session| -> Result<Vec<Loops>, Stop> {
        let mut engine = Engine::prepare(&world.disk(), Path::new("/engine"), session)?;
        let rounds = (0..SIMULATED_ROUNDS).map(|_| engine.round(session)).collect();
        engine.close(session)?;
        rounds
    });
    let rounds = report.result.map_err(|failure| failure.to_string())?;
    let rounds = rounds.map_err(|stop| stop.to_string())?;
    let median = |of: fn(&Loops) -> Turn| median_turn(&rounds, of);
    let sql: Vec<SqlLoops> = rounds.iter().map(|it| it.sql).collect();
    let rows = |of: fn(&Loops) -> f64| stats::median(&rounds.iter().map(of).collect::<Vec<f64>>());
    Ok(Loops {
        get: median(|it| it.get),
        fetch: median(|it| it.fetch),
        update: median(|it| it.update),
        range: median(|it| it.range),
        rows_in_range: rows(|it| it.rows_in_range),
        together: median(|it| it.together),
        rows_together: rows(|it| it.rows_together),
        commit: median(|it| it.commit),
        sql: SqlLoops::medians(&sql),
    })
}

/// The medians of a loop in these rounds.
fn median_turn<L>(rounds: &[L], of: fn(&L) -> Turn) -> Turn {
    let median = |of_turn: fn(Turn) -> f64| {
        stats::median(&rounds.iter().map(|round| of_turn(of(round))).collect::<Vec<f64>>())
    };
    Turn { cpu_ns: median(|turn| turn.cpu_ns), gets: median(|turn| turn.gets) }
}

impl Loops {
    /// The costs that explain what these loops took beyond `charged`.
    pub(super) fn costs_beyond(&self, charged: &Loops) -> Vec<(Figure, f64)> {
        let beyond = |real: Turn, charged: Turn| real.cpu_ns - charged.cpu_ns;
        let get = beyond(self.get, charged.get) / self.get.gets;
        let read = (beyond(self.fetch, charged.fetch) - self.fetch.gets * get) / READS_TO_FETCH;
        // Rows in order come from few lines of memory, and take far less than one by its key.
        let in_order = beyond(self.range, charged.range) - self.range.gets * get;
        let in_order = in_order / (READS_IN_RANGE * self.rows_in_range);
        // A turn of changes, without its gets and what it reads.
        let of_changes = |real: Turn, charged: Turn, reading: f64| {
            beyond(real, charged) - real.gets * get - reading
        };
        let change = of_changes(self.update, charged.update, READS_TO_UPDATE * read);
        let rows = self.rows_together;
        let reading = READS_TO_UPDATE_IN_RANGE * rows * in_order;
        let together = of_changes(self.together, charged.together, reading);
        let more = (together - change) / (rows - 1.0);
        let commit = of_changes(self.commit, charged.commit, READS_TO_UPDATE * read);
        let commit = commit - CHANGES_TO_COMMIT * change;
        let mut costs = vec![
            (Figure::Cost(Cost::BufferGet), get),
            (Figure::Cost(Cost::RowRead), read),
            (Figure::Cost(Cost::RowChange), change),
            (Figure::Cost(Cost::RowChangeMore), more),
            (Figure::Cost(Cost::Transaction), commit),
        ];
        costs.extend(self.sql.costs_beyond(&charged.sql, get, READS_TO_FETCH * read));
        costs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list with known costs of the engine is what the loops give back, so nothing is left out
    /// and nothing is charged twice.
    #[test]
    fn the_loops_give_back_what_is_charged() {
        let mut costs = CostList::builtin("default").expect("it is built in");
        let known = [
            (Cost::BufferGet, 120_u32),
            (Cost::RowRead, 70),
            (Cost::RowChange, 900),
            (Cost::RowChangeMore, 150),
            (Cost::Transaction, 4_000),
            (Cost::Statement, 700),
            (Cost::StatementMade, 6_000),
            (Cost::StatementByte, 15),
            (Cost::SourceStart, 400),
            (Cost::RowPassed, 30),
        ];
        known.iter().for_each(|(cost, _)| costs.costs[*cost as usize] = 0);
        let charged = simulated(&costs).expect("a simulation that ends");
        known.iter().for_each(|(cost, ns)| costs.costs[*cost as usize] = *ns);
        let loops = simulated(&costs).expect("a simulation that ends");
        let found = loops.costs_beyond(&charged);
        assert_eq!(found.len(), known.len());
        for ((figure, found), (cost, ns)) in found.iter().zip(known) {
            assert_eq!(*figure, Figure::Cost(cost));
            assert!((found / f64::from(ns) - 1.0).abs() < 0.1, "{figure:?}: {found}, not {ns}");
        }
    }
}
