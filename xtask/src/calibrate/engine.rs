//! What the engine itself costs, between its latches, checksums, copies and system calls.
//!
//! ```text
//!   loop                                cost          what is taken off its CPU
//!   ──────────────────────────────────────────────────────────────────────────────────────────
//!   pin and unpin a block               buffer_get    what the simulator charges for the loop
//!   fetch a row                         row_read      the same, and its gets
//!   update a row, in a long transaction row_change    the same, and its gets
//!   update a block's rows together      row_change_more  the same, its gets and one row_change,
//!                                                     for each row but one
//!   update a row and commit             transaction   the same, its gets and its change of a row
//! ```
//! One session, a table in the cache, rows at random: more of them than a level-two cache holds, as
//! a session meets them. CPU is that outside waits. The same loops
//! run in the simulator with these five costs at zero and all others as they were measured just
//! now: what they cost there is charged already, so nothing is charged twice.
//!
//! Callers: `rounds`.

use std::path::Path;

use access::{Inserter, RowAddress, Table};
use format::REDO_BLOCK;
use instance::{Creation, Instance, Parameters, Transaction};
use os::probe::DurableWrite;
use os::{Cost, Disk, File, IoBuf, Session};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim::Simulation;
use sim::model::CostList;
use space::Column;
use stop::Stop;
use waits::WaitEvent;

use super::figure::Figure;

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

/// A database with a table in the cache.
pub(super) struct Engine {
    instance: Instance,
    table: Table,
    rows: Vec<RowAddress>,
    /// Beside the engine's: written as redo is.
    log: File,
    random: Xoshiro256PlusPlus,
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
    together: Turn,
    /// Rows of a turn of `together`.
    rows_together: f64,
    commit: Turn,
}

impl Engine {
    pub(super) fn prepare(disk: &Disk, folder: &Path, session: &Session) -> Result<Engine, Stop> {
        let creation = Creation { data_bytes: 32 << 20, ..Creation::default() };
        let parameters = Parameters {
            db_cache_size: CACHE_BYTES,
            redo_write: Some(DurableWrite::DirectThenSync),
            ..Parameters::default()
        };
        let options = DurableWrite::DirectThenSync.file_options();
        Instance::create(disk, folder, &creation, &parameters, session)?;
        let instance = Instance::open(disk, folder, &parameters, session)?;
        let bytes = u64::from(COMMITS) * REDO_BLOCK.bytes() as u64;
        let filled = disk
            .create(&folder.join("beside"), bytes, options, session)
            .map_err(Stop::from)
            .and_then(|log| fill(&instance, session).map(|(table, rows)| (table, rows, log)));
        match filled {
            Ok((table, rows, log)) => {
                let random = Xoshiro256PlusPlus::seed_from_u64(1);
                Ok(Engine { instance, table, rows, log, random })
            }
            Err(stop) => {
                instance.abort(session);
                Err(stop)
            }
        }
    }

    pub(super) fn close(self, session: &Session) -> Result<(), Stop> {
        self.instance.shutdown(session)
    }

    /// Every loop once.
    pub(super) fn round(&mut self, session: &Session) -> Result<Loops, Stop> {
        let get = self.turns(GETS, session, |engine, session| {
            let address = engine.row().block;
            engine.instance.cache().pin(address, session).map(drop)
        })?;
        let fetch = self.turns(FETCHES, session, |engine, session| {
            let address = engine.row();
            let read = engine.table.fetch(None, address, |row| row.number(1), session)?;
            assert!(read.is_some(), "the row was loaded");
            Ok(())
        })?;
        let mut transaction = Transaction::new();
        // The first change gives the transaction its name.
        self.update(&mut transaction, session)?;
        let update = self
            .turns(UPDATES, session, |engine, session| engine.update(&mut transaction, session))?;
        let mut rows = 0;
        let together = self.turns(GROUPS, session, |engine, session| {
            rows += engine.update_together(&mut transaction, session)?;
            Ok(())
        })?;
        self.instance.commit(transaction, session)?;
        let (commit, rows_together) = (self.commits(session)?, rows as f64 / f64::from(GROUPS));
        Ok(Loops { get, fetch, update, together, rows_together, commit })
    }

    /// Changes the rows of one block; how many.
    fn update_together(
        &mut self,
        transaction: &mut Transaction,
        session: &Session,
    ) -> Result<usize, Stop> {
        let block = self.row().block;
        let begin = self.rows.partition_point(|row| row.block < block);
        let end = self.rows.partition_point(|row| row.block <= block);
        let view = self.instance.transactions().view(Some(transaction), session)?;
        let mut change = |old: &[u8], new: &mut Vec<u8>| {
            new.extend_from_slice(old);
            let number: &mut [u8; 8] = (&mut new[8..16]).try_into().expect("eight bytes");
            *number = (i64::from_le_bytes(*number) + 999_983).to_le_bytes();
            true
        };
        let rows = (&self.rows[begin..end], view);
        let done = self.table.heap().update_together(transaction, rows, &mut change, session)?;
        assert_eq!(done, end - begin, "nobody else changes rows");
        Ok(done)
    }

