//! Race `tpcb`: TPC-B's transaction in this process, against SQLite in this process.
//!
//! Its terms are stated below. Both databases lie in one folder and are opened once; while one
//! works the other rests.

use std::sync::Arc;
use std::time::Duration;

use bench::Scratch;
use bench::race::{Race, Terms, Turn, Workload};
use bench::sqlite::{Load, Sqlite, TpcbRows};
use database::Creation;
use workload::{Drive, TELLERS, Tpcb, TpcbClient, TpcbScale, Way};

use super::embedded::{Embedded, cases, nanos, with_checkpoint};
use super::{Run, Setup, run_race, told};

const TERMS: Terms = Terms {
    compared: "Both sides do TPC-B's transaction in this process as often as they can: three \
               updates, a select and an insert by keys, from statements prepared once, and a \
               commit that is durable when it returns; transactions a second are compared.",
    rival: "SQLite is compiled with its recommended options for speed and with fdatasync, and set \
            to WAL, synchronous=FULL and memory-mapped reads. Its threads queue at a mutex for \
            one connection, whose cache is larger than the tables: SQLite has one writer at a \
            time, a second connection would read again what the first one changed, and the busy \
            handler sleeps. The WAL has its full length before the race, so no sync lengthens a \
            file.",
    timed: "Each run has a warm-up of 200 ms that isn't counted. A transaction's time ends when \
            its commit is synced. No checkpoint falls into a run on either side: each writes all \
            that it left behind after its run, before the other side's, and the rate with the \
            time of that is reported beside.",
    favours: "SQLite gains where a run is long: it writes whole pages to its WAL and again in the \
              checkpoint that isn't counted. Ours gains nothing that we know of; a program could \
              put several users' transactions into one commit of SQLite's, at the price of their \
              being rolled back together, and that isn't raced.",
};

const SCALE: TpcbScale = TpcbScale { branches: 64, accounts: 640_000 };
/// Bytes of a filler, on both sides.
const FILLER: usize = 72;
const CACHE_BYTES: u64 = 512 << 20;
/// Runs before what is measured: threads start.
const WARM_UP: Duration = Duration::from_millis(200);

/// More bytes of WAL than SQLite writes in a second.
const WAL_BYTES_A_SECOND: f64 = 150e6;

/// Sessions, and how many times SQLite's transactions a second are to be reached.
const SPECS: [(u32, f64); 3] = [(1, 1.4), (8, 4.0), (32, 4.5)];

/// Both databases, open, with the same rows.
struct Bench {
    embedded: Embedded,
    tpcb: Arc<Tpcb>,
    sqlite: Sqlite,
    // Last: the files go when nobody has them open.
    scratch: Scratch,
}

pub(crate) fn run(setup: &Setup) -> Run {
    let bench = Bench::load(setup)?;
    let workloads =
        SPECS.iter().map(|(sessions, goal)| bench.workload(*sessions, *goal, setup.plan.length));
    let race = Race {
        name: "tpcb".into(),
        description: "three updates, a select, an insert and a durable commit, against SQLite"
            .into(),
        terms: TERMS,
        settings: bench.settings(),
        workloads: workloads.collect(),
    };
    let outcome = run_race(race, setup);
    bench.close()?;
    outcome
}

impl Bench {
    fn load(setup: &Setup) -> bench::Result<Bench> {
        let scratch = Scratch::create(&setup.directory)?;
        let sqlite = Sqlite::create(scratch.path(), CACHE_BYTES, 0)?;
        if setup.has_rival() {
            load_sqlite(&sqlite, WARM_UP + setup.plan.length)?;
        }
        let (data_bytes, log_file_bytes) = (256 << 20, 256 << 20);
        // A history of some hundred runs has room.
        let (data_bytes_max, undo_bytes_max) = (30 << 30, 4 << 30);
        let creation = Creation {
            data_bytes,
            data_bytes_max,
            undo_bytes_max,
            log_file_bytes,
            ..Creation::default()
        };
        let embedded = Embedded::create(&scratch, CACHE_BYTES, creation)?;
        let tpcb = Arc::new(Tpcb::load(&mut embedded.connect(), SCALE).map_err(told)?);
        embedded.checkpoint()?;
        Ok(Bench { embedded, tpcb, sqlite, scratch })
    }

    fn workload(&self, sessions: u32, goal: f64, length: Duration) -> Workload<'_> {
        let name = match sessions {
            1 => "1 session".to_owned(),
            many => format!("{many} sessions"),
        };
        let work = WARM_UP + length;
        Workload {
            settings: vec![format!("{sessions} threads on either side, every CPU")],
            cases: cases(&name, "tx/s", Some(goal)),
            name,
            ours: Box::new(move |turn| {
                let (warm_up, length) = (nanos(WARM_UP), nanos(length));
                let plan = Drive { sessions, first_session: 0, warm_up, length, rate: None };
                let Embedded { database, session } = &self.embedded;
                let ran = self.tpcb.run(database, Way::Api, plan, turn.seed, session);
                let rate = ran.map_err(told)?.throughput();
                with_checkpoint(rate, work, || self.embedded.checkpoint())
            }),
            rival: Box::new(move |turn: Turn| {
                let choices = |thread: u64| {
                    let mut client = TpcbClient::new(turn.seed.wrapping_mul(1_000_003) + thread);
                    move || {
                        let choice = client.choose(SCALE);
                        [choice.account, choice.teller, choice.branch, choice.delta]
                    }
                };
                let load = Load { threads: sessions.into(), warm_up: WARM_UP, length };
                let rate = self.sqlite.run_tpcb(load, choices)?;
                with_checkpoint(rate, work, || self.sqlite.checkpoint())
            }),
        }
    }

    fn settings(&self) -> Vec<String> {
        let mut settings = self.sqlite.settings();
        settings.push(Embedded::settings(CACHE_BYTES));
        let TpcbScale { branches, accounts } = SCALE;
        settings.push(format!(
            "{branches} branches, {} tellers, {accounts} accounts, rows of about 100 bytes",
            branches * TELLERS
        ));
        let file_system = bench::machine::file_system(self.scratch.path());
        settings.push(format!("file system: {file_system}"));
        settings
    }

    /// Shuts ours down; an error if its books don't balance.
    fn close(self) -> bench::Result<()> {
        let Bench { embedded, tpcb, .. } = self;
        let sums = tpcb.sums(&mut embedded.connect()).map_err(told)?;
        drop(tpcb);
        embedded.shut()?;
        match sums.iter().all(|sum| *sum == sums[0]) {
            true => Ok(()),
            false => Err(format!("the books don't balance: {sums:?}").into()),
        }
    }
}

fn load_sqlite(sqlite: &Sqlite, run: Duration) -> bench::Result<()> {
    let TpcbScale { branches, accounts } = SCALE;
    let rows = TpcbRows { branches, tellers: branches * TELLERS, accounts };
    let wal_bytes = run.as_secs_f64() * WAL_BYTES_A_SECOND;
    sqlite.load_tpcb(rows, FILLER, wal_bytes as u64)
}
