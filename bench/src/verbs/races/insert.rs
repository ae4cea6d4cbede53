//! Race `insert`: rows into a table with a primary key, against SQLite and PostgreSQL's COPY.
//!
//! | workload        | ours                          | rival                                    |
//! |-----------------|-------------------------------|------------------------------------------|
//! | commit each     | insert, commit                | SQLite: prepared insert, commit          |
//! | single          | inserts, 10,000 a transaction | SQLite: prepared inserts, the same       |
//! | array           | the same in arrays of 1,000   | SQLite: the same, 50 rows a statement    |
//! | array, COPY     | one transaction, arrays       | PostgreSQL: one COPY from a file, text   |
//! | array, binary   | the same                      | PostgreSQL: the same from a binary file  |
//! | direct path     | one transaction, one load     | PostgreSQL: a new table in one           |
//! |                 |                               | transaction: COPY, then the primary key  |

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use bench::Scratch;
use bench::postgres::{Client, Server};
use bench::race::{Metrics, Race, Terms, Workload};
use bench::sqlite::{Batches as SqliteBatches, Item, Sqlite};
use database::Creation;
use workload::bulk::{Batches, Bulk, CATEGORIES, NOTE};

use super::embedded::{Embedded, cases, with_checkpoint};
use super::update::POSTGRES_SETTINGS;
use super::{Run, Setup, run_race, told};

const TERMS: Terms = Terms {
    compared: "One session inserts the same rows of about 100 bytes, with ascending keys, into a \
               growing table with a primary key on every side; rows a second are compared.",
    rival: "SQLite is compiled with its recommended options for speed and with fdatasync, set to \
            WAL, synchronous=FULL and a cache larger than what a run writes. It has no arrays: \
            against our arrays it gets 50 rows a statement (INSERT ... VALUES of 50 rows), faster \
            than one. PostgreSQL is given one COPY from a file that the server reads itself, as \
            text and in its binary format, with wal_level=minimal and room for all of the WAL \
            between checkpoints. Against our load it gets what its manual advises for bulk loads: \
            one transaction makes a table, copies the rows with FREEZE from a binary file and adds \
            the primary key, so that neither table nor index is written to the WAL and the index \
            is built from sorted keys.",
    timed: "A run's time ends when its last commit is synced. Every side inserts rows before the \
            race, which isn't counted: ours and SQLite as many as their caches hold, so that no \
            run is the first to use memory of these (PostgreSQL's COPY uses the same 16 MiB of \
            its cache again and again). No checkpoint falls into a run: each side writes all that \
            it left behind after its run, before the other side's, and the rate with the time of \
            that is reported beside. Writing the file for COPY isn't timed, and the file is \
            synced before.",
    favours: "COPY gets rows that are on the server already, in one file, while ours come through \
              the calls of a program: that favours PostgreSQL. SQLite's integer key is the row's \
              place in its tree, while ours is in an index beside the table. A load of ours goes \
              into a table that has rows and an index already, which PostgreSQL's doesn't.",
};

const CACHE_BYTES: u64 = 512 << 20;
/// Rows of a run that commits seldom, and of one that commits each.
const ROWS: usize = 300_000;
/// The bytes of a row, with what its table and index add: fewer than in any cache.
const ROW_BYTES: usize = 100;
/// Runs that fill a cache.
const RUNS_TO_FILL: usize = CACHE_BYTES as usize / (ROWS * ROW_BYTES) + 1;
const ROWS_COMMITTED_EACH: usize = 3_000;
/// A workload against SQLite.
struct Spec {
    name: &'static str,
    /// Rows of a run.
    rows: usize,
    /// How ours are inserted; SQLite's transactions have as many rows.
    ours: Batches,
    /// Rows of a statement of SQLite's.
    sqlite: usize,
    goal: Option<f64>,
}

const AGAINST_SQLITE: [Spec; 3] = [
    Spec {
        name: "commit each",
        rows: ROWS_COMMITTED_EACH,
        ours: Batches { statement: 1, transaction: 1 },
        sqlite: 1,
        goal: None,
    },
    Spec {
        name: "single",
        rows: ROWS,
        ours: Batches { statement: 1, transaction: 10_000 },
        sqlite: 1,
        goal: Some(0.7),
    },
    Spec {
        name: "array",
        rows: ROWS,
        ours: Batches { statement: 1_000, transaction: 10_000 },
        sqlite: 50,
        goal: Some(1.0),
    },
];

/// Against COPY, text or binary.
const COPY: Batches = Batches { statement: 1_000, transaction: ROWS };
const COPY_GOAL: f64 = 1.3;
/// A load against COPY into a new table.
const LOAD_GOAL: f64 = 2.5;

/// The columns of PostgreSQL's tables.
const COLUMNS: &str = "id bigint, category bigint NOT NULL, amount bigint NOT NULL, \
                       note varchar(100) NOT NULL";