    /// What a transaction takes beyond a write and a sync as its redo's. Half of a commit's CPU is
    /// the kernel's, inside the wait; the same I/O beside each commit shows it better than the
    /// account can, which has looked into a few waits only.
    fn commits(&mut self, session: &Session) -> Result<Turn, Stop> {
        let mut block = IoBuf::zeroed(REDO_BLOCK.bytes());
        let (mut bare_ns, mut commits_ns) = (Vec::new(), Vec::new());
        let gets = |session: &Session| session.reading().2.logical_reads();
        let mut counted = 0;
        // Long, and not committed before the end: it warms the caches, which a sleep leaves cold,
        // as the rows do that a transaction changes before it commits. Its rows are others, or the
        // session would wait for itself.
        let mut warming = Transaction::new();
        let half = self.rows.len() / 2;
        for turn in 0..u64::from(COMMITS) {
            let began = session.thread_times().cpu;
            let waiting = || session.waiting(WaitEvent::LogFileSync);
            self.log.write_at(turn * REDO_BLOCK.bytes() as u64, &block, waiting())?;
            self.log.sync(waiting())?;
            bare_ns.push((session.thread_times().cpu.0 - began.0) as f64);
            for _ in 0..WARMING {
                let address = self.rows[self.random.random_range(0..half)];
                self.update_at(address, &mut warming, session)?;
            }
            let address = self.rows[self.random.random_range(half..self.rows.len())];
            let gets_before = gets(session);
            let between = session.thread_times().cpu;
            let mut transaction = Transaction::new();
            self.update_at(address, &mut transaction, session)?;
            self.instance.commit(transaction, session)?;
            commits_ns.push((session.thread_times().cpu.0 - between.0) as f64);
            counted += gets(session) - gets_before;
            block[0] = block[0].wrapping_add(1);
        }
        self.instance.commit(warming, session)?;
        let gets = counted as f64 / f64::from(COMMITS);
        Ok(Turn { cpu_ns: stats::median(&commits_ns) - stats::median(&bare_ns), gets })
    }

    fn row(&mut self) -> RowAddress {
        self.rows[self.random.random_range(0..self.rows.len())]
    }

    fn update(&mut self, transaction: &mut Transaction, session: &Session) -> Result<(), Stop> {
        let address = self.row();
        self.update_at(address, transaction, session)
    }

    fn update_at(
        &mut self,
        address: RowAddress,
        transaction: &mut Transaction,
        session: &Session,
    ) -> Result<(), Stop> {
        let change = |row: &mut access::RowMut<'_>| {
            let balance = row.view().number(1);
            row.set_number(1, balance + 999_983);
        };
        self.table.update(transaction, address, change, session).map(drop)
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
        let totals = session.reading().2.since(&before.2);
        let gets = totals.logical_reads() as f64;
        Ok(Turn { cpu_ns: cpu_ns / f64::from(count), gets: gets / f64::from(count) })
    }
}

fn fill(instance: &Instance, session: &Session) -> Result<(Table, Vec<RowAddress>), Stop> {
    let columns = [Column::Number, Column::Number, Column::Bytes(84)];
    let table = instance.create_table("rows", &columns, session)?;
    let mut rows = Vec::with_capacity(ROWS as usize);
    let mut inserter = Inserter::default();
    while (rows.len() as u64) < ROWS {
        let mut transaction = Transaction::new();
        for _ in 0..LOAD_BATCH.min(ROWS - rows.len() as u64) {
            let number = rows.len() as i64;
            let fill = |row: &mut access::RowMut<'_>| row.set_number(0, number);
            rows.push(table.insert(&mut transaction, &mut inserter, fill, session)?);
        }
        instance.commit(transaction, session)?;
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
    let median = |of: fn(&Loops) -> Turn| Turn {
        cpu_ns: stats::median(&rounds.iter().map(|it| of(it).cpu_ns).collect::<Vec<f64>>()),
        gets: stats::median(&rounds.iter().map(|it| of(it).gets).collect::<Vec<f64>>()),
    };
    Ok(Loops {
        get: median(|it| it.get),
        fetch: median(|it| it.fetch),
        update: median(|it| it.update),
        together: median(|it| it.together),
        rows_together: stats::median(
            &rounds.iter().map(|it| it.rows_together).collect::<Vec<f64>>(),
        ),
        commit: median(|it| it.commit),
    })
}

impl Loops {
    /// The costs that explain what these loops took beyond `charged`.
    pub(super) fn costs_beyond(&self, charged: &Loops) -> Vec<(Figure, f64)> {
        let beyond = |real: Turn, charged: Turn| real.cpu_ns - charged.cpu_ns;
        let get = beyond(self.get, charged.get) / self.get.gets;
        let read = beyond(self.fetch, charged.fetch) - self.fetch.gets * get;
        let change = beyond(self.update, charged.update) - self.update.gets * get;
        let together = beyond(self.together, charged.together) - self.together.gets * get - change;
        let more = together / (self.rows_together - 1.0);
        let commit = beyond(self.commit, charged.commit) - self.commit.gets * get - change;
        vec![
            (Figure::Cost(Cost::BufferGet), get),
            (Figure::Cost(Cost::RowRead), read),
            (Figure::Cost(Cost::RowChange), change),
            (Figure::Cost(Cost::RowChangeMore), more),
            (Figure::Cost(Cost::Transaction), commit),
        ]
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
        ];
        known.iter().for_each(|(cost, _)| costs.costs[*cost as usize] = 0);
        let charged = simulated(&costs).expect("a simulation that ends");
        known.iter().for_each(|(cost, ns)| costs.costs[*cost as usize] = *ns);
        let loops = simulated(&costs).expect("a simulation that ends");
        for ((figure, found), (cost, ns)) in loops.costs_beyond(&charged).iter().zip(known) {
            assert_eq!(*figure, Figure::Cost(cost));
            assert!((found / f64::from(ns) - 1.0).abs() < 0.1, "{figure:?}: {found}, not {ns}");
        }
    }
}
