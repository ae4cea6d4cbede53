//! PostgreSQL's side of race `web-returns`: COPY, and queries by as many workers as are fastest.
//!
//! Whether JIT compiles expressions, and how many workers a query gets, is tried before the race,
//! of each query by itself: the fastest setting is the one that is raced.
//!
//! Callers: `web_returns`.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bench::postgres::{Client, Server};
use bench::race::Metrics;
use workload::web_returns::{ROWS, columns};

use super::ITEM;
use super::answer::Answer;
use crate::verbs::races::embedded::with_checkpoint;

/// A setting, and why PostgreSQL's experts would choose it here.
struct Setting {
    name: &'static str,
    value: &'static str,
    why: &'static str,
}

const fn set(name: &'static str, value: &'static str, why: &'static str) -> Setting {
    Setting { name, value, why }
}

const SETTINGS: [Setting; 20] = [
    set(
        "shared_buffers",
        "10GB",
        "as large as ours' cache; the table is less than a quarter of it, so a scan finds it there \
         and isn't sent through a small ring of buffers",
    ),
    set("huge_pages", "try", "fewer misses of the TLB, where the machine has reserved some"),
    set("effective_cache_size", "16GB", "what the kernel's cache adds, for the planner"),
    set("work_mem", "512MB", "no hash table of these queries spills"),
    set("maintenance_work_mem", "1GB", "vacuum and analyze, before the race"),
    set("max_worker_processes", "8", "more than any query gets"),
    set("max_parallel_workers", "8", "the same"),
    set("random_page_cost", "1.1", "the disk is an SSD, and all is in memory"),
    set("effective_io_concurrency", "200", "the same"),
    set("fsync", "on", "durable, as ours"),
    set("synchronous_commit", "on", "durable, as ours"),
    set("full_page_writes", "on", "safe against torn pages, as ours"),
    set("wal_level", "minimal", "COPY into a table of its own transaction writes no WAL"),
    set("max_wal_senders", "0", "what wal_level=minimal needs"),
    set("wal_buffers", "64MB", "a COPY doesn't wait for room in them"),
    set("min_wal_size", "8GB", "WAL files are used again"),
    set("max_wal_size", "16GB", "no checkpoint begins by itself"),
    set("checkpoint_timeout", "1h", "the same"),
    set(
        "checkpoint_completion_target",
        "0.9",
        "the default; those of the race are told to be fast",
    ),
    set("autovacuum", "off", "tables are vacuumed and analyzed before the race, and not in it"),
];

/// Workers for a query that are tried.
const WORKERS: [u32; 4] = [0, 1, 2, 3];
/// How often each setting is tried, behind a first time that isn't counted.
const TRIES: u32 = 2;

/// A session of the server.
pub(super) struct Theirs {
    client: RefCell<Client>,
    file: PathBuf,
}

/// How a query is run at its fastest.
pub(super) struct Fastest {
    statement: String,
    took: Duration,
}

impl Fastest {
    /// In words.
    pub(super) fn told(&self) -> String {
        let ms = self.took.as_secs_f64() * 1e3;
        format!("PostgreSQL, the fastest of all that was tried ({ms:.0} ms): {}", self.statement)
    }
}

/// The settings as a server takes them.
pub(super) fn settings() -> Vec<(&'static str, &'static str)> {
    SETTINGS.iter().map(|setting| (setting.name, setting.value)).collect()
}

/// The reasons, a line each.
pub(super) fn reasons() -> impl Iterator<Item = String> {
    SETTINGS.iter().map(|Setting { name, value, why }| format!("{name}={value}: {why}"))
}

impl Theirs {
    /// Makes the tables and fills them: `web_returns` from the file, `item` by a query.
    pub(super) fn load(server: &Server<'_>, file: &Path) -> bench::Result<Theirs> {
        let theirs = Theirs { client: RefCell::new(server.connect()?), file: file.to_owned() };
        theirs.run(&theirs.load_text("web_returns"))?;
        ITEM.iter().try_for_each(|text| theirs.run(&format!("{text};")).map(drop))?;
        // Hint bits and the visibility map are written now, and not by the first query.
        theirs.run("VACUUM (FREEZE, ANALYZE) web_returns; VACUUM (FREEZE, ANALYZE) item;")?;
        theirs.run("CHECKPOINT;")?;
        Ok(theirs)
    }

    /// The rows of a query.
    pub(super) fn query(&self, text: &str) -> bench::Result<Answer> {
        self.run(&format!("{text};"))
    }

    /// The settings of the session with which a query is fastest.
    pub(super) fn fastest(&self, text: &str) -> bench::Result<Fastest> {
        let mut fastest: Option<Fastest> = None;
        for jit in ["off", "on"] {
            for workers in WORKERS {
                let statement =
                    format!("SET jit = {jit}; SET max_parallel_workers_per_gather = {workers};");
                self.run(&statement)?;
                self.query(text)?;
                let mut took = Duration::MAX;
                for _ in 0..TRIES {
                    let began = Instant::now();
                    self.query(text)?;
                    took = took.min(began.elapsed());
                }
                if fastest.as_ref().is_none_or(|fastest| took < fastest.took) {
                    fastest = Some(Fastest { statement, took });
                }
            }
        }
        Ok(fastest.expect("settings were tried"))
    }

    /// Has the session run a query in this way.
    pub(super) fn choose(&self, fastest: &Fastest) -> bench::Result<()> {
        self.run(&fastest.statement).map(drop)
    }

    /// The plan of a query, as the session is set.
    pub(super) fn plan(&self, text: &str) -> bench::Result<String> {
        let lines = self.run(&format!("EXPLAIN (COSTS OFF) {text};"))?;
        let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
        Ok(format!("plan of PostgreSQL: {}", lines.join("; ")))
    }

    /// Loads another table from the file, and measures it.
    pub(super) fn measure_load(&self) -> bench::Result<Metrics> {
        self.run("DROP TABLE IF EXISTS loaded; CHECKPOINT;")?;
        let load = self.load_text("loaded");
        let began = Instant::now();
        self.run(&load)?;
        let took = began.elapsed();
        with_checkpoint(ROWS as f64 / took.as_secs_f64(), took, || {
            self.run("CHECKPOINT;").map(drop)
        })
    }

    /// A table in a transaction of its own, frozen as it is loaded: what the manual advises.
    fn load_text(&self, table: &str) -> String {
        format!(
            "BEGIN; CREATE TABLE {table} ({}); \
             COPY {table} FROM '{}' WITH (FORMAT text, DELIMITER '|', NULL '', FREEZE); COMMIT;",
            columns(),
            self.file.display()
        )
    }

    fn run(&self, statements: &str) -> bench::Result<Vec<String>> {
        self.client.borrow_mut().run(statements)
    }
}