/// All sides' tables, which grow from run to run.
struct Bench<'a> {
    embedded: &'a Embedded,
    bulk: Bulk,
    /// The next key, of ours, of SQLite's and of PostgreSQL's.
    next: [AtomicI64; 3],
    sqlite: Sqlite,
    copy: Option<Copy>,
}

/// PostgreSQL's session, and where its rows are.
struct Copy {
    client: Mutex<Client>,
    file: PathBuf,
}

pub(crate) fn run(setup: &Setup) -> Run {
    let scratch = Scratch::create(&setup.directory)?;
    let creation = Creation {
        data_bytes: 2 << 30,
        data_bytes_max: 30 << 30,
        undo_bytes_max: 4 << 30,
        log_file_bytes: 512 << 20,
        ..Creation::default()
    };
    let embedded = Embedded::create(&scratch, CACHE_BYTES, creation)?;
    let sqlite = Sqlite::create(scratch.path(), CACHE_BYTES, 0)?;
    sqlite.create_items()?;
    let server = match setup.has_rival() {
        true => Some(Server::start(&scratch, &POSTGRES_SETTINGS)?),
        false => None,
    };
    let bulk = Bulk::create(&mut embedded.connect(), "item").map_err(told)?;
    let mut settings = sqlite.settings();
    settings.extend(server.as_ref().map(Server::settings).unwrap_or_default());
    settings.push(Embedded::settings(CACHE_BYTES));
    let copy = server.as_ref().map(Copy::open).transpose()?;
    let next = [1, 1, 1].map(AtomicI64::new);
    let bench = Bench { embedded: &embedded, bulk, next, sqlite, copy };
    bench.warm_up()?;
    let mut workloads: Vec<_> =
        AGAINST_SQLITE.iter().map(|spec| bench.against_sqlite(spec)).collect();
    workloads.extend(["text", "binary"].map(|format| bench.against_copy(format)));
    workloads.push(bench.load_against_copy());
    let race = Race {
        name: "insert".into(),
        description: "rows into a table with a primary key, against SQLite and PostgreSQL".into(),
        terms: TERMS,
        settings,
        workloads,
    };
    let outcome = run_race(race, setup);
    drop(bench);
    embedded.shut()?;
    outcome
}

impl Bench<'_> {
    /// Every side inserts what a run inserts, so that no run is the first to lengthen a log, or to
    /// use memory of its cache: to zero that for a process takes longer than to fill it with rows.
    fn warm_up(&self) -> bench::Result<()> {
        self.insert_ours(ROWS, COPY)?;
        (0..RUNS_TO_FILL).try_for_each(|_| self.load_ours().map(drop))?;
        if let Some(copy) = &self.copy {
            let batches = SqliteBatches { statement: 50, transaction: 10_000 };
            (0..RUNS_TO_FILL).try_for_each(|_| self.insert_sqlite(ROWS, batches).map(drop))?;
            copy.run("text", &self.next[2])?;
        }
        Ok(())
    }

    fn against_sqlite(&self, spec: &'static Spec) -> Workload<'_> {
        let &Spec { name, rows, ours, sqlite, goal } = spec;
        let theirs = SqliteBatches { statement: sqlite, transaction: ours.transaction };
        Workload {
            name: name.into(),
            settings: vec![format!(
                "{rows} rows a run, {} a transaction; ours {} a statement, SQLite {}",
                ours.transaction, ours.statement, sqlite
            )],
            cases: cases(name, "rows/s", goal),
            ours: Box::new(move |_| self.insert_ours(rows, ours)),
            rival: Box::new(move |_| self.insert_sqlite(rows, theirs)),
        }
    }

    fn against_copy(&self, format: &'static str) -> Workload<'_> {
        let name = format!("array, COPY {format}");
        Workload {
            settings: vec![format!(
                "{ROWS} rows a run, one transaction; ours arrays of {}, PostgreSQL COPY item FROM \
                 a file WITH (FORMAT {format})",
                COPY.statement
            )],
            cases: cases(&name, "rows/s", Some(COPY_GOAL)),
            name,
            ours: Box::new(move |_| self.insert_ours(ROWS, COPY)),
            rival: Box::new(move |_| {
                let copy = self.copy.as_ref().expect("a race against PostgreSQL has started it");
                copy.run(format, &self.next[2])
            }),
        }
    }

    fn load_against_copy(&self) -> Workload<'_> {
        let name = "direct path, COPY";
        Workload {
            settings: vec![format!(
                "{ROWS} rows a run, one transaction; ours one load, PostgreSQL CREATE TABLE, COPY \
                 FROM a file WITH (FORMAT binary, FREEZE), ADD PRIMARY KEY"
            )],
            cases: cases(name, "rows/s", Some(LOAD_GOAL)),
            name: name.into(),
            ours: Box::new(|_| self.load_ours()),
            rival: Box::new(|_| {
                let copy = self.copy.as_ref().expect("a race against PostgreSQL has started it");
                copy.run_new(&self.next[2])
            }),
        }
    }

    fn load_ours(&self) -> bench::Result<Metrics> {
        let ids = take(&self.next[0], ROWS);
        let mut connection = self.embedded.connect();
        let load = || self.bulk.load(&mut connection, ids).map(drop).map_err(told);
        timed(ROWS, load, || self.embedded.checkpoint())
    }

    fn insert_ours(&self, rows: usize, batches: Batches) -> bench::Result<Metrics> {
        let ids = take(&self.next[0], rows);
        let mut connection = self.embedded.connect();
        let insert = || self.bulk.insert(&mut connection, ids, batches).map_err(told);
        timed(rows, insert, || self.embedded.checkpoint())
    }

    fn insert_sqlite(&self, rows: usize, batches: SqliteBatches) -> bench::Result<Metrics> {
        let ids = take(&self.next[1], rows);
        let insert = || {
            let items: Vec<Item<'_>> = ids.map(|id| (id, id % CATEGORIES, 0, NOTE)).collect();
            self.sqlite.insert_items(&items, batches)
        };
        timed(rows, insert, || self.sqlite.checkpoint())
    }
}

