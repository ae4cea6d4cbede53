//! Race `tpcb`: TPC-B's transaction in this process, against SQLite in this process.
//!
//! Both are asked for the same: three updates, a select and an insert by keys, prepared, and a
//! commit that is durable when it returns. Both databases lie in one folder, and are opened once;
//! while one works the other rests. The tables fit into either's cache.

use std::sync::Arc;
use std::time::Duration;

use database::{Creation, Database, Options, Parameters};
use rivals::Scratch;
use rivals::race::{Case, Metrics, Outcome, Race, Turn, Workload, metric};
use rivals::sqlite::{Sqlite, TpcbRows};
use waits::{Nanos, SessionKind};
use workload::{Drive, TELLERS, Tpcb, TpcbClient, TpcbScale};

use super::{Setup, run_race, told};

const SCALE: TpcbScale = TpcbScale { branches: 64, accounts: 640_000 };
/// Bytes of a filler, on both sides.
const FILLER: usize = 72;
const CACHE_BYTES: u64 = 512 << 20;
/// Runs before what is measured: threads start.
const WARM_UP: Duration = Duration::from_millis(200);

/// Sessions, and how many times SQLite's transactions a second are to be reached.
const SPECS: [(u64, f64); 3] = [(1, 0.95), (8, 4.0), (32, 6.0)];

pub(crate) fn run(setup: &Setup) -> rivals::Result<Outcome> {
    let scratch = Scratch::create(&setup.directory)?;
    let sqlite = Sqlite::create(scratch.path(), CACHE_BYTES / 8)?;
    let (branches, accounts) = (SCALE.branches, SCALE.accounts);
    sqlite.load_tpcb(TpcbRows { branches, tellers: branches * TELLERS, accounts }, FILLER)?;
    let os = os::linux::start();
    let session = os.adopt("race", SessionKind::Foreground);
    let options = Options {
        creation: Creation {
            data_bytes: 256 << 20,
            log_file_bytes: 256 << 20,
            ..Creation::default()
        },
        parameters: Parameters { db_cache_size: CACHE_BYTES, ..Parameters::default() },
    };
    let directory = scratch.path().join("database");
    let database = Database::create(&directory, &options).map_err(told)?;
    let tpcb = {
        let mut connection = database.connect_with(&session);
        Arc::new(Tpcb::load(&mut connection, SCALE).map_err(told)?)
    };
    database.instance().checkpoint(&session).map_err(told)?;
    let mut workloads = Vec::new();
    for (sessions, goal) in SPECS {
        let name = format!("{sessions} sessions");
        let (database, tpcb, session, sqlite) = (&database, &tpcb, &session, &sqlite);
        workloads.push(Workload {
            name: name.clone(),
            settings: vec![format!("{sessions} threads on either side, every CPU")],
            cases: vec![Case {
                name,
                metric: metric::IOPS,
                unit: "tx/s",
                higher_is_better: true,
                goal: Some(goal),
            }],
            ours: Box::new(move |turn| {
                let plan = Drive {
                    sessions: u32::try_from(sessions).expect("sessions are few"),
                    first_session: 0,
                    warm_up: nanos(WARM_UP),
                    length: nanos(setup.length),
                };
                let ran = tpcb.run(database, (plan, turn.seed), session).map_err(told)?;
                Ok(Metrics::from([(metric::IOPS, ran.throughput())]))
            }),
            rival: Box::new(move |turn: Turn| {
                let choices = |thread: u64| {
                    let mut client = TpcbClient::new(turn.seed.wrapping_mul(1_000_003) + thread);
                    move || {
                        let choice = client.choose(SCALE);
                        [choice.account, choice.teller, choice.branch, choice.delta]
                    }
                };
                let rate = sqlite.run_tpcb(sessions, setup.length, choices)?;
                Ok(Metrics::from([(metric::IOPS, rate)]))
            }),
        });
    }
    let mut settings = sqlite.settings();
    settings.push(format!(
        "ours: the embedded API, db_cache_size {} MiB, other parameters at their defaults",
        CACHE_BYTES >> 20
    ));
    settings.push(format!(
        "{branches} branches, {} tellers, {accounts} accounts, rows of about 100 bytes",
        branches * TELLERS
    ));
    settings.push(format!("file system: {}", rivals::machine::file_system(scratch.path())));
    let race = Race {
        name: "tpcb".into(),
        description: "three updates, a select, an insert and a durable commit, against SQLite"
            .into(),
        settings,
        workloads,
    };
    let outcome = run_race(race, setup);
    let sums = tpcb.sums(&mut database.connect_with(&session)).map_err(told)?;
    drop(tpcb);
    database.shutdown_by(&session).map_err(told)?;
    if sums.iter().any(|sum| *sum != sums[0]) {
        return Err(format!("the books don't balance: {sums:?}").into());
    }
    outcome
}

fn nanos(length: Duration) -> Nanos {
    Nanos(u64::try_from(length.as_nanos()).expect("runs are short"))
}
