//! Races `lookup` and `sql-lookup`: rows by their keys, in this process, against SQLite in this
//! process. Ours are calls of the embedded API in the one, prepared SQL in the other.
//!
//! Their terms are stated below. The scope is the same on both sides: each lookup a moment of its
//! own, or a thousand in one transaction, which see one moment. The last workload of each race is
//! ours against ours: two threads against one.

use std::time::Duration;

use bench::Scratch;
use bench::race::{Case, Metrics, Race, Terms, Turn, Workload, metric};
use bench::sqlite::{Batches as SqliteBatches, Load, Sqlite};
use database::Creation;
use workload::bulk::{
    Batches, Bulk, CATEGORIES, Ids, LOOKUP_TEXT, LOOKUPS_A_TURN, Lookups, NOTE, Scope,
    lookups_a_second,
};
use workload::{Drive, Way};

use super::embedded::{Embedded, nanos};
use super::profile::profile_of;
use super::{Run, Setup, run_race, told};

const RIVAL: &str = "SQLite is compiled with its recommended options for speed, without the \
                     options that share one page cache among connections or check every call, and \
                     reads its table by way of a memory mapping. Each thread has a connection, \
                     opened without a mutex, with a cache larger than the table; all of the table \
                     was read by each of them before.";
const TIMED: &str = "Each run has a warm-up of 100 ms that isn't counted. Nothing is written \
                     during the race, and the WAL is empty.";

const TERMS: Terms = Terms {
    compared: "Both sides read two columns of the row with a random key, from a table that is in \
               their caches, by a statement prepared once; lookups a second are compared. Keys \
               are the same on both sides.",
    rival: RIVAL,
    timed: TIMED,
    favours: "SQLite's integer key is the row's place in its tree, while ours is found in an \
              index and then in the table: that is each side's ordinary table with a primary key.",
};

const SQL_TERMS: Terms = Terms {
    compared: "Both sides read two columns of the row with a random key, from a table that is in \
               their caches, by a SELECT that each thread has prepared once; lookups a second are \
               compared. Where a thousand are made in one transaction, it begins and ends by SQL \
               on both sides. Keys are the same on both sides.",
    rival: RIVAL,
    timed: TIMED,
    favours: "SQLite's integer key is the row's place in its tree, while ours is found in an \
              index and then in the table: that is each side's ordinary table with a primary key. \
              SQLite gives a text as it lies in its page; ours is copied into a batch of rows, as \
              a cursor has it that may have many.",
};

const ROWS: i64 = 640_000;
const CACHE_BYTES: u64 = 512 << 20;
/// Runs before what is measured: threads start.
const WARM_UP: Duration = Duration::from_millis(100);

/// One of the two races.
struct Entry {
    name: &'static str,
    description: &'static str,
    terms: Terms,
    way: Way,
    /// How many times SQLite's lookups a second are to be reached: a thousand in a transaction by
    /// one thread and by two, and each by itself in the same way.
    goals: [Option<f64>; 4],
}

const BY_API: Entry = Entry {
    name: "lookup",
    description: "two columns of a row by its key, against SQLite",
    terms: TERMS,
    way: Way::Api,
    goals: [Some(1.6), Some(1.6), None, None],
};

const BY_SQL: Entry = Entry {
    name: "sql-lookup",
    description: "two columns of a row by its key, by prepared SQL, against SQLite",
    terms: SQL_TERMS,
    way: Way::Sql,
    goals: [Some(1.0), Some(1.7), Some(1.0), Some(1.7)],
};

/// Threads and scopes, in the order of the goals.
const SPECS: [(u32, Scope); 4] = [
    (1, Scope::Transaction),
    (2, Scope::Transaction),
    (1, Scope::Statement),
    (2, Scope::Statement),
];
const THREADS_MAX: u32 = 2;
/// Ours on two threads is to be so many times ours on one.
const SCALING_GOAL: f64 = 1.85;

pub(crate) fn run(setup: &Setup) -> Run {
    race(&BY_API, setup)
}

pub(crate) fn run_sql(setup: &Setup) -> Run {
    race(&BY_SQL, setup)
}

