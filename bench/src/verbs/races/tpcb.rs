//! Race `tpcb`: TPC-B's transaction in this process, against SQLite in this process.
//!
//! Both are asked for the same: three updates, a select and an insert by keys, prepared, and a
//! commit that is durable when it returns. Both databases lie in one folder, and are opened once;
//! while one works the other rests. The tables fit into either's cache.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bench::Scratch;
use bench::race::{Case, Metrics, Outcome, Race, Turn, Workload, metric};
use bench::sqlite::{Sqlite, TpcbRows};
use database::Creation;
use workload::{Drive, TELLERS, Tpcb, TpcbClient, TpcbScale};

use super::embedded::{Embedded, nanos};
use super::{Setup, run_race, told};

const SCALE: TpcbScale = TpcbScale { branches: 64, accounts: 640_000 };
/// Bytes of a filler, on both sides.
const FILLER: usize = 72;
const CACHE_BYTES: u64 = 512 << 20;
/// Runs before what is measured: threads start.
const WARM_UP: Duration = Duration::from_millis(200);

/// Sessions, and how many times SQLite's transactions a second are to be reached.
const SPECS: [(u32, f64); 3] = [(1, 0.95), (8, 4.0), (32, 6.0)];

/// Both databases, open, with the same rows.
struct Bench {
    embedded: Embedded,
    tpcb: Arc<Tpcb>,
    sqlite: Sqlite,
    // Last: the files go when nobody has them open.
    scratch: Scratch,
}

pub(crate) fn run(setup: &Setup) -> bench::Result<Outcome> {
    let bench = Bench::load(&setup.directory)?;
    let workloads =
        SPECS.iter().map(|(sessions, goal)| bench.workload(*sessions, *goal, setup.length));
    let race = Race {
        name: "tpcb".into(),
        description: "three updates, a select, an insert and a durable commit, against SQLite"
            .into(),
        settings: bench.settings(),
        workloads: workloads.collect(),
    };
    let outcome = run_race(race, setup);
    bench.close()?;
    outcome
}

impl Bench {
    fn load(directory: &Path) -> bench::Result<Bench> {
        let scratch = Scratch::create(directory)?;
        let sqlite = Sqlite::create(scratch.path(), CACHE_BYTES / 8)?;
        let TpcbScale { branches, accounts } = SCALE;
        sqlite.load_tpcb(TpcbRows { branches, tellers: branches * TELLERS, accounts }, FILLER)?;
        let (data_bytes, log_file_bytes) = (256 << 20, 256 << 20);
        let creation = Creation { data_bytes, log_file_bytes, ..Creation::default() };
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
        let case = Case {
            name: name.clone(),
            metric: metric::IOPS,
            unit: "tx/s",
            higher_is_better: true,
            goal: Some(goal),
        };
        Workload {
            name,
            settings: vec![format!("{sessions} threads on either side, every CPU")],
            cases: vec![case],
            ours: Box::new(move |turn| {
                let (warm_up, length) = (nanos(WARM_UP), nanos(length));
                let plan = Drive { sessions, first_session: 0, warm_up, length };
                let Embedded { database, session } = &self.embedded;
                let ran = self.tpcb.run(database, plan, turn.seed, session);
                Ok(Metrics::from([(metric::IOPS, ran.map_err(told)?.throughput())]))
            }),
            rival: Box::new(move |turn: Turn| {
                let choices = |thread: u64| {
                    let mut client = TpcbClient::new(turn.seed.wrapping_mul(1_000_003) + thread);
                    move || {
                        let choice = client.choose(SCALE);
                        [choice.account, choice.teller, choice.branch, choice.delta]
                    }
                };
                let rate = self.sqlite.run_tpcb(sessions.into(), length, choices)?;
                Ok(Metrics::from([(metric::IOPS, rate)]))
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