impl Copy {
    fn open(server: &Server<'_>) -> bench::Result<Copy> {
        let mut client = server.connect()?;
        client.run(&format!("CREATE TABLE item ({COLUMNS}, PRIMARY KEY (id));"))?;
        Ok(Copy { client: Mutex::new(client), file: server.folder().join("rows") })
    }

    fn run(&self, format: &str, next: &AtomicI64) -> bench::Result<Metrics> {
        let (ids, file) = (take(next, ROWS), &self.file);
        let written = match format {
            "text" => write_file(file, |out| write_text(out, ids)),
            _ => write_file(file, |out| write_binary(out, ids)),
        };
        written.map_err(|cause| format!("cannot write {}: {cause}", file.display()))?;
        let copy = format!("COPY item FROM '{}' WITH (FORMAT {format});", file.display());
        timed(ROWS, || self.told(&copy), || self.told("CHECKPOINT;"))
    }

    /// Rows of a new table, in one transaction that makes it and its index.
    fn run_new(&self, next: &AtomicI64) -> bench::Result<Metrics> {
        let (ids, file) = (take(next, ROWS), &self.file);
        let written = write_file(file, |out| write_binary(out, ids));
        written.map_err(|cause| format!("cannot write {}: {cause}", file.display()))?;
        self.told("DROP TABLE IF EXISTS loaded; CHECKPOINT;")?;
        let load = format!(
            "BEGIN; CREATE TABLE loaded ({COLUMNS});
             COPY loaded FROM '{}' WITH (FORMAT binary, FREEZE);
             ALTER TABLE loaded ADD PRIMARY KEY (id); COMMIT;",
            file.display()
        );
        timed(ROWS, || self.told(&load), || self.told("CHECKPOINT;"))
    }

    fn told(&self, text: &str) -> bench::Result<()> {
        let mut client = self.client.lock().expect("a race has one thread");
        client.run(text).map(|_| ())
    }
}

/// The next keys of a side.
fn take(next: &AtomicI64, rows: usize) -> std::ops::Range<i64> {
    let first = next.fetch_add(rows as i64, Ordering::Relaxed);
    first..first + rows as i64
}

/// A new file, synced, so that nothing of it is written while it is read.
fn write_file(
    path: &Path,
    rows: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    rows(&mut out)?;
    out.into_inner()?.sync_all()
}

/// Rows as COPY reads them: a line each, columns divided by tabs.
fn write_text(out: &mut impl Write, ids: std::ops::Range<i64>) -> std::io::Result<()> {
    for id in ids {
        writeln!(out, "{id}\t{}\t0\t{NOTE}", id % CATEGORIES)?;
    }
    Ok(())
}

/// Rows in COPY's binary format: a head of 19 bytes; for each row the number of its columns, and
/// for each column its length and its bytes; -1 for a number of columns at the end.
#[expect(clippy::big_endian_bytes, reason = "PostgreSQL's format is of the network's byte order")]
fn write_binary(out: &mut impl Write, ids: std::ops::Range<i64>) -> std::io::Result<()> {
    out.write_all(b"PGCOPY\n\xff\r\n\0")?;
    out.write_all(&[0; 8])?;
    for id in ids {
        out.write_all(&4_i16.to_be_bytes())?;
        for number in [id, id % CATEGORIES, 0] {
            out.write_all(&8_i32.to_be_bytes())?;
            out.write_all(&number.to_be_bytes())?;
        }
        let length = i32::try_from(NOTE.len()).expect("a note is short");
        out.write_all(&length.to_be_bytes())?;
        out.write_all(NOTE.as_bytes())?;
    }
    out.write_all(&(-1_i16).to_be_bytes())
}

fn timed(
    rows: usize,
    work: impl FnOnce() -> bench::Result<()>,
    checkpoint: impl FnOnce() -> bench::Result<()>,
) -> bench::Result<Metrics> {
    let began = Instant::now();
    work()?;
    let took = began.elapsed();
    with_checkpoint(rows as f64 / took.as_secs_f64(), took, checkpoint)
}