fn race(entry: &Entry, setup: &Setup) -> Run {
    let scratch = Scratch::create(&setup.directory)?;
    let sqlite = Sqlite::create(scratch.path(), CACHE_BYTES, THREADS_MAX)?;
    if setup.has_rival() {
        load_sqlite(&sqlite)?;
    }
    let creation = Creation { data_bytes: 256 << 20, ..Creation::default() };
    let embedded = Embedded::create(&scratch, CACHE_BYTES, creation)?;
    let bulk = Bulk::create(&mut embedded.connect(), "item").map_err(told)?;
    let batches = Batches { statement: 1_000, transaction: 10_000 };
    bulk.insert(&mut embedded.connect(), 1..ROWS + 1, batches).map_err(told)?;
    embedded.checkpoint()?;
    let sides = Sides { embedded: &embedded, bulk: &bulk, sqlite: &sqlite, way: entry.way };
    let length = setup.plan.length;
    let mut workloads = Vec::new();
    for ((threads, scope), goal) in SPECS.into_iter().zip(entry.goals) {
        workloads.push(sides.race(threads, scope, goal, length)?);
    }
    workloads.push(sides.two_against_one(length));
    let mut settings = sqlite.settings();
    settings.push(Embedded::settings(CACHE_BYTES));
    settings.push(format!("{ROWS} rows of about 100 bytes, in a table with a primary key"));
    if entry.way == Way::Sql {
        settings.push(format!("ours: {LOOKUP_TEXT}"));
    }
    let race = Race {
        name: entry.name.into(),
        description: entry.description.into(),
        terms: entry.terms,
        settings,
        workloads,
    };
    let outcome = run_race(race, setup);
    drop(bulk);
    embedded.shut()?;
    outcome
}

fn load_sqlite(sqlite: &Sqlite) -> bench::Result<()> {
    sqlite.create_items()?;
    let rows: Vec<_> = (1..=ROWS).map(|id| (id, id % CATEGORIES, 0, NOTE)).collect();
    sqlite.insert_items(&rows, SqliteBatches { statement: 1, transaction: 10_000 })?;
    sqlite.checkpoint()?;
    sqlite.warm_items()
}

/// Both sides, loaded.
#[derive(Clone, Copy)]
struct Sides<'a> {
    embedded: &'a Embedded,
    bulk: &'a Bulk,
    sqlite: &'a Sqlite,
    way: Way,
}

impl<'a> Sides<'a> {
    fn race(
        self,
        threads: u32,
        scope: Scope,
        goal: Option<f64>,
        length: Duration,
    ) -> bench::Result<Workload<'a>> {
        let threads_name = if threads == 1 { "1 thread" } else { "2 threads" };
        let (scope_name, in_transaction) = match scope {
            Scope::Statement => ("each by itself", false),
            Scope::Transaction => ("1,000 a transaction", true),
        };
        let name = format!("{threads_name}, {scope_name}");
        let mut settings = vec![format!("{threads_name} on either side, {scope_name}")];
        if self.way == Way::Sql {
            settings.push(self.profile(threads, scope, length)?);
        }
        Ok(Workload {
            settings,
            cases: vec![case(&name, goal)],
            name,
            ours: Box::new(move |turn| self.ours(threads, scope, turn, length)),
            rival: Box::new(move |turn: Turn| {
                let choices = |thread: u64| {
                    let mut ids = Ids::new(turn.seed, thread, ROWS);
                    move || ids.next_id()
                };
                let load = Load { threads: threads.into(), warm_up: WARM_UP, length };
                let turn = LOOKUPS_A_TURN;
                let rate = self.sqlite.run_lookups(load, turn, in_transaction, choices)?;
                Ok(Metrics::from([(metric::IOPS, rate)]))
            }),
        })
    }

    fn two_against_one(self, length: Duration) -> Workload<'a> {
        let name = "ours, 2 threads against 1";
        let scope = Scope::Transaction;
        Workload {
            name: name.into(),
            settings: vec!["rival: ours on one thread, 1,000 a transaction".into()],
            cases: vec![case(name, Some(SCALING_GOAL))],
            ours: Box::new(move |turn| self.ours(THREADS_MAX, scope, turn, length)),
            rival: Box::new(move |turn| self.ours(1, scope, turn, length)),
        }
    }

    fn ours(
        self,
        threads: u32,
        scope: Scope,
        turn: Turn,
        length: Duration,
    ) -> bench::Result<Metrics> {
        let ran = self.look_up(threads, scope, turn.seed, length)?;
        Ok(Metrics::from([(metric::IOPS, lookups_a_second(&ran))]))
    }

    /// Where the sessions' time goes, of a run before the race.
    fn profile(self, threads: u32, scope: Scope, length: Duration) -> bench::Result<String> {
        let ran = self.look_up(threads, scope, 0, length)?;
        Ok(profile_of(ran.sessions.iter().map(|session| &session.interval)))
    }

    fn look_up(
        self,
        threads: u32,
        scope: Scope,
        seed: u64,
        length: Duration,
    ) -> bench::Result<workload::Run> {
        let (warm_up, length) = (nanos(WARM_UP), nanos(length));
        let plan = Drive { sessions: threads, first_session: 0, warm_up, length, rate: None };
        let Embedded { database, session } = self.embedded;
        let lookups = Lookups { way: self.way, scope, rows: ROWS };
        self.bulk.run_lookups(database, lookups, plan, seed, session).map_err(told)
    }
}

fn case(name: &str, goal: Option<f64>) -> Case {
    Case {
        name: name.into(),
        metric: metric::IOPS,
        unit: "lookups/s",
        higher_is_better: true,
        goal,
    }
}
