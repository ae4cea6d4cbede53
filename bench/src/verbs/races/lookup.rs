//! Race `lookup`: rows by their keys, in this process, against SQLite in this process.
//!
//! Both read two columns of the row with a random key, by a statement that is prepared, from a
//! table that fits into either's cache. The scope is the same on both sides: each lookup a moment
//! of its own, or a thousand in one transaction, which see one moment.

use std::time::Duration;

use bench::Scratch;
use bench::race::{Case, Metrics, Outcome, Race, Turn, Workload, metric};
use bench::sqlite::Sqlite;
use database::Creation;
use workload::Drive;
use workload::bulk::{Batches, Bulk, CATEGORIES, Ids, LOOKUPS_A_TURN, NOTE, Scope};

use super::embedded::{Embedded, nanos};
use super::{Setup, run_race, told};

const ROWS: i64 = 640_000;
const CACHE_BYTES: u64 = 512 << 20;
/// Runs before what is measured: threads start.
const WARM_UP: Duration = Duration::from_millis(100);

/// Threads, scope, and how many times SQLite's lookups a second are to be reached.
const SPECS: [(u32, Scope, f64); 4] = [
    (1, Scope::Transaction, 1.5),
    (2, Scope::Transaction, 3.0),
    (1, Scope::Statement, 1.5),
    (2, Scope::Statement, 3.0),
];

pub(crate) fn run(setup: &Setup) -> bench::Result<Outcome> {
    let scratch = Scratch::create(&setup.directory)?;
    let sqlite = Sqlite::create(scratch.path(), CACHE_BYTES)?;
    sqlite.create_items()?;
    let rows = (0..ROWS as usize).map(|at| at as i64 + 1);
    sqlite.insert_items(rows.map(|id| (id, id % CATEGORIES, 0, NOTE)), 10_000)?;
    let creation = Creation { data_bytes: 256 << 20, ..Creation::default() };
    let embedded = Embedded::create(&scratch, CACHE_BYTES, creation)?;
    let bulk = Bulk::create(&mut embedded.connect(), "item").map_err(told)?;
    let batches = Batches { statement: 1_000, transaction: 10_000 };
    bulk.insert(&mut embedded.connect(), 1..ROWS + 1, batches).map_err(told)?;
    embedded.checkpoint()?;
    let workloads = SPECS.map(|(threads, scope, goal)| {
        workload(&embedded, &bulk, &sqlite, threads, scope, goal, setup.length)
    });
    let mut settings = sqlite.settings();
    settings.push(Embedded::settings(CACHE_BYTES));
    settings.push(format!("{ROWS} rows of about 100 bytes, in a table with a primary key"));
    let race = Race {
        name: "lookup".into(),
        description: "two columns of a row by its key, against SQLite".into(),
        settings,
        workloads: workloads.into(),
    };
    let outcome = run_race(race, setup);
    drop(bulk);
    embedded.shut()?;
    outcome
}

fn workload<'a>(
    embedded: &'a Embedded,
    bulk: &'a Bulk,
    sqlite: &'a Sqlite,
    threads: u32,
    scope: Scope,
    goal: f64,
    length: Duration,
) -> Workload<'a> {
    let (scope_name, in_transaction) = match scope {
        Scope::Statement => ("each by itself", false),
        Scope::Transaction => ("1,000 a transaction", true),
    };
    let threads_name = if threads == 1 { "1 thread" } else { "2 threads" };
    let name = format!("{threads_name}, {scope_name}");
    let case = Case {
        name: name.clone(),
        metric: metric::IOPS,
        unit: "lookups/s",
        higher_is_better: true,
        goal: Some(goal),
    };
    Workload {
        name,
        settings: vec![format!("{threads_name} on either side, {scope_name}")],
        cases: vec![case],
        ours: Box::new(move |turn| {
            let (warm_up, length) = (nanos(WARM_UP), nanos(length));
            let plan = Drive { sessions: threads, first_session: 0, warm_up, length };
            let Embedded { database, session } = embedded;
            let ran = bulk.run_lookups(database, plan, turn.seed, ROWS, scope, session);
            Ok(Metrics::from([(metric::IOPS, ran.map_err(told)?)]))
        }),
        rival: Box::new(move |turn: Turn| {
            let choices = |thread: u64| {
                let mut ids = Ids::new(turn.seed, thread, ROWS);
                move || ids.next_id()
            };
            let (threads, turn) = (threads.into(), LOOKUPS_A_TURN);
            let rate = sqlite.run_lookups(threads, length, turn, in_transaction, choices)?;
            Ok(Metrics::from([(metric::IOPS, rate)]))
        }),
    }
}
