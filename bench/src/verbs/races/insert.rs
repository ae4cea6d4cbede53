//! Race `insert`: rows into a table with a primary key, against SQLite and PostgreSQL's COPY.
//!
//! | workload        | ours                          | rival                                   |
//! |-----------------|-------------------------------|-----------------------------------------|
//! | commit each     | insert, commit                | SQLite: prepared insert, commit         |
//! | single          | inserts, 10,000 a transaction | SQLite: prepared inserts, the same      |
//! | array           | the same in arrays of 1,000   | SQLite: prepared inserts, the same      |
//! | array and COPY  | one transaction, arrays       | PostgreSQL: one COPY from a file, text  |
//!
//! Keys ascend on every side. All are durable when they return, and time is taken until then.

use std::io::{BufWriter, Write};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use bench::Scratch;
use bench::postgres::Server;
use bench::race::{Case, Metrics, Outcome, Race, Workload, metric};
use bench::sqlite::Sqlite;
use database::Creation;
use workload::bulk::{Batches, Bulk, CATEGORIES, NOTE};

use super::embedded::Embedded;
use super::update::POSTGRES_SETTINGS;
use super::{Setup, run_race, told};

const CACHE_BYTES: u64 = 512 << 20;
/// Rows of a run that commits seldom, and of one that commits each.
const ROWS: usize = 300_000;
const ROWS_COMMITTED_EACH: usize = 3_000;

/// Name, rows of a run, ours, rows of a transaction of SQLite's.
const AGAINST_SQLITE: [(&str, usize, Batches); 3] = [
    ("commit each", ROWS_COMMITTED_EACH, Batches { statement: 1, transaction: 1 }),
    ("single", ROWS, Batches { statement: 1, transaction: 10_000 }),
    ("array", ROWS, Batches { statement: 1_000, transaction: 10_000 }),
];

/// Both sides' tables, which grow from run to run.
struct Bench<'a> {
    embedded: &'a Embedded,
    bulk: Bulk,
    /// The next key, of ours and of SQLite's.
    next: [AtomicI64; 2],
    sqlite: Sqlite,
}

pub(crate) fn run(setup: &Setup) -> bench::Result<Outcome> {
    let scratch = Scratch::create(&setup.directory)?;
    let creation = Creation {
        data_bytes: 2 << 30,
        data_bytes_max: 30 << 30,
        undo_bytes_max: 4 << 30,
        log_file_bytes: 512 << 20,
        ..Creation::default()
    };
    let embedded = Embedded::create(&scratch, CACHE_BYTES, creation)?;
    let sqlite = Sqlite::create(scratch.path(), CACHE_BYTES)?;
    sqlite.create_items()?;
    let server = Server::start(&scratch, &POSTGRES_SETTINGS)?;
    let bulk = Bulk::create(&mut embedded.connect(), "item").map_err(told)?;
    let next = [AtomicI64::new(1), AtomicI64::new(1)];
    let mut settings = [sqlite.settings(), server.settings()].concat();
    settings.push(Embedded::settings(CACHE_BYTES));
    settings.push("rows of about 100 bytes, ascending keys, one session".into());
    let bench = Bench { embedded: &embedded, bulk, next, sqlite };
    let mut workloads: Vec<_> = AGAINST_SQLITE
        .iter()
        .map(|&(name, rows, batches)| bench.against_sqlite(name, rows, batches))
        .collect();
    workloads.push(bench.against_copy(&server)?);
    let race = Race {
        name: "insert".into(),
        description: "rows into a table with a primary key, against SQLite and PostgreSQL".into(),
        settings,
        workloads,
    };
    let outcome = run_race(race, setup);
    drop(bench);
    embedded.shut()?;
    outcome
}

impl Bench<'_> {
    fn against_sqlite(&self, name: &str, rows: usize, batches: Batches) -> Workload<'_> {
        Workload {
            name: name.into(),
            settings: vec![format!(
                "{rows} rows a run; ours {} a statement, both {} a transaction",
                batches.statement, batches.transaction
            )],
            cases: vec![case(name)],
            ours: Box::new(move |_| self.insert_ours(rows, batches)),
            rival: Box::new(move |_| {
                let first = self.next[1].fetch_add(rows as i64, Ordering::Relaxed);
                let items = (0..rows).map(|at| first + at as i64);
                timed(rows, || {
                    let items = items.map(|id| (id, id % CATEGORIES, 0, NOTE));
                    self.sqlite.insert_items(items, batches.transaction)
                })
            }),
        }
    }

    fn against_copy<'b>(&'b self, server: &'b Server<'_>) -> bench::Result<Workload<'b>> {
        let file = server.folder().join("rows");
        let batches = Batches { statement: 1_000, transaction: ROWS };
        let mut client = server.connect()?;
        client.run(
            "CREATE TABLE item (id bigint PRIMARY KEY, category bigint NOT NULL,
                                amount bigint NOT NULL, note varchar(100) NOT NULL);",
        )?;
        let mut first = 1;
        Ok(Workload {
            name: "array and COPY".into(),
            settings: vec![format!(
                "{ROWS} rows a run, a transaction; ours arrays of {}, PostgreSQL COPY from a file \
                 of text that it reads itself",
                batches.statement
            )],
            cases: vec![case("array and COPY")],
            ours: Box::new(move |_| self.insert_ours(ROWS, batches)),
            rival: Box::new(move |_| {
                let written = write_rows(&file, first);
                written.map_err(|cause| format!("cannot write {}: {cause}", file.display()))?;
                first += ROWS as i64;
                let copy = format!("COPY item FROM '{}';", file.display());
                timed(ROWS, || client.run(&copy).map(|_| ()))
            }),
        })
    }

    fn insert_ours(&self, rows: usize, batches: Batches) -> bench::Result<Metrics> {
        let first = self.next[0].fetch_add(rows as i64, Ordering::Relaxed);
        let ids = first..first + rows as i64;
        let mut connection = self.embedded.connect();
        timed(rows, || self.bulk.insert(&mut connection, ids, batches).map_err(told))
    }
}

/// Rows as COPY reads them: a line each, columns divided by tabs.
fn write_rows(file: &std::path::Path, first: i64) -> std::io::Result<()> {
    let mut out = BufWriter::new(std::fs::File::create(file)?);
    for id in first..first + ROWS as i64 {
        writeln!(out, "{id}\t{}\t0\t{NOTE}", id % CATEGORIES)?;
    }
    out.flush()
}

fn case(name: &str) -> Case {
    Case {
        name: name.into(),
        metric: metric::IOPS,
        unit: "rows/s",
        higher_is_better: true,
        goal: None,
    }
}

fn timed(rows: usize, work: impl FnOnce() -> bench::Result<()>) -> bench::Result<Metrics> {
    let began = Instant::now();
    work()?;
    Ok(Metrics::from([(metric::IOPS, rows as f64 / began.elapsed().as_secs_f64())]))
}
